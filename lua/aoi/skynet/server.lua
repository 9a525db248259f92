-- The logic of the AOI service. It is independent of skynet: its options are a function that sends and a clock; `call`
-- and `receive` process requests and messages. No function yields, so each request ends before the next one begins.
--
--   server                       one stream of messages to each subscriber, for all spaces
--     spaces[number]             one map (space.lua)
--     links[number]              one client of one space, made by `open`: its entities, nodes and views (clients.lua);
--                                slot: its number in the post
--     records[number]            the nodes of all spaces
--     subscribers[address]       a service with links: the streams to it (streams.lua); slot: its number in the post
--     post                       in C: events of the cores -> records -> messages of subscribers, and their windows
--
-- A tick collects the events of each core, and sends one message to every subscriber with events. A subscriber with
-- `window` unacknowledged messages is behind and receives no more; when it has acknowledged all, each of its links is
-- resynchronised with whole views. When a send fails, the subscriber has ended: its nodes and the entities that it
-- owns are removed.

local Space = require "aoi.skynet.space"
local clients = require "aoi.skynet.clients"
local commands = require "aoi.skynet.commands"
local failures = require "aoi.skynet.failures"
local methods = require "aoi.skynet.methods"
local requests = require "aoi.skynet.requests"
local sorted_keys = require "aoi.sorted_keys"
local streams = require "aoi.skynet.streams"
local views = require "aoi.skynet.views"
local wire = require "aoi.skynet.wire"

local head = wire.head
local MOVES, ACK, GONE, TICK = wire.MOVES, wire.ACK, wire.GONE, wire.TICK

local Server = {}
Server.__index = Server

local DEFAULTS = {
  window = 32,           -- the most unacknowledged messages to a subscriber
  max_message = 1 << 20, -- bytes; a longer tick is sent in several messages
  heartbeat = 5,         -- seconds without a message to a subscriber after which a PING is sent
  silence = 0,           -- seconds without a message from it after which it is dropped; 0: three heartbeats if the
                         -- address is on another machine, where a send does not fail, else never
}

--- options: send(address, message) returns true; nil if there is no such address; false if the message cannot be sent.
-- It must not call back. now() is in seconds. Optional: log(text), clock() in seconds for measuring, text(pointer,
-- length) makes a string, if messages are received in this form, remote(address): whether it is on another machine,
-- queue(): the length of this service's message queue, new_space, and DEFAULTS, which service_options.lua checks.
function Server.new(options)
  local self = setmetatable({
    send = assert(options.send, "option 'send' is required"),
    now = assert(options.now, "option 'now' is required"),
    log = options.log or function() end,
    clock = options.clock or os.clock,
    text = options.text,
    remote = options.remote or function() return false end,
    queue = options.queue or function() return 0 end,
    new_space = options.new_space or require("aoi").new,
    new_sync = options.new_sync or require("aoi.sync").new,
    new_sight = options.new_sight or require("aoi.sight").new,
    apply = options.apply or wire.apply,
    spaces = {}, names = {}, space_number = 0,
    links = {}, link_number = 0,
    subscribers = {},
    records = {},
    refused = {}, dead = {}, ticking = false, probed_at = options.now(),
    first_seq = options.first_seq, -- for new subscribers, instead of 0
    packets = {}, -- packets of this tick: a list for each subscriber
    crossings = {}, -- of this tick: a flat list for each space: handle, target, t
    counters = {
      calls = 0, errors = 0, batches = 0, moves = 0, refused = 0, malformed = 0, ticks = 0, late = 0, skipped = 0,
      events = 0, messages = 0, bytes = 0, pings = 0, packets = 0, broadcasts = 0, missed = 0, deaths = 0,
      tick_seconds = 0, tick_max = 0, tick_last = 0,
    },
  }, Server)
  for name, value in pairs(DEFAULTS) do self[name] = options[name] or value end
  self.warn = failures.rate_limited(self.log, self.now)
  self.post = wire.post(math.tointeger(self.window // 1), math.tointeger(self.max_message // 1))
  self.moves = self.post.moves
  return self
end

-- Subscribers -------------------------------------------------------------------------------------------------------

--- The subscriber at this address, a new one if there is none.
function Server:subscribe(address)
  local subscriber = self.subscribers[address]
  if not subscriber then
    local now = self.now()
    subscriber = streams.begin {
      address = address, links = {}, slot = self.post:subscribe(address, self.first_seq), remote = self.remote(address),
      seq = self.first_seq or 0, sent_at = now, active_at = now, active = false, batches = 0, barred = {},
    }
    self.subscribers[address] = subscriber
  end
  return subscriber
end

--- Removes the subscriber at that address, if there is one, with its links.
function Server:drop(address)
  local subscriber = self.subscribers[address]
  if not subscriber then return end
  self.subscribers[address] = nil
  self.counters.deaths = self.counters.deaths + 1
  for _, link in pairs(subscriber.links) do self:detach(link) end
  self.post:unsubscribe(subscriber.slot)
end

--- Sends a message; if the address does not exist, drops the subscriber, during a tick at its end. Returns the result
-- of `send`.
function Server:post_message(address, message)
  local sent = self.send(address, message)
  if sent then
    self.counters.messages = self.counters.messages + 1
    self.counters.bytes = self.counters.bytes + #message
  elseif sent == nil and self.ticking then
    self.dead[#self.dead + 1] = address
  elseif sent == nil then
    self:drop(address)
  else
    self:unsent(#message)
  end
  return sent
end

--- Sends a broadcast about an entity. Returns false if it was not sent because the subscriber has fallen behind.
function Server:broadcast(subscriber, id, message)
  local fits = streams.broadcast(subscriber, message)
  if fits then return self:post_message(subscriber.address, fits) end
  self.counters.missed = self.counters.missed + 1
  self.warn("broadcast", "aoi: service :%08x has fallen behind and misses a broadcast about entity %d",
    subscriber.address, id)
  return false
end

function Server:unsent(bytes) self.log(("aoi: a message of %d bytes could not be sent"):format(bytes)) end

--- Sends a PING. Returns whether there is a subscriber at this address; if the send fails, it is dropped before.
function Server:probe(address)
  local subscriber = self.subscribers[address]
  if not subscriber then return false end
  self.counters.pings = self.counters.pings + 1
  subscriber.sent_at = self.now()
  return self:post_message(address, wire.ping((self.post:state(subscriber.slot)))) ~= nil
end

-- Seconds of silence after which the subscriber is dropped; nil: never.
local function timeout_of(self, subscriber)
  return self.silence > 0 and self.silence or subscriber.remote and 3 * self.heartbeat or nil
end

--- Drops silent subscribers and sends heartbeats. To be called about every second.
function Server:probe_all()
  local now = self.now()
  for address, subscriber in pairs(self.subscribers) do
    local seq, _, _, batches = self.post:state(subscriber.slot)
    if subscriber.active or batches ~= subscriber.batches then
      subscriber.active, subscriber.batches, subscriber.active_at = false, batches, now
    end
    if seq ~= subscriber.seq then -- messages were sent after the last probe
      subscriber.seq, subscriber.sent_at = seq, math.max(subscriber.sent_at, self.probed_at)
    end
    local timeout = timeout_of(self, subscriber)
    if timeout and now - subscriber.active_at > timeout then
      self:drop(address)
    elseif now - subscriber.sent_at >= self.heartbeat then
      self:probe(address)
    end
  end
  self.probed_at = now
end

-- Spaces and links --------------------------------------------------------------------------------------------------

--- options: as for Space.new.
function Server:new_map(name, core, options)
  local number = self.space_number + 1
  options.number, options.name, options.core = number, name, core
  local space = Space.new(self, options)
  self.space_number, self.spaces[number], self.names[name] = number, space, space
  return space
end

--- The core of the space of that name, which may be an integer as text; without a name of any space. nil: none exists.
function Server:find_core(name)
  local space = name and (self.names[name] or self.names[math.tointeger(tonumber(name))])
  if not name then space = select(2, next(self.names)) end
  return space and space.core
end

--- Makes a link. gate: the subscriber is a gate that another client has named with `to`. Such links have numbers from
-- wire.GATE on and do not keep the space open.
function Server:link(space, subscriber, gate)
  local number, base = self.link_number, gate and wire.GATE or 0
  repeat
    number = number % (wire.GATE - 1) + 1
  until not self.links[base + number]
  self.link_number = number
  number = base + number
  if not gate then space.users = space.users + 1 end
  local link = clients.new(number)
  link.space, link.subscriber, link.gate, link.drives = space, subscriber, gate, false
  link.slot = self.post:link(subscriber.slot, space.core, number)
  self.links[number], space.clients[number], subscriber.links[number] = link, link, link
  space.links[subscriber] = space.links[subscriber] or {}
  space.links[subscriber][number] = link
  return link
end

local function remove_link(self, link)
  local its = link.space.links[link.subscriber]
  self.links[link.number], link.subscriber.links[link.number], its[link.number] = nil, nil, nil
  if next(its) == nil then link.space.links[link.subscriber] = nil end
  link.space:remove(link)
  self.post:unlink(link.slot)
end

--- Removes a client from a space, with its nodes and entities. A space that no client has open is closed.
function Server:detach(link)
  local space = link.space
  if self.links[link.number] ~= link then return end
  remove_link(self, link)
  if link.gate then return end
  space.users = space.users - 1
  if space.users > 0 or not self.spaces[space.number] then return end
  for number, gate in pairs(space.clients) do
    remove_link(self, gate)
    self:post_message(gate.subscriber.address, wire.bye(number))
  end
  self.spaces[space.number], self.names[space.name] = nil, nil
  space:close()
end

-- Requests ----------------------------------------------------------------------------------------------------------

local function owned(command, self, link, name, ...)
  commands.helpers.check_owner(link.space, link.number, name, ...)
  return command(self, link, ...)
end

-- Executes a request and returns its results; raises errors, and has changed nothing then.
local function request(self, address, name, number, ...)
  if self.closed then error("the service is shutting down", 0) end
  local subscriber = self.subscribers[address]
  if subscriber then subscriber.active = true end
  if name == "open" or name == "gate" then return requests[name](self, address, number, ...) end
  local command = requests.CMD[name] or error(("unknown request '%s'"):format(tostring(name)), 0)
  local link = subscriber and subscriber.links[number] or error("the space is closed", 0)
  return owned(command, self, link, name, methods.checked(name, ...))
end

local function answer(self, ok, ...)
  self.counters.calls = self.counters.calls + 1
  if ok then return true, ... end
  self.counters.errors = self.counters.errors + 1
  return false, failures.reason((...))
end

function Server:call(address, name, ...)
  return answer(self, pcall(request, self, address, name, ...))
end

-- Messages ----------------------------------------------------------------------------------------------------------

local function refuse(self, link, n)
  self.counters.refused = self.counters.refused + n
  local ids = table.move(self.refused, 1, n, 1, {})
  self:post_message(link.subscriber.address, wire.say(wire.REFUSED, link.number, ids))
end

local function on_moves(self, address, message, flags, number)
  local link = self.links[number]
  if not link or link.subscriber.address ~= address then
    self.send(address, wire.bye(self.subscribers[address] and number or 0)) -- the link has ended
    return true
  end
  local good, bad = self.apply(link.space.core, message, self.refused, link.subscriber.barred[link.space])
  if not good then return nil, bad end
  link.subscriber.active = true
  local counters = self.counters
  counters.batches, counters.moves = counters.batches + 1, counters.moves + good
  if bad > 0 then refuse(self, link, bad) end
  if flags & TICK ~= 0 and self.links[number] == link then self:tick(link.space) end
  return true
end

-- Restarts client views: the next message of each contains the whole picture.
local function begin_anew(subscriber, list)
  for _, view in ipairs(list) do
    subscriber.suspended[view] = nil
    local link = subscriber.links[view.client]
    if link and link.views[view] then views.resend(link.space, { view.id }) end
  end
end

local function on_ack(self, address, flags, seq)
  local subscriber = self.subscribers[address]
  if not subscriber then
    self.send(address, wire.bye(0))
    return true
  end
  subscriber.active = true
  if not streams.take_ack(subscriber, flags, seq, begin_anew) then
    self.post:ack(subscriber.slot, seq, flags & wire.LOST ~= 0)
  end
  return true
end

--- Processes a message, a string, or a pointer and its length. Returns true, or nil and the error of the message.
function Server:receive(address, message, size)
  if self.closed then return true end
  local link = self.moves(self.post, address, message, size)
  if link ~= nil then
    if link then self:tick(self.links[link].space) end
    return true
  end
  if size then message = self.text(message, size) end
  local kind, flags, number = head(message)
  local ok, reason
  if kind == MOVES then
    ok, reason = on_moves(self, address, message, flags, number)
  elseif kind == ACK then
    ok, reason = on_ack(self, address, flags, number)
  elseif kind == GONE then
    ok = true
    self:drop(address)
  else
    reason = kind and "not for a service" or flags
  end
  if not ok then self.counters.malformed = self.counters.malformed + 1 end
  return ok, reason
end

-- The tick ----------------------------------------------------------------------------------------------------------

local function measure(counters, events, seconds)
  counters.ticks = counters.ticks + 1
  counters.events = counters.events + events
  counters.tick_last, counters.tick_seconds = seconds, counters.tick_seconds + seconds
  counters.tick_max = math.max(counters.tick_max, seconds)
end

-- Sends the messages of the post. If one cannot be sent, its subscriber detects the gap in the numbers and requests a
-- resync.
local function send_events(self)
  local messages, bytes = self.post:send(self.send, function(address, size, sent)
    if sent == nil then self.dead[#self.dead + 1] = address else self:unsent(size) end
  end)
  local counters = self.counters
  counters.messages, counters.bytes = counters.messages + messages, counters.bytes + bytes
end

local function collect_packet(self, view, packet)
  local subscriber = self.links[view.client].subscriber
  if streams.suspends(subscriber, view, self.window) then return end
  local list = subscriber.collecting
  if not list or list.size >= self.max_message then
    list = { subscriber = subscriber, views = {}, size = 0 }
    subscriber.collecting = list
    self.packets[#self.packets + 1] = list
  end
  list[#list + 1], list.views[#list + 1], list.size = packet, view, list.size + #packet
end

local function collect(self, space)
  local events, crossings = self.post:collect(space.core, space.sight)
  self.crossings[#self.crossings + 1] = crossings
  views.tick(space, function(view, packet) collect_packet(self, view, packet) end)
  return events
end

-- Sends the collected packets: a message for each subscriber, several if it is longer than max_message. If that fails,
-- the views are restarted.
local function send_packets(self)
  local lists = self.packets
  self.packets = {}
  for _, list in ipairs(lists) do
    local subscriber = list.subscriber
    subscriber.collecting = nil
    local ok, sent = pcall(streams.send_packets, subscriber, list, self.window, function(message)
      return self:post_message(subscriber.address, message)
    end)
    if not ok then self.log(("aoi: %s"):format(tostring(sent))) end
    if ok and sent then self.counters.packets = self.counters.packets + #list end
    if not ok or sent == false then begin_anew(subscriber, list.views) end
  end
end

-- Sends crossings, behind the events of the tick. Who has fallen behind with these, or with broadcasts, misses them.
local function send_crossings(self)
  local by_client = {}
  for at, list in ipairs(self.crossings) do
    self.crossings[at] = nil
    for i = 1, #list, 3 do
      local rec = self.records[list[i]]
      local its = rec and by_client[rec.client] or {}
      if rec then by_client[rec.client] = table.move(list, i, i + 2, #its + 1, its) end
    end
  end
  for _, client in ipairs((sorted_keys(by_client))) do
    local subscriber = self.links[client].subscriber
    local message = wire.crossed(client, by_client[client])
    message = not select(3, self.post:state(subscriber.slot)) and streams.broadcast(subscriber, message)
    if message then
      self:post_message(subscriber.address, message)
    else
      self.counters.missed = self.counters.missed + 1
    end
  end
end

-- Sends everything, again after an error: the subscriber for which it has failed is resynchronised.
local function send_all(self)
  local ok, err = pcall(send_packets, self)
  if ok then ok, err = pcall(send_events, self) end
  if ok and self.crossings[1] then ok, err = pcall(send_crossings, self) end
  if ok then return end
  self.log(("aoi: %s"):format(tostring(err)))
  return send_all(self)
end

--- Makes a tick of a space, by default of all spaces that no client drives. Returns the number of events.
function Server:tick(only)
  local start, events = self.clock(), 0
  if only then
    events = collect(self, only)
  else
    for _, space in pairs(self.spaces) do
      if space.drivers == 0 then events = events + collect(self, space) end
    end
  end
  self.ticking = true
  send_all(self)
  self.ticking = false
  for i, address in ipairs(self.dead) do
    self.dead[i] = nil
    self:drop(address)
  end
  measure(self.counters, events, self.clock() - start)
  return events
end

-- Shutdown and counters ---------------------------------------------------------------------------------------------

--- Ends the service: sends the last events, then BYE to all subscribers, and closes all spaces. Twice is harmless.
function Server:shutdown()
  for _, space in pairs(self.spaces) do self:tick(space) end -- those that clients drive, too
  self.closed = true
  for address in pairs(self.subscribers) do self.send(address, wire.bye(0)) end
  for _, space in pairs(self.spaces) do space.core:close() end
  self.spaces, self.names, self.subscribers, self.records, self.links = {}, {}, {}, {}, {}
end

--- The state of the stream to a subscriber: the messages sent and unacknowledged, and whether it is behind; nil without
-- such a subscriber.
function Server:subscriber_info(address)
  local subscriber = self.subscribers[address]
  if not subscriber then return nil end
  local seq, waiting, behind = self.post:state(subscriber.slot)
  return { sent = seq, waiting = waiting, behind = behind and 1 or 0 }
end

--- Tables of numbers by topic, for a console.
function Server:info()
  local total = { spaces = 0, subscribers = 0, behind = 0, waiting = 0, queue = self.queue() }
  for name, value in pairs(self.counters) do total[name] = value end
  total.tick_seconds, total.tick_last, total.tick_max = nil, nil, nil
  local overruns, resyncs, _, _, batches, moves = self.post:counters()
  total.overruns, total.resyncs = overruns, resyncs
  total.batches, total.moves = total.batches + batches, total.moves + moves
  local function milliseconds(seconds) return math.floor(seconds * 1e6 + 0.5) / 1000 end
  local result = {
    service = total,
    tick = {
      last_ms = milliseconds(self.counters.tick_last),
      max_ms = milliseconds(self.counters.tick_max),
      mean_ms = milliseconds(self.counters.tick_seconds / math.max(1, self.counters.ticks)),
      late = self.counters.late, skipped = self.counters.skipped,
    },
  }
  local wait = {} -- the ten subscribers with most unacknowledged messages have a topic each
  for address in pairs(self.subscribers) do
    local topic = self:subscriber_info(address)
    topic.address = address
    total.subscribers, total.behind = total.subscribers + 1, total.behind + topic.behind
    total.waiting = math.max(total.waiting, topic.waiting)
    if topic.waiting > 0 then wait[#wait + 1] = topic end
  end
  table.sort(wait, function(a, b) return a.waiting > b.waiting or a.waiting == b.waiting and a.address < b.address end)
  for i = 1, math.min(#wait, 10) do result[("subscriber :%08x"):format(wait[i].address)] = wait[i] end
  for _, space in pairs(self.spaces) do
    total.spaces = total.spaces + 1
    local stats = space.core:stats()
    local links, client_views = 0, 0
    for _ in pairs(space.clients) do links = links + 1 end
    for _ in pairs(space.views) do client_views = client_views + 1 end
    local text = type(space.name) == "string" and space.name:find "^-?%d+$" and "space '%s'" or "space %s" -- 1, "1"
    result[text:format(space.name)] = {
      number = space.number, clients = links, drivers = space.drivers, entities = stats.entities,
      nodes = stats.nodes, pending = stats.pending, memory = stats.memory, client_views = client_views,
    }
  end
  return result
end

return Server
