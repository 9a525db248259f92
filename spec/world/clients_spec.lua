-- What the handlers of clients hear: for each node the very sequence that one space with the accepted commands gives,
-- over processes whose messages are late and whose calls fail before or after they have been served; with a small
-- window it alternates, and is equal when all is quiet. What clients are answered is what that space answers, no own
-- move is lost, and none is refused of an entity that is in the world. Several clients act on the same entities; one
-- dies, and another takes its ids. AOI_STEPS sets the number of actions of each client.
if not string.pack then return pending "clients of a world: needs string.pack of Lua 5.3" end

local network = require "spec.world.network"
local play = require "spec.world.play"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local scenes = require("spec.world.scenes").of_processes(true)

local SEED = random_run.seed("world clients")
local ACTIONS = random_run.steps(150)

describe("clients of a world", function()
  for i, scene in ipairs(scenes) do
    it("hear what one space tells: " .. scene.name, function()
      local run = play.run(scene, SEED + 10 * i, ACTIONS)
      local net, members, last = run.net, run.members, run.last
      local nodes, total, space, answers = play.reference(run)
      local handed, overruns, resyncs = 0, 0, 0
      for _, shard in ipairs(net.shards) do handed = handed + shard.counters.handed end
      for _, member in ipairs(members) do
        assert.same({}, member.logged)
        resyncs = resyncs + member.client.counters.resyncs
      end
      for _, exchange in ipairs(net.exchanges) do overruns = overruns + exchange.counters.overruns end
      local strays = 0
      for _, shard in ipairs(net.shards) do strays = strays + shard.counters.strays end
      local text = "%s: %d epochs, %d events, %d hand-overs, %d answers, %d strays, %d calls failed, %d resyncs"
      print(text:format(scene.name, last, total, handed, answers, strays, net.lost, resyncs))
      play.check_refusals(scene, run)
      play.check_end(run, space)
      if scene.slow then
        assert(ACTIONS < 150 or overruns > 0 and resyncs > 0, "nobody fell behind") -- short runs may have none
      else
        play.check_heard(run, nodes)
      end
      assert(handed > 0 and total > 0)
      assert(ACTIONS < 150 or (handed > ACTIONS / 4 and total > ACTIONS)) -- the first epochs have fewer
    end)
  end

  it("lose and double nobody in hand-overs, though calls fail before and after they have been served", function()
    local net = network.new {
      seed = SEED, plan = { size = 64, reach = 8, tile = 8, shards = { 4, 1 } }, processes = { 1, 1, 1, 1 }, lose = 0.4,
    }
    local member, random = net:member(1), rng.new(SEED)
    local target = math.max(1000, math.min(10000, 20 * ACTIONS))
    local handed = 0
    net:spawn(function()
      for id = 1, 100 do
        member:enter(id, random() * 64, random() * 64)
        member:add_node(id, 1, 8, {})
      end
      while handed < target do
        for id = 1, 100 do member:move(id, random() * 64, random() * 64) end
        member:flush()
        net:sleep(0.1)
        handed = 0
        for _, shard in ipairs(net.shards) do handed = handed + shard.counters.handed end
      end
    end)
    net:run_until(function() return net.running == 0 end, 10000)
    local last = net.shards[1].closed + 12 -- moves that went astray have arrived (8 hops at most), nobody changes hands
    net:run_until(function()
      for _, shard in ipairs(net.shards) do
        if shard.applied < last then return false end
      end
      return true
    end, 1000)
    local seen, count = {}, 0
    for _, shard in ipairs(net.shards) do
      shard:check()
      for id in pairs(shard.ents) do
        assert(not seen[id], "an entity is real twice")
        seen[id], count = true, count + 1
      end
    end
    assert.equal(100, count)
    assert(net.lost > target / 100)
  end)
end)
