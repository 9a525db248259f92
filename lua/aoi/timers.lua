-- Timers for the Lua layers: a binary heap of records, each made once and set any number of times.
--
--   heap[1]  the earliest; heap[i] is never later than heap[2i] and heap[2i + 1]
--   record   { kind, subject, due, order, place }   place is its index in the heap, nil when it is not set;
--                                                   order breaks ties: the timer that was set first fires first
--
-- To set and to cancel costs O(log n) of the timers that are set, to see whether one is due one comparison.

local timers = {}

local Timers = {}
Timers.__index = Timers

function timers.new() return setmetatable({ heap = {}, n = 0, orders = 0 }, Timers) end

--- A timer that is not set yet.
function timers.record(kind, subject) return { kind = kind, subject = subject } end

local function rise(heap, i, record)
  local due, order = record.due, record.order
  while i > 1 do
    local up = (i - i % 2) / 2
    local parent = heap[up]
    if parent.due < due or (parent.due == due and parent.order < order) then break end
    heap[i], parent.place = parent, i
    i = up
  end
  heap[i], record.place = record, i
end

local function before(a, b) return a.due < b.due or (a.due == b.due and a.order < b.order) end

local function sink(heap, n, i, record)
  while true do
    local down = 2 * i
    if down > n then break end
    local child = heap[down]
    if down < n and before(heap[down + 1], child) then
      down = down + 1
      child = heap[down]
    end
    if not before(child, record) then break end
    heap[i], child.place = child, i
    i = down
  end
  heap[i], record.place = record, i
end

--- Sets a timer that is not set.
function Timers:set(record, due)
  local n, order = self.n + 1, self.orders + 1
  self.n, self.orders = n, order
  record.due, record.order = due, order
  return rise(self.heap, n, record)
end

--- Cancels a timer; one that is not set is left alone.
function Timers:cancel(record)
  local i = record.place
  if not i then return end
  local heap, n = self.heap, self.n
  local last = heap[n]
  heap[n], record.place = nil, nil
  self.n = n - 1
  if last ~= record then
    rise(heap, i, last)
    if last.place == i then return sink(heap, n - 1, i, last) end
  end
end

--- Moves all timers by the same time. What rounding makes equal fires in the order it was set.
function Timers:shift(by)
  for i = 1, self.n do self.heap[i].due = self.heap[i].due + by end
  table.sort(self.heap, before) -- a sorted array is a heap
  for i = 1, self.n do self.heap[i].place = i end
end

--- Takes the earliest timer if it is due by now: its record, nil when none is.
function Timers:take(now)
  local first = self.heap[1]
  if not first or first.due > now then return nil end
  self:cancel(first)
  return first
end

return timers
