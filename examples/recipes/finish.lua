-- A finish line that no car is too fast for: between two ticks it is in front of the line, then behind it. The order of
-- those that come within one tick is that of their ways.
local aoi = require "aoi"

local space = aoi.new { delivery = "deferred" }
local place = 0
local handlers = { finish = {} }
function handlers.finish.cross(_, car, _, t)
  place = place + 1
  print(("%d. car %d, %.1f of the tick"):format(place, car, t))
end

local triggers = require("aoi.trigger").new(space, handlers)
triggers:region("finish", { x = 100, y = 0, shape = "box", extents = { 0, 20 } })
for car, x in ipairs { 0, 5, -40 } do space:enter(car, x, car) end
space:flush()
for tick = 1, 5 do
  for car, speed in ipairs { 30, 32, 38 } do
    local x, y = space:position(car)
    space:move(car, x + speed, y)
  end
  if tick == 4 then space:jump(3, 500, 0) end -- into the garage, without passing the line
  space:flush()
end

--> 1. car 2, 1.0 of the tick
--> 2. car 1, 0.3 of the tick
