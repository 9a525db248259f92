-- Converts triggers to plain data and back, for `Triggers:save` and `Triggers:load`.
--
--   { version, time, triggers = { oldest first
--       { id, name, node, region = {x, y [, z]}, area, mask, layers, disabled, filter = "own" or "shared",
--         interval, after, limit, cooldown, once, enter_after, linger, spent, ready, data,
--         targets = {id, ...}                             of a plain trigger: the targets inside
--         visits = { { target, state, since, stays } ... }   of others: the queue first, in its order
--         gate; of visits stay, dwell, linger, arrival } } }   timers that are set: numbers in the order they were set
--
-- The due time of a timer follows from the other fields, except for `linger` and `arrival`: the visit has `due`. All
-- times belong to the clock of `time`; loading converts them to the clock of the set, without any rounding if both are
-- the same.
--
-- A loaded trigger has a new node, which begins with the view of the old one (Space:adopt). So loading makes events for
-- differences only, none in an equal space. They are queued until every trigger is loaded.

local check = require "aoi.trigger.options"
local checks = require "aoi.checks"
local events = require "aoi.trigger.events"
local registry = require "aoi.trigger.registry"
local reserved = require "aoi.reserved"
local steps = require "aoi.trigger.steps"
local visits = require "aoi.trigger.visits"

local saved = {}

local VERSION = 1
local OPTIONS = { "mask", "layers", "interval", "after", "once", "enter_after", "linger", "spent", "data" }

-- Saving ------------------------------------------------------------------------------------------------------------

local function save_visit(visit, ranks)
  local inside = visit.state == visits.INSIDE
  return {
    target = visit.target, state = visit.state,
    since = inside and visit.since or nil, stays = inside and visit.stays or nil,
    stay = ranks[visit.stay], dwell = ranks[visit.dwell], linger = ranks[visit.linger], arrival = ranks[visit.arrival],
    due = visits.lingers(visit) and visit.linger.due or visit.state == visits.ARRIVING and visit.arrival.due or nil,
  }
end

local function save_visits(t, ranks)
  local list = {}
  local visit = t.head
  while visit do
    list[#list + 1] = save_visit(visit, ranks)
    visit = visit.next
  end
  local others = {}
  for target, v in pairs(t.visits) do
    if v.state ~= visits.WAITING then others[#others + 1] = target end
  end
  table.sort(others) -- for reproducible data
  for _, target in ipairs(others) do list[#list + 1] = save_visit(t.visits[target], ranks) end
  return list
end

-- The number of visits that a trigger must have according to its node.
local function known_by_node(t, in_area)
  local lingering = 0
  for _, visit in pairs(t.visits) do
    if visits.lingers(visit) then lingering = lingering + 1 end
  end
  return in_area + lingering
end

-- Returns nil if the trigger has not processed all events of its node: they were drained and not dispatched.
-- @param ranks of the timers, see Timers:ranks
local function save_trigger(t, ranks)
  local set = t.set
  local space = set.space
  local seen, n = space:view(t.id, t.node)
  if not t.spent and (t.known or set.inside[t.slot]) ~= (t.visits and known_by_node(t, n) or n) then return nil end
  local s = { id = t.id, name = t.name, node = t.node, area = space:area(t.id, t.node), disabled = t.disabled or nil }
  for _, option in ipairs(OPTIONS) do s[option] = t[option] end
  if t.is_region then s.region = { space:position(t.id) } end
  if not t.visits then
    table.sort(seen)
    s.targets = seen
    return s
  end
  s.visits = save_visits(t, ranks)
  if t.filter then s.filter = t.filter == true and "shared" or "own" end
  if t.limit < math.huge then s.limit = t.limit end
  if t.cooldown > 0 then s.cooldown = t.cooldown end
  if t.ready > set.time or t.gate.place then s.ready = t.ready end
  s.gate = ranks[t.gate]
  return s
end

--- The triggers of a set as data; nil and the reason if they cannot be saved now.
function saved.save(set)
  registry.sweep_all(set)
  local waiting = set.space:stats().pending + set.steps.n
  if waiting > 0 then return nil, ("%d events or calls wait: deliver them first"):format(waiting) end
  local list, order, ranks = {}, {}, set.timers:ranks()
  for i, t in ipairs(set.all) do order[i] = t end
  table.sort(order, function(a, b) return a.slot < b.slot end)
  for i, t in ipairs(order) do
    if t.sight then return nil, ("trigger '%s' sees past walls, which cannot be saved"):format(t.name) end
    list[i] = save_trigger(t, ranks)
    if not list[i] then return nil, "events wait that were drained: dispatch them first" end
  end
  return { version = VERSION, time = set.time, triggers = list }
end

-- Checking ----------------------------------------------------------------------------------------------------------

local function is_table(v) return type(v) == "table" end
-- Expects a list without holes and other fields, so that ipairs, pairs and # agree.
local function is_list(v)
  if not is_table(v) then return false end
  local n = 0
  for _ in pairs(v) do n = n + 1 end
  for i = 1, n do
    if v[i] == nil then return false end
  end
  return true
end

local function is_state(v) return v == "arriving" or v == "refused" or v == "waiting" or v == "inside" end
local function is_true(v) return v == true end
local function is_index(v) return check.is_whole(v) and v >= 1 end
local function is_count(v) return check.is_whole(v) and v >= 0 and v < 2 ^ 53 end

-- Field -> { check, whether it is required }.
local DATA = { version = { function(v) return v == VERSION end, true }, time = { check.is_finite, true } }
DATA.triggers = { is_list, true }
local OF_VISITS = { -- beside `visits` only
  filter = { function(v) return v == "own" or v == "shared" end },
  interval = { check.is_positive }, after = { check.is_delay },
  limit = { is_index }, cooldown = { check.is_positive }, once = { is_true }, spent = { is_true },
  linger = { check.is_positive }, enter_after = { check.is_positive }, ready = { check.is_finite }, gate = { is_index },
}
local TRIGGER = {
  id = { check.is_whole, true }, name = { function(v) return v ~= nil end, true }, node = { check.is_whole, true },
  region = { is_list }, area = { is_table, true }, mask = { check.is_whole }, layers = { check.is_whole },
  disabled = { is_true }, data = { function() return true end }, targets = { is_list }, visits = { is_list },
}
for name, field in pairs(OF_VISITS) do TRIGGER[name] = field end
local VISIT = {
  target = { check.is_whole, true }, state = { is_state, true }, since = { check.is_finite },
  stays = { is_count }, stay = { is_index }, dwell = { is_index }, linger = { is_index },
  arrival = { is_index }, due = { check.is_finite },
}

-- Returns the error in the fields of a table, or nil.
local function fault_of(t, fields)
  if not is_table(t) then return "table expected, got " .. type(t) end
  for name, field in pairs(fields) do
    local value = t[name]
    if value == nil and field[2] then return ("no '%s'"):format(name) end
    if value ~= nil and not field[1](value) then return ("bad '%s'"):format(name) end
  end
  for name in pairs(t) do
    if not fields[name] then return ("unknown field '%s'"):format(tostring(name)) end
  end
end

local function target_fault(s, target, known)
  if not checks.is_integer(target) or target == s.id then return "bad target" end
  if known[target] then return "a target stands there twice" end
  known[target] = true
end

local function targets_fault(s, targets)
  local known = {}
  for _, target in ipairs(targets or {}) do
    local fault = target_fault(s, target, known)
    if fault then return fault end
  end
end

-- Overdue timers are an error, since an update could fire them any number of times.
local function visit_fault(s, visit, time, known)
  local fault = fault_of(visit, VISIT) or target_fault(s, visit.target, known)
  if fault then return fault end
  local inside = visit.state == "inside"
  if (visit.since ~= nil) ~= inside or (visit.stays ~= nil) ~= inside then return "bad 'since' or 'stays'" end
  if (visit.stay ~= nil) ~= (inside and s.interval ~= nil) then return "bad 'stay'" end
  if visit.dwell and not (inside and s.after) then return "bad 'dwell'" end
  local arriving = visit.state == "arriving"
  if (visit.arrival ~= nil) ~= arriving or arriving and not s.enter_after then return "bad 'arrival'" end
  if visit.linger and not (inside and s.linger) then return "bad 'linger'" end
  if (visit.due ~= nil) ~= (visit.linger ~= nil or arriving) then return "bad 'due'" end
  if visit.due and visit.due < time then return "'due' is overdue" end
  if visit.stay and visit.since + (visit.stays + 1) * s.interval < time then return "'stay' is overdue" end
  if visit.dwell and visit.since + s.after < time then return "'dwell' is overdue" end
end

local function visits_fault(s, time)
  local known, is_waiting = {}, true
  if s.targets then return "'targets' and 'visits'" end
  for i, visit in ipairs(s.visits) do
    local fault = visit_fault(s, visit, time, known)
    if fault then return ("visit %d: %s"):format(i, fault) end
    if visit.state == "waiting" and not is_waiting then return "those that wait must come first" end
    is_waiting = visit.state == "waiting"
  end
  if s.gate and not (s.ready and s.ready >= time and s.visits[1] and s.visits[1].state == "waiting") then
    return "bad 'gate'"
  end
end

local function plain_fault(s)
  for name in pairs(OF_VISITS) do
    if s[name] ~= nil then return ("'%s' without 'visits'"):format(name) end
  end
  return targets_fault(s, s.targets)
end

local function are_bits(set, mask, layers)
  return not checks.near_fault(set.space, { radius = 0, mask = mask, layers = layers })
end

local function place_fault(set, s)
  local x, y, z = s.region[1], s.region[2], s.region[3]
  if #s.region ~= set.space:dimensions() or checks.near_fault(set.space, { radius = 0, mask = 0 }, x, y, z) then
    return "bad 'region'"
  end
end

local function area_fault(set, s)
  local why = checks.area_fault(set.space, s.area)
  if why then return "'area': " .. why end
  if s.area.outside ~= nil and type(s.area.outside) ~= "boolean" then return "'area': bad 'outside'" end
  if not are_bits(set, s.area.mask) or not are_bits(set, s.mask) then return "bad 'mask'" end
  if not are_bits(set, 0, s.layers) then return "bad 'layers'" end
end

-- Whether the entity of a region was in the space when it was loaded and still is.
local function is_loaded(set, s)
  return reserved.is_old_entity(set.space, s.id) and reserved.is_old_node(set.space, s.node)
    and set.space:has(s.id) and set.space:has_node(s.id, s.node)
end

local function trigger_fault(set, s, time, names)
  local fault = fault_of(s, TRIGGER)
  if fault then return fault end
  if not checks.is_integer(s.id) then return "bad 'id'" end
  if not is_table(set.handlers[s.name]) then return ("no handlers named '%s'"):format(tostring(s.name)) end
  if s.region then
    fault = place_fault(set, s)
    if fault then return fault end
  else
    if not set.space:has(s.id) then return ("no entity %s"):format(checks.spell(s.id)) end
    local family = registry.family(set, s.id)
    local key = names[s.id] or {}
    if key[s.name] or family and family[s.name] then
      return ("entity %s already has a trigger '%s'"):format(checks.spell(s.id), tostring(s.name))
    end
    key[s.name], names[s.id] = true, key
  end
  return area_fault(set, s) or (s.visits and visits_fault or plain_fault)(s, time)
end

-- Filters that were given to `add` are functions, which the caller provides. Returns them by index of the trigger.
local function ask_filters(list, ask)
  local filters = {}
  for i, s in ipairs(list) do
    if s.filter == "own" then
      filters[i] = ask and ask(s.id, s.name)
      if type(filters[i]) ~= "function" then
        return nil, ("trigger %d, '%s' of %s: it has a filter of its own, which the second argument returns"):format(
          i, tostring(s.name), checks.spell(s.id))
      end
    end
  end
  return filters
end

local function data_fault(set, data)
  local fault, names = fault_of(data, DATA), {}
  if fault then return fault end
  for i, s in ipairs(data.triggers) do
    fault = trigger_fault(set, s, data.time, names)
    if fault then return ("trigger %d: %s"):format(i, fault) end
  end
end

--- Checks all data, so that loading cannot fail half way; again after `ask`, which may change anything.
-- @return filters by index; nil and the reason if `save` does not make such data, or it does not fit the space
function saved.check(set, data, ask)
  local fault = data_fault(set, data)
  if fault then return nil, fault end
  local filters, why = ask_filters(data.triggers, ask)
  if not filters then return nil, why end
  fault = next(filters) and set.space:is_open() and data_fault(set, data)
  if fault then return nil, fault end
  return filters
end

-- Loading -----------------------------------------------------------------------------------------------------------

-- Appends the timers to `timers`: { order, record, due } each.
local function load_visit(t, v, shift, timers)
  local visit = visits.new(t, v.target)
  if v.state == "waiting" then visits.enqueue(visit) end
  if v.arrival then
    visit.state = visits.ARRIVING
    timers[#timers + 1] = { v.arrival, visit.arrival, v.due + shift }
  end
  if v.state ~= "inside" then return end
  visit.state, visit.since, visit.stays = visits.INSIDE, v.since + shift, v.stays
  t.set.inside[t.slot] = t.set.inside[t.slot] + 1
  if v.stay then timers[#timers + 1] = { v.stay, visit.stay, visit.since + (v.stays + 1) * t.interval } end
  if v.dwell then timers[#timers + 1] = { v.dwell, visit.dwell, visit.since + t.after } end
  if v.linger then timers[#timers + 1] = { v.linger, visit.linger, v.due + shift } end
end

-- Loads targets and timers before the node is added. Returns the targets that the node has seen.
local function load_inside(t, s, shift, timers)
  local set, seen = t.set, {}
  if not t.visits then
    set.inside[t.slot] = #(s.targets or {})
    return s.targets or {}
  end
  for _, v in ipairs(s.visits) do
    if not v.linger or not set.space:has(v.target) then seen[#seen + 1] = v.target end -- what is gone leaves
    load_visit(t, v, shift, timers)
  end
  set.passed[t.slot] = t.head and true -- the next update settles it, for a handler may have brought the head back
  t.occupied, t.spent = set.inside[t.slot] > 0, s.spent
  if s.ready then t.ready = s.ready + shift end
  if s.gate then timers[#timers + 1] = { s.gate, t.gate, t.ready } end
  return seen
end

-- Adds the node, in place of the one that was in the loaded space.
local function install(set, t, s, seen)
  local space, overrides = set.space, {}
  if reserved.is_old_node(space, s.node) and space:has_node(t.id, s.node) then
    overrides = space:overrides(t.id, s.node)
    space:remove_node(t.id, s.node)
  end
  for _, v in ipairs(s.visits or {}) do
    if v.linger then overrides[#overrides + 1], overrides[#overrides + 2] = v.target, "tell end" end
  end
  space:adopt(t.id, t.node, s.area, seen, events.of(set, t.name, s.area))
  for i = 1, #overrides, 2 do
    if space:has(overrides[i]) then space:override(t.id, t.node, overrides[i], overrides[i + 1]) end
  end
end

local function load_region(set, t, s)
  t.is_region = true
  if is_loaded(set, s) then return s.id end
  return reserved.entity(set.space, s.region[1], s.region[2], s.region[3])
end

local function load_trigger(set, new, s, filter, shift, timers)
  local o = {}
  for name, value in pairs(s) do o[name] = value end
  o.enabled, o.has_visits, o.filter = not s.disabled, s.visits ~= nil, filter or s.filter == "shared"
  local t = new(set, s.name, o)
  registry.insert(set, t, s.region and load_region(set, t, s) or s.id)
  return install(set, t, s, load_inside(t, s, shift, timers))
end

local function load_all(set, data, filters, new)
  local shift, timers = set.time - data.time, {}
  for i, s in ipairs(data.triggers) do load_trigger(set, new, s, filters[i], shift, timers) end
  table.sort(timers, function(a, b) return a[1] < b[1] end)
  for _, timer in ipairs(timers) do set.timers:set(timer[2], timer[3]) end
end

--- Adds the triggers of checked data. No handler is called before all are there.
-- @param new new(set, name, options): makes a trigger without an entity
function saved.load(set, data, filters, new)
  local hold = steps.hold(set, coroutine.running())
  local ok, err = pcall(checks.as_one, set.space, load_all, set, data, filters, new)
  steps.release(set, hold)
  if not ok then error(err, 0) end
end

return saved
