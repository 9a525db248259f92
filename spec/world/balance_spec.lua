-- examples/skynet/world/balance.lua: tiles that are given away by what shards have to do.
if not string.pack then return pending "balance of worlds: needs string.pack of Lua 5.3" end

local balance = dofile "examples/skynet/world/balance.lua"
local network = require "spec.world.network"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local SEED = random_run.seed("world balance")

local function count(map)
  local n = {}
  for _, shard in ipairs(map.owners) do n[shard] = (n[shard] or 0) + 1 end
  return n
end

describe("tiles of a world", function()
  it("at the border of the slowest shard go to its fastest neighbour, until both are even", function()
    local random = rng.new(SEED)
    for round = 1, 40 do
      local columns, rows = 2 + random(12), 2 + random(12)
      local map = { columns = columns, rows = rows, owners = {} }
      local cost, shards = {}, 2 + random(4)
      for i = 1, columns * rows do
        map.owners[i] = math.min(shards, 1 + math.floor((i - 1) * shards / (columns * rows)))
        cost[i] = (1 + random() * 2) * (map.owners[i] == 2 and 1 + random(4) or 1)
      end
      local first
      for step = 1, 60 do
        local seconds = {}
        for shard = 1, shards do seconds[shard] = 0 end
        for i, shard in ipairs(map.owners) do seconds[shard] = seconds[shard] + cost[i] end
        local most = math.max(table.unpack(seconds))
        first = first or most
        local list, to = balance.even(map, seconds)
        if not list[1] then break end
        local slow = map.owners[list[1]]
        assert(seconds[slow] == most and seconds[to] < most)
        for k, i in ipairs(list) do
          assert(map.owners[i] == slow and (k == 1 or i > list[k - 1]))
          map.owners[i] = to
        end
        assert(count(map)[slow], "it has no tile left")
        if step == 60 then assert(most < first, "round " .. round .. ": the slowest is as slow as before") end
      end
    end
    local map = { columns = 8, rows = 8, owners = {} }
    for i = 1, 64 do map.owners[i] = i <= 32 and 1 or 2 end
    assert.same({}, balance.even(map, { 0, 0 })) -- nothing is measured
    assert.same({}, balance.even(map, { 1.05, 1 }))
    local list, to = balance.even(map, { 3, 1 })
    assert.same({ { 25, 26, 27, 28, 29, 30, 31, 32 }, 2 }, { list, to }) -- of ten that are too many
  end)

  it("are merged, split, and given away while the world runs", function()
    local net = network.new {
      seed = SEED, plan = { size = 64, reach = 10, tile = 8, shards = { 2, 2 } }, processes = { 2, 2 },
    }
    local world, slept = net:member(1), 0
    net:finish(function()
      for id = 1, 9 do world:enter(id, id, 60) end
      world:tick()
      assert.equal(3, (world:where(1)))
      local map = world:tiles()
      assert.same({ 8, 0, 0, 8, 8, 64, 1, 4 },
        { map.tile, map.column, map.row, map.columns, map.rows, #map.owners, map.owners[1], map.owners[64] })
      balance.merge(world, 3, 1)
      assert.same({ 32, 16, nil, 16 }, count(world:tiles()))
      assert.equal(1, (world:where(1)))
      balance.split(world, 1)
      assert.same({ 16, 16, 16, 16 }, count(world:tiles()))
      world:assign(0, 0, 64, 24, 2)
      local info, seconds = world.info, { 0, 5, 0, 0 }
      function world.info(...) -- all epochs took as long
        local all = info(...)
        for shard, its in ipairs(seconds) do
          local one = all["shard " .. shard]
          one.read_seconds, one.close_seconds, one.apply_seconds, one.drain_seconds = its * one.epoch, 0, 0, 0
        end
        return all
      end
      local before = count(world:tiles())
      balance.run(world, function(interval)
        net:sleep(interval)
        slept = slept + 1
        if slept == 3 then world:close() end
      end, 1)
      world = net:member(1)
      assert(count(world:tiles())[2] < before[2])
      world:assign(40, 40, 30, 30, 1) -- no tiles
      world:close()
      assert.error_matches(function() world:tiles() end, "closed world")
    end)
    assert.equal(3, slept)
  end)
end)
