-- Safe zones that overlap: a count of the zones that one is in, so that leaving one of two changes nothing.
local aoi = require "aoi"

local space = aoi.new()
local zones = {} -- entity -> how many zones it is in
local handlers = { zone = {} }
function handlers.zone.enter(_, id)
  zones[id] = (zones[id] or 0) + 1
  if zones[id] == 1 then print(id .. " is safe") end
end
function handlers.zone.leave(_, id)
  zones[id] = zones[id] > 1 and zones[id] - 1 or nil
  if not zones[id] then print(id .. " is fair game") end
end

local triggers = require("aoi.trigger").new(space, handlers)
triggers:region("zone", { x = 0, y = 0, shape = "circle", radius = 10 })
triggers:region("zone", { x = 12, y = 0, shape = "box", extents = { 6, 3 } })

space:enter(1, -20, 0)
for x = -20, 30, 5 do space:move(1, x, 0) end

--> 1 is safe
--> 1 is fair game
