-- Tiles that are given away by what shards have to do: the function that is there, by itself, and any function while a
-- world runs.
if not string.pack then return pending "balance of worlds: needs string.pack of Lua 5.3" end

local balance = require "aoi.skynet.world.balance"
local network = require "spec.world.network"
local random_run = require "spec.support.random_run"
local replace = require "spec.support.replace"
local rng = require "spec.support.rng"
local tiles = require "aoi.skynet.world.tiles"

local SEED = random_run.seed("world balance")

describe("world:balance", function()
  it("by itself gives border tiles of the slowest shard to its fastest neighbour, until both are even", function()
    local random = rng.new(SEED)
    for round = 1, 40 do
      local plan = tiles.plan {
        size = 16 * (2 + random(6)), reach = 20, tile = 8, shards = { random(3), random(3) },
      }
      local map, cost, first = tiles.map(plan), {}, nil
      for i = 1, plan.columns * plan.rows do cost[i] = 1 + random() * 2 end
      local hot, times = random(plan.shards), 1 + random(4) -- all tiles of it have more to do
      for _, i in ipairs(tiles.of(plan, plan.owners, hot)) do cost[i + 1] = cost[i + 1] * times end
      for step = 1, 60 do
        local info, owners = { map = plan }, map:owners()
        plan.owners = owners
        for shard = 1, plan.shards do
          local seconds = 0
          for _, i in ipairs(tiles.of(plan, owners, shard)) do seconds = seconds + cost[i + 1] end
          info[shard] = { seconds = seconds }
        end
        local slow, most = 1, 0
        for shard = 1, plan.shards do
          if info[shard].seconds > most then slow, most = shard, info[shard].seconds end
        end
        first = first or most
        local moves = balance.even(info)
        local rows = {}
        for k, m in ipairs(moves) do
          local i = tiles.within(plan, m[1], m[2], m[3], m[4])
          assert.equal(1, #i)
          assert.equal(slow, map:owner(m[1], m[2]))
          assert(info[m[5]].seconds < most)
          rows[k] = string.pack("<I4I2", i[1], m[5])
        end
        if step == 1 and plan.shards == 1 then assert.same({}, moves) end
        if #moves == 0 then break end
        assert(#tiles.of(plan, owners, slow) > #moves, "it has no tile left")
        map:assign(table.concat(rows))
        if step == 60 then assert(most < first, "round " .. round .. ": the slowest is as slow as before") end
      end
    end
    local plan = tiles.plan { size = 64, reach = 20, tile = 8, shards = 2 }
    assert.same({}, balance.even { map = plan, { seconds = 0 }, { seconds = 0 } }) -- nothing is measured
    assert.same({}, balance.even { map = plan, { seconds = 1.05 }, { seconds = 1 } })
    local moves = balance.even { map = plan, { seconds = 3 }, { seconds = 1 } }
    assert.equal(8, #moves) -- of ten that are too many, the border has eight
    assert.equal(2, moves[1][5])
  end)

  it("calls the function with what shards have, and assigns what that returns", function()
    local net = network.new { seed = SEED, plan = { size = 64, reach = 10, tile = 8, shards = { 2, 2 } },
                              processes = { 2, 2 } }
    local one, seen, errors = net:member(2), {}, {}
    one:on_error(function(err) errors[#errors + 1] = tostring(err) end)
    net:finish(function()
      for id = 1, 9 do one:enter(id, id, 5) end
      assert.error_matches(function() one:balance(5) end, "#1 to 'balance' %(function expected, got number%)")
      assert.error_matches(function() one:balance(nil, 0) end, "#2 to 'balance' %(seconds above 0 expected, got 0%)")
      assert.error_matches(function() one:balance(nil, "soon") end, "#2 to 'balance' %(number expected, got string%)")
      assert.error_matches(function() one:balance(nil, 1e300) end, "#2 to 'balance' %(at most 1000000 seconds expected")
      local answers = { { { 1, 1, 1, 1, 4 } }, { { 1, 1, 1, 1, 9 } }, "odd", { { 1, 1, 1, 1, 4 }, 5 }, 6 }
      one:balance(function(info)
        seen[#seen + 1] = info
        if #seen == 3 then error(answers[3]) end
        return answers[#seen]
      end, 1)
      net:sleep(8)
      assert.equal(4, (one:where(1)))
      assert.equal(1, (one:where(9)))
      local n = #seen
      assert(n > 5)
      one:balance(false)
      net:sleep(3)
      assert.equal(n, #seen)
      one:balance(nil, 0.5)
      net:sleep(3)
      one:close()
      assert.error_matches(function() one:balance() end, "closed world")
    end)
    assert.equal(9, seen[1][1].reals)
    assert(seen[1][1].seconds >= 0 and seen[1].map.columns == 8)
    assert.equal(1, (string.unpack("<I2", seen[1].map.owners)))
    assert.equal(4, (string.unpack("<I2", seen[2].map.owners)))
    assert.equal(4, #errors)
    assert.matches("#5 to 'assign' %(the world has 4 shards%)", errors[1])
    assert.matches("odd", errors[2])
    assert.matches("balance: row 2: table expected, got number", errors[3])
    assert.matches("balance: a list expected, got number", errors[4])
  end)
end)

describe("world:split", function()
  it("gives half of a shard's tiles to the first one without any, after one look at the shard's tiles", function()
    local net = network.new {
      seed = SEED, plan = { size = 64, reach = 10, tile = 8, shards = { 2, 2 } }, processes = { 4 },
    }
    local world, looks = net:member(1), 0
    local put_back = replace(tiles, "of", function(of)
      return function(...)
        looks = looks + 1
        return of(...)
      end
    end)
    net:finish(function()
      world:merge(3, 1)
      world:merge(4, 1)
      looks = 0
      world:split(1)
    end)
    put_back()
    assert.equal(1, looks)
    local plan, owners, count = net.plan, net.exchanges[1].map:owners(), {}
    for shard = 1, 4 do count[shard] = #tiles.of(plan, owners, shard) end
    assert.same({ 24, 16, 24, 0 }, count)
  end)
end)
