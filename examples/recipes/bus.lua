-- A bus with passengers: they move with it in the same call, see what they pass, and get off where it stops.
local aoi = require "aoi"

local BUS, DRIVER, CHILD = 1, 2, 3
local space = aoi.new()
space:enter(BUS, 0, 0)
space:enter(DRIVER, 0, 0)
space:enter(CHILD, 0, 0)
space:attach(DRIVER, BUS, 2, 0)                         -- two units ahead of the middle
space:attach(CHILD, BUS, -3, 1)

local COW = 2                                           -- a kind
space:enter(50, 40, 0, COW)                             -- beside the road
space:add_node(CHILD, 1, { radius = 5, mask = COW }, function() print "the child sees the cow" end)

space:move(BUS, 40, 0)                                  -- one call, one delivery
print(("the child is at %g, %g"):format(space:position(CHILD)))
print(pcall(space.move, space, CHILD, 0, 0))
space:attach(CHILD, nil)                                -- gets off where it is
space:move(BUS, 100, 0)
print("on board", space:passengers(BUS)[1])
space:leave(BUS)                                        -- the engine fails: who was on board stays on the road
print(("the driver is at %g, %g"):format(space:position(DRIVER)))

--> the child sees the cow
--> the child is at 37, 1
--> false	bad argument #2 to 'move' (entity 3 is attached: it moves with its carrier)
--> on board	2
--> the driver is at 102, 0
