-- Walls of a world: the same in all shards, whoever asks for them and whoever dies. What they do:
-- spec/skynet/walls_spec.lua; in snapshots: snapshot_spec.lua.
if not string.pack then return pending "walls of a world: needs string.pack of Lua 5.3" end

local network = require "spec.world.network"
local random_run = require "spec.support.random_run"

local SEED = random_run.seed("world walls")
local PLAN = { size = 64, reach = 20, tile = 8, shards = { 2, 2 } }

local new_network = network.with {
  seed = SEED, plan = PLAN, processes = { 2, 2 }, sight = true, grace = 60, patience = 5,
}

describe("walls of a world", function()
  it("are asked for once, where the process that leads dies", function()
    for run = 1, random_run.runs(4) do
      local net = new_network { seed = SEED + run, processes = { 1, 1, 2, 0 }, lose = 0.1 }
      local gates, ids, left = { net:member(4), net:member(4) }, {}, 2
      for i, gate in ipairs(gates) do
        net:spawn(function()
          for k = 1, 12 do
            local id = gate:wall(k, i, k, i + 1)
            ids[#ids + 1] = id
            if k % 3 == 0 then gate:open_wall(id) end
            if k % 4 == 0 then gate:remove_wall(id) end
          end
          left = left - 1
        end)
      end
      net:run(1)
      net:kill_process(1)
      net:run_until(function() return left == 0 end, 200)
      net:run(10)
      table.sort(ids)
      for k, id in ipairs(ids) do assert.equal(k, id) end
      assert.equal(24, #ids)
      local states = {}
      for _, shard in ipairs(net.shards) do states[#states + 1] = shard.walls.list end
      for index, exchange in pairs(net.exchanges) do
        if exchange and not net.killed[index] then states[#states + 1] = exchange.walls.list end
      end
      for _, list in ipairs(states) do assert.same(states[1], list) end
      local open, n = 0, 0
      for _, wall in pairs(states[1]) do
        n, open = n + 1, open + (wall.open and 1 or 0)
      end
      assert.same({ 18, 6 }, { n, open })
      for _, shard in ipairs(net.shards) do assert.equal(18, shard.sight:stats().walls) end
    end
  end)
end)
