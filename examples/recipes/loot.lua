-- 100,000 items of loot on the ground: they stand still and carry no nodes, so that only players who move pay for them.
-- One call enters all; a pick-up is `nearest` with the kind of loot, and a leave.
local aoi = require "aoi"

local LOOT = 4
local ITEMS, SIDE = 100000, 4000
local space = aoi.new { engine = "grid", delivery = "deferred" }

local rows, seed = {}, 1
local function random() -- the same items in every run
  seed = (seed * 16807) % 2147483647
  return seed / 2147483647 * SIDE
end
for i = 1, ITEMS do
  local at = 3 * i - 2
  rows[at], rows[at + 1], rows[at + 2] = 1000 + i, random(), random()
end
space:enter_many(rows, nil, LOOT)

local seen = {} -- what the client of player 1 draws
space:enter(1, SIDE / 2, SIDE / 2)
space:add_node(1, 1, { shape = "circle", radius = 30, margin = 3, mask = LOOT }, {
  enter = function(_, item) seen[item] = true end,
  leave = function(_, item) seen[item] = nil end,
})

local function pick_up(player)
  local x, y = space:position(player)
  local list, n = space:nearest(x, y, 1, 5, LOOT) -- within reach
  if n == 0 then return nil end
  space:leave(list[1])
  return list[1]
end

local picked = 0
for step = 1, 200 do
  space:move(1, SIDE / 2 + step, SIDE / 2)
  while pick_up(1) do picked = picked + 1 end
  space:flush()
end
local known, there = 0, select(2, space:near(SIDE / 2 + 200, SIDE / 2, { shape = "circle", radius = 33, mask = LOOT }))
for _ in pairs(seen) do known = known + 1 end
print(picked > 0 and "items were picked up: " .. #space .. " things are left" or "nothing")
print("the client knows no more than there is: " .. tostring(known <= there))

--> items were picked up: 99986 things are left
--> the client knows no more than there is: true
