-- Writes and reads parts, the messages between shards for one epoch: rows of tags 7 to 13. The router writes and reads
-- those of tags 1 to 6, rows of positions (src/skynet/world_parts.c, which describes parts and their sections).
--
--   tag       row, little-endian
--   7 HAND    i64 id, u32 life, i64 kind, u32 client, 2 x (u32 mover, u32 batch), u8 flags, f64 x, y [, z],
--             u16 nodes, each:
--             i64 node, u32 client, u32 handle, u8 flags, u8 bytes of an id, u16 + area, u32 + ids seen
--             then u32 + optional fields, written by plain.lua: barred (taking.lua), view (views.lua), traits,
--             nodes[node] = { by = client, overrides (targets.lua), sight, linger: options of add_node, states: from
--             the router's `seen`, of a node with sight }, follows = list of shards, ghosts = list (distant.lua)
--             A hand-over. Flag 1 of the entity: it enters the world with this epoch; of a node: it is added with this
--             epoch; flag 2 of a node: its enter events have positions.
--   8 HOME    i64 id, u32 life, u16 shard, u32 client
--             To the home of the id, and to all exchanges (directory.lua): the owner of that life and the client that
--             has entered it; shard 0: the life has ended.
--   9 ROWS    i64 id, u32 client, u32 batch, u8 hops, f64 x, y [, z]
--             A misrouted move (misrouted.lua).
--   10 LOST   i64 id, u32 life, u8 what
--             0: that life has been restored: an unconfirmed ghost of it leaves; 1: the life has ended: any ghost of it
--             leaves; 2: to the owner: the life must end.
--   11 TRAIT  i64 id, u32 life, u8 whole, u32 + traits, written by plain.lua (traits.lua)
--             whole: all traits, for a shard that is new in the audience; otherwise those that have changed.
--   12 WALLS  u32 + the state of wall_list.lua, written by plain.lua
--             In snapshots only.
--   13 WANT   i64 id, u32 life, u16 shard, u8 what
--             To the owner: 1: that shard follows the entity wherever it is, 0: no more; 2: to that shard: the life has
--             ended (distant.lua).
--
-- epoch.read takes any bytes: it returns nil and a reason for a part that is invalid anywhere, and never raises.

local core = require "aoi.skynet.native" "world"
local failures = require "aoi.skynet.failures"
local plain = require "aoi.skynet.world.plain"
local wall_list = require "aoi.skynet.world.wall_list"

local spack, sunpack = string.pack, string.unpack

local epoch = { HAND = 7, HOME = 8, ROWS = 9, LOST = 10, TRAIT = 11, WALLS = 12, WANT = 13,
                ENTERS = 1, ADDED = 1, POSITIONS = 2, RESTORED = 0, ENDED = 1, ENDS = 2,
                UNWANTED = 0, WANTED = 1, HAS_ENDED = 2, ENTRY = "<i8I4I2I4" }

local HEAD = "<BBBB"
local SECTION = "<BI4I4"
local HAND_HEAD = "<i8I4i8I4I4I4I4I4B" -- then the position and the number of nodes
local HAND = { [2] = HAND_HEAD .. "dd", [3] = HAND_HEAD .. "ddd" }
local NODE = "<i8I4I4BBs2s4"
local NODE_HEAD = "<i8I4I4BBs2I4" -- without the ids seen
local TRAIT = "<i8I4Bs4"
local ROW = "<i8I4I4B" -- then the position

local NOTHING = spack("<s4", "")

-- Optional fields of an entity, and of a node.
local MORE = { "barred", "view", "traits", "follows", "ghosts" }
local MORE_OF_NODE = { "by", "overrides", "sight", "linger", "states" }

-- Copies the fields of these names to `into`, if this is nil to a new table. Returns that; nil: there is no field.
local function pick(from, names, into)
  for i = 1, #names do
    local value = from[names[i]]
    if value ~= nil then
      into = into or {}
      into[names[i]] = value
    end
  end
  return into
end

local function more_of(hand)
  local more = pick(hand, MORE)
  for _, n in ipairs(hand.nodes) do
    local its = pick(n, MORE_OF_NODE)
    if its then
      more = more or {}
      more.nodes = more.nodes or {}
      more.nodes[n.node] = its
    end
  end
  return more
end

--- hand: id, life, kind, client, movers = { client, batch, client, batch }, enters, x, y, z, and the optional fields
-- above; nodes: a list with node, client, handle, added, positions, area, seen, width and optional fields; by: nil
-- where it is the client. Returns a list of strings, which make the row together: `seen` is long, and is only copied
-- into the part.
function epoch.hand(hand, dimensions)
  local m, more = hand.movers, more_of(hand)
  local row = {
    spack(HAND[dimensions], hand.id, hand.life, hand.kind, hand.client, m[1], m[2], m[3], m[4],
      hand.enters and epoch.ENTERS or 0, hand.x, hand.y, hand.z),
    spack("<I2", #hand.nodes),
  }
  for i, n in ipairs(hand.nodes) do
    local node_flags = (n.added and epoch.ADDED or 0) | (n.positions and epoch.POSITIONS or 0)
    row[2 * i + 1] = spack(NODE_HEAD, n.node, n.client, n.handle, node_flags, n.width, n.area, #n.seen)
    row[2 * i + 2] = n.seen
  end
  row[#row + 1] = more and spack("<s4", plain.write(more)) or NOTHING
  return row
end

function epoch.trait(id, life, whole, traits)
  return spack(TRAIT, id, life, whole and 1 or 0, plain.write(traits))
end

function epoch.walls(state) return spack("<s4", plain.write { last = state.last, list = state.list }) end

function epoch.row(dimensions, id, client, batch, hops, x, y, z)
  return spack(ROW .. ("d"):rep(dimensions), id, client, batch, hops, x, y, z)
end

-- Appends the strings of a section, its head first.
local function put_section(pieces, tag, rows)
  local head, size = #pieces + 1, 0
  pieces[head] = ""
  for _, row in ipairs(rows) do
    for _, piece in ipairs(type(row) == "table" and row or { row }) do
      pieces[#pieces + 1] = piece
      size = size + #piece
    end
  end
  pieces[head] = spack(SECTION, tag, #rows, size)
end

--- part: the router's part, or nil; lists: lists of rows by tag, or nil; a row is a string or a list of strings.
-- Returns the whole part; nil: it is empty.
function epoch.part(part, lists, dimensions)
  if not lists then return part end
  local pieces = { part or spack(HEAD, 1, 3, 4, dimensions) }
  for tag = epoch.HAND, epoch.WANT do
    if lists[tag] then put_section(pieces, tag, lists[tag]) end
  end
  return table.concat(pieces)
end

local function check_place(...)
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    if v ~= v or math.abs(v) > 2 ^ 50 then error("an impossible coordinate", 0) end
  end
end

local function read_place(into, bytes, at, dimensions)
  into.x, into.y, at = sunpack("<dd", bytes, at)
  if dimensions == 3 then into.z, at = sunpack("<d", bytes, at) end
  check_place(into.x, into.y, into.z or 0)
  return at
end

local function read_node(bytes, at, dimensions)
  local n, flags = {}
  n.node, n.client, n.handle, flags, n.width, n.area, n.seen, at = sunpack(NODE, bytes, at)
  n.added, n.positions = flags & epoch.ADDED ~= 0, flags & epoch.POSITIONS ~= 0
  local ok, reason = core.check_area(n.area, dimensions)
  if not ok then error(reason, 0) end
  if flags > 3 or n.width ~= 4 and n.width ~= 8 or #n.seen % n.width ~= 0 then error("an impossible node", 0) end
  return n, at
end

local function is_traits(traits)
  if type(traits) ~= "table" or type(traits.put or {}) ~= "table" then return false end
  for _, number in pairs(traits.put or {}) do if math.type(number) ~= "integer" then return false end end
  return (traits.extent or 0) >= -2 ^ 50 and (traits.extent or 0) <= 2 ^ 50
    and math.type(traits.layers or 1) == "integer" and (traits.priority or 1) > 0
    and type(traits.fields or {}) == "table"
end

local function read_sight(node)
  local linger = node.linger or 0
  local good = math.type(linger) == "integer" and linger >= 0 and linger < 1 << 31
  if (node.sight or false) ~= (node.sight == true) or not good then error("an impossible sight", 0) end
  if node.states ~= nil and not wall_list.are_states(node.states) then error("impossible states", 0) end
end

local function read_ghost(ghost, dimensions)
  if type(ghost) ~= "table" then error("an impossible ghost", 0) end
  for _, name in ipairs { "id", "life", "kind" } do
    if math.type(ghost[name]) ~= "integer" then error("an impossible ghost", 0) end
  end
  for i, name in ipairs { "x", "y", "z" } do
    if i <= dimensions and math.type(ghost[name]) ~= "float" then error("an impossible ghost", 0) end
  end
  check_place(ghost.x, ghost.y, dimensions == 3 and ghost.z or 0)
end

local function check_more(more, dimensions)
  if not is_traits(more.traits or {}) then error("impossible traits", 0) end
  for _, name in ipairs { "barred", "view", "nodes", "follows", "ghosts" } do
    if more[name] ~= nil and type(more[name]) ~= "table" then error("no table: " .. name, 0) end
  end
  for _, number in ipairs(more.view and more.view.known or {}) do
    if math.type(number) ~= "integer" then error("no integer in a picture", 0) end
  end
  for target, life in pairs(more.view and more.view.pins or {}) do
    if math.type(target) ~= "integer" or life and math.type(life) ~= "integer" then error("an impossible pin", 0) end
  end
  for _, shard in ipairs(more.follows or {}) do
    if math.type(shard) ~= "integer" then error("an impossible follower", 0) end
  end
  for _, ghost in ipairs(more.ghosts or {}) do read_ghost(ghost, dimensions) end
  if more.view and (more.view.picture ~= nil) ~= (more.view.known ~= nil) then error("half of a picture", 0) end
  for _, node in pairs(more.nodes or {}) do
    if type(node) ~= "table" or type(node.overrides or {}) ~= "table" then error("no table: nodes", 0) end
    for _, o in pairs(node.overrides or {}) do if type(o) ~= "table" then error("no override", 0) end end
    read_sight(node)
  end
end

-- Optional fields become fields of the hand and of its nodes.
local function read_more(hand, bytes, dimensions)
  if bytes == "" then return end
  local more, reason = plain.read(bytes)
  if type(more) ~= "table" then error(reason or "no table", 0) end
  check_more(more, dimensions)
  pick(more, MORE, hand)
  for _, n in ipairs(hand.nodes) do pick(more.nodes and more.nodes[n.node] or {}, MORE_OF_NODE, n) end
end

local function read_hand(bytes, at, dimensions)
  local m, flags, count, more = {}
  local hand = { nodes = {}, movers = m }
  hand.id, hand.life, hand.kind, hand.client, m[1], m[2], m[3], m[4], flags, at = sunpack(HAND_HEAD, bytes, at)
  count, at = sunpack("<I2", bytes, read_place(hand, bytes, at, dimensions))
  if flags > 1 then error("unknown flags " .. flags, 0) end
  hand.enters = flags == epoch.ENTERS
  for i = 1, count do hand.nodes[i], at = read_node(bytes, at, dimensions) end
  more, at = sunpack("<s4", bytes, at)
  read_more(hand, more, dimensions)
  return hand, at
end

local function read_trait(bytes, at)
  local row = {}
  row.id, row.life, row.whole, row.traits, at = sunpack(TRAIT, bytes, at)
  row.traits = plain.read(row.traits)
  if row.whole > 1 or not is_traits(row.traits) then error("impossible traits", 0) end
  row.whole = row.whole == 1
  return row, at
end

local function read_walls(bytes, at, dimensions)
  local state
  state, at = sunpack("<s4", bytes, at)
  state = plain.read(state)
  if not wall_list.are_good(state, dimensions) then error("impossible walls", 0) end
  return state, at
end

local function read_row(bytes, at, dimensions)
  local row = {}
  row.id, row.client, row.batch, row.hops, at = sunpack(ROW, bytes, at)
  return row, read_place(row, bytes, at, dimensions)
end

local READERS = {
  [epoch.HAND] = read_hand, [epoch.ROWS] = read_row, [epoch.TRAIT] = read_trait, [epoch.WALLS] = read_walls,
}

-- Rows of a fixed layout: tag, format, name of the function that writes a row, and names of the fields, its arguments.
for _, layout in ipairs {
  { epoch.HOME, epoch.ENTRY, "home", "id", "life", "shard", "client" },
  { epoch.LOST, "<i8I4B", "lost", "id", "life", "what" },
  { epoch.WANT, "<i8I4I2B", "want", "id", "life", "shard", "what" },
} do
  local tag, format, name = table.unpack(layout)
  epoch[name] = function(...) return spack(format, ...) end
  READERS[tag] = function(bytes, at)
    local row, values = {}, { sunpack(format, bytes, at) }
    for i = 4, #layout do row[layout[i]] = values[i - 3] end
    local is_possible = (row.what or 0) <= epoch.ENDS and (tag ~= epoch.WANT or row.shard > 0) -- HAS_ENDED is ENDS
    if not is_possible then error("an impossible row", 0) end
    return row, values[#layout - 2]
  end
end

local function read_section(bytes, count, reader, dimensions)
  local list, at = {}, 1
  for i = 1, count do
    if at > #bytes then error("section cut off", 0) end
    list[i], at = reader(bytes, at, dimensions)
  end
  if at ~= #bytes + 1 then error("wrong length of a section", 0) end
  return list
end

--- Checks a whole part. Returns { bytes =, [tag] = list of rows }, or nil and a reason.
function epoch.read(bytes, dimensions)
  local ok, reason = core.check_part(bytes, dimensions)
  if not ok then return nil, reason end
  local part = { bytes = bytes }
  for tag, reader in pairs(READERS) do
    local rows, count = core.section(bytes, tag)
    if rows then
      local good, list = pcall(read_section, rows, count, reader, dimensions)
      if not good then return nil, failures.reason(list) end
      part[tag] = list
    end
  end
  return part
end

--- Calls f(shard, row) for each row with that tag of parts that `read` has returned.
function epoch.each_row(parts, tag, f, shard)
  for _, part in ipairs(parts) do
    for _, row in ipairs(part[tag] or {}) do f(shard, row) end
  end
end

return epoch
