-- The requests of clients: CMD[name](server, link, ...). They are looked up at each request, so that code can be
-- reloaded. A request that raises has changed nothing.

local argument = require "aoi.skynet.argument"
local broadcasts = require "aoi.skynet.broadcasts"
local checks = require "aoi.checks"
local links = require "aoi.skynet.links"
local methods = require "aoi.skynet.methods"
local packets = require "aoi.skynet.packets"
local wire = require "aoi.skynet.wire"

local CMD = {}
local requests = { CMD = CMD }

local function argument_error(n, name, ...) argument.fail(n, name, 0, ...) end

-- Ids index tables here before the core sees them.
local function integer(value, n, name) return argument.integer(value, n, name, 0) end

local function record_of(space, id, node, name)
  id, node = integer(id, 1, name), integer(node, 2, name)
  if not space.core:has(id) then argument_error(1, name, "no entity %d", id) end
  local record = space.nodes[id] and space.nodes[id][node]
  if not record then argument_error(2, name, "entity %d has no node %d", id, node) end
  return record
end

-- An entity that another client has taken over is not for the one that had it. row: of a list, nil: none.
local function check_barred(link, id, name, row)
  local barred = link.subscriber.barred[link.space]
  if not barred or not barred[id] then return end
  argument_error(1, name, "%sentity %d has been taken over by another client", row and ("row %d: "):format(row) or "",
    id)
end

-- Before a conflict is an error: its cause may belong to a client that is gone without notice. Sending to that client
-- finds out, and removes what it had.
local function probe_owner(server, owner, link)
  if owner and owner.subscriber ~= link.subscriber then server:probe(owner.subscriber.address) end
end

local function results(ok, ...)
  if ok then return ... end
  error((...), 0)
end

-- Opening -----------------------------------------------------------------------------------------------------------

local SPACE_OPTIONS = { engine = true, dimensions = true, cell = true }

-- Options as a core takes them; those that are given must agree with a space that is there.
local function space_options(options)
  local given = { delivery = "deferred" }
  for key, value in pairs(options) do
    if SPACE_OPTIONS[key] then
      given[key] = value
    elseif key == "quantum" then
      if type(value) ~= "number" or value ~= value or value <= 0 or value == math.huge then
        argument_error(3, "open", "bad value for option 'quantum' (a positive, finite number expected)")
      end
    elseif key ~= "drive" then
      argument_error(3, "open", "unknown option '%s'", tostring(key))
    elseif type(value) ~= "boolean" then
      argument_error(3, "open", "bad value for option 'drive' (a boolean expected)")
    end
  end
  return given
end

local function new_core(server, given) return results(wire.call_as(server.new_space, "open", -2, given)) end

local function new_space(server, name, given, quantum)
  local core = new_core(server, given)
  local number = server.space_number + 1
  local space = {
    number = number, name = name, core = core,
    engine = given.engine or "list", dimensions = given.dimensions or 2, cell = given.cell, quantum = quantum,
    links = {}, nodes = {}, owner = {}, views = {}, barred = {}, drivers = 0,
    users = 0, -- links that are no gates
  }
  server.space_number, server.spaces[number], server.names[name] = number, space, space
  return space
end

local function space_name(name)
  if math.type(name) then
    return math.tointeger(name) or argument_error(2, "open", "number has no integer representation")
  elseif type(name) ~= "string" then
    argument_error(2, "open", "name expected, got %s", name == nil and "no value" or type(name))
  end
  return name
end

--- Opens the space of that name (a string or an integer), or creates it. The one request without a link: it makes one
-- for this address. Returns its number, the space's, its dimensions, and seconds between two heartbeats. Arguments
-- are counted as those of aoi.open, behind the service.
function requests.open(server, address, name, options)
  name = space_name(name)
  options = options or {}
  if type(options) ~= "table" then argument_error(3, "open", "table expected, got %s", type(options)) end
  local given, space = space_options(options), server.names[name]
  for _, key in ipairs(space and { "engine", "dimensions", "cell", "quantum" } or {}) do
    if options[key] ~= nil and options[key] ~= space[key] then
      argument_error(3, "open", "space '%s' has another %s", name, key)
    end
  end
  space = space or new_space(server, name, given, options.quantum)
  local link = links.new(server, space, server:subscribe(address))
  if options.drive then
    link.drives = true
    space.drivers = space.drivers + 1
  end
  return link.number, space.number, space.dimensions, server.heartbeat
end

function CMD.close(server, link) links.detach(server, link) end

-- What the core does ------------------------------------------------------------------------------------------------

methods.each(function(name, arguments)
  if arguments:find "^id node" then
    CMD[name] = function(_, link, id, node, ...)
      local record = record_of(link.space, id, node, name)
      return results(methods.invoke(link.space.core, name, record.watcher, record.handle, ...))
    end
  else
    CMD[name] = function(_, link, ...) return results(methods.invoke(link.space.core, name, ...)) end
  end
end)

-- Entities ----------------------------------------------------------------------------------------------------------

function CMD.enter(server, link, id, ...)
  local space = link.space
  id = integer(id, 1, "enter")
  probe_owner(server, space.owner[id], link)
  results(methods.invoke(space.core, "enter", id, ...))
  links.add_entity(space, link, id)
end

function CMD.enter_many(server, link, rows, n, ...)
  local space = link.space
  local core, values = space.core, space.dimensions + 1
  local ok = pcall(core.enter_many, core, rows, n, ...)
  if not ok then
    for i = 1, type(rows) == "table" and #rows or 0, values do probe_owner(server, space.owner[rows[i]], link) end
    results(methods.invoke(core, "enter_many", rows, n, ...))
  end
  for i = 1, (n or #rows // values) * values, values do
    links.add_entity(space, link, integer(rows[i], 1, "enter_many"))
  end
end

-- The core's method, for who may change the entities.
local function unless_barred(name, each_id)
  local change = CMD[name]
  CMD[name] = function(server, link, ...)
    if link.subscriber.barred[link.space] then each_id(link, ...) end
    return change(server, link, ...)
  end
end

unless_barred("set_kind", function(link, id) check_barred(link, integer(id, 1, "set_kind"), "set_kind") end)
unless_barred("move_many", function(link, rows, n)
  local values = link.space.dimensions + 1
  local last = type(rows) == "table" and #rows // values or 0
  for i = 1, math.min(last, math.tointeger(n) or last) do
    check_barred(link, math.tointeger(rows[(i - 1) * values + 1]), "move_many", i)
  end
end)

function CMD.leave(server, link, id)
  id = integer(id, 1, "leave")
  if not link.space.core:has(id) then argument_error(1, "leave", "no entity %d", id) end
  check_barred(link, id, "leave")
  links.remove_entity(server, link.space, id)
end

--- The entity is this link's from now on: it stays when the client that had it ends. What that client had on it, nodes
-- and view, ends, it may not change the entity any more, and it is told. Returns where the entity is.
function CMD.take_over(server, link, id)
  local space = link.space
  id = integer(id, 1, "take_over")
  if not space.core:has(id) then argument_error(1, "take_over", "no entity %d", id) end
  local owner = space.owner[id]
  if owner ~= link then
    for _, record in pairs(space.nodes[id] or {}) do
      if owner and (record.link.subscriber == owner.subscriber or record.by.subscriber == owner.subscriber) then
        links.end_node(server, record)
      end
    end
    packets.forget(space, id)
    if owner then owner.entities[id] = nil end
    links.add_entity(space, link, id)
    links.unbar(server, space, id, link.subscriber)
    if owner and owner.subscriber ~= link.subscriber then links.bar(server, space, owner.subscriber, id) end
    if owner then server:post_message(owner.subscriber.address, wire.taken(owner.number, id)) end
  end
  return space.core:position(id)
end

-- Nodes -------------------------------------------------------------------------------------------------------------

--- The service at that address is a gate from now on, or is none any more. Returns seconds between two heartbeats.
function requests.gate(server, address, on)
  local subscriber = server:subscribe(address)
  subscriber.gate = on
  for _, link in pairs(on and {} or subscriber.links) do
    if link.gate then links.detach(server, link) end
  end
  return server.heartbeat
end

-- The link of the service that is to be told: the caller's, or the first that the named one has opened in that space,
-- or one that is made because that is a gate.
local function link_of(server, link, to, n, name)
  if to == nil then return link end
  to = integer(to, n, name)
  local found
  for number, other in pairs(link.space.links) do
    if other.subscriber.address == to and (not found or number < found.number) then found = other end
  end
  local subscriber = server.subscribers[to]
  if not found and subscriber and subscriber.gate then found = links.new(server, link.space, subscriber, true) end
  return found
    or argument_error(n, name, "service :%08x has not opened space '%s', and is no gate", to, link.space.name)
end

-- Is free, or belongs to a client that is gone.
local function check_free(server, link, id, node)
  local space = link.space
  local taken = space.nodes[id] and space.nodes[id][node]
  if not taken then return end
  probe_owner(server, taken.link, link)
  if space.nodes[id] and space.nodes[id][node] then
    argument_error(2, "add_node", "entity %d already has node %d", id, node)
  end
end

-- options: to, the address of the service that is told; positions, whether enters bring kind and position. Returns the
-- handle of the new life, false if another service is told.
function CMD.add_node(server, link, id, node, area, options)
  local space = link.space
  id, node = integer(id, 1, "add_node"), integer(node, 2, "add_node")
  local owner = link_of(server, link, options and options.to, 5, "add_node")
  check_free(server, link, id, node)
  local handle = server.post:add(owner.slot, id, node, options and options.positions)
  local ok, err = methods.invoke(space.core, "add_node", id, handle, area)
  if not ok then
    server.post:drop(handle)
    error(err, 0)
  end
  local record = { handle = handle, link = owner, by = link, watcher = id, node = node }
  server.records[handle], owner.records[handle] = record, record
  space.nodes[id] = space.nodes[id] or {}
  space.nodes[id][node] = record
  if owner ~= link then link.asked[record] = true end
  return owner.subscriber == link.subscriber and handle
end

function CMD.remove_node(server, link, id, node)
  links.end_node(server, record_of(link.space, id, node, "remove_node"))
end

-- Client views have nodes, too, which are aoi.sync's own.
function CMD.viewers(server, link, ...)
  local list, n = results(methods.invoke(link.space.core, "viewers", ...))
  local kept = 0
  for i = 1, 2 * n, 2 do
    local record = server.records[list[i + 1]]
    if record then
      list[kept + 1], list[kept + 2] = list[i], record.node
      kept = kept + 2
    end
  end
  checks.end_list(list, kept, 2)
  return list, kept // 2
end

function CMD.nodes(server, link, ...)
  local list, n = results(methods.invoke(link.space.core, "nodes", ...))
  local kept = 0
  for i = 1, n do
    local record = server.records[list[i]]
    if record then
      kept = kept + 1
      list[kept] = record.node
    end
  end
  checks.end_list(list, kept, 1)
  return list, kept
end

-- The record of a node, nil if there is none.
local function find_record(space, id, node, name)
  id, node = integer(id, 1, name), integer(node, 2, name)
  return space.nodes[id] and space.nodes[id][node]
end

function CMD.radius(_, link, id, node)
  local record = find_record(link.space, id, node, "radius")
  return record and link.space.core:radius(record.watcher, record.handle)
end

function CMD.area(_, link, id, node)
  local record = find_record(link.space, id, node, "area")
  return record and link.space.core:area(record.watcher, record.handle)
end

-- Returns the explanation as a table, and its text, since a message carries no metatable. 0 is no node's handle.
function CMD.explain(_, link, id, node, target)
  local record = find_record(link.space, id, node, "explain")
  local told = link.space.core:explain(id, record and record.handle or 0, integer(target, 3, "explain"))
  told.node = integer(node, 2, "explain")
  local text = tostring(told)
  return setmetatable(told, nil), text
end

-- Client views ------------------------------------------------------------------------------------------------------

local OWN = { to = true, fd = true }

function CMD.add_client(server, link, id, area, options)
  local given, to, fd = {}, nil, nil
  id = integer(id, 1, "add_client")
  if options ~= nil and type(options) ~= "table" then
    argument_error(3, "add_client", "table expected, got %s", type(options))
  end
  for key, value in pairs(options or {}) do
    if not OWN[key] then given[key] = value end
  end
  if options and options.to ~= nil then to = link_of(server, link, options.to, 3, "add_client") end
  if options and options.fd ~= nil then fd = integer(options.fd, 3, "add_client") end
  packets.add(server, link, to or link, id, area, given, fd)
end

local function view_of(link, id, name)
  id = integer(id, 1, name)
  return link.space.views[id] or argument_error(1, name, "entity %d is no client", id)
end

function CMD.remove_client(_, link, id)
  packets.forget(link.space, view_of(link, id, "remove_client").id)
end

for _, name in ipairs { "resend", "pin", "unpin", "touch", "set_priority", "known" } do
  CMD[name] = function(_, link, id, ...)
    if name ~= "touch" and name ~= "set_priority" then view_of(link, id, name) end
    local sync = link.space.sync
    if sync then return results(methods.invoke(sync, name, id, ...)) end
    if not link.space.core:has(integer(id, 1, name)) then argument_error(1, name, "no entity %d", id) end
  end
end

-- Who knows an entity -----------------------------------------------------------------------------------------------

function CMD.knowers(server, link, id)
  id = integer(id, 1, "knowers")
  if not link.space.core:has(id) then argument_error(1, "knowers", "no entity %d", id) end
  return broadcasts.knowers(server, link.space, id)
end

function CMD.broadcast(server, link, id, bytes)
  id = integer(id, 1, "broadcast")
  if type(bytes) ~= "string" then argument_error(2, "broadcast", "string expected, got %s", type(bytes)) end
  if not link.space.core:has(id) then argument_error(1, "broadcast", "no entity %d", id) end
  return broadcasts.send(server, link.space, id, bytes)
end

-- Returns the number of events in this tick of the space.
function CMD.tick(server, link) return server:tick(link.space) end

return requests
