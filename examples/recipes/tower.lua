-- A tower with floors and a stairwell: a layer for each floor, both where one passes over to the other.
local aoi = require "aoi"

local GROUND, UPPER = 1, 2
local space = aoi.new { delivery = "deferred" }        -- so that nobody is on the first layer for a moment

local function enter_player(id, x, layers)
  space:enter(id, x, 0)
  space:set_layers(id, layers)
  space:add_node(id, 1, 10, {                           -- no layers of its own: those that its owner is on
    enter = function(who, what) print(("%d sees %d"):format(who, what)) end,
    leave = function(who, what) print(("%d loses %d"):format(who, what)) end,
  })
end

enter_player(1, 0, GROUND)
enter_player(2, 3, UPPER)                               -- right above, and neither sees the other
space:flush()
print(space:explain(1, 1, 2).why)

print "1 is on the stairs: on both floors"
space:set_layers(1, GROUND + UPPER)
space:flush()
print "and upstairs"
space:set_layers(1, UPPER)
space:flush()

local _, n = space:near(0, 0, { radius = 10, layers = GROUND })
print(n .. " left on the ground floor")

--> layers
--> 1 is on the stairs: on both floors
--> 2 sees 1
--> 1 sees 2
--> and upstairs
--> 0 left on the ground floor
