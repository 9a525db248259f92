-- Guards in a museum: a thief slips between display cases and through a door, and the night is saved in the middle.
local aoi = require "aoi"
local sights = require "aoi.sight"

local THIEF = 1
local EAST, WEST = 0, math.pi
local space = aoi.new()
local sight = sights.new(space)
local eyes = {}
function eyes.enter(guard) print("guard " .. guard .. " sees the thief") end
function eyes.leave(guard) print("guard " .. guard .. " has lost the thief") end

-- Two rooms, a wall with a door between them, a display case in each.
local function case(x, y)
  for _, side in ipairs { { 0, 0, 2, 0 }, { 2, 0, 2, 2 }, { 2, 2, 0, 2 }, { 0, 2, 0, 0 } } do
    sight:wall(x + side[1], y + side[2], x + side[3], y + side[4])
  end
end
sight:wall(20, 0, 20, 8)
local door = sight:wall(20, 8, 20, 12)
sight:wall(20, 12, 20, 20)
case(8, 9)
case(30, 9)

local function guard(id, x, y, facing)
  space:enter(id, x, y, 2)
  local cone = { shape = "sector", radius = 30, facing = facing, angle = 2, mask = THIEF }
  sight:add(id, 1, cone, eyes, { linger = 1 }) -- for one tick more a guard knows where the thief must be
end
guard(7, 1, 10, EAST)
guard(8, 39, 10, WEST)

space:enter(1, 14, 10, THIEF)
sight:tick()
local why = sight:explain(7, 1, 1)
print(("%s: at %g, %g"):format(why.why, why.x, why.y)) -- behind the case

space:move(1, 14, 3)
sight:tick()
sight:open_wall(door)
space:move(1, 18, 10) -- in line with the door, but behind both cases
sight:tick()
print("one tick later")
sight:tick()

-- The server restarts: walls, the open door and what the guards know are in the snapshot.
local again = aoi.load(space:save(), function() return eyes end)
sight = sights.new(again)
print("the door is " .. (select(5, sight:get_wall(door)) and "open" or "shut"))
again:move(1, 25, 14)
sight:tick()
sight:shut_wall(door)
again:move(1, 18, 14)
sight:tick()
sight:tick()

--> wall: at 8, 10
--> guard 7 sees the thief
--> one tick later
--> guard 7 has lost the thief
--> the door is open
--> guard 8 sees the thief
--> guard 7 sees the thief
--> guard 8 has lost the thief
