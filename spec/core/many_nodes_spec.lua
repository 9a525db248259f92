-- One entity with many nodes: more than engines lay out room for at once. AOI_SEED replays.
local aoi = require "aoi"
local rng = require "spec.support.rng"

local SEED = tonumber(os.getenv("AOI_SEED") or os.time() % 1000000)
local NODES, PEOPLE, STEPS = 40, 30, 200

print("many nodes, AOI_SEED=" .. SEED)

for _, engine in ipairs(aoi.engines()) do
  for dimensions = 2, 3 do
    describe(("an entity with %d nodes on %s %dD"):format(NODES, engine, dimensions), function()
      it("hears what it hears of brute force", function()
        local random, heard = rng.new(SEED + rng.hash(engine .. dimensions)), {}
        local function place() -- in three dimensions the third stays
          if dimensions == 2 then return random(60), random(60) end
          return random(60), random(60), 1
        end
        local spaces = {}
        for i, name in ipairs { engine, "brute" } do
          heard[i] = {}
          spaces[i] = aoi.new { engine = name, dimensions = dimensions }
        end
        local function hear(i, what)
          return function(watcher, target, node)
            heard[i][#heard[i] + 1] = ("%s %d/%d %d"):format(what, watcher, node, target)
          end
        end
        local function both(verb, ...)
          for i, space in ipairs(spaces) do
            space[verb](space, ...)
            table.sort(heard[i])
          end
          assert.same(heard[2], heard[1])
          heard[1], heard[2] = {}, {}
        end
        for id = 1, PEOPLE do both("enter", id, place()) end
        for node = 1, NODES do
          for i, space in ipairs(spaces) do
            local radius = node % 9 == 0 and math.huge or node % 7 * 4
            space:add_node(1, node, radius, hear(i, "enter"), hear(i, "leave"))
          end
          both("count")
        end
        for step = 1, STEPS do
          local id = random(4) > 1 and 1 or random(PEOPLE)
          local x, y, z = spaces[1]:position(id)
          if random(10) == 1 then both("move", id, place())
          elseif dimensions == 2 then both("move", id, x + random(5) - 3, y + random(5) - 3)
          else both("move", id, x + random(5) - 3, y + random(5) - 3, z) end
          if step % 20 == 0 then assert.is_true(spaces[1]:check()) end
        end
      end)
    end)
  end
end
