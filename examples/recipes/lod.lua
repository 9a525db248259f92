-- Level of detail of AI by rings from the players' side: a monster thinks every tick near a player, every fourth tick
-- farther off, and not at all where no player is near. The players carry the rings, so that sleepers cost nothing.
local aoi = require "aoi"

local MONSTER = 2
local RINGS = { { radius = 10, every = 1 }, { radius = 40, every = 4 } } -- node ids are the numbers of the rings

local space = aoi.new { delivery = "deferred" }
local viewers, awake, thoughts = { {}, {} }, {}, {} -- how many players have a monster in each ring

local function level(id) -- the ring that counts is the innermost
  for ring = 1, #RINGS do
    if (viewers[ring][id] or 0) > 0 then return RINGS[ring].every end
  end
end

local function count(step)
  return function(_, id, ring)
    viewers[ring][id] = (viewers[ring][id] or 0) + step
    awake[id] = level(id)
  end
end
local handlers = { enter = count(1), leave = count(-1) }

local function add_player(id, x, y)
  space:enter(id, x, y)
  for ring, r in ipairs(RINGS) do
    space:add_node(id, ring, { shape = "circle", radius = r.radius, margin = r.radius / 10, mask = MONSTER }, handlers)
  end
end

local function tick(now)
  space:flush()
  for id, every in pairs(awake) do
    if (now + id) % every == 0 then thoughts[id] = (thoughts[id] or 0) + 1 end -- + id: not all in one tick
  end
end

for id = 100, 102 do space:enter(id, (id - 100) * 30, 0, MONSTER) end
add_player(1, 0, 0)
for now = 1, 8 do tick(now) end
for id = 100, 102 do print(id .. " thought " .. (thoughts[id] or 0) .. " times") end
space:move(1, 60, 0)
for now = 9, 16 do tick(now) end
for id = 100, 102 do print(id .. " thought " .. (thoughts[id] or 0) .. " times") end

--> 100 thought 8 times
--> 101 thought 2 times
--> 102 thought 0 times
--> 100 thought 8 times
--> 101 thought 4 times
--> 102 thought 8 times
