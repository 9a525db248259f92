-- Bullets that are faster than their targets are wide: the way of a tick is swept, the first hit counts.
local aoi = require "aoi"

local TARGET, WALL = 1, 2
local space = aoi.new()
space:enter(10, 30, 0.5, TARGET)
space:enter(11, 55, 0, TARGET)
space:enter(12, 70, 0, WALL)
space:set_extent(12, 4)                                 -- a thick one
space:enter(20, 5, 0.2, TARGET)                         -- the shooter, who is not hit

local hits = {}                                         -- one table serves for every bullet
local function shoot(shooter, x0, y0, x1, y1, radius)
  local list, n = space:sweep(x0, y0, x1, y1, radius, TARGET + WALL, hits)
  for i = 1, 2 * n, 2 do
    local id, t = list[i], list[i + 1]
    if id ~= shooter then
      print(("%d is hit at %.1f, %.1f"):format(id, x0 + t * (x1 - x0), y0 + t * (y1 - y0)))
      if space:kind(id) == WALL then return print "and stopped" end
    end
  end
end

shoot(20, 5, 0, 105, 0, 1)                              -- 100 units in one tick
space:leave(10)
shoot(20, 5, 0, 45, 0, 1)

--> 10 is hit at 29.1, 0.0
--> 11 is hit at 54.0, 0.0
--> 12 is hit at 65.0, 0.0
--> and stopped
