-- trigger_fixture.lua: a space with triggers whose handlers record, for the specs of aoi.trigger.
--
--   local f = trigger_fixture(engine)
--   before_each(function() space, handlers, triggers = f.start() end)
--   f.add { radius = 10 }              trigger "t" on entity 1
--   f.crowd(2) f.come(2)               entities 2 and 3 far away; 2 comes near
--   f.take()                           "first 2, enter 2": the calls since the last take
local aoi = require "aoi"
local assert = require "luassert"
local trigger = require "aoi.trigger"

local MONSTER = 2
local EVENTS = { "first", "enter", "stay", "dwell", "leave", "last" }

return function(engine)
  local f, log = {}, {}

  -- New triggers on the same space, starting at the time `now`.
  function f.new_triggers(now)
    f.triggers = trigger.new(f.space, f.handlers, now)
    return f.triggers
  end

  -- A new space with new triggers; the handlers stay.
  function f.open(options)
    local chosen = { engine = engine }
    for name, value in pairs(options or {}) do chosen[name] = value end
    f.space = aoi.new(chosen)
    return f.space, f.new_triggers()
  end

  -- Everything new. Entity 1 carries triggers, 2, 3, ... walk.
  function f.start()
    log, f.handlers = {}, {}
    f.open()
    f.space:enter(1, 0, 0, MONSTER)
    return f.space, f.handlers, f.triggers
  end

  function f.note(text) log[#log + 1] = text end

  function f.take()
    local heard = table.concat(log, ", ")
    log = {}
    return heard
  end

  -- Handlers that record their calls: "enter 2" is enter about target 2; with `long`, for many triggers, "enter 1>2".
  function f.recorder(long, names)
    local own = {}
    for _, event in ipairs(names or EVENTS) do
      own[event] = function(id, target, t)
        f.note(("%s %s%d"):format(event, long and id .. ">" or "", target))
        assert(t.id == id and f.triggers:get(id, t.name) == t)
      end
    end
    return own
  end

  function f.add(options, events)
    f.handlers.t = f.recorder(false, events or { "first", "enter", "leave", "last" })
    return f.triggers:add(1, "t", options)
  end

  -- 2, 3, ... far away.
  function f.crowd(n)
    for id = 2, n + 1 do f.space:enter(id, 1000 + id, 0) end
  end

  function f.come(id) f.space:move(id, 1, 1) end

  function f.go(id) f.space:move(id, 1000 + id, 0) end

  function f.nothing_left()
    collectgarbage()
    collectgarbage()
    for name, n in pairs(f.triggers:stats()) do assert.equal(0, n, name) end
    for name, list in pairs(f.triggers) do
      if type(list) == "table" and not ("handlers timers spare_maps steps crossing"):find(name) then
        assert.is_nil(next(list), name)
      end
    end
  end

  return f
end
