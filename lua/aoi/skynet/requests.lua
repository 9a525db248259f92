-- The requests of clients: CMD[name](server, link, ...). They are looked up at each request, so that code can be
-- reloaded. A request that raises has changed nothing.

local argument = require "aoi.skynet.argument"
local links = require "aoi.skynet.links"
local methods = require "aoi.skynet.methods"
local wire = require "aoi.skynet.wire"

local U32 = 0xffffffff

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

local SPACE_OPTIONS = { engine = true, dimensions = true, cell = true }

local function subscribe(server, address)
  local subscriber = server.subscribers[address]
  if not subscriber then
    local now = server.now()
    subscriber = {
      address = address, links = {}, seq = 0, acked = 0, behind = false, sent_at = now, heard_at = now,
      todo = {}, todo_count = 0,
    }
    server.subscribers[address] = subscriber
  end
  return subscriber
end

-- Before a conflict is an error: its cause may belong to a client that is gone without notice. Sending to that client
-- finds out, and removes what it had.
local function probe_owner(server, owner, link)
  if owner and owner.subscriber ~= link.subscriber then server:probe(owner.subscriber.address) end
end

-- Options as a core takes them; those that are given must agree with a space that is there.
local function space_options(options)
  local given = { delivery = "deferred" }
  for key, value in pairs(options) do
    if SPACE_OPTIONS[key] then
      given[key] = value
    elseif key ~= "drive" then
      argument_error(2, "open", "unknown option '%s'", tostring(key))
    end
  end
  return given
end

local function new_space(server, name, given)
  local core = server.new_space(given)
  local number = server.space_number + 1
  local space = {
    number = number, name = name, core = core,
    engine = given.engine or "list", dimensions = given.dimensions or 2, cell = given.cell,
    links = {}, nodes = {}, owner = {}, closing = {}, drivers = 0, width = 2, events = {},
  }
  server.space_number, server.spaces[number], server.names[name] = number, space, space
  return space
end

local function new_link(server, space, address)
  local subscriber = subscribe(server, address)
  local link = {
    space = space, subscriber = subscriber, entities = {}, records = {},
    dirty = {}, dirty_count = 0, stale = subscriber.behind, drives = false, gone = false,
  }
  space.links[address], subscriber.links[space.number] = link, link
  return link
end

--- Opens the space of that name, or creates it. The one request without a link: it makes the link of this address.
function requests.open(server, address, name, options)
  if type(name) ~= "string" then argument_error(1, "open", "name expected, got %s", type(name)) end
  options = options or {}
  local given, space = space_options(options), server.names[name]
  for key in pairs(space and SPACE_OPTIONS or {}) do
    if given[key] ~= nil and given[key] ~= space[key] then
      argument_error(2, "open", "space '%s' has another %s", name, key)
    end
  end
  space = space or new_space(server, name, given)
  local link = space.links[address] or new_link(server, space, address)
  if options.drive and not link.drives then
    link.drives = true
    space.drivers = space.drivers + 1
  end
  return space.number, space.dimensions
end

local function results(ok, ...)
  if ok then return ... end
  error((...), 0)
end

for _, method in ipairs(methods) do
  local name = method.name
  if method.server == "space" then
    CMD[name] = function(_, link, ...) return results(methods.invoke(link.space.core, name, ...)) end
  elseif method.server == "node" then
    CMD[name] = function(_, link, id, node, ...)
      local record = record_of(link.space, id, node, name)
      return results(methods.invoke(link.space.core, name, record.watcher, record.handle, ...))
    end
  end
end

function CMD.close(server, link) links.detach(server, link) end

function CMD.enter(server, link, id, ...)
  local space = link.space
  id = integer(id, 1, "enter")
  probe_owner(server, space.owner[id], link)
  space.core:enter(id, ...)
  links.add_entity(space, link, id)
end

function CMD.enter_many(server, link, rows, n, kind)
  local space = link.space
  local core, values = space.core, space.dimensions + 1
  local ok, err = pcall(core.enter_many, core, rows, n, kind)
  if not ok then
    if type(rows) ~= "table" then error(err, 0) end
    for i = 1, #rows, values do probe_owner(server, space.owner[rows[i]], link) end
    core:enter_many(rows, n, kind)
  end
  for i = 1, (n or #rows // values) * values, values do
    links.add_entity(space, link, integer(rows[i], 1, "enter_many"))
  end
end

function CMD.leave(_, link, id)
  id = integer(id, 1, "leave")
  if not link.space.core:has(id) then argument_error(1, "leave", "no entity %d", id) end
  links.remove_entity(link.space, id)
end

-- Returns the handle of the new life.
function CMD.add_node(server, link, id, node, area)
  local space = link.space
  id, node = integer(id, 1, "add_node"), integer(node, 2, "add_node")
  local taken = space.nodes[id] and space.nodes[id][node]
  if taken then
    probe_owner(server, taken.link, link)
    if space.nodes[id] and space.nodes[id][node] then
      argument_error(2, "add_node", "entity %d already has node %d", id, node)
    end
  end
  local handle = server.handle
  repeat
    handle = handle % U32 + 1
  until not server.records[handle]
  space.core:add_node(id, handle, area)
  server.handle = handle
  local record = {
    handle = handle, link = link, space = space.number, watcher = id, node = node, opened = false, closed = false,
    dirty = false, leaves = {}, leave_count = 0, enters = {}, enter_count = 0,
  }
  server.records[handle] = record
  space.nodes[id] = space.nodes[id] or {}
  space.nodes[id][node] = record
  space.width = wire.width(node, space.width)
  link.records[handle] = record
  return handle
end

function CMD.remove_node(_, link, id, node)
  local record = record_of(link.space, id, node, "remove_node")
  link.space.core:remove_node(record.watcher, record.handle)
  links.close_record(link.space, record)
end

function CMD.viewers(server, link, ...)
  local list, n = link.space.core:viewers(...)
  for i = 2, 2 * n, 2 do list[i] = server.records[list[i]].node end
  return list, n
end

function CMD.nodes(server, link, ...)
  local list, n = link.space.core:nodes(...)
  for i = 1, n do list[i] = server.records[list[i]].node end
  return list, n
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

-- Returns the number of events in this tick of the space.
function CMD.tick(server, link) return server:tick(link.space) end

return requests
