-- Triggers that linger, and triggers whose inside is what is not in their area.
local aoi = require "aoi"
local trigger = require "aoi.trigger"
local trigger_fixture = require "spec.support.trigger_fixture"

for _, engine in ipairs { "list", "grid" } do
  describe("triggers on " .. engine, function()
    local f = trigger_fixture(engine)
    local space, triggers
    local take = f.take
    local EVENTS = { "first", "enter", "leave", "last" }
    before_each(function()
      f.start()
      space, triggers = f.space, f.triggers
      f.crowd(3)
    end)
    after_each(function() space:close() end)

    describe("with linger", function()
      for _, delivery in ipairs { "immediate", "deferred" } do
        it("let all go when they are disabled, whichever leave handler raises, " .. delivery, function()
          for wrong = 2, 4 do
            f.open { delivery = delivery }
            space, triggers = f.space, f.triggers
            space:enter(1, 0, 0)
            f.crowd(3)
            local t = f.add({ radius = 10, linger = 60, interval = 1 }, {})
            local left = {}
            f.handlers.t.leave = function(_, target)
              left[#left + 1] = target
              if target == wrong then error("planned", 0) end
            end
            f.handlers.t.stay = function() error "of a disabled trigger" end
            for id = 2, 4 do f.come(id) end
            space:flush()
            f.go(3)
            f.go(4)
            space:flush()
            assert.equal("lingering", t:explain(4).state)
            assert.same({ false, "planned" }, { pcall(function()
              t:disable()
              space:flush()
            end) })
            triggers:update(5)
            space:flush()
            table.sort(left)
            assert.same({ 2, 3, 4 }, left)
            assert.equal(0, t:count())
            assert.equal(0, triggers:stats().timers)
          end
        end)
      end

      it("let a target leave after so long outside without a break", function()
        local t = f.add({ radius = 10, linger = 5 }, EVENTS)
        f.come(2)
        f.go(2)
        assert.equal("first 2, enter 2", take())
        assert.equal("lingering", t:explain(2).state)
        assert.is_true(t:has(2))
        assert.equal(1, t:count())
        triggers:update(4)
        f.come(2) -- the break
        assert.equal("inside", t:explain(2).state)
        f.go(2)
        triggers:update(8.9)
        assert.equal("", take())
        triggers:update(9)
        assert.equal("leave 2, last 2", take())
        assert.is_false(t:has(2))
        assert.is_nil(t:explain(2).state)
        f.come(2)
        assert.equal("first 2, enter 2", take())
        assert.is_true(space:check())
      end)

      it("let go at once of what leaves the space or does not count, and when they are disabled", function()
        local t = f.add({ radius = 10, linger = 5 }, EVENTS)
        for id = 2, 4 do f.come(id) f.go(id) end
        take()
        space:leave(2)
        assert.equal("leave 2", take())
        space:enter(2, 500, 0) -- a new life
        triggers:update(1)
        t:disable()
        assert.equal("leave 3, leave 4, last 4", take())
        triggers:update(100)
        assert.equal("", take())
        t:remove()
        assert.same({}, (space:nodes(1)))
        f.nothing_left()
      end)

      it("let go of what a handler takes out of the space when it has gone out of the area", function()
        local function take_out(_, target)
          if space:has(target) then space:leave(target) end
        end
        space:add_node(1, 1, 10, nil, take_out)
        local t = f.add({ radius = 10, linger = 5 }, EVENTS)
        for id = 2, 3 do
          f.come(id)
          f.go(id)
          assert.equal(("first %d, enter %d, leave %d, last %d"):format(id, id, id, id), take())
          assert.equal(0, t:count())
          space:enter(id, 1, 1) -- a new life
          assert.equal(("first %d, enter %d"):format(id, id), take())
          space:leave(id)
          take()
        end
        assert.is_true(space:check())
      end)

      it("let go of what leaves the space before the next drain", function()
        f.open { delivery = "deferred" }
        space, triggers = f.space, f.triggers
        local function dispatch() triggers:dispatch(space:drain()) return take() end
        space:enter(1, 0, 0)
        f.crowd(2)
        f.add({ radius = 10, linger = 5 }, EVENTS)
        f.come(2)
        assert.equal("first 2, enter 2", dispatch())
        f.go(2)
        assert.equal("", dispatch())
        space:leave(2)
        space:enter(2, 1, 1) -- a new life
        assert.equal("leave 2, last 2, first 2, enter 2", dispatch())
      end)

      it("count what lingers for limit, stay and dwell", function()
        f.add({ radius = 10, linger = 5, limit = 1, interval = 2, after = 3 }, { "enter", "leave", "stay", "dwell" })
        f.come(2)
        f.come(3)
        f.go(2)
        triggers:update(4)
        assert.equal("enter 2, stay 2, dwell 2, stay 2", take())
        triggers:update(5)
        assert.equal("leave 2, enter 3", take())
      end)

      it("leave nothing behind with targets that come and go", function()
        f.add({ radius = 10, linger = 1 }, EVENTS)
        for round = 1, 50 do
          f.come(2)
          f.go(2)
          triggers:update(2 * round)
        end
        local calls = 0
        f.handlers.t.leave = function() calls = calls + 1 end
        local events = space:stats().events
        space:leave(2)
        assert.same({ 0, events }, { calls, space:stats().events })
      end)

      it("linger over an error of a handler", function()
        local raised = false
        f.handlers.t = { enter = function() end, leave = function()
          raised = not raised
          if raised then error("planned", 0) end
        end }
        local t = triggers:add(1, "t", { radius = 10, linger = 1 })
        f.come(2)
        f.go(2)
        assert.same({ false, "planned" }, { pcall(triggers.update, triggers, 1) })
        triggers:update(1)
        assert.equal(0, t:count())
        f.come(2)
        f.go(2)
        triggers:update(5)
        assert.equal(0, t:count())
      end)
    end)

    it("do not take another for a target that lingers, where it comes in a handler", function()
      local t = f.add({ radius = 10, linger = 5 }, EVENTS)
      f.come(2)
      assert.equal("first 2, enter 2", take())
      space:enter(8, 500, 500)
      space:add_node(8, 1, 5, function()
        space:leave(2)
        space:enter(2, 100, 0)
      end)
      space:enter(9, 500, 500)
      assert.equal("leave 2, last 2", take())
      assert.is_false(t:has(2))
      f.come(2)
      f.go(2)
      assert.equal("first 2, enter 2", take())
      assert.equal("lingering", t:explain(2).state)
    end)

    it("with enter_after, let a target enter after so long inside without a break", function()
      local t = f.add({ radius = 10, enter_after = 5, after = 1, limit = 1 }, { "enter", "dwell", "leave" })
      f.come(2)
      triggers:update(4)
      assert.same({ "arriving", false, 0 }, { t:explain(2).state, t:has(2), t:waiting() })
      f.go(2) -- the break
      f.come(2)
      f.come(3)
      triggers:update(8)
      f.go(2)
      assert.equal("", take())
      assert.equal(1, triggers:stats().arriving)
      f.come(2)
      triggers:update(13)
      assert.equal("enter 3, dwell 3", take())
      assert.same({ "waiting", 1, 0 }, { t:explain(2).state, t:waiting(), triggers:stats().arriving })
      t:disable()
      assert.equal("leave 3", take())
      t:enable()
      triggers:refresh(2)
      assert.equal(2, triggers:stats().arriving)
      t:disable()
      triggers:update(30)
      assert.equal("", take())
      assert.equal(0, triggers:stats().arriving)
    end)

    describe("with outside", function()
      it("have inside what is not in the area", function()
        local t = f.add({ radius = 10, outside = true, mask = 1 }, EVENTS)
        assert.matches("first %d, enter %d, enter %d, enter %d", take())
        f.come(2)
        assert.equal("leave 2", take())
        assert.is_false(t:has(2))
        f.go(2)
        assert.equal("enter 2", take())
        space:enter(10, 1, 1)
        space:enter(11, 99, 1)
        space:enter(12, 99, 1, 8) -- another kind
        assert.equal("enter 11", take())
        space:set_kind(12, 9)
        space:set_kind(11, 8)
        space:leave(10)
        space:leave(12)
        assert.equal("enter 12, leave 11, leave 12", take())
        assert.equal("mask", t:explain(11).why)
        assert.equal("outside", t:explain(2).why)
        assert.equal("inside", t:explain(2).state)
        assert.equal(3, t:count())
      end)

      it("know a new life from the former one", function()
        f.open { delivery = "deferred" }
        space, triggers = f.space, f.triggers
        space:enter(1, 0, 0)
        local t = f.add({ radius = 10, outside = true }, EVENTS)
        space:enter(2, 1, 1)
        for _, deliver in ipairs { function() space:flush() end, function() triggers:dispatch(space:drain()) end } do
          deliver()
          space:leave(2)
          space:enter(2, 500, 0)
          deliver()
          assert.equal("first 2, enter 2", take()) -- the former life was in the area
          space:leave(2)
          space:enter(2, 500, 0)
          deliver()
          assert.equal("leave 2, last 2, first 2, enter 2", take())
          space:leave(2)
          space:enter(2, 1, 1)
          deliver()
          assert.equal("leave 2, last 2", take())
          assert.equal(0, t:count())
        end
      end)

      for _, delivery in ipairs { "immediate", "deferred" } do
        it("let go of what the handler of its enter makes leave, " .. delivery, function()
          f.open { delivery = delivery }
          space, triggers = f.space, f.triggers
          for id = 1, 3 do space:enter(id, 0, 0) end
          local t = f.add({ radius = 10, outside = true, mask = 2 }, { "leave" })
          f.handlers.t.enter = function(_, target)
            f.note("enter " .. target)
            space:leave(target)
          end
          local function go_and_change()
            space:move(2, 50, 0) -- which the area reports before the kind
            space:set_kind(2, 2)
          end
          if delivery == "immediate" then -- both in one delivery
            space:add_node(3, 1, 0, function(_, id) return id == 4 and go_and_change() end)
            space:enter(4, 0, 0)
          else
            space:flush()
            go_and_change()
            space:flush()
          end
          space:flush()
          assert.equal("enter 2, leave 2", take())
          assert.equal(0, t:count())
        end)
      end

      it("follow the area and the mask", function()
        local t = f.add({ radius = 10, outside = true, keep = 20 }, EVENTS)
        take()
        f.come(2)
        space:move(2, 15, 0) -- the area keeps it
        assert.equal("leave 2", take())
        t:set_radius(5)
        assert.equal("enter 2", take())
        t:set_area { shape = "circle", radius = 2000 }
        assert.equal(0, t:count())
        assert.matches("leave %d, leave %d, leave %d, last %d", take())
        t:set_mask(4)
        t:set_radius(1)
        assert.equal("", take())
        space:set_kind(3, 4)
        assert.equal("first 3, enter 3", take())
        t:disable()
        assert.equal("leave 3, last 3", take())
        assert.equal("disabled", t:explain(3).state)
        t:enable()
        assert.equal("first 3, enter 3", take())
        t:remove()
        assert.equal("", take())
        assert.same({}, (space:nodes(1)))
        f.nothing_left()
      end)

      it("hurt who is outside, and linger in that", function()
        local zone = { x = 0, y = 0, radius = 50, outside = true, interval = 1, linger = 2 }
        f.handlers.zone = f.recorder(false, { "stay", "leave" })
        f.handlers.zone.stay = function(_, target) f.note("hurt " .. target) end
        f.handlers.zone.leave = function(_, target) f.note("leave " .. target) end
        local t = triggers:region("zone", zone)
        for id = 3, 4 do space:leave(id) end
        take()
        triggers:update(2)
        assert.equal("hurt 2, hurt 2", take())
        space:move(2, 1, 0) -- the carrier of f.add, 1, is inside all the time
        triggers:update(3.5)
        assert.equal("hurt 2", take())
        triggers:update(4)
        assert.equal("leave 2", take())
        triggers:update(9)
        assert.equal("", take())
        assert.equal(0, t:count())
      end)
    end)
  end)
end

describe("options of triggers that linger or are outside", function()
  it("are checked", function()
    local space = aoi.new()
    space:enter(1, 0, 0)
    local triggers = trigger.new(space, { t = { radius = 1 } })
    for option, bad in pairs { linger = -1, enter_after = "5", outside = 1 } do
      assert.error_matches(function() triggers:add(1, "t", { [option] = bad }) end, "bad option '" .. option .. "'")
    end
    assert.error_matches(function() triggers:add(1, "t", { linger = math.huge }) end, "bad option 'linger'")
    triggers:add(1, "t", { linger = 0, enter_after = 0, outside = false })
    assert.equal(1, #space:nodes(1))
  end)
end)
