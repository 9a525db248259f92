-- The messages of the AOI service, byte by byte: what C writes is read by the reference in Lua, and the other way
-- round; the readers accept or refuse any input without an error.
if not string.pack then return pending "the wire format: needs string.pack of Lua 5.3" end

local aoi = require "aoi"
local wire = require "aoi.skynet.wire"
local inbox_reader = require "spec.support.inbox_reader"
local reference = require "spec.support.wire_reference"

local function hex(s)
  return (s:gsub(".", function(c) return ("%02x "):format(c:byte()) end):sub(1, -2))
end

local FAR = { [2] = -32768, [4] = 2147483647, [8] = math.mininteger }

-- A message with a record of each sort.
local function sample(width)
  local far = FAR[width]
  return reference.events(99, true, {
    { handle = 1, open = { 7, 100, 1 }, leaves = { 5 }, enters = { 6, 7 }, width = width },
    { handle = 2, enters = { far }, width = width },
    { resync = 8, groups = 2 },
    { handle = 3, whole = true, open = { 8, 101, far }, enters = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, width = width },
    { handle = 4, places = 3, enters = { { far, -1, 0.5, -1e300, 3 } }, width = width },
    { handle = 5, close = true, leaves = { 8 }, width = width },
  })
end

-- A space with a watcher 1 and targets, its post, one subscriber, one link 7, one node.
local function posted()
  local space, post = aoi.new { delivery = "deferred" }, wire.post(32, 1000000)
  local subscriber = post:subscribe(1)
  local link = post:link(subscriber, space, 7)
  space:enter(1, 0, 0)
  local handle = post:add(link, 1, 20)
  space:add_node(1, handle, 10)
  return { space = space, post = post, subscriber = subscriber, link = link, handle = handle, tick = function()
    post:collect(space)
    local first
    post:send(function(s, message)
      assert(s == subscriber)
      first = first or message
      return true
    end)
    return first
  end }
end

describe("a post", function()
  it("returns crossings of its nodes, beside the messages, and of no node that is not its own", function()
    local p = posted()
    local function cross() end
    p.space:add_node(1, p.post:add(p.link, 1, 21), 10, { cross = cross })
    p.space:add_node(1, 1000, 10, { cross = cross })
    p.space:enter(2, -20, 0)
    assert.same({ 0 }, { p.post:collect(p.space) })
    p.space:move(2, 20, 0)
    p.space:move(1, 0, 1)
    assert.same({ 2, { p.handle + 1, 2, 0.25 } }, { p.post:collect(p.space) })
    assert.is_nil(p.tick())
    p.space:move(2, -20, 0)
    p.post:unlink(p.link)
    assert.same({ 2 }, { p.post:collect(p.space) })
  end)

  it("applies moves of its subscribers, and nothing of others or of what cannot be made", function()
    local p = posted()
    local other = p.post:subscribe(99)
    local function moves(...) return reference.moves(7, 1, 2, { ... }, 1, 2, false) end
    assert.is_false(p.post:moves(p.subscriber, moves(1, 3, 4)))
    assert.equal(7, p.post:moves(p.subscriber, reference.moves(7, 2, 2, { 1, 5, 6 }, 1, 2, true)))
    for _, message in ipairs { moves(2, 0, 0), moves(1, 0, 0 / 0), moves(1, 0, 0) .. "x", wire.ack(1), "", false } do
      assert.equal(0, select("#", p.post:moves(p.subscriber, message)))
    end
    assert.equal(0, select("#", p.post:moves(99, moves(1, 0, 0))))
    assert.equal(0, select("#", p.post:moves(p.subscriber, reference.moves(8, 1, 2, { 1, 0, 0 }, 1, 2, false))))
    assert.equal(0, select("#", p.post:moves(p.subscriber, reference.moves(7, 1, 3, { 1, 0, 0, 0 }, 1, 2, false))))
    assert.same({ 5, 6 }, { p.space:position(1) })
    assert.same({ 0, 0, false, 2 }, { p.post:state(p.subscriber) })
    assert.same({ 0, 0, false, 0 }, { p.post:state(other) })
    assert.same({ 2, 2 }, { select(5, p.post:counters()) })
    p.post:unlink(p.link)
    assert.equal(0, select("#", p.post:moves(p.subscriber, moves(1, 0, 0))))
    p.post:link(p.subscriber, p.space, 7)
    p.space:close()
    assert.equal(0, select("#", p.post:moves(p.subscriber, moves(1, 0, 0))))
  end)

  it("that had nothing to tell in one space does not begin again in another", function()
    local p = posted()
    local other = aoi.new { delivery = "deferred" }
    local told = 0
    local function tick(space)
      p.post:collect(space)
      told = told + p.post:send(function() return true end, print)
      return select(2, p.post:counters())
    end
    other:enter(5, 0, 0)
    other:add_node(5, p.post:add(p.post:link(p.subscriber, other, 8), 5, 1), 10)
    p.post:ack(p.subscriber, 0, true)
    assert.equal(1, tick(other))
    p.post:collect(p.space)
    p.space:enter(2, 1, 0) -- its whole view waits for the next tick
    p.post:send(error, error)
    other:enter(6, 1, 0)
    assert.equal(1, tick(other))
    assert.equal(2, tick(p.space))
    assert.equal(3, told)
  end)
  it("sends nothing of a link that ends between its events and their message", function()
    for ends = 1, 3 do
      local post, links, handles = wire.post(32, 1000000), {}, {}
      local subscriber = post:subscribe(99)
      for i = 1, 3 do
        local space = aoi.new { delivery = "deferred" }
        space:enter(1, 0, 0)
        space:enter(2, 1, 0)
        links[i] = post:link(subscriber, space, 7)
        handles[i] = post:add(links[i], 1, 1)
        space:add_node(1, handles[i], 10)
        post:collect(space)
      end
      post:unlink(links[ends])
      local reader, list = inbox_reader(table.unpack(handles)), nil
      post:send(function(_, message)
        assert.is_nil(list)
        list = reader:read(message)
        return true
      end, error)
      table.remove(handles, ends)
      assert.same({ { "+", handles[1], 2 }, { "+", handles[2], 2 } }, list)
      assert.equal(0, post:send(error, error))
    end
  end)
end)

describe("the wire format", function()
  it("has these bytes in all kinds but EVENTS, which the reference reads and writes", function()
    local outbox = wire.outbox(2, 7)
    outbox:move(9, 1.5, -2)
    assert.equal("02 02 01 02 07 00 00 00 01 00 00 00 01 00 00 00 09 00 "
      .. "00 00 00 00 00 00 f8 3f 00 00 00 00 00 00 00 c0", hex(outbox:take(true)))
    outbox = wire.outbox(3, 7)
    outbox:move(2 ^ 40, 0, 0, 1)
    assert.equal("02 02 02 08 07 00 00 00 01 00 00 00 01 00 00 00 00 00 00 00 00 01 00 00 "
      .. ("00 "):rep(16) .. "00 00 00 00 00 00 f0 3f", hex(outbox:take(false)))
    assert.equal("02 03 00 00 07 00 00 00 7b 69 01 00 00 00 00 00 00 00 69 0a 00 00 00 00 00 00 00 7d",
      hex(wire.say(wire.REFUSED, 7, { 10 })))
    assert.equal("02 04 01 00 05 00 00 00", hex(wire.ack(5, wire.LOST)))
    assert.equal("02 04 02 00 05 00 00 00", hex(wire.ack(5, wire.OF_PACKETS)))
    assert.equal("02 05 00 00 05 00 00 00", hex(wire.ping(5)))
    assert.equal("02 06 00 00 05 00 00 00", hex(wire.bye(5)))
    assert.equal("02 07 01 00 05 00 00 00", hex(wire.packets(5, true)))
    assert.equal("07 00 00 00 09 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 02 00 00 00 61 62",
      hex(wire.packet(7, 9, 3, "ab")))
    assert.equal("02 08 01 00 07 00 00 00 64 00 00 00 7b",
      hex(wire.renumbered(wire.broadcast(7, 9, { 4 }, { 5 }, "a"), 100, true)):sub(1, 38))
    assert.equal("02 0e 01 00 07 00 00 00 64 00 00 00 7b",
      hex(wire.renumbered(wire.crossed(7, { 4, 9, 0.5 }), 100, true)):sub(1, 38))
    assert.equal("02 04 04 00 64 00 00 00", hex(wire.ack(100, wire.OF_BROADCASTS)))
    assert.equal("02 0a 00 00 00 00 00 00", hex(wire.gone()))
  end)

  it("is read as it is in the table", function()
    for _, width in ipairs { 2, 4, 8 } do
      local message, far = sample(width), FAR[width]
      assert.same({ wire.EVENTS, wire.ASK, 99 }, { wire.head(message) })
      local reader = inbox_reader(1, 2, 4, 5)
      assert.same({ { "+", 5, 8 } }, reader:read(reference.events(1, false, { { handle = 5, enters = { 8 } } })))
      local expected = { { "+", 1, 6 }, { "+", 1, 7 }, { "+", 2, far }, { wire.OPENED, 8, 101, far, 3 } }
      for id = 1, 11 do expected[#expected + 1] = { "+", 3, id } end
      table.move({
        { "+", 4, far, -1, 0.5, -1e300, 3 }, { wire.RESYNCED, 8, 0, 0, 0 }, { "-", 5, 8 }, { wire.CLOSED, 5, 0, 0, 0 },
      }, 1, 4, #expected + 1, expected)
      local list = reader:read(message)
      assert.same(expected, list)
      assert.equal("integer", math.type(list[16][4]), "a kind")
      assert.equal("float", math.type(list[16][7]), "a coordinate")
    end
  end)

  it("carries groups of any length", function()
    for _, n in ipairs { 1, 63, 64, 65, 128, 255, 256, 1000, 70000 } do
      local p, expected = posted(), {}
      local rows = {}
      for i = 1, n do
        local id = 3 * i - 50000
        if id == 1 then id = 4 * n end
        rows[3 * i - 2], rows[3 * i - 1], rows[3 * i] = id, 0, 0
        expected[id] = true
      end
      p.space:enter_many(rows)
      local message = p.tick()
      local records, seq, ask = reference.read_events(message)
      assert.same({ 1, 1, false }, { #records, seq, ask })
      assert.equal(n, #records[1].enters)
      local reader = inbox_reader(p.handle)
      local list = reader:read(message)
      assert.equal(n, #list)
      for _, entry in ipairs(list) do
        if entry[1] ~= "+" or not expected[entry[3]] then error("wrong id " .. entry[3]) end
        expected[entry[3]] = nil
      end
      assert.is_nil(next(expected))
      assert.equal(n, reader.inbox:view(p.handle, {}))
      p.space:move(1, 1000, 0)
      assert.equal(n, #reader:read(p.tick()))
      assert.equal(0, reader.inbox:view(p.handle, {}))
    end
  end)

  it("carries moves of any number, to the bit", function()
    for dimensions = 2, 3 do
      for _, n in ipairs { 0, 1, 2, 7, 8, 9, 63, 64, 65, 129 } do
        for _, width in ipairs { 2, 4, 8 } do
          local rows, outbox = {}, wire.outbox(dimensions, 4)
          local move = outbox:mover()
          for i = 1, n do
            local at = #rows
            rows[at + 1] = width == 8 and math.mininteger + i or width == 4 and 32767 + i or 32768 - i
            for axis = 1, dimensions do rows[at + 1 + axis] = axis == 1 and 0.1 * i or -2 ^ 50 / i end
            move(nil, table.unpack(rows, at + 1, at + 1 + dimensions))
          end
          assert.equal(n, (outbox:count()))
          local message = outbox:take(false)
          assert.same({ 0, 1, n }, { outbox:count() })
          assert.same({ wire.MOVES, dimensions == 3 and wire.Z or 0, 4 }, { wire.head(message) })
          assert.same({ rows, n, 1, dimensions, 4, false }, { reference.read_moves(message) })
          if n > 0 then assert.equal(reference.moves(4, 1, dimensions, rows, n, width, false), message) end
          outbox:rows(rows, n)
          if n > 0 then assert.equal(reference.moves(4, 2, dimensions, rows, n, width, true), outbox:take(true)) end
        end
      end
    end
  end)

  it("applies moves, and passes over what cannot be made", function()
    local space, refused = aoi.new { delivery = "deferred" }, {}
    for id = 1, 3 do space:enter(id, 0, 0) end
    local function moves(...) return reference.moves(1, 6, 2, { ... }, math.floor(select("#", ...) / 3), 4, false) end
    assert.same({ 2, 0, 6 }, { wire.apply(space, moves(1, 5, 6, 2, 7, 8), refused) })
    assert.same({ 1, 3, 6 }, { wire.apply(space, moves(9, 1, 1, 3, 4, 4, 1, 0 / 0, 0, 2, 1 / 0, 1), refused) })
    assert.same({ 9, 1, 2 }, refused)
    assert.same({ 5, 6, 7, 8, 4, 4 }, { space:position(1), select(2, space:position(1)), space:position(2),
      select(2, space:position(2)), space:position(3) })
    assert.same({ nil, "wrong length" }, { wire.apply(space, moves(1, 5, 6):sub(1, -2), refused) })
    assert.same({ nil, "wrong length" }, { wire.apply(space, moves(1, 5, 6) .. "x", refused) })
    assert.same({ nil, "wrong dimensions" },
      { wire.apply(space, reference.moves(1, 1, 3, { 1, 2, 3, 4 }, 1, 2, false), refused) })
    assert.same({ nil, "not a message of moves" }, { wire.apply(space, wire.ack(1), refused) })
    assert.error_matches(function() wire.apply(aoi.new(), moves(1, 5, 6), refused) end, "deferred")
    assert.error_matches(function() wire.apply(space, moves(1, 5, 6)) end, "table expected")
    space:close()
    assert.error_matches(function() wire.apply(space, moves(1, 5, 6), refused) end, "closed space")
  end)

  it("carries tables", function()
    local said = { 9, math.mininteger, false, 7, epoch = 5, deep = { { [-1] = "a\0", [0.5] = true } } }
    local message = wire.say(wire.ROUTES, 3, said)
    assert.same({ wire.ROUTES, 0, 3 }, { wire.head(message) })
    assert.same(said, wire.read(message))
    assert.same(said, wire.read(message, 2))
    for n = 8, #message - 1 do assert.same({ nil, "no table" }, { wire.read(message:sub(1, n)) }) end
    assert.same({ nil, "no table" }, { wire.read(message .. "t") })
    assert.same({ nil, "no rows of 3" }, { wire.read(message, 3) })
    assert.same({ nil, "no rows of 1" }, { wire.read(wire.say(wire.ROUTES, 3, {}), 1) })
    assert.same({ nil, "no integer" }, { wire.read(wire.say(wire.ROUTES, 3, { 1, "2" }), 1) })
  end)

  it("carries crossings", function()
    local list = { 4, math.mininteger, 0.5, 5, 9, 2 ^ -20 }
    local message = wire.renumbered(wire.crossed(7, list), 2 ^ 32 - 1, true)
    assert.same({ wire.CROSSED, wire.ASK, 7 }, { wire.head(message) })
    assert.same({ list, 2 ^ 32 - 1 }, { wire.read_crossed(message) })
    for n = 12, #message - 1 do assert.same({ nil, "no table" }, { wire.read_crossed(message:sub(1, n)) }) end
    for _, bad in ipairs { {}, { 1 }, { 1, 2 }, { 1, 2, 3 }, { 1, 2.5, 0.5 }, { "x", 2, 0.5 }, { 1, 2, 0.5, 4 } } do
      assert.same({ nil, "no crossings" }, { wire.read_crossed(wire.crossed(7, bad)) })
    end
  end)

  it("carries packets and broadcasts", function()
    local list = {}
    local message = wire.packets(1, false) .. wire.packet(3, -5, nil, "") .. wire.packet(4, 6, 77, ("x"):rep(1000))
    assert.equal(2, wire.read_packets(message, list))
    assert.same({ 3, -5, false, "", 4, 6, 77, ("x"):rep(1000) }, list)
    for n = 9, #message - 1 do
      if n ~= 32 then assert.is_nil((wire.read_packets(message:sub(1, n), {})), n) end
    end
    local broadcast = wire.renumbered(wire.broadcast(3, -9, { 1, 2 }, { 3 }, "hello"), 2 ^ 32 - 1, false)
    assert.same({ { target = -9, handles = { 1, 2 }, ids = { 3 }, bytes = "hello" }, 2 ^ 32 - 1 },
      { wire.read_broadcast(broadcast) })
    for n = 12, #broadcast - 1 do assert.is_nil((wire.read_broadcast(broadcast:sub(1, n)))) end
    assert.is_nil((wire.read_broadcast(broadcast:sub(1, 12) .. "{}")))
  end)
end)

describe("the readers of the wire format", function()
  it("say what is wrong", function()
    local function reason(s)
      local kind, why = wire.head(s)
      assert.is_nil(kind)
      return why
    end
    assert.matches("string", reason(nil))
    assert.matches("string", reason(12))
    assert.matches("short", reason "")
    assert.matches("short", reason "\2\1\0")
    assert.matches("version 1", reason "\1\1\0\0\0\0\0\0\0\0")
    assert.matches("kind 15", reason "\2\15\0\0\0\0\0\0")
    assert.matches("kind 0", reason "\2\0\0\0\0\0\0\0")
    assert.matches("flags 2", reason "\2\1\2\0\0\0\0\0")
    assert.matches("width of ids 3", reason(("\2\2\0\3"):rep(5)))
    assert.matches("width of ids 0", reason(("\2\2\0\0"):rep(5)))
    assert.matches("width of ids 4", reason "\2\4\0\4\0\0\0\0")
    assert.matches("length", reason "\2\1\0\0\0\0\0")
    assert.matches("length", reason "\2\4\0\0\0\0\0")
    assert.matches("length", reason "\2\4\0\0\0\0\0\0\0")
    for message, least in pairs {
      [reference.moves(1, 2, 2, { 1, 2, 3 }, 1, 2, true)] = 16, [wire.broadcast(1, 2, {}, {}, "ab")] = 12,
      [wire.say(wire.TAKEN, 1, { 2 })] = 8,
    } do
      assert.matches("length", reason(message:sub(1, least - 1)))
      assert.is_number((wire.head(message:sub(1, least))))
    end
  end)

  it("refuse EVENTS with impossible contents", function()
    local function message(...) return string.pack("<BBBBI4", 2, 1, 0, 0, 1) .. table.concat { ... } end
    local function reason(...)
      local reader = inbox_reader(1)
      local list, why = reader:read(message(...))
      assert.is_nil(list)
      assert.equal(0, reader.inbox:view(1, {}), "nothing has changed")
      return why
    end
    local function group(flags, leaves, enters)
      return string.pack(flags % 16 >= 8 and "<I4BI4I4" or "<I4BBB", 1, flags, leaves, enters)
    end
    local one = string.pack("<I4BBBi2", 1, 0, 0, 1, 5) -- sound, and not applied if what follows is not
    local function resync(groups) return string.pack("<I4I4I4I4", 0, 5, groups, 0) end
    assert.same({}, inbox_reader(1):read(message()))
    assert.same({ { wire.RESYNCED, 5, 0, 0, 0 } }, inbox_reader(1):read(message(resync(0))))
    assert.matches("record cut", reason "\0")
    assert.matches("record cut", reason(one, "\0\0\0\0\0\0"))
    assert.matches("group flags", reason(one, group(48, 0, 0)))
    assert.matches("group flags", reason(one, group(192, 0, 0)))
    assert.matches("whole", reason(one, group(4, 1, 0), "\0\0\0\0"))
    assert.matches("group cut", reason(one, group(8, 0, 0):sub(1, 12)))
    assert.matches("group cut", reason(one, group(8, 0xffffffff, 0xffffffff)))
    assert.matches("group cut", reason(one, group(8 + 32, 0, 0xffffffff), ("\0"):rep(40)))
    assert.matches("group cut", reason(one, group(64 + 1, 0, 0), ("\0"):rep(11)))
    assert.matches("group cut", reason(one, group(64, 1, 1), ("\0"):rep(7)))
    assert.matches("group cut", reason(one, group(16, 0, 1), ("\0"):rep(25)))
    assert.matches("resync cut", reason(one, resync(0):sub(1, 15)))
    assert.matches("resync cut", reason(one, resync(1)))
    assert.matches("resync cut", reason(resync(0xffffffff), group(0, 0, 0)))
    assert.matches("inside another", reason(resync(2), group(0, 0, 0), resync(0)))
  end)

  it("refuse every beginning of a message that ends inside a record", function()
    local function is_sound(s)
      local list, why = inbox_reader():read(s)
      assert.equal(list == nil, type(why) == "string")
      return list ~= nil
    end
    for _, width in ipairs { 2, 4, 8 } do
      local s = sample(width)
      local sound = 0
      for n = 0, #s - 1 do sound = sound + (is_sound(s:sub(1, n)) and 1 or 0) end
      assert.equal(4, sound, "after the head, after a group each, but not inside the resync")
      assert.is_true(is_sound(s))
      assert.is_false(is_sound(s .. "\0"))
    end
  end)
end)

describe("the views of an inbox", function()
  it("end with their map, one by one", function()
    local reader = inbox_reader(1, 2)
    local inbox = reader.inbox
    reader:open(3, 9)
    reader:read(reference.events(1, false, { { handle = 1, enters = { 5 } }, { handle = 3, enters = { 5 } } }))
    for handle = 1, 2 do inbox:close(handle) end
    assert.equal(1, (inbox:count()))
    assert.is_false(inbox:sees(1, 5))
    assert.is_true(inbox:sees(3, 5))
    assert.error_matches(function() inbox:open(3, 9, 1, 1) end, "taken")
    assert.same({}, reader:read(reference.events(1, false, { { handle = 1, enters = { 5 } } })))
  end)

  it("end in the middle of a message, and another node takes their place", function()
    local reader = inbox_reader(1, 2)
    local inbox = reader.inbox
    reader:read(reference.events(1, false, {
      { handle = 1, enters = { 5 } },
      { handle = 1, close = true },
      { handle = 3, open = { 7, 100, 1 }, enters = { 6 } },
      { handle = 1, enters = { 8 } },
      { handle = 3, enters = { 9 } },
    }))
    inbox:open(4, 7, 1, 1)
    local ids = {}
    assert.equal(2, inbox:view(3, ids))
    assert.same({ 6, 9 }, ids)
    assert.equal(0, inbox:view(1, ids))
    assert.equal(3, (inbox:count()))
  end)

  it("hold the handlers of their nodes until these end", function()
    local reader = inbox_reader(1, 2, 3)
    local inbox = reader.inbox
    reader:open(4, 8)
    local kept = setmetatable({}, { __mode = "v" })
    for handle = 1, 4 do
      kept[handle] = { enter = print }
      inbox:handlers(handle, kept[handle])
    end
    inbox:handlers(5, { enter = print }) -- of nobody
    reader:read(reference.events(1, false, { { handle = 1, close = true } }))
    reader:read(reference.events(2, false, { { resync = 7, groups = 1 }, { handle = 3, whole = true } }))
    collectgarbage()
    assert.same({ false, false, true, true }, { kept[1] ~= nil, kept[2] ~= nil, kept[3] ~= nil, kept[4] ~= nil })
    inbox:close(3)
    collectgarbage()
    assert.same({ false, true }, { kept[3] ~= nil, kept[4] ~= nil })
    assert.error_matches(function() inbox:handlers(4) end, "table expected")
  end)
end)
