-- Triggers: errors in handlers, handlers that yield, misuse, and deferred spaces.
local trigger_fixture = require "spec.support.trigger_fixture"
local tree = require "spec.support.tree"

local function noop() end

for _, engine in ipairs(tree.engines) do
  describe("trigger errors on " .. engine .. ":", function()
    local f = trigger_fixture(engine)
    local recorder, take, note, crowd, come, go, add, nothing_left =
      f.recorder, f.take, f.note, f.crowd, f.come, f.go, f.add, f.nothing_left
    local space, handlers, triggers
    before_each(function() space, handlers, triggers = f.start() end)

    local rich = {
      radius = 10, interval = 1, after = 1.5, limit = 2, cooldown = 0.25, filter = function() return true end,
    }

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
            note("resumed")
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

    it("a trigger with outside may be disabled by an event that waits while it is added", function()
      handlers.t = recorder(false, { "enter", "leave" })
      local heard = 0
      crowd(2) -- 2 and 3, far away
      space:enter(9, 30, 0, 4)
      space:add_node(9, 1, 5, function()
        heard = heard + 1
        if heard == 1 then error("the second one waits", 0) end
        triggers:get(1, "t"):disable()
        triggers:get(1, "t"):set_mask(1)
      end)
      assert.is_false(pcall(space.move_many, space, { 2, 31, 0, 3, 31, 0 }))
      local t = triggers:add(1, "t", { radius = 2, outside = true })
      assert.same({ 2, false, 0, "" }, { heard, t:enabled(), t:count(), take() })
      t:enable()
      assert.equal(2, t:count()) -- not 9, which is of another kind
      assert.is_true(space:check())
    end)

    -- Deferred spaces ----------------------------------------------------------------------------------------------

    it("an error while dispatching loses nothing", function()
      space, triggers = f.open { delivery = "deferred" }
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

    it("a mistake in a handler that a change of the trigger calls is the handler's own", function()
      handlers.t = { enter = function(id, target) space:set_radius(id, 99, -target) end }
      local t = triggers:add(1, "t", { radius = 1 })
      crowd(1)
      space:move(2, 5, 0)
      space:add_node(1, 99, 0)
      for argument, radius in pairs { [3] = 10, [1] = -1 } do
        local ok, err = pcall(function() t:set_radius(radius) end)
        assert.is_false(ok)
        local words = ("bad argument #%d to 'set_radius' (radius must not be negative or nan, got %d)"):format(
          argument, argument == 3 and -2 or -1)
        assert.truthy(err:find("^[^:]*trigger_errors_spec.lua:%d+: "), err)
        assert.equal(words, err:match ": (.*)$")
      end
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
      local data = triggers:save()
      for _, call in ipairs {
        function() triggers:add(1, "t", rich) end,
        function() triggers:region("t", { x = 0, y = 0, radius = 10 }) end,
        function() triggers:load(data) end,
      } do
        assert.has_error(call, "attempt to use a closed set of triggers")
      end
      assert.equal(1, space:count())
      triggers = f.new_triggers()
      triggers:add(1, "t", rich)
      space:close()
      triggers:close()
    end)
  end)
end
