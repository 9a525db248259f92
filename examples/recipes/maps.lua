-- A change of map that keeps who may see whom: the exceptions of a player are made before anybody sees anybody.
local aoi = require "aoi"

local ignores = { [1] = { [2] = true } } -- player 1 never wants to see player 2
local function on_enter(id, other) print(id .. " sees " .. other) end
local function on_leave(id, other) print(id .. " loses " .. other) end

local function arrive(map, id, x, y, kind)
  map:enter(id, x, y, 0)                                   -- kind 0: nobody sees it yet
  map:add_node(id, 1, { radius = 50, mask = 0 }, on_enter, on_leave) -- and it sees nobody
  for _, other in ipairs(map:ids()) do
    if (ignores[id] or {})[other] then map:override(id, 1, other, "hide") end
    if (ignores[other] or {})[id] then map:override(other, 1, id, "hide") end
  end
  map:set_kind(id, kind)
  map:set_mask(id, 1, -1)
end

local function change(from, to, id, x, y)
  local kind = from:kind(id)
  from:leave(id)
  arrive(to, id, x, y, kind)
end

local town, cave = aoi.new(), aoi.new()
for id = 1, 3 do arrive(town, id, id, 0, 1) end
print "into the cave"
for id = 3, 1, -1 do change(town, cave, id, id, 0) end

--> 2 sees 1
--> 1 sees 3
--> 2 sees 3
--> 3 sees 1
--> 3 sees 2
--> into the cave
--> 1 loses 3
--> 2 loses 3
--> 3 loses 1
--> 3 loses 2
--> 2 loses 1
--> 3 sees 2
--> 2 sees 3
--> 3 sees 1
--> 2 sees 1
--> 1 sees 3
