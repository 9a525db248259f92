-- Fog of war: a team shares the sight of its heroes and wards. One enter when the first of them sees, one leave when
-- the last one no longer does, nothing on the way from ward to ward, and bushes to hide in.
local aoi = require "aoi"

local RED, BLUE = 1, 2
local space = aoi.new()
local sight = require("aoi.team").new(space, {
  enter = function(team, id) print(team .. " sees " .. id) end,
  leave = function(team, id) print(team .. " no longer sees " .. id) end,
})

space:enter(1, 0, 0, RED) -- a hero and two wards
space:enter(2, 20, 0, RED)
space:enter(3, 40, 0, RED)
for id = 1, 3 do sight:add("red", id, { shape = "circle", radius = 12, mask = BLUE }) end
sight:bush { 44, -3, 50, -3, 50, 3, 44, 3 } -- two that overlap
sight:bush { 48, -3, 54, -3, 54, 3, 48, 3 }

space:enter(9, -30, 0, BLUE)
for x = -30, 45, 3 do -- past the hero and both wards: one enter, and one leave when the bush hides it
  space:move(9, x, 0)
  sight:tick()
end
space:move(3, 49, 0) -- the ward is carried into both bushes
sight:tick()

--> red sees 9
--> red no longer sees 9
--> red sees 9
