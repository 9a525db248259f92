-- Replays a recording through a space, and counts and hashes the events.
--
-- Every entity has one node for each radius. A step of the recording is one tick of a deferred space, and one drain
-- returns its net events.
--
-- The checksum does not depend on the order of events within the recording: it is the sum modulo 2^64 of the
-- FNV-1a-64 hashes of "step:kind:watcher:target", steps counted from 0 and kind `e` or `l`, as in "12:e:7:31".
-- Sums are pairs of 32-bit halves, so that they are the same on a Lua without integers.

local aoi = require "aoi"
local core = require "aoi.core.helpers"

local replay = {}

local HALF = 4294967296 -- 2^32
local ROW = math.type and "%d:%s:%d:%d" or "%.0f:%s:%.0f:%.0f" -- without integers, %d may stop at 32 bits

-- Adds n events of one step to the tallies of their nodes.
local function count(tallies, step, events, n)
  for at = 1, 4 * n, 4 do
    local entered, tally = events[at] == aoi.ENTER, tallies[events[at + 3]]
    local hi, lo = core.fnv(ROW:format(step, entered and "e" or "l", events[at + 1], events[at + 2]))
    lo = tally.lo + lo
    tally.lo = lo % HALF
    tally.hi = (tally.hi + hi + (lo - tally.lo) / HALF) % HALF
    if entered then tally.enter = tally.enter + 1 else tally.leave = tally.leave + 1 end
  end
end

-- Advances a space by one step of a recording: entities without a row in the step `now` leave, those that have rows in
-- both steps move in one batch, new ones enter and get a node for each area.
-- @param before the previous step; `{ n = 0 }` at first
-- @param stride numbers in a row: 1 + dimensions
local function advance(space, before, now, stride, areas)
  local moved, entered, moves, enters, at = {}, {}, 0, 0, 1
  -- Both steps ascend by id, so one merge finds the entities that left, stayed and entered.
  for base = 1, now.n * stride, stride do
    local id = now[base]
    while at <= before.n * stride and before[at] < id do
      space:leave(before[at])
      at = at + stride
    end
    if at <= before.n * stride and before[at] == id then
      for i = 0, stride - 1 do moved[moves + 1 + i] = now[base + i] end
      moves, at = moves + stride, at + stride
    else
      for i = 0, stride - 1 do entered[enters + 1 + i] = now[base + i] end
      enters = enters + stride
    end
  end
  for gone = at, before.n * stride, stride do space:leave(before[gone]) end
  space:move_many(moved)
  space:enter_many(entered)
  for base = 1, enters, stride do
    for node, area in ipairs(areas) do space:add_node(entered[base], node, area) end
  end
end

local Run = {}
Run.__index = Run

--- Opens a recording, to be played step by step on a space of its own.
-- @param engine, cell as for aoi.new
-- @param areas one node for each, ids 1, 2 ...
-- @return a run: `space`; `at`, the number of steps made; `events`, those of the last step as `space:drain` returns
--   them, and `n`, their number
function replay.open(rec, engine, cell, areas)
  local space = aoi.new { engine = engine, cell = cell, dimensions = rec.dimensions, delivery = "deferred" }
  return setmetatable({ space = space, rec = rec, areas = areas, at = 0, before = { n = 0 }, events = {} }, Run)
end

--- The time of the next step; nil: there is none.
function Run:next_time() return self.rec[self.at + 1] and self.rec[self.at + 1].t end

--- Makes the next step; returns its time, nil at the end.
function Run:step()
  local now = self.rec[self.at + 1]
  if not now then return nil end
  self.at = self.at + 1
  advance(self.space, self.before, now, self.rec.dimensions + 1, self.areas)
  self.before = now
  self.n = select(2, self.space:drain(self.events))
  return now.t
end

function Run:close() self.space:close() end

--- Plays a recording.
-- @param rec a recording of `aoi.tools.recording`
-- @param options `radii`: a list of areas, one node for each; `engine`; `cell`; `on_step(step, steps)`: called after
--   each step, to show progress
-- @return a list with one table for each radius: `radius`, `enter` and `leave` (counts), `checksum` (a string)
function replay.run(rec, options)
  local run, tallies = replay.open(rec, options.engine, options.cell, options.radii), {}
  for node, radius in ipairs(options.radii) do
    tallies[node] = { radius = radius, enter = 0, leave = 0, hi = 0, lo = 0 }
  end
  while run:step() do
    count(tallies, run.at - 1, run.events, run.n)
    if options.on_step then options.on_step(run.at, #rec) end
  end
  run:close()

  for _, tally in ipairs(tallies) do
    tally.checksum = ("0x%08x%08x"):format(tally.hi, tally.lo)
    tally.hi, tally.lo = nil, nil
  end
  return tallies
end

return replay
