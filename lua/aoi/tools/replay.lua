-- Replays a recording through a space, and counts and hashes the events.
--
-- Every entity has one node for each radius. A step of the recording is one tick of a deferred space, and one drain
-- returns its net events.
--
-- The checksum does not depend on the order of events within the recording: it is the sum modulo 2^64 of the
-- FNV-1a-64 hashes of "step:kind:watcher:target", steps counted from 0 and kind `e` or `l`, as in "12:e:7:31".
-- Hashes are pairs of 32-bit halves, so that they are the same on a Lua without integers.

local aoi = require "aoi"

local replay = {}

local HALF = 4294967296 -- 2^32
local OFFSET_HI, OFFSET_LO = 0xcbf29ce4, 0x84222325
local ID = math.type and "%d:%d" or "%.0f:%.0f" -- without integers, %d may stop at 32 bits

local function xor_byte(a, b)
  local sum, bit = 0, 1
  while bit < 256 do
    if a % (2 * bit) >= bit ~= (b % (2 * bit) >= bit) then sum = sum + bit end
    bit = 2 * bit
  end
  return sum
end

-- xor[a][b]; rows are made at their first use, because only a dozen characters occur.
local xor = setmetatable({}, {
  __index = function(rows, a)
    local made = {}
    for b = 0, 255 do made[b] = xor_byte(a, b) end
    rows[a] = made
    return made
  end,
})

-- Continues an FNV-1a-64 hash over `text`. The prime is 2^40 + 0x1b3, and no product here exceeds 2^42.
local function fnv(hi, lo, text)
  local byte = string.byte
  for i = 1, #text do
    local low = lo % 256
    lo = lo - low + xor[byte(text, i)][low]
    local product = lo * 0x1b3
    local rest = product % HALF
    hi = (hi * 0x1b3 + (product - rest) / HALF + lo * 256) % HALF
    lo = rest
  end
  return hi, lo
end

--- The FNV-1a-64 hash of a string.
-- @return its upper and its lower 32 bits
function replay.hash(text) return fnv(OFFSET_HI, OFFSET_LO, text) end

-- Adds n events of one step to the tallies of their nodes.
local function count(tallies, step, events, n)
  local prefix = { [aoi.ENTER] = { replay.hash(step .. ":e:") }, [aoi.LEAVE] = { replay.hash(step .. ":l:") } }
  for at = 1, 4 * n, 4 do
    local kind, tally = events[at], tallies[events[at + 3]]
    local start = prefix[kind]
    local hi, lo = fnv(start[1], start[2], ID:format(events[at + 1], events[at + 2]))
    lo = tally.lo + lo
    tally.lo = lo % HALF
    tally.hi = (tally.hi + hi + (lo - tally.lo) / HALF) % HALF
    if kind == aoi.ENTER then tally.enter = tally.enter + 1 else tally.leave = tally.leave + 1 end
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
    count(tallies, ("%d"):format(index - 1), events, n)
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
