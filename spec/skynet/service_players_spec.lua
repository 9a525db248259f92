-- What the AOI service does for players: views of connections, kinds and positions with events, broadcasts, nodes whose
-- events go to another service, and a double login.
if not string.pack then return pending "players of the AOI service: needs string.pack of Lua 5.3" end

local client_model = require "spec.support.client_model"
local sync = require "aoi.sync"
local transport = require "spec.support.transport"
local wire = require "aoi.skynet.wire"

local SERVICE, SCENE, ANN, BOB = 1, 2, 3, 4

describe("players of the AOI service:", function()
  local net, server, scene, ann, bob, map, of_ann, of_bob

  before_each(function()
    net = transport.new(1)
    server = net:serve(SERVICE, { window = 4 })
    scene, ann, bob = net:client(SCENE, SERVICE), net:client(ANN, SERVICE), net:client(BOB, SERVICE)
    net:run(function()
      map, of_ann, of_bob = scene:open("map", { quantum = 0.5 }), ann:open("map"), bob:open("map")
      map:enter_many { 1, 0, 0, 2, 5, 0, 3, 100, 0 }
    end)
  end)

  local function run(f) return net:run(f) end

  local function raises(...) net:raises(...) end

  it("events bring kind and position in three dimensions, and after a resync", function()
    local heard = {}
    run(function()
      local space = ann:open("high", { dimensions = 3 })
      space:enter(1, 0, 0, 0)
      space:add_node(1, 1, 10, function(...) heard[#heard + 1] = { ... } end, nil, { positions = true })
    end)
    net:tick(server)
    server.post:ack(server.subscribers[ANN].slot, 0, true)
    run(function() scene:open("high"):enter(2, 1, 2, 3, 9) end)
    net:tick(server)
    assert.same({ { 1, 2, 1, 9, 1, 2, 3 } }, heard)
  end)

  it("a client view whose service falls behind is sent a window and begins anew, without what has gone", function()
    local all = {}
    local players = client_model.watch(of_ann, function(_, news) all[#all + 1] = news.anew or false end)
    local function step(x)
      net:flush(map, { 2, x, 0 })
      server:tick()
    end
    run(function()
      map:enter(9, 3, 3)
      of_ann:add_client(1, 50)
    end)
    net:tick(server)
    net:stall(ANN)
    step(1)
    run(function() map:leave(9) end)
    for i = 2, 10 do step(i) end
    assert.equal(5, server.counters.packets, "the first one and a window")
    run(function()
      map:add_client(3, 50, { to = ANN })
      map:enter(4, 90, 0)
      server:tick()
      map:remove_client(3)
    end)
    local suspended = server.subscribers[ANN].suspended
    assert.is_nil(next(suspended, (next(suspended))), "only the view that has not ended")
    server:receive(ANN, wire.ack(3, wire.OF_PACKETS)) -- the window has room again before all has been taken
    step(11)
    net:resume(ANN)
    net:run()
    step(12)
    net:tick(server)
    assert.same({ true, false, false, false, false, true }, { table.unpack(all, 1, 6) })
    assert.same({ 12, nil }, { players[1].known[2][1], players[1].known[9] })
  end)

  describe("a broadcast", function()
    it("is missed by a service that has fallen behind, and by no other", function()
      local heard = { 0, 0 }
      of_ann:on_broadcast(function() heard[1] = heard[1] + 1 end)
      of_bob:on_broadcast(function() heard[2] = heard[2] + 1 end)
      run(function()
        of_ann:add_node(1, 7, 10, {})
        of_bob:add_client(1, 10)
      end)
      net:tick(server)
      net:stall(ANN)
      local bytes, logged = ("x"):rep(100000), {}
      server.log = nil
      server.warn = function(_, text, ...) logged[#logged + 1] = text:format(...) end
      local before = net.bytes
      for i = 1, 100 do
        run(function() assert.equal(i <= 10 and 2 or 1, map:broadcast(2, bytes), i) end)
      end
      assert.same({ 0, 100 }, heard)
      assert.is_true(net.bytes - before < 111 * 101000)
      assert.equal(90, server.counters.missed)
      assert.matches("service :00000003 has fallen behind and misses a broadcast about entity 2", logged[1])
      net:resume(ANN)
      net:run()
      assert.same({ 10, 100 }, heard)
      bytes = ("x"):rep(2000000) -- more than the window is sent where nothing is under way
      for _ = 1, 3 do run(function() assert.equal(2, map:broadcast(2, bytes)) end) end
      assert.same({ 13, 103 }, heard)
    end)

    it("shares its window with crossings, which nobody hears who has fallen behind", function()
      local heard = 0
      run(function()
        map:enter(7, -50, 0)
        of_ann:add_node(1, 7, 10, { cross = function() heard = heard + 1 end })
      end)
      local function cross(n)
        for i = 1, n do
          net:flush(map, { 7, i % 2 == 1 and 50 or -50, 0 })
          net:tick(server)
        end
      end
      net:tick(server)
      cross(4)
      assert.equal(4, heard)
      local window = server.subscribers[ANN].broadcasts
      net:stall(ANN)
      local before = window.sent
      window.acked = before - 1048576
      cross(2)
      assert.equal(before, window.sent)
      assert.equal(2, server.counters.missed)
      window.acked = window.sent
      net:resume(ANN)
      net:run()
      cross(2)
      assert.equal(6, heard)
    end)

    it("is counted on beyond 32 bits, and cannot be acknowledged before it is sent", function()
      local heard = 0
      of_ann:on_broadcast(function() heard = heard + 1 end)
      run(function() of_ann:add_node(1, 7, 10, {}) end)
      net:tick(server)
      local window = server.subscribers[ANN].broadcasts
      window.sent, window.acked = 0xfffffc18, 0xfffffc18
      server:receive(ANN, wire.ack(77, wire.OF_BROADCASTS))
      assert.equal(2 ^ 32 - 1000, window.acked)
      for _ = 1, 200 do run(function() assert.equal(1, map:broadcast(2, ("x"):rep(20000))) end) end
      assert.equal(200, heard)
    end)
  end)

  describe("a gate", function()
    local GATE = 9
    local client, gate, got, lost

    before_each(function()
      client, got, lost = net:client(GATE, SERVICE), {}, {}
      gate = run(function() return client:open_gate() end)
      gate:on_client(function(id, bytes, fd)
        got[#got + 1] = ("%d at %d: %d"):format(id, fd, sync.read(bytes).appeared.n)
      end)
      gate:on_broadcast(function(bytes, target, ids, n)
        got[#got + 1] = ("%s of %d to %d, %d"):format(bytes, target, ids[1], n)
      end)
      gate:listen {
        enter = function(watcher, target) got[#got + 1] = ("%d sees %d"):format(watcher, target) end,
        leave = function(watcher, target) got[#got + 1] = ("%d loses %d"):format(watcher, target) end,
      }
      of_ann:on_view_lost(function(id, node) lost[#lost + 1] = { id, node } end)
      run(function()
        of_ann:add_client(1, 20, { to = GATE, fd = 40 })
        of_ann:add_node(2, 7, 10, {}, { to = GATE })
      end)
      net:tick(server)
    end)

    it("hears of spaces that it has not opened", function()
      table.sort(got)
      assert.same({ "1 at 40: 1", "2 sees 1" }, got)
      got = {}
      run(function() assert.equal(1, map:broadcast(2, "hello")) end)
      assert.same({ "hello of 2 to 1, 1" }, got)
      got = {}
      run(function()
        local other = bob:open("other")
        other:enter_many { 5, 0, 0, 6, 0, 0 }
        other:add_node(5, 1, 10, {}, { to = GATE })
        assert.same({ { GATE }, 1 }, { map:knowers(1) })
      end)
      net:tick(server)
      assert.same({ "5 sees 6" }, got)
      assert.same({}, client.logged)
    end)

    it("is found without a look at each service of the space", function()
      setmetatable(server.names.map.clients, { __pairs = function() error "each was looked at" end })
      run(function()
        of_ann:add_node(2, 8, 10, {}, { to = GATE })
        of_ann:add_node(2, 9, 10, {}, { to = BOB })
      end)
    end)

    it("keeps no space alive, and has nothing of those that have ended", function()
      run(function()
        for _, space in ipairs { of_bob, of_ann, map } do space:close() end
      end)
      assert.is_nil(next(server.spaces))
      assert.is_nil(next(server.links))
      assert.is_nil(next(client.records))
      assert.equal(0, client:info().nodes)
      run(function()
        map = scene:open("map")
        map:enter(1, 0, 0)
        map:add_client(1, 10, { to = GATE, fd = 41 })
      end)
      got = {}
      net:tick(server)
      assert.same({ "1 at 41: 0" }, got, "in the next life of the space, too")
    end)

    it("that closes or dies is reported to those that have named it", function()
      run(function() gate:close() end)
      gate:close()
      table.sort(lost, function(a, b) return a[1] < b[1] end)
      assert.same({ { 1 }, { 2, 7 } }, lost)
      assert.is_nil(next(client.records))
      raises("has not opened space 'map', and is no gate", of_ann.add_client, of_ann, 1, 20, { to = GATE })
      lost = {}
      run(function()
        client:open_gate()
        of_ann:add_client(1, 20, { to = GATE })
      end)
      net:kill(GATE)
      server:drop(GATE)
      net:run()
      assert.same({ { 1 } }, lost)
    end)

    for name, arguments in pairs {
      add_client = { 1, 20, { to = GATE } }, add_node = { 2, 7, 20, {}, { to = GATE } },
    } do
      it("that was killed gets nothing in place of what it had: " .. name, function()
        net:kill(GATE)
        raises("the service that 'to' names has ended", of_ann[name], of_ann, table.unpack(arguments))
        raises("has not opened space 'map', and is no gate", of_ann[name], of_ann, table.unpack(arguments))
        net:tick(server)
        assert.is_nil(server.names.map.views[1])
      end)
    end

    it("ends with its service", function()
      local reason
      gate:on_close(function(text) reason = text end)
      server:shutdown()
      net:run()
      assert.equal("the AOI service is gone", reason)
      assert.is_true(gate.closed)
      assert.is_nil(next(client.records))
    end)
  end)

  it("services behind a relay name others of their own process by the numbers that they have there", function()
    local function heard_by(client)
      local heard = {}
      client:listen { enter = function(...) heard[#heard + 1] = { ... } end }
      return heard
    end
    local relay = 7 * 0x100000000
    run(function()
      local of_far, of_near = net:client(relay + BOB, SERVICE):open "map", net:client(relay + ANN, SERVICE):open "map"
      local near, stranger = heard_by(of_near), heard_by(of_ann)
      of_far:add_node(1, 1, 10, {}, { to = ANN })
      of_far:set_kind(2, 3)
      map:add_node(1, 2, 10, {}, { to = relay + ANN })
      net:tick(server)
      table.sort(near, function(a, b) return a[3] < b[3] end)
      assert.same({ { { 1, 2, 1 }, { 1, 2, 2 } }, {} }, { near, stranger })
      assert.same({ ANN }, (of_far:knowers(2)))
      assert.same({ relay + ANN }, (map:knowers(2)))
      raises("service :00000009 has not opened", of_far.add_client, of_far, 1, 5, { to = 9 })
    end)
  end)

  describe("an entity that was taken over", function()
    local of_ann_again
    local function refused_by(space)
      local refused = {}
      space:on_refused(function(ids, n)
        for i = 1, n do refused[#refused + 1] = ids[i] end
      end)
      return refused
    end
    local function position(id) return { server.names.map.core:position(id) } end

    before_each(function()
      run(function()
        of_ann:enter_many { 10, 1, 2, 11, 1, 2 }
        of_bob:take_over(10)
      end)
    end)

    it("is moved no more by its former owner, whose other moves are made", function()
      local refused = refused_by(of_ann)
      net:flush(of_ann, { 10, 50, 50, 11, 60, 60, 2, 70, 70 })
      assert.same({ 10 }, refused)
      assert.same({ { 1, 2 }, { 60, 60 }, { 70, 70 } }, { position(10), position(11), position(2) })
      run(function() of_ann_again = ann:open("map") end)
      refused = refused_by(of_ann_again)
      net:flush(of_ann_again, { 10, 50, 50 })
      assert.same({ 10 }, refused, "nor through another map of that service")
      raises("#1 to 'move_many' %(row 2: entity 10 has been taken over by service :00000004", of_ann.move_many, of_ann,
        { 11, 0, 0, 10, 50, 50 })
      local told = {}
      local function bad(row, id, reason) told[#told + 1] = row .. " " .. tostring(id) .. ": " .. reason end
      run(function() of_ann:move_many({ 11, 3, 3, 10, 50, 50, 99, 0, 0 }, bad) end)
      assert.same({ "2 10: entity 10 has been taken over by service :00000004", "3 99: no entity 99" }, told)
      assert.same({ { 1, 2 }, { 3, 3 } }, { position(10), position(11) })
      told = {}
      run(function()
        of_ann:flush({ "x", 0, 0, 11, 4, 4, 11, 0 / 0, 5 }, bad)
        of_ann:flush({ 11, 0 / 0, 5, false, 0, 0 }, 1, bad)
        of_ann:tick()
      end)
      assert.same({ "1 x: integer expected, got string 'x'", "3 11: finite number expected, got nan",
                    "1 11: finite number expected, got nan" }, told)
      assert.same({ 4, 4 }, position(11))
      net:flush(of_bob, { 10, 5, 5 })
      net:flush(map, { 10, 6, 5 })
      assert.same({ 6, 5 }, position(10), "the new owner may, and who never had it")
    end)

    it("is its former owner's when that takes it back, and anybody's in its next life", function()
      run(function() assert.same({ 1, 2 }, { of_ann:take_over(10) }) end)
      net:flush(of_ann, { 10, 3, 3 })
      raises("taken over", of_bob.leave, of_bob, 10)
      run(function()
        of_ann:leave(10)
        of_bob:enter(10, 9, 9)
      end)
      net:flush(of_bob, { 10, 8, 8 })
      net:flush(of_ann, { 10, 7, 8 })
      assert.same({ 7, 8 }, position(10))
      for _, subscriber in pairs(server.subscribers) do assert.is_nil(next(subscriber.barred)) end
    end)

    it("leaves nothing behind where the space or the client ends", function()
      local space = server.names.map
      net:kill(ANN)
      server:drop(ANN)
      run(function() of_bob:leave(10) end)
      run(function()
        of_bob:enter(12, 0, 0)
        map:take_over(12)
        map:close()
        of_bob:close()
      end)
      assert.is_nil(next(server.spaces))
      assert.is_nil(server.subscribers[BOB].barred[space])
    end)
  end)

  it("figures tell of ticks, queues and subscribers", function()
    server.counters.late, server.counters.skipped = 2, 5
    run(function() of_ann:add_node(1, 7, 10, {}) end)
    server:tick()
    local info = server:info()
    assert.same({ 2, 5 }, { info.tick.late, info.tick.skipped })
    assert.equal(1, info.service.waiting)
    assert.same({ address = ANN, sent = 1, waiting = 1, behind = 0 }, info["subscriber :00000003"])
    assert.same({ sent = 1, waiting = 1, behind = 0 }, server:subscriber_info(ANN))
    assert.is_nil(server:subscriber_info(77))
  end)
end)
