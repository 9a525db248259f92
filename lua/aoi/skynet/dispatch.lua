-- Events to handlers, in the service of a client, as far as C has not called them (src/lua/wire_hear.c): while handlers
-- wait, of nodes that begin or end, behind an error.
--
--   queue    flat entries as the inbox appends them (src/lua/wire_inbox.h), up to `tail`; empty but while handlers wait
--   cursor   what a coroutine delivers: a list of entries up to `stop`, and the value behind its last event: at
--   running  the cursor of the coroutine that delivers what has just come; nil while C delivers it
--   walks    turn -> the cursor of a coroutine that waits in a handler which C has called, once it is overtaken
--   busy     of a map: watcher -> the cursor of the coroutine that waits in a handler of it
--
-- A handler may wait. Whoever finds `running` set, or the inbox walking, knows that a coroutine waits (overtake): the
-- watcher is busy, what its coroutine has not begun yet is the queue again. What comes for a busy watcher is put
-- behind what its coroutine still has, so that a watcher hears everything in order, and the others are not held up.
-- So a handler that does not wait costs nothing: the group that an event is of is looked up when it is needed. A map
-- may choose "free" instead: what comes later is delivered at once, to the same watcher, too.
--
-- A handler may never return. What is parked behind it is bounded: from PARKED_MOST values on it is replaced by its net
-- change, which is no longer than what the watcher's handlers have been told and what its nodes see now.

local failures = require "aoi.skynet.failures"
local wire = require "aoi.skynet.wire"

local OPENED, CLOSED, RESYNCED = wire.OPENED, wire.CLOSED, wire.RESYNCED
local ACKNOWLEDGE = 100 -- pushed by the client: an acknowledgement that is due

local SPECIAL, LEAVES, ENTERS, GROUP = 0, 1, 2, 3 -- forms of entries

local PARKED_MOST = 4096 -- values that wait behind one handler, from which on their net change takes their place
local KEPT_MOST = 65536  -- values of a list that is used again

local dispatch = {}

local function catch(err) return { err, debug.traceback(failures.text(err), 2) } end

dispatch.catch = catch

-- For C: an event whose handlers have a metatable. What that looks up may raise and wait, as the handler may.
local function look_up(field, handlers, ...)
  local f = handlers[field]
  if f then f(...) end
end

dispatch.look_up = look_up

--- A handler of the record, nil if that is gone, has raised.
local function report(self, caught, record, target)
  if not record then return self.log(caught[2]) end
  local map = record.map
  failures.report(self, map, caught[map.error_handler and 1 or 2], record.watcher, target, record.node)
end

dispatch.report = report

-- The handler of the event that ends before list[at] has raised.
local function blame(self, record, caught, list, at, middle, values)
  report(self, caught, record, list[at <= middle and at - 1 or at - values])
end

-- ---- entries that are no groups -------------------------------------------------------------------------------------

local function acknowledge(self, seq)
  self.taken = seq
  self.send(wire.ack(seq))
end

--- At the end of the queue: when what is before it has been delivered, the message is acknowledged.
function dispatch.push_acknowledgement(self, seq)
  if self.tail == 0 then return acknowledge(self, seq) end
  local queue, tail = self.queue, self.tail
  queue[tail + 1], queue[tail + 2], queue[tail + 3] = 0, ACKNOWLEDGE, seq
  queue[tail + 4], queue[tail + 5], queue[tail + 6] = 0, 0, 0
  self.tail = tail + 6
end

-- A node that another client has added for this one.
local function on_opened(self, link, watcher, node, handle)
  local map = self:map_of(link)
  if not map then return self.inbox:close(handle) end -- meanwhile
  local record = { map = map, watcher = watcher, node = node, handle = handle, handlers = map.listener or {} }
  record.foreign, record.link = true, link
  self.records[handle], map.records[handle] = record, record
  self.inbox:handlers(handle, record.handlers)
end

local function on_closed(self, handle)
  local record = self.records[handle]
  self.records[handle] = nil
  if not record then return end
  local mine = record.map.mine
  local nodes = mine[record.watcher]
  record.map.records[handle] = nil
  if nodes and nodes[record.node] == record then
    nodes[record.node] = nil
    if next(nodes) == nil then mine[record.watcher] = nil end
  end
end

local function special(self, what, a, b, c, d)
  if what == ACKNOWLEDGE then
    acknowledge(self, a)
  elseif what == CLOSED then
    on_closed(self, a)
  elseif what == OPENED then
    on_opened(self, a, b, c, d)
  elseif what == RESYNCED then
    local map = self:map_of(a)
    self.counters.resyncs = self.counters.resyncs + 1
    if map and map.resync_handler then failures.run(self, map, map.resync_handler) end
  end
end

-- ---- groups ---------------------------------------------------------------------------------------------------------

-- The events of one group from list[at] on, unless others have them meanwhile. An error in a handler leaves the cursor
-- behind its event.
local function hear(cursor, record, list, at, middle, stop, values)
  local watcher, node, handlers = record.watcher, record.node, record.handlers
  while at < middle and not record.closed and not cursor.freed do
    local target = list[at]
    at = at + 1
    cursor.at = at -- before the handler is looked up, which may raise, too
    local f = handlers.leave
    if f then f(watcher, target, node) end
  end
  while at < stop and not record.closed and not cursor.freed do
    local i = at
    at = at + values
    cursor.at = at
    local f = handlers.enter
    if f and values == 1 then
      f(watcher, list[i], node)
    elseif f and values == 4 then
      f(watcher, list[i], node, list[i + 1], list[i + 2], list[i + 3])
    elseif f then
      f(watcher, list[i], node, list[i + 1], list[i + 2], list[i + 3], list[i + 4])
    end
  end
end

-- The entry at `head`: its end, its record (nil: none), first value, first of what enters, values of each.
local function entry(self, list, head)
  local word = list[head]
  local form = word & 3
  if form == SPECIAL then return head + 6, nil, head + 6, head + 6, 1 end
  local record = self.records[word >> 2]
  if form ~= GROUP then return head + 2, record, head + 1, form == LEAVES and head + 2 or head + 1, 1 end
  local values, middle = list[head + 3], head + 4 + list[head + 1]
  return middle + list[head + 2] * values, record, head + 4, middle, values
end

-- The entry that ends at `at` or behind it: as `entry`.
local function entry_of(self, list, at)
  local head, stop = 1, entry(self, list, 1)
  while stop < at do head, stop = stop, entry(self, list, stop) end
  return entry(self, list, head)
end

-- Whether what comes next is held up.
local function settle(self) self.inbox:behind(self.tail > 0 or self.waiting > 0 or self.running ~= nil) end

-- ---- handlers that wait ---------------------------------------------------------------------------------------------

local function add_group(self, cursor, group)
  table.insert(cursor.parked, group)
  cursor.count, self.parked = cursor.count + #group.list, self.parked + #group.list
end

-- Into a change of a node: the leaves, and target -> list and place of the values of its enter. An enter that is
-- followed by its leave is neither.
local function add_change(change, group)
  local list, values = group.list, group.values
  for i = 1, group.middle - 1 do
    local target = list[i]
    if change.enters[target] then
      change.enters[target] = nil
    else
      change.leaves[#change.leaves + 1] = target
    end
  end
  for i = group.middle, #list, values do
    change.enters[list[i]], change.values = { list, i }, values
  end
end

local function group_of_change(change)
  local list = change.leaves
  local middle = #list + 1
  for _, enter in pairs(change.enters) do
    table.move(enter[1], enter[2], enter[2] + change.values - 1, #list + 1, list)
  end
  return { record = change.record, list = list, middle = middle, values = change.values }
end

-- Replaces what is parked by its net change: a group for each node.
local function compact(self, cursor)
  local changes = {}
  for _, group in ipairs(cursor.parked) do
    local record = group.record
    if not changes[record] then
      changes[record] = { record = record, leaves = {}, enters = {}, values = 1 }
      changes[#changes + 1] = changes[record]
    end
    add_change(changes[record], group)
  end
  if not cursor.most then
    local record = cursor.parked[1].record
    local text = "aoi: a handler of entity %d in space '%s' has not returned; %d values wait, as their net change"
    self.log(text:format(record.watcher, record.map.name, cursor.count))
  end
  self.parked = self.parked - cursor.count
  cursor.parked, cursor.count = {}, 0
  for _, change in ipairs(changes) do
    local group = group_of_change(change)
    if group.list[1] then add_group(self, cursor, group) end
  end
  cursor.most = math.max(PARKED_MOST, 2 * cursor.count)
end

local function park(self, cursor, record, list, first, middle, stop, values)
  if not cursor.parked then cursor.parked, cursor.count = {}, 0 end
  add_group(self, cursor, {
    record = record, middle = middle - first + 1, values = values, list = table.move(list, first, stop - 1, 1, {}),
  })
  if cursor.count > (cursor.most or PARKED_MOST) then compact(self, cursor) end
end

-- What came for the watcher of this cursor while its handler waited; more may come meanwhile.
local function hear_parked(self, cursor)
  while cursor.parked and cursor.parked[1] do
    local group = table.remove(cursor.parked, 1)
    local record, list, stop = group.record, group.list, #group.list + 1
    local ok, caught
    self.parked, cursor.count = self.parked - stop + 1, cursor.count - stop + 1
    cursor.at = 1
    repeat
      ok, caught = xpcall(hear, catch, cursor, record, list, cursor.at, group.middle, stop, group.values)
      if not ok then blame(self, record, caught, list, cursor.at, group.middle, group.values) end
    until ok
  end
  if cursor.busy then
    cursor.busy[cursor.watcher] = nil
    self.waiting = self.waiting - 1
  end
  settle(self)
end

-- Its watcher is busy, until hear_parked.
local function keep_order(self, cursor, record)
  cursor.busy, cursor.watcher = record.map.busy, record.watcher
  cursor.busy[record.watcher] = cursor
  self.waiting = self.waiting + 1
  settle(self)
end

-- What is left of the group of a handler that waits, from list[at] on, is put in front of the queue: a leave that comes
-- later must not be told before the enter.
local function queue_rest(self, handle, list, at, middle, stop, values)
  if at >= stop then return end
  local enters = math.max(at, middle)
  local rest = { handle << 2 | GROUP, enters - at, (stop - enters) // values, values }
  table.move(list, at, stop - 1, 5, rest)
  table.move(self.queue, 1, self.tail, #rest + 1, rest)
  self.queue, self.tail = rest, 4 + stop - at + self.tail
end

-- As `overtake`, where C has called the handler.
local function overtake_walk(self)
  local rest, cursor = {}, {}
  local turn, tail, seq, handle, leaves, enters, values, target = self.inbox:overtake(self.queue, rest)
  if not turn then return end
  self.tail, cursor.target = tail, target
  local record, middle, stop = self.records[handle], leaves + 1, leaves + enters * values + 1
  local in_order = record and record.map.in_order
  if record and not in_order then queue_rest(self, handle, rest, 1, middle, stop, values) end
  if seq then dispatch.push_acknowledgement(self, seq) end
  self.walks[turn], cursor.record = cursor, record
  if not in_order then return end
  park(self, cursor, record, rest, 1, middle, stop, values)
  keep_order(self, cursor, record)
end

-- The coroutine of `running` waits in a handler: its watcher is busy, and what it has not begun is the queue again.
local function overtake(self)
  local other = self.running
  if not other then return overtake_walk(self) end
  local list = other.list
  local stop, record, _, middle, values = entry_of(self, list, other.at)
  self.running, self.spare = nil, nil
  self.queue = table.move(list, stop, other.stop, 1, {})
  self.tail = math.max(0, other.stop - stop + 1)
  other.stop = stop - 1
  if record and record.map.in_order then
    keep_order(self, other, record)
  elseif record then
    other.freed = true
    queue_rest(self, record.handle, list, other.at, middle, stop, values)
  end
end

--- In a coroutine that was overtaken while it waited in a handler that C had called; caught: the handler has raised.
function dispatch.go_on(self, turn, caught)
  local cursor = self.walks[turn]
  self.walks[turn] = nil
  if caught then report(self, caught, cursor.record, cursor.target) end
  hear_parked(self, cursor)
end

-- ---- the list of a message ------------------------------------------------------------------------------------------

-- A group, unless its watcher is busy.
local function hear_group(self, cursor, record, list, first, middle, stop, values)
  local waits = record.map.busy[record.watcher]
  if waits then
    park(self, waits, record, list, first, middle, stop, values)
  else
    hear(cursor, record, list, first, middle, stop, values)
  end
end

-- Entries from `head` up to the cursor's stop, which another coroutine may have put back meanwhile.
local function loop(self, cursor, list, head)
  local records = self.records
  while head <= cursor.stop do
    local word = list[head]
    local form = word & 3
    if form == SPECIAL then
      cursor.at = head + 1
      special(self, list[head + 1], list[head + 2], list[head + 3], list[head + 4], list[head + 5])
      head = head + 6
    else
      local record = records[word >> 2]
      if form ~= GROUP and record and self.waiting == 0 then -- one event, as most groups are
        cursor.at = head + 2
        local f = form == ENTERS and record.handlers.enter or form == LEAVES and record.handlers.leave
        if f then f(record.watcher, list[head + 1], record.node) end
        head = head + 2
      else
        local stop, _, first, middle, values = entry(self, list, head)
        if record then hear_group(self, cursor, record, list, first, middle, stop, values) end
        head = stop
      end
    end
    if self.running ~= cursor then return end
  end
end

-- After an error: the rest of its group, and of the list.
local function resume(self, cursor, list)
  local stop, record, first, middle, values = entry_of(self, list, cursor.at)
  if record and cursor.at >= first then hear(cursor, record, list, cursor.at, middle, stop, values) end
  if self.running == cursor then loop(self, cursor, list, stop) end
end

local function after_error(self, cursor, caught)
  local list = cursor.list
  local _, record, _, middle, values = entry_of(self, list, cursor.at)
  if record then blame(self, record, caught, list, cursor.at, middle, values) else self.log(caught[2]) end
end

--- Delivers the queue. `several`: it may have more than one group, so that another coroutine must go on should a
-- handler of this one wait. caught, handle, target: first of all, a handler that C has called has raised.
function dispatch.deliver(self, several, caught, handle, target)
  local list = self.queue
  local cursor = self.spare or {}
  cursor.list, cursor.stop, cursor.at = list, self.tail, 1
  self.running, self.tail = cursor, 0
  settle(self)
  if several then self.fork(self.continue) end
  if caught then report(self, caught, self.records[handle], target) end
  local ok
  ok, caught = xpcall(loop, catch, self, cursor, list, 1)
  while not ok do
    after_error(self, cursor, caught)
    ok, caught = xpcall(resume, catch, self, cursor, list)
  end
  if self.running == cursor then
    self.running, self.spare = nil, cursor
    settle(self)
    if cursor.stop > KEPT_MOST then self.queue = {} end
  else
    hear_parked(self, cursor)
  end
end

--- Before anything new is put into the queue.
dispatch.overtake = overtake

--- For a client: the function that goes on with its queue.
function dispatch.continue(self)
  return function()
    overtake(self)
    if self.tail > 0 then dispatch.deliver(self, true) end
  end
end

return dispatch
