-- Steps: pending handler calls, and the events that are queued behind them.
--
--   stack   the rest of the current event: a handler may call any method, so each change is complete before a handler
--           is called, and the actions that follow the call are pushed as a step
--   queue   events that arrived while there were steps, oldest first; they are processed when the stack is empty
--
-- A step is a function step(set, slot, id, target): a set of triggers, the slot of one, the entity that carries it, a
-- target. Stack and queue are flat arrays: step, slot, id, target, ... A step is removed before it runs. So after an
-- error, or while a handler is suspended, the next event or `update` continues with the rest. Adding and removing a
-- step is O(1).

local registry = require "aoi.trigger.registry"

local alive_at, kill = registry.alive_at, registry.kill

local steps = {}

--- Makes an empty stack and queue. `n` is the number of steps in both and may be read elsewhere; `top` and `last` are
--- the ends of stack and queue, `first` is the oldest event.
function steps.new() return { n = 0, stack = {}, top = 0, queue = {}, first = 1, last = 0 } end

--- Removes all steps.
function steps.clear(work)
  work.n, work.held, work.stack, work.top, work.queue, work.first, work.last = 0, nil, {}, 0, {}, 1, 0
end

--- Puts a step on the stack.
local function push(set, step, slot, id, target)
  local work = set.steps
  local stack, top = work.stack, work.top
  stack[top + 1], stack[top + 2], stack[top + 3], stack[top + 4] = step, slot, id, target
  work.top, work.n = top + 4, work.n + 1
end

--- Appends an event to the queue.
function steps.append(set, step, slot, id, target)
  local work = set.steps
  local queue, last = work.queue, work.last
  queue[last + 1], queue[last + 2], queue[last + 3], queue[last + 4] = step, slot, id, target
  work.last, work.n = last + 4, work.n + 1
end

-- Removes and returns the next step: from the stack, or if that is empty from the queue.
local function take(work)
  work.n = work.n - 1
  local top = work.top
  if top > 0 then
    local stack = work.stack
    work.top = top - 4
    return stack[top - 3], stack[top - 2], stack[top - 1], stack[top]
  end
  local queue, i = work.queue, work.first
  local step, slot, id, target = queue[i], queue[i + 1], queue[i + 2], queue[i + 3]
  queue[i], queue[i + 1], queue[i + 2], queue[i + 3] = nil, nil, nil, nil
  work.first = i + 4
  if work.first > work.last then work.first, work.last = 1, 0 end
  return step, slot, id, target
end

-- Ends a hold, which counts as a step.
local function drop_hold(work) work.held, work.n = nil, work.n - 1 end

-- Whether a call holds the steps. One in a coroutine that is suspended no longer does: it may never be resumed.
local function is_held(work)
  local by = work.held
  if by and by ~= true and coroutine.status(by) == "suspended" then drop_hold(work) end
  return work.held ~= nil
end

--- Runs all steps. Those of removed triggers are dropped.
local function run(set)
  local work = set.steps
  if is_held(work) then return end
  while work.n > 0 do
    local step, slot, id, target = take(work)
    local t = set.triggers[slot]
    if t then
      if alive_at(set, slot, id) then step(set, slot, id, target) else kill(t) end
    end
  end
end

steps.push, steps.run = push, run

--- Queues all events until `release`.
-- @param by the running coroutine: the hold ends as soon as that is suspended; nil: the main one before Lua 5.2
-- @return what `release` takes: nil within another hold
function steps.hold(set, by)
  local work = set.steps
  if is_held(work) then return nil end
  work.held, work.n = by or true, work.n + 1
  return work.held
end

--- Ends `hold` and runs all steps.
-- @param hold what `hold` returned
function steps.release(set, hold)
  local work = set.steps
  if hold and work.held == hold then drop_hold(work) end
  return run(set)
end

-- Mutes -------------------------------------------------------------------------------------------------------------

-- If the target has left before its step runs, that call and the matching `leave` are skipped: the target is muted
-- until its leave event. set.mutes counts the mutes of all triggers: it is mostly 0, and then no record is read.
local ENTERED = 1    -- counted as inside, but `enter` was skipped: so is `leave`
local NEVER_ENTERED = 2 -- not counted: its leave event is ignored
steps.NEVER_ENTERED = NEVER_ENTERED

function steps.mute(set, slot, target, how)
  local t = set.triggers[slot]
  t.mutes = t.mutes or {}
  t.mutes[target] = how
  set.mutes = set.mutes + 1
end

--- Ends the mute of a target; returns its kind, nil if the target was not muted. Not to be called while set.mutes is 0.
function steps.unmute(set, slot, target)
  local t = set.triggers[slot]
  local how = t.mutes and t.mutes[target]
  if how then
    t.mutes[target] = nil
    set.mutes = set.mutes - 1
  end
  return how
end

-- Handlers ----------------------------------------------------------------------------------------------------------

--- Calls one handler, if there is one. Handlers are looked up at each call, so that code can be reloaded.
local function call(set, event, slot, id, target)
  local t = set.triggers[slot]
  local own = set.handlers[set.names[slot] or t.name] -- saves a read of the record for plain triggers
  local handler = own and own[event]
  if handler then return handler(id, target, t) end
end

steps.call = call

local function step_enter(set, slot, id, target)
  if not set.has(set.space, target) then return steps.mute(set, slot, target, ENTERED) end
  return call(set, "enter", slot, id, target)
end

local function step_last(set, slot, id, target) return call(set, "last", slot, id, target) end

-- Calls one handler and then the other, either of which may be missing; `step` calls the other if the first raises.
local function in_turn(set, one, other, step, slot, id, target)
  if one and other then
    push(set, step, slot, id, target)
    one(id, target, set.triggers[slot])
    return run(set)
  end
  local handler = one or other
  if handler then return handler(id, target, set.triggers[slot]) end
end

--- Calls `first`, then `enter`: a target has entered an empty trigger.
-- @param own the handlers of this trigger, may be nil
function steps.begin(set, own, slot, id, target)
  if own then return in_turn(set, own.first, own.enter, step_enter, slot, id, target) end
end

--- Calls `leave`, unless the target is muted, then `last`: the last target has left.
function steps.finish(set, own, slot, id, target, muted)
  if own then return in_turn(set, not muted and own.leave, own.last, step_last, slot, id, target) end
end

return steps
