-- Admission to triggers with visits: enter_after, filter, limit, cooldown, once, linger; and the functions of their
-- timers.
--
--   arrive -----------> ARRIVING  until the timer of `enter_after` fires; without that option at once:
--          --filter--> REFUSED
--          --open----> INSIDE   (admit, then call_enter calls the handlers)
--          --closed--> WAITING  until settle finds the trigger open: after a leave, or when the gate's timer fires
--
-- A trigger is open while fewer than `limit` targets are inside, `cooldown` has passed since the last admission, and
-- `once` has not fired.

local checks = require "aoi.checks"
local clock = require "aoi.trigger.clock"
local registry = require "aoi.trigger.registry"
local sorted_keys = require "aoi.sorted_keys"
local steps = require "aoi.trigger.steps"
local visits = require "aoi.trigger.visits"

local alive, kill = registry.alive, registry.kill
local run = steps.run
local NONE = {}
local ARRIVING, REFUSED, WAITING, INSIDE = visits.ARRIVING, visits.REFUSED, visits.WAITING, visits.INSIDE

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

--- Whether a target is in the area; filter, limit and the like are not considered.
function admission.covers(t, target)
  local space = t.set.space
  return space:has(target) and alive(t) and (t.sight or space):sees(t.id, t.node, target)
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

-- A target has come, and has been in the area for `enter_after`.
local function receive(t, visit)
  local target = visit.target
  if t.filter then
    local _, ok = apply_filter(t, visit)
    if not ok or t.spent or visit.state ~= REFUSED then return end
  end
  if not t.head and open(t) and (not t.filter or t.set.space:has(target)) then
    admit(t, visit)
    return call_enter(t, target)
  end
  visits.enqueue(visit)
  return settle_all(t, target)
end

local function begin_visit(t, target)
  if not t.set.space:has(target) then return end
  local visit = visits.new(t, target)
  if not t.enter_after then return receive(t, visit) end
  visit.state = ARRIVING
  return t.set.timers:set(visit.arrival, t.set.time + t.enter_after)
end

-- The timer of `enter_after` fires. If the target is not in the area now, its leave event waits; it begins anew if that
-- is taken back.
local function confirm(t, visit)
  if not admission.covers(t, visit.target) then
    return t.set.timers:set(visit.arrival, t.set.time + t.enter_after)
  end
  visit.state = REFUSED
  if not t.spent then return receive(t, visit) end
end

-- Ends any state and calls the handlers. With `gone` the visit ends, too: the node has lost the target.
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

-- Lingering ----------------------------------------------------------------------------------------------------------

-- A target out of the area gives no event when it leaves the space. So the node is told its end while it lingers: an
-- override of the pair makes that a leave event. What lingers is left with the first leave event that comes.
local function tell(t, target, how)
  local space = t.set.space
  if space:has(target) and alive(t) then return space:override(t.id, t.node, target, how) end
end

--- Appends the slots of the triggers in which a target lingers to a list of n.
-- @return the new n
function admission.lingering(set, target, list, n)
  local heap = set.timers
  for i = 1, heap.n do
    local timer = heap.heap[i]
    if timer.kind == visits.LINGER and timer.subject.target == target then
      n = n + 1
      list[n] = timer.subject.trigger.slot
    end
  end
  return n
end

-- A step, since calls of the space deliver pending events: it runs after all other steps of the event.
local function tell_no_end(set, slot, _, target)
  local t = set.triggers[slot]
  local visit = t.visits[target]
  if not (visit and visits.lingers(visit)) then return tell(t, target, "tell no end") end
end

-- Ends the visit of a target that lingers and is still in the space.
local function linger_over(t, visit)
  push(t, tell_no_end, visit.target)
  leave(t, visit, true)
  return run(t.set)
end

-- Whether a target that left the area lingers. It does not if it is a later entity with the same id.
local function may_linger(t, visit)
  local target = visit.target
  return t.linger and visit.state == INSIDE and not t.disabled and not (t.mutes and t.mutes[target])
    and checks.life(t.set.space, target) == visit.life
end

-- Questions ----------------------------------------------------------------------------------------------------------

-- Whether a target whose visit is INSIDE is still there: its leave event may wait.
local function is_still_there(t, visit)
  return checks.life(t.set.space, visit.target) == visit.life and admission.covers(t, visit.target)
end
local function is_still_inside(t, visit) return is_still_there(t, visit) or may_linger(t, visit) end

--- The targets that are inside now, that is when all events that wait are processed: who leaves is not, who comes is if
--- there is room. Who comes to a filter is not before it was asked; of more than have room any are.
-- @param list a table to fill
-- @return their number
function admission.inside(t, list)
  local set, n = t.set, 0
  for target, visit in pairs(t.visits) do
    if visit.state == INSIDE and is_still_inside(t, visit) then
      n = n + 1
      list[n] = target
    end
  end
  if t.spent or t.ready > set.time then return n end
  local last = (t.cooldown > 0 or t.once and not t.after) and math.min(n + 1, t.limit) or t.limit
  local function come(target)
    if n == last then return end
    n = n + 1
    list[n] = target
  end
  local waiting = t.head
  while waiting do
    if is_still_there(t, waiting) then come(waiting.target) end
    waiting = waiting.next
  end
  for _, target in ipairs((t.filter or t.enter_after) and NONE or (t.sight or set.space):view(t.id, t.node)) do
    local visit = t.visits[target]
    if not visit or visit.life ~= checks.life(set.space, target) then come(target) end
  end
  return n
end

--- Whether a target is inside now, as `admission.inside` has it.
function admission.has(t, target)
  local visit, list = t.visits[target], {}
  if visit and visit.state == INSIDE and is_still_inside(t, visit) then return true end
  local refused = visit and visit.state == REFUSED and is_still_there(t, visit)
  if refused or not admission.covers(t, target) then return false end
  for i = 1, admission.inside(t, list) do
    if list[i] == target then return true end
  end
  return false
end

--- Disables a trigger: all its targets leave, those that linger, too, by events of the node.
function admission.disable(t)
  local list, space = {}, t.set.space
  for _, visit in pairs(t.linger and t.visits or NONE) do
    if visits.lingers(visit) then list[#list + 1] = visit.target end
  end
  table.sort(list)
  space:set_mask(t.id, t.node, 0)
  t.disabled = true
  for _, target in ipairs(list) do tell(t, target, "tell now") end
end

-- Events of the node -------------------------------------------------------------------------------------------------

--- A target entered the area.
function admission.arrive(t, target)
  local known = t.visits[target]
  if known and visits.lingers(known) then
    t.set.timers:cancel(known.linger)
    return tell(t, target, "tell no end")
  end
  if not known and not t.spent then return begin_visit(t, target) end
end

--- A target left the area, or left the space while it lingered. No handler is called if the reason is that the carrier
--- has left the space.
function admission.depart(t, target)
  if not alive(t) then return kill(t) end
  local visit = t.visits[target]
  if not visit then return end
  if visits.lingers(visit) or not may_linger(t, visit) then return leave(t, visit, true) end
  t.set.timers:set(visit.linger, t.set.time + t.linger)
  return tell(t, target, "tell end")
end

--- A target went through the area, at that place of its way. Only the filter is asked. What lingers is still inside.
function admission.cross(t, target, at)
  if not alive(t) then return kill(t) end
  local visit = t.visits and t.visits[target]
  if visit and visits.lingers(visit) or t.spent or not t.set.space:has(target) then return end
  if t.filter and not (passes(t, target) and alive(t) and t.set.space:has(target)) then return end
  local own = t.set.handlers[t.name]
  if own and own.cross then return own.cross(t.id, target, t, at) end
end

--- Calls the filter again for a target in the area, since its result may have changed.
function admission.refresh(t, target)
  local visit = t.visits[target]
  if not visit or visit.state == ARRIVING then return end
  local exists, ok = apply_filter(t, visit)
  if not exists then return end
  if not ok then return (visits.lingers(visit) and linger_over or leave)(t, visit) end
  if visit.state == REFUSED and not t.spent then
    visits.enqueue(visit)
    return settle_all(t, target)
  end
end

-- Timers ------------------------------------------------------------------------------------------------------------

-- Whether a timer may call a handler for this target; if not, its leave event is pending, as in a disabled trigger.
local function present(t, target) return t.set.space:has(target) and not (t.mutes and t.mutes[target]) end

local function stay(t, visit)
  local set, target = t.set, visit.target
  if not present(t, target) then return end
  visit.stays = visit.stays + 1 + clock.skipped(set, visit.stay.due, t.interval)
  local due = visit.since + (visit.stays + 1) * t.interval -- not a sum of intervals: rounding would drift
  if due <= set.time then error(("trigger '%s': the clock is too large for its interval"):format(t.name), 0) end
  set.timers:set(visit.stay, due)
  if not t.disabled then return call(t, "stay", target) end
end

local function dwell(t, visit)
  if t.disabled or not present(t, visit.target) then return end
  if t.once then close(t) end
  return call(t, "dwell", visit.target)
end

local function cooled_down(t) return settle_all(t) end

local FIRE = {
  [visits.STAY] = stay, [visits.DWELL] = dwell, [visits.GATE] = cooled_down, [visits.LINGER] = linger_over,
  [visits.ARRIVAL] = confirm,
}

--- Processes a timer that is due; its subject is a visit, or for the gate a trigger.
function admission.fire(timer)
  local kind, subject = timer.kind, timer.subject
  local t = kind == visits.GATE and subject or subject.trigger
  if not alive(t) then return kill(t) end
  return FIRE[kind](t, subject)
end

return admission
