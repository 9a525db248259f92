-- From the events of a core to the messages of its subscribers: events are sorted by record, written and sent, or
-- dropped where a subscriber has fallen behind.

local links = require "aoi.skynet.links"
local wire = require "aoi.skynet.wire"

local CLOSE, WHOLE = wire.CLOSE, wire.WHOLE
local U32 = 0xffffffff

local delivery = {}

--- The events of the space since the last tick, sorted by record.
function delivery.collect(server, space)
  local records, ENTER = server.records, server.ENTER
  local events, n = space.core:drain(space.events)
  for i = 1, 4 * n, 4 do
    local record = records[events[i + 3]]
    local link = record.link
    if not (link.stale or link.gone) then
      if not record.dirty then links.mark_dirty(record) end
      if events[i] == ENTER then
        local k = record.enter_count + 1
        record.enter_count = k
        record.enters[k] = events[i + 2]
      else
        local k = record.leave_count + 1
        record.leave_count = k
        record.leaves[k] = events[i + 2]
      end
    end
  end
  local closing = space.closing
  for i = 1, #closing do
    local record = closing[i]
    closing[i] = nil
    records[record.handle] = nil
    record.closed = true
    if not (record.link.stale or record.link.gone) then links.mark_dirty(record) end
  end
  return n
end

-- Sends the writer's content. Returns false if the subscriber is gone.
local function send_events(server, subscriber)
  local seq = (subscriber.seq + 1) & U32
  local waiting = (seq - subscriber.acked) & U32
  local message = server.writer:finish(seq, waiting % server.ask_every == 0 or waiting >= server.window)
  local sent = server:post(subscriber.address, message)
  if sent then subscriber.seq, subscriber.sent_at = seq, server.now() end
  return sent ~= nil
end

-- Sends the writer's content if it has reached the size of a message. Returns false if the subscriber is gone.
local function make_room(server, subscriber)
  return server.writer.size < server.max_message or send_events(server, subscriber)
end

local function write_changes(server, link)
  local writer = server.writer
  for i = 1, link.dirty_count do
    local record = link.dirty[i]
    local ids, leaves, enters = record.leaves, record.leave_count, record.enter_count
    table.move(record.enters, 1, enters, leaves + 1, ids)
    if not make_room(server, link.subscriber) then return false end
    writer:group(record.handle, record.closed and CLOSE or 0, not record.opened and record, ids, leaves, enters)
    record.opened = true
  end
  links.clean_all(link)
  return true
end

-- The first message names all records of the link; views that it has no room for follow in others.
local function write_resync(server, link)
  local writer, core, view = server.writer, link.space.core, server.view
  local groups, later = 0, {}
  for _ in pairs(link.records) do groups = groups + 1 end
  writer:resync(link.space.number, groups)
  for handle, record in pairs(link.records) do
    record.opened = true
    if writer.size < server.max_message then
      local _, n = core:view(record.watcher, handle, view)
      writer:group(handle, WHOLE, record, view, 0, n)
    else
      writer:group(handle, 0, record, view, 0, 0)
      later[#later + 1] = record
    end
  end
  for _, record in ipairs(later) do
    local _, n = core:view(record.watcher, record.handle, view)
    if not make_room(server, link.subscriber) then return false end
    writer:group(record.handle, WHOLE, nil, view, 0, n)
  end
  server.counters.resyncs = server.counters.resyncs + 1
  link.stale = false
  return true
end

--- Marks all views of a subscriber as unknown: it gets them whole in the next message.
function delivery.resync(subscriber)
  for _, link in pairs(subscriber.links) do links.make_stale(link) end
end

--- Sends the changes of the links on the subscriber's list, as one message or several.
function delivery.deliver(server, subscriber)
  local todo, n = subscriber.todo, subscriber.todo_count
  subscriber.todo_count = 0
  local waiting = (subscriber.seq - subscriber.acked) & U32
  if subscriber.behind then
    subscriber.behind = waiting > 0
  elseif waiting >= server.window then
    subscriber.behind = true
    server.counters.overruns = server.counters.overruns + 1
    delivery.resync(subscriber)
  end
  if subscriber.behind then n = 0 end
  local width = 2
  for i = 1, n do width = math.max(width, todo[i].space.width) end
  server.writer:reset(width)
  for i = 1, n do
    local link = todo[i]
    local write = link.stale and write_resync or write_changes
    if not write(server, link) then return end
  end
  if n > 0 then send_events(server, subscriber) end
end

return delivery
