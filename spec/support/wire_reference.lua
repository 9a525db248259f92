-- wire_reference.lua - EVENTS and MOVES of the AOI service written and read with string.pack alone, from the table in
-- docs/skynet.md: what the C code is compared with.
local reference = {}

local spack, sunpack = string.pack, string.unpack

local function head(kind, flags, width, number) return spack("<BBBBI4", 2, kind, flags, width, number) end

-- n rows of id, x, y [, z].
function reference.moves(link, batch, dimensions, list, n, width, tick)
  local parts = { head(2, (tick and 1 or 0) | (dimensions == 3 and 2 or 0), width, link), spack("<I4I4", batch, n) }
  for i = 1, n * (dimensions + 1), dimensions + 1 do
    parts[#parts + 1] = spack("<i" .. width, list[i])
    for axis = 1, dimensions do parts[#parts + 1] = spack("<d", list[i + axis]) end
  end
  return table.concat(parts)
end

-- Flat rows; returns the list, n, batch, dimensions, link, whether a tick follows.
function reference.read_moves(s)
  local _, _, flags, width, link, batch, n, pos = sunpack("<BBBBI4I4I4", s)
  local dimensions, list = flags & 2 ~= 0 and 3 or 2, {}
  for _ = 1, n do
    list[#list + 1], pos = sunpack("<i" .. width, s, pos)
    for _ = 1, dimensions do list[#list + 1], pos = sunpack("<d", s, pos) end
  end
  assert(pos == #s + 1)
  return list, n, batch, dimensions, link, flags & 1 ~= 0
end

-- records: { handle =, leaves = { id ... }, enters = { id ... } or { { id, kind, x, y [, z] } ... } and places = 2 or
-- 3, open = { link, watcher, node }, close =, whole =, width = } or { resync = link, groups = n }.
function reference.events(seq, ask, records)
  local parts = { head(1, ask and 1 or 0, 0, seq) }
  local function add(...) parts[#parts + 1] = spack(...) end
  for _, r in ipairs(records) do
    if r.resync then
      add("<I4I4I4I4", 0, r.resync, r.groups, r.epoch or 0)
    else
      local leaves, enters, width = r.leaves or {}, r.enters or {}, r.width or 2
      local long = #leaves > 255 or #enters > 255
      local flags = (r.open and 1 or 0) + (r.close and 2 or 0) + (r.whole and 4 or 0) + (long and 8 or 0)
        + (r.places == 2 and 16 or r.places == 3 and 32 or 0) + (width == 4 and 64 or width == 8 and 128 or 0)
      add(long and "<I4BI4I4" or "<I4BBB", r.handle, r.flags or flags, #leaves, #enters)
      local id = "<i" .. width
      if r.open then
        add("<I4", r.open[1])
        add(id, r.open[2])
        add(id, r.open[3])
      end
      for _, target in ipairs(leaves) do add(id, target) end
      for _, target in ipairs(enters) do
        if r.places then
          add(id, target[1])
          add("<i8", target[2])
          for axis = 1, r.places do add("<d", target[2 + axis]) end
        else
          add(id, target)
        end
      end
    end
  end
  return table.concat(parts)
end

-- The records of EVENTS as reference.events takes them, and seq, ask.
function reference.read_events(s)
  local _, kind, flags, width, seq, pos = sunpack("<BBBBI4", s)
  local records = {}
  assert(kind == 1 and width == 0)
  local function take(format)
    local value
    value, pos = sunpack(format, s, pos)
    return value
  end
  while pos <= #s do
    local handle = take "<I4"
    local r = { handle = handle, leaves = {}, enters = {} }
    records[#records + 1] = r
    if handle == 0 then
      r.handle, r.leaves, r.enters = nil, nil, nil
      r.resync, r.groups, r.epoch = take "<I4", take "<I4", take "<I4"
    else
      local f = take "B"
      local count = f & 8 ~= 0 and "<I4" or "B"
      local leaves, enters = take(count), take(count)
      r.width = f & 128 ~= 0 and 8 or f & 64 ~= 0 and 4 or 2
      local id = "<i" .. r.width
      r.places = f & 32 ~= 0 and 3 or f & 16 ~= 0 and 2 or nil
      r.close, r.whole = f & 2 ~= 0 or nil, f & 4 ~= 0 or nil
      if f & 1 ~= 0 then r.open = { take "<I4", take(id), take(id) } end
      for i = 1, leaves do r.leaves[i] = take(id) end
      for i = 1, enters do
        if r.places then
          r.enters[i] = { take(id), take "<i8" }
          for axis = 1, r.places do r.enters[i][2 + axis] = take "<d" end
        else
          r.enters[i] = take(id)
        end
      end
    end
  end
  return records, seq, flags & 1 ~= 0
end

return reference
