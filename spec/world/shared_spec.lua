-- Entities that clients of a world enter together, take over, and make leave, where shards die: what random histories
-- do not reach. What a map of a service has, a world has, too: spec/skynet/places_spec.lua.
if not string.pack then return pending "what clients of a world share: needs string.pack of Lua 5.3" end

local client_model = require "spec.support.client_model"
local commands = require "aoi.skynet.world.owner"
local network = require "spec.world.network"
local random_run = require "spec.support.random_run"
local recovery = require "aoi.skynet.world.recovery"
local sees = require "spec.support.sees"

local SEED = random_run.seed("world shared")
local PLAN = { size = 64, reach = 10, tile = 8, shards = { 2, 2 } }

local new_network = network.with { seed = SEED, plan = PLAN, processes = { 2, 2 } }

local FIVE = { 1, 5, 5, 2, 60, 5, 3, 5, 60, 4, 60, 60, 5, 6, 6 } -- rows, in all shards

-- The n-th request of a shard that entities enter is answered as f(n) has it, if that is anything. Returns a function
-- that returns n.
local function answer_enters(member, f)
  local ask_shard, n = member.ask_shard, 0
  function member:ask_shard(shard, name, ...)
    if name ~= "enter" then return ask_shard(self, shard, name, ...) end
    n = n + 1
    local answer, reason = f(n)
    if answer ~= nil then return answer, reason end
    return ask_shard(self, shard, name, ...)
  end
  return function() return n end
end

describe("what clients of a world share", function()
  it("no client gets the number of another one when all have been given once", function()
    local net = new_network {}
    local numbers = {}
    for i = 1, 4 do
      if i == 3 then net.exchanges[1].client_count = 0xfffffe end
      numbers[i] = net:member(1).number
    end
    assert.same({ 1, 2, 0xffffff, 3 }, numbers)
    net:finish(function() end)
  end)

  it("what has entered with layers, extent and fields has them when its shard has died, each its own", function()
    local net = network.new {
      seed = SEED, plan = { size = 64, reach = 10, extent = 4, tile = 8, shards = { 2, 2 } }, processes = { 2, 2 },
      fields = { { "hp", "u16" } },
    }
    local one, two = net:member(1), net:member(2)
    net:finish(function()
      one:enter_many(FIVE, 5, { kind = 2, layers = 6, extent = 3, fields = { hp = 7 } })
      one:tick()
      two:put(2, "hp", 8)
      assert.error_matches(function() one:enter(9, 5, 5, { extent = 4.5 }) end,
        "#4 to 'enter' %(4.5 is more than the world's option 'extent', 4%)")
      two:enter(9, 5, 5)
      local shard = one:where(1)
      for id = 2, 5 do assert(id == 5 or one:where(id) ~= shard) end
      net:kill_shard(shard)
      net:sleep(10)
      one:tick()
      for id = 1, 5 do
        assert.same({ 2, 6, 3, id == 2 and 8 or 7 },
          { two:kind(id), two:layers(id), two:extent(id), two:get(id, "hp") })
      end
    end, 100)
  end)

  it("priorities of one client and teams are what they were when their shards have died", function()
    local net = new_network { fields = { { "mana", "u8", to = "team" } }, grace = 60 }
    local one, players = net:member(1), nil
    net:finish(function()
      players = client_model.watch(one)
      one:enter_many { 1, 10, 10, 2, 11, 10, 3, 15, 10, 4, 14, 50 }
      one:add_client(1, 10, { limit = 1, team = 5 })
      one:set_priority(3, 2, 1)
      one:put(3, "mana", 9)
      one:set_team(3, 5)
      one:tick()
      net:kill_shard((one:where(1)))
      net:sleep(10)
      one:tick()
      assert.equal(9, players[1].known[3].fields.mana)
      assert.is_nil(players[1].known[2])
      one:set_priority(3, nil, 1)
      one:tick()
      net:kill_shard((one:where(1)))
      net:sleep(10)
      one:tick()
      assert.is_truthy(players[1].known[2])
    end, 100)
  end)

  it("rows of enter_many whose home has died since they were claimed are claimed again", function()
    local net = new_network()
    local one = net:member(1)
    local asked = answer_enters(one, function(n) return n <= 2 and "stale" or nil end)
    net:finish(function()
      one:enter_many(FIVE, 5, 3)
      one:tick()
      assert.equal(6, asked())
      for id = 1, 5 do assert.same({ true, 3 }, { one:has(id), one:kind(id) }) end
      for id = 1, 5 do one:leave(id) end
      one:tick()
      for id = 1, 5 do one:enter(id, 30, 10) end -- no claim is left
    end)
  end)

  it("lives that a client has ended are looked through now and then, however many leave within a few epochs", function()
    local net = new_network()
    local one, rows, looks = net:member(1), {}, 0
    for id = 1, 4000 do table.move({ id, 5, 5 }, 1, 3, #rows + 1, rows) end
    setmetatable(one.left, { __pairs = function(left)
      looks = looks + 1
      return next, left
    end })
    net:finish(function()
      one:enter_many(rows)
      for id = 1, 4000 do one:leave(id) end
      assert.is_true(looks > 0 and looks < 5, looks)
    end)
  end)

  it("enter_many that fails behind its first shard leaves nothing entered and nothing claimed", function()
    local net = new_network()
    local one = net:member(1)
    local asked = answer_enters(one, function(n)
      if n == 2 then return "taken", 5 end
    end)
    net:finish(function()
      assert.error_matches(function() one:enter_many(FIVE) end, "%(row 5: entity 5 is already in the world")
      assert.equal(2, asked())
      one:tick()
      for id = 1, 5 do assert.is_false(one:has(id)) end
      one:enter_many(FIVE)
      one:tick()
      for id = 1, 5 do assert.is_true(one:has(id)) end
    end)
  end)

  it("who closes the world while a request looks for an owner leaves nothing behind", function()
    local net = new_network()
    local one, two = net:member(1), net:member(2)
    local ask_now = one.ask_now
    function one.ask_now(shard, after, name, ...)
      local answer = table.pack(ask_now(shard, after, name, ...))
      if name == "owners_of" then
        one:close()
        net:sleep(2)
      end
      return table.unpack(answer, 1, answer.n)
    end
    net:finish(function()
      two:enter(1, 30, 10)
      assert.error_matches(function() one:add_node(1, 1, 1, {}) end, "attempt to use a closed world")
      two:tick()
      assert.same({}, (two:nodes(1)))
    end)
    for _, shard in ipairs(net.shards) do assert.is_nil(shard.clients[one.number]) end
  end)

  it("who takes back what it has not heard to be lost keeps it, when a shard dies, too", function()
    local net, taken = new_network { patience = 1, grace = 20 }, {}
    local one, two = net:member(1), net:member(2)
    for i, member in ipairs { one, two } do member:on_taken(function(id) taken[#taken + 1] = { i, id } end) end
    net:finish(function()
      one:enter(1, 10, 10)
      one:add_node(1, 1, 8, {})
      one:add_client(1, 8)
      one:tick()
      two:take_over(1)
      one:take_over(1)
      one:tick()
      assert.same({ { 2, 1 } }, taken)
      assert.same({ {}, {} }, { one.views, (one:nodes(1)) })
      one:add_node(1, 2, 8, {})
      assert.is_false(one:taken(1, one.outbox:owns(1) - 1, 1000), "of a former life")
      one:tick()
      net:kill_shard((one:where(1)))
      net:sleep(6)
      assert.same({ 10, 10 }, { one:position(1) })
      assert.same({ 2 }, (one:nodes(1)))
    end)
  end)

  for _, x in ipairs { 10, 50 } do
    it("an entity that is taken over in the epoch of its enter is moved by the new owner alone, at " .. x, function()
      local net, refused = new_network {}, {}
      local one, two = net:member(1), net:member(2)
      one:on_refused(function(ids) refused[#refused + 1] = ids[1] end)
      net:finish(function()
        for _ = 1, 5 do -- batches of the former owner, which are more than those of the new one
          one:move(9, 1, 1)
          one:flush()
        end
        one:tick()
        refused = {}
        one:enter(1, 10, 10)
        if x ~= 10 then -- it is handed over as it enters
          one:move(1, x, 10)
          one:flush()
        end
        two:take_over(1)
        assert.is_true(net.shards[1].ents[1].entry ~= nil, "all in one epoch")
        two:tick()
        one:move(1, 12, 12)
        one:tick()
        one:tick()
        assert.same({ 1 }, refused)
        assert.same({ x, 10 }, { two:position(1) })
        two:move(1, x + 1, 10)
        two:tick()
        assert.same({ x + 1, 10 }, { two:position(1) })
      end)
    end)
  end

  it("who has taken an entity over keeps it whenever its shard dies, and who has lost it hears so once", function()
    for run = 1, random_run.runs(30) do
      local net = new_network { seed = SEED + run, patience = 1, grace = 20 }
      local one, two, other = net:member(1), net:member(2), net:member(1)
      local taken, handlers, seen = {}, sees()
      one:on_taken(function(id) taken[#taken + 1] = id end)
      local function check()
        local shard = net.shards[(one:where(1))]
        assert.same({ two.number, { 2, 3 } }, { shard.ents[1].client, (one:nodes(1)) })
        assert.is_true(shard.ents[1].barred[one.number] ~= nil)
        assert.same({ 1, nil }, { #taken, (one.outbox:owns(1)) })
        assert.is_nil(next(one.records))
        assert.same({}, seen)
        assert.same({ 50, 10 }, { two:position(1) })
      end
      net:finish(function()
        one:enter(1, 31, 10)
        one:enter(2, 30, 10)
        one:add_node(1, 1, 8, handlers)
        one:tick()
        if run % 2 == 0 then
          two:join { id = 1, x = 0, y = 0, nodes = { { 2, 8, {} } }, take_over = true }
        else
          two:take_over(1)
          two:add_node(1, 2, 8, {})
        end
        other:add_node(1, 3, 8, {})
        two:flush { 1, 50, 10 }
        local shard = one:where(1)
        net:sleep(net.random() * 0.3)
        net:kill_shard(shard)
        net:sleep(6)
        check()
        net:kill_shard((one:where(1)))
        net:sleep(6)
        check()
      end)
    end
  end)

  it("what an entity's former client had on it is not brought back before that hears of the take-over", function()
    local net = new_network()
    local one, two = net:member(1), net:member(2)
    local function put_all(shard, since)
      local ent = shard.ents[1]
      local node = { node = 1, handle = 1, since = since, life = ent.life, area = shard:pack("add_node", 8), seen = "",
                     width = 4 }
      local view = { area = 8, options = {}, client = one.number, life = ent.life, since = since, pins = {} }
      node.client = one.number
      return (pcall(recovery.commands.restore_node, shard, one.number, 1, node)),
        (pcall(recovery.commands.restore_view, shard, one.number, 1, view))
    end
    net:finish(function()
      one:enter(1, 10, 10)
      one:tick()
      two:take_over(1)
      local shard = net.shards[(two:where(1))]
      local number = shard.ents[1].barred[one.number]
      assert.same({ false, false }, { put_all(shard, number) })
      assert.same({ true, true }, { put_all(shard, number + 1) })
    end)
  end)

  it("a node is another one than that of another client, which has given it the same handle", function()
    local net = new_network()
    local one, two = net:member(1), net:member(2)
    net:finish(function()
      one:enter(1, 10, 10)
      two:add_node(1, 1, 8, {})
      one:tick()
      local shard = net.shards[(one:where(1))]
      local rec = shard.ents[1].nodes[1]
      local node = { node = 1, handle = rec.handle, client = one.number, since = 9, area = rec.area, seen = "",
                     width = 4, life = shard.ents[1].life }
      assert.error_matches(function() recovery.commands.restore_node(shard, one.number, 1, node) end, "another node 1")
      recovery.commands.restore_node(shard, two.number, 1, node)
      commands.remove_node(shard, one.number, 1, 1, rec.handle)
      assert.equal(rec, shard.ents[1].nodes[1])
      commands.remove_node(shard, two.number, 1, 1, rec.handle)
      assert.is_nil(shard.ents[1].nodes)
    end)
  end)

  it("an entity that another client has made leave has nothing of its former life when a shard dies", function()
    local net = new_network { patience = 1, grace = 20 }
    local one, two = net:member(1), net:member(2)
    net:finish(function()
      one:enter(1, 10, 10)
      one:set_layers(1, 3)
      one:tick()
      two:leave(1)
      for _ = 1, 3 do two:tick() end
      one:enter(1, 10, 10)
      one:tick()
      net:kill_shard((one:where(1)))
      net:sleep(6)
      assert.equal(1, one:layers(1))
    end)
  end)

  it("an entity that comes back after a death has nowhere what another client had set", function()
    local net = network.new {
      seed = SEED, plan = { size = 64, reach = 12, extent = 4, tile = 8, shards = { 2, 2 } }, processes = { 4, 0 },
      patience = 2, grace = 20, fields = { { "hp", "u8" } },
    }
    local one, two = net:member(1), net:member(2)
    net:finish(function()
      one:enter(5, 30, 10)
      two:enter(6, 40, 10)
      two:add_client(6, 12)
      two:add_node(6, 1, 8, {})
      two:tick()
      two:set_extent(5, 4)
      two:put(5, "hp", 7)
      two:tick()
      assert.same({ 5 }, { table.unpack((two:seen(6, 1))) })
      net:kill_shard((one:where(5)))
      net:sleep(8)
      assert.same({ 0, 0 }, { one:extent(5), one:get(5, "hp") })
    end)
    local count = 0
    for _, shard in ipairs(net.shards) do
      if shard.core:has(5) then
        count = count + 1
        assert.equal(0, shard.core:extent(5))
        assert.equal(0, shard.sync and shard.sync:get(5, "hp") or 0)
      end
    end
    assert.is_true(count > 1)
    assert.same({}, { table.unpack((two:seen(6, 1))) })
  end)

  it("moves of a client without events wait only if it flushes more than four times in an epoch", function()
    local net = new_network { interval = 1 }
    local one, exchange, epoch = net:member(1), net.exchanges[1], nil
    local function next_epoch()
      epoch = exchange.epoch
      net:run_until(function() return exchange.epoch > epoch end, 10)
      net:run(0.3)
    end
    net:spawn(function() one:enter(1, 10, 10) end)
    for x = 1, 20 do
      next_epoch()
      one:flush { 1, x, 10 }
      next_epoch()
      assert.equal(x, (net.shards[1].core:position(1)))
    end
    net:spawn(function() one:tick() end)
    next_epoch()
    next_epoch()
    for x = 21, 26 do one:flush { 1, x, 10 } end
    net:run(0.3)
    assert.equal(24, (net.shards[1].router:where(1)))
    net:run_until(function() return net.shards[1].core:position(1) == 26 end, 5)
    for x = 1, 19, 3 do -- an answer tells the client of another epoch
      next_epoch()
      net:spawn(function() one:has(1) end)
      net:run(0.1)
      for i = 0, 2 do one:flush { 1, x + i, 10 } end
      net:run(0.1)
      assert.equal(x + 2, (net.shards[1].router:where(1)))
    end
  end)

  it("a client that moves an entity in the epoch of its enter is notified of the shard to which it goes", function()
    local net = new_network()
    local one, two = net:member(1), net:member(1)
    net:finish(function()
      one:enter(1, 10, 10)
      two:flush { 1, 50, 10 }
      two:tick()
      assert.is_true(net.shards[2].router:owns(1))
      two:flush { 1, 52, 10 }
    end)
    assert.equal(52, (net.shards[2].core:position(1)))
    assert.equal(1, net.shards[1]:info().misrouted) -- the first one, as the entity had yet to enter
  end)

  it("an entity stays where others have moved it when a shard dies that has not got it", function()
    local net = new_network { plan = { size = 64, reach = 10, tile = 8, shards = 2 }, processes = { 2 } }
    local one, two, three = net:member(1), net:member(1), net:member(1)
    net:finish(function()
      one:enter_many { 1, 5, 5, 2, 6, 5 }
      for i, member in ipairs { one, two, three } do -- entity 2 has two later movers
        member:move(1, i == 3 and 11 or 10 + i, 5)
        member:move(2, 10 + i, 5)
        member:tick()
      end
    end)
    local owner = net.shards[1].ents[1] and 1 or 2
    net:kill_shard(3 - owner)
    net:finish(function() net:sleep(6) end)
    assert.same({ 11, 13 }, { (net.shards[owner].core:position(1)), (net.shards[owner].core:position(2)) })
  end)

  for _, from in ipairs { 28, 36 } do
    it("a broadcast comes once, though a watcher changes hands from " .. from .. " as it is sent", function()
      local net = new_network { plan = { size = { 0, 0, 64, 16 }, reach = 10, tile = 8, shards = { 2, 1 } },
                                processes = { 2 } }
      local one, two, heard, n = net:member(1), net:member(1), {}, 0
      two:on_broadcast(function(bytes, _, ids) table.insert(heard, bytes .. " to " .. table.concat(ids, ", ")) end)
      net:finish(function()
        one:enter(1, 32, 10)
        two:enter_many { 2, from, 10, 3, 31, 10, 4, 33, 10 }
        for id = 2, 4 do two:add_node(id, 1, 9, {}) end
        two:tick()
        local ask = one.ask
        function one:ask(shard, after, name, ...)
          n = n + (name:find "_here$" and 1 or 0)
          if n == 2 then
            two:flush { 2, 64 - from, 10 }
            net:sleep(0.5)
          end
          return ask(self, shard, after, name, ...)
        end
        assert.equal(1, one:broadcast(1, "hello"))
        assert.is_true(n >= 2)
        two:tick()
      end)
      local all = table.concat(heard, "; ")
      assert.equal(1, #heard, all)
      for id = 2, 4 do assert.matches(tostring(id), all) end
    end)
  end

  it("is found though shards name each other for some epochs, however often they are asked in one", function()
    local net = new_network()
    local one, two, asked, till = net:member(1), net:member(2), 0, nil
    local ask = two.ask_now
    function two.ask_now(shard, after, name, ...)
      if name ~= "position" or net.shards[1].applied >= till then return ask(shard, after, name, ...) end
      asked = asked + 1
      return "moved", after, shard % 4 + 1
    end
    net:finish(function()
      one:enter(1, 5, 5)
      one:tick()
      till = net.shards[1].applied + 5
      assert.equal(5, (two:position(1)))
    end)
    assert.is_true(asked > 20)
  end)
end)
