-- What the handlers of clients hear: for each node the very sequence that one space with the accepted commands gives,
-- over processes whose messages are late and whose calls fail before or after they have been served; with a small
-- window it alternates, and is equal when all is quiet. What clients are answered is what that space answers, no own
-- move is lost, and none is refused of an entity that is in the world. Several clients act on the same entities; one
-- dies, and another takes its ids. AOI_STEPS sets the number of actions of each client.
if not string.pack then return pending "clients of a world: needs string.pack of Lua 5.3" end

local play = require "spec.world.play"
local random_run = require "spec.support.random_run"
local scenes = require("spec.world.scenes").of_processes(true)

local SEED = random_run.seed("world clients")
local ACTIONS = math.max(random_run.steps(150), 30) -- fewer may end before anything is handed over

describe("clients of a world", function()
  for i, scene in ipairs(scenes) do
    it("hear what one space tells: " .. scene.name, function()
      local run = play.run(scene, SEED + 10 * i, ACTIONS)
      local net, members = run.net, run.members
      local nodes, total, space, answers = play.reference(run)
      local handed, overruns, resyncs = 0, 0, 0
      for _, shard in ipairs(net.shards) do handed = handed + shard.counters.handed end
      for _, member in ipairs(members) do
        assert.same({}, member.logged)
        resyncs = resyncs + member.client.counters.resyncs
      end
      for _, exchange in ipairs(net.exchanges) do overruns = overruns + exchange.counters.overruns end
      play.check_refusals(run)
      play.check_end(run, space)
      if scene.slow then
        assert(ACTIONS < 150 or overruns > 0 and resyncs > 0, "nobody fell behind") -- short runs may have none
      else
        play.check_heard(run, nodes)
      end
      assert(handed > 0 and total > 0)
      assert(ACTIONS < 150 or (handed > ACTIONS / 4 and total > ACTIONS and answers > 0)) -- the first epochs have fewer
    end)
  end
end)
