-- The wire format, byte by byte; the readers accept or refuse any input without an error.
if not string.pack then
  describe("the wire format", function() pending("needs Lua 5.3 or later: string.pack") end)
  return
end

local wire = require "aoi.skynet.wire"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local function hex(s)
  return (s:gsub(".", function(c) return ("%02x "):format(c:byte()) end):sub(1, -2))
end

local function events(message)
  local list = {}
  local n, reason = wire.read_events(message, list)
  if not n then return nil, reason end
  for i = n + 1, #list do list[i] = nil end
  return list
end

-- A message with a record of each sort.
local function sample(width)
  local w = wire.writer()
  w:reset(width)
  local far = ({ [2] = -32768, [4] = 2147483647, [8] = math.mininteger })[width]
  w:group(1, 0, { space = 7, watcher = 100, node = 1 }, { 5, 6, 7 }, 1, 2)
  w:group(2, 0, nil, { far }, 0, 1)
  w:resync(8, 2)
  w:group(3, wire.WHOLE, { space = 8, watcher = 101, node = far }, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, 0, 11)
  w:group(4, 0, nil, {}, 0, 0)
  w:group(5, wire.CLOSE, nil, { 8 }, 1, 0)
  return w:finish(99, true), far
end

describe("the wire format", function()
  it("has these bytes in EVENTS", function()
    local w = wire.writer()
    w:reset(4)
    w:group(1, 0, { space = 7, watcher = 100, node = 2 }, { 5, -1 }, 1, 1)
    assert.equal(
      "01 01 01 04 " .. "63 00 00 00 "                        -- version, kind, flags, width; seq
      .. "01 00 00 00 " .. "01 " .. "01 " .. "01 "            -- handle, flags, leaves, enters
      .. "07 00 00 00 " .. "64 00 00 00 " .. "02 00 00 00 "   -- space, watcher, node
      .. "05 00 00 00 " .. "ff ff ff ff", hex(w:finish(99, true)))
    w:reset(8)
    w:resync(7, 1)
    w:group(2, wire.CLOSE, nil, { 3 }, 1, 0)
    assert.equal(
      "01 01 00 08 " .. "64 00 00 00 "
      .. "00 00 00 00 " .. "07 00 00 00 " .. "01 00 00 00 "   -- resync: 0, space, groups
      .. "02 00 00 00 " .. "02 " .. "01 " .. "00 "
      .. "03 00 00 00 00 00 00 00", hex(w:finish(100, false)))
    local ids = {}
    for i = 1, 256 do ids[i] = i end
    w:reset(2)
    w:group(9, wire.WHOLE, nil, ids, 0, 256)
    assert.equal(
      "01 01 00 02 " .. "00 00 00 00 "
      .. "09 00 00 00 " .. "0c " .. "00 00 00 00 " .. "00 01 00 00 "   -- long
      .. "01 00 02 00", hex(w:finish(0, false):sub(1, 25)))
  end)

  it("has these bytes in the other kinds", function()
    assert.equal("01 02 01 04 07 00 00 00 03 00 00 00 01 00 00 00 09 00 00 00 "
      .. "00 00 00 00 00 00 f8 3f 00 00 00 00 00 00 00 c0", hex(wire.moves(7, 3, 2, { 9, 1.5, -2 }, 1, 4, true)))
    assert.equal("01 02 02 08 07 00 00 00 03 00 00 00 01 00 00 00 09 00 00 00 00 00 00 00 "
      .. ("00 "):rep(16) .. "00 00 00 00 00 00 f0 3f", hex(wire.moves(7, 3, 3, { 9, 0, 0, 1 }, 1, 8, false)))
    assert.equal("01 03 00 02 07 00 00 00 03 00 00 00 02 00 00 00 0a 00 0b 00", hex(wire.refused(7, 3, { 10, 11 }, 2)))
    assert.equal("01 04 01 00 05 00 00 00", hex(wire.ack(5, true)))
    assert.equal("01 05 00 00 05 00 00 00", hex(wire.ping(5)))
    assert.equal("01 06 00 00 05 00 00 00", hex(wire.bye(5)))
  end)

  it("reads what it wrote", function()
    for _, width in ipairs { 2, 4, 8 } do
      local message, far = sample(width)
      assert.same({ wire.EVENTS, wire.ASK, 99 }, { wire.head(message) })
      assert.same({
        1, wire.OPEN, 7, 100, 1, 1, 2, 5, 6, 7,
        2, 0, 0, 0, 0, 0, 1, far,
        0, 8, 2,
        3, wire.OPEN + wire.WHOLE, 8, 101, far, 0, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
        4, 0, 0, 0, 0, 0, 0,
        5, wire.CLOSE, 0, 0, 0, 1, 0, 8,
      }, events(message))
    end
  end)

  it("carries groups of any length", function()
    for _, n in ipairs { 0, 1, 63, 64, 65, 128, 255, 256, 1000, 70000 } do
      local ids = {}
      for i = 1, n do ids[i] = 3 * i - 50000 end
      for leaves = 0, n, math.max(n, 1) do
        local w = wire.writer()
        w:reset(4)
        w:group(5, 0, nil, ids, leaves, n - leaves)
        w:group(6, 0, { space = 3, watcher = 1, node = 2 }, ids, leaves, n - leaves)
        local size = w.size
        local message = w:finish(1, false)
        assert.equal(#message, size)
        local list = events(message)
        local long = (leaves > 255 or n - leaves > 255) and wire.LONG or 0
        assert.same({ 5, long, 0, 0, 0, leaves, n - leaves }, { table.unpack(list, 1, 7) })
        assert.same({ 6, wire.OPEN + long, 3, 1, 2, leaves, n - leaves }, { table.unpack(list, 8 + n, 14 + n) })
        assert.equal(14 + 2 * n, #list)
        for i = 1, n do
          if list[7 + i] ~= ids[i] or list[14 + n + i] ~= ids[i] then error("wrong id " .. i) end
        end
      end
    end
  end)

  it("carries moves of any number, to the bit", function()
    for dimensions = 2, 3 do
      for _, n in ipairs { 0, 1, 2, 63, 64, 65, 129 } do
        for _, width in ipairs { 2, 4, 8 } do
          local rows = {}
          for i = 1, n do
            rows[#rows + 1] = width == 8 and math.mininteger + i or -i
            for axis = 1, dimensions do rows[#rows + 1] = axis == 1 and 0.1 * i or -1e300 / i end
          end
          local list = {}
          local message = wire.moves(4, 5, dimensions, rows, n, width, false)
          assert.same({ wire.MOVES, dimensions == 3 and wire.Z or 0, 4 }, { wire.head(message) })
          assert.same({ n, 5, dimensions }, { wire.read_moves(message, list) })
          assert.same(rows, { table.unpack(list, 1, #rows) })
        end
      end
    end
  end)

  it("widens REFUSED by itself", function()
    local list = {}
    for _, id in ipairs { 32767, -32768, 32768, -32769, 2147483648, -2147483649, math.mininteger } do
      assert.same({ 2, 9 }, { wire.read_refused(wire.refused(1, 9, { id, 1 }, 2), list) })
      assert.same({ id, 1 }, list)
    end
  end)

  it("knows how many bytes an id needs", function()
    for id, width in pairs { [32767] = 2, [-32768] = 2, [32768] = 4, [-32769] = 4, [2147483647] = 4, [-2147483648] = 4,
                             [2147483648] = 8, [-2147483649] = 8, [math.maxinteger] = 8 } do
      assert.equal(width, wire.width(id))
      assert.equal(8, wire.width(id, 8))
      assert.equal(math.max(4, width), wire.width(id, 4))
    end
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
    assert.matches("version 2", reason "\2\1\0\0\0\0\0\0\0\0")
    assert.matches("kind 7", reason "\1\7\0\0\0\0\0\0")
    assert.matches("flags 2", reason "\1\1\2\2\0\0\0\0")
    assert.matches("width of ids 3", reason "\1\1\0\3\0\0\0\0")
    assert.matches("width of ids 0", reason "\1\1\0\0\0\0\0\0")
    assert.matches("width of ids 4", reason "\1\4\0\4\0\0\0\0")
    assert.matches("length", reason "\1\1\0\4\0\0\0")
    assert.matches("length", reason "\1\4\0\0\0\0\0")
    assert.matches("length", reason "\1\4\0\0\0\0\0\0\0")
  end)

  it("refuse EVENTS with impossible contents", function()
    local function message(...)
      return string.pack("<BBBBI4", 1, 1, 0, 4, 1) .. table.concat { ... }
    end
    local function reason(...)
      local list, why = events(message(...))
      assert.is_nil(list)
      return why
    end
    local function group(flags, leaves, enters)
      return string.pack(flags == wire.LONG and "<I4BI4I4" or "<I4BBB", 1, flags, leaves, enters)
    end
    local function resync(groups) return string.pack("<I4I4I4", 0, 5, groups) end
    assert.same({}, events(message()))
    assert.same({ 0, 5, 0 }, events(message(resync(0))))
    assert.matches("record cut", reason "\0")
    assert.matches("record cut", reason(group(0, 0, 0), "\0\0\0\0\0\0"))
    assert.matches("group flags 16", reason(group(16, 0, 0)))
    assert.matches("whole", reason(group(wire.WHOLE, 1, 0), "\0\0\0\0"))
    assert.matches("group cut", reason(group(wire.LONG, 0, 0):sub(1, 12)))
    assert.matches("group cut", reason(group(wire.LONG, 0xffffffff, 0xffffffff)))
    assert.matches("group cut", reason(group(wire.OPEN, 0, 0), ("\0"):rep(11)))
    assert.matches("group cut", reason(group(0, 1, 1), ("\0"):rep(7)))
    assert.matches("resync cut", reason(resync(0):sub(1, 11)))
    assert.matches("resync cut", reason(resync(1)))
    assert.matches("resync cut", reason(resync(0xffffffff), group(0, 0, 0)))
    assert.matches("inside another", reason(resync(2), group(0, 0, 0), resync(0)))
  end)

  -- Any bytes: they must return, not raise, and never hand out more than the bytes can hold.
  local function read(s)
    local list = {}
    local kind, why = wire.head(s)
    if not kind then
      assert.is_string(why)
      return false
    end
    local n
    if kind == wire.EVENTS then n, why = wire.read_events(s, list)
    elseif kind == wire.MOVES then n, why = wire.read_moves(s, list)
    elseif kind == wire.REFUSED then n, why = wire.read_refused(s, list)
    else n = 0 end
    if not n then assert.is_string(why) end
    assert.is_true(#list <= 2 * #s)
    return n ~= nil
  end

  local seed = random_run.seed("wire messages")
  it("take any bytes", function()
    local random = rng.new(seed)
    local samples = {
      (sample(2)), (sample(4)), (sample(8)), wire.moves(1, 2, 2, { 1, 2, 3, 4, 5, 6 }, 2, 2, true),
      wire.moves(1, 2, 3, { 1, 2, 3, 4 }, 1, 8, false), wire.refused(1, 2, { 3, 4 }, 2), wire.ack(1, false),
      wire.ping(2), wire.bye(3),
    }
    local function bytes(n)
      local t = {}
      for i = 1, n do t[i] = string.char(random(256) - 1) end
      return table.concat(t)
    end
    local sound, broken, steps = 0, 0, random_run.steps(20000)
    for _ = 1, steps do
      local s = random(samples)
      local what = random(5)
      if what == 1 then
        s = bytes(random(60))
      elseif what == 2 then -- the head of a message, then anything
        s = s:sub(1, random(#s)) .. bytes(random(20) - 1)
      elseif what == 3 then
        s = s:sub(1, random(#s + 1) - 1)
      else -- some bytes changed
        for _ = 1, random(3) do
          local at = random(#s)
          s = s:sub(1, at - 1) .. bytes(1) .. s:sub(at + 1)
        end
      end
      if read(s) then sound = sound + 1 else broken = broken + 1 end
    end
    assert.is_true(steps < 500 or sound > 0 and broken > 0)
  end)

  it("refuse every beginning of a message that ends inside a record", function()
    for _, width in ipairs { 2, 4, 8 } do
      local s = sample(width)
      local sound = 0
      for n = 0, #s - 1 do sound = sound + (read(s:sub(1, n)) and 1 or 0) end
      assert.equal(4, sound, "after the head, after a group each, but not inside the resync")
      assert.is_true(read(s))
      assert.is_false(read(s .. "\0"))
    end
  end)
end)
