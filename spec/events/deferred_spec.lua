-- Deferred delivery: flush and drain.
local aoi = require "aoi"
local fixture = require "spec.support.fixture"

for setup in fixture.deferred() do
  describe("deferred delivery on " .. setup.name, function()
    local w, space
    before_each(function()
      w = setup.new()
      space = w.space
      w:enter(1, w:at(0))
      w:watch(1, 7, 5)
    end)

    it("calls nobody before the flush", function()
      w:enter(2, w:at(1))
      w:enter(3, w:at(1))
      space:leave(3)
      assert.same({}, w.heard)
      assert.equal(1, space:stats().pending)
      assert.is_true(space:sees(1, 7, 2))
      space:flush()
      assert.same({ "+1/7>2" }, w.heard)
      assert.equal(0, space:stats().pending)
    end)

    it("flush returns the number of events", function()
      assert.equal(0, space:flush())
      for id = 2, 6 do w:enter(id, w:at(1)) end
      assert.equal(5, space:flush())
      assert.equal(0, space:flush())
      space:leave(1)
      assert.equal(5, space:flush())
      assert.equal(10, space:stats().events)
    end)

    it("flush delivers what its handlers cause, too", function()
      w:enter(10, w:at(100))
      space:add_node(10, 1, 5, function(_, target)
        if target < 5 then w:enter(target + 1, w:at(101)) end
      end)
      w:enter(2, w:at(101))
      assert.equal(4, space:flush())
      assert.is_true(space:has(5))
      assert.equal(0, space:stats().pending)
    end)

    it("drain fills an array raw, whatever its metatable says", function()
      w:enter(2, w:at(1))
      local buf = setmetatable({}, { __index = error, __newindex = error })
      assert.equal(1, select(2, space:drain(buf)))
      assert.same({ aoi.ENTER, 1, 2, 7 }, { rawget(buf, 1), rawget(buf, 2), rawget(buf, 3), rawget(buf, 4) })
    end)

    it("drain fills an array with four values an event", function()
      local buf = { "x", "x", "x", "x", "x", "x", "x", "x", "untouched" }
      w:enter(2, w:at(1))
      local list, n = space:drain(buf)
      assert.equal(buf, list)
      assert.equal(1, n)
      assert.same({ aoi.ENTER, 1, 2, 7 }, { buf[1], buf[2], buf[3], buf[4] })
      assert.equal("untouched", buf[9])
      space:leave(2)
      w:enter(3, w:at(2))
      list, n = space:drain(buf)
      assert.equal(buf, list)
      assert.equal(2, n)
      local events = { (table.unpack or unpack)(buf, 1, 8) } -- luacheck: ignore
      assert.same({ aoi.LEAVE, 1, 2, 7, aoi.ENTER, 1, 3, 7 }, events)
      assert.same({}, w.heard, "nobody was called")
      list, n = space:drain(buf)
      assert.equal(buf, list)
      assert.equal(0, n)
      assert.equal(3, space:stats().events)
      assert.equal(0, space:stats().pending)
    end)

    it("drain serves nodes with and without handlers", function()
      space:add_node(1, 8, 5)
      space:add_node(1, 9, 5, nil, w.on_leave)
      space:add_node(1, 10, 5, {})
      w:enter(2, w:at(1))
      local buf, n = space:drain {}
      assert.equal(4, n)
      local nodes = {}
      for i = 4, 4 * n, 4 do nodes[#nodes + 1] = buf[i] end
      table.sort(nodes)
      assert.same({ 7, 8, 9, 10 }, nodes)
    end)

    it("drain leaves nothing for flush, and flush nothing for drain", function()
      w:enter(2, w:at(1))
      space:drain {}
      assert.equal(0, space:flush())
      w:enter(3, w:at(1))
      space:flush()
      assert.equal(0, select(2, space:drain {}))
      assert.same({ "+1/7>3" }, w.heard)
    end)

    it("holds events for as long as it takes", function()
      for id = 2, 300 do w:enter(id, w:at(1)) end
      for id = 2, 300 do w:move(id, w:at(id % 7)) end
      for id = 2, 300, 2 do space:leave(id) end
      local _, n = space:drain {}
      local _, seen = space:view(1, 7)
      assert.equal(seen, n)
    end)
  end)
end

for setup in fixture.immediate() do
  describe("a deferred space on " .. setup.name, function()
    local function scene()
      local w = setup.new { delivery = "deferred" }
      w:enter(1, w:at(0))
      w.space:add_node(1, 10, 10)
      w:enter(2, w:at(500))
      w:enter(10, w:at(100))
      w.space:add_node(10, 10, 10)
      w:enter(11, w:at(100))
      w:enter(12, w:at(300))
      w.space:drain {}
      return w
    end

    it("has all leaves before all enters, whatever calls and batches they come from", function()
      local w = scene()
      w:move(2, w:at(5))
      w.space:move_many(w:flat { { 12, w:at(101) }, { 11, w:at(900) } })
      local events, n = w.space:drain {}
      assert.equal(3, n)
      assert.same({ aoi.LEAVE, aoi.ENTER, aoi.ENTER }, { events[1], events[5], events[9] })
    end)

    it("looks once: a margin holds on to what was seen at the last delivery, not in between", function()
      local w = scene()
      w.space:add_node(1, 11, { radius = 10, keep = 20 })
      w:move(2, w:at(15))
      w.space:drain {}
      w:move(2, w:at(5))
      w:move(2, w:at(15)) -- was inside, and nobody looked
      assert.is_false(w.space:sees(1, 11, 2))
      w:move(2, w:at(5))
      w.space:drain {}
      w:move(2, w:at(500))
      w.space:set_kind(2, 1) -- has the move judged
      w:move(2, w:at(15)) -- was outside, but not at a delivery
      assert.is_true(w.space:sees(1, 11, 2))
      local events, n = w.space:drain {}
      for i = 1, 4 * n, 4 do assert.are_not.equal(11, events[i + 3]) end
      assert.is_true(w.space:check())
    end)

    it("holds on, with `outside`, to what it held as the last delivery ended, by what handlers did, too", function()
      local space, heard = aoi.new { delivery = "deferred" }, {}
      local function hear(kind) return function(_, target) heard[#heard + 1] = kind .. target end end
      space:enter(1, 0, 0)
      space:enter(2, 500, 0)
      space:add_node(1, 1, { radius = 10, margin = 10, outside = true }, hear "+", hear "-")
      space:add_node(1, 2, 100, function() space:move(2, 5, 0) end)
      space:flush()
      space:enter(3, 50, 0) -- the handler takes 2 into the area
      space:flush()
      space:move(2, 15, 0) -- between its borders
      space:flush()
      assert.same({ "+2", "+3", "-2" }, heard)
      assert.is_true(space:check())
    end)

    it("does not look for a drain that is refused", function()
      local w = scene()
      w.space:add_node(1, 11, { radius = 10, keep = 20 })
      w:move(2, w:at(5))
      local before = w.space:save()
      assert.has_error(function() w.space:drain(1) end, "bad argument #1 to 'drain' (table expected, got number)")
      assert.equal(before, w.space:save())
      w:move(2, w:at(15))
      assert.is_false(w.space:sees(1, 11, 2))
    end)

    it("counts moves that are still to be looked at as pending", function()
      local w = scene()
      assert.equal(0, w.space:stats().pending)
      w:move(12, w:at(301))
      assert.equal(1, w.space:stats().pending)
      assert.equal(0, select(2, w.space:drain {}))
      assert.equal(0, w.space:stats().pending)
    end)
  end)

  describe("immediate delivery on " .. setup.name, function()
    it("drops the events of nodes without a handler", function()
      local w = setup.new()
      w:enter(1, w:at(0))
      w.space:add_node(1, 7, 5)
      w.space:add_node(1, 8, 5, {})
      w:enter(2, w:at(1))
      assert.equal(0, w.space:stats().pending)
      assert.equal(0, select(2, w.space:drain {}))
      assert.equal(0, w.space:flush())
      assert.is_true(w.space:sees(1, 7, 2))
    end)

    it("has nothing to flush or drain", function()
      local w = setup.new()
      w:enter(1, w:at(0))
      w:watch(1, 7, 5)
      w:enter(2, w:at(1))
      assert.equal(0, w.space:flush())
      assert.equal(0, select(2, w.space:drain {}))
      assert.same({ "+1/7>2" }, w.heard)
      assert.equal(1, w.space:stats().events)
    end)
  end)
end
