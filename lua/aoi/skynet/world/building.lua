-- Walls of a world (wall_list.lua), as one of its clients asks for them: requests[name](self, ...) of member.lua, which
-- return true and the answer, or false and what was wrong. A change is in all shards when the answer comes.

local methods = require "aoi.skynet.methods"
local place = require "aoi.skynet.walls"

local building = {}

local function check(self, name)
  if not self.has_sight then place.sight(self, name) end
end

-- A wall as a sight stores it, with heights: true and the wall, or false and what is wrong.
local function normal(self, ...)
  local space = not self.scratch and require("aoi").new { dimensions = self.dimensions }
  self.scratch = self.scratch or { sight = require("aoi.sight").new(space) }
  local ok, number = place.invoke(self.scratch, "wall", ...)
  if not ok then return false, number end
  local x1, y1, x2, y2, _, z0, z1 = self.scratch.sight:get_wall(number)
  self.scratch.sight:remove_wall(number)
  return true, { x1, y1, x2, y2, z0, z1 }
end

--- Makes a proposal of wall_list.lua, and waits: true and its results, or false and what was wrong.
function building.propose(self, verb, value)
  local epoch, result = self.move_map("walls", verb, value)
  if not epoch then return false, result end
  self.epoch_seen = math.max(self.epoch_seen, epoch)
  return type(result) == "table", result
end

local function wall(self, ...)
  check(self, "wall")
  local ok, one = normal(self, ...)
  if not ok then return false, one end
  local added, result = building.propose(self, "add", { one })
  return added, added and result[1] or result
end

local function wall_many(self, rows)
  check(self, "wall_many")
  local list = place.each_row(rows, self.dimensions, function(...) return normal(self, ...) end, function() end)
  local ok, result = building.propose(self, "add", list)
  if not ok then return false, result end
  local ids = {}
  for i = 1, result[2] do ids[i] = result[1] + i - 1 end
  return true, ids, #ids
end

-- Asks the shard at that place: every shard has all walls.
local function ask_near(self, name, ...)
  check(self, name)
  local x, y = ...
  local is_place = math.type(x) and math.type(y) and x - x == 0 and y - y == 0
  local at = is_place and self.around(x, y, 0, 0)[1] or 1
  return self:ask_shard(at, "of_sight", name, ...)
end

--- requests: as in member.lua.
function building.add(requests)
  requests.wall, requests.wall_many = wall, wall_many
  for _, name in ipairs { "open_wall", "shut_wall", "remove_wall" } do
    requests[name] = function(self, id)
      check(self, name)
      return methods.done(building.propose(self, name, id))
    end
  end
  for _, name in ipairs { "ray", "get_wall", "walls" } do
    requests[name] = function(self, ...) return ask_near(self, name, ...) end
  end
end

return building
