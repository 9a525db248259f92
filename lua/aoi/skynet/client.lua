-- The logic of the client library, for maps in another service. It is independent of skynet: its options are functions
-- that send and call, and `receive` processes a message.
--
--   client                     one for each AOI service
--     maps[link]               a map, as `open` returned it
--       mine[id][node] ---+    the record of a node that this map added
--       records[handle] --+    those of all its nodes, including nodes that other services have added for it
--     records[handle] <---+    one life of one node: its handlers
--     inbox                    in C: the view of each node after the messages so far, and events that are queued behind
--                              a waiting handler: aoi.skynet.dispatch
--     gate                     receives the events of links that others have made for this client: aoi.skynet.gateway
--
-- An event changes the view when it arrives and is removed from the inbox before its handler runs. So if a handler
-- waits, the next message that arrives delivers the events behind it.

local Map = require "aoi.skynet.map"
local dispatch = require "aoi.skynet.dispatch"
local failures = require "aoi.skynet.failures"
local wire = require "aoi.skynet.wire"

local Client = { Space = Map }
Client.__index = Client

--- The map of a link, or the gate for which the link was made; nil if it is closed.
function Client:map_of(link) return self.maps[link] or link >= wire.GATE and self.gate or nil end

local ASK = wire.ASK
local head = wire.head

--- options: send(message) returns true, or nil if the service has ended; call(name, ...) returns the results of the
-- server's `call`, or nil and a reason if the service cannot be called. Optional: log(text) logs errors and refused
-- moves without a handler; now() is in seconds; fork(f) calls f soon, in another coroutine; name(): the service, for
-- messages; gone(): called once, when the service has ended; text(pointer, length) makes a string, if messages are
-- received in this form; watched = true: the caller detects that a handler makes `receive` wait, and then calls
-- `continue` in another coroutine, so that no coroutine is forked in advance; origin: the place of the client
-- (aoi.skynet.origin).
function Client.new(options)
  local self = setmetatable({
    send = assert(options.send, "option 'send' is required"),
    call = assert(options.call, "option 'call' is required"),
    log = options.log or function() end,
    fork = options.fork or function() end,
    name = options.name or function() return "the AOI service" end,
    on_gone = options.gone or function() end,
    text = options.text, origin = options.origin,
    maps = {}, records = {}, inbox = wire.inbox(),
    parked = 0, waiting = 0, walks = {},
    heartbeat = 5, messages = -1, silent = 0, losses = 0,
    counters = {
      malformed = 0, resyncs = 0, lost = 0, errors = 0, batches = 0, moves = 0,
      packets = 0, broadcasts = 0,
    },
  }, Client)
  self.warn = failures.rate_limited(self.log, options.now or os.time)
  self.receive_events, self.continue = dispatch.connect(self, not options.watched and self.fork or nil)
  return self
end

-- The number of the last message whose events have all been delivered.
local function taken(self) return (select(2, self.inbox:seq())) end

-- Requests ----------------------------------------------------------------------------------------------------------

-- If a call has failed (ok == nil), tests by a message whether the service has ended, and closes the maps then.
local function checked(self, ok, ...)
  if ok == nil and not self.lost and self.send(wire.ack(taken(self))) == nil then
    return false, (self:lose())
  end
  return ok, ...
end

--- Returns true and the results, or false and the error.
function Client:request(name, ...) return checked(self, self.call(name, ...)) end

--- options: engine, dimensions, cell, quantum of client views, and drive = true: this map's flush is the space's tick.
-- If the service closes all maps of this client before the answer arrives, messages for the new map have no receiver:
-- the map is closed, and an error is raised.
function Client:open(name, options)
  local losses = self.losses
  local ok, link, number, dimensions, heartbeat = self:request("open", name, options, self.origin)
  if ok and self.losses ~= losses then
    self.call("close", link)
    error(self.name() .. " is gone", 2)
  end
  if ok ~= true or not heartbeat then
    error(not ok and link or "bad argument #1 to 'open' (it is no AOI service)", 2)
  end
  local map = Map.new(self, math.tointeger(name) or name, link, number, dimensions, options and options.drive or false)
  self.maps[link], self.heartbeat, self.lost = map, heartbeat, false
  return map
end

--- A gate: receives events and messages that clients of any space of the service send to this client with `to`.
function Client:open_gate()
  local losses = self.losses
  local ok, heartbeat = self:request("gate", true, nil, self.origin)
  if ok and self.losses ~= losses then ok, heartbeat = false, self.name() .. " is gone" end
  if ok ~= true or not heartbeat then
    error(not ok and heartbeat or "bad argument #1 to 'gate' (it is no AOI service)", 2)
  end
  self.gate = self.gate or require("aoi.skynet.gateway").new(self)
  self.heartbeat, self.lost = heartbeat, false
  return self.gate
end

-- Lifetime ----------------------------------------------------------------------------------------------------------

local function close_maps(self, number, reason)
  local gone = {}
  for link, map in pairs(self.maps) do
    if number == 0 or link == number then gone[#gone + 1] = map end
  end
  table.sort(gone, function(a, b) return a.link < b.link end)
  for _, map in ipairs(gone) do map:forget(reason) end
  for _, map in ipairs(gone) do
    if map.close_handler then failures.run(self, map, map.close_handler, reason) end
  end
end

--- Removes a record, since its map is closed.
function Client:forget_record(record)
  self.records[record.handle], record.closed = nil, true
  self.inbox:close(record.handle)
end

--- The service has ended: closes all maps and calls their on_close. Returns the reason as text.
function Client:lose(reason)
  reason = reason or self.name() .. " is gone"
  if not self.lost then
    self.lost, self.losses = true, self.losses + 1
    self.on_gone()
    self.inbox:seq(0)
    local gate = self.gate
    if gate then
      self.gate, gate.closed = nil, true
      gate:forget()
      if gate.close_handler then failures.run(self, gate, gate.close_handler, reason) end
    end
    close_maps(self, 0, reason)
  end
  return reason
end

--- To be called every `heartbeat` seconds. far: the service is on another machine, and counts as ended after three
-- heartbeats without a message; on the same machine a failed send is enough. Returns false if the service has ended.
function Client:beat(far)
  if self.lost then return false end
  local _, _, _, messages = self.inbox:count()
  self.silent = messages ~= self.messages and 0 or self.silent + 1
  self.messages = messages
  if self.send(wire.ack(taken(self))) and not (far and self.silent >= 3) then return true end
  self:lose()
  return false
end

--- Requests a resync: whole views of all nodes, of which handlers receive the difference.
function Client:ask_for_all() self.send(wire.ack(taken(self), wire.LOST)) end

-- Messages ----------------------------------------------------------------------------------------------------------

local on = {}

--- Reports that moves of these entities have been refused.
function Client:report_refused(map, ids, n)
  if map.refused_handler then return failures.run(self, map, map.refused_handler, ids, n) end
  local text = "aoi: %d moves of %s '%s' were refused, that of entity %d among them"
  self.warn("refused", text, n, map.noun, map.name, ids[1] or 0)
end

-- Defines a message for an open map: calls f(self, map, table). width: as of wire.read.
local function on_map(kind, width, f)
  on[kind] = function(self, message, _, link)
    local said, reason = wire.read(message, width)
    if not said then return nil, reason end
    if self.maps[link] then f(self, self.maps[link], said) end
    return true
  end
end

on_map(wire.REFUSED, 1, function(self, map, ids) self:report_refused(map, ids, #ids) end)

on_map(wire.TAKEN, 3, function(self, map, it)
  if map.taken and not map:taken(it[1], it[2], it[3]) then return end
  if map.taken_handler then failures.run(self, map, map.taken_handler, it[1]) end
end)

on_map(wire.LOST_VIEWS, 2, function(self, map, list)
  if map.lose_views then map:lose_views(list) end
  if list.quiet then return end
  local f = map.view_lost_handler
  for i = 1, f and #list or 0, 2 do failures.run(self, map, f, list[i], list[i + 1] or nil) end
  if f then return end
  local text = "aoi: %d nodes and views of %s '%s' have ended with the service that they named, one of entity %d"
  self.warn("lost", text, #list // 2, map.noun, map.name, list[1] or 0)
end)

on_map(wire.ROUTES, 3, function(_, map, list)
  if map.take_routes then map:take_routes(list) end
end)

on_map(wire.RENEWED, nil, function(_, map, it)
  if map.take_renewed then map:take_renewed(it) end
end)

-- seq: of the last EVENTS that were sent. One that is lost is noticed by the next one, or, if it was the last, here.
on[wire.PING] = function(self, _, _, seq)
  local last, delivered = self.inbox:seq()
  if seq == last or delivered ~= last then
    self.send(wire.ack(delivered))
  else
    self.inbox:seq(seq)
    dispatch.missed(self, seq)
  end
  return true
end

on[wire.BYE] = function(self, message, _, link)
  if link == 0 then
    self:lose(wire.read_bye(message))
  elseif link >= wire.GATE then
    if self.gate then self.gate:forget(link) end
  else
    close_maps(self, link, "the service has closed it")
  end
  return true
end

on[wire.PACKETS] = function(self, message, flags, seq)
  local list = {}
  local n, reason = wire.read_packets(message, list)
  if not n then return nil, reason end
  self.counters.packets = self.counters.packets + n
  for i = 1, 4 * n, 4 do
    local map = self:map_of(list[i])
    local f = map and map.client_handler
    if f then failures.run(self, map, f, list[i + 1], list[i + 3], list[i + 2] or nil) end
  end
  if flags & ASK ~= 0 then self.send(wire.ack(seq, wire.OF_PACKETS)) end
  return true
end

-- The watchers that see the target after the messages so far, each once.
local function reached(self, target, handles, ids)
  local list, n, seen = {}, 0, {}
  local function add(id)
    if seen[id] then return end
    n = n + 1
    seen[id], list[n] = true, id
  end
  for _, handle in ipairs(handles) do
    local record = self.records[handle]
    if record and self.inbox:sees(handle, target) then add(record.watcher) end
  end
  for _, id in ipairs(ids) do add(id) end
  return list, n
end

on[wire.BROADCAST] = function(self, message, flags, link)
  local it, sent = wire.read_broadcast(message)
  if not it then return nil, sent end
  local map = self:map_of(link)
  local list, n = reached(self, it.target, it.handles, it.ids)
  self.counters.broadcasts = self.counters.broadcasts + 1
  if map and map.broadcast_handler and n > 0 then
    failures.run(self, map, map.broadcast_handler, it.bytes, it.target, list, n)
  end
  if flags & ASK ~= 0 then self.send(wire.ack(sent, wire.OF_BROADCASTS)) end
  return true
end

on[wire.CROSSED] = function(self, message, flags)
  local list, sent = wire.read_crossed(message)
  if not list then return nil, sent end
  for i = 1, #list, 3 do
    local record = self.records[list[i]]
    if record then
      failures.run(self, record.map, function(...)
        local f = record.handlers.cross -- a metatable may raise
        if f then f(...) end
      end, record.watcher, list[i + 1], record.node, list[i + 2])
    end
  end
  if flags & ASK ~= 0 then self.send(wire.ack(sent, wire.OF_BROADCASTS)) end
  return true
end

-- Processes any message except for valid EVENTS.
local function receive_other(self, message, size, reason)
  if size then message = self.text(message, size) end
  if select(2, self.inbox:idle()) > 0 then self.continue() end -- earlier events behind a waiting handler
  local kind, flags, number = head(message)
  local ok
  if on[kind] then
    ok, reason = on[kind](self, message, flags, number)
  elseif kind ~= wire.EVENTS then
    reason = kind and "not for a client" or flags
  end
  if not ok then
    self.counters.malformed = self.counters.malformed + 1
    return nil, reason
  end
  return true
end

--- Completes `receive` after `receive_events`, which has returned done, a, b.
function Client:finish(message, size, done, a, b)
  if done ~= nil then
    dispatch.finish(self, done, a, b)
    return true
  elseif a then
    return receive_other(self, message, size, a)
  end
  dispatch.overtake(self) -- a handler waits
  return self:receive(message, size)
end

--- Processes one message of the service, a string or a pointer and its length, and delivers its events. Returns true,
-- or nil and the error of a malformed message, which has no effect.
function Client:receive(message, size) return self:finish(message, size, self.receive_events(message, size)) end

--- The client's counters, for a console.
function Client:info()
  local views, memory, events, messages, bytes = self.inbox:count()
  local info = {
    queued = select(2, self.inbox:idle()), parked = self.parked,
    seq = (self.inbox:seq()), taken = taken(self), nodes = views,
    memory = memory, events = events, bytes = bytes, messages = messages - self.counters.malformed,
  }
  for name, value in pairs(self.counters) do info[name] = value end
  for _, map in pairs(self.maps) do
    local batches, moves = map:moved()
    info.batches, info.moves = info.batches + batches, info.moves + moves
  end
  return info
end

return Client
