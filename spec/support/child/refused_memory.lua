-- refused_memory.lua: runs in a Lua state whose allocations can be refused (faulty.c): every method of a space with its
-- n-th allocation refused, n = 1, 2, 3 ... until the method needs no more.
--
-- Each step runs in a space without refusals, which gives the expected state and events; then in another space with the
-- refusal; and once more there if it failed without effect. The state must be that before or that after, never between:
--
--   raised, space as before   no event was delivered; repeated, the step gives what is expected
--   raised, space as after    memory ran out while events were delivered: the other events are still queued
--   no error                  Lua found memory by collecting garbage, or did without
--
-- Arguments: engine, delivery, way ("plain": from the main program, "coroutine": from one that may yield, "on_error":
-- with on_error set, which takes what is refused to a handler, as it takes any error there).
local engine, delivery, way = ...

local aoi = require "aoi"
local dump = require "spec.support.dump"
local zones = require "aoi.zones"

local unpack = table.unpack or unpack -- luacheck: ignore
local refuse, relent = refuse, relent -- luacheck: ignore
local NO_MEMORY = "not enough memory"

-- What was heard, without making garbage: one number an event, into a list that has room.
local ROOM = 400
local function new_record()
  local t = { n = 0 }
  for i = 1, ROOM do t[i] = 0 end
  return t
end

local function code(kind, watcher, target, node_id) return ((kind * 100 + watcher) * 100 + target) * 10 + node_id end

local comb = {}
for i = 1, 20 do
  for _, y in ipairs(i % 2 == 0 and { -5, 5 } or { 5, -5 }) do comb[#comb + 1], comb[#comb + 2] = i - 10, y end
end

local taken = 0 -- by on_error

-- A space with a crowd of 30 and 8 watchers among them; its handlers write into a record. Where on_error is to be
-- tested they need memory before they do, and on_error writes what the handler could not.
local function scene()
  local heard = new_record()
  local space = aoi.new { engine = engine, delivery = delivery }
  local function note(kind, watcher, target, node_id)
    local n = heard.n + 1
    heard.n, heard[n] = n, code(kind, watcher, target, node_id)
  end
  local function on_enter(watcher, target, node_id)
    local _ = way == "on_error" and { watcher }
    note(aoi.ENTER, watcher, target, node_id)
  end
  local function on_leave(watcher, target, node_id)
    local _ = way == "on_error" and { watcher }
    note(aoi.LEAVE, watcher, target, node_id)
  end
  local function on_error(err, watcher, target, node_id)
    if err ~= NO_MEMORY then error(err, 0) end
    taken = taken + 1
    local sees = space:has(target) and space:has_node(watcher, node_id) and space:sees(watcher, node_id, target)
    note(sees and aoi.ENTER or aoi.LEAVE, watcher, target, node_id)
  end
  for id = 1, 30 do space:enter(id, id, id % 7) end
  for id = 1, 8 do space:add_node(id, 1, id, on_enter, on_leave) end
  space:add_node(9, 1, { radius = 3, keep = 5, shape = "circle" }, { enter = on_enter, leave = on_leave })
  space:add_node(10, 1, math.huge)
  for id = 12, 24 do space:add_node(id, 2, 0) end
  space:flush()
  heard.n = 0
  if way == "on_error" then space:on_error(on_error) end
  return { space = space, heard = heard, on_enter = on_enter, on_leave = on_leave,
    rows = { 1, 20, 0, 2, 20, 0, 21, 0, 0, 1, -5, -5 }, new_rows = { 51, 1, 1, 52, 2, 2, 53, 3, 3 },
    gate = { enter = on_enter, leave = on_leave, cross = function(w, t, n) note(3, w, t, n) end },
    comb = { shape = "polygon", points = comb }, beside = { radius = 2, offset = { 9, 0 } },
    buffer = {}, area = { radius = 7, keep = 9 }, table = { enter = on_enter, leave = on_leave } }
end

local function move(s) s.space:move(3, 25, 2) end

local function gates(s)
  s.space:add_node(15, 1, { shape = "polygon", rings = { comb, { -9, 1, 9, 1, 0, 9 } } }, s.gate)
  s.space:add_node(18, 1, s.beside, s.gate)
  s.space:flush()
  s.heard.n = 0
end

-- Three zones; 2 and 3 are in all of them.
local function zoned(s)
  local n = s.heard.n
  local set = zones.new(s.space, { change = function(id, to, from)
    s.heard.n, s.heard[s.heard.n + 1] = s.heard.n + 1, code(4, id, to or 0, from or 0)
  end })
  s.zones = set
  s.region = set:add(1, 30, 0, 0)
  set:add(2, { shape = "circle", radius = 6 }, 3, 3, { priority = 1 })
  set:add(3, 2, 3, 3, { priority = 2 })
  s.space:flush()
  s.heard.n = n
end

-- The node that reports changes of priorities is there.
local function pulsed(s)
  zoned(s)
  s.zones:set_priority(1, -1)
  s.space:flush()
  s.heard.n = 0
end

-- Every method; those of them that fill a table with one of their own, and with the caller's. The third is done before.
-- The fourth: only single requests are refused, as what the step has made first can only be taken back with memory. The
-- fifth: events may wait after an error, of which nobody hears.
local steps = {
  { "enter", function(s) s.space:enter(50, 3, 3) end },
  { "enter with a kind", function(s) s.space:enter(50, 3, 3, 6) end },
  { "move", move },
  { "leave", function(s) s.space:leave(4) end },
  { "set_kind", function(s) s.space:set_kind(5, 0) end },
  { "move_many", function(s) s.space:move_many(s.rows) end },
  { "move_many of two", function(s) s.space:move_many(s.rows, 2) end },
  { "enter_many", function(s) s.space:enter_many(s.new_rows, 3, 3) end },
  { "add_node", function(s) s.space:add_node(11, 1, 6, s.on_enter, s.on_leave) end },
  { "add_node with a table", function(s) s.space:add_node(11, 1, s.area, s.table) end },
  { "add_node without handlers", function(s) s.space:add_node(11, 1, 6) end },
  { "add_node, deaf to enters", function(s) s.space:add_node(11, 1, 6, nil, s.on_leave) end },
  { "add_node with a polygon of many corners", function(s) s.space:add_node(11, 1, s.comb, s.table) end },
  { "add_node that hears of crossings", function(s) s.space:add_node(11, 1, s.beside, s.gate) end },
  { "move across gates", function(s) s.space:move(29, -40, -9) end, gates },
  { "jump across gates", function(s) s.space:jump(29, -40, -9) end, gates },
  { "remove_node", function(s) s.space:remove_node(3, 1) end },
  { "remove_node without handlers", function(s) s.space:remove_node(10, 1) end },
  { "remove_node that sees nobody", function(s) s.space:remove_node(24, 2) end },
  { "leave with a node that sees nobody", function(s) s.space:leave(23) end },
  { "set_radius", function(s) s.space:set_radius(3, 1, 20) end },
  { "set_radius with keep", function(s) s.space:set_radius(3, 1, 2, 4) end },
  { "set_mask", function(s) s.space:set_mask(3, 1, 4) end },
  { "on_error", function(s) s.space:on_error(print) end },
  { "flush", function(s) return s.space:flush() end, move },
  { "view", function(s) return s.space:view(3, 1) end },
  { "view into", function(s) return s.space:view(3, 1, s.buffer) end },
  { "viewers", function(s) return s.space:viewers(6) end },
  { "near", function(s) return s.space:near(3, 3, 5) end },
  { "near into", function(s) return s.space:near(3, 3, 5, 1, s.buffer) end },
  { "ids", function(s) return s.space:ids() end },
  { "nodes", function(s) return s.space:nodes(3) end },
  { "sees", function(s) return s.space:sees(3, 1, 4) end },
  { "position", function(s) return s.space:position(3) end },
  { "kind", function(s) return s.space:kind(3) end },
  { "radius", function(s) return s.space:radius(3, 1) end },
  { "has, count, #", function(s) return s.space:has(3), s.space:count(), s.space:count() end },
  { "stats", function(s) return s.space:stats().entities end },
  { "check", function(s) return s.space:check() end },
  { "tostring", function(s) return #tostring(s.space) > 0 end },
  { "new", function() return aoi.new({ engine = engine }):count() end },
  { "engines", function() return #aoi.engines() end },
  { "a new load", function()
    package.loaded["aoi.core"] = nil
    local other = require "aoi.core"
    package.loaded["aoi.core"] = aoi
    return other.ENTER
  end },
  { "misuse", function(s) return (pcall(s.space.move, s.space, 77, 0, 0)) end },
}

-- Zones are Lua code. LuaJIT 2.1 crashes or loses memory where that of a Lua program is refused, with no module loaded.
if not rawget(_G, "jit") then
  for _, step in ipairs {
    { "zones.new", function(s) return type(zones.new(s.space, {})) end },
    { "zones: add", function(s) s.zones:add(4, s.area, 5, 5, { priority = 3 }) end, zoned, 1 },
    { "a trigger: remove", function(s) s.region:remove() end, zoned },
    { "a move out of zones", function(s) s.space:move(2, 500, 0) end, zoned },
    { "zones: at", function(s) return s.zones:at(2), s.zones:at(25) end, zoned },
    { "zones: all", function(s) return s.zones:all(2) end, zoned },
    { "zones: all into", function(s) return s.zones:all(2, s.buffer) end, zoned },
  } do steps[#steps + 1] = step end
  if way ~= "on_error" then -- it does not know of zones
    steps[#steps + 1] = { "zones: set_priority", function(s) s.zones:set_priority(2, 7) end, pulsed, 1, true }
  end
  -- Where handlers run within the call, one that is refused memory may be the one that ends the region.
  if delivery == "deferred" then
    steps[#steps + 1] = { "zones: remove", function(s) s.zones:remove(3) end, zoned, 1 }
  end
end

if delivery == "deferred" and string.pack then
  steps[#steps + 1] = { "a router of a world", function(s)
    local tiles = require "aoi.skynet.world.tiles"
    local map = tiles.map(tiles.plan { size = 64, reach = 8, tile = 8, shards = 4 })
    return (require "aoi.core.world".router(s.space, map, 1):counts())
  end }
end

if delivery == "deferred" then
  steps[#steps + 1] = { "drain", function(s) return s.space:drain() end, move }
  steps[#steps + 1] = { "drain into", function(s) return s.space:drain(s.buffer) end, move }
  -- Between the two borders of 9's circle: 10 comes from inside and is kept, 14 from outside.
  local function move_between(s)
    s.space:move(10, 13, 2)
    s.space:move(14, 13, 2)
  end
  local function sees(s) return s.space:sees(9, 1, 10), s.space:sees(9, 1, 14) end
  local function explain(s) return s.space:explain(9, 1, 10).why, s.space:explain(9, 1, 14).why end
  steps[#steps + 1] = { "sees between the borders", sees, move_between }
  steps[#steps + 1] = { "explain between the borders", explain, move_between }
end

-- Lists of results as text; tables by what is in them, in order of value.
local function show(...)
  local t = { ... }
  for i = 1, select("#", ...) do
    if type(t[i]) == "table" then
      local list = {}
      for k, v in ipairs(t[i]) do list[k] = v end
      table.sort(list)
      t[i] = table.concat(list, ",")
    else
      t[i] = tostring(t[i])
    end
  end
  return table.concat(t, " ")
end

-- A function that does the step with the n-th request refused (none without n) and returns how many were, then what
-- pcall returns. Memory is short only while the step runs: not where its results are packed away.
local function caller(step, n, many)
  local function short(s)
    if n then refuse(n, many) end
    return step(s)
  end
  local function relax(...) return relent(), ... end
  if way ~= "coroutine" then return function(s) return relax(pcall(short, s)) end end
  return coroutine.wrap(function(s) return relax(pcall(short, s)) end)
end

-- Reserved ids by their order, those of nodes and those of entities: a refused call may use some up.
local function by_order(text, before)
  local list, order, pattern = {}, {}, "(" .. before .. ")(%-45035996%d+)"
  for _, id in text:gmatch(pattern) do
    if not order[id] then list[#list + 1], order[id] = id, 0 end
  end
  table.sort(list)
  for i, id in ipairs(list) do order[id] = "reserved " .. #list - i end
  return (text:gsub(pattern, function(word, id) return word .. order[id] end))
end

-- The dump without its first line, which counts events; and how many wait, once all moves have been judged.
local function look(space)
  space:sees(1, 1, 2) -- a question
  local first, rest = dump(space):match("^([^\n]*)\n(.*)$")
  return by_order(by_order(by_order(rest, "node "), "/"), ""), tonumber(first:match("pending (%d+)"))
end

local function sorted_events(heard)
  local list = {}
  for i = 1, heard.n do list[i] = heard[i] end
  table.sort(list)
  return list
end

-- Is `part` contained in `whole`, as sorted lists, with at most `missing` left out?
local function contained(part, whole, missing)
  local k = 0
  for i = 1, #whole do
    if part[k + 1] == whole[i] then k = k + 1 else missing = missing - 1 end
  end
  return k == #part and missing >= 0
end

-- What it should be: results, the space before and after it, all events in the end.
local function reference(step, prepare)
  local s, r = scene(), {}
  if prepare then prepare(s) end
  r.before, r.waiting = look(s.space)
  local made = s.space:stats().events
  r.result = show(select(2, caller(step)(s)))
  r.after = look(s.space)
  s.space:flush()
  r.events, r.made = sorted_events(s.heard), s.space:stats().events - made
  return r
end

local refused, late = 0, 0

-- One refusal; false if the step did not ask so often.
local function attempt(item, expected, n, many)
  local name, step, prepare, idle = item[1], item[2], item[3], item[5]
  local function blame(what) error(("%s %s %s: %s, request %d refused, %d: %s"):format(engine, delivery, way, name, n,
    many, what), 0) end
  local function check(condition, what) if not condition then blame(what) end end
  local s = scene()
  if prepare then prepare(s) end
  local function split(...) return ..., { select(2, ...) } end
  local count, results = split(caller(step, n, many)(s))
  package.loaded["aoi.core"] = aoi
  local now, waiting = look(s.space)
  if results[1] then
    check(show(unpack(results)) == expected.result, "other results: " .. show(unpack(results)))
    check(now == expected.after, "it succeeded with another outcome")
  else
    check(count > 0, "failed though nothing was refused: " .. tostring(results[2]))
    check(results[2] == NO_MEMORY, "an error in other words: " .. tostring(results[2]))
    if now == expected.before and (waiting == expected.waiting or idle) and s.heard.n == 0 then
      local _, again, why = caller(step)(s)
      if not again then blame("cannot be done again: " .. tostring(why)) end
      check(look(s.space) == expected.after, "done again, it has another outcome")
    else
      check(now == expected.after, "something half done")
      check(expected.made > 0 and (delivery == "immediate" or name == "flush"), "an error after the change")
      late = late + 1
      s.space:flush()
      -- the event whose handler could not be called counts as delivered
      check(contained(sorted_events(s.heard), expected.events, 1), "events got lost")
      s.heard.n = -1
    end
  end
  if s.heard.n >= 0 then
    s.space:flush()
    check(contained(sorted_events(s.heard), expected.events, 0), "other events")
  end
  check(s.space:check() == true, "unsound")
  s.space:close()
  refused = refused + count
  return count > 0
end

for _, item in ipairs(steps) do
  local expected = reference(item[2], item[3])
  for _, many in ipairs { 1, not item[4] and 0 or nil } do
    local n = 1
    while attempt(item, expected, n, many) do
      n = n + 1
      if n > 1000 then error(item[1] .. ": no end of requests", 0) end
    end
  end
end
if way == "on_error" and taken == 0 then error("on_error was never asked", 0) end
return ("%d refusals, %d of them during delivery, %d taken by on_error"):format(refused, late, taken)
