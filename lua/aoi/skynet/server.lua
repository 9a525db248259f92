-- The logic of the AOI service. It is independent of skynet: its options are a function that sends and a clock, `call`
-- and `receive` take what arrives. No function yields, so every request is complete before the next one begins.
--
--   server                       one stream of messages to each subscriber, whatever spaces it has watchers in
--     spaces[number]             one map; `core` is an aoi space with deferred delivery
--       nodes[id][node] ----+    the record of a node; the core knows the node by the record's handle
--       owner[id] -> link   |    the client that entered the entity
--       links[address]      |    one client of this space, its records and its entities
--     records[handle] <-----+    one life of one node: its link, and its events of this tick
--     subscribers[address]       the number of the last message sent, and of the last one acknowledged
--
-- A tick drains each core, sorts the events by record, and sends one message to every subscriber that has any.
-- A subscriber with `window` messages unacknowledged is behind and gets no more; when it has acknowledged all, each of
-- its spaces begins again with a whole view. When a send fails the subscriber is gone: its nodes and the entities that
-- it entered are removed.

local delivery = require "aoi.skynet.delivery"
local links = require "aoi.skynet.links"
local requests = require "aoi.skynet.requests"
local wire = require "aoi.skynet.wire"

local U32 = 0xffffffff

local Server = {}
Server.__index = Server

local DEFAULTS = {
  window = 32,           -- messages that a subscriber may leave without acknowledgement
  max_message = 1 << 20, -- bytes; a longer tick is sent in several messages
  heartbeat = 5,         -- seconds without a message to a subscriber after which it gets a PING
  silence = 0,           -- seconds without a message from it after which it is dropped; 0: only when a send fails
}

--- options: send(address, message) returns true; nil if there is no such address; false if the message cannot be sent.
-- It must not call back. now() is in seconds. Optional: log(text), clock() in seconds for measuring, new_space, and
-- DEFAULTS.
function Server.new(options)
  local self = setmetatable({
    send = assert(options.send, "option 'send' is required"),
    now = assert(options.now, "option 'now' is required"),
    log = options.log or function() end,
    clock = options.clock or os.clock,
    new_space = options.new_space or require("aoi").new,
    ENTER = options.ENTER or require("aoi").ENTER,
    spaces = {}, names = {}, space_number = 0,
    subscribers = {},
    records = {}, handle = 0,
    writer = wire.writer(), rows = {}, view = {}, touched = {}, ticking = false, dead = {},
    counters = {
      calls = 0, errors = 0, batches = 0, moves = 0, refused = 0, malformed = 0, ticks = 0, events = 0, messages = 0,
      bytes = 0, pings = 0, overruns = 0, resyncs = 0, deaths = 0, tick_seconds = 0, tick_max = 0, tick_last = 0,
    },
  }, Server)
  for name, value in pairs(DEFAULTS) do
    value = options[name] or value
    if math.type(value) == nil or value < 0 or name == "window" and value < 1 then
      error(("bad value for option '%s'"):format(name), 2)
    end
    self[name] = value
  end
  self.ask_every = math.max(1, self.window // 4)
  return self
end

-- Subscribers -------------------------------------------------------------------------------------------------------

--- Returns whether there was such a subscriber.
function Server:drop(address)
  local subscriber = self.subscribers[address]
  if not subscriber then return false end
  self.subscribers[address] = nil
  self.counters.deaths = self.counters.deaths + 1
  for _, link in pairs(subscriber.links) do links.detach(self, link) end
  return true
end

--- Sends a message; if the address is gone, drops the subscriber, during a tick at its end. Returns what `send`
-- returned.
function Server:post(address, message)
  local sent = self.send(address, message)
  if sent then
    self.counters.messages = self.counters.messages + 1
    self.counters.bytes = self.counters.bytes + #message
  elseif sent == nil and self.ticking then
    self.dead[#self.dead + 1] = address
  elseif sent == nil then
    self:drop(address)
  else
    self.log(("aoi: a message of %d bytes could not be sent"):format(#message))
  end
  return sent
end

--- Whether a subscriber at this address can be sent to; if not, it has been dropped when this returns.
function Server:probe(address)
  local subscriber = self.subscribers[address]
  if not subscriber then return false end
  self.counters.pings = self.counters.pings + 1
  subscriber.sent_at = self.now()
  return self:post(address, wire.ping(subscriber.seq)) ~= nil
end

--- To be called every second or so.
function Server:probe_all()
  local now = self.now()
  for address, subscriber in pairs(self.subscribers) do
    if self.silence > 0 and now - subscriber.heard_at > self.silence then
      self:drop(address)
    elseif now - subscriber.sent_at >= self.heartbeat then
      self:probe(address)
    end
  end
end

-- Requests ----------------------------------------------------------------------------------------------------------

-- One request: true and its results; or false and what was wrong, and nothing has changed.
local function request(self, address, name, number, ...)
  if self.closed then error("the service is shutting down", 0) end
  local subscriber = self.subscribers[address]
  if subscriber then subscriber.heard_at = self.now() end
  if name == "open" then return requests.open(self, address, number, ...) end
  local command = requests.CMD[name] or error(("unknown request '%s'"):format(tostring(name)), 0)
  local link = subscriber and subscriber.links[number] or error("the space is closed", 0)
  return command(self, link, ...)
end

local function answer(self, ok, ...)
  self.counters.calls = self.counters.calls + 1
  if ok then
    return true, ...
  end
  self.counters.errors = self.counters.errors + 1
  -- Our own file and line say nothing to the caller, who adds its own.
  return false, (tostring((...)):gsub("^[^\n]-:%d+: ", "", 1))
end

function Server:call(address, name, ...)
  return answer(self, pcall(request, self, address, name, ...))
end

-- Messages ----------------------------------------------------------------------------------------------------------

local function finite(x) return x - x == 0 end

-- Applies moves row by row where the batch has a bad one: that is refused, the others are made.
local function apply_moves(self, link, n, batch)
  local space, rows = link.space, self.rows
  local core, values = space.core, space.dimensions + 1
  if n > 0 and not pcall(core.move_many, core, rows, n) then
    local good, refused, bad = 0, {}, 0
    for i = 1, n * values, values do
      local id = rows[i]
      if core:has(id) and finite(rows[i + 1]) and finite(rows[i + 2]) and (values == 3 or finite(rows[i + 3])) then
        table.move(rows, i, i + values - 1, good * values + 1)
        good = good + 1
      else
        bad = bad + 1
        refused[bad] = id
      end
    end
    core:move_many(rows, good)
    self.counters.refused = self.counters.refused + bad
    self:post(link.subscriber.address, wire.refused(space.number, batch, refused, bad))
    n = good
  end
  self.counters.batches = self.counters.batches + 1
  self.counters.moves = self.counters.moves + n
end

local function on_moves(self, subscriber, address, message, flags, number)
  local link = subscriber and subscriber.links[number]
  if not link then
    self.send(address, wire.bye(subscriber and number or 0)) -- its space is closed
    return true
  end
  local n, batch, dimensions = wire.read_moves(message, self.rows)
  if not n then return nil, batch end
  if dimensions ~= link.space.dimensions then return nil, "wrong dimensions" end
  apply_moves(self, link, n, batch)
  if flags & wire.TICK ~= 0 and not link.gone then self:tick(link.space) end
  return true
end

local function on_ack(self, subscriber, address, flags, seq)
  if not subscriber then
    self.send(address, wire.bye(0))
  else
    -- An acknowledgement out of range, of a message never sent or already acknowledged, is ignored.
    if (subscriber.seq - seq) & U32 <= (subscriber.seq - subscriber.acked) & U32 then
      subscriber.acked = seq
    end
    if flags & wire.LOST ~= 0 then delivery.resync(subscriber) end
  end
  return true
end

--- Returns true, or nil and what is wrong with the message.
function Server:receive(address, message)
  if self.closed then return true end
  local kind, flags, number = wire.head(message)
  local ok, reason
  if kind then
    local subscriber = self.subscribers[address]
    if subscriber then subscriber.heard_at = self.now() end
    if kind == wire.MOVES then
      ok, reason = on_moves(self, subscriber, address, message, flags, number)
    elseif kind == wire.ACK then
      ok, reason = on_ack(self, subscriber, address, flags, number)
    else
      reason = "not for a service"
    end
  else
    reason = flags
  end
  if not ok then self.counters.malformed = self.counters.malformed + 1 end
  return ok, reason
end

-- The tick ----------------------------------------------------------------------------------------------------------

-- Appends the subscribers with changes in this space to the list.
local function touch(space, touched, count)
  for _, link in pairs(space.links) do
    if link.stale or link.dirty_count > 0 then
      local subscriber = link.subscriber
      local k = subscriber.todo_count + 1
      subscriber.todo_count = k
      subscriber.todo[k] = link
      if k == 1 then
        count = count + 1
        touched[count] = subscriber
      end
    end
  end
  return count
end

local function measure(counters, events, seconds)
  counters.ticks = counters.ticks + 1
  counters.events = counters.events + events
  counters.tick_last, counters.tick_seconds = seconds, counters.tick_seconds + seconds
  counters.tick_max = math.max(counters.tick_max, seconds)
end

--- One tick of the space; without one, of all spaces that no client drives. Returns the number of events.
function Server:tick(only)
  local start = self.clock()
  local touched, count, events = self.touched, 0, 0
  for _, space in pairs(only and { only } or self.spaces) do
    if space == only or space.drivers == 0 then
      events = events + delivery.collect(self, space)
      count = touch(space, touched, count)
    end
  end
  self.ticking = true
  for i = 1, count do
    local ok, err = pcall(delivery.deliver, self, touched[i])
    if not ok then
      self.log(("aoi: %s"):format(tostring(err)))
      delivery.resync(touched[i])
    end
    touched[i] = nil
  end
  self.ticking = false
  for i, address in ipairs(self.dead) do
    self.dead[i] = nil
    self:drop(address)
  end
  measure(self.counters, events, self.clock() - start)
  return events
end

-- Shutdown and figures ----------------------------------------------------------------------------------------------

--- Ends the service: sends the last events, then BYE to all subscribers, and closes all spaces.
function Server:shutdown()
  if self.closed then return end
  self:tick()
  self.closed = true
  for address in pairs(self.subscribers) do self.send(address, wire.bye(0)) end
  for _, space in pairs(self.spaces) do space.core:close() end
  self.spaces, self.names, self.subscribers, self.records = {}, {}, {}, {}
end

--- Tables of numbers by topic, as a console prints them.
function Server:info()
  local total = { spaces = 0, subscribers = 0, behind = 0 }
  for name, value in pairs(self.counters) do total[name] = value end
  total.tick_seconds, total.tick_last, total.tick_max = nil, nil, nil
  local function milliseconds(seconds) return math.floor(seconds * 1e6 + 0.5) / 1000 end
  local result = {
    service = total,
    tick = {
      last_ms = milliseconds(self.counters.tick_last),
      max_ms = milliseconds(self.counters.tick_max),
      mean_ms = milliseconds(self.counters.tick_seconds / math.max(1, self.counters.ticks)),
    },
  }
  for _, subscriber in pairs(self.subscribers) do
    total.subscribers = total.subscribers + 1
    total.behind = total.behind + (subscriber.behind and 1 or 0)
  end
  for _, space in pairs(self.spaces) do
    total.spaces = total.spaces + 1
    local stats = space.core:stats()
    local clients = 0
    for _ in pairs(space.links) do clients = clients + 1 end
    result["space " .. space.name] = {
      number = space.number, clients = clients, drivers = space.drivers, entities = stats.entities,
      nodes = stats.nodes, pending = stats.pending, memory = stats.memory,
    }
  end
  return result
end

return Server
