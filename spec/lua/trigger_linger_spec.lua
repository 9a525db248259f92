-- Triggers that linger, and triggers whose inside is what is not in their area.
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

    describe("with outside", function()
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
