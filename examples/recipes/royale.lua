-- The zone of a battle royale: who is outside of the circle loses health every second, and the circle shrinks.
local aoi = require "aoi"

local PLAYER = 1
local space = aoi.new()
local health = { [1] = 3, [2] = 3, [3] = 3 }
local handlers = { storm = { shape = "circle", radius = 100, outside = true, interval = 1, mask = PLAYER } }
function handlers.storm.enter(_, id) print(id .. " is in the storm") end
function handlers.storm.leave(_, id) print(id .. (space:has(id) and " is out of it" or " is dead")) end
function handlers.storm.stay(_, id)
  health[id] = health[id] - 1
  if health[id] == 0 then space:leave(id) end
end

local triggers = require("aoi.trigger").new(space, handlers)
local storm = triggers:region("storm", { x = 0, y = 0 })
space:enter(1, 0, 0, PLAYER)
space:enter(2, 110, 0, PLAYER)
space:enter(3, 60, 50, PLAYER)
for second = 1, 6 do
  triggers:update(second)
  if second == 1 then storm:set_radius(70) end
  if second == 3 then space:move(3, 30, 20) end
end

--> 2 is in the storm
--> 3 is in the storm
--> 2 is dead
--> 3 is out of it
