-- The walls of a world. Every shard has all of them, and every exchange knows them. What a client asks for is a wish
-- (director.lua), which the leader puts into a change of the map: a door opens in all shards with the same epoch.
--
--   state    last: id of the newest; list[id] = { x1, y1, x2, y2 [, z0, z1], open = boolean };
--            done[boot] = n: the last wish of that life of a process that has been fulfilled
--   wish     boot, n: ascending, since one may be sent to two leaders; verb, value: "add", a list of such walls;
--            "open", "shut", "remove", an id; "all", a state
--
--   shard.walls              the state there
--   shard.wall_of[id]        what its sight calls a wall; shard.wall_named[that]: the id

local sorted_keys = require "aoi.skynet.sorted_keys"

local wall_list = {}

function wall_list.new() return { last = 0, list = {}, done = {} } end

local function copy_of(wall) return table.move(wall, 1, #wall, 1, { open = wall.open or false }) end

function wall_list.copy(state)
  local copy = { last = state.last, list = {}, done = {} }
  for id, wall in pairs(state.list) do copy.list[id] = copy_of(wall) end
  for boot, n in pairs(state.done or {}) do copy.done[boot] = n end
  return copy
end

local VERBS = {}

-- The ids of what is added: the first, and how many.
function VERBS.add(state, list, put)
  local first = state.last + 1
  for _, wall in ipairs(list) do
    state.last = state.last + 1
    state.list[state.last] = copy_of(wall)
    put(state.last)
  end
  return { first, #list }
end

-- A verb of one wall, which f(list, id) changes; name: of the method.
local function of_one(name, f)
  return function(state, id, put)
    if not state.list[id] then return ("bad argument #1 to '%s' (no wall %d)"):format(name, id) end
    f(state.list, id)
    put(id)
    return {}
  end
end

VERBS.open = of_one("open_wall", function(list, id) list[id].open = true end)
VERBS.shut = of_one("shut_wall", function(list, id) list[id].open = false end)
VERBS.remove = of_one("remove_wall", function(list, id) list[id] = nil end)

function VERBS.all(state, other, put)
  local former = sorted_keys(state.list)
  state.last, state.list = math.max(state.last, other.last), {}
  for _, id in ipairs(former) do put(id) end
  state.list = wall_list.copy(other).list
  for _, id in ipairs(sorted_keys(state.list)) do put(id) end
  return {}
end

--- A wish is fulfilled. put(id), where it is given, is called of each wall that is new, gone, open or shut by it.
-- Returns a table with the results, or what is wrong; nil where it has been fulfilled before.
function wall_list.enter(state, wish, put)
  if wish.n <= (state.done[wish.boot] or 0) then return nil end
  state.done[wish.boot] = wish.n
  return VERBS[wish.verb](state, wish.value, put or function() end)
end

-- In a shard ----------------------------------------------------------------------------------------------------------

-- A wall of its sight becomes what the state says of it.
local function put(shard, id)
  local sight, wall, number = shard.sight, shard.walls.list[id], shard.wall_of[id]
  if not wall then
    sight:remove_wall(number)
    shard.wall_of[id], shard.wall_named[number] = nil, nil
    return
  end
  if not number then
    number = sight:wall(table.unpack(wall, 1, #wall))
    shard.wall_of[id], shard.wall_named[number] = number, id
  end
  if wall.open then sight:open(number) else sight:shut(number) end
end

--- It has these; nil: none yet.
function wall_list.begin(shard, state)
  shard.sight, shard.wall_of, shard.wall_named = require("aoi.sight").new(shard.core), {}, {}
  shard.walls = state or wall_list.new()
  for _, id in ipairs(sorted_keys(shard.walls.list)) do put(shard, id) end
end

--- As an epoch is closed: the wishes of a change that is dated for it or earlier.
function wall_list.change(shard, wishes)
  for _, wish in ipairs(wishes) do
    wall_list.enter(shard.walls, wish, function(id)
      put(shard, id)
      shard.rebuilt[id] = true
    end)
  end
end

--- Adds a node to the core with what it has seen: as of the router's `adopt`.
function wall_list.adopt(shard, rec, seen, width)
  shard.router:adopt(rec.id, rec.number, rec.area, seen, width, rec.sight and shard.sight, rec.linger or 0, rec.states)
  rec.states = nil
end

-- In a snapshot and a message ---------------------------------------------------------------------------------------

local function is_wall(wall, width)
  if type(wall) ~= "table" or type(wall.open) ~= "boolean" or #wall ~= width then return false end
  for i = 1, width do
    if not math.type(wall[i]) or wall[i] ~= wall[i] then return false end
    if i <= 4 and wall[i] - wall[i] ~= 0 then return false end
  end
  return width == 4 or wall[5] <= wall[6]
end

--- Whether these are walls, of any bytes.
function wall_list.are_good(state, dimensions)
  if type(state) ~= "table" or math.type(state.last) ~= "integer" or type(state.list) ~= "table" then return false end
  for id, wall in pairs(state.list) do
    if math.type(id) ~= "integer" or id < 1 or id > state.last then return false end
    if not is_wall(wall, dimensions == 3 and 6 or 4) then return false end
  end
  return true
end

local PLAIN = 2 | 4 | 64 -- flags of a state (src/sight/sight.h): the area saw it, the node saw it, the line was clear

--- Whether these are states of what a node has seen, of any bytes: src/sight/recall.c.
function wall_list.are_states(bytes)
  if type(bytes) ~= "string" or #bytes % 16 ~= 0 then return false end
  for at = 9, #bytes, 16 do
    local state = string.unpack("<i8", bytes, at)
    local flags, age = state & 0xff, state >> 8
    local seen, clear = flags & 4 ~= 0, flags & 64 ~= 0
    if flags & ~PLAIN ~= 0 or flags & 6 == 0 or clear and not seen then return false end
    if age < 0 or age > 0xffffffff or age > 0 and (clear or not seen) then return false end
  end
  return true
end

return wall_list
