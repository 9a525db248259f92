-- Visits: the records that a trigger with a filter, a queue or timers has for each target that its node sees.
--
--   t.visits[target] --> visit { trigger, target, state, since, stays, stay, dwell, prev, next }
--
--   state         ARRIVING  in the area, but not yet for `enter_after`: `arrival` is the timer that is set
--                 REFUSED   by the filter, or removed from the queue by `once`
--                 WAITING   in the queue of `limit` or `cooldown`: t.head <-> ... <-> t.tail through `prev` and `next`
--                 INSIDE    counted in t.inside; `since` is when it was admitted, `stays` counts its `stay` calls
--   stay, dwell   its timers, set while it is inside
--   linger        the timer that is set while the target is inside but out of the area; nil without that option
--   life          the life of the target's id (checks.life)
--
-- Visits are reused: set.spare chains the free ones through `next`. So are the tables of visits, in set.spare_maps;
-- triggers without any visit share one empty table.

local checks = require "aoi.checks"
local timers = require "aoi.timers"

local visits = {}

visits.ARRIVING, visits.REFUSED, visits.WAITING, visits.INSIDE = "arriving", "refused", "waiting", "inside"
-- Kinds of timers: four of a visit, and GATE, the timer of a trigger's cooldown.
visits.STAY, visits.DWELL, visits.GATE, visits.LINGER, visits.ARRIVAL = 1, 2, 3, 4, 5

local REFUSED, WAITING = visits.REFUSED, visits.WAITING
local NO_VISITS = {}

--- Adds the fields of visits to a trigger: `visits` by target; `known`, their number; `head` and `tail` of the queue;
-- `gate`, a timer that admits from the queue after the cooldown; `ready`, the end of the cooldown; `occupied`: between
-- the calls of `first` and `last`; `spent`: `once` has fired; and its options.
-- @param t its record
-- @param o its options, as `aoi.trigger.options` returns them
function visits.prepare(t, o)
  t.visits, t.known, t.gate, t.occupied = NO_VISITS, 0, timers.record(visits.GATE, t), false
  t.interval, t.after, t.once, t.filter = o.interval, o.after, o.once, o.filter
  t.enter_after, t.linger, t.limit = o.enter_after, o.linger, o.limit or math.huge
  t.cooldown, t.ready = o.cooldown or 0, -math.huge
end

--- Makes a visit in state REFUSED, for a target that has none.
function visits.new(t, target)
  local set = t.set
  local visit = set.spare
  if visit then
    set.spare = visit.next
    visit.next = nil
  else
    visit = {}
    visit.stay, visit.dwell = timers.record(visits.STAY, visit), timers.record(visits.DWELL, visit)
  end
  visit.trigger, visit.target, visit.state = t, target, REFUSED
  visit.life = checks.life(set.space, target)
  visit.linger = t.linger and (visit.linger or timers.record(visits.LINGER, visit))
  visit.arrival = t.enter_after and (visit.arrival or timers.record(visits.ARRIVAL, visit))
  if t.known == 0 then t.visits = table.remove(set.spare_maps) or {} end
  t.known = t.known + 1
  t.visits[target] = visit
  return visit
end

--- Stops the timers of a visit.
function visits.cancel(visit)
  local heap = visit.trigger.set.timers
  if visit.stay.place then heap:cancel(visit.stay) end
  if visit.dwell.place then heap:cancel(visit.dwell) end
  if visits.lingers(visit) then heap:cancel(visit.linger) end
  if visit.arrival then heap:cancel(visit.arrival) end
end

--- Whether a target is out of the area and still inside because of `linger`.
function visits.lingers(visit) return visit.linger and visit.linger.place ~= nil end

--- Ends a visit that is not in the queue.
function visits.free(visit)
  local t = visit.trigger
  local set = t.set
  visits.cancel(visit)
  t.visits[visit.target] = nil
  t.known = t.known - 1
  if t.known == 0 then
    set.spare_maps[#set.spare_maps + 1] = t.visits
    t.visits = NO_VISITS
  end
  visit.trigger = nil
  visit.next = set.spare
  set.spare = visit
end

-- The queue is empty.
local function shut_gate(t)
  t.set.timers:cancel(t.gate)
  t.set.passed[t.slot] = nil
end

--- Ends all visits of a removed trigger, and its queue.
function visits.free_all(t)
  shut_gate(t)
  for _, visit in pairs(t.visits) do
    visit.prev = nil
    visits.free(visit)
  end
  t.visits, t.head, t.tail = nil, nil, nil
end

--- Appends a visit to the queue of its trigger.
function visits.enqueue(visit)
  local t = visit.trigger
  visit.state = WAITING
  visit.prev = t.tail
  if t.tail then t.tail.next = visit else t.head = visit end
  t.tail = visit
end

--- Removes a visit from the queue, at any place in it.
function visits.dequeue(visit)
  local t, prev, next = visit.trigger, visit.prev, visit.next
  if prev then prev.next = next else t.head = next end
  if next then next.prev = prev else t.tail = prev end
  visit.prev, visit.next = nil, nil
  visit.state = REFUSED
  if not t.head then shut_gate(t) end
end

return visits
