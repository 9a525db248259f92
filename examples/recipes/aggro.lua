-- Aggro with a leash and a call for help: a wolf attacks who comes near, its pack comes along, and all of them go home
-- when they have been drawn too far away.
local aoi = require "aoi"

local PLAYER, WOLF = 1, 2
local LEASH = 20
local names = { [1] = "Grey", [2] = "Fang", [3] = "Loner", [10] = "Ann" }
local home, prey = { [1] = 0, [2] = 6, [3] = 90 }, {}

local space = aoi.new()
local handlers = { aggro = { radius = 8, keep = 14, mask = PLAYER } }
local triggers = require("aoi.trigger").new(space, handlers)

local function attack(wolf, player, why)
  if prey[wolf] then return end
  prey[wolf] = player
  print(names[wolf] .. " attacks " .. names[player] .. why)
end

function handlers.aggro.enter(wolf, player)
  attack(wolf, player, "")
  local x, y = space:position(wolf)
  for _, other in ipairs((space:near(x, y, 10, WOLF))) do -- the call for help
    if other ~= wolf then attack(other, player, ", called by " .. names[wolf]) end
  end
end

local function tick()
  for wolf, player in pairs(prey) do
    local x = space:position(wolf)
    local far = math.abs(x - home[wolf]) > LEASH
    if far or not space:has(player) then
      prey[wolf] = nil
      space:move(wolf, home[wolf], 0)
      print(names[wolf] .. " goes home")
    else
      space:move(wolf, x + (space:position(player) > x and 2 or -2), 0)
    end
  end
end

for wolf, x in pairs(home) do
  space:enter(wolf, x, 0, WOLF)
  triggers:add(wolf, "aggro")
end
space:enter(10, -40, 0, PLAYER)
for x = -40, 40, 2 do
  space:move(10, x, 0)
  tick()
end

--> Grey attacks Ann
--> Fang attacks Ann, called by Grey
--> Grey goes home
--> Fang goes home
