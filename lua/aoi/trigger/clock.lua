-- The clock of a set of triggers: its start, the `stay` calls that an update makes up for, and the check of times.
--
--   set.time   the time of the last update, or of the timer that fires
--   set.upto   the time of the current update
--   set.same   how many updates had the first time > 0; nil once `update` is known to be given times, not tick lengths
--
-- `trigger.new` may be given the start time. Without it that is 0, as in a test or a match of its own. But a first
-- update that is hours away from 0 belongs to a clock that has begun elsewhere: os.time(), or a server's uptime.

local clock = {}

local FAR = 3600         -- a first update up to so many seconds after 0 counts as time that has passed
local MOST_STAYS = 1000  -- calls of `stay` that one update makes up for, per visit
local TICK, TICKS = 1, 100 -- the same value below TICK, TICKS times, is the length of a tick and not a time

local WORDS = ": the time expected; for the length of a tick there is 'advance'"

--- The error of the time of an update; nil if there is none. Counts repetitions of the first time.
function clock.fault(set, now)
  if now < set.time then return ("%.14g is before %.14g%s"):format(now, set.time, WORDS) end
  if not set.same or now <= 0 or now >= TICK or now ~= set.time and set.same > 0 then return nil end
  set.same = set.same + 1
  if set.same >= TICKS then return ("%.14g for the %dth time%s"):format(now, set.same, WORDS) end
end

-- Moves the start of the clock to the first update: visits and timers from before begin then.
local function move_to(set, now)
  set.timers:shift(now)
  for _, t in ipairs(set.all) do
    if t.visits then t.ready = t.ready + now end
    for _, visit in pairs(t.visits or {}) do visit.since = visit.since and visit.since + now end
  end
  set.time = now
end

--- Begins an update; the first one may set the start of the clock.
function clock.begin(set, now)
  set.upto = now
  if not set.same then return end
  if set.time == 0 and now > FAR then move_to(set, now) end
  if now ~= set.time and set.time > 0 or now == 0 or now >= TICK then set.same = nil end
end

--- The number of calls after the due one that are skipped.
function clock.skipped(set, due, interval)
  local late = math.floor((set.upto - due) / interval)
  return late > MOST_STAYS and late - MOST_STAYS or 0
end

return clock
