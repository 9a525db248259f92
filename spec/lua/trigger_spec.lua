-- Triggers: targets that enter and leave, filters, and simulated time.
local aoi = require "aoi"
local trigger = require "aoi.trigger"
local garbage_of = require "spec.support.garbage"
local trigger_fixture = require "spec.support.trigger_fixture"
local tree = require "spec.support.tree"

local PLAYER, MONSTER = 1, 2

local function noop() end

for _, engine in ipairs(tree.engines) do
  describe("triggers on " .. engine .. ":", function()
    local f = trigger_fixture(engine)
    local recorder, take, crowd, come, go, add, nothing_left =
      f.recorder, f.take, f.crowd, f.come, f.go, f.add, f.nothing_left
    local space, handlers, triggers
    before_each(function() space, handlers, triggers = f.start() end)

    -- Coming and going ---------------------------------------------------------------------------------------------

    it("any subset of handlers will do", function()
      for bits = 0, 15 do
        local names, expected = {}, {}
        for i, event in ipairs { "first", "enter", "leave", "last" } do
          if bits % 2 ^ i >= 2 ^ (i - 1) then
            names[#names + 1] = event
            expected[#expected + 1] = event .. " 2"
          end
        end
        for _, options in ipairs { { radius = 10 }, { radius = 10, limit = 3 } } do
          space:enter(2, 0, 0)
          local t = add(options, names)
          space:leave(2)
          t:remove()
          assert.equal(table.concat(expected, ", "), take())
        end
      end
    end)

    -- Filters ------------------------------------------------------------------------------------------------------

    it("a filter beside the handlers is looked up at each question", function()
      local red = { [2] = true }
      handlers.t = recorder(false, { "first", "enter", "leave", "last" })
      handlers.t.filter = function(id, target, t)
        assert.equal(1, id)
        assert.equal("t", t.name)
        return red[target]
      end
      local t = triggers:add(1, "t", { radius = 10 })
      crowd(3)
      come(2) come(3)
      assert.equal("first 2, enter 2", take())
      handlers.t.filter = function() return true end
      come(4)
      assert.equal("enter 4", take())
      assert.same({ 2, 4 }, (function() local l, n = t:targets() assert(n == 2) table.sort(l) return l end)())
      go(3)
      assert.equal("", take())
      handlers.t.filter = nil
      come(3)
      assert.equal("enter 3", take())
    end)

    it("refresh asks the filter once, of triggers with a second node, too", function()
      local asked
      local function filter()
        asked = asked + 1
        return true
      end
      for _, options in ipairs { {}, { linger = 5 }, { outside = true }, { outside = true, linger = 5 } } do
        options.radius, options.filter, asked = 10, filter, 0
        local t = add(options)
        crowd(1)
        if options.outside then go(2) else come(2) end
        assert.equal("first 2, enter 2", take())
        triggers:refresh(2)
        assert.equal(2, asked)
        if options.outside then come(2) else go(2) end
        triggers:refresh(2)
        assert.equal(options.linger and 3 or 2, asked)
        t:remove()
        space:leave(2)
        take()
      end
    end)

    it("a filter that raises refuses, and one may remove what it asks about", function()
      crowd(4)
      handlers.t = recorder(false, { "enter", "leave" })
      local t
      handlers.t.filter = function(_, target)
        if target == 2 then error("boom", 0) end
        if target == 3 then space:leave(3) end
        if target == 4 then t:remove() end
        return true
      end
      t = triggers:add(1, "t", { radius = 10 })
      assert.has_error(function() come(2) end, "boom")
      come(3)
      assert.equal("", take())
      come(4)
      go(2) go(4)
      assert.equal("", take())
      nothing_left()
    end)

    -- Time ---------------------------------------------------------------------------------------------------------

    it("stay: every interval while inside, exactly", function()
      local t = add({ radius = 10, interval = 2 }, { "enter", "stay", "leave" })
      crowd(1)
      triggers:update(1)
      come(2)
      assert.equal(0, triggers:update(2.5))
      assert.equal(1, triggers:update(3))
      assert.equal("enter 2, stay 2", take())
      assert.equal(0, triggers:update(3))
      assert.equal(0, triggers:update(4.999))
      local times = {}
      handlers.t.stay = function() times[#times + 1] = triggers.time end
      assert.equal(3, triggers:update(9.5))
      assert.same({ 5, 7, 9 }, times)
      assert.equal(9.5, triggers.time)
      go(2)
      assert.equal(0, triggers:update(100))
      assert.equal("leave 2", take())
      assert.equal(0, triggers:stats().timers)
      assert.equal(0, t:count())
    end)

    it("stay does not drift", function()
      handlers.t = { stay = noop }
      triggers:add(1, "t", { radius = 10, interval = 0.1 })
      space:enter(2, 0, 0)
      local n = 0
      for tick = 1, 100 do n = n + triggers:update(tick) end
      assert.equal(1000, n)
    end)

    it("stay and dwell together, in order of time over all triggers", function()
      handlers.a = recorder(true, { "stay", "dwell" })
      handlers.b = recorder(true, { "stay", "dwell" })
      space:enter(2, 0, 0, MONSTER)
      triggers:add(1, "a", { radius = 10, mask = PLAYER, interval = 2, after = 5 })
      triggers:add(2, "b", { radius = 10, mask = PLAYER, interval = 3, after = 1 })
      space:enter(3, 0, 0)
      triggers:update(6.5)
      assert.equal("dwell 2>3, stay 1>3, stay 2>3, stay 1>3, dwell 1>3, ", take():match("^(.*dwell 1>3, )"))
      triggers:update(7)
      assert.equal("", take())
    end)

    it("time starts where the caller says, and never runs backwards", function()
      triggers = f.new_triggers(1e9)
      add({ radius = 10, interval = 1 }, { "stay" })
      space:enter(2, 0, 0)
      assert.equal(1, triggers:update(1e9 + 1))
      assert.has_error(function() triggers:update(1e9) end)
      for _, bad in ipairs { 0 / 0, math.huge, "1", false } do
        assert.has_error(function() triggers:update(bad) end)
      end
      assert.equal(1, triggers:update(1e9 + 2))
    end)

    it("a clock too large for an interval is an error, not an endless loop", function()
      triggers = f.new_triggers(2 ^ 60)
      add({ radius = 10, interval = 0.001 }, { "stay" })
      space:enter(2, 0, 0)
      assert.error_matches(function() triggers:update(2 ^ 60) end, "clock")
      triggers:update(2 ^ 61)
      assert.equal("", take())
    end)

    it("an update inside a handler is part of the outer one", function()
      handlers.t = {}
      local times = {}
      handlers.t.stay = function()
        times[#times + 1] = triggers.time
        if #times == 2 then triggers:update(4.5) end
      end
      triggers:add(1, "t", { radius = 10, interval = 1 })
      space:enter(2, 0, 0)
      triggers:update(3)
      assert.same({ 1, 2, 3, 4 }, times)
      assert.equal(4.5, triggers.time)
    end)
  end)
end

describe("triggers:", function()
  it("thousands of waiting timers cost what fires", function()
    local space, handlers, fired = aoi.new(), {}, 0
    handlers.t = { dwell = function() fired = fired + 1 end }
    local triggers = trigger.new(space, handlers)
    for id = 1, 2000 do
      space:enter(id, id * 100, 0, MONSTER)
      triggers:add(id, "t", { radius = 10, mask = PLAYER, after = id })
      space:enter(-id, id * 100, 0)
    end
    assert.equal(2000, triggers:stats().timers)
    -- What it costs: comparisons, counted through the due times themselves.
    local heap, looked = triggers.timers, 0
    local function record_index(record, key)
      if key == "due" then looked = looked + 1 end
      return record.fields[key]
    end
    for i = 1, heap.n do
      local record = heap.heap[i]
      local fields = {}
      for key, value in pairs(record) do fields[key] = value end
      for key in pairs(fields) do record[key] = nil end
      rawset(record, "fields", fields)
      setmetatable(record, { __index = record_index, __newindex = fields })
    end
    assert.equal(0, triggers:update(0.5))
    assert.is_true(looked <= 2)
    assert.equal(1, triggers:update(1))
    assert.is_true(looked < 200)
    assert.equal(1, fired)
  end)

  it("events that have to wait cost the same however many wait", function()
    if rawget(_G, "jit") then -- compiled code does not count its instructions; what is compiled already goes, too
      jit.off() -- luacheck: ignore
      jit.flush() -- luacheck: ignore
      finally(function() jit.on() end) -- luacheck: ignore
    end

    -- Guards who each hear one target come in. Each event makes two calls that raise, and ends with one: half of the
    -- events wait in the end. Returns the work: instructions, and items that the table library shifts.
    local function work(n)
      local space, handlers, heard = aoi.new(), {}, {}
      local triggers = trigger.new(space, handlers)
      for _, event in ipairs { "first", "enter" } do
        handlers[event] = function(id)
          heard[#heard + 1] = event .. " " .. id
          error("planned", 0)
        end
      end
      handlers.t = { first = handlers.first, enter = handlers.enter }
      for id = 1, n do
        space:enter(id, id * 100, 0, MONSTER)
        triggers:add(id, "t", { radius = 10, mask = PLAYER })
      end
      local count = 0
      local hook, mask, every = debug.gethook()
      local insert, remove = table.insert, table.remove
      table.insert = function(list, ...) -- luacheck: ignore
        if select("#", ...) == 2 then count = count + #list - ... + 1 end
        return insert(list, ...)
      end
      table.remove = function(list, i) -- luacheck: ignore
        if i then count = count + #list - i end
        return remove(list, i)
      end
      debug.sethook(function() count = count + 100 end, "", 100)
      for id = 1, n do pcall(space.enter, space, -id, id * 100, 0) end
      debug.sethook(hook, mask, every)
      table.insert, table.remove = insert, remove -- luacheck: ignore
      assert.equal(n / 2, triggers:stats().late)
      while not pcall(triggers.update, triggers, 0) do noop() end
      for id = 1, n do
        assert.equal("first " .. id, heard[2 * id - 1])
        assert.equal("enter " .. id, heard[2 * id])
      end
      return count
    end
    local some, twice = work(1000), work(2000)
    assert.is_true(twice < 2.5 * some, ("%d for 1000, %d for 2000"):format(some, twice))
  end)

  it("no garbage in a steady state", function()
    local space, handlers = aoi.new(), {}
    handlers.plain = { radius = 10, enter = noop, leave = noop, first = noop, last = noop }
    handlers.rich = {
      radius = 20, interval = 1, after = 2, limit = 2, cooldown = 1, filter = function() return true end,
      enter = noop, leave = noop, first = noop, last = noop, stay = noop, dwell = noop,
    }
    local triggers = trigger.new(space, handlers)
    for id = 1, 10 do
      space:enter(id, id * 15, 0, MONSTER)
      triggers:add(id, "plain", { mask = PLAYER })
      triggers:add(id, "rich", { mask = PLAYER })
    end
    for id = 11, 20 do space:enter(id, 0, 0) end
    local now = 0
    local function round()
      for tick = 1, 200 do
        for id = 11, 20 do space:move(id, (tick * id) % 180, 0) end
        now = now + 0.25
        triggers:update(now)
      end
    end
    local made = garbage_of(round)
    assert.is_true(made < 4, ("%.1f KB of garbage in 2,000 moves"):format(made))
  end)
end)
