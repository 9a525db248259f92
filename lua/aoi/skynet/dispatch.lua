-- Handlers that wait. C calls handlers one after the other (src/skynet/wire_dispatch.c), and calls functions here for
-- entries that are no events, for errors, and, while handlers wait, for groups whose watcher may be busy.
--
--   walks    turn -> the cursor of a coroutine that waits in a handler and has been overtaken
--   busy     of a map: watcher -> the cursor of the coroutine that waits in one of its handlers
--
-- A handler may wait. The next coroutine that uses the inbox overtakes the waiting one: the watcher is busy, and of the
-- rest of its events, and of later ones, the cursor keeps the difference for each node: what the handlers have to hear
-- when this one returns. So a watcher receives events in order, others are not delayed, and what is kept is no longer
-- than what the handlers have heard and the present views, if it never returns. With "free" a map delivers later events
-- at once, also to the same watcher.

local failures = require "aoi.skynet.failures"
local wire = require "aoi.skynet.wire"

local MANY = 32 -- groups behind one handler, from which on it is logged

local dispatch = {}

local function catch(err) return { err, debug.traceback(failures.text(err), 2) } end

-- Called by C for handlers with a metatable: its __index may raise and wait, as the handler may.
local function look_up(field, handlers, ...)
  local f = handlers[field]
  if f then f(...) end
end

-- Reports an error of a handler of the record, which is nil if it has been removed.
local function report(self, caught, record, target)
  if not record then return self.log(caught[2]) end
  local map = record.map
  failures.report(self, map, caught[map.error_handler and 1 or 2], record.watcher, target, record.node)
end

-- Reports an error of the handler of the event that ends before list[at].
local function report_at(self, record, caught, list, at, middle, values)
  report(self, caught, record, list[at <= middle and at - 1 or at - values])
end

-- ---- entries that are no groups -------------------------------------------------------------------------------------

-- Another client has added a node for this one.
local function on_opened(self, link, watcher, node, handle)
  local map = self:map_of(link)
  if not map then return self.inbox:close(handle) end -- it has been closed since
  local record = { map = map, watcher = watcher, node = node, handle = handle, handlers = map.listener or {} }
  record.foreign, record.link = true, link
  self.records[handle], map.records[handle] = record, record
  self.inbox:handlers(handle, record.handlers)
end

local function on_closed(self, handle)
  local record = self.records[handle]
  self.records[handle] = nil
  if not record then return end
  record.map.records[handle] = nil
  record.map:disown_record(record)
end

--- A message up to that one is lost, or was not applied to its end: requests a resync.
function dispatch.missed(self, seq)
  self.counters.lost = self.counters.lost + 1
  self.send(wire.ack(seq, wire.LOST))
end

local special = {
  [wire.OPENED] = on_opened, [wire.CLOSED] = on_closed,
  [wire.RESYNCED] = function(self, link)
    local map = self:map_of(link)
    self.counters.resyncs = self.counters.resyncs + 1
    if map and map.resync_handler then failures.run(self, map, map.resync_handler) end
  end,
  [wire.MISSED] = dispatch.missed,
}

-- ---- groups ---------------------------------------------------------------------------------------------------------

-- Calls the handlers for the events of one group from list[at] on. After an error the cursor is behind its event.
local function deliver_group(cursor, record, list, at, middle, stop, values)
  local watcher, node, handlers, map = record.watcher, record.node, record.handlers, record.map
  while at < middle and not (record.closed or map.closed) do
    local target = list[at]
    at = at + 1
    cursor.at = at -- before the handler is looked up, which may raise, too
    local f = handlers.leave
    if f then f(watcher, target, node) end
  end
  while at < stop and not (record.closed or map.closed) do
    local i = at
    at = at + values
    cursor.at = at
    local f = handlers.enter
    if f then f(watcher, list[i], node, table.unpack(list, i + 1, i + values - 1)) end
  end
end

-- ---- handlers that wait ---------------------------------------------------------------------------------------------

-- Keeps a group of events as the difference for its node: the leaves, and target -> list and index of the values of its
-- enter. An enter and the leave that follows it cancel out.
local function park(self, cursor, record, list, middle, values)
  local change = cursor.changes[record]
  if not change then
    change = { record = record, leaves = {}, enters = {}, values = values }
    cursor.changes[record], cursor.changes[#cursor.changes + 1] = change, change
    self.parked = self.parked + 1
  end
  for i = 1, middle - 1 do
    local target = list[i]
    if change.enters[target] then
      change.enters[target] = nil
    else
      change.leaves[#change.leaves + 1] = target
    end
  end
  for i = middle, #list, values do
    change.enters[list[i]], change.values = { list, i }, values
  end
  cursor.groups = (cursor.groups or 0) + 1
  if cursor.groups ~= MANY then return end
  self.log(("aoi: a handler of entity %d in space '%s' has not returned; what follows is kept as a difference"):format(
    record.watcher, record.map.name))
end

-- Delivers what is parked behind the handler of this cursor; more may be parked meanwhile.
local function deliver_parked(self, cursor)
  while cursor.changes[1] do
    local change = table.remove(cursor.changes, 1)
    local record, list, values, middle = change.record, change.leaves, change.values, #change.leaves + 1
    local ok, caught
    cursor.changes[record], self.parked = nil, self.parked - 1
    for _, enter in pairs(change.enters) do table.move(enter[1], enter[2], enter[2] + values - 1, #list + 1, list) end
    cursor.at = 1
    repeat
      ok, caught = xpcall(deliver_group, catch, cursor, record, list, cursor.at, middle, #list + 1, values)
      if not ok then report_at(self, record, caught, list, cursor.at, middle, values) end
    until ok
  end
  if cursor.busy then
    cursor.busy[cursor.watcher] = nil
    self.waiting = self.waiting - 1
    self.inbox:held(self.waiting)
  end
end

-- Makes the watcher busy, until deliver_parked.
local function keep_order(self, cursor, record)
  cursor.busy, cursor.watcher = record.map.busy, record.watcher
  cursor.busy[record.watcher] = cursor
  self.waiting = self.waiting + 1
  self.inbox:held(self.waiting)
end

--- If a handler waits, detaches its coroutine from the inbox, so that new events can be delivered.
function dispatch.overtake(self)
  local handle, target = self.inbox:waiting()
  if not handle then return end
  local record = self.records[handle]
  local rest, in_order = {}, record and record.map.in_order
  local turn, leaves, _, values = self.inbox:overtake((in_order or not record) and rest or nil)
  local cursor = { target = target, record = record, changes = {} }
  self.walks[turn] = cursor
  if not in_order then return end
  if rest[1] then park(self, cursor, record, rest, leaves + 1, values) end
  keep_order(self, cursor, record)
end

-- Called in an overtaken coroutine when its handler has returned, or has raised `caught`.
local function finish_overtaken(self, turn, caught)
  local cursor = self.walks[turn]
  self.walks[turn] = nil
  if caught then report(self, caught, cursor.record, cursor.target) end
  deliver_parked(self, cursor)
end

--- Takes the results of `receive` or `deliver` of the inbox; done == false: the coroutine was overtaken.
function dispatch.finish(self, done, turn, caught)
  if done == false then finish_overtaken(self, turn, caught) end
end

--- Returns `receive` of a client's inbox, and `continue`, which delivers the events behind a waiting handler.
function dispatch.connect(self, fork)
  local deliver, receive
  local function continue()
    dispatch.overtake(self)
    if self.inbox:idle() then return end
    self.fork(self.continue) -- in case a handler waits again
    dispatch.finish(self, deliver())
  end
  receive, deliver = self.inbox:receiver(catch, fork, continue, look_up,
    function(what, ...) special[what](self, ...) end,
    function(caught, handle, target) report(self, caught, self.records[handle], target) end,
    function(handle, leaves, _, values, list)
      local record = self.records[handle]
      local cursor = record and record.map.busy[record.watcher]
      if not cursor then return false end
      park(self, cursor, record, list, leaves + 1, values)
      return true
    end, self.send)
  return receive, continue
end

return dispatch
