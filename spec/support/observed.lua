-- observed.lua: what the blocks of an observer say (docs/viewer-wire.md), as tables. Needs string.unpack.
local json = require "dkjson" -- busted needs it, too
local sync = require "aoi.sync"

local observed = {}

local SHAPES = { "square", "circle", "box", "cylinder", "sector", "polygon" }
local PARTS = { "all", "cell", "nodes", "tower", "tile", "leaf", "square" }
local ENTRIES = { "entity", "node", "cover", "low", "high", "break" }
local HOWS = { "hide", "show", "match" }

-- With operators that only a Lua with string.unpack has.
local compile = loadstring or load
local join = compile "local v, byte, shift = ... return v | (byte & 0x7f) << shift"
local unzigzag = compile "local z = ... return (z >> 1) ~ -(z & 1)"

local function varint(s, at)
  local v, shift = 0, 0
  while true do
    local byte = s:byte(at)
    v, at = join(v, byte, shift), at + 1
    if byte < 0x80 then return v, at end
    shift = shift + 7
  end
end

local function signed(s, at)
  local z
  z, at = varint(s, at)
  return unzigzag(z), at
end

local function doubles(s, at, n)
  local list = { string.unpack("<" .. ("d"):rep(n), s, at) }
  at = table.remove(list)
  return list, at
end

-- Fields in the order of the block, by shape.
-- An area as snapshots have it, with its mask, layers, label and the byte that begins it.
local function read_area(s, at, dimensions)
  local node = { overrides = {}, mask = -1, head = s:byte(at) }
  if node.head == 7 then
    node.label, at = s:match("^(%Z*)%z()", at + 1)
    node.head = s:byte(at)
  end
  if node.head == 6 then
    node.outside, at = true, at + 1
    node.head = s:byte(at)
  end
  if node.head == 14 then -- extents do not apply
    at = at + 1
    node.head = s:byte(at)
  end
  if node.head == 15 then at, node.head = at + 1, s:byte(at + 1) end -- it has crossings
  if node.head == 22 then
    node.offset, at = doubles(s, at + 1, dimensions)
    node.head = s:byte(at)
  end
  local head = node.head
  node.shape, at = SHAPES[head % 8 + 1], at + 1
  local simple = head % 8 < 2
  local list, corners, rings
  if head % 32 >= 16 then node.mask, at = varint(s, at) end
  if head >= 128 then node.layers, at = varint(s, at) end
  if node.shape == "box" then
    list, at = doubles(s, at, dimensions)
    node.ex, node.ey, node.ez = list[1], list[2], list[3]
  elseif node.shape == "polygon" then
    corners, at = varint(s, at)
    rings, at = varint(s, at)
  else
    list, at = doubles(s, at, 1)
    node.radius = list[1]
  end
  if node.shape == "sector" then
    list, at = doubles(s, at, 2)
    node.facing, node.angle = list[1], list[2]
  end
  if not simple and node.shape ~= "box" then node.half_height = math.huge end
  if node.shape == "cylinder" or head % 128 >= 64 then
    list, at = doubles(s, at, 1)
    node.half_height = list[1]
  end
  node[simple and "keep" or "margin"] = simple and node.radius or 0
  if head % 64 >= 32 then
    list, at = doubles(s, at, 1)
    node[simple and "keep" or "margin"] = list[1]
  end
  local counts = { rings == 0 and corners or nil }
  for i = 1, rings or 0 do counts[i], at = varint(s, at) end
  for i, n in ipairs(counts) do
    list, at = doubles(s, at, 2 * n)
    if rings == 0 then node.points = list else node.rings = node.rings or {} node.rings[i] = list end
  end
  return node, at
end

local function read_nodes(s, nodes, dimensions)
  local at = 1
  while at <= #s do
    local op = s:byte(at)
    local owner, after = signed(s, at + 1)
    local id
    id, at = signed(s, after)
    local key = owner .. ":" .. id
    if op == 0 then
      assert(nodes[key], "a node is gone that was never told")
      nodes[key] = nil
    else
      local node, n, list
      node, at = read_area(s, at, dimensions)
      if node.shape == "sector" then
        list, at = doubles(s, at, 3)
        node.fx, node.fy, node.c = list[1], list[2], list[3]
      end
      n, at = varint(s, at)
      for _ = 1, n do
        local target
        target, at = signed(s, at)
        node.overrides[target] = HOWS[s:byte(at)]
        at = at + 1
      end
      n, at = varint(s, at)
      if n > 0 then
        node.walls = n - 1
        node.linger, at = varint(s, at)
      end
      nodes[key] = node
    end
  end
end

local function read_walls(s, walls, dimensions)
  local at = 1
  while at <= #s do
    local how = s:byte(at)
    at = at + 1
    if how == 3 then
      for key in pairs(walls) do walls[key] = nil end
    else
      local sight, after = varint(s, at)
      local id
      id, at = signed(s, after)
      local key = sight .. ":" .. id
      assert(how > 0 or walls[key], "a wall is gone that was never told")
      walls[key] = nil
      if how > 0 then
        walls[key], at = doubles(s, at, 2 * dimensions)
        walls[key].open = how == 2
      end
    end
  end
end

local function read_looks(s, entities)
  local at = 1
  while at <= #s do
    local id, carried
    id, at = signed(s, at)
    local e = assert(entities[id], "looks of an entity that was never told")
    e.layers, at = varint(s, at)
    e.extent, carried, at = string.unpack("<dB", s, at)
    e.carrier = nil
    if carried == 1 then e.carrier, at = signed(s, at) end
  end
end

local function read_events(s, events)
  local n, at = varint(s, 1)
  events.dropped, at = varint(s, at)
  for _ = 1, n do
    local e = { s:byte(at) }
    at = at + 1
    for i = 2, 4 do e[i], at = signed(s, at) end
    events[#events + 1] = e
  end
  assert(at == #s + 1)
end

local function read_structure(s)
  local parts, at = {}, 1
  while s:byte(at) ~= 0 do
    local part = { kind = PARTS[s:byte(at)], wanted = s:byte(at + 1) == 1, lists = { {}, {}, {} }, breaks = 0 }
    part.layer, at = varint(s, at + 2)
    part.entities, at = varint(s, at)
    part.nodes, at = varint(s, at)
    local r
    r, at = doubles(s, at, 4)
    part.x0, part.x1, part.y0, part.y1 = r[1], r[2], r[3], r[4]
    if part.wanted then
      while s:byte(at) ~= 0 do
        local tag = s:byte(at) - 1
        local entry = { kind = ENTRIES[tag % 6 + 1] }
        at = at + 1
        if entry.kind == "break" then
          part.breaks = part.breaks + 1
        else
          entry.id, at = signed(s, at)
          if entry.kind ~= "entity" then entry.node, at = signed(s, at) end
          table.insert(part.lists[math.floor(tag / 6) + 1], entry)
        end
      end
      at = at + 1
    end
    parts[#parts + 1] = part
  end
  parts.left_out, at = varint(s, at + 1)
  assert(at == #s + 1)
  return parts
end

--- A picture without anything in it.
function observed.new() return { entities = {}, nodes = {}, walls = {}, events = {}, resets = 0 } end

local function apply_message(picture, payload)
  local news, entities = assert(sync.read(payload)), picture.entities
  local dims = payload:byte(2) == 1 and 3 or 2
  for i = 1, news.gone.n do
    assert(entities[news.gone[i]], "an entity is gone that was never told")
    entities[news.gone[i]] = nil
  end
  local function rows(list, width, first, fresh)
    for i = 1, list.n * width, width do
      assert(fresh == (entities[list[i]] == nil), "told twice, or moved before it was told")
      local e = entities[list[i]] or { kind = list[i + 1] }
      entities[list[i]] = e
      for k = 1, dims do e[k] = list[i + first + k - 1] end
    end
  end
  rows(news.appeared, 2 + dims, 2, true)
  rows(news.moved, 1 + dims, 1, false)
  for i = 1, 2 * news.touched.n, 2 do entities[news.touched[i]].kind = news.touched[i + 1] end
end

--- Applies blocks to a picture: `entities[id]` is `{ x, y [, z], kind =, layers =, extent =, carrier = }`,
-- `nodes["id:node"]` an area, `walls["sight:id"]` its ends and whether it is `open`, `events` those of these blocks,
-- `structure` the parts, `time` that of the tick. `types` counts the blocks; JSON goes to `said`.
function observed.apply(picture, blocks, said)
  local at = 1
  picture.events, picture.types = {}, {}
  while blocks and at <= #blocks do
    local type_, size = string.unpack("<c1I4", blocks, at)
    local payload = blocks:sub(at + 5, at + 4 + size)
    assert(#payload == size and size > 0)
    picture.types[type_] = (picture.types[type_] or 0) + 1
    at = at + 5 + size
    if type_ == "R" then
      picture.entities, picture.nodes, picture.walls, picture.resets = {}, {}, {}, picture.resets + 1
      picture.dimensions, picture.engine = payload:byte(2), payload:sub(4)
    elseif type_ == "S" then
      apply_message(picture, payload)
    elseif type_ == "L" then
      read_looks(payload, picture.entities)
    elseif type_ == "N" then
      read_nodes(payload, picture.nodes, picture.dimensions)
    elseif type_ == "W" then
      read_walls(payload, picture.walls, picture.dimensions)
    elseif type_ == "E" then
      read_events(payload, picture.events)
    elseif type_ == "G" then
      picture.structure = read_structure(payload)
    elseif type_ == "T" then
      picture.time = string.unpack("<d", payload)
    elseif type_ == "J" then
      said[#said + 1] = assert(json.decode(payload, 1, nil, nil), payload)
    else
      error("unknown block " .. type_)
    end
  end
  return picture
end

return observed
