-- Nodes and client views whose events go to another service, when shards and services die.
if not string.pack then return pending "what a client of a world lends: needs string.pack of Lua 5.3" end

local Client = require "spec.support.client_model"
local network = require "spec.world.network"
local random_run = require "spec.support.random_run"
local sees = require "spec.support.sees"
local sorted_keys = require "aoi.sorted_keys"
local views = require "aoi.skynet.views"

local SEED = random_run.seed("world lent")
local PLAYER = 7

local one_shard = network.with {
  seed = SEED, plan = { size = 64, reach = 10, tile = 8, shards = 1 }, processes = { 1 },
}
local two_shards = network.with {
  seed = SEED, plan = { size = { 0, 0, 128, 16 }, reach = 10, tile = 8, shards = { 2, 1 } }, processes = { 2 },
}

describe("what a client of a world lends:", function()
  local net, one, gate, seen, lost

  local function listen(member)
    local handlers, its = sees()
    member:listen(handlers)
    return its
  end

  local function expect_lost(list)
    table.sort(lost, function(a, b) return a[1] < b[1] or a[1] == b[1] and (a[2] or 0) < (b[2] or 0) end)
    assert.same(list, lost)
  end

  before_each(function()
    net = one_shard { patience = 1, grace = 20 }
    one, gate, lost = net:member(1), net:member(1), {}
    seen = listen(gate)
    one:on_view_lost(function(id, node) lost[#lost + 1] = { id, node } end)
    net:finish(function()
      one:enter_many { PLAYER, 30, 10, 2, 35, 10, 3, 28, 10 }
      one:add_node(PLAYER, 4, 8, {}, { to = gate.service })
      one:add_client(PLAYER, 8, { to = gate.service })
      one:tick()
    end)
    assert.same({ [2] = true, [3] = true }, seen)
  end)

  local function pass(seconds)
    net:finish(function() net:sleep(seconds) end)
  end

  local function recover()
    net:kill_shard(1)
    pass(6)
  end

  it("what a client had on an entity ends with that where it enters its next life as a shard dies", function()
    local other = net:member(1)
    local handlers, its = sees()
    net:finish(function()
      other:enter(5, 30, 10)
      one:add_node(5, 1, 8, handlers)
      one:add_node(5, 2, 8, {}, { to = gate.service })
      one:tick()
      assert.same({ [2] = true, [3] = true, [PLAYER] = true }, its)
      other:leave(5)
      net:kill_shard(1)
      repeat net:sleep(0.02) until pcall(one.enter, one, 5, 60, 60)
      net:sleep(6)
      one:tick()
      assert.same({ {}, {} }, { its, (one:nodes(5)) })
      assert.is_nil(one.mine[5])
    end)
  end)

  it("it ends when the client dies together with the shard", function()
    net:kill_client(one)
    recover()
    pass(20)
    assert.same({}, seen)
    assert.is_nil(next(gate.records))
  end)

  local function is_told()
    expect_lost { { PLAYER }, { PLAYER, 4 } }
    net:finish(function()
      assert.same({}, (one:nodes(PLAYER)))
      assert.error_matches(function() one:resend(PLAYER) end, "is no client")
    end)
    assert.is_nil(one.mine[PLAYER])
  end

  for _, name in ipairs { "remove_node", "remove_unreceived" } do
    it("its client hears of that where the shard dies again before it has answered " .. name, function()
      local ask, asked = one.ask_owner, 0
      function one.ask_owner(self, what, ...)
        if what == name then
          asked = asked + 1
          if asked == 1 then net:kill_shard(1) end
        end
        return ask(self, what, ...)
      end
      net:kill_client(gate)
      recover()
      pass(6)
      assert.is_true(asked > 0)
      is_told()
    end)
  end

  it("all of it is there again after a shard has died, whatever service it was lent to", function()
    local second = net:member(1)
    local other = listen(second)
    net:finish(function()
      one:add_node(PLAYER, 5, 3, {}, { to = second.service })
      one:tick()
    end)
    assert.same({ [3] = true }, other)
    net:kill_shard(1)
    net:finish(function()
      net:sleep(6)
      assert.same({ 4, 5 }, (one:nodes(PLAYER)))
      one:move(2, 31, 10)
      one:move(3, 60, 60)
      one:tick()
    end)
    assert.same({ [2] = true }, seen)
    assert.same({ [2] = true }, other)
  end)

  it("does not come back with a shard where another client has taken the entity over", function()
    local heir = net:member(1)
    net:finish(function()
      heir:take_over(PLAYER)
      heir:tick()
    end)
    assert.same({}, seen)
    assert.is_nil(one.mine[PLAYER])
    recover()
    net:finish(function() assert.same({}, (heir:nodes(PLAYER))) end)
    assert.same({}, seen)
  end)

  it("does not come back with a shard where another client has removed it, unless it has been lent again", function()
    for _, again in ipairs { false, true } do
      net:finish(function()
        gate:remove_node(PLAYER, 4)
        gate:remove_client(PLAYER)
        if again then -- in the same epoch
          one:add_node(PLAYER, 4, 8, {}, { to = gate.service })
          one:add_client(PLAYER, 8, { to = gate.service })
        end
        one:tick()
      end)
      recover()
      net:finish(function()
        assert.same(again and { 4 } or {}, (one:nodes(PLAYER)))
        assert.equal(again, (pcall(one.resend, one, PLAYER)))
        assert.same(again and { [2] = true, [3] = true } or {}, seen)
        if again then return end
        one:add_node(PLAYER, 4, 8, {}, { to = gate.service })
        one:add_client(PLAYER, 8, { to = gate.service })
      end)
    end
    assert.same({}, lost)
  end)

  it("goes on where the service that has received it has named another one before its end", function()
    net = two_shards { patience = 1, grace = 20 }
    local agent, first, second, begun = net:member(1), net:member(1), net:member(1), 0
    agent:on_view_lost(function() lost[#lost + 1] = "view" end)
    second:on_client(function(_, bytes) begun = begun + (Client.new(2):apply(bytes).anew and 1 or 0) end)
    net:finish(function()
      agent:enter(PLAYER, 10, 5)
      agent:add_client(PLAYER, 8, { to = first.service })
      agent:tick()
      first:set_client(PLAYER, { to = second.service })
      first:tick()
      first:close()
    end)
    for shard = 2, 1, -1 do -- the other one, and that of the entity
      net:kill_shard(shard)
      pass(6)
      assert.equal(3 - shard, begun)
    end
    assert.same({}, lost)
  end)

  it("does not come to the next life of its entity with the death of a shard", function()
    net:finish(function()
      gate:enter_many { 8, 32, 10, 9, 32, 10 }
      for id = 8, 9 do
        one:add_node(id, 4, 3, {}, { to = gate.service })
        one:add_node(id, 5, 3, {})
      end
      one:tick()
      gate:leave(9)
      gate:enter(9, 32, 10)
      one:tick()
      gate:leave(8)
      net:kill_shard(1) -- what is sent of that is lost
      repeat net:sleep(0.02) until pcall(gate.enter, gate, 8, 32, 10)
      net:sleep(6)
      assert.same({ {}, {} }, { (one:nodes(8)), (one:nodes(9)) })
      assert.same({}, { one.mine[8], one.mine[9] })
    end)
  end)

  it("what it has on entities of others is forgotten when these leave", function()
    net:finish(function()
      gate:enter(9, 32, 10)
      one:add_node(9, 4, 3, {}, { to = gate.service })
      one:add_client(9, 3)
      one:tick()
      gate:leave(9)
      one:tick()
    end)
    assert.same({}, { one.mine[9], one.views[9] })
  end)

  local function remove_behind(again)
    net = one_shard { patience = 1, window = 2 }
    local watcher, other, handlers, its = net:member(1), net:member(1), sees()
    net:finish(function()
      other:enter_many { 1, 30, 10, 2, 32, 10 }
      watcher:add_node(1, 7, 8, handlers)
      watcher:tick()
    end)
    local line = net.lines["x1>" .. watcher.address]
    line.held = true
    net:finish(function()
      for i = 1, 4 do
        other:move(2, i % 2 == 0 and 32 or 60, 10)
        other:tick()
      end
      assert.is_true(net.exchanges[1].clients[watcher.number].behind)
      other:remove_node(1, 7)
      if again then watcher:add_node(1, 7, 0, {}) end
      other:tick()
    end)
    net:kill_shard(1)
    net:run(1)
    line.held = false
    pass(6)
    net:finish(function() assert.same(again and { 7 } or {}, (other:nodes(1))) end)
    assert.same({}, its)
    local n = 0
    for _ in pairs(watcher.records) do n = n + 1 end
    assert.equal(again and 1 or 0, n)
  end

  it("a node that another client has removed does not come back to its client, which is behind", function()
    remove_behind(false)
  end)

  it("and ends for that where it has added another one of its number", function() remove_behind(true) end)

  it("its client hears of its end where another client takes the entity from the one it was lent to", function()
    local heir = net:member(1)
    net:finish(function()
      gate:enter(9, 32, 10)
      one:add_node(9, 4, 3, {}, { to = gate.service })
      one:add_node(9, 5, 3, {})
      one:add_client(9, 8, { to = gate.service })
      one:tick()
      heir:take_over(9)
      heir:tick()
    end)
    expect_lost { { 9 }, { 9, 4 } }
    recover()
    net:finish(function()
      assert.same({ { 4 }, { 5 } }, { (heir:nodes(PLAYER)), (heir:nodes(9)) })
      assert.error_matches(function() heir:resend(9) end, "is no client")
    end)
  end)

  it("its client hears of the end of a service that has died while a request that named it waited", function()
    local second = net:member(1)
    net:kill_shard(1)
    net:spawn(function() one:add_node(PLAYER, 5, 8, {}, { to = second.service }) end)
    net:spawn(function() one:set_client(PLAYER, { to = second.service }) end)
    net:kill_client(second)
    pass(6)
    expect_lost { { PLAYER }, { PLAYER, 5 } }
    net:finish(function() assert.same({ 4 }, (one:nodes(PLAYER))) end)
  end)

  it("a view that is to begin anew does so, also where it waits with its picture in a shard that has died", function()
    net = two_shards { grace = 20 }
    local player, begun = net:member(1), 0
    local picture = Client.new(2)
    player:on_client(function(_, bytes) begun = begun + (picture:apply(bytes).anew and 1 or 0) end)
    net:finish(function()
      player:enter_many { PLAYER, 10, 5, 2, 12, 5 }
      player:add_client(PLAYER, 8)
      player:tick()
    end)
    assert.equal(1, begun)
    net:kill_shard(2)
    net:run_until(function() return net.shards[2].state == "blank" end)
    net:spawn(function() player:flush { PLAYER, 110, 5 } end)
    local function waits()
      local view = net.shards[2].views[PLAYER]
      return view and view.picture ~= nil
    end
    net:run_until(waits)
    views.resend(net.shards[2], { PLAYER })
    pass(6)
    assert.equal(2, begun)
    assert.same({}, picture.known)
  end)

  it("it ends where the other service has died while the request was on its way, for however long", function()
    local line = net.lines[one.address .. ">" .. net.places[1]]
    line.held = true
    net:spawn(function() one:add_node(2, 5, 0, {}, { to = gate.service }) end) -- it sees nothing
    net:spawn(function() one:add_client(3, 8, { to = gate.service }) end)
    net:run(0.2)
    net:kill_client(gate)
    net:run(3)
    line.held = false
    pass(3)
    expect_lost { { 2, 5 }, { 3 }, { PLAYER }, { PLAYER, 4 } }
    net:finish(function()
      assert.same({}, (one:nodes(2)))
      assert.error_matches(function() one:resend(3) end, "is no client")
    end)
    assert.is_nil(one.mine[PLAYER])
    assert.is_nil(next(net.exchanges[1].gone))
  end)

  it("client views that end while their gate is behind leave nothing at the exchange", function()
    net = one_shard { window = 2 }
    local player, other = net:member(1), net:member(1)
    net:finish(function() player:enter(PLAYER, 30, 10) end)
    local suspended = net.exchanges[1].clients[other.number].suspended
    local function hold(held) net.lines["x1>" .. other.address].held = held end
    for round = 1, 3 do
      net:finish(function()
        player:enter(round, 30, 10)
        player:add_client(round, 8, { to = other.service })
        player:tick()
        hold(true)
        for x = 1, 5 do
          player:move(PLAYER, 30 + x, 10)
          player:tick()
        end
        player:leave(round)
        player:tick()
      end)
      assert.is_true(suspended[round])
      hold(false)
      net:run(1)
    end
    assert.same({ 3 }, (sorted_keys(suspended)))
  end)

  it("what a view pins from afar has its state where the view changes hands and begins anew", function()
    net = two_shards { fields = { { "hp", "u16" } } }
    local player, picture = net:member(1), Client.new(2)
    player:on_client(function(_, bytes) picture:apply(bytes) end)
    net:finish(function()
      player:enter_many { PLAYER, 50, 5, 2, 5, 5 }
      player:put(2, "hp", 7)
      player:add_client(PLAYER, 8)
      player:pin(PLAYER, 2)
      net:sleep(3)
      assert.equal(7, picture.known[2].fields.hp)
      player:move(PLAYER, 110, 5)
      player:tick()
      player:resend(PLAYER)
      net:sleep(5)
    end)
    assert.equal(7, picture.known[2].fields.hp)
  end)

  it("fields that are put while their entity waits in a successor reach the view that came with it", function()
    net = two_shards { fields = { { "hp", "u16" }, { "bag", "u16" }, { "mood", "u8" } } }
    local player, other, picture = net:member(1), net:member(1), Client.new(2)
    player:on_client(function(_, bytes) picture:apply(bytes) end)
    net:finish(function()
      player:enter_many { PLAYER, 50, 5, 2, 50, 5 }
      player:add_client(PLAYER, 8)
      player:put(2, "hp", 7)
      player:put(2, "bag", 5)
      player:put(2, "mood", 4)
      other:tick()
      net:sleep(1)
      assert.equal(7, picture.known[2].fields.hp)
    end)
    local line = net.lines["x1>" .. other.address]
    line.held = true -- the leader waits for that client
    net:kill_shard(2)
    net:run_until(function() return net.shards[2].term == 1 and net.shards[2].applied >= net.shards[2].ready end)
    net:finish(function()
      player:move_many { PLAYER, 70, 5, 2, 70, 5 }
      player:put(2, "mood", 6) -- with the epoch of the hand-over
      player:tick()
      player:tick()
      assert.is_true(net.shards[2].ents[2].restored)
      player:put(2, "hp", 9)
      player:put(2, "bag", 0)
      assert.same({ 9, 0 }, { player:get(2, "hp"), player:get(2, "bag") })
    end)
    line.held = false
    net:run(5)
    assert.is_nil(net.shards[2].ents[2].restored)
    local fields = picture.known[2].fields
    assert.same({ 9, 0, 6 }, { fields.hp, fields.bag or 0, fields.mood })
    net:finish(function()
      assert.same({ 9, 0, 6 }, { player:get(2, "hp"), player:get(2, "bag"), player:get(2, "mood") })
    end)
  end)
end)
