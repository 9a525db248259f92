-- Most nodes look for a kind that few entities are of: an engine may keep these apart. Kinds, masks
-- and exceptions change all the time, and the share of what is sought with them. Against brute force; AOI_SEED
-- replays.
local aoi = require "aoi"
local random_run = require "spec.support.random_run"
local recorder = require "spec.support.recorder"
local rng = require "spec.support.rng"

local SEED = random_run.seed("few are sought")
local ENTITIES, STEPS = 120, 900
local PLAYER, NPC, THING = 1, 2, 4

for _, engine in ipairs(aoi.engines()) do
  for dimensions = 2, 3 do
    for _, delivery in ipairs { "immediate", "deferred" } do
      describe(("players among many on %s %dD, %s"):format(engine, dimensions, delivery), function()
        it("are found by all that look for them", function()
          local random = rng.new(SEED + rng.hash(engine .. dimensions .. delivery))
          local pair = recorder.against_brute { engine = engine, dimensions = dimensions, delivery = delivery }
          local both, share = pair.both, 10 -- one in so many is a player
          local function kind() return random(share) == 1 and PLAYER or random { NPC, NPC, THING, PLAYER + NPC, 0 } end
          local function place()
            if dimensions == 2 then return random(80), random(80) end
            return random(80), random(80), random(3)
          end
          local function area()
            return random {
              { radius = random(12), shape = "circle", mask = PLAYER },
              { radius = random(12), mask = PLAYER },
              { radius = 8, keep = 10, shape = "circle", mask = PLAYER },
              { radius = 10, keep = 12, shape = "circle" },
            }
          end
          local function enter(id)
            local x, y, z = place()
            if dimensions == 2 then both("enter", id, x, y, kind()) else both("enter", id, x, y, z, kind()) end
            pair.watch(id, 1, area())
            if random(2) == 1 then pair.watch(id, 2, { radius = random(6), shape = "circle", mask = PLAYER }) end
          end
          for id = 1, ENTITIES do enter(id) end
          for step = 1, STEPS do
            local id, what = random(ENTITIES), random(20)
            if what == 1 then both("leave", id) enter(id)
            elseif what == 2 then both("set_kind", id, kind())
            elseif what == 3 then both("set_mask", id, 1, random { PLAYER, PLAYER, PLAYER + THING, NPC })
            elseif what == 4 and id > 1 then both("override", id, 1, id - 1, random { "hide", "show", "match", nil })
            elseif what == 5 then both("set_area", id, 1, area())
            elseif what == 6 then both("move", id, place())
            else
              local x, y, z = pair.one.space:position(id)
              x, y = x + random(5) - 3, y + random(5) - 3
              if dimensions == 2 then both("move", id, x, y) else both("move", id, x, y, z) end
            end
            if delivery == "deferred" and random(8) == 1 then both("flush") end
            if step % 100 == 0 then
              pair.check()
              share = random { 2, 10, 10, 30 }
            end
          end
          pair.close()
        end)
      end)
    end
  end
end
