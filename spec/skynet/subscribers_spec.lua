-- Subscribers of the AOI service that die or fall behind, and a service that is gone: what random histories
-- (service_consistency_spec.lua) do not reach.
if not string.pack then return pending "subscribers of the AOI service: needs string.pack of Lua 5.3" end

local reference = require "spec.support.wire_reference"
local room = require "spec.skynet.room"
local wire = require "aoi.skynet.wire"

local SERVICE, ANN, BOB = room.SERVICE, room.ANN, room.BOB

describe("around the AOI service", function()
  local the_room, net, server, ann, bob, map, same_map

  local function begin(options)
    the_room = room.new(options)
    net, server, ann, bob = the_room.net, the_room.server, the_room.ann, the_room.bob
    map, same_map = the_room.map, the_room.same_map
  end

  before_each(function() begin { window = 8, heartbeat = 5 } end)

  local function handlers(name) return the_room:handlers(name) end

  local function take(name) return the_room:take(name) end

  local function resyncs() return (select(2, server.post:counters())) end

  describe("a subscriber that died", function()
    it("keeps no node or client view from a successor, whichever of both clients has died", function()
      for _, act in ipairs {
        function() same_map:add_node(2, 9, 10, {}, { to = ANN }) end,
        function() same_map:add_client(2, 10, { to = ANN }) end,
        function() map:add_node(2, 9, 10) end,
        function() map:add_node(2, 9, 10, {}, { to = BOB }) end,
        function() map:add_client(2, 10, { to = BOB }) end,
        function() map:add_client(2, 10) end,
      } do
        begin { heartbeat = 5 }
        net:run(act)
        net:kill(ANN)
        net:run(function()
          same_map:add_node(2, 9, 10)
          same_map:add_client(2, 10)
        end)
        assert.is_nil(server.subscribers[ANN])
      end
    end)

    it("with two maps of a space is found dead by a broadcast, which the others get", function()
      local heard = 0
      map:on_broadcast(function() heard = heard + 1 end)
      net:run(function()
        bob:open("map"):add_node(2, 7, 10, {})
        map:add_node(3, 1, 60, {})
      end)
      net:tick(server)
      net:kill(BOB)
      net:run(function() assert.equal(1, map:broadcast(1, "hello")) end)
      assert.equal(1, heard)
      assert.is_nil(server.subscribers[BOB])
    end)

    it("is asked once, not at every look", function()
      net.time = 6
      for _ = 1, 3 do server:probe_all() end
      assert.equal(2, server.counters.pings)
    end)

    it("is not one that asks for something now and then, or moves it", function()
      for _, act in ipairs {
        function() server:call(ANN, "count", map.link) end,
        function(t) assert.is_true(server:receive(ANN, reference.moves(map.link, t, 2, { 1, t, 0 }, 1, 2, false))) end,
      } do
        begin { silence = 60 }
        net:stall(ANN)
        for t = 1, 100 do
          net.time = t
          act(t)
          server:probe_all()
        end
        assert.is_not_nil(server.subscribers[ANN])
      end
    end)

    it("is told so before a map that it opens is there: that is an error, and it opens it again", function()
      server:drop(ANN)
      net:run(function()
        map:flush { 1, 1, 1 }
        assert.error_matches(function() ann:open("other") end, "is gone")
        assert.is_true(map.closed)
        assert.is_nil(server.names.other)
        map = ann:open("map")
        map:enter(1, 0, 0)
        map:add_node(1, 1, 10, handlers "ann")
      end)
      net:tick(server)
      assert.same({ "+2", 0 }, { take "ann", ann.counters.lost })
    end)

    it("leaves nothing behind when it was the last", function()
      net:kill(ANN)
      net:kill(BOB)
      net.time = 100
      server:probe_all()
      for _, name in ipairs { "spaces", "records", "subscribers" } do assert.is_nil(next(server[name])) end
      assert.equal(2, server.counters.deaths)
      server:tick()
    end)
  end)

  describe("a subscriber that falls behind", function()
    it("is sent no more than the window, and then its whole view, of which handlers hear the difference", function()
      local resynced = 0
      map:on_resync(function() resynced = resynced + 1 end)
      the_room:run_over(50)
      assert.equal(8, (select(2, the_room:state())))
      assert.equal(1, server:info().service.behind)
      net:run(function() same_map:enter(5, 3, 0) end)
      net:resume(ANN)
      net:run()
      assert.equal(50, #the_room.heard.bob)
      assert.equal("-2 +2 -2 +2 -2 +2 -2", take "ann", "what was sent before it fell behind")
      assert.equal(0, resynced)
      net:tick(server)
      assert.same({ 1, 1, false }, { resynced, resyncs(), the_room:is_behind() })
      table.sort(the_room.heard.ann)
      assert.equal("+2 +5", take "ann")
    end)

    it("hears the end of a node before what the next life of its number sees", function()
      local on = handlers "again"
      net:run(function() map:add_node(1, 2, 60, on) end)
      net:tick(server)
      the_room:run_over(30)
      net:resume(ANN)
      net:run(function()
        map:remove_node(1, 2)
        map:add_node(1, 2, 51, on)
      end)
      take "again"
      net:tick(server)
      assert.matches("^%-%d %-%d %+%d %+%d$", take "again", "its view before and after: 2 and 3")
    end)

    it("asks for a resync with the heartbeat when the last message is missing, behind or not", function()
      for _, is_behind in ipairs { false, true } do
        begin { window = 8, heartbeat = 5 }
        if is_behind then the_room:run_over(21) else the_room:move(same_map, 2, 100) end
        server:tick()
        local line = net.lines[SERVICE .. ">" .. ANN]
        line[line.last], line.last = nil, line.last - 1
        net:resume(ANN)
        net:run()
        assert.equal(is_behind, the_room:is_behind())
        take "ann"
        for _ = 1, 2 do
          net.time = net.time + 6
          server:probe_all()
          net:tick(server)
        end
        assert.equal("-2", take "ann")
        assert.same({ 1, 1, false }, { ann.counters.lost, resyncs(), the_room:is_behind() })
      end
    end)

    it("begins again only when it has taken everything, and asks again with the heartbeat", function()
      the_room:run_over(20)
      local receive = net.services[SERVICE].receive
      net.services[SERVICE].receive = function() end -- its acknowledgement is lost
      net:resume(ANN)
      net:tick(server)
      local seq = the_room:state()
      -- One too few, and more than were ever sent.
      for _, wrong in ipairs { -1, 9, 1000, 0xffffffff - seq } do
        assert.is_true(server:receive(ANN, wire.ack(seq + wrong)))
        server:tick()
        assert.is_true(the_room:is_behind())
      end
      net.services[SERVICE].receive = receive
      net.time = 10
      server:probe_all()
      net:run()
      net:tick(server)
      assert.is_false(the_room:is_behind())
    end)

    it("begins again, too, where the tick fails for it, and the others get their events", function()
      local send, logged = server.send, nil
      server.log = function(text) logged = text end
      server.send = function(address, message)
        if address == ANN then error "not now" end
        return send(address, message)
      end
      net:run(function()
        same_map:add_node(2, 2, 100, handlers "bob2")
        same_map:flush { 3, 5, 0 }
      end)
      net:tick(server)
      assert.matches("not now", logged)
      table.sort(the_room.heard.bob2)
      assert.same({ "+1 +3", "" }, { take "bob2", take "ann" })
      server.send = send
      net:tick(server)
      assert.equal("+3", take "ann")
      assert.same({}, ann.logged)
      local sent = server.counters.messages
      server.send = function(address, ...) return address ~= ANN and send(address, ...) end
      the_room:step(same_map, 2, 100)
      assert.equal(sent + 1, server.counters.messages) -- Bob's
      assert.matches("^aoi: a message of %d+ bytes could not be sent", logged)
    end)
  end)

  it("a node whose events a map sends to its own service stays that map's, also after a resync", function()
    local second = net:run(function() return ann:open "map" end)
    net:run(function() second:add_node(1, 7, 10, handlers "second", { to = ANN }) end)
    the_room:run_over(20)
    net:resume(ANN)
    net:run()
    net:tick(server)
    assert.equal(2, resyncs())
    take "second"
    the_room:step(same_map, 2, 100)
    the_room:step(same_map, 2, 2)
    assert.equal("-2 +2", take "second")
    net:run(function() map:close() end)
    assert.same({ 2, n = 1 }, { second:seen(1, 7)[1], n = select(2, second:seen(1, 7)) })
  end)

  describe("a service that is gone", function()
    it("is an error for its callers, and for those that wait for its answer", function()
      net:stall(SERVICE)
      local ok, err
      coroutine.wrap(function() ok, err = pcall(map.enter, map, 9, 0, 0) end)()
      net:kill(SERVICE)
      assert.is_false(ok)
      assert.matches("gone", err)
      net:raises("is gone", same_map.enter, same_map, 9, 0, 0)
      assert.is_true(same_map.closed)
      net:run(function() same_map:close() end)
      assert.error_matches(function() same_map:move(1, 2, 3) end, "closed space %(the AOI service is gone%)")
    end)

    it("is noticed by a flush, which says so after a handler that may wait", function()
      local reason
      map:on_close(function(text)
        reason = text
        coroutine.yield()
      end)
      net:kill(SERVICE)
      map:move(1, 2, 3)
      local co = coroutine.create(pcall)
      coroutine.resume(co, function() map:flush() end)
      assert.same({ "suspended", "the AOI service is gone", true }, { coroutine.status(co), reason, map.closed })
      local _, ok, err = coroutine.resume(co)
      assert.is_false(ok)
      assert.matches("subscribers_spec.lua:%d+: the AOI service is gone", err)
    end)

    it("is noticed on another machine by its silence", function()
      net:lose(SERVICE)
      for _, lives in ipairs { true, true, true, false } do assert.equal(lives, ann:beat(true)) end
      assert.is_true(map.closed)
    end)
  end)
end)
