-- The logic of the client library: spaces that live in another service. It is independent of skynet: its options are
-- the functions that send and call, and `receive` takes what arrives.
--
--   client                     one for each AOI service
--     spaces[number]           a space, as `open` returned it
--       mine[id][node] ---+    the record of a node that the caller added
--     records[handle] <---+    one life of one node: its handlers, and what it sees after the messages so far
--     queue                    events that have arrived and are not delivered yet: record, kind, target, ...
--
-- An event changes the record when it arrives and is taken from the queue before its handler runs. So a handler may
-- wait for something, and another message that arrives meanwhile delivers what follows, in order.

local argument = require "aoi.skynet.argument"
local checks = require "aoi.checks"
local methods = require "aoi.skynet.methods"
local wire = require "aoi.skynet.wire"

local Client = {}
Client.__index = Client

local Space = {}
Space.__index = Space
Client.Space = Space

-- Kinds of entries in the queue; ENTER and LEAVE are the names of the handlers.
local ENTER, LEAVE, TAKEN, RESYNCED = "enter", "leave", "taken", "resynced"

--- options: send(message) returns true, or nil if the service is gone; call(name, ...) returns what the server's `call`
-- returned; log(text) takes errors and refusals without a handler.
function Client.new(options)
  return setmetatable({
    send = assert(options.send, "option 'send' is required"),
    call = assert(options.call, "option 'call' is required"),
    log = options.log or function() end,
    spaces = {}, names = {}, records = {},
    queue = {}, head = 1, tail = 0,
    seq = 0, taken = 0,
    list = {},
    counters = {
      messages = 0, bytes = 0, malformed = 0, events = 0, resyncs = 0, lost = 0, errors = 0, batches = 0, moves = 0,
    },
  }, Client)
end

-- Requests ----------------------------------------------------------------------------------------------------------

-- Called as the last thing of a method, so that level 2 is the method's caller.
local function results(ok, ...)
  if ok then
    return ...
  end
  error((...), 2)
end

local function usable(space)
  if space.closed then error("attempt to use a closed space", 3) end
end

-- A request to the service; the collected moves go first.
local function request(space, name, ...)
  if space.closed then return false, "attempt to use a closed space" end
  if space.row_count > 0 then space:push(false) end
  return space.client.call(name, space.number, ...)
end

--- options: engine, dimensions, cell, and drive = true: this client's flush is the space's tick.
function Client:open(name, options)
  local space = self.names[name]
  if space and not (options and options.drive) then return space end
  local ok, number, dimensions = self.call("open", name, options)
  if not ok then error(number, 2) end
  space = self.names[name] -- another coroutine may have been faster
  if not space then
    space = setmetatable({
      client = self, number = number, name = name, dimensions = dimensions, mine = {}, closed = false,
      rows = {}, row_of = {}, row_count = 0, batch = 0, width = 2,
    }, Space)
    self.spaces[number], self.names[name] = space, space
  end
  space.drives = space.drives or options and options.drive or false
  return space
end

local function forget(space)
  local client = space.client
  space.closed = true
  client.spaces[space.number] = nil
  client.names[space.name] = nil
  for handle, record in pairs(client.records) do
    if record.space == space then client.records[handle] = nil end
  end
  space.mine, space.rows, space.row_of, space.row_count = {}, {}, {}, 0
end

--- Leaves the space with everything that this client put into it. No events; closing twice is harmless.
function Space:close()
  if not self.closed then
    forget(self)
    pcall(self.client.call, "close", self.number) -- a service that has gone has closed it
  end
end

Space.__close = Space.close

-- The answer is copied into the caller's table, if there is one, and ends there with nil.
local function fill(buf, width, ok, list, n)
  if ok and buf then
    table.move(list, 1, n * width, 1, buf)
    checks.end_list(buf, n * width, width)
    list = buf
  end
  return ok, list, n
end

local function ask_and_fill(space, method, buf, ...)
  return fill(buf, method.fills, request(space, method.name, ...))
end

for _, method in ipairs(methods) do
  local name = method.name
  if method.fills then
    Space[name] = function(self, ...)
      return results(ask_and_fill(self, method, methods.split(method, self.dimensions, ...)))
    end
  elseif method.client == "request" then
    Space[name] = function(self, ...) return results(request(self, name, ...)) end
  end
end

local function explanation(ok, told, text)
  if ok then setmetatable(told, { __tostring = function() return text end }) end
  return ok, told
end

--- What `Space:explain` of a space tells; `pending` means events that wait in the service for the next tick.
function Space:explain(id, node, target)
  return results(explanation(request(self, "explain", id, node, target)))
end

function Space:__len() return self:count() end

-- Moving ------------------------------------------------------------------------------------------------------------

--- Moves an entity. Moves are collected until `flush` or the next request; the last one of an entity counts.
function Space:move(id, x, y, z)
  usable(self)
  id = argument.integer(id, 1, "move", 2)
  argument.finite(x, 2, "move", 2)
  argument.finite(y, 3, "move", 2)
  if self.dimensions == 3 then argument.finite(z, 4, "move", 2) end
  local values = self.dimensions + 1
  local at = self.row_of[id]
  if not at then
    at = self.row_count * values + 1
    self.row_count = self.row_count + 1
    self.row_of[id] = at
    self.rows[at] = id
    self.width = wire.width(id, self.width)
  end
  self.rows[at + 1], self.rows[at + 2] = x, y
  if values == 4 then self.rows[at + 3] = z end
end

function Space:push(tick)
  local rows, values, n = self.rows, self.dimensions + 1, self.row_count
  self.batch = (self.batch + 1) & 0xffffffff
  local message = wire.moves(self.number, self.batch, self.dimensions, rows, n, self.width, tick)
  for i = 1, n * values, values do self.row_of[rows[i]] = nil end
  self.row_count = 0
  local counters = self.client.counters
  counters.batches, counters.moves = counters.batches + 1, counters.moves + n
  return self.client.send(message)
end

--- The end of the caller's tick: its moves go out as one message, which is the space's tick too if this client drives.
function Space:flush()
  usable(self)
  if (self.row_count > 0 or self.drives) and not self:push(self.drives) then error("the AOI service is gone", 2) end
end

--- Makes a tick now and waits for it. Returns the number of events, which are delivered when this returns.
function Space:tick() return results(request(self, "tick")) end

-- Watching ----------------------------------------------------------------------------------------------------------

function Space:add_node(id, node, area, on_enter, on_leave)
  local handlers = on_enter
  if type(on_enter) ~= "table" then
    if on_enter ~= nil and type(on_enter) ~= "function" then
      argument.fail(4, "add_node", 2, "function or table expected, got %s", type(on_enter))
    elseif on_leave ~= nil and type(on_leave) ~= "function" then
      argument.fail(5, "add_node", 2, "function expected, got %s", type(on_leave))
    end
    handlers = { enter = on_enter, leave = on_leave }
  end
  local ok, handle = request(self, "add_node", id, node, area)
  if not ok then error(handle, 2) end
  if not self.closed then
    id, node = math.tointeger(id), math.tointeger(node)
    local record = { space = self, watcher = id, node = node, handle = handle, handlers = handlers, view = {} }
    self.client.records[handle] = record
    self.mine[id] = self.mine[id] or {}
    self.mine[id][node] = record
  end
end

--- What a node of this client sees after the messages so far. Sends nothing; nil for nodes of other clients.
function Space:seen(id, node, buf)
  local record = self.mine[id] and self.mine[id][node]
  if not record then return nil end
  local n = 0
  buf = buf or {}
  for target in pairs(record.view) do
    n = n + 1
    buf[n] = target
  end
  checks.end_list(buf, n)
  return buf, n
end

--- f(err, watcher, target, node) takes the errors of handlers; otherwise they are logged. The other events go on.
function Space:on_error(f) self.error_handler = f end

--- f(ids, n) gets the entities whose moves were refused, because they have left. Without it they are logged.
function Space:on_refused(f) self.refused_handler = f end

--- f() is called after a resync: this client had fallen behind, and the difference has been delivered.
function Space:on_resync(f) self.resync_handler = f end

--- f() is called when the service has closed the space.
function Space:on_close(f) self.close_handler = f end

-- Events ------------------------------------------------------------------------------------------------------------

local function push(self, record, kind, target)
  local queue, tail = self.queue, self.tail
  queue[tail + 1], queue[tail + 2], queue[tail + 3] = record, kind, target
  self.tail = tail + 3
end

local function failed(self, space, err, ...)
  self.counters.errors = self.counters.errors + 1
  local f = space.error_handler
  if not f then
    self.log(tostring(err))
    return
  end
  local ok, again = pcall(f, err, ...)
  if not ok then self.log(tostring(again)) end
end

local function run(self, space, f, ...)
  local handler = space.error_handler and function(err) return err end or debug.traceback
  local ok, err = xpcall(f, handler, ...)
  if not ok then failed(self, space, err, ...) end
end

local function deliver(self)
  while self.head < self.tail do
    local queue, head = self.queue, self.head
    local record, kind, target = queue[head], queue[head + 1], queue[head + 2]
    queue[head], queue[head + 1], queue[head + 2] = nil, nil, nil
    self.head = head + 3
    if self.head > self.tail then self.head, self.tail = 1, 0 end
    if kind == TAKEN then
      self.taken = target
      if record then self.send(wire.ack(target)) end
    elseif kind == RESYNCED then
      local f = record.resync_handler
      if f and not record.closed then run(self, record, f) end
    elseif not record.space.closed then
      self.counters.events = self.counters.events + 1
      local f = record.handlers[kind]
      if f then run(self, record.space, f, record.watcher, target, record.node) end
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
    if view[list[i]] then
      view[list[i]] = nil
      push(self, record, LEAVE, list[i])
    end
  end
  first = first + leaves
  for i = first, first + enters - 1 do
    if not view[list[i]] then
      view[list[i]] = true
      push(self, record, ENTER, list[i])
    end
  end
end

-- Ends a record: all targets that its node still sees leave.
local function close_record(self, record)
  replace_view(self, record, {}, 1, 0)
  self.records[record.handle] = nil
  local mine = record.space.mine
  local nodes = mine[record.watcher]
  if nodes and nodes[record.node] == record then
    nodes[record.node] = nil
    if next(nodes) == nil then mine[record.watcher] = nil end
  end
end

-- Applies the group at list[at]. Returns the index after it.
local function on_group(self, list, at)
  local handle, flags, leaves, enters = list[at], list[at + 1], list[at + 5], list[at + 6]
  local record, first = self.records[handle], at + 7
  if record then
    if flags & wire.WHOLE ~= 0 then
      replace_view(self, record, list, first, enters)
    else
      change_view(self, record, list, first, leaves, enters)
    end
    if flags & wire.CLOSE ~= 0 then close_record(self, record) end
  end
  return first + leaves + enters
end

-- Applies the resync at list[at] and its groups. Returns the index after them.
local function on_resync(self, list, at)
  local space, groups, named = self.spaces[list[at + 1]], list[at + 2], {}
  at = at + 3
  for _ = 1, groups do
    named[list[at]] = true
    at = on_group(self, list, at)
  end
  if space then
    for handle, record in pairs(self.records) do
      if record.space == space and not named[handle] then close_record(self, record) end
    end
    self.counters.resyncs = self.counters.resyncs + 1
    push(self, space, RESYNCED, false)
  end
  return at
end

local function on_events(self, message, flags, seq)
  local list = self.list
  local n, reason = wire.read_events(message, list)
  if not n then return nil, reason end
  if seq ~= (self.seq + 1) & 0xffffffff then
    self.counters.lost = self.counters.lost + 1
    self.send(wire.ack(self.taken, true))
  end
  self.seq = seq
  local at = 1
  while at <= n do at = (list[at] == 0 and on_resync or on_group)(self, list, at) end
  push(self, flags & wire.ASK ~= 0, TAKEN, seq)
  return true
end

local function on_refused(self, message, number)
  local ids = {}
  local n, reason = wire.read_refused(message, ids)
  if not n then return nil, reason end
  local space = self.spaces[number]
  if space and space.refused_handler then
    run(self, space, space.refused_handler, ids, n)
  elseif space then
    self.log(("aoi: %d moves of space '%s' were refused, that of entity %d among them"):format(n, space.name, ids[1]))
  end
  return true
end

local function on_bye(self, number)
  local gone = {}
  for _, space in pairs(self.spaces) do
    if number == 0 or space.number == number then gone[#gone + 1] = space end
  end
  if number == 0 then self.seq, self.taken = 0, 0 end
  for _, space in ipairs(gone) do forget(space) end
  for _, space in ipairs(gone) do
    if space.close_handler then run(self, space, space.close_handler) end
  end
  return true
end

--- Takes one message of the service and delivers its events. Returns true, or nil and what is wrong with the message,
-- which then has had no effect.
function Client:receive(message)
  local kind, flags, number = wire.head(message)
  local ok, reason
  if kind == wire.EVENTS then
    ok, reason = on_events(self, message, flags, number)
  elseif kind == wire.REFUSED then
    ok, reason = on_refused(self, message, number)
  elseif kind == wire.PING then
    ok = true
    self.send(wire.ack(self.taken))
  elseif kind == wire.BYE then
    ok = on_bye(self, number)
  else
    reason = kind and "not for a client" or flags
  end
  if not ok then
    self.counters.malformed = self.counters.malformed + 1
    return nil, reason
  end
  self.counters.messages = self.counters.messages + 1
  self.counters.bytes = self.counters.bytes + #message
  deliver(self)
  return true
end

--- The client's counters, for a console.
function Client:info()
  local info = { queued = (self.tail - self.head + 1) // 3, seq = self.seq, taken = self.taken }
  for name, value in pairs(self.counters) do info[name] = value end
  return info
end

return Client
