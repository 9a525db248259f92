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

--- Advances a space by one step of a recording: entities without a row in the step `now` leave, those that have rows in
-- both steps move in one batch, new ones enter and get a node for each area.
-- @param before the previous step; `{ n = 0 }` at first
-- @param stride numbers in a row: 1 + dimensions
function replay.advance(space, before, now, stride, areas)
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

--- Plays a recording.
-- @param rec a recording of `aoi.tools.recording`
-- @param options `radii`: a list of areas, one node for each; `engine`; `cell`; `on_step(step, steps)`: called after
--   each step, to show progress
-- @return a list with one table for each radius: `radius`, `enter` and `leave` (counts), `checksum` (a string)
function replay.run(rec, options)
  local space = aoi.new {
    engine = options.engine,
    cell = options.cell,
    dimensions = rec.dimensions,
    delivery = "deferred",
  }
  local tallies = {}
  for node, radius in ipairs(options.radii) do
    tallies[node] = { radius = radius, enter = 0, leave = 0, hi = 0, lo = 0 }
  end

  local events, before = {}, { n = 0 }
  for index = 1, #rec do
    replay.advance(space, before, rec[index], rec.dimensions + 1, options.radii)
    before = rec[index]
    local _, n = space:drain(events)
    count(tallies, index - 1, events, n)
    if options.on_step then options.on_step(index, #rec) end
  end
  space:close()

  for _, tally in ipairs(tallies) do
    tally.checksum = ("0x%08x%08x"):format(tally.hi, tally.lo)
    tally.hi, tally.lo = nil, nil
  end
  return tallies
end

return replay
