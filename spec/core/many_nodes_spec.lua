-- One entity with many nodes: more than engines reserve room for at once. Against brute force; AOI_SEED replays.
local aoi = require "aoi"
local random_run = require "spec.support.random_run"
local recorder = require "spec.support.recorder"
local rng = require "spec.support.rng"

local SEED = random_run.seed("many nodes")
local NODES, PEOPLE, STEPS = 40, 30, 200

for _, engine in ipairs(aoi.engines()) do
  for dimensions = 2, 3 do
    describe(("an entity with %d nodes on %s %dD"):format(NODES, engine, dimensions), function()
      it("hears what it hears of brute force", function()
        local random = rng.new(SEED + rng.hash(engine .. dimensions))
        local pair = recorder.against_brute { engine = engine, dimensions = dimensions }
        local both = pair.both
        local function place() -- in three dimensions the third stays
          if dimensions == 2 then return random(60), random(60) end
          return random(60), random(60), 1
        end
        for id = 1, PEOPLE do both("enter", id, place()) end
        for node = 1, NODES do pair.watch(1, node, node % 9 == 0 and math.huge or node % 7 * 4) end
        for step = 1, STEPS do
          local id = random(4) > 1 and 1 or random(PEOPLE)
          local x, y, z = pair.one.space:position(id)
          if random(10) == 1 then both("move", id, place())
          elseif dimensions == 2 then both("move", id, x + random(5) - 3, y + random(5) - 3)
          else both("move", id, x + random(5) - 3, y + random(5) - 3, z) end
          if step % 20 == 0 then pair.check() end
        end
        pair.close()
      end)
    end)
  end
end
