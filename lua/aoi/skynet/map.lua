-- A map: a client's handle of a space of the AOI service. Each `open` makes one, with its own nodes, entities and
-- handlers; two maps of one client and one space are equal (==).

local argument = require "aoi.skynet.argument"
local failures = require "aoi.skynet.failures"
local handlers_of = require "aoi.skynet.handlers"
local methods = require "aoi.skynet.methods"
local wire = require "aoi.skynet.wire"

local caught, results = failures.caught, methods.results

local JOIN = { id = true, x = true, y = true, z = true, kind = true, nodes = true, view = true, take_over = true }

local Map = {}
Map.__index = Map

-- Called by `flush` with its arguments, or without any if sending has failed.
local function flush_otherwise(map, ...)
  if select("#", ...) > 0 then
    argument.nothing(4, "flush", 3, select(4, ...))
    local ok, tell = map:put_rows("flush", ...)
    if not ok then error(tell, 3) end
    if map.outbox:count() == 0 and not map.drives or map:push(map.drives) then return tell() end
  end
  error(map.client:lose(), 3)
end

--- Initialises the fields common to maps and worlds. outbox: of src/skynet/wire_outbox.h, which collects moves.
function Map.begin(self, client, link, name, outbox)
  self.client, self.link, self.name, self.outbox, self.closed = client, link, name, outbox, false
  self.move = outbox:mover() -- a closure over the outbox: one call into C
  self.mine, self.records, self.busy, self.in_order = {}, {}, {}, true
  return self
end

--- link, number, dimensions: the results of the service's `open`.
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

--- Called by methods of a map: raises an error in their caller if the map is closed.
function Map:check_open()
  if self.closed then error(self:closed_text(), 3) end
end

--- Sends the collected moves as one message. Returns the result of the client's `send`.
function Map:push(tick) return self.client.send(self.outbox:take(tick)) end

--- Makes a request to the service: true and its results, or false and the error. Sends the collected moves before.
function Map:request(name, ...)
  if self.closed then return false, self:closed_text() end
  if self.outbox:count() > 0 then self:push(false) end
  return self.client:request(name, self.link, ...)
end

--- The number of messages with moves that have been sent, and of their rows.
function Map:moved() return select(2, self.outbox:count()) end

-- Closes the map here, without a request to the service.
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

--- Closes the map; the service removes everything that it has added to the space. No events follow; closing twice is
-- harmless.
function Map:close()
  if not self.closed then
    self:forget()
    pcall(self.client.request, self.client, "close", self.link) -- fails if the service has ended
  end
end

Map.__close = Map.close

-- Copies the answer into the caller's table, if there is one, with a nil behind it. Uses rawset, as the core does.
local function fill(buf, width, ok, list, n)
  if ok and buf then
    for i = 1, n * width do rawset(buf, i, list[i]) end
    wire.end_list(buf, n * width)
    list = buf
  end
  return ok, list, n
end

local function new_method(name, arguments, values)
  if not values then return function(self, ...) return results(self:request(name, ...)) end end
  local function ask(self, buf, ...) return fill(buf, values, self:request(name, ...)) end
  return function(self, ...) return results(ask(self, methods.split(arguments, self.dimensions, ...))) end
end

-- The methods of the list are made at their first use: each of thousands of agents uses few of them.
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

--- The result of `Space:explain`; `pending` means that the service sends an event about the pair with the next tick.
function Map:explain(...) return results(explanation(self:request("explain", ...))) end

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

--- Returns the ids for all rows in one list, their number, and the list of the ends of each row's ids.
function Map:near_many(...) return results(caught(pcall(near_many, self, ...))) end

function Map:__len() return self:count() end

-- Moving ------------------------------------------------------------------------------------------------------------

--- Moves an entity. Moves are collected until `flush` or the next request; of each entity the last one is sent.
function Map:move(...)
  self:check_open()
  return rawget(self, "move")(self, ...)
end

--- Returns `n` and `bad` of a call that skips bad rows; n may be left out. Raises.
function Map.skipping(name, n, bad)
  if type(n) == "function" and bad == nil then n, bad = nil, n end
  if bad ~= nil and type(bad) ~= "function" then
    argument.fail(3, name, 0, "function expected, got %s", type(bad))
  end
  return n, bad
end

--- A function that calls bad for each of the refused rows in the flat list row, id, reason.
function Map.teller(bad, list, count)
  return function()
    for i = 1, 3 * count, 3 do bad(list[i], list[i + 1], list[i + 2]) end
  end
end

local function nothing() end

--- Moves all rows, of `flush` if there are any, or with `bad` those that are good: true, and what is to be called when
-- they have been sent; or false and an error of the method `name`.
function Map:put_rows(name, rows, n, bad)
  if rows == nil and name == "flush" then return true, nothing end
  local skips, count, given = pcall(Map.skipping, name, n, bad)
  if not skips then return false, count end
  local list = given and {}
  local ok, result = wire.call_as(self.outbox.rows, name, 1, self.outbox, rows, count, list)
  if not ok then return false, result end
  return true, list and Map.teller(given, list, result) or nothing
end

local function move_many(map, rows, given, bad)
  local n, tell = Map.skipping("move_many", given, bad)
  local ok, list, count = map:request("move_many", rows, n, tell and true or nil)
  if not ok then return false, list end
  if tell then Map.teller(tell, list, count)() end
  return true
end

--- Moves all rows, or with `bad` those that are good, and then calls bad(row, id, reason) for each other.
function Map:move_many(...) return results(caught(pcall(move_many, self, ...))) end

--- Ends the caller's tick: sends its moves as one message, which makes the space's tick, too, if this map drives. With
-- `rows`, a flat array of id, x, y [, z], these are moved before; with `bad` as in `move_many`. If the service has
-- ended, the map is closed, its on_close is called, and an error is raised.
function Map:flush(...)
  self:check_open()
  return rawget(self, "flush")(self, ...)
end

--- Makes a tick now and waits for it. Returns the number of events, which are delivered when this returns.
function Map:tick() return results(self:request("tick")) end

-- Watching ----------------------------------------------------------------------------------------------------------

--- Makes and returns the record of a node of this map; handle: its id in messages.
function Map:keep_record(id, node, handle, handlers)
  local client = self.client
  local record = { map = self, watcher = id, node = node, handle = handle, handlers = handlers }
  client.records[handle], self.records[handle] = record, record
  client.inbox:open(handle, self.link, id, node)
  client.inbox:handlers(handle, handlers)
  return record
end

--- Registers a record under its entity and node number.
function Map:own_record(record)
  self.mine[record.watcher] = self.mine[record.watcher] or {}
  self.mine[record.watcher][record.node] = record
end

--- Removes the record of a node that has ended, unless a later node has its number.
function Map:disown_record(record)
  local nodes = self.mine[record.watcher]
  if not nodes or nodes[record.node] ~= record then return end
  nodes[record.node] = nil
  if next(nodes) == nil then self.mine[record.watcher] = nil end
end

-- Processes the answer to add_node: a handle if this map receives the node's events, false if another service does.
local function added(map, id, node, handlers, ok, handle)
  if not ok then return false, handle end
  if handle and not map.closed then
    map:own_record(map:keep_record(math.tointeger(id), math.tointeger(node), handle, handlers))
  end
  return true
end

--- Makes the request of add_node; returns as `request`.
function Map:request_node(id, node, area, handlers, options)
  return added(self, id, node, handlers, self:request("add_node", id, node, area, options))
end

--- Adds a node: add_node(id, node, area, on_enter, on_leave [, options]) or add_node(id, node, area, handlers [,
-- options]). options: positions = true: on_enter(watcher, target, node, kind, x, y [, z]), with the values in the tick;
-- to = address: that service receives the events, through a map of the same space that it has opened; its handlers are
-- those of Map:listen.
function Map:add_node(id, node, area, ...)
  local handlers, options = handlers_of.arguments(...)
  return results(self:request_node(id, node, area, handlers, options))
end

--- Makes the request of `join`; handlers: those of the nodes.
function Map:request_join(entity, nodes, handlers, view)
  local e = entity
  local ok, handles, x, y, z = self:request("join", e.id, e.x, e.y, e.z, e.kind, nodes, view, e.take_over)
  if not ok then return false, handles end
  for i, n in ipairs(nodes) do added(self, e.id, n[1], handlers[i], true, handles[i]) end
  return true, table.unpack({ x, y, z }, 1, self.dimensions)
end

-- Checks arguments that come as a list of at most so many.
local function check_list(list, most, what)
  if type(list) ~= "table" then argument.fail(1, "join", 0, "%s: table expected, got %s", what, type(list)) end
  for key in pairs(list) do
    if not (math.type(key) == "integer" and key >= 1 and key <= most) then
      argument.fail(1, "join", 0, "%s: unknown field '%s'", what, tostring(key))
    end
  end
end

local function join(map, entity)
  if type(entity) ~= "table" then argument.fail(1, "join", 0, "table expected, got %s", type(entity)) end
  for key in pairs(entity) do
    if not JOIN[key] or key == "z" and map.dimensions == 2 then
      argument.fail(1, "join", 0, "unknown field '%s'", tostring(key))
    end
  end
  if entity.take_over ~= nil and type(entity.take_over) ~= "boolean" then
    argument.fail(1, "join", 0, "take_over: boolean expected, got %s", type(entity.take_over))
  end
  local nodes, handlers = {}, {}
  for i, n in ipairs(argument.options(1, "join", entity.nodes)) do
    local options
    check_list(n, 5, "node " .. i)
    handlers[i], options = handlers_of.arguments(n[3], n[4], n[5])
    nodes[i] = { n[1], n[2], options }
  end
  if entity.view ~= nil then check_list(entity.view, 2, "view") end
  return map:request_join(entity, nodes, handlers, entity.view)
end

--- Enters an entity with nodes and a client view in one request: { id =, x =, y = [, z =] [, kind =], nodes = { { node,
-- area, handlers [, options] }, ... }, view = { area [, options] }, take_over = }. Nodes are as for add_node, the view
-- is as for add_client. take_over = true: an entity that is there stays where it is and is taken over: these nodes and
-- view replace those of its owner, which may be this map. After an error nothing has changed. Returns where it is.
function Map:join(entity) return results(caught(pcall(join, self, entity))) end

--- Sets the handlers of nodes that other services add for this one, with `to`, and of nodes of a snapshot: a table
-- with `enter` and `leave`.
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
  if not record or record.to then
    return false, ("bad argument #2 to 'seen' (entity %d has no node %d here)"):format(key, node)
  end
  buf = argument.options(3, "seen", buf, 3)
  local n = map.client.inbox:view(record.handle, buf)
  wire.end_list(buf, n)
  return true, buf, n
end

--- The view of a node of this map after the messages so far. Sends no request. Other maps' nodes are an error.
function Map:seen(id, node, buf) return results(seen(self, id, node, buf)) end

--- Sets whether a waiting handler delays the later events of the same watcher ("order", the default) or no events
-- ("free": a leave may be delivered while the handler of the enter still waits).
function Map:handlers_wait(how)
  if how ~= "order" and how ~= "free" then argument.fail(1, "handlers_wait", 2, "'order' or 'free' expected") end
  self.in_order = how == "order"
end

-- on_error       f(err, watcher, target, node): a handler has raised; without it the error is logged. Other events are
--                delivered
-- on_refused     f(ids, n): moves of these entities were refused, because they have left; without it this is logged
-- on_resync      f(): this client had fallen behind, and the difference has been delivered
-- on_close       f(reason): the service has closed the space, or has ended
-- on_client      f(id, bytes, fd): a message of a client view, to be sent to the player's connection
-- on_broadcast   f(bytes, target, ids, n): a broadcast for the entities `ids`, which know the target
-- on_taken       f(id): another client has taken the entity over; nodes and view of this client on it have ended
-- on_view_lost   f(id, node): a node or, without `node`, the client view of that entity has ended, because the service
--                named with `to` has ended or the entity was taken over from it; without it this is logged
handlers_of.setters(Map, { "error", "refused", "resync", "close", "client", "broadcast", "taken", "view_lost" })

argument.limit(Map, { near_many = 5, move_many = 3, tick = 0, close = 0, join = 1, listen = 1, seen = 3,
                      handlers_wait = 1 })

return Map
