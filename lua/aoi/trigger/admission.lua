-- Admission to triggers with visits: filter, limit, cooldown, once, linger; and what the timers of visits do.
--
--   arrive --filter--> REFUSED
--          --open----> INSIDE   (admit, then welcome calls the handlers)
--          --closed--> WAITING  until settle finds the trigger open: after a leave, or when the gate's timer fires
--
-- A trigger is open while fewer than `limit` are inside, `cooldown` has passed since the last one was admitted, and
-- `once` has not fired.

local checks = require "aoi.checks"
local clock = require "aoi.trigger.clock"
local registry = require "aoi.trigger.registry"
local reserved = require "aoi.reserved"
local steps = require "aoi.trigger.steps"
local visits = require "aoi.trigger.visits"

local alive, kill = registry.alive, registry.kill
local run = steps.run
local REFUSED, WAITING, INSIDE = visits.REFUSED, visits.WAITING, visits.INSIDE

local admission = {}

-- Calls a handler of a trigger.
local function call(t, event, target) return steps.call(t.set, event, t.slot, t.id, target) end

local function push(t, step, target) return steps.push(t.set, step, t.slot, t.id, target) end

-- After `once` has fired: the trigger admits no more targets, and those inside do not dwell any more.
local function spend(t)
  t.spent = true
  while t.head do visits.dequeue(t.head) end
  for _, visit in pairs(t.visits) do t.set.timers:cancel(visit.dwell) end
end

local function open(t)
  local set = t.set
  return not t.spent and set.inside[t.slot] < t.limit and t.ready <= set.time
end

local function admit(t, visit)
  local set = t.set
  local time, heap = set.time, set.timers
  visit.state, visit.since, visit.stays = INSIDE, time, 0
  set.inside[t.slot] = set.inside[t.slot] + 1
  t.ready = time + t.cooldown
  if t.once and not t.after then spend(t) end
  if t.after then heap:set(visit.dwell, time + t.after) end
  if t.interval then heap:set(visit.stay, time + t.interval) end
end

-- Calls the handlers for a target that was admitted.
local function welcome(t, target)
  if t.occupied then return call(t, "enter", target) end
  t.occupied = true
  return steps.begin(t.set, t.set.handlers[t.name], t.slot, t.id, target)
end

-- Does the next thing that follows from the state of a trigger, and pushes itself for the one after it: admits the head
-- of the queue, calls `last`, removes a trigger that is spent, or sets the gate's timer. `target` came or left; it is
-- the last one if the trigger is empty now.
local function settle(set, slot, _, target)
  local t = set.triggers[slot]
  while t.head and open(t) do
    local visit = t.head
    local admitted = visit.target
    visits.dequeue(visit)
    if set.space:has(admitted) then -- if not, its leave event is on the way
      admit(t, visit)
      push(t, settle, admitted)
      return welcome(t, admitted)
    end
  end
  if set.inside[slot] == 0 then
    if t.occupied then
      t.occupied = false
      push(t, settle, target)
      return call(t, "last", target)
    elseif t.spent then
      return t:remove()
    end
  end
  if t.head and not t.gate.place and set.inside[slot] < t.limit then set.timers:set(t.gate, t.ready) end
end

local function settle_all(t, target)
  settle(t.set, t.slot, t.id, target)
  return run(t.set)
end

local function passes(t, target)
  local filter = t.filter
  if filter == true then
    local own = t.set.handlers[t.name]
    filter = own and own.filter
  end
  return not filter or filter(t.id, target, t)
end

-- Calls the filter, which may change anything. Returns whether the visit still exists, and whether the target passes.
local function ask(t, visit)
  if not t.filter then return true, true end
  local target = visit.target
  local ok = passes(t, target)
  local stands = alive(t) and t.visits[target] == visit
  return stands, stands and ok
end

-- Lingering ----------------------------------------------------------------------------------------------------------

-- A target that is out of the area gives no event when it leaves the space. So the second node of a trigger that
-- lingers is shown each target that the trigger knows, before any handler is called: later would be too late, as one
-- may make the target leave before that node's enter is delivered. That of one with `outside` sees it anyway.
local function is_shown(t) return t.linger and not t.outside end

--- Shows a target to the second node.
function admission.show(t, target)
  local set, space = t.set, t.set.space
  if not reserved.has_node(space, t.id, t.second) then
    space:add_node(t.id, t.second, { radius = 0, mask = 0, label = t.label }, set.enter, set.leave)
  end
  if alive(t) and space:has(target) then space:override(t.id, t.second, target, "show") end
end

-- A step: calls of the space deliver what waits, so that this comes when all else is done.
local function hide(set, slot, id, target)
  local t, space = set.triggers[slot], set.space
  if t.visits[target] or not space:has(target) then return end
  if reserved.has_node(space, id, t.second) then space:override(id, t.second, target, nil) end
end

-- A step for the same reason, where the trigger lingers. The target may have left the space before it.
local function come(set, slot, _, target)
  local t = set.triggers[slot]
  if t.spent or t.visits[target] or not set.space:has(target) then return end
  local visit = visits.new(t, target)
  if t.filter then
    local _, ok = ask(t, visit)
    if not ok or t.spent or visit.state ~= REFUSED then return end
  end
  if not t.head and open(t) and (not t.filter or set.space:has(target)) then
    admit(t, visit)
    return welcome(t, target)
  end
  visits.enqueue(visit)
  return settle_all(t, target)
end

--- A target came into the area.
function admission.arrive(t, target)
  local known = t.visits[target]
  if known and visits.lingers(known) then t.set.timers:cancel(known.linger) end
  if known or t.spent then return end
  if not is_shown(t) then return come(t.set, t.slot, t.id, target) end
  push(t, come, target)
  admission.show(t, target)
  return run(t.set)
end

-- Ends a stay or a wait, and calls what follows. With `gone` the visit itself ends: the node has lost the target.
local function leave(t, visit, gone)
  local set, slot, target, state = t.set, t.slot, visit.target, visit.state
  if state == WAITING then visits.dequeue(visit) end
  visit.state = REFUSED
  if gone then visits.free(visit) else visits.cancel(visit) end
  if state ~= INSIDE then return end
  local n = set.inside[slot] - 1
  set.inside[slot] = n
  local muted = set.mutes > 0 and steps.unmute(set, slot, target)
  if t.head or t.spent then
    push(t, settle, target)
    if not muted then call(t, "leave", target) end
    return run(set)
  elseif n > 0 then
    if not muted then return call(t, "leave", target) end
  else
    t.occupied = false
    return steps.finish(set, set.handlers[t.name], slot, t.id, target, muted)
  end
end

local function exit(t, visit, gone)
  if not (gone and is_shown(t)) then return leave(t, visit, gone) end
  push(t, hide, visit.target)
  leave(t, visit, gone)
  return run(t.set)
end

-- Whether a target that went out of the area stays inside for a while, and is not another by the same id.
local function may_linger(t, visit)
  local target = visit.target
  return t.linger and visit.state == INSIDE and not t.disabled and not (t.mutes and t.mutes[target])
    and checks.life(t.set.space, target) == visit.life
end

--- A target went out of the area. If that is because the carrier has left, the trigger is silent.
-- @param at_once whether it leaves even where the trigger lingers: it has left the space, or does not count any more
function admission.depart(t, target, at_once)
  if not alive(t) then return kill(t) end
  local visit = t.visits[target]
  if not visit then return end
  if at_once or not may_linger(t, visit) then return exit(t, visit, true) end
  if visits.lingers(visit) then return end
  t.set.timers:set(visit.linger, t.set.time + t.linger)
end

--- Ends what lingers: the trigger is disabled.
function admission.linger_no_more(t)
  local list = {}
  if not alive(t) then return end
  for _, visit in pairs(t.visits) do
    if visits.lingers(visit) then list[#list + 1] = visit.target end
  end
  table.sort(list)
  for _, target in ipairs(list) do
    if alive(t) then admission.depart(t, target, true) end
  end
end

--- Calls the filter again for a target in the area: its answer may have changed.
function admission.ask_again(t, target)
  local visit = t.visits[target]
  if not visit then return end
  local stands, ok = ask(t, visit)
  if not stands then return end
  if not ok then return exit(t, visit) end
  if visit.state == REFUSED and not t.spent then
    visits.enqueue(visit)
    return settle_all(t, target)
  end
end

-- Timers ------------------------------------------------------------------------------------------------------------

-- Whether a timer may call a handler for this target; if not, its leave event is on the way.
local function present(t, target)
  if not alive(t) then return kill(t) end
  return t.set.space:has(target) and not (t.mutes and t.mutes[target])
end

local function stay(visit)
  local t, target = visit.trigger, visit.target
  local set = t.set
  if not present(t, target) then return end
  visit.stays = visit.stays + 1 + clock.skipped(set, visit.stay.due, t.interval)
  local due = visit.since + (visit.stays + 1) * t.interval -- not a sum of intervals: rounding would drift
  if due <= set.time then error(("trigger '%s': the clock is too large for its interval"):format(t.name), 0) end
  set.timers:set(visit.stay, due)
  return call(t, "stay", target)
end

local function dwell(visit)
  local t, target = visit.trigger, visit.target
  if not present(t, target) then return end
  if t.once then spend(t) end
  return call(t, "dwell", target)
end

local function cooled_down(t)
  if not alive(t) then return kill(t) end
  return settle_all(t)
end

local function linger_over(visit)
  local t = visit.trigger
  if not alive(t) then return kill(t) end
  return exit(t, visit, true)
end

--- What each kind of timer does, called with the timer's subject: a visit, or for the gate a trigger.
admission.fire = { [visits.STAY] = stay, [visits.DWELL] = dwell, [visits.GATE] = cooled_down,
  [visits.LINGER] = linger_over }

return admission
