-- The walls of a world. Every shard and every exchange has all of them. What a client asks for is a proposal to the
-- leader (director.lua), which puts it into a dated change (changes.lua): a door opens in all shards in one epoch.
--
--   state    last: the newest id; list[id] = { x1, y1, x2, y2 [, z0, z1], open = boolean };
--            done[boot] = n: the last proposal that has been entered of the process with that boot id
--   proposal boot, n: ascending, as it may be sent to two leaders; verb, value: "add", a list of such walls;
--            "open_wall", "shut_wall", "remove_wall", an id; "all", a state
--
--   shard.walls              the state of the shard
--   shard.wall_of[id]        the number of the wall in the shard's sight; shard.wall_named[number]: the id

local sorted_keys = require "aoi.sorted_keys"

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

-- Returns the first of the new ids, and how many there are.
function VERBS.add(state, list, put)
  local first = state.last + 1
  for _, wall in ipairs(list) do
    state.last = state.last + 1
    state.list[state.last] = copy_of(wall)
    put(state.last)
  end
  return { first, #list }
end

-- A verb for one wall, which f(list, id) changes.
local function of_one(name, f)
  VERBS[name] = function(state, id, put)
    if not state.list[id] then return ("bad argument #1 to '%s' (no wall %d)"):format(name, id) end
    f(state.list, id)
    put(id)
    return {}
  end
end

of_one("open_wall", function(list, id) list[id].open = true end)
of_one("shut_wall", function(list, id) list[id].open = false end)
of_one("remove_wall", function(list, id) list[id] = nil end)

function VERBS.all(state, other, put)
  local former = sorted_keys(state.list)
  state.last, state.list = math.max(state.last, other.last), {}
  for _, id in ipairs(former) do put(id) end
  state.list = wall_list.copy(other).list
  for _, id in ipairs(sorted_keys(state.list)) do put(id) end
  return {}
end

--- Enters a proposal into the state. put(id), if it is given, is called for each wall that this adds, removes, opens or
-- shuts. Returns a table with the results, or an error message; nil: the proposal has been entered before.
function wall_list.enter(state, proposal, put)
  if proposal.n <= (state.done[proposal.boot] or 0) then return nil end
  state.done[proposal.boot] = proposal.n
  return VERBS[proposal.verb](state, proposal.value, put or function() end)
end

-- In a shard ----------------------------------------------------------------------------------------------------------

-- Makes a wall of the shard's sight as the state has it.
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
  if wall.open then sight:open_wall(number) else sight:shut_wall(number) end
end

--- The shard begins with the walls of a state, nil: with none.
function wall_list.begin(shard, state)
  shard.sight, shard.wall_of, shard.wall_named = require("aoi.sight").new(shard.core), {}, {}
  shard.walls = state or wall_list.new()
  for _, id in ipairs(sorted_keys(shard.walls.list)) do put(shard, id) end
end

--- Called when an epoch is closed: the proposals of a change that is due.
function wall_list.change(shard, proposals)
  for _, proposal in ipairs(proposals) do
    wall_list.enter(shard.walls, proposal, function(id)
      put(shard, id)
      shard.rebuilt[id] = true
    end)
  end
end

--- Adds a node to the core by the router's `adopt`, with a record, and the ids that it has seen.
function wall_list.adopt(shard, rec)
  shard.router:adopt(rec.id, rec.number, rec.area, rec.seen or "", rec.width or 4, rec.sight and shard.sight,
    rec.linger or 0, rec.states)
  rec.seen, rec.states = nil, nil
end

-- In a request of a client --------------------------------------------------------------------------------------------

local function is_wall(wall, dimensions)
  local width = dimensions == 3 and 6 or 4
  if type(wall) ~= "table" or type(wall.open or false) ~= "boolean" or #wall ~= width then return false end
  for i = 1, width do
    if not math.type(wall[i]) or wall[i] ~= wall[i] then return false end
    if i <= 4 and math.abs(wall[i]) > 2 ^ 50 then return false end
  end
  return width == 4 or wall[5] <= wall[6]
end

-- Whether the value, which may be anything, is a state, but for `done`.
local function is_state(state, dimensions)
  if type(state) ~= "table" or math.type(state.last) ~= "integer" or type(state.list) ~= "table" then return false end
  for id, wall in pairs(state.list) do
    if math.type(id) ~= "integer" or id < 1 or id > state.last then return false end
    if not is_wall(wall, dimensions) or wall.open == nil then return false end
  end
  return true
end

--- Whether a client may propose that, which may be anything. dimensions: nil: the world has no walls.
function wall_list.is_proposal(dimensions, verb, value)
  if not dimensions then return false end
  if verb == "all" then return is_state(value, dimensions) end
  if verb ~= "add" then return VERBS[verb] ~= nil and math.type(value) == "integer" end
  if type(value) ~= "table" then return false end
  for _, wall in ipairs(value) do
    if not is_wall(wall, dimensions) then return false end
  end
  return true
end

return wall_list
