-- The AOI service and its clients, without skynet: requests, batches, ticks, and which client gets which events.
if not string.pack then return pending "the AOI service: needs string.pack of Lua 5.3" end

local listener = require "spec.support.listener"
local transport = require "spec.support.transport"
local wire = require "aoi.skynet.wire"
local reference = require "spec.support.wire_reference"

local SERVICE, ANN, BOB = 1, 2, 3

describe("the AOI service", function()
  local net, server, ann, bob, map, same_map

  before_each(function()
    net = transport.new(1)
    server = net:serve(SERVICE)
    ann, bob = net:client(ANN, SERVICE), net:client(BOB, SERVICE)
    net:run(function()
      map = ann:open("map", { dimensions = 2 })
      same_map = bob:open("map")
    end)
  end)

  local function core() return server.names.map.core end

  local function raises(...) net:raises(...) end

  it("opens one space for one name or number, and others for others", function()
    assert.equal(map.number, same_map.number)
    assert.not_equal(map, same_map)
    net:run(function()
      assert.equal(map, ann:open("map"))
      local other = ann:open("other", { dimensions = 3, engine = "brute", cell = 10 })
      assert.not_equal(map.number, other.number)
      other:enter(1, 2, 3, 4)
      assert.same({ 2, 3, 4 }, { other:position(1) })
      assert.is_false(map:has(1))
      local one = ann:open(12, { engine = "grid" })
      assert.same({ 12, one.number }, { one.name, bob:open(12.0).number })
      assert.not_equal(one.number, ann:open("12").number)
    end)
    local info = server:info()
    assert.same({ 2, 1 }, { info["space 12"].clients, info["space '12'"].clients })
    assert.equal(server.names["12"].core, server:find_core "12")
    net:run(function() ann:open(13) end)
    assert.equal(server.names[13].core, server:find_core "13")
    assert.is_nil(server:find_core "14" or server:find_core "1.5")
    assert.is_true(server:find_core() ~= nil)
    local opened = {} -- by two coroutines at once
    for i = 1, 2 do coroutine.wrap(function() opened[i] = ann:open("new") end)() end
    net:run()
    assert.is_table(opened[1])
    assert.equal(opened[1], opened[2])
  end)

  it("refuses options that it does not know or that do not fit", function()
    net:run(function() ann:open("walls", { sight = true }) end)
    for text, call in pairs {
      ["unknown option 'size'"] = { "new", { size = 1 } },
      ["delivery"] = { "new", { delivery = "immediate" } },
      ["engine"] = { "new", { engine = "none" } },
      ["#2 to 'open' %(name expected"] = { {} },
      ["no integer"] = { 1.5 },
      ["bad value for option 'drive'"] = { "new", { drive = 1 } },
      ["bad value for option 'quantum'"] = { "new", { quantum = 0 } },
      ["bad value for option 'sight' %(a boolean expected"] = { "new", { sight = 3 } },
      ["#3 to 'open' %(space 'map' has another dimensions"] = { "map", { dimensions = 3, drive = true } },
      ["#3 to 'open' %(space 'map' has another engine"] = { "map", { engine = "grid" } },
      ["#3 to 'open' %(space 'map' has another quantum"] = { "map", { quantum = 1 } },
      ["space 'map' was opened without sight"] = { "map", { sight = true } },
      ["space 'walls' was opened with sight"] = { "walls", { sight = false } },
      ["space 'map' has another riders"] = { "map", { riders = true } },
      ["bad value for option 'riders' %(a boolean expected"] = { "new", { riders = 1 } },
    } do
      raises(text, bob.open, bob, table.unpack(call))
    end
    assert.is_nil(server.names.new)
  end)

  it("opens a space with other options where all that had it open were killed", function()
    net:run(function() ann:open("own", { engine = "grid" }) end)
    raises("#3 to 'open' %(space 'own' has another engine", bob.open, bob, "own", { engine = "brute" })
    net:kill(ANN)
    net:run(function() bob:open("own", { engine = "brute" }):enter(1, 0, 0) end)
    assert.equal("brute", server.names.own.engine)
    assert.equal(1, server.names.map.users)
  end)

  it("ticks when the client says so, if the client drives", function()
    local on_bob, take_bob = listener()
    net:run(function()
      map = ann:open("map", { drive = true })
      map:enter_many { 1, 0, 0, 2, 1, 0 }
      same_map:add_node(1, 1, 5, on_bob)
    end)
    net:tick(server)
    assert.equal("", take_bob(), "the service leaves it alone")
    net:run(function() map:flush() end)
    assert.equal("+1/1>2", take_bob())
    net:flush(map, { 2, 9, 9 })
    assert.equal("-1/1>2", take_bob())
    net:run(function()
      map:move(2, 1, 0)
      assert.equal(1, map:tick())
    end)
    assert.equal("+1/1>2", take_bob())
    net:kill(ANN) -- no client drives any more
    net.time = 100
    server:probe_all()
    assert.equal(0, server.names.map.drivers)
    net:tick(server)
    assert.equal(0, server.names.map.core:stats().pending)
  end)

  describe("on a mistake", function()
    before_each(function()
      net:run(function()
        map:enter(1, 0, 0)
        map:add_node(1, 7, 5)
      end)
      net:tick(server)
    end)

    it("refuses stale ids of a batch, and makes the other moves", function()
      local refused = {}
      map:on_refused(function(ids, n) refused[#refused + 1] = { n, table.unpack(ids) } end)
      net:run(function()
        map:enter(2, 0, 0)
        map:move(1, 1, 1)
        map:move(2, 2, 2)
        map:move(3, 3, 3)
        same_map:leave(2) -- before the batch arrives
        map:flush()
      end)
      assert.same({ { 2, 2, 3 } }, refused)
      assert.same({ 1, 1 }, { core():position(1) })
      assert.is_false(core():has(2))
      assert.equal(2, server.counters.refused)
      assert.equal(1, server.counters.moves)
      map:on_refused(nil)
      net:flush(map, { 3, 3, 3 })
      assert.matches("1 moves of space 'map' were refused, that of entity 3", ann.logged[1])
    end)

    it("refuses rows that no client of ours sends", function()
      local bad = reference.moves(map.link, 1, 2, { 1, 0 / 0, 0, 1, 1, -1 / 0, 1, 4, 4, 77, 1, 1 }, 4, 2, false)
      assert.is_true(server:receive(ANN, bad))
      assert.same({ 4, 4 }, { core():position(1) })
      assert.equal(3, server.counters.refused)
      assert.is_nil((server:receive(ANN, reference.moves(map.link, 1, 3, { 1, 0, 0, 0 }, 1, 2, false))))
      assert.is_nil((server:receive(ANN, "nonsense")))
      assert.is_nil((server:receive(ANN, wire.ping(1))))
      assert.equal(3, server.counters.malformed)
      assert.is_true(server:receive(ANN, wire.ack(12345)))
      assert.same({ 0, 0, false, 0 }, { server.post:state(server.subscribers[ANN].slot) })
    end)

    it("writes one line in five seconds of each kind of trouble", function()
      net:run(function() map:enter(2, 0, 0) end)
      local time = 100
      ann.warn = require("aoi.skynet.failures").rate_limited(ann.log, function() return time end)
      for _ = 1, 20 do
        map:move(77, 3, 3)
        net:run(function() map:flush() end)
        ann.warn("message", "aoi: bad message from %s: %s", ":00000001", "nonsense")
        time = time + 0.5
      end
      assert.equal(4, #ann.logged)
      assert.matches("entity 77 among them$", ann.logged[1])
      assert.matches("bad message from :00000001: nonsense$", ann.logged[2])
      assert.matches("%(and 9 more like it since the last line%)$", ann.logged[3])
    end)

    it("knows no request by another name", function()
      assert.same({ false, "unknown request 'steal'" }, { server:call(ANN, "steal", map.link) })
      assert.same({ false, "the space is closed" }, { server:call(ANN, "leave", 99, 1) })
      assert.same({ false, "the space is closed" }, { server:call(42, "leave", map.link, 1) })
      assert.is_false((server:call(ANN)))
    end)
  end)

  it("sends the last events when it ends, of spaces that clients drive, too, and says goodbye", function()
    local on_ann, take = listener()
    local closed
    net:run(function()
      map:on_close(function() closed = true end)
      for _, one in ipairs { map, ann:open("driven", { drive = true }) } do
        one:enter_many { 1, 0, 0, 2, 1, 0 }
        one:add_node(1, 7, 5, on_ann)
      end
    end)
    local space = core()
    server:shutdown()
    server:shutdown()
    net:run()
    assert.equal("+1/7>2 +1/7>2", take(), "the last events arrive, and no leave events: as with close")
    assert.is_true(closed)
    assert.is_true(map.closed)
    assert.is_false(pcall(space.count, space), "its memory is free")
    assert.same({ false, "the service is shutting down" }, { server:call(ANN, "open", "map") })
    assert.is_true(server:receive(ANN, wire.ack(0)))
  end)

  it("counts what it does, all moves of a client's tick as one message", function()
    net:run(function()
      map:enter(1, 0, 0)
      map:enter(2, 1, 0)
      map:add_node(1, 7, 5)
      for id = 1, 2 do map:move(id, 50, 50) end
      map:move(1, 0, 1) -- the last one counts
      map:move(2, 1, 1)
      map:flush() -- all of them as one message
      map:flush() -- nothing is left
      pcall(map.leave, map, 9)
    end)
    net:tick(server)
    local info = server:info()
    local total = info.service
    assert.same({ 1, 2, 6, 1, 1, 2, 1, 1, 1 }, {
      total.spaces, total.subscribers, total.calls, total.errors, total.batches, total.moves, total.ticks, total.events,
      total.messages,
    })
    assert.equal(2, info["space map"].entities)
    assert.equal(2, info["space map"].clients)
    assert.is_number(info.tick.mean_ms)
    for _, topic in pairs(info) do
      for _, value in pairs(topic) do assert.is_number(value) end
    end
    assert.equal(1, ann:info().events)
    assert.equal(total.bytes, ann:info().bytes + bob:info().bytes)
  end)
end)
