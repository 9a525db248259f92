-- The promise of a world: for every epoch the union of the shards' events is, as a multiset, what one big space with
-- the same commands tells; and with client views, whatever their limits, tiers, budgets and pins, the picture of each
-- player is after each epoch the one that it would have of a synchroniser of that space (pictures.lua). Every engine;
-- views with the first two. AOI_LENGTH makes them longer.
if not string.pack then
  describe("a world of shards", function() pending("needs Lua 5.3 or later: string.pack") end)
  return
end

local aoi = require "aoi"
local exact = require "spec.world.exact"
local random_run = require "spec.support.random_run"
local scenes = require "spec.world.scenes"

local SEED = random_run.seed("world exact")
local EPOCHS = random_run.steps(110)

describe("a world of shards tells the events of one space", function()
  local total, handed, messages = 0, 0, 0
  for i, scene in ipairs(scenes.list) do
    for k, engine in ipairs(aoi.engines()) do
      it(("%s, engine %s"):format(scene.name, engine), function()
        scene.changes, scene.views = k % 2 == 0, k <= 2
        local run = exact.new(scene, engine, SEED + 100 * i + k)
        for number = 1, EPOCHS do
          local _, bad, example = run:step()
          if bad > 0 then error(("epoch %d: %d differences, %s"):format(number, bad, example)) end
          if number % 40 == 0 then run:verify() end
        end
        run:verify()
        total, handed = total + run.counters.events, handed + run:handed()
        messages = messages + (run.pictures and run.pictures.messages or 0)
        run:close()
      end)
    end
  end

  it("and there were many of them, and many hand-overs", function()
    print(("world exact: %d events, %d hand-overs, %d messages for players"):format(total, handed, messages))
    assert(total > 0 and handed > 0 and messages > 0)
    assert(EPOCHS < 100 or (total > 3000 * EPOCHS and handed > 150 * EPOCHS)) -- the first epochs have fewer
  end)
end)
