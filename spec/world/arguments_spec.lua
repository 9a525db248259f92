-- What is peculiar to the arguments of a world: they are used in an epoch that others share, behind the call that has
-- brought them. What is said of mistakes: spec/skynet/arguments_spec.lua.
if not string.pack then return pending "arguments of a world: needs string.pack of Lua 5.3" end

local director = require "aoi.skynet.world.director"
local network = require "spec.world.network"
local recovery = require "aoi.skynet.world.recovery"
local Shard = require "aoi.skynet.world.shard"
local tiles = require "aoi.skynet.world.tiles"
local wire_reference = require "spec.support.wire_reference"

local PLAN = { size = 64, reach = 10, extent = 8, tile = 8, shards = { 2, 2 } }

local function new_world()
  local net = network.new { seed = 1, plan = PLAN, processes = { 2, 2 } }
  return net, net:member(1)
end

describe("arguments of a world", function()
  it("one view that cannot begin ends alone, and who has asked for it is told", function()
    local net, world = new_world()
    local lost = {}
    world:on_view_lost(function(...) lost[#lost + 1] = { ... } end)
    net:finish(function()
      world:enter(1, 10, 10)
      world:add_client(1, 8)
      for _, shard in ipairs(net.shards) do
        if shard.views[1] then shard.views[1].area = { 3, "x" } end
      end
      world:tick()
      world:tick()
      world:add_client(1, 8)
      world:tick()
    end)
    assert.same({ { 1 } }, lost)
    assert.is_truthy(world.views[1])
  end)

  it("areas and options of client views are the caller's to change when they have been given", function()
    local net, world = new_world()
    local other = net:member(2)
    net:finish(function()
      world:enter_many { 1, 10, 10, 2, 11, 10, 3, 12, 10 }
      local area, areas, options = { radius = 4 }, { 4, { radius = 8 } }, { limit = 2, tiers = { { 3, 1 } } }
      world:add_client(1, area, options)
      other:add_client(2, areas)
      world:join { id = 4, x = 10, y = 10, view = { area } }
      other:set_view(2, 2, area)
      other:set_view(2, 1, 5)
      assert.same({ 4, { radius = 8 } }, areas)
      area.radius, areas[1], options.tiers[1][1] = "x", "y", "z"
      net:kill_shard((world:where(1)))
      net:sleep(20)
      world:tick()
      local found = {}
      for _, shard in ipairs(net.shards) do
        for id, view in pairs(shard.views) do found[id] = view.made and { view.area, view.options } end
      end
      assert.same({ [1] = { { radius = 4 }, { limit = 2, tiers = { { 3, 1 } } } }, [2] = { { 5, { radius = 4 } }, {} },
                    [4] = { { radius = 4 }, {} } }, found)
    end)
  end)

  it("a client view that comes back while its entity waits is checked as one that begins", function()
    local shard = Shard.new { number = 1, plan = tiles.plan { size = 64, reach = 10, shards = 1 } }
    local ent = { life = 3, client = 1, kind = 1, restored = true }
    shard.ents[1] = ent
    local function put(area)
      recovery.commands.restore_view(shard, 2, 1, { area = area, options = {}, client = 2, life = 3 })
    end
    assert.error_matches(function() put { 3, "x" } end, "bad argument #2 to 'add_client'")
    assert.error_matches(function() put(11) end, "it reaches 11")
    put(10)
    assert.same({}, shard.viewing)
  end)

  it("a closed world says so where it is asked for its figures", function()
    local _, world = new_world()
    world:close()
    local _, err = pcall(function() world:info() end)
    assert.matches("arguments_spec.lua:%d+: attempt to use a closed world", err)
  end)

  it("a request is one of those that are listed, and no helper of theirs", function()
    local shard, got = Shard.new { number = 1, plan = tiles.plan(PLAN) }, nil
    for _, name in ipairs { "steal", "end_client", "drop_node", "find", "node", "pack", "helpers" } do
      shard:request(1, 0, function(...) got = { ... } end, name, 1, 2, 3)
      assert.same({ false, 0, ("unknown request '%s'"):format(name) }, got)
    end
  end)

  it("what enters whole is no call of another method, and a priority is of a target and a life", function()
    local shard, got = Shard.new { number = 1, plan = tiles.plan { size = 64, reach = 10, shards = 1 } }, nil
    local function ask(...)
      shard:request(1, 0, function(...) got = { ... } end, ...)
      return got
    end
    local function enter(id, ...)
      local _, _, lives, _, stamps = table.unpack(ask("claim", { id }, { 5, 5 }, { false }))
      return ask("enter", lives, { layers = 2 }, 0, stamps, { id, 5, 5 }, nil, ...)
    end
    for id, name in ipairs { "close", "enter_many", "nonsense" } do assert.is_true((enter(id, name)[1])) end
    assert.is_true(ask("add_client", 1, 5, {})[1])
    for _, bad in ipairs { { "x", 2, 1 }, { {}, 2, 1 }, { 2, 2, {} }, { 2, {}, 1 }, { 2, -1, 1 }, { 0.5, false, 1 } } do
      assert.is_false((ask("rank", 1, table.unpack(bad))[1]))
    end
    shard:apply(1, { (shard:close(1))[1] })
    assert.equal(2, shard.core:layers(3))
    shard:check()
  end)

  it("a request without a number of its client, or of an epoch, is refused, and harms nothing", function()
    local shard, got = Shard.new { number = 1, plan = tiles.plan(PLAN) }, nil
    for _, bad in ipairs { { 1 }, { 1, "2" }, { nil, 0 }, { math.tointeger(2 ^ 53), 0 }, { -1, 0 },
      { {}, {} }, { 1, 0.5 } } do
      shard:request(bad[1], bad[2], function(...) got = { ... } end, "has", 1)
      assert.same({ false, 0, "bad request (numbers of a client and of an epoch expected)" }, got)
    end
    shard:close(1)
    shard:apply(1, {})
  end)

  it("walls are proposed as they are, by a verb that exists, where there are walls", function()
    for _, sight in ipairs { true, false } do
      local net = network.new { seed = 1, plan = PLAN, processes = { 4 }, sight = sight or nil }
      for _, bad in ipairs {
        { "nonsense" }, { "walls" }, { "walls", "nonsense", 1 }, { "walls", "add" }, { "walls", "add", { 1 } },
        { "walls", "add", { { 1, 2, 3 } } }, { "walls", "add", { { 1, 2, 3, 0 / 0 } } }, { "walls", "all", {} },
        { "walls", "open_wall", "x" }, { "walls", {}, {} }, not sight and { "walls", "add", { { 1, 2, 3, 4 } } } or {},
      } do
        local got
        director.move(net.exchanges[1], bad[1], function(...) got = { ... } end, table.unpack(bad, 2))
        assert.same({ nil, ("bad request '%s'"):format(tostring(bad[1])) }, got)
      end
    end
  end)

  it("moves and requests are of the client that sends them; others do nothing, and are counted", function()
    local net, one = new_world()
    local two, exchange = net:member(1), net.exchanges[1]
    net:finish(function()
      one:enter(1, 10, 10)
      one:tick()
      local shard = net.shards[(one:where(1))]
      local function moves(member) return wire_reference.moves(member.number, 1000, 2, { 1, 12, 12 }, 1, 8, false) end
      for _, address in ipairs { two.address, net:member(2).address, "nobody" } do
        assert.same({ nil, "they are not its own" }, { shard:moves(moves(one), nil, address) })
      end
      exchange:relay_moves(two.address, shard.number, moves(one))
      exchange:take(2, { "moves", shard.number, moves(one) })
      exchange:take(2, { "moves", shard.number, 5 })
      exchange:take(2, { "request", 1, shard.number, { one.number, 0, "leave", 1, n = 4 } })
      one:tick()
      assert.same({ 3, 10, 10 }, { exchange.counters.malformed, one:position(1) })
      assert.is_true(shard:moves(moves(one), nil, one.address))
      one:tick()
      assert.same({ 12, 12 }, { one:position(1) })
      one:close()
      repeat net:sleep(0.001) until not exchange.by_address[one.address]
      local again = { number = exchange:join(one.address) } -- opened anew, before shards hear of the end
      for _ = 1, 4 do two:tick() end
      assert.same({ nil, "they are not its own" }, { shard:moves(moves(one), nil, one.address) })
      assert.is_true(shard:moves(moves(again), nil, one.address))
    end)
  end)

  it("a broadcast that a client misses, as it is behind, is counted and reported", function()
    local net, one = new_world()
    local two, exchange, heard, told = net:member(1), net.exchanges[1], {}, {}
    two:on_broadcast(function(bytes) heard[#heard + 1] = bytes end)
    exchange.warn = function(_, text, ...) told[#told + 1] = text:format(...) end
    net:finish(function()
      one:enter_many { 1, 10, 10, 2, 11, 10 }
      two:add_node(2, 1, 5, {})
      two:tick()
      one:broadcast(1, "heard")
      two:tick()
      local stream = exchange.clients[two.number].broadcasts
      stream.sent = stream.sent + 2 ^ 20
      one:broadcast(1, "missed")
      two:tick()
    end)
    assert.same({ { "heard" }, 1 }, { heard, exchange.counters.missed })
    assert.same({ ("service %s has fallen behind and misses a broadcast about entity 1"):format(two.address) }, told)
  end)

  it("an error of what hears of a late epoch is reported as that of any handler", function()
    local _, world = new_world()
    local errors, late = {}, { late = { "shard 1" }, seconds = 2 }
    world:on_late(function(names, seconds) error(names[1] .. " for " .. seconds, 0) end)
    world:take_renewed(late)
    assert.matches("shard 1 for 2", world.logged[1])
    world:on_error(function(err) errors[#errors + 1] = err end)
    world:take_renewed(late)
    assert.same({ "shard 1 for 2" }, errors)
  end)

  it("a shard says which it is, what an epoch costs it, and what waits", function()
    local net, world = new_world()
    net.shards[3].name = "earth"
    net.finish(net, function()
      world:enter(1, 10, 60)
      world:tick()
      local info = net.shards[3]:info()
      assert.same({ "earth", 3, 0 }, { info.world, info.shard, info.requests_waiting })
      assert.is_true(info.mean_seconds >= 0 and info.mean_seconds < info.epoch)
      net.shards[3]:request(world.number, info.epoch + 1, function() end, "has", 1)
      assert.equal(1, net.shards[3]:info().requests_waiting)
    end)
  end)

  it("a node has no crossings: no shard sees all of a way", function()
    local net, world = new_world()
    net:finish(function()
      world:enter(1, 10, 10)
      assert.error_matches(function() world:add_node(1, 1, 5, { cross = print }) end,
        "#4 to 'add_node' (handler 'cross': no shard sees all of a way, so that maps alone tell crossings)", 1, true)
      world:tick()
    end)
  end)

  it("what hears of a late epoch is a function, what is asked for is an entity", function()
    local _, world = new_world()
    assert.error_matches(function() world:on_late(5) end, "#1 to 'on_late' %(function expected, got number%)")
    assert.error_matches(function() world:where "x" end, "#1 to 'where' %(integer expected, got string 'x'%)")
    world:on_late(print)
    assert.equal(print, world.late_handler)
    world:on_late(nil)
    assert.is_nil(world.late_handler)
  end)
end)
