-- The half of the client library that hears: messages of events to views and handlers. It adds methods to the class of
-- aoi.skynet.world.member, which draws the records and the queue.
--
-- An event changes the record when it arrives and is taken from the queue before its handler runs. So a handler may
-- wait for something, and another message that arrives meanwhile delivers what follows, in order.

local failures = require "aoi.skynet.failures"
local core = require "aoi.skynet.world.native"

local CLOSED, WHOLE, ROUTE = 1, 2, 16
local ENTER, LEAVE, RESYNCED = "enter", "leave", "resynced"
local MOST_HOPS = 20 -- epochs after which no move comes that was sent before the entity left

return function(Member)

local function push(self, record, kind, target)
  local queue, tail = self.queue, self.tail
  queue[tail + 1], queue[tail + 2], queue[tail + 3] = record, kind, target
  self.tail = tail + 3
end

-- What a metatable looks up may raise and wait, as the handler may: it is asked where that is caught.
local function handler_of(handlers, kind)
  local f = rawget(handlers, kind)
  if f ~= nil or not getmetatable(handlers) then return f end
  return function(...)
    local found = handlers[kind]
    if found then found(...) end
  end
end

--- Calls the handlers of what has arrived. A handler may wait: what arrives meanwhile delivers what follows, in order.
function Member:deliver()
  while self.head < self.tail do
    local queue, head = self.queue, self.head
    local record, kind, target = queue[head], queue[head + 1], queue[head + 2]
    queue[head], queue[head + 1], queue[head + 2] = nil, nil, nil
    self.head = head + 3
    if self.head > self.tail then self.head, self.tail = 1, 0 end
    if kind == RESYNCED then
      if self.resync_handler then failures.run(self, self, self.resync_handler) end
    elseif not self.closed then
      self.counters.events = self.counters.events + 1
      local f = handler_of(record.handlers, kind)
      if f then failures.run(self, self, f, record.watcher, target, record.node) end
    end
  end
end

-- list[first .. first + n - 1] is all that the node sees.
local function replace_view(self, record, list, first, n)
  local old, new = record.view, {}
  for i = first, first + n - 1 do new[list[i]] = true end
  for target in pairs(old) do
    if not new[target] then push(self, record, LEAVE, target) end
  end
  for i = first, first + n - 1 do
    if not old[list[i]] then push(self, record, ENTER, list[i]) end
  end
  record.view = new
end

local function change_view(self, record, list, first, leaves, enters)
  local view = record.view
  for i = first, first + leaves - 1 do
    view[list[i]] = nil
    push(self, record, LEAVE, list[i])
  end
  first = first + leaves
  for i = first, first + enters - 1 do
    view[list[i]] = true
    push(self, record, ENTER, list[i])
  end
end

local apply_early

local function close_record(self, record)
  replace_view(self, record, {}, 1, 0)
  self.records[record.handle] = nil
  if record.next then
    record.next.after = nil
    apply_early(self, record.next)
  end
  local nodes = self.mine[record.watcher]
  if nodes and nodes[record.node] == record then
    nodes[record.node] = nil
    if next(nodes) == nil then self.mine[record.watcher] = nil end
  end
end

local function apply_group(self, record, flags, seq, list, first, leaves, enters)
  if flags & WHOLE ~= 0 then
    replace_view(self, record, list, first, enters)
  else
    change_view(self, record, list, first, leaves, enters)
  end
  record.seq = seq
  if flags & CLOSED ~= 0 then close_record(self, record) end
end

function apply_early(self, record)
  local early = record.early
  if early and early.whole and early.whole > record.seq then
    local group = early[early.whole]
    early[early.whole] = nil
    apply_group(self, record, group.flags, early.whole, group, 1, group.leaves, group.enters)
  end
  while early do
    local group = early[record.seq + 1]
    if not group then break end
    early[record.seq + 1] = nil
    apply_group(self, record, group.flags, record.seq + 1, group, 1, group.leaves, group.enters)
  end
  for seq in pairs(early or {}) do
    if seq == "whole" or seq <= record.seq then early[seq] = nil end
  end
  if early and next(early) == nil then record.early = nil end
end

-- The group at list[at]; returns the index after it.
local function on_group(self, list, at, epoch)
  local flags, handle, seq, leaves, enters = table.unpack(list, at, at + 4)
  local record, first = self.records[handle], at + 5
  local after = first + leaves + enters
  if not record or seq <= record.seq then return after end
  if flags & WHOLE ~= 0 then record.whole = epoch end
  if not record.after and (seq == record.seq + 1 or flags & WHOLE ~= 0) then
    apply_group(self, record, flags, seq, list, first, leaves, enters)
    if record.early then apply_early(self, record) end
  else
    self.counters.early = self.counters.early + 1
    record.early = record.early or {}
    record.early[seq] = table.move(list, first, after - 1, 1, { flags = flags, leaves = leaves, enters = enters })
    if flags & WHOLE ~= 0 then record.early.whole = seq end
  end
  return after
end

-- A move that was still on its way when this client made the entity leave is no news.
local function forget_own(self, ids, epoch)
  local others = {}
  for _, id in ipairs(ids) do
    local left = self.left[id]
    if not left or epoch > left.epoch + MOST_HOPS then others[#others + 1] = id end
  end
  return others
end

-- The shards have refused them in that epoch; nil: it is known here that they are not in the world.
function Member:refuse(ids, epoch)
  if epoch then ids = forget_own(self, ids, epoch) end
  if #ids == 0 then return end
  self.counters.refused = self.counters.refused + #ids
  for _, id in ipairs(ids) do self:forget_owner(id) end
  if self.refused_handler then
    failures.run(self, self, self.refused_handler, ids, #ids)
  else
    self.log(("aoi: %d moves were refused, that of entity %d among them"):format(#ids, ids[1]))
  end
end

--- A shard's message of events: true, or nil and what is wrong with it, which then has had no effect.
function Member:receive(message)
  local list = self.list
  local n, epoch = core.read_events(message, list, self.plan.shards)
  if not n then
    self.counters.malformed = self.counters.malformed + 1
    return nil, epoch
  end
  if self.closed then return true end
  self.counters.messages, self.counters.bytes = self.counters.messages + 1, self.counters.bytes + #message
  if epoch > (self.epoch_told or 0) then self.epoch_told, self.flushes = epoch, 0 end
  local at, refused = 1, nil
  while at <= n do
    if list[at] < ROUTE then
      at = on_group(self, list, at, epoch)
    elseif list[at] == ROUTE then
      self.counters.routes = self.counters.routes + 1
      if self.outbox:where(list[at + 1]) then self.outbox:set(list[at + 1], list[at + 2]) end
      at = at + 3
    else
      refused = refused or {}
      refused[#refused + 1] = list[at + 1]
      at = at + 2
    end
  end
  if refused then self:refuse(refused, epoch) end
  return true
end

--- All shards have told the whole views of that epoch: a node that was there then and is in none of them has gone.
function Member:resynced(epoch)
  self.counters.resyncs = self.counters.resyncs + 1
  local gone = {}
  for _, record in pairs(self.records) do
    if record.accepted and record.accepted <= epoch and (record.whole or 0) < epoch then gone[#gone + 1] = record end
  end
  for _, record in ipairs(gone) do close_record(self, record) end
  push(self, nil, RESYNCED, false)
end

--- The world has ended: no more events, and every call raises.
function Member:finish(reason)
  if self.closed then return end
  self.closed, self.reason = true, reason
  self.records, self.mine, self.lost, self.lost_count = {}, {}, {}, 0
  if self.close_handler then failures.run(self, self, self.close_handler, reason) end
end

--- Leaves the world with everything that this client has put into it. No events; closing twice is harmless.
function Member:close()
  if self.closed then return end
  if self.ticking then self:push_moves() end
  self.closed = true
  self.records, self.mine = {}, {}
  self.quit()
end

Member.__close = Member.close

end
