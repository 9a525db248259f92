-- Timers for the Lua layers: a binary heap of records; a record is made once and can be set any number of times.
--
--   heap[1]  the earliest; heap[i] is never later than heap[2i] and heap[2i + 1]
--   record   { kind, subject, due, order, place }   place is its index in the heap, nil when it is not set;
--                                                   order breaks ties: the timer that was set first fires first
--
-- Setting and cancelling cost O(log n) for n set timers, testing whether a timer is due one comparison.

local timers = {}

local Timers = {}
Timers.__index = Timers

function timers.new() return setmetatable({ heap = {}, n = 0, orders = 0 }, Timers) end

--- Makes a timer that is not set.
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
  local due, order = record.due, record.order
  while true do
    local down = 2 * i
    if down > n then break end
    local child = heap[down]
    if down < n and before(heap[down + 1], child) then
      down = down + 1
      child = heap[down]
    end
    if due < child.due or (due == child.due and order < child.order) then break end
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

--- Cancels a timer; does nothing if it is not set.
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

--- Adds the same time to all timers. Timers that become equal by rounding fire in the order in which they were set.
function Timers:shift(by)
  for i = 1, self.n do self.heap[i].due = self.heap[i].due + by end
  table.sort(self.heap, before) -- a sorted array is a heap
  for i = 1, self.n do self.heap[i].place = i end
end

--- The place of each set timer in the order in which they were set: 1, 2, 3 ... by record.
function Timers:ranks()
  local list, ranks = {}, {}
  for i = 1, self.n do list[i] = self.heap[i] end
  table.sort(list, function(a, b) return a.order < b.order end)
  for i, record in ipairs(list) do ranks[record] = i end
  return ranks
end

--- Removes and returns the earliest timer if it is due at `now`; nil otherwise.
function Timers:take(now)
  local first = self.heap[1]
  if not first or first.due > now then return nil end
  self:cancel(first)
  return first
end

return timers
