-- The clock of a set of triggers: where the time begins, what an update may make up for, and what is no time.
--
--   set.time   the last update, or the timer that fires
--   set.upto   the update that is being made
--   set.same   nil once the clock is known to be one; else how often the first time > 0 has been given, 0 if never
--
-- `trigger.new` may be given the time at the start. Without it that is 0, as in a test or a match of its own. But a
-- first update that is hours away from 0 is one of a clock that has begun elsewhere: os.time(), or a server's uptime.

local clock = {}

local FAR = 3600         -- seconds from 0 to a first update that still counts as time that has passed
local MOST_STAYS = 1000  -- calls of `stay` that one update makes up for, of one visit
local TICK, TICKS = 1, 100 -- what could be the length of a tick is below TICK, and is one if it comes so often

local WORDS = ": the time expected; for the length of a tick there is 'advance'"

--- What is wrong with the time of an update; nil if nothing is. Counts repetitions of the first one.
function clock.fault(set, now)
  local words = now < TICK and set.time < TICK and WORDS or ""
  if now < set.time then return ("%.14g is before %.14g%s"):format(now, set.time, words) end
  if not set.same or now <= 0 or now >= TICK or now ~= set.time and set.same > 0 then return nil end
  set.same = set.same + 1
  if set.same >= TICKS then return ("%.14g for the %dth time%s"):format(now, set.same, words) end
end

-- What began before the first update began at that.
local function move_to(set, now)
  set.timers:shift(now)
  for _, t in ipairs(set.all) do
    if t.visits then t.ready = t.ready + now end
    for _, visit in pairs(t.visits or {}) do visit.since = visit.since and visit.since + now end
  end
  set.time = now
end

--- Begins an update: the first one may be the beginning of the clock.
function clock.begin(set, now)
  set.upto = now
  if not set.same then return end
  if set.time == 0 and now > FAR then move_to(set, now) end
  if now ~= set.time and set.time > 0 or now == 0 or now >= TICK then set.same = nil end
end

--- How many calls after the one that was due are left out.
function clock.skipped(set, due, interval)
  local late = math.floor((set.upto - due) / interval)
  return late > MOST_STAYS and late - MOST_STAYS or 0
end

return clock
