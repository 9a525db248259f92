-- The promise of a world: for every epoch the union of the shards' events is, as a multiset, what one big space with
-- the same commands tells; and with client views, whatever their limits, tiers, budgets and pins, a player is sent in
-- every epoch what a synchroniser of that space would send (pictures.lua). Every engine; views with the first two.
-- AOI_LENGTH makes them longer.
if not string.pack then return pending "a world of shards: needs string.pack of Lua 5.3" end

local aoi = require "aoi"
local exact = require "spec.world.exact"
local random_run = require "spec.support.random_run"
local scenes = require "spec.world.scenes"

local SEED = random_run.seed("world exact")
local EPOCHS = random_run.steps(110)

describe("a world of shards tells the events of one space", function()
  local total, handed, messages, compared, again = 0, 0, 0, 0, 0
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
        local players = run.pictures or { messages = 0, compared = 0, again = 0 }
        messages, compared = messages + players.messages, compared + players.compared
        again = again + players.again
        run:close()
      end)
    end
  end

  it("and there were many of them, and many hand-overs", function()
    local text = "world exact: %d events, %d hand-overs, %d messages for players, %d pictures, %d of state sent again"
    print(text:format(total, handed, messages, compared, again))
    assert(total > 0 and handed > 0 and messages > 0)
    assert(again <= 2 + compared / 2000, "state is sent again and again")
    assert(EPOCHS < 100 or (total > 3000 * EPOCHS and handed > 150 * EPOCHS)) -- the first epochs have fewer
  end)
end)
