-- Admission to triggers with visits: filter, limit, cooldown, once, linger; and the functions of the visits' timers.
--
--   arrive --filter--> REFUSED
--          --open----> INSIDE   (admit, then call_enter calls the handlers)
--          --closed--> WAITING  until settle finds the trigger open: after a leave, or when the gate's timer fires
--
-- A trigger is open while fewer than `limit` targets are inside, `cooldown` has passed since the last admission, and
-- `once` has not fired.

local checks = require "aoi.checks"
local clock = require "aoi.trigger.clock"
local registry = require "aoi.trigger.registry"
local reserved = require "aoi.reserved"
local sorted_keys = require "aoi.sorted_keys"
local steps = require "aoi.trigger.steps"
local visits = require "aoi.trigger.visits"

local alive, kill = registry.alive, registry.kill
local run = steps.run
local NONE = {}
local REFUSED, WAITING, INSIDE = visits.REFUSED, visits.WAITING, visits.INSIDE

local admission = {}

-- Calls a handler of a trigger.
local function call(t, event, target) return steps.call(t.set, event, t.slot, t.id, target) end

local function push(t, step, target) return steps.push(t.set, step, t.slot, t.id, target) end

-- Called when `once` fires: the trigger admits no more targets, and no `dwell` of the targets inside is called.
local function close(t)
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
  if t.once and not t.after then close(t) end
  if t.after then heap:set(visit.dwell, time + t.after) end
  if t.interval then heap:set(visit.stay, time + t.interval) end
end

-- Calls the handlers for an admitted target.
local function call_enter(t, target)
  if t.occupied then return call(t, "enter", target) end
  t.occupied = true
  return steps.begin(t.set, t.set.handlers[t.name], t.slot, t.id, target)
end

local function is_seen(t, node, target)
  local space = t.set.space
  return space:has(target) and reserved.has_node(space, t.id, node)
    and (t.sight or space):sees(t.id, node, target) -- with a sight there is no second node
end

--- Whether a target is in the area, or with `outside` outside of it; filter, limit and the like are not considered.
function admission.covers(t, target)
  if not t.outside then return is_seen(t, t.node, target) end
  return is_seen(t, t.second, target) and not is_seen(t, t.node, target)
end

-- The first of the queue. Targets that are no longer in the area are passed over: their leave events are pending.
local function first_waiting(t)
  local visit = t.head
  while visit and not admission.covers(t, visit.target) do visit = visit.next end
  return visit
end

-- A step that performs the next action for the state of a trigger, and pushes itself if another may follow: admits the
-- first of the queue, calls `last`, removes a spent trigger, or sets the gate's timer. `target` has entered or left; it
-- was the last one if the trigger is empty.
local function settle(set, slot, _, target)
  local t = set.triggers[slot]
  local visit = t.head and open(t) and first_waiting(t)
  if visit then
    local admitted = visit.target
    visits.dequeue(visit)
    admit(t, visit)
    push(t, settle, admitted)
    return call_enter(t, admitted)
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
  if t.head and open(t) then
    set.passed[slot] = true
  elseif t.head and not t.gate.place and set.inside[slot] < t.limit then
    set.timers:set(t.gate, t.ready)
  end
end

--- Settles triggers again that have passed over targets: a handler may have cancelled the pending leave events.
function admission.settle_passed(set)
  for _, slot in ipairs(next(set.passed) and sorted_keys(set.passed) or NONE) do
    set.passed[slot] = nil
    if set.triggers[slot] then push(set.triggers[slot], settle) end
  end
  return run(set)
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
local function apply_filter(t, visit)
  if not t.filter then return true, true end
  local target = visit.target
  local ok = passes(t, target)
  local exists = alive(t) and t.visits[target] == visit
  return exists, exists and ok
end

-- Lingering ----------------------------------------------------------------------------------------------------------

-- A target outside of the area gives no event when it leaves the space. So the second node of a trigger with `linger`
-- sees each target with a visit by an override ("show"), which is set before any handler is called, since a handler may
-- make the target leave before the node's enter event is delivered. With `outside` the second node sees it anyway.
local function is_shown(t) return t.linger and not t.outside end

--- The area of the second node of a trigger with `linger`: it sees nothing by itself.
function admission.shown_area(t) return { radius = 0, mask = 0, label = t.label } end

--- Makes the second node see a target.
function admission.show(t, target)
  local set, space = t.set, t.set.space
  if not reserved.has_node(space, t.id, t.second) then
    space:add_node(t.id, t.second, admission.shown_area(t), set.enter, set.leave)
  end
  if alive(t) and space:has(target) then space:override(t.id, t.second, target, "show") end
end

-- A step, since calls of the space deliver pending events: it runs after all other steps of the event.
local function hide(set, slot, id, target)
  local t, space = set.triggers[slot], set.space
  if t.visits[target] or not space:has(target) then return end
  if reserved.has_node(space, id, t.second) then space:override(id, t.second, target, nil) end
end

-- With `linger` this is a step for the same reason. The target may have left the space before the step runs.
local function begin_visit(set, slot, _, target)
  local t = set.triggers[slot]
  if t.spent or t.visits[target] or not set.space:has(target) then return end
  local visit = visits.new(t, target)
  if t.filter then
    local _, ok = apply_filter(t, visit)
    if not ok or t.spent or visit.state ~= REFUSED then return end
  end
  if not t.head and open(t) and (not t.filter or set.space:has(target)) then
    admit(t, visit)
    return call_enter(t, target)
  end
  visits.enqueue(visit)
  return settle_all(t, target)
end

--- A target entered the area.
function admission.arrive(t, target)
  local known = t.visits[target]
  if known and visits.lingers(known) then t.set.timers:cancel(known.linger) end
  if known or t.spent then return end
  if not is_shown(t) then return begin_visit(t.set, t.slot, t.id, target) end
  push(t, begin_visit, target)
  admission.show(t, target)
  return run(t.set)
end

-- Ends state INSIDE or WAITING and calls the handlers. With `gone` the visit ends, too: the node has lost the target.
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

-- Whether a target that left the area lingers. It does not if it is a later entity with the same id.
local function may_linger(t, visit)
  local target = visit.target
  return t.linger and visit.state == INSIDE and not t.disabled and not (t.mutes and t.mutes[target])
    and checks.life(t.set.space, target) == visit.life
end

--- A target left the area. No handler is called if the reason is that the carrier has left the space.
-- @param at_once true if the target does not linger: it has left the space, or mask or layers exclude it
function admission.depart(t, target, at_once)
  if not alive(t) then return kill(t) end
  local visit = t.visits[target]
  if not visit then return end
  if at_once or not may_linger(t, visit) then return exit(t, visit, true) end
  if visits.lingers(visit) then return end
  t.set.timers:set(visit.linger, t.set.time + t.linger)
end

--- Ends all lingering visits when the trigger is disabled. Returns true, or false and the first error of a handler.
function admission.end_lingering(t)
  local list, ok, err = {}, true, nil
  if not alive(t) then return true end
  for _, visit in pairs(t.visits) do
    if visits.lingers(visit) then list[#list + 1] = visit.target end
  end
  table.sort(list)
  for _, target in ipairs(list) do
    local left, why = true, nil
    if alive(t) then left, why = pcall(admission.depart, t, target, true) end
    if ok then ok, err = left, why end
  end
  return ok, err
end

--- Calls the filter again for a target in the area, since its result may have changed.
function admission.refresh(t, target)
  local visit = t.visits[target]
  if not visit then return end
  local exists, ok = apply_filter(t, visit)
  if not exists then return end
  if not ok then return exit(t, visit) end
  if visit.state == REFUSED and not t.spent then
    visits.enqueue(visit)
    return settle_all(t, target)
  end
end

-- Timers ------------------------------------------------------------------------------------------------------------

-- Whether a timer may call a handler for this target; if not, its leave event is pending.
local function present(t, target) return t.set.space:has(target) and not (t.mutes and t.mutes[target]) end

local function stay(t, visit)
  local set, target = t.set, visit.target
  if not present(t, target) then return end
  visit.stays = visit.stays + 1 + clock.skipped(set, visit.stay.due, t.interval)
  local due = visit.since + (visit.stays + 1) * t.interval -- not a sum of intervals: rounding would drift
  if due <= set.time then error(("trigger '%s': the clock is too large for its interval"):format(t.name), 0) end
  set.timers:set(visit.stay, due)
  return call(t, "stay", target)
end

local function dwell(t, visit)
  if not present(t, visit.target) then return end
  if t.once then close(t) end
  return call(t, "dwell", visit.target)
end

local function cooled_down(t) return settle_all(t) end

local function linger_over(t, visit) return exit(t, visit, true) end

local FIRE = {
  [visits.STAY] = stay, [visits.DWELL] = dwell, [visits.GATE] = cooled_down, [visits.LINGER] = linger_over,
}

--- Processes a timer that is due; its subject is a visit, or for the gate a trigger.
function admission.fire(timer)
  local kind, subject = timer.kind, timer.subject
  local t = kind == visits.GATE and subject or subject.trigger
  if not alive(t) then return kill(t) end
  return FIRE[kind](t, subject)
end

return admission
