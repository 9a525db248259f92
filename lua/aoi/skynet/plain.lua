-- Plain values as bytes: booleans, numbers, strings, and acyclic tables of them. This is the one form of a record of an
-- entity, in hand-overs and snapshots, and of all that shards, exchanges and clients of a world tell each other besides
-- rows of positions (src/skynet/world_parts.c). Reading trusts the bytes: files have a checksum.
--
--   i i64 | d f64 | s u32 bytes | t | f | { key value ... } | as a key: 128 and more: a word of KEYS

local spack, sunpack, byte = string.pack, string.unpack, string.byte

local plain = {}

-- The keys that records have, as one byte each; part of the format.
local KEYS, CODES = {}, {}

for word in ([[id life kind client movers x y z enters nodes node handle added positions area seen width by overrides
  sight linger states barred view traits follows ghosts shard what batch hops whole fields]]):gmatch "%S+" do
  KEYS[#KEYS + 1] = word
  CODES[word] = string.char(127 + #KEYS)
end

-- Appends the value to the list of strings, which has n. Returns how many it has now.
local function write(parts, n, value)
  local kind = math.type(value) or type(value)
  n = n + 1
  if kind == "integer" then
    parts[n] = spack("<Bi8", 0x69, value)
  elseif kind == "float" then
    parts[n] = spack("<Bd", 0x64, value)
  elseif kind == "string" then
    parts[n] = spack("<Bs4", 0x73, value)
  elseif kind == "boolean" then
    parts[n] = value and "t" or "f"
  elseif kind == "table" then
    parts[n] = "{"
    for key, one in next, value do
      if CODES[key] then
        n = n + 1
        parts[n] = CODES[key]
      else
        n = write(parts, n, key)
      end
      n = write(parts, n, one)
    end
    n = n + 1
    parts[n] = "}"
  else
    error(("a %s has no bytes"):format(kind), 0)
  end
  return n
end

--- Raises where the value contains anything else.
function plain.write(value)
  local parts = {}
  write(parts, 0, value)
  return table.concat(parts)
end

local FORMATS = { [0x69] = "<i8", [0x64] = "<d", [0x73] = "<s4" }

local function read(bytes, at)
  local tag = byte(bytes, at)
  if FORMATS[tag] then return sunpack(FORMATS[tag], bytes, at + 1) end
  if tag >= 128 then return KEYS[tag - 127], at + 1 end
  if tag ~= 0x7b then return tag == 0x74, at + 1 end
  local t = {}
  at = at + 1
  while byte(bytes, at) ~= 0x7d do
    local key, behind = read(bytes, at)
    t[key], at = read(bytes, behind)
  end
  return t, at + 1
end

--- Returns the value that begins there, by default at 1, and where it ends. Raises, or returns anything, where there is
-- none.
function plain.read(bytes, at) return read(bytes, at or 1) end

return plain
