-- A map: a space of the AOI service, as its client has opened it. Each `open` makes one, with nodes, entities and
-- handlers of its own; two maps of one client and one space are equal (==).

local argument = require "aoi.skynet.argument"
local end_list = require "aoi.end_list"
local failures = require "aoi.skynet.failures"
local handlers_of = require "aoi.skynet.handlers"
local methods = require "aoi.skynet.methods"
local wire = require "aoi.skynet.wire"

local caught, results = failures.caught, methods.results

local JOIN = { id = true, x = true, y = true, z = true, kind = true, nodes = true, view = true }

local Map = {}
Map.__index = Map

-- Called by `flush` with rows, or where it has not been able to send.
local function flush_otherwise(map, rows, n)
  if rows ~= nil then
    local ok, err = map:put_rows("flush", rows, n)
    if not ok then error(err, 3) end
    if map.outbox:count() == 0 and not map.drives or map:push(map.drives) then return end
  end
  error(map.client:lose(), 3)
end

--- What a map of any kind has: one of a service, or a world. outbox: of src/lua/wire_outbox.h, in which moves wait.
function Map.begin(self, client, link, name, outbox)
  self.client, self.link, self.name, self.outbox, self.closed = client, link, name, outbox, false
  self.move = outbox:mover() -- a closure over the outbox: one call into C
  self.mine, self.records, self.busy, self.in_order = {}, {}, {}, true
  return self
end

--- link, number, dimensions: what the service's `open` returned.
function Map.new(client, name, link, number, dimensions, drives)
  local outbox = wire.outbox(dimensions, link, drives)
  local self = setmetatable({ number = number, drives = drives, dimensions = dimensions }, Map)
  self.flush = outbox:flusher(client.send, flush_otherwise)
  return Map.begin(self, client, link, name, outbox)
end

function Map.__eq(a, b) return a.client == b.client and a.number == b.number and a.name == b.name end

-- Requests ----------------------------------------------------------------------------------------------------------

Map.noun = "space"

function Map:closed_text()
  return ("attempt to use a closed %s"):format(self.noun) .. (self.reason and (" (%s)"):format(self.reason) or "")
end

--- Called by methods of a map: an error of their caller where the map is closed.
function Map:check_open()
  if self.closed then error(self:closed_text(), 3) end
end

--- The collected moves as one message. Returns what the client's `send` returned.
function Map:push(tick) return self.client.send(self.outbox:take(tick)) end

--- A request to the service: true and its results, or false and what was wrong. The collected moves go first.
function Map:request(name, ...)
  if self.closed then return false, self:closed_text() end
  if self.outbox:count() > 0 then self:push(false) end
  return self.client:request(name, self.link, ...)
end

--- Messages of moves that have been sent, and their rows.
function Map:moved() return select(2, self.outbox:count()) end

-- Without the request's round trip: nothing of the map is used any more.
function Map:forget(reason)
  local client = self.client
  self.closed, self.reason = true, reason
  client.maps[self.link] = nil
  for _, record in pairs(self.records) do client:forget_record(record) end
  local batches, moves = self:moved()
  client.counters.batches, client.counters.moves = client.counters.batches + batches, client.counters.moves + moves
  self.mine, self.records, self.busy, self.move, self.flush = {}, {}, {}, nil, nil
  if self.outbox then self.outbox:close() end
end

--- Leaves the space with everything that this map has put into it. No events; closing twice is harmless.
function Map:close()
  if not self.closed then
    self:forget()
    pcall(self.client.request, self.client, "close", self.link) -- a service that has gone has closed it
  end
end

Map.__close = Map.close

-- The answer is copied into the caller's table, if there is one, and ends there with nil: past its metatable, as the
-- core fills one.
local function fill(buf, width, ok, list, n)
  if ok and buf then
    for i = 1, n * width do rawset(buf, i, list[i]) end
    end_list(buf, n * width, width)
    list = buf
  end
  return ok, list, n
end

Map.fill = fill

local function new_method(name, arguments, values)
  if not values then return function(self, ...) return results(self:request(name, ...)) end end
  local function ask(self, buf, ...) return fill(buf, values, self:request(name, ...)) end
  return function(self, ...) return results(ask(self, methods.split(arguments, self.dimensions, ...))) end
end

-- Agents are thousands, and each calls few methods: those of the list are made when they are asked for.
setmetatable(Map, { __index = function(_, name)
  local arguments, values = nil, nil
  if type(name) == "string" and name:find "^[%a_]+$" then arguments, values = methods.find(name) end
  if not arguments then return nil end
  Map[name] = new_method(name, arguments, values)
  return Map[name]
end })

local function explanation(ok, reason, text)
  if ok then setmetatable(reason, { __tostring = function() return text end }) end
  return ok, reason
end

--- What `Space:explain` of a space tells; `pending` means events that wait in the service for the next tick.
function Map:explain(id, node, target)
  return results(explanation(self:request("explain", id, node, target)))
end

local function near_many(map, rows, area, mask, buf, ends)
  local at = type(mask) == "table" and 3 or 4
  if at == 3 then mask, buf, ends = nil, mask, buf end
  argument.options(at, "near_many", buf)
  argument.options(at + 1, "near_many", ends)
  local ok, list, n, last = map:request("near_many", rows, area, mask)
  if not ok then return false, list end
  local _, filled = fill(buf, 1, true, list, n)
  local _, stops = fill(ends, 1, true, last, #last)
  return true, filled, n, stops
end

--- Ids, how many, and the ends of each row's.
function Map:near_many(...) return results(caught(pcall(near_many, self, ...))) end

function Map:__len() return self:count() end

-- Moving ------------------------------------------------------------------------------------------------------------

--- Moves an entity. Moves are collected until `flush` or the next request; the last one of an entity counts.
function Map:move(...)
  self:check_open()
  return rawget(self, "move")(self, ...)
end

--- As many calls of `move` as there are rows: true, or false and a reason, in the words of the method `name`.
function Map:put_rows(name, rows, n) return wire.call_as(self.outbox.rows, name, 1, self.outbox, rows, n) end

--- The end of the caller's tick: its moves go out as one message, which is the space's tick too if this map drives.
-- With `rows`, a flat array of id, x, y [, z], they are moved first: one call where the rows are at hand. Where the
-- service is gone the map is closed, its on_close is called, and an error says so.
function Map:flush(...)
  self:check_open()
  return rawget(self, "flush")(self, ...)
end

--- Makes a tick now and waits for it. Returns the number of events, which are delivered when this returns.
function Map:tick() return results(self:request("tick")) end

-- Watching ----------------------------------------------------------------------------------------------------------

--- Keeps a node of this map; handle: as messages name it. Returns its record.
function Map:keep_record(id, node, handle, handlers)
  local client = self.client
  local record = { map = self, watcher = id, node = node, handle = handle, handlers = handlers }
  client.records[handle], self.records[handle] = record, record
  client.inbox:open(handle, self.link, id, node)
  client.inbox:handlers(handle, handlers)
  return record
end

--- The node of that number is this one from now on.
function Map:own_record(record)
  self.mine[record.watcher] = self.mine[record.watcher] or {}
  self.mine[record.watcher][record.node] = record
end

-- The answer to add_node: a handle where this map gets the node's events, false where another service does.
local function added(map, id, node, handlers, ok, handle)
  if not ok then return false, handle end
  if handle and not map.closed then
    map:own_record(map:keep_record(math.tointeger(id), math.tointeger(node), handle, handlers))
  end
  return true
end

--- Asks for the node; as `request`.
function Map:request_node(id, node, area, handlers, options)
  return added(self, id, node, handlers, self:request("add_node", id, node, area, options))
end

--- Adds a node: add_node(id, node, area, on_enter, on_leave [, options]) or add_node(id, node, area, handlers [,
-- options]). options: positions = true: on_enter(watcher, target, node, kind, x, y [, z]), as of the tick; to =
-- address: that service receives the events, through a map of the same space that it has opened; its handlers are
-- those of Map:listen.
function Map:add_node(id, node, area, ...)
  local handlers, options = handlers_of.arguments(...)
  return results(self:request_node(id, node, area, handlers, options))
end

--- Asks for all that `join` is given; handlers: of the nodes.
function Map:request_join(entity, nodes, handlers, view)
  local e = entity
  local ok, handles = self:request("join", e.id, e.x, e.y, e.z, e.kind, nodes, view)
  if not ok then return false, handles end
  for i, n in ipairs(nodes) do added(self, e.id, n[1], handlers[i], true, handles[i]) end
  return true
end

local function join(map, entity)
  if type(entity) ~= "table" then argument.fail(1, "join", 0, "table expected, got %s", type(entity)) end
  for key in pairs(entity) do
    if not JOIN[key] then argument.fail(1, "join", 0, "unknown field '%s'", tostring(key)) end
  end
  local nodes, handlers = {}, {}
  for i, n in ipairs(argument.options(1, "join", entity.nodes)) do
    local options
    if type(n) ~= "table" then argument.fail(1, "join", 0, "node %d: table expected, got %s", i, type(n)) end
    handlers[i], options = handlers_of.arguments(n[3], n[4], n[5])
    nodes[i] = { n[1], n[2], options }
  end
  local view = entity.view
  if view ~= nil and type(view) ~= "table" then
    argument.fail(1, "join", 0, "view: table expected, got %s", type(view))
  end
  return map:request_join(entity, nodes, handlers, view)
end

--- A player logs in, in one request: { id =, x =, y = [, z =] [, kind =], nodes = { { node, area, handlers [, options]
-- }, ... }, view = { area [, options] } }. Nodes are as for add_node, the view is as for add_client. All of it, or an
-- error.
function Map:join(entity) return results(caught(pcall(join, self, entity))) end

--- The handlers of nodes that other services add for this one, with `to`, and of nodes of a snapshot: a table with
-- `enter` and `leave`.
function Map:listen(handlers)
  handlers_of.check_table(handlers, 1, "listen", 2)
  self.listener = handlers
  for handle, record in pairs(self.records) do
    if record.foreign or record.restored then
      record.handlers = handlers
      self.client.inbox:handlers(handle, handlers)
    end
  end
end

local function seen(map, id, node, buf)
  if map.closed then return false, map:closed_text() end
  local key = argument.integer(id, 1, "seen", 3)
  local record = map.mine[key] and map.mine[key][argument.integer(node, 2, "seen", 3)]
  if not record then return false, ("bad argument #2 to 'seen' (entity %d has no node %d here)"):format(key, node) end
  buf = argument.options(3, "seen", buf, 3)
  local n = map.client.inbox:view(record.handle, buf)
  end_list(buf, n, 1)
  return true, buf, n
end

--- What a node of this map sees after the messages so far. Sends nothing. An error for nodes of others.
function Map:seen(id, node, buf) return results(seen(self, id, node, buf)) end

--- Handlers that wait hold up nothing but the later events of the same watcher ("order", the default), or nothing at
-- all ("free": a leave may be delivered while the enter's handler still waits).
function Map:handlers_wait(how)
  if how ~= "order" and how ~= "free" then argument.fail(1, "handlers_wait", 2, "'order' or 'free' expected") end
  self.in_order = how == "order"
end

-- on_error(f): f(err, watcher, target, node) takes the errors of handlers; otherwise they are logged. The other events
--   go on.
-- on_refused(f): f(ids, n) gets the entities whose moves were refused, because they have left. Without it they are
-- logged. on_resync(f): f() is called after a resync: this client had fallen behind, and the difference has been
-- delivered. on_close(f): f(reason) is called when the service has closed the space, or is gone. on_client(f): f(id,
-- bytes, fd) gets the messages of client views, ready for the connection of that player. on_broadcast(f): f(bytes,
-- target, ids, n): to the entities `ids`, which know the target. on_taken(f): f(id): another client has taken that
-- entity over; nodes and view of this client on it have ended.
-- on_view_lost(f): f(id, node): the service that a node or, without `node`, the client view of that entity named with
-- `to` is gone, or the entity has been taken over from it, and they with it. Without it they are logged.
handlers_of.setters(Map, function(map, name, f) map[name .. "_handler"] = f end)

return Map
