-- Triggers: removal of trigger, carrier and target, also inside of each handler, leaves nothing behind.
local aoi = require "aoi"
local trigger = require "aoi.trigger"
local trigger_fixture = require "spec.support.trigger_fixture"
local tree = require "spec.support.tree"

local EVENTS = { "first", "enter", "stay", "dwell", "leave", "last" }

for _, engine in ipairs(tree.engines) do
  describe("removal of triggers on " .. engine .. ":", function()
    local f = trigger_fixture(engine)
    local recorder, take, note, crowd, come, go, add, nothing_left =
      f.recorder, f.take, f.note, f.crowd, f.come, f.go, f.add, f.nothing_left
    local space, handlers, triggers
    before_each(function() space, handlers, triggers = f.start() end)

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
                note("REMOVED")
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
                assert.is_nil(next(triggers.triggers))
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

    local kinds = {
      plain = {}, interval = { interval = 1 }, linger = { linger = 1 }, outside = { outside = true },
      limit = { limit = 1 }, once = { once = true }, cooldown = { cooldown = 1 },
    }
    local deliveries = {
      disable = function(t) t:disable() end,
      set_mask = function(t) t:set_mask(0) end,
      set_area = function(t, kind) t:set_area(kind == "outside" and 2000 or 1) end,
      move = function(_, kind) space:move(2, kind == "outside" and 0 or 1000, 0) end,
      update = function(_, kind)
        space:move(2, kind == "outside" and 0 or 1000, 0)
        triggers:update(5)
      end,
    }

    for kind, options in pairs(kinds) do
      for name, deliver in pairs(deliveries) do
        it(("a handler of a trigger, %s, closes the space in %s"):format(kind, name), function()
          local calls = 0
          local function close()
            calls = calls + 1
            space:close()
          end
          handlers.t = { radius = 10, leave = close, stay = kind == "interval" and close or nil }
          space:enter(2, kind == "outside" and 1000 or 5, 0)
          space:enter(3, kind == "outside" and 1000 or 5, 0)
          local t = triggers:add(1, "t", options)
          deliver(t, kind)
          assert.is_true(calls == 1 or kind == "linger") -- which may leave later
          space:close()
          assert.is_false(t:alive())
          assert.is_false(t:has(2))
          t:remove()
          triggers:update(10)
          nothing_left()
        end)
      end
    end

    it("a handler closes the space while drained events are dispatched", function()
      space, triggers = f.open { delivery = "deferred" }
      local calls = 0
      handlers.t = { radius = 10, enter = function()
        calls = calls + 1
        space:close()
      end }
      for id = 1, 3 do space:enter(id, 0, 0) end
      triggers:add(1, "t")
      triggers:dispatch(space:drain {})
      assert.equal(1, calls)
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
  end)
end
