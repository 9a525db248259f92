-- A thief walks past two guards, through a garden, and under a third guard's eyes. The two carry a wide node that makes
-- them alert and a narrow one in which they attack, the third a cone of vision that turns; the garden is a polygon,
-- with a corner cut out of it. The space tells what came near what; what that means is the business of this file.

-- The checkout comes last on the path, so that whatever the environment names wins.
local root = arg[0]:match("^(.*)examples[/\\]") or "../"
package.path = package.path .. ";" .. root .. "lua/?.lua;" .. root .. "lua/?/init.lua"
package.cpath = package.cpath .. ";" .. root .. "?.so"

local aoi = require "aoi"

local THIEF, GUARD = 1, 2 -- kinds are bits: a node sees the kinds in its mask
local ALERT, ATTACK, EYES, LAWN = 1, 2, 3, 4 -- nodes

local space = aoi.new()
local names = { [1] = "the thief", [2] = "Anna", [3] = "Bert", [4] = "Carl", [5] = "the garden bell" }
local step, fights = 0, 0

local function tell(guard, what)
  local x, y = space:position(1)
  local where = x and ("thief at %3d,%2d"):format(x, y) or "thief is gone  "
  print(("step %2d, %s: %s %s"):format(step, where, names[guard], what))
end

-- One table of handlers serves every guard; its fields are looked up at each event.
local alert, attack, eyes, bell = {}, {}, {}, {}
function alert.enter(guard) tell(guard, "hears steps and looks around") end
function alert.leave(guard) tell(guard, "shrugs and goes back to sleep") end
function attack.leave(guard) tell(guard, "lowers the sword") end
function attack.enter(guard, thief)
  fights = fights + 1
  if fights == 1 then return tell(guard, "draws the sword against " .. names[thief]) end
  tell(guard, "does not miss a second time")
  space:leave(thief) -- a handler may call anything; what follows from it is delivered next
end

function eyes.enter(guard) tell(guard, "sees him from the tower") end
function eyes.leave(guard) tell(guard, "sees him no more") end
function bell.enter(garden) tell(garden, "rings") end
function bell.leave(garden) tell(garden, "is silent") end

local function post(id, x, y)
  space:enter(id, x, y, GUARD)
  space:add_node(id, ALERT, { radius = 8, mask = THIEF }, alert)
  space:add_node(id, ATTACK, { radius = 2, mask = THIEF }, attack)
end

post(2, 0, 0) -- Anna stands in the way
post(3, 12, 6) -- Bert stands farther off and never gets to fight

local SOUTH, WEST = -math.pi / 2, math.pi
space:enter(4, 16, 10, GUARD) -- Carl looks down from the tower, 60 degrees wide
space:add_node(4, EYES, { shape = "sector", radius = 12, facing = SOUTH, angle = math.pi / 3, mask = THIEF }, eyes)

space:enter(5, 0, 0, 0) -- a place: of kind 0, so that no node sees it
local lawn = { -5, -4, 5, -4, 5, 4, 1, 4, 1, 0, -5, 0 } -- an L: the path goes around its cut-out corner, then across
space:add_node(5, LAWN, { shape = "polygon", points = lawn, mask = THIEF }, bell)

print("Anna stands guard at 0,0 and Bert at 12,6: alert within 8, attack within 2. Carl looks south from 16,10.")
print("A thief walks by along y = 1.")
space:enter(1, -10, 1, THIEF)
for x = -9, 21 do
  step = step + 1
  space:move(1, x, 1)
  if x == 14 then space:set_facing(4, EYES, WEST) end -- Carl hears an owl
  if x == 17 then space:set_facing(4, EYES, SOUTH) end
end

print(tostring(space:explain(4, EYES, 1)))
print("Nobody followed him, so he climbs over the roofs and comes back for Anna's purse.")
for _, x in ipairs { -6, -1 } do
  step = step + 1
  space:move(1, x, 1)
end
