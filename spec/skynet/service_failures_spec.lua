-- The AOI service when clients die, fall behind, come back, fail or wait.
if not string.pack then return pending "failures around the AOI service: needs string.pack of Lua 5.3" end

local transport = require "spec.support.transport"
local reference = require "spec.support.wire_reference"
local wire = require "aoi.skynet.wire"

local SERVICE, ANN, BOB = 1, 2, 3

describe("failures around the AOI service:", function()
  local net, server, ann, bob, map, same_map, heard

  local function handlers(name)
    heard[name] = {}
    local function write(sign)
      return function(_, target) table.insert(heard[name], sign .. target) end
    end
    return { enter = write "+", leave = write "-" }
  end

  local function take(name)
    local list = heard[name]
    heard[name] = {}
    return table.concat(list, " ")
  end

  local function core() return server.names.map.core end

  -- Of a subscriber: the number of the last message, how many are unacknowledged, whether it is behind.
  local function state(address) return server.post:state(server.subscribers[address].slot) end
  local function waiting(address) return (select(2, state(address))) end
  local function is_behind(address) return (select(3, state(address))) end
  local function overruns() return (server.post:counters()) end
  local function resyncs() return (select(2, server.post:counters())) end
  local function sees_nothing(space, id, node) net:raises("has no node", space.seen, space, id, node) end

  local function size(t)
    local n = 0
    for _ in pairs(t) do n = n + 1 end
    return n
  end

  -- The message that is on its way to ann never happened.
  local function lose_message()
    local line = net.lines[SERVICE .. ">" .. ANN]
    assert.equal(line.first, line.last)
    line[line.first], line.first = nil, line.first + 1
  end

  -- ann's entity 1 watches, bob's entity 2 watches; 3 is ann's, too.
  local function begin(options)
    heard = {}
    net = transport.new(7)
    server = net:serve(SERVICE, options)
    ann, bob = net:client(ANN, SERVICE), net:client(BOB, SERVICE)
    net:run(function()
      map, same_map = ann:open("map"), bob:open("map")
      map:enter(1, 0, 0)
      same_map:enter(2, 1, 0)
      map:enter(3, 50, 0)
      map:add_node(1, 1, 10, handlers "ann")
      same_map:add_node(2, 1, 10, handlers "bob")
    end)
    net:tick(server)
    assert.equal("+2", take "ann")
    assert.equal("+1", take "bob")
  end

  before_each(function() begin { window = 8, heartbeat = 5 } end)

  local function move(space, id, x) net:flush(space, { id, x, 0 }) end

  -- The same, and what it causes is told.
  local function step(...)
    move(...)
    net:tick(server)
  end

  describe("a subscriber that died", function()
    it("is told so before a map that it opens is there: that is an error, and it opens it again", function()
      local closed = 0
      map:on_close(function() closed = closed + 1 end)
      server:drop(ANN)
      net:run(function()
        map:move(1, 1, 1)
        map:flush()
        assert.error_matches(function() ann:open("other") end, "is gone")
        assert.is_true(map.closed)
        assert.equal(1, closed)
        assert.is_nil(server.names.other)
        ann:open("other")
      end)
      assert.is_not_nil(server.names.other)
      assert.is_not_nil(next(ann.maps))
    end)

    it("is noticed by the next message to it, and all that it had is gone", function()
      net:kill(ANN)
      step(same_map, 2, 2)
      assert.is_not_nil(server.subscribers[ANN], "nothing was sent to it, so nobody knows")
      step(same_map, 2, 100)
      assert.is_nil(server.subscribers[ANN])
      assert.equal(1, server.counters.deaths)
      assert.equal(1, core():count())
      assert.is_false(core():has(1))
      assert.equal("-1", take "bob")
      step(same_map, 2, 0)
      assert.equal("", take "bob", "there is nobody left to see")
      assert.is_true(core():check())
    end)

    it("is noticed without any event", function()
      net:kill(ANN)
      net.time = 4
      server:probe_all()
      assert.is_not_nil(server.subscribers[ANN])
      net.time = 6
      server:probe_all()
      assert.is_nil(server.subscribers[ANN])
      net:tick(server)
      assert.equal("-1", take "bob")
      net.time = 12
      server:probe_all()
      net:run()
      assert.is_not_nil(server.subscribers[BOB], "who lives answers")
    end)

    it("takes its nodes on others' entities along, and loses others' nodes on its own", function()
      net:run(function()
        map:add_node(2, 9, 10)
        same_map:add_node(1, 9, 10, handlers "bob9")
      end)
      net:tick(server)
      assert.equal("+2", take "bob9")
      net:kill(ANN)
      server:drop(ANN)
      assert.equal(1, (select(2, core():nodes(2))))
      net:tick(server)
      assert.equal("-2", take "bob9")
      sees_nothing(same_map, 1, 9)
      assert.equal(1, size(server.records))
    end)

    it("does not keep its successor out", function()
      net:kill(ANN)
      ann = net:client(4, SERVICE)
      net:run(function()
        map = ann:open("map")
        map:enter(1, 5, 0)
        map:add_node(1, 1, 10, handlers "new")
        map:enter_many({ 3, 0, 0, 4, 0, 0 }, 2)
      end)
      net:tick(server)
      local seen = map:seen(1, 1)
      table.sort(seen)
      assert.same({ 2, 3, 4 }, seen)
      local events = take "bob"
      assert.matches("^%-1", events, "the old life's leave and the new life's enter")
      assert.matches("%+1", events)
      assert.equal(1, server.counters.deaths)
      assert.is_true(core():check())
    end)

    it("does not keep a successor's node out either", function()
      net:run(function() map:add_node(2, 9, 10) end)
      net:kill(ANN)
      net:run(function() same_map:add_node(2, 9, 20, handlers "bob9") end)
      net:tick(server)
      assert.equal("", take "bob9", "its entities went with it")
      assert.equal(1, server.counters.deaths)
    end)

    it("keeps who lives from nothing: a double enter is an error", function()
      net:raises("bad argument #1 to 'enter'", same_map.enter, same_map, 1, 9, 9)
      assert.same({ 0, 0 }, { core():position(1) })
      assert.is_not_nil(server.subscribers[ANN])
    end)

    it("may be on a machine that tells nothing: then silence counts", function()
      server.silence = 60
      net:lose(ANN)
      for t = 1, 70 do
        net.time = t
        server:probe_all()
        net:run()
      end
      assert.is_nil(server.subscribers[ANN])
      assert.is_not_nil(server.subscribers[BOB])
      net:tick(server)
      assert.equal("-1", take "bob")
    end)

    it("is asked once, not at every look", function()
      net.time = 6
      for _ = 1, 3 do server:probe_all() end
      assert.equal(2, server.counters.pings)
    end)

    it("is not who asks for something now and then, or moves it", function()
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
      assert.same({ 100, 0 }, { core():position(1) })
    end)

    it("learns from its own acknowledgement that it was taken for dead", function()
      server:drop(ANN)
      assert.is_true(server:receive(ANN, wire.ack(1)))
      net:run()
      assert.is_true(map.closed)
      assert.equal(0, ann:info().seq)
    end)

    it("learns that it was taken for dead", function()
      local closed = false
      map:on_close(function() closed = true end)
      server:drop(ANN)
      move(map, 1, 2)
      assert.is_true(closed)
      assert.is_true(map.closed)
      net:run(function()
        map = ann:open("map")
        map:enter(1, 0, 0)
        map:add_node(1, 1, 10, handlers "ann")
      end)
      net:tick(server)
      assert.equal("+2", take "ann")
      assert.same({ { 2 }, 1 }, { map:seen(1, 1) })
      assert.equal(0, ann.counters.lost)
    end)

    it("leaves nothing behind when it was the last", function()
      net:kill(ANN)
      net:kill(BOB)
      net.time = 100
      server:probe_all()
      assert.is_nil(next(server.spaces))
      assert.is_nil(next(server.records))
      assert.is_nil(next(server.subscribers))
      server:tick()
    end)
  end)

  describe("a subscriber that falls behind", function()
    local function run_over(ticks)
      net:stall(ANN)
      for i = 1, ticks do
        move(same_map, 2, i % 2 == 0 and 1 or 100)
        server:tick()
      end
    end

    it("is sent no more than the window, and the others their events", function()
      run_over(50)
      assert.equal(8, waiting(ANN))
      assert.is_true(is_behind(ANN))
      assert.equal(1, overruns())
      assert.equal(1, server:info().service.behind)
      net:run()
      assert.equal(50, #heard.bob)
    end)

    it("begins again with its whole view, of which its handlers hear the difference", function()
      local resynced = 0
      map:on_resync(function() resynced = resynced + 1 end)
      run_over(50)
      net:run(function() same_map:enter(5, 3, 0) end)
      net:resume(ANN)
      net:run()
      assert.equal("-2 +2 -2 +2 -2 +2 -2", take "ann", "what was sent before it fell behind")
      assert.equal(0, resynced)
      net:tick(server)
      assert.equal(1, resynced)
      table.sort(heard.ann)
      assert.equal("+2 +5", take "ann")
      assert.is_false(is_behind(ANN))
      assert.equal(1, resyncs())
      step(same_map, 2, 100)
      assert.equal("-2", take "ann", "and goes on as before")
      assert.equal(0, ann.counters.lost)
    end)

    it("learns of nodes that came and went meanwhile", function()
      net:run(function() map:add_node(3, 6, 100, handlers "gone") end)
      net:tick(server)
      take "gone"
      run_over(30)
      net:run(function()
        same_map:remove_node(3, 6)
        same_map:leave(1)
      end)
      server:tick()
      net:resume(ANN)
      net:run(function() map:add_node(3, 7, 100, handlers "new") end)
      net:tick(server)
      sees_nothing(map, 3, 6)
      sees_nothing(map, 1, 1)
      assert.equal("+2", take "new")
      assert.equal("", table.concat(heard.new))
      local last = heard.gone[#heard.gone]
      assert.matches("%-", last)
      assert.equal(1, size(ann.records))
    end)

    it("hears the end of a node before what the next life of its number sees", function()
      local on = handlers "again"
      net:run(function() map:add_node(1, 2, 60, on) end)
      net:tick(server)
      run_over(30)
      net:resume(ANN)
      net:run(function()
        map:remove_node(1, 2)
        map:add_node(1, 2, 51, on)
      end)
      assert.is_true(is_behind(ANN))
      take "again"
      net:tick(server)
      assert.equal(1, resyncs())
      assert.matches("^%-%d %-%d %+%d %+%d$", take "again", "its view before and after: 2 and 3")
    end)

    it("may open another space, which begins with its whole view", function()
      run_over(20)
      local on = handlers "other"
      local answered
      coroutine.wrap(function()
        local other = ann:open("other")
        other:enter(1, 0, 0)
        other:enter(2, 0, 0)
        other:add_node(1, 1, 1, on)
        answered = true
      end)()
      net:run()
      local link = ann.maps[2] and 2 or next(server.names.other.clients)
      assert.is_true(server:call(ANN, "enter", link, 8, 50, 0))
      assert.is_true(server:call(ANN, "enter", link, 9, 50, 0))
      assert.is_true(server:call(ANN, "add_node", link, 8, 1, 5))
      server:tick()
      net:resume(ANN)
      net:run()
      assert.is_true(answered)
      net:tick(server)
      net:tick(server)
      assert.equal("+2", take "other")
    end)

    it("asks for a resync when a message is missing", function()
      move(same_map, 2, 100)
      server:tick()
      lose_message()
      step(same_map, 3, 1)
      assert.equal("+3", take "ann")
      assert.equal(1, ann.counters.lost)
      net:tick(server)
      assert.equal("-2", take "ann")
      assert.equal(1, ann.counters.resyncs)
      net:tick(server)
      assert.equal(1, resyncs(), "once is enough")
    end)

    it("hears no leave without an enter, and no second enter, when a message is missing", function()
      net:flush(same_map, { 3, 1, 0, 2, 100, 0 })
      server:tick()
      lose_message() -- "+3 -2"
      net:flush(same_map, { 3, 100, 0, 2, 1, 0 })
      net:tick(server)
      net:tick(server)
      assert.equal("", take "ann")
      assert.same({ { 2 }, 1 }, { map:seen(1, 1) })
    end)

    it("begins again only when it has taken everything, however wide the window", function()
      for _, window in ipairs { 1, 5, 11, 31 } do
        begin { window = window }
        run_over(3 * window)
        assert.is_true(is_behind(ANN))
        net:resume(ANN)
        net:run()
        net:tick(server)
        assert.is_false(is_behind(ANN))
        assert.equal(1, resyncs())
        run_over(3 * window)
        server:tick()
        local seq = state(ANN)
        if window > 1 then
          assert.is_true(server:receive(ANN, wire.ack(seq - 1)))
          server:tick()
          assert.is_true(is_behind(ANN))
        end
        assert.is_true(server:receive(ANN, wire.ack(seq)))
        server:tick()
        assert.is_false(is_behind(ANN))
      end
    end)

    it("is asked again by the heartbeat, should its acknowledgement ever be lost", function()
      run_over(20)
      local receive = net.services[SERVICE].receive
      net.services[SERVICE].receive = function() end
      net:resume(ANN)
      net:run()
      net:tick(server)
      assert.is_true(is_behind(ANN))
      net.services[SERVICE].receive = receive
      net.time = 10
      server:probe_all()
      net:run()
      net:tick(server)
      assert.is_false(is_behind(ANN))
    end)

    it("cannot be told by an acknowledgement of what was never sent", function()
      run_over(20)
      for _, seq in ipairs { 9, 10, 1000, 0xffffffff } do
        assert.is_true(server:receive(ANN, wire.ack((seq + state(ANN)) % 4294967296)))
      end
      assert.is_true(is_behind(ANN))
    end)

    it("counts on, past the largest number", function()
      net = transport.new(7)
      server = net:serve(SERVICE, { first_seq = 0xfffffffc, window = 8 })
      ann, bob = net:client(ANN, SERVICE), net:client(BOB, SERVICE)
      ann.inbox:seq(0xfffffffc)
      net:run(function()
        map, same_map = ann:open("map"), bob:open("map")
        map:enter(1, 0, 0)
        same_map:enter(2, 1, 0)
        map:add_node(1, 1, 10, handlers "ann")
      end)
      for i = 1, 20 do step(same_map, 2, i % 2 == 0 and 1 or 100) end
      assert.equal(19, #heard.ann)
      assert.equal(0, overruns())
      assert.equal(0, ann.counters.lost)
      assert.equal(15, (state(ANN)))
      assert.equal(15, ann:info().taken)
    end)
  end)

  it("a message that cannot be sent is logged and not counted; its subscriber notices and begins again", function()
    local logged
    server.log = function(text) logged = text end
    local send = server.send
    server.send = function() return false end
    local sent = server.counters.messages
    move(same_map, 2, 100)
    server:tick()
    assert.matches("could not be sent", logged)
    assert.equal(sent, server.counters.messages)
    server.send = send
    step(same_map, 3, 1)
    assert.equal("+3", take "ann")
    assert.equal(1, ann.counters.lost)
    net:tick(server)
    assert.equal("-2", take "ann")
    assert.is_not_nil(server.subscribers[ANN])
  end)

  it("a subscriber for whom the tick fails begins again, and the others get their events", function()
    local send, logged = server.send, nil
    server.log = function(text) logged = text end
    server.send = function(address, message)
      if address == ANN then error "not now" end
      return send(address, message)
    end
    net:run(function()
      same_map:add_node(2, 2, 100, handlers "bob2")
      same_map:move(3, 5, 0)
      same_map:flush()
    end)
    net:tick(server)
    assert.matches("not now", logged)
    table.sort(heard.bob2)
    assert.equal("+1 +3", take "bob2")
    assert.equal("", take "ann")
    server.send = send
    net:tick(server)
    assert.equal("+3", take "ann")
    assert.equal(0, #ann.logged)
  end)

  describe("handlers", function()
    it("may be replaced while the service runs", function()
      local on = { enter = function() error "the old code" end }
      net:run(function() map:add_node(3, 6, 5, on) end)
      local news = {}
      on.enter = function(_, target) news[#news + 1] = "+" .. target end
      on.leave = function(_, target) news[#news + 1] = "-" .. target end
      step(same_map, 2, 50)
      assert.same({ "+2" }, news)
      on.leave = nil
      step(same_map, 2, 0)
      assert.same({ "+2" }, news)
      assert.same({}, ann.logged)
    end)

    it("that fail do not keep the others from theirs", function()
      local on = handlers "more"
      net:run(function()
        map:add_node(3, 6, 5, { enter = function() error "oh no" end, leave = on.leave })
        map:add_node(3, 7, 5, on)
      end)
      step(same_map, 2, 50)
      assert.equal("+2", take "more")
      assert.equal(1, #ann.logged)
      assert.matches("oh no.*traceback", ann.logged[1])
      map:on_error(function() error "worse" end)
      step(same_map, 2, 0)
      step(same_map, 2, 50)
      assert.equal("-2 -2 +2", take "more", "of both nodes")
      assert.matches("worse", ann.logged[2])
    end)

    it("may be found by a metatable, which may raise and wait as they may", function()
      for i, watched in ipairs { false, true } do
        local eve, told, held = net:client(4 + i, SERVICE, watched), {}, nil
        local find = function(_, name) return function(_, target) told[#told + 1] = name .. target end end
        local found = setmetatable({}, { __index = function(...) return find(...) end })
        local third = net:run(function()
          local opened = eve:open("map " .. i)
          opened:enter_many { 1, 0, 0, 2, 1, 0, 3, 2, 0 }
          opened:add_node(1, 6, 5, found)
          opened:add_node(2, 6, 5, function(_, target) told[#told + 1] = "2 enter" .. target end)
          return opened
        end)
        net:tick(server)
        net:run(function() third:enter_many { 4, 0, 0, 5, 0, 0 } end)
        local works, n = find, 0
        find = function(...)
          n = n + 1
          if n == 1 then error "not loaded" end
          return works(...)
        end
        told = {}
        net:tick(server)
        assert.equal(3, #told, "one event of four has failed")
        assert.matches("not loaded", eve.logged[1])
        find = function(...)
          held = coroutine.running()
          coroutine.yield()
          return works(...)
        end
        move(third, 4, 50)
        told = {}
        net:run(function() third:enter(7, 0, 0) end)
        net:tick(server)
        assert.same({ "2 enter7" }, told)
        find = works
        assert(coroutine.resume(held))
        assert.same({ "2 enter7", "leave4", "enter7" }, told)
        assert.equal(1, #eve.logged)
      end
    end)

    it("may raise anything: nil, and what cannot be told as text", function()
      local odd = setmetatable({}, { __tostring = function() error "odder" end })
      local told
      local function raise() error(told) end
      net:run(function() map:add_node(3, 6, 5, raise) end)
      local function fail_with(value)
        told = value
        step(same_map, 2, 50)
        step(same_map, 2, 0)
      end
      net:tick(server)
      local logged = #ann.logged
      fail_with(odd)
      assert.matches("error object is a table value", ann.logged[logged + 1])
      fail_with(nil)
      assert.matches("^nil", ann.logged[logged + 2])
      local caught
      map:on_error(function(...) caught = table.pack(...) end)
      fail_with(odd)
      assert.is_true(rawequal(odd, caught[1]))
      fail_with(nil)
      assert.is_nil(caught[1])
      assert.same({ 3, 2, 6 }, { caught[2], caught[3], caught[4] })
      map:on_error(nil)
      map:on_close(function() error(odd) end)
      net:kill(SERVICE)
      net:run(function() pcall(map.has, map, 1) end)
      assert.is_true(map.closed)
      assert.matches("error object is a table value", ann.logged[#ann.logged])
    end)

    it("may ask the service, and what follows is delivered in order meanwhile", function()
      local order = {}
      net:run(function()
        map:add_node(3, 6, 5, function(_, target)
          local x = map:position(target)
          order[#order + 1] = ("asked about %d at %d"):format(target, x)
        end, function(_, target) order[#order + 1] = "-" .. target end)
      end)
      move(same_map, 2, 50)
      server:tick()
      net:stall(SERVICE)
      net:run() -- the handler asks and waits
      net.stalled = {}
      same_map:move(2, 0, 0)
      same_map:flush()
      net:run()
      net:tick(server)
      assert.same({ "asked about 2 at 50", "-2" }, order)
    end)

    -- Handlers of which those of enter wait until `go` is called with their text.
    local function waiting_handlers(order)
      local waits = {}
      return {
        enter = function(watcher, target)
          order[#order + 1] = ("begin %d+%d"):format(watcher, target)
          waits[("%d+%d"):format(watcher, target)] = coroutine.running()
          coroutine.yield()
          order[#order + 1] = ("end %d+%d"):format(watcher, target)
        end,
        leave = function(watcher, target) order[#order + 1] = ("%d-%d"):format(watcher, target) end,
      }, function(text) assert(coroutine.resume(waits[text])) end
    end

    it("may wait: what follows for the same watcher waits, too", function()
      local order = {}
      local on, go = waiting_handlers(order)
      net:run(function() map:add_node(3, 6, 5, on) end)
      step(same_map, 2, 50)
      step(same_map, 2, 0)
      step(same_map, 2, 50)
      assert.same({ "begin 3+2" }, order)
      assert.is_true(ann:info().parked > 0)
      go "3+2"
      assert.same({ "begin 3+2", "end 3+2", "3-2", "begin 3+2" }, order)
      go "3+2"
      assert.equal("end 3+2", order[5])
      assert.equal(0, ann:info().queued)
      assert.equal(0, ann:info().parked)
      assert.is_nil(next(map.busy))
    end)

    it("may wait: when the map is closed, nothing is told of a node that has ended behind it", function()
      local order = {}
      local on, go = waiting_handlers(order)
      net:run(function() map:add_node(3, 7, 100, on) end)
      net:tick(server)
      net:run(function() map:remove_node(3, 7) end)
      net:tick(server)
      net:run(function() map:close() end)
      assert.equal(1, #order)
      local one = order[1]:sub(7)
      go(one)
      assert.same({ "begin " .. one, "end " .. one }, order)
      assert.equal(0, ann.parked)
    end)

    it("may wait while others of the same message are told, fail after it, and close the map meanwhile", function()
      for _, watched in ipairs { false, true } do -- with forks in advance, and without
        begin { window = 8 }
        local order, begun = {}, {}
        local on, go = waiting_handlers(order)
        local eve = net:client(4, SERVICE, watched)
        local third
        net:run(function()
          third = eve:open("map")
          third:enter_many { 10, 50, 0, 11, 50, 0, 12, 50, 0 }
          for id = 10, 12 do third:add_node(id, 6, 5, on, { positions = id == 12 }) end
        end)
        third:on_error(function(err, watcher, target) order[#order + 1] = ("%s %d %d"):format(err, watcher, target) end)
        net:tick(server)
        local watchers = {}
        for _, text in ipairs(order) do
          begun[#begun + 1] = text:match "begin (%d+%+%d+)"
          watchers[text:match "begin (%d+)"] = true
        end
        assert.same({ ["10"] = true, ["11"] = true, ["12"] = true }, watchers)
        assert.equal(3, #order)
        step(same_map, 2, 50)
        go(begun[1]) -- its watcher's others follow, in turn; the last of them waits again
        assert.equal("end " .. begun[1], order[4])
        assert.matches("^begin " .. begun[1]:match "%d+", order[5])
        function on.enter() error("broken", 0) end
        go(order[5]:sub(7)) -- 2, which has come meanwhile, is heard behind it
        assert.matches("^broken %d+ 2$", order[#order])
        net:run(function() third:close() end)
        local before = #order
        go(begun[2])
        go(begun[3])
        net:tick(server)
        assert.equal(before + 2, #order, "both handlers end, and nothing follows")
        assert.is_nil(next(eve.records))
        assert.is_nil(next(eve.walks))
        assert.equal(0, eve:info().queued)
      end
    end)

    it("that fail are reported one by one, and the rest of the message is told", function()
      local order = {}
      net:run(function()
        map:enter_many { 10, 50, 0, 11, 51, 0, 12, 52, 0 }
        for id = 10, 12 do
          map:add_node(id, 6, 5, function(watcher, target)
            order[#order + 1] = watcher .. "+" .. target
            if watcher ~= target and (watcher + target) % 2 == 1 then error("odd") end
          end)
        end
      end)
      local errors = {}
      map:on_error(function(err, watcher, target, node)
        errors[#errors + 1] = ("%d+%d %d"):format(watcher, target, node)
        assert.matches("odd", err)
      end)
      net:tick(server)
      table.sort(errors)
      -- 3 is within all of them, too
      assert.same({ "10+11 6", "10+3 6", "11+10 6", "11+12 6", "12+11 6", "12+3 6" }, errors)
      assert.equal(9, #order)
      for id = 10, 12 do assert.equal(3, select(2, map:seen(id, 6))) end
    end)

    it("may wait freely: then nothing waits for them", function()
      local order = {}
      local on, go = waiting_handlers(order)
      map:handlers_wait "free"
      net:run(function() map:add_node(3, 6, 5, on) end)
      step(same_map, 2, 50)
      step(same_map, 2, 0)
      go "3+2"
      assert.same({ "begin 3+2", "3-2", "end 3+2" }, order)
      assert.equal(0, ann:info().queued)
      for _, how in ipairs { "never", 1 } do
        assert.error_matches(function() map:handlers_wait(how) end, "bad argument #1 to 'handlers_wait'")
      end
    end)

    it("may wait freely: what came with their event is told before what comes later", function()
      for i, watched in ipairs { false, true } do
        for _, positions in ipairs { false, true } do
          local order = {}
          local function sorted(from, to)
            local list = table.move(order, from, to, 1, {})
            table.sort(list)
            return list
          end
          local on, go = waiting_handlers(order)
          local eve = net:client(4 + i, SERVICE, watched)
          local third
          net:run(function()
            third = eve:open("map " .. i .. tostring(positions))
            third:handlers_wait "free"
            third:enter_many { 1, 0, 0, 2, 1, 0, 3, 1, 0, 4, 1, 0, 5, -99, 0, 6, -99, 0 }
            third:add_node(1, 6, 5, on, { positions = positions })
            third:add_node(5, 6, 5, function() end) -- a second group: others go on, with and without a fork
          end)
          net:tick(server)
          assert.same({ "begin 1+2", "begin 1+3", "begin 1+4" }, sorted(1, #order))
          for id = 2, 4 do move(third, id, 50) end
          net:tick(server)
          assert.same({ "1-2", "1-3", "1-4" }, sorted(4, 6))
          for _, text in ipairs { "1+2", "1+3", "1+4" } do go(text) end
          move(third, 2, 0)
          move(third, 3, 0)
          move(third, 6, -50)
          net:tick(server) -- these C has called
          assert.same({ "begin 1+2", "begin 1+3" }, sorted(10, 11))
          move(third, 2, 50)
          step(third, 3, 50)
          assert.same({ "1-2", "1-3" }, sorted(12, #order))
          for _, text in ipairs { "1+2", "1+3" } do go(text) end
          assert.equal(0, eve:info().queued)
          assert.equal(0, eve:info().parked)
          assert.is_nil(next(eve.walks))
        end
      end
    end)

    it("may wait and then fail: what waited behind them is told", function()
      local order, waiting_co = {}, nil
      net:run(function()
        map:add_node(3, 6, 5, {
          enter = function()
            waiting_co = coroutine.running()
            coroutine.yield()
            error "too late"
          end,
          leave = function(_, target) order[#order + 1] = "-" .. target end,
        })
      end)
      step(same_map, 2, 50)
      step(same_map, 2, 0)
      assert.same({}, order)
      assert(coroutine.resume(waiting_co))
      assert.same({ "-2" }, order)
      assert.matches("too late", ann.logged[1])
      assert.is_nil(next(map.busy))
    end)

    local waiting_co

    -- The handler of a node waits with its first event; rounds of a crowd that comes and goes follow.
    local function hang(positions, rounds)
      local known, wrong, first = {}, 0, true
      local function enter(_, target, _, kind, x)
        if known[target] then wrong = wrong + 1 end
        known[target] = { kind, x }
        if first then
          first = false
          waiting_co = coroutine.running()
          coroutine.yield()
        end
      end
      local function leave(_, target)
        if not known[target] then wrong = wrong + 1 end
        known[target] = nil
      end
      net:run(function()
        local rows = {}
        for i = 1, 3000 do rows[3 * i - 2], rows[3 * i - 1], rows[3 * i] = 1000 + i, 50, 0 end
        same_map:enter_many(rows)
        map:add_node(3, 6, 5, enter, leave, { positions = positions })
        map:add_node(3, 7, 5, {}) -- one that comes and goes while the handler waits
      end)
      net:tick(server)
      for i = 1, rounds do
        net:run(function()
          if i == 3 then map:remove_node(3, 7) end
          for id = 1001, 4000 do same_map:move(id, i % 3 == 0 and 50 + id % 7 or i % 3 == 1 and 90 or 50, 0) end
          same_map:flush()
        end)
        net:tick(server)
      end
      return known, function() return wrong end
    end

    for _, positions in ipairs { false, true } do
      it(("that never return hold up their own watcher alone, in bounded memory (positions: %s)"):format(positions),
        function()
          local known, wrong = hang(positions, 41)
          assert.is_false(is_behind(ANN))
          assert.is_true(waiting(ANN) < 8, "messages are acknowledged")
          assert.is_true(ann:info().parked <= 40000, ann:info().parked)
          assert.equal(1, #ann.logged)
          assert.matches("a handler of entity 3 in space 'map' has not returned", ann.logged[1])
          step(same_map, 2, 100)
          assert.equal("-2", take "ann", "others hear")
          assert(coroutine.resume(waiting_co))
          assert.equal(0, wrong())
          local seen, n = map:seen(3, 6)
          assert.is_true(n > 1000)
          for i = 1, n do
            local target = seen[i]
            assert.same(positions and { 1, (core():position(target)) } or {}, known[target])
            known[target] = nil
          end
          assert.is_nil(next(known))
          assert.equal(0, ann:info().parked)
          assert.is_nil(next(map.busy))
        end)
    end

    it("may close the space: nothing comes after", function()
      local calls = 0
      local function close()
        calls = calls + 1
        map:close()
      end
      net:run(function()
        map:add_node(3, 6, 100, close)
        map:add_node(3, 7, 100, close)
      end)
      net:tick(server)
      assert.equal(1, calls)
      assert.is_true(map.closed)
      net:tick(server)
      assert.is_nil(next(ann.records))
    end)
  end)

  describe("a service that is gone", function()
    it("is an error for its callers", function()
      net:kill(SERVICE)
      net:raises("is gone", map.enter, map, 9, 0, 0)
      assert.is_true(map.closed)
      net:run(function() map:close() end)
      assert.error_matches(function() map:move(1, 2, 3) end, "closed space %(the AOI service is gone%)")
    end)

    it("is noticed by a flush, which says so, and closes", function()
      local reason
      map:on_close(function(text) reason = text end)
      net:kill(SERVICE)
      map:move(1, 2, 3)
      net:raises("the AOI service is gone", map.flush, map)
      assert.equal("the AOI service is gone", reason)
      assert.is_true(map.closed)
    end)

    it("is told by flush to a handler that may wait", function()
      map:on_close(coroutine.yield)
      net:kill(SERVICE)
      map:move(1, 2, 3)
      local co = coroutine.create(pcall)
      assert.same({ true, "the AOI service is gone" }, { coroutine.resume(co, function() map:flush() end) })
      assert.equal("suspended", coroutine.status(co))
      local _, ok, err = coroutine.resume(co)
      assert.is_false(ok)
      assert.matches("service_failures_spec.lua:%d+: the AOI service is gone", err)
    end)

    it("is noticed by clients that only listen", function()
      local closed = 0
      for _, space in ipairs { map, same_map } do space:on_close(function() closed = closed + 1 end) end
      assert.is_true(ann:beat(false))
      net:run()
      net:kill(SERVICE)
      assert.is_false(ann:beat(false))
      assert.is_false(bob:beat(false))
      assert.equal(2, closed)
      assert.is_false(ann:beat(false))
      assert.equal(2, closed, "once")
    end)

    it("is noticed on another machine by its silence", function()
      local closed = 0
      map:on_close(function() closed = closed + 1 end)
      assert.is_true(ann:beat(true))
      net:lose(SERVICE)
      assert.is_true(ann:beat(true))
      assert.is_true(ann:beat(true))
      assert.is_false(ann:beat(true))
      assert.equal(1, closed)
    end)

    it("fails those who wait for its answer", function()
      net:stall(SERVICE)
      local ok, err
      coroutine.wrap(function() ok, err = pcall(map.enter, map, 9, 0, 0) end)()
      net:kill(SERVICE)
      assert.is_false(ok)
      assert.matches("gone", err)
    end)
  end)
end)
