-- A thief walks past two guards. Each guard carries two nodes: a wide one that makes him alert and a narrow one in
-- which he attacks. The space tells who came near whom; what that means is the business of this file.

-- The checkout comes last on the path, so that whatever the environment names wins.
local root = arg[0]:match("^(.*)examples[/\\]") or "../"
package.path = package.path .. ";" .. root .. "lua/?.lua;" .. root .. "lua/?/init.lua"
package.cpath = package.cpath .. ";" .. root .. "?.so"

local aoi = require "aoi"

local THIEF, GUARD = 1, 2 -- kinds are bits: a node sees the kinds in its mask
local ALERT, ATTACK = 1, 2 -- the nodes of a guard

local space = aoi.new()
local names = { [1] = "the thief", [2] = "Anna", [3] = "Bert" }
local step, fights = 0, 0

local function tell(guard, what)
  local x, y = space:position(1)
  local where = x and ("thief at %3d,%2d"):format(x, y) or "thief is gone  "
  print(("step %2d, %s: %s %s"):format(step, where, names[guard], what))
end

-- One table of handlers serves every guard; its fields are looked up at each event.
local alert, attack = {}, {}
function alert.enter(guard) tell(guard, "hears steps and looks around") end
function alert.leave(guard) tell(guard, "shrugs and goes back to sleep") end
function attack.leave(guard) tell(guard, "lowers the sword") end
function attack.enter(guard, thief)
  fights = fights + 1
  if fights == 1 then return tell(guard, "draws the sword against " .. names[thief]) end
  tell(guard, "does not miss a second time")
  space:leave(thief) -- a handler may call anything; what follows from it is delivered next
end

local function post(id, x, y)
  space:enter(id, x, y, GUARD)
  space:add_node(id, ALERT, { radius = 8, mask = THIEF }, alert)
  space:add_node(id, ATTACK, { radius = 2, mask = THIEF }, attack)
end

post(2, 0, 0) -- Anna stands in the way
post(3, 12, 6) -- Bert stands farther off and never gets to fight

print("Anna stands guard at 0,0 and Bert at 12,6: alert within 8, attack within 2. A thief walks by along y = 1.")
space:enter(1, -10, 1, THIEF)
for x = -9, 21 do
  step = step + 1
  space:move(1, x, 1)
end

print("Nobody followed him, so he climbs over the roofs and comes back for Anna's purse.")
for _, x in ipairs { -6, 1 } do
  step = step + 1
  space:move(1, x, 1)
end
