-- The requests of clients to an AOI service: CMD[name](server, link, ...). They are looked up at each request, so that
-- code can be reloaded. A request that raises has changed nothing. Most call a command of the place (commands.lua), the
-- others a method of its core.

local argument = require "aoi.skynet.argument"
local clients = require "aoi.skynet.clients"
local commands = require "aoi.skynet.commands"
local methods = require "aoi.skynet.methods"
local sorted_keys = require "aoi.sorted_keys"
local views = require "aoi.skynet.views"
local walls = require "aoi.skynet.walls"
local wire = require "aoi.skynet.wire"

local CMD = {}
local requests = { CMD = CMD }

local answered, taken_text = methods.answered, commands.helpers.taken_text

local function argument_error(n, name, ...) argument.fail(n, name, 0, ...) end

-- Opening -----------------------------------------------------------------------------------------------------------

local SPACE_OPTIONS = { engine = true, dimensions = true, cell = true }

-- Checks the options of `open`. Returns those of the core.
local function space_options(options)
  local given = { delivery = "deferred" }
  for key, value in pairs(options) do
    if SPACE_OPTIONS[key] then
      given[key] = value
    elseif key == "quantum" then
      if type(value) ~= "number" or value ~= value or value <= 0 or value == math.huge then
        argument_error(3, "open", "bad value for option 'quantum' (a positive, finite number expected)")
      end
    elseif key == "fields" then
      if type(value) ~= "table" then argument_error(3, "open", "bad value for option 'fields' (a table expected)") end
    elseif key ~= "drive" and key ~= "sight" and key ~= "riders" then
      argument_error(3, "open", "unknown option '%s'", tostring(key))
    elseif type(value) ~= "boolean" then
      argument_error(3, "open", "bad value for option '%s' (a boolean expected)", key)
    end
  end
  return given
end

local function new_map(server, name, given, options)
  local core = answered(wire.call_as(server.new_space, "open", -2, given))
  local sight, sync = options.sight and server.new_sight(core) or nil, nil
  if options.fields then
    local given_sync, made = wire.call_as(server.new_sync, "open", -1, core,
      { quantum = options.quantum, fields = options.fields, sight = sight, riders = options.riders })
    sync = made
    if not given_sync then
      core:close()
      error(sync, 0)
    end
  end
  return server:new_map(name, core, {
    engine = given.engine or "list", dimensions = given.dimensions or 2, cell = given.cell, quantum = options.quantum,
    fields = options.fields, riders = options.riders or false, sync = sync, sight = sight,
  })
end

local function space_name(name)
  if math.type(name) then
    return math.tointeger(name) or argument_error(2, "open", "number has no integer representation")
  elseif type(name) ~= "string" then
    argument_error(2, "open", "name expected, got %s", name == nil and "no value" or type(name))
  end
  return name
end

-- Returns as text in which option the space differs from these options; nil: in none, or there is no space.
local function difference(space, name, options)
  for _, key in ipairs(space and { "engine", "dimensions", "cell", "quantum", "fields", "riders" } or {}) do
    if options[key] ~= nil and argument.difference(options[key], space[key]) then
      return ("space '%s' has another %s"):format(name, key)
    end
  end
  if space and options.sight ~= nil and options.sight ~= (space.sight ~= nil) then
    return ("space '%s' was opened %s sight"):format(name, space.sight and "with" or "without")
  end
end

--- Opens the space of that name (a string or an integer), or creates it, and makes a link for this address. Options
-- must agree with those of an existing space, unless all that have it open have ended without notice. Returns the
-- link's number, the space's, its dimensions, and seconds between two heartbeats. Errors count the arguments as
-- aoi.open does, after the service.
function requests.open(server, address, name, options)
  name = space_name(name)
  options = argument.options(3, "open", options)
  local given, space = space_options(options), server.names[name]
  if difference(space, name, options) then
    for subscriber in pairs(space.links) do server:probe(subscriber.address) end
    space = server.names[name]
    local what = difference(space, name, options)
    if what then argument_error(3, "open", "%s", what) end
  end
  space = space or new_map(server, name, given, options)
  local link = server:link(space, server:subscribe(address))
  if options.drive then
    link.drives = true
    space.drivers = space.drivers + 1
  end
  return link.number, space.number, space.dimensions, server.heartbeat
end

function CMD.close(server, link) server:detach(link) end

--- Makes the service at that address a gate, or ends its gate. Returns seconds between two heartbeats.
function requests.gate(server, address, on)
  local subscriber = server:subscribe(address)
  subscriber.gate = on
  for _, link in pairs(on and {} or subscriber.links) do
    if link.gate then server:detach(link) end
  end
  return server.heartbeat
end

-- Commands of the place and methods of its core ---------------------------------------------------------------------

methods.each(function(name, arguments)
  if commands[name] then
    CMD[name] = function(_, link, ...) return commands[name](link.space, link.number, ...) end
  elseif arguments:find "^id node" then
    CMD[name] = function(_, link, id, node, ...)
      local rec = commands.helpers.node(link.space, link.number, id, node, name)
      local core = (name == "view" or name == "sees") and walls.seer(link.space, rec) or link.space.core
      return answered(methods.invoke(core, name, rec.id, rec.number, ...))
    end
  elseif walls.has(name) then
    CMD[name] = function(_, link, ...) return answered(walls.invoke(link.space, name, ...)) end
  else
    CMD[name] = function(_, link, ...) return answered(methods.invoke(link.space.core, name, ...)) end
  end
end)

-- Entities ----------------------------------------------------------------------------------------------------------

-- Probes the owner of an entity, which may have ended.
local function probe_owner(link, id)
  local ent = link.space.ents[id]
  if ent then link.space:probe(ent.client, link.number) end
end

local function own(link, id) clients.own(link.space, id, { client = link.number }) end

function CMD.enter(_, link, id, ...)
  probe_owner(link, id)
  answered(methods.invoke(link.space.core, "enter", id, ...))
  own(link, id)
end

function CMD.enter_many(_, link, rows, n, ...)
  local core, values = link.space.core, link.space.dimensions + 1
  if not pcall(core.enter_many, core, rows, n, ...) then
    for i = 1, type(rows) == "table" and #rows or 0, values do probe_owner(link, rows[i]) end
    answered(methods.invoke(core, "enter_many", rows, n, ...))
  end
  for i = 1, (n or #rows // values) * values, values do own(link, math.tointeger(rows[i])) end
end

--- skips: leaves out bad rows, and returns them as a flat list `row, id, reason`, and their number.
function CMD.move_many(_, link, rows, n, skips)
  local barred, values = link.subscriber.barred[link.space], link.space.dimensions + 1
  local last = barred and type(rows) == "table" and #rows // values or 0
  local list, count, taken = {}, 0, {}
  for i = 1, math.min(last, math.tointeger(n) or last) do
    local at = (i - 1) * values + 1
    local id = math.tointeger(rows[at])
    if id and barred[id] then
      if not skips then argument_error(1, "move_many", "row %d: %s", i, taken_text(link.space, id)) end
      taken[i], rows[at] = id, false -- a row that is bad
    end
  end
  answered(methods.invoke(link.space.core, "move_many", rows, n, skips and function(row, id, reason)
    if taken[row] then id, reason = taken[row], taken_text(link.space, taken[row]) end
    list[count + 1], list[count + 2], list[count + 3], count = row, id, reason, count + 3
  end))
  if skips then return list, count // 3 end
end

--- Returns the position of the entity.
function CMD.take_over(_, link, id)
  commands.take_over(link.space, link.number, id)
  return link.space.core:position(id)
end

-- Nodes and client views --------------------------------------------------------------------------------------------

-- The upper half of a client's address: the token of its relay (remote.lua), 0 without one. A client behind a relay
-- names services of its own node by their addresses there, without it.
local function process_of(link) return link.subscriber.address & ~0xffffffff end

-- The number of the link of the service that receives the events: `link` if that is its own service, else the first one
-- that it has opened in the space, or a new one if it is a gate; nil without `to`.
local function link_of(server, link, to, n, name)
  if to == nil then return nil end
  to = argument.integer(to, n, name, 0)
  local subscriber = server.subscribers[to >> 32 == 0 and process_of(link) | to or to]
  if subscriber == link.subscriber then return link.number end
  local number = subscriber and sorted_keys(link.space.links[subscriber] or {})[1]
  if not number and subscriber and subscriber.gate then number = server:link(link.space, subscriber, true).number end
  return number or argument_error(n, name, "service :%08x has not opened space '%s', and is no gate", to,
    link.space.name)
end

--- options: to, the address of the service that receives the events; positions, whether enters contain kind and
-- position; sight, linger: as for aoi.sight; crosses: the client has a handler of crossings.
local function node_arguments(server, link, node, area, options)
  local o = options or {}
  return node, area, nil,
    { to = link_of(server, link, o.to, 5, "add_node"), positions = o.positions, sight = o.sight, linger = o.linger,
      crosses = o.crosses }
end

function CMD.add_node(server, link, id, ...)
  return commands.add_node(link.space, link.number, id, node_arguments(server, link, ...))
end

--- options: those of aoi.sync, and `to` and `fd`.
local function view_arguments(server, link, area, options)
  local given, to, fd = argument.view_options(3, "add_client", options)
  return area, given, link_of(server, link, to, 3, "add_client"), fd
end

function CMD.add_client(server, link, id, ...)
  commands.add_client(link.space, link.number, id, view_arguments(server, link, ...))
end

function CMD.set_client(server, link, id, options)
  local given, to, fd = argument.view_options(2, "set_client", options)
  commands.set_client(link.space, link.number, id, given, link_of(server, link, to, 2, "set_client"), fd)
end

for _, name in ipairs { "touch", "set_priority", "set_team", "put", "get" } do
  CMD[name] = function(_, link, id, ...)
    link.space:entity(link.number, id, name)
    return answered(methods.invoke(views.sync(link.space), name, id, ...))
  end
end

--- Enters an entity with nodes (each node, area, options, as for add_node) and a client view (area, options). takes:
-- takes it over where it is there. An error has changed nothing. Returns the list of the results of add_node, and the
-- position of the entity.
function CMD.join(server, link, id, x, y, z, kind, nodes, view, takes)
  id = methods.checked("enter", id)
  local place, more = link.space, { nodes = {} }
  for i, n in ipairs(nodes) do
    local _, number, area, options = methods.checked("add_node", id, n[1], n[2], n[3])
    more.nodes[i] = table.pack(node_arguments(server, link, number, area, options))
  end
  more.view = view and table.pack(view_arguments(server, link, view[1], view[2]))
  local add = commands.take_over
  if not takes or not place.ents[id] then
    add = commands.helpers.add_all
    if place.dimensions == 3 then
      CMD.enter(server, link, id, x, y, z, kind)
    else
      CMD.enter(server, link, id, x, y, kind)
    end
  end
  return add(place, link.number, id, more), place.core:position(id)
end

function CMD.nodes(_, link, id, ...)
  answered(methods.invoke(link.space.core, "nodes", id, ...))
  return commands.nodes(link.space, link.number, id)
end

for _, name in ipairs { "radius", "area" } do
  CMD[name] = function(_, link, id, node)
    local core, rec = link.space.core, commands.helpers.find(link.space, link.number, id, node)
    return rec and core[name](core, id, rec.number)
  end
end

-- Walls -------------------------------------------------------------------------------------------------------------

--- Adds all rows or none of them. Returns a list of ids, and its length.
function CMD.wall_many(_, link, rows)
  local sight = walls.sight(link.space, "wall_many")
  return walls.each_row(rows, link.space.dimensions, function(...) return walls.invoke(link.space, "wall", ...) end,
    function(id) sight:remove_wall(id) end)
end

-- Knowers of an entity ----------------------------------------------------------------------------------------------

-- The distinct addresses of the numbered links, as the client of `link` names them, and how many.
local function addresses(link, numbers)
  local list, n, seen, here = {}, 0, {}, process_of(link)
  for _, number in ipairs(numbers) do
    local address = link.space.clients[number].subscriber.address
    if address & ~0xffffffff == here then address = address & 0xffffffff end
    if not seen[address] then
      n = n + 1
      seen[address], list[n] = true, address
    end
  end
  return list, n
end

function CMD.knowers(_, link, id)
  link.space:entity(link.number, id, "knowers")
  return addresses(link, (commands.knowers(link.space, link.number, id)))
end

--- Returns the number of services to which the message was sent.
function CMD.broadcast(server, link, id, bytes)
  if type(bytes) ~= "string" then argument_error(2, "broadcast", "string expected, got %s", type(bytes)) end
  link.space:entity(link.number, id, "broadcast")
  local list = commands.broadcast(link.space, link.number, id, bytes)
  server.counters.broadcasts = server.counters.broadcasts + 1
  return (select(2, addresses(link, list)))
end

-- Returns the number of events in this tick of the space.
function CMD.tick(server, link) return server:tick(link.space) end

return requests
