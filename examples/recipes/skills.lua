-- Skills ask for the moment: a cone, a line, the nearest ones, and lightning that jumps. None of them needs a node.
local aoi = require "aoi"

local FOE = 2
local space = aoi.new { engine = "grid" }
local places = { [2] = { 6, 0 }, [3] = { 8, 5 }, [4] = { 12, -1 }, [5] = { 17, 0 }, [6] = { 23, 2 }, [7] = { 2, -3 } }
space:enter(1, 0, 0, 1)
for id, at in pairs(places) do space:enter(id, at[1], at[2], FOE) end

local function told(what, list)
  table.sort(list)
  print(what .. ": " .. table.concat(list, " "))
end

-- A cone of 60 degrees to the east, 15 long.
told("cone", (space:near(0, 0, { shape = "sector", radius = 15, facing = 0, angle = math.rad(60) }, FOE)))

-- A line: a thin polygon from here to there, 2 wide; its corners are relative to where it is put.
local function line(x1, y1, x2, y2, width)
  local dx, dy = x2 - x1, y2 - y1
  local length = math.sqrt(dx * dx + dy * dy)
  local nx, ny = -dy / length * width / 2, dx / length * width / 2
  return { shape = "polygon", points = { nx, ny, dx + nx, dy + ny, dx - nx, dy - ny, -nx, -ny } }
end
told("line", (space:near(0, 0, line(0, 0, 20, 0, 2.5), FOE)))

-- The two nearest foes within 10, nearest first.
print("nearest: " .. table.concat(space:nearest(0, 0, 2, 10, FOE), " "))

-- Chain lightning: from foe to foe, none twice, each jump at most 8 far.
local struck, x, y = {}, 0, 0
for _ = 1, 4 do
  local next_one
  for _, id in ipairs((space:nearest(x, y, #struck + 1, 8, FOE))) do
    for _, done in ipairs(struck) do if done == id then id = nil break end end
    next_one = next_one or id
  end
  if not next_one then break end
  struck[#struck + 1] = next_one
  x, y = space:position(next_one)
end
print("lightning: " .. table.concat(struck, " > "))

--> cone: 2 4
--> line: 2 4 5
--> nearest: 7 2
--> lightning: 7 > 2 > 3 > 4
