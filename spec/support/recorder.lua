-- recorder.lua: spaces whose calls return the events they caused, as text.
--
--   local it = recorder.new { engine = "grid" }
--   it.space:enter(1, 0, 0)
--   it.space:add_node(1, 7, 5, it.enter, it.leave)       handlers that record
--   it.call("enter", 2, 1, 1)                             "enter 1/7 2": sorted, because engines differ in their order
--
--   local pair = recorder.against_brute { engine = "grid" }
--   pair.both("move", 2, 9, 9)                            the same call in both; fails where the events differ
local aoi = require "aoi"
local assert = require "luassert"

local recorder = {}

function recorder.new(options)
  local heard = {}
  local function hear(what)
    return function(watcher, target, node) heard[#heard + 1] = ("%s %d/%d %d"):format(what, watcher, node, target) end
  end
  local it = { space = aoi.new(options), enter = hear("enter"), leave = hear("leave") }
  function it.call(verb, ...)
    it.space[verb](it.space, ...)
    table.sort(heard)
    local events = table.concat(heard, ", ")
    for i = #heard, 1, -1 do heard[i] = nil end
    return events
  end
  return it
end

-- A space of the engine, and one of brute force that gets the same calls.
function recorder.against_brute(options)
  local reference = {}
  for name, value in pairs(options) do reference[name] = value end
  reference.engine = "brute"
  local one, brute, calls = recorder.new(options), recorder.new(reference), 0
  local pair = { one = one, brute = brute }

  -- assert.equal formats its message even where all is well, so it is asked only about a difference.
  local function same(verb, expected, got)
    calls = calls + 1
    if expected ~= got then assert.equal(expected, got, ("call %d, %s"):format(calls, verb)) end
  end

  function pair.both(verb, ...) same(verb, brute.call(verb, ...), one.call(verb, ...)) end

  -- Adds a node whose events are recorded, to both.
  function pair.watch(id, node_id, area)
    same("add_node", brute.call("add_node", id, node_id, area, brute.enter, brute.leave),
      one.call("add_node", id, node_id, area, one.enter, one.leave))
  end

  function pair.check() assert.is_true(one.space:check()) end

  function pair.close()
    one.space:close()
    brute.space:close()
  end

  return pair
end

return recorder
