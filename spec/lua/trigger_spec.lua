-- Triggers: every option, alone and together, in simulated time.
local aoi = require "aoi"
local trigger = require "aoi.trigger"
local garbage_of = require "spec.support.garbage"

local PLAYER, MONSTER = 1, 2
local EVENTS = { "first", "enter", "stay", "dwell", "leave", "last" }

local function noop() end

for _, engine in ipairs(aoi.engines()) do
  describe("triggers on " .. engine .. ":", function()
    local space, handlers, triggers, log

    -- Handlers that write what they hear: "enter 2" is enter about target 2; with many triggers, "enter 1>2".
    local function recorder(long, names)
      local own = {}
      for _, event in ipairs(names or EVENTS) do
        own[event] = function(id, target, t)
          log[#log + 1] = ("%s %s%d"):format(event, long and id .. ">" or "", target)
          assert(t.id == id and triggers:get(id, t.name) == t)
        end
      end
      return own
    end

    local function take()
      local heard = table.concat(log, ", ")
      log = {}
      return heard
    end

    local function nothing_left()
      collectgarbage()
      collectgarbage()
      assert.same({ triggers = 0, inside = 0, waiting = 0, refused = 0, timers = 0, late = 0 }, triggers:stats())
      for name, list in pairs(triggers) do
        if type(list) == "table" and not ("handlers timers spare_maps steps keys ids targets"):find(name) then
          assert.is_nil(next(list), name)
        end
      end
    end

    -- Entity 1 carries triggers, 2, 3, ... walk.
    before_each(function()
      space = aoi.new { engine = engine }
      log = {}
      handlers = {}
      triggers = trigger.new(space, handlers)
      space:enter(1, 0, 0, MONSTER)
    end)

    -- 2, 3, ... far away.
    local function crowd(n)
      for id = 2, n + 1 do space:enter(id, 1000 + id, 0) end
    end
    local function come(id) space:move(id, 1, 1) end
    local function go(id) space:move(id, 1000 + id, 0) end

    local function add(options, events)
      handlers.t = recorder(false, events or { "first", "enter", "leave", "last" })
      return triggers:add(1, "t", options)
    end

    -- Coming and going ---------------------------------------------------------------------------------------------

    it("first, enter, leave and last", function()
      local t = add { radius = 10 }
      crowd(2)
      come(2)
      assert.equal("first 2, enter 2", take())
      come(3)
      assert.equal("enter 3", take())
      assert.equal(2, t:count())
      go(2)
      assert.equal("leave 2", take())
      go(3)
      assert.equal("leave 3, last 3", take())
      come(3)
      assert.equal("first 3, enter 3", take())
      assert.equal(1, t:count())
    end)

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

    it("whoever is near already comes in at once", function()
      space:enter(2, 3, 0)
      add { radius = 10 }
      assert.equal("first 2, enter 2", take())
    end)

    it("the carrier may do the moving", function()
      add { radius = 10 }
      crowd(1)
      space:move(1, 1002, 0)
      assert.equal("first 2, enter 2", take())
      space:move(1, -1000, 0)
      assert.equal("leave 2, last 2", take())
    end)

    it("the area: bounds are inclusive, keep holds, circles are round", function()
      space:enter(2, 10, 10)
      local t = add { radius = 10 }
      assert.equal("first 2, enter 2", take())
      t:remove()
      t = add { radius = 10, shape = "circle" }
      assert.equal("", take())
      t:remove()
      t = add { radius = 10, keep = 20 }
      space:move(2, 20, 0)
      assert.is_true(t:has(2))
      space:move(2, 21, 0)
      assert.is_false(t:has(2))
      assert.equal("first 2, enter 2, leave 2, last 2", take())
      t:set_radius(30)
      assert.equal("first 2, enter 2", take())
      t:set_radius(5, 15)
      assert.equal("leave 2, last 2", take())
    end)

    it("the mask chooses kinds, and follows them", function()
      local t = add { radius = 10, mask = PLAYER }
      space:enter(2, 0, 0, MONSTER)
      assert.equal("", take())
      space:set_kind(2, PLAYER)
      assert.equal("first 2, enter 2", take())
      t:set_mask(MONSTER)
      assert.equal("leave 2, last 2", take())
      space:enter(3, 0, 0, MONSTER)
      assert.equal("first 3, enter 3", take())
    end)

    it("several triggers on one entity, and on several", function()
      handlers.near, handlers.far = recorder(true), recorder(true)
      space:enter(2, 500, 0)
      for id = 1, 2 do
        triggers:add(id, "near", { radius = 5, mask = PLAYER, interval = 100, after = 100 })
        triggers:add(id, "far", { radius = 50, mask = PLAYER, interval = 100, after = 100 })
      end
      space:enter(3, 40, 0)
      assert.equal("first 1>3, enter 1>3", take())
      space:move(3, 504, 0)
      assert.equal("leave 1>3, last 1>3, first 2>3, enter 2>3, first 2>3, enter 2>3", take())
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

    it("a filter of one trigger alone", function()
      handlers.t = recorder(false, { "enter" })
      triggers:add(1, "t", { radius = 10, filter = function(_, target) return target % 2 == 0 end })
      crowd(4)
      for id = 2, 5 do come(id) end
      assert.equal("enter 2, enter 4", take())
    end)

    it("refresh asks the filter again", function()
      local red = {}
      local t = add { radius = 10, filter = function(_, target) return red[target] end }
      crowd(1)
      come(2)
      assert.equal("", take())
      assert.equal(1, triggers:stats().refused)
      red[2] = true
      triggers:refresh(2)
      assert.equal("first 2, enter 2", take())
      triggers:refresh(2)
      assert.equal("", take())
      red[2] = nil
      triggers:refresh(2)
      assert.equal("leave 2, last 2", take())
      assert.equal(0, t:count())
      go(2)
      assert.equal("", take())
      assert.equal(0, triggers:stats().refused)
    end)

    it("refresh takes the queue into account", function()
      local red = { [2] = true, [3] = true, [4] = true }
      add { radius = 10, limit = 1, filter = function(_, target) return red[target] end }
      crowd(3)
      come(2) come(3) come(4)
      red[3] = nil
      triggers:refresh(3)
      assert.equal("first 2, enter 2", take())
      red[2] = nil
      triggers:refresh(2)
      assert.equal("leave 2, enter 4", take())
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

    it("dwell: once per visit", function()
      add({ radius = 10, after = 2 }, { "enter", "dwell", "leave" })
      crowd(2)
      come(2)
      triggers:update(1)
      come(3)
      triggers:update(1.999)
      assert.equal("enter 2, enter 3", take())
      triggers:update(2)
      assert.equal("dwell 2", take())
      go(3)
      triggers:update(50)
      assert.equal("leave 3", take())
      go(2) come(2)
      triggers:update(51.5)
      assert.equal("leave 2, enter 2", take())
      triggers:update(52)
      assert.equal("dwell 2", take())
    end)

    it("dwell of no time comes with the next update", function()
      add({ radius = 10, after = 0 }, { "dwell" })
      space:enter(2, 0, 0)
      assert.equal("", take())
      triggers:update(0)
      assert.equal("dwell 2", take())
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
      triggers = trigger.new(space, handlers, 1e9)
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
      triggers = trigger.new(space, handlers, 2 ^ 60)
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

    -- Gates --------------------------------------------------------------------------------------------------------

    it("limit: the rest queue in order", function()
      local t = add { radius = 10, limit = 2 }
      crowd(5)
      for id = 2, 6 do come(id) end
      assert.equal("first 2, enter 2, enter 3", take())
      assert.equal(2, t:count())
      assert.equal(3, t:waiting())
      assert.is_true(t:has(3))
      assert.is_false(t:has(4))
      go(5) -- out of the middle of the queue
      assert.equal("", take())
      go(2)
      assert.equal("leave 2, enter 4", take())
      go(3) go(4)
      assert.equal("leave 3, enter 6, leave 4", take())
      go(6)
      assert.equal("leave 6, last 6", take())
      assert.equal(0, triggers:stats().waiting)
    end)

    it("limit 1 hands over without a last or first between", function()
      add { radius = 10, limit = 1 }
      crowd(2)
      come(2) come(3)
      go(2)
      go(3)
      assert.equal("first 2, enter 2, leave 2, enter 3, leave 3, last 3", take())
    end)

    it("timers run from the moment of being let in", function()
      add({ radius = 10, limit = 1, after = 2, interval = 3 }, { "enter", "stay", "dwell" })
      crowd(2)
      come(2) come(3)
      triggers:update(2.5)
      go(2)
      assert.equal("enter 2, dwell 2, enter 3", take())
      triggers:update(4.4)
      assert.equal("", take())
      triggers:update(4.5)
      assert.equal("dwell 3", take())
      triggers:update(5.5)
      assert.equal("stay 3", take())
    end)

    it("cooldown: the next one waits for it", function()
      add({ radius = 10, cooldown = 10 })
      crowd(4)
      come(2)
      triggers:update(3)
      come(3) come(4)
      go(4)
      go(2)
      assert.equal("first 2, enter 2, leave 2, last 2", take())
      triggers:update(9.5)
      assert.equal("", take())
      triggers:update(10)
      assert.equal("first 3, enter 3", take())
      triggers:update(15)
      come(5)
      triggers:update(19)
      go(5)
      assert.equal(0, triggers:stats().timers)
      triggers:update(30)
      assert.equal("", take())
      come(5)
      assert.equal("enter 5", take())
    end)

    it("cooldown: the same one coming back waits too", function()
      add({ radius = 10, cooldown = 10 }, { "enter" })
      crowd(1)
      come(2) go(2)
      triggers:update(9)
      come(2)
      triggers:update(12)
      assert.equal("enter 2, enter 2", take())
    end)

    it("cooldown and limit together", function()
      local t = add({ radius = 10, cooldown = 1, limit = 2 }, { "enter" })
      crowd(4)
      for id = 2, 5 do come(id) end
      triggers:update(5)
      assert.equal("enter 2, enter 3", take())
      assert.equal(0, triggers:stats().timers)
      go(2)
      go(3)
      assert.equal("enter 4", take())
      triggers:update(5.9)
      assert.equal(1, t:waiting())
      triggers:update(6)
      assert.equal("enter 5", take())
    end)

    it("once: one visit, then it removes itself", function()
      local t = add({ radius = 10, once = true, interval = 1 }, { "first", "enter", "stay", "leave", "last" })
      crowd(2)
      come(2) come(3)
      triggers:update(1)
      assert.equal("first 2, enter 2, stay 2", take())
      assert.is_true(t:alive())
      go(2)
      assert.equal("leave 2, last 2", take())
      assert.is_false(t:alive())
      assert.is_nil(space:radius(1, t.node))
      go(3) come(3)
      triggers:update(10)
      assert.equal("", take())
      nothing_left()
    end)

    it("once with after: passing by does not use it up", function()
      local t = add({ radius = 10, once = true, after = 2 }, { "enter", "dwell", "leave" })
      crowd(3)
      come(2)
      triggers:update(1)
      go(2)
      come(3) come(4)
      assert.equal("enter 2, leave 2, enter 3, enter 4", take())
      triggers:update(10)
      assert.equal("dwell 3", take())
      come(2)
      go(3)
      assert.equal("leave 3", take())
      assert.is_true(t:alive())
      go(4)
      assert.equal("leave 4", take())
      nothing_left()
    end)

    it("once and limit: those who wait are sent away", function()
      local t = add({ radius = 10, once = true, after = 1, limit = 1 }, { "enter", "dwell", "leave" })
      crowd(2)
      come(2) come(3)
      triggers:update(1)
      assert.equal(0, t:waiting())
      go(2)
      assert.equal("enter 2, dwell 2, leave 2", take())
      assert.is_false(t:alive())
    end)

    it("once, cooldown and a filter: only who passes uses it up", function()
      add({ radius = 10, once = true, cooldown = 5, filter = function(_, target) return target > 2 end }, { "enter" })
      crowd(3)
      for id = 2, 4 do come(id) end
      triggers:update(20)
      assert.equal("enter 3", take())
    end)

    it("enabled: a disabled trigger is empty and blind", function()
      local t = add({ radius = 10, enabled = false, interval = 1 }, { "first", "enter", "stay", "leave", "last" })
      crowd(2)
      come(2)
      triggers:update(5)
      assert.equal("", take())
      assert.is_false(t:enabled())
      t:set_mask(-1)
      assert.equal("", take())
      t:enable()
      t:enable()
      assert.is_true(t:enabled())
      assert.equal("first 2, enter 2", take())
      triggers:update(6)
      t:disable()
      t:disable()
      assert.equal("stay 2, leave 2, last 2", take())
      assert.equal(0, triggers:stats().timers)
      triggers:update(60)
      assert.equal("", take())
      t:enable()
      assert.equal("first 2, enter 2", take())
    end)

    it("disabling empties the queue", function()
      local t = add({ radius = 10, limit = 1, cooldown = 3 }, { "enter", "leave" })
      crowd(3)
      come(2) come(3) come(4)
      t:disable()
      assert.equal("enter 2, leave 2", take())
      assert.equal(0, t:waiting())
      assert.equal(0, triggers:stats().timers)
      triggers:update(10)
      t:enable()
      assert.equal(1, t:count())
      assert.equal(2, t:waiting())
    end)

    it("options come from beside the handlers, and add overrides them", function()
      handlers.t = recorder(false, { "enter", "stay" })
      handlers.t.radius, handlers.t.interval, handlers.t.mask, handlers.t.data = 10, 1, PLAYER, "shared"
      local near = triggers:add(1, "t")
      space:enter(2, 500, 0, MONSTER)
      local far = triggers:add(2, "t", { radius = 100, interval = 5, data = "own" })
      assert.equal("shared", near.data)
      assert.equal("own", far.data)
      assert.equal(10, space:radius(1, near.node))
      assert.equal(100, space:radius(2, far.node))
      space:enter(3, 450, 0)
      space:enter(4, 1, 0)
      triggers:update(4)
      assert.equal("enter 3, enter 4, stay 4, stay 4, stay 4, stay 4", take())
    end)

    -- Regions ------------------------------------------------------------------------------------------------------

    it("a region needs no visible entity", function()
      handlers.market = recorder(true, { "enter", "leave" })
      local everything = { enter = function(_, target) log[#log + 1] = "saw " .. target end }
      space:add_node(1, 1, math.huge, everything)
      local market = triggers:region("market", { x = 500, y = -500, radius = 20 })
      assert.equal("", take())
      local list, n = space:near(500, -500, 100, -1)
      for i = 1, n do assert.not_equal(market.id, list[i]) end
      assert.is_true(market.id <= -2 ^ 52)
      space:enter(2, 510, -490)
      assert.equal("enter " .. market.id .. ">2", take():gsub("saw 2", ""):gsub(", ", ""), nil)
      local second = triggers:region("market", { x = 510, y = -490, radius = 1 })
      assert.not_equal(market.id, second.id)
      assert.equal("enter " .. second.id .. ">2", take())
      market:remove()
      assert.is_false(space:has(market.id))
      space:move(2, 0, 0)
      assert.equal("leave " .. second.id .. ">2", take())
      second:remove()
      nothing_left()
      assert.equal(2, space:count())
    end)

    it("a region can move and carry more triggers", function()
      handlers.t, handlers.u = recorder(false, { "enter", "leave" }), recorder(false, { "enter", "leave" })
      handlers.t.radius, handlers.u.radius = 10, 10
      handlers.t.x, handlers.t.y = 5000, 5000
      local storm = triggers:region("t")
      triggers:add(storm.id, "u")
      space:move(storm.id, 0, 0)
      assert.equal("enter 1, enter 1", take())
      storm:remove()
      space:enter(2, 0, 0)
      assert.equal("", take())
      nothing_left()
    end)

    it("regions in three dimensions", function()
      space = aoi.new { engine = engine, dimensions = 3 }
      triggers = trigger.new(space, handlers)
      handlers.t = recorder(false, { "enter" })
      local t = triggers:region("t", { x = 1, y = 2, z = 3, radius = 10 })
      assert.same({ 1, 2, 3 }, { space:position(t.id) })
      assert.equal(0, space:kind(t.id))
      space:enter(2, 0, 0, 0)
      space:enter(3, 0, 0, 14)
      assert.equal("enter 2", take())
      local before = space:count()
      assert.error_matches(function() triggers:region("t", { x = 1, y = 2, radius = 10 }) end, "'z'")
      assert.equal(before, space:count())
    end)

    -- Hot reload ---------------------------------------------------------------------------------------------------

    it("handlers are looked up at each call", function()
      handlers.t = recorder(false, { "enter" })
      triggers:add(1, "t", { radius = 10, after = 1 })
      crowd(3)
      come(2)
      handlers.t = { enter = function(_, target) log[#log + 1] = "new enter " .. target end,
        dwell = function(_, target) log[#log + 1] = "new dwell " .. target end }
      come(3)
      triggers:update(1)
      assert.equal("enter 2, new enter 3, new dwell 2, new dwell 3", take())
      handlers.t = nil
      come(4)
      go(2)
      triggers:update(9)
      triggers.handlers = { t = { leave = function(_, target) log[#log + 1] = "other leave " .. target end } }
      go(3)
      assert.equal("other leave 3", take())
    end)

    -- Removal ------------------------------------------------------------------------------------------------------

    local rich = {
      radius = 10, interval = 1, after = 1.5, limit = 2, cooldown = 0.25, filter = function() return true end,
    }

    for name, options in pairs { plain = { radius = 10 }, rich = rich } do
      it("removing a " .. name .. " trigger is silent and complete", function()
        local t = add(options, { "first", "enter", "leave", "last" })
        crowd(4)
        for id = 2, 5 do come(id) triggers:update(id) end
        take()
        t:remove()
        t:remove()
        assert.is_false(t:alive())
        assert.equal(0, t:count())
        assert.is_false(t:has(2))
        for id = 2, 5 do go(id) come(id) end
        triggers:update(100)
        assert.equal("", take())
        assert.is_nil(triggers:get(1, "t"))
        assert.has_error(function() t:enable() end)
        nothing_left()
      end)

      it("removing the carrier of a " .. name .. " trigger is silent and complete", function()
        add(options, { "first", "enter", "leave", "last" })
        crowd(4)
        for id = 2, 5 do come(id) triggers:update(id) end
        take()
        space:leave(1)
        triggers:update(100)
        assert.equal("", take())
        nothing_left()
        -- The same id is somebody else now.
        space:enter(1, 0, 0)
        assert.is_nil(triggers:get(1, "t"))
        triggers:add(1, "t", options)
        assert.equal(name == "plain" and 4 or 1, triggers:get(1, "t"):count())
      end)

      it("removing the target of a " .. name .. " trigger is its leave", function()
        add(options, { "first", "enter", "leave", "last" })
        crowd(2)
        come(2)
        triggers:update(1)
        come(3)
        take()
        space:leave(2)
        assert.equal("leave 2", take())
        space:leave(3)
        assert.equal("leave 3, last 3", take())
        triggers:update(100)
        assert.equal("", take())
        assert.equal(0, triggers:stats().timers)
        space:leave(1)
        nothing_left()
      end)
    end

    it("the carrier of an empty trigger leaves nothing either", function()
      add { radius = 10 }
      space:leave(1)
      nothing_left()
    end)

    it("records of empty triggers whose carrier left go within 512 updates", function()
      handlers.t = { radius = 1 }
      for id = 100, 1100 do
        space:enter(id, id * 10, 0)
        triggers:add(id, "t")
      end
      for id = 100, 1100, 2 do space:leave(id) end
      for tick = 1, 512 do triggers:update(tick) end
      assert.equal(500, #triggers.all)
      for id = 101, 1100, 2 do space:leave(id) end
      for id = 2000, 2999 do -- without updates, adding does it
        space:enter(id, id * 10, 0)
        triggers:add(id, "t")
      end
      assert.is_true(#triggers.all <= 1001)
    end)

    it("the raw node may be removed, too", function()
      local t = add { radius = 10, limit = 1, interval = 1 }
      crowd(2)
      come(2) come(3)
      take()
      space:remove_node(1, t.node)
      triggers:update(9)
      assert.equal("", take())
      nothing_left()
    end)

    it("remove by entity and name", function()
      handlers.a, handlers.b, handlers.c = {}, {}, {}
      for _, name in ipairs { "a", "b", "c" } do triggers:add(1, name, { radius = 1 }) end
      assert.equal(1, triggers:remove(1, "b"))
      assert.is_nil(triggers:get(1, "b"))
      assert.is_truthy(triggers:get(1, "a"))
      assert.equal(0, triggers:remove(1, "b"))
      assert.equal(2, triggers:remove(1))
      assert.equal(0, triggers:remove(77))
      local _, n = space:nodes(1)
      assert.equal(0, n)
    end)

    -- Each thing that can be removed, in each handler.
    for _, event in ipairs(EVENTS) do
      for _, what in ipairs { "trigger", "carrier", "target", "everything" } do
        for _, name in ipairs { "plain", "rich" } do
          local timed = event == "stay" or event == "dwell"
          if not (timed and name == "plain") then
            it(("removing the %s in %s of a %s trigger"):format(what, event, name), function()
              handlers.t = recorder()
              local removed
              local record = handlers.t[event]
              handlers.t[event] = function(id, target, t)
                record(id, target, t)
                log[#log + 1] = "REMOVED"
                removed = true
                if what == "trigger" then t:remove() end
                if what == "carrier" then space:leave(id) end
                if what == "target" and space:has(target) then space:leave(target) end
                if what == "everything" then space:close() triggers:close() end
              end
              if name == "plain" then handlers.t.stay, handlers.t.dwell = nil, nil end
              triggers:add(1, "t", name == "plain" and { radius = 10 } or rich)
              crowd(1)
              come(2)
              triggers:update(4)
              if not removed then go(2) end
              assert.is_true(removed)
              local heard = take()
              local rest = heard:match("REMOVED(.*)")
              if what == "target" and (event == "stay" or event == "dwell" or event == "enter") then
                assert.equal(", leave 2, last 2", rest)
              elseif what == "target" and event == "first" then
                assert.equal(", last 2", rest) -- its enter was never called, so it has no leave
              elseif what == "target" and event == "leave" then
                assert.equal(", last 2", rest)
              else
                assert.equal("", rest)
              end
              if what ~= "everything" then
                triggers:update(100)
                assert.equal("", take())
                if space:has(1) then space:leave(1) end
                nothing_left()
              else
                assert.equal(0, triggers.timers.n)
                assert.is_nil(next(triggers.cells))
              end
            end)
          end
        end
      end
    end

    it("a target that goes and comes back as another in a handler", function()
      handlers.t = recorder()
      handlers.t.stay, handlers.t.dwell = nil, nil
      local record = handlers.t.first
      handlers.t.first = function(id, target, t)
        record(id, target, t)
        handlers.t.first = record
        space:leave(target)
        space:enter(target, 5, 5)
      end
      triggers:add(1, "t", { radius = 10 })
      space:enter(2, 0, 0)
      assert.equal("first 2, enter 2, leave 2, last 2, first 2, enter 2", take())
      assert.equal(1, triggers:get(1, "t"):count())
    end)

    it("spawning and killing in handlers, a long chain", function()
      handlers.t = {}
      local n = 0
      handlers.t.enter = function(_, target)
        n = n + 1
        space:leave(target)
        if n < 5000 then space:enter(n + 10, 1, 1) end
      end
      triggers:add(1, "t", { radius = 10, limit = 3 })
      space:enter(2, 0, 0)
      assert.equal(5000, n)
      assert.equal(0, triggers:get(1, "t"):count())
      space:leave(1)
      nothing_left()
    end)

    it("dropped spaces and triggers are garbage", function()
      local weak = setmetatable({}, { __mode = "k" })
      local function drop()
        local s = aoi.new { engine = engine }
        local h = { t = { enter = function() return s end } }
        local set = trigger.new(s, h)
        s:enter(1, 0, 0)
        s:enter(2, 0, 0)
        set:add(1, "t", { radius = 10, interval = 1 })
        weak[set], weak[h] = true, true
      end
      -- a compiled loop may leave the last one's objects on the stack
      if jit then jit.off(drop, true) end -- luacheck: ignore
      for _ = 1, 5 do drop() end
      collectgarbage()
      collectgarbage()
      assert.is_nil(next(weak))
    end)

    -- Errors -------------------------------------------------------------------------------------------------------

    for _, name in ipairs { "plain", "rich" } do
      for _, event in ipairs { "first", "enter", "leave", "last" } do
        it(("an error in %s of a %s trigger loses nothing"):format(event, name), function()
          handlers.t = recorder()
          handlers.t.stay, handlers.t.dwell = nil, nil
          local good = handlers.t[event]
          local why = { "an error that is a table" }
          handlers.t[event] = function(...)
            good(...)
            handlers.t[event] = good
            error(why, 0)
          end
          triggers:add(1, "t", name == "plain" and { radius = 10 } or rich)
          crowd(1)
          local function move() come(2) go(2) end
          local ok, err = pcall(move)
          assert.is_false(ok)
          assert.equal(why, err)
          if event == "first" or event == "enter" then go(2) end
          triggers:update(0)
          assert.equal("first 2, enter 2, leave 2, last 2", take())
          assert.equal(0, triggers:stats().late)
        end)
      end
    end

    it("events that come before the error was made up for keep their order", function()
      handlers.t = recorder()
      handlers.t.stay, handlers.t.dwell = nil, nil
      local record, fail = handlers.t, 0
      for _, event in ipairs { "first", "enter", "leave", "last" } do
        local good = record[event]
        record[event] = function(...)
          good(...)
          fail = fail + 1
          error(fail, 0)
        end
      end
      triggers:add(1, "t", { radius = 10 })
      crowd(2)
      for _ = 1, 3 do
        pcall(come, 2) pcall(come, 3) pcall(go, 2) pcall(go, 3)
      end
      while not pcall(triggers.update, triggers, 0) do noop() end
      local visit = "first 2, enter 2, enter 3, leave 2, leave 3, last 3"
      assert.equal(table.concat({ visit, visit, visit }, ", "), take())
      assert.equal(0, triggers:get(1, "t"):count())
      assert.equal(0, triggers:stats().late)
    end)

    it("a target that is gone by the time of a late event", function()
      for _, options in ipairs { { radius = 10 }, { radius = 10, limit = 9 } } do
        handlers.t = recorder()
        handlers.t.stay, handlers.t.dwell = nil, nil
        local good = handlers.t.first
        handlers.t.first = function(id, target, t)
          good(id, target, t)
          handlers.t.first = good
          error("boom", 0)
        end
        local t = triggers:add(1, "t", options)
        space:enter(3, 500, 0)
        assert.has_error(function() space:enter(2, 0, 0) end, "boom")
        -- Owed: enter 2. Its handler fails as well, and 3 comes and goes in the meantime.
        local enter = handlers.t.enter
        handlers.t.enter = function(id, target)
          enter(id, target, t)
          handlers.t.enter = enter
          error("bang", 0)
        end
        assert.has_error(function() space:move(3, 0, 0) end, "bang")
        space:leave(3)
        assert.equal("first 2, enter 2", take())
        space:leave(2)
        assert.equal("leave 2, last 2", take())
        assert.equal(0, t:count())
        t:remove()
      end
    end)

    it("an error in a timer's handler: the others fire at the next update, the same time will do", function()
      add({ radius = 10, interval = 1, after = 1 }, { "stay", "dwell" })
      crowd(2)
      come(2) come(3)
      local dwell = handlers.t.dwell
      handlers.t.dwell = function(...)
        dwell(...)
        handlers.t.dwell = dwell
        error("boom", 0)
      end
      assert.has_error(function() triggers:update(2) end, "boom")
      triggers:update(2)
      assert.equal("dwell 2, stay 2, dwell 3, stay 3, stay 2, stay 3", take())
    end)

    it("space:on_error takes the errors, and what was left undone is done", function()
      handlers.t = recorder(false, { "first", "enter", "leave", "last" })
      for _, event in ipairs { "first", "leave" } do
        local good = handlers.t[event]
        handlers.t[event] = function(...)
          good(...)
          error(event, 0)
        end
      end
      local errors = {}
      space:on_error(function(err, watcher, target) errors[#errors + 1] = err .. " " .. watcher .. ">" .. target end)
      triggers:add(1, "t", { radius = 10 })
      crowd(2)
      come(2)
      come(3)
      go(2)
      go(3)
      triggers:update(0)
      assert.equal("first 2, enter 2, enter 3, leave 2, leave 3, last 3", take())
      assert.same({ "first 1>2", "leave 1>2", "leave 1>3" }, errors)
    end)

    local can_yield = rawget(_G, "jit") == nil and _VERSION ~= "Lua 5.1" and _VERSION ~= "Lua 5.2"
    if can_yield then
      it("a handler may yield; others go on meanwhile", function()
        for _, options in ipairs { { radius = 10 }, { radius = 10, limit = 5, interval = 1, after = 1 } } do
          handlers.t = recorder()
          if not options.limit then handlers.t.stay, handlers.t.dwell = nil, nil end
          local first = handlers.t.first
          handlers.t.first = function(...)
            first(...)
            coroutine.yield("waiting")
            log[#log + 1] = "resumed"
          end
          local t = triggers:add(1, "t", options)
          for id = 2, 3 do space:enter(id, 1000, 0) end
          local co = coroutine.create(function() come(2) end)
          assert.same({ true, "waiting" }, { coroutine.resume(co) })
          assert.equal("first 2", take())
          come(3) -- what waits for the suspended one comes first
          assert.equal("enter 2, enter 3", take())
          go(2)
          assert.equal("leave 2", take())
          assert.is_true(coroutine.resume(co))
          assert.equal("resumed", take())
          assert.equal(1, t:count())
          space:leave(2)
          space:leave(3)
          assert.equal("leave 3, last 3", take())
          t:remove()
        end
      end)
    end

    it("misuse is an error that names the option", function()
      handlers.t, handlers.s, handlers.d = {}, { stay = noop }, { dwell = noop }
      local function bad(what, name, options)
        local ok, err = pcall(triggers.add, triggers, 1, name, options)
        assert.is_false(ok)
        assert.matches(what, err, 1, true)
      end
      bad("'radius' (required)", "t")
      bad("'radius'", "t", { radius = -1 })
      bad("'radius'", "t", { radius = 0 / 0 })
      bad("'radius'", "t", { radius = "wide" })
      bad("'keep'", "t", { radius = 2, keep = 1 })
      bad("'mask'", "t", { radius = 2, mask = 1.5 })
      bad("'shape'", "t", { radius = 2, shape = "star" })
      bad("'filter'", "t", { radius = 2, filter = "red" })
      bad("'interval'", "t", { radius = 2, interval = 0 })
      bad("'after'", "t", { radius = 2, after = -1 })
      bad("'cooldown'", "t", { radius = 2, cooldown = math.huge })
      bad("'limit'", "t", { radius = 2, limit = 0 })
      bad("'limit'", "t", { radius = 2, limit = 1.5 })
      bad("'once'", "t", { radius = 2, once = 1 })
      bad("'enabled'", "t", { radius = 2, enabled = 1 })
      bad("'colour'", "t", { radius = 2, colour = 1 })
      bad("'interval'", "s", { radius = 2 })
      bad("'after'", "d", { radius = 2 })
      bad("'nobody'", "nobody", { radius = 2 })
      bad("table", "t", 5)
      handlers.t.radius = -5
      bad("'radius'", "t")
      assert.has_error(function() triggers:add(99, "t", { radius = 1 }) end)
      assert.has_error(function() triggers:region("t", { radius = 1, x = 1 }) end)
      assert.has_error(function() triggers:region("t", { radius = 1, x = 1, y = 1, z = 1 }) end)
      assert.has_error(function() triggers:region("t", { radius = 1, x = 1, y = 0 / 0 }) end)
      assert.has_error(function() trigger.new(space) end)
      assert.has_error(function() trigger.new(space, {}, "now") end)
      assert.equal(1, space:count())
      nothing_left()
      triggers:add(1, "t", { radius = 1 })
      bad("already", "t", { radius = 1 })
    end)

    it("the position of an error is the caller's", function()
      handlers.t = {}
      for _, call in ipairs {
        function() triggers:add(1, "t", { colour = 1 }) end,
        function() triggers:add(1, "t", { radius = -1 }) end,
        function() triggers:add(1, "t", {}) end,
        function() triggers:add(1, "nobody", {}) end,
        function() triggers:region("t", { radius = 1 }) end,
        function() triggers:update(-1) end,
      } do
        local ok, err = pcall(function() call() return nil end)
        assert.is_false(ok)
        assert.matches("trigger_spec%.lua:", err)
      end
    end)

    -- Deferred spaces ----------------------------------------------------------------------------------------------

    it("deferred spaces: flush", function()
      space = aoi.new { engine = engine, delivery = "deferred" }
      triggers = trigger.new(space, handlers)
      space:enter(1, 0, 0)
      add({ radius = 10, after = 1, limit = 1 }, { "enter", "dwell", "leave" })
      crowd(2)
      come(2) come(3)
      assert.equal("", take())
      space:flush()
      space:leave(2)
      triggers:update(1) -- its leave was not delivered yet, but it is gone
      assert.matches("^enter %d$", (take()))
      space:flush()
      triggers:update(5)
      space:leave(1)
      triggers:update(50)
      space:flush()
      take()
      nothing_left()
    end)

    it("deferred spaces: drain and dispatch", function()
      space = aoi.new { engine = engine, delivery = "deferred" }
      triggers = trigger.new(space, handlers)
      space:enter(1, 0, 0)
      space:add_node(1, 1, 10)
      add { radius = 10 }
      crowd(1)
      come(2)
      triggers:dispatch(space:drain())
      assert.equal("first 2, enter 2", take())
      space:leave(2)
      local buf, n = space:drain({})
      assert.equal(2, n)
      triggers:dispatch(buf, n)
      assert.equal("leave 2, last 2", take())
    end)

    it("an error while dispatching loses nothing", function()
      space = aoi.new { engine = engine, delivery = "deferred" }
      triggers = trigger.new(space, handlers)
      space:enter(1, 0, 0)
      add { radius = 10 }
      local good = handlers.t
      handlers.t = setmetatable({}, { __index = function(_, event)
        return good[event] and function(...)
          good[event](...)
          error("boom", 0)
        end
      end })
      for id = 2, 4 do space:enter(id, id, 0) end
      local buf, n = space:drain()
      assert.has_error(function() triggers:dispatch(buf, n) end, "boom")
      for id = 2, 4 do space:leave(id) end
      buf, n = space:drain(buf)
      assert.has_error(function() triggers:dispatch(buf, n) end, "boom")
      handlers.t = good
      triggers:update(0)
      -- Who was gone by his turn is not told of; who came in is told to go.
      local heard = take()
      assert.equal("first", heard:sub(1, 5))
      assert.equal(0, triggers:get(1, "t"):count())
      local _, enters = heard:gsub("enter", "")
      local _, leaves = heard:gsub("leave", "")
      local _, lasts = heard:gsub("last", "")
      assert.same({ enters, 1 }, { leaves, lasts })
    end)

    it("close", function()
      handlers.t = recorder()
      triggers:add(1, "t", rich)
      triggers:region("t", { x = 0, y = 0, radius = 10, interval = 1, after = 1 })
      space:enter(2, 0, 0)
      take()
      triggers:close()
      triggers:close()
      assert.equal(2, space:count())
      space:leave(2)
      triggers:update(9)
      assert.equal("", take())
      nothing_left()
      triggers:add(1, "t", rich)
      space:close()
      triggers:close()
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
