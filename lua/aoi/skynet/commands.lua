-- The requests of clients to a place, which is a map (space.lua) or a shard of a world (world/shard.lua):
-- commands[name](place, client, ...). The methods of a place differ: a map applies changes at once, a shard with the
-- next epoch. A request that raises has changed nothing. commands.helpers are no requests.
--
--   entity(client, id, name)      the entity, or raises        remove_entity(id, ent, client)
--   find(client, id)              the entity, or nil           rekind(id, ent, kind)
--   is_barred(client, id)         another has taken it over    transfer(id, ent, client, former)   fields of TAKEN
--   client_name(client)           for errors
--   is_same(client, client)       are of one service           put_node(rec, ent, area)   returns as add_node
--   probe(client, asker)          removes it if it has ended   end_node(rec, with_entity)
--   record(number)                of a present or ending node  begin_view(view), end_view(view), check_area(name, area)
--   note_end(one, client)         that client has ended a node or view
--   try_view(view)                raises the error of begin_view, and begins nothing
--   send(client, message), send_broadcast(client, id, message): send; nil or false if the message was not sent

local argument = require "aoi.skynet.argument"
local clients = require "aoi.skynet.clients"
local methods = require "aoi.skynet.methods"
local sorted_keys = require "aoi.sorted_keys"
local views = require "aoi.skynet.views"
local walls = require "aoi.skynet.walls"
local wire = require "aoi.skynet.wire"

local helpers = {}
local commands = { helpers = helpers }

local function fail(n, name, ...) argument.fail(n, name, 0, ...) end

--- What a client is told that has lost the entity by a take-over.
function helpers.taken_text(place, id)
  return ("entity %d has been taken over by %s"):format(id, place:client_name(place.ents[id].client))
end

--- Raises if the request changes an entity that another client has taken over from this one: its former owner may only
-- ask about it.
function helpers.check_owner(place, client, name, id)
  if methods.changes[name] and place:is_barred(client, id) then fail(1, name, "%s", helpers.taken_text(place, id)) end
end

--- Returns the record of a node and its entity; raises if there is none.
function helpers.node(place, client, id, number, name)
  local ent = place:entity(client, id, name)
  local rec = ent.nodes and ent.nodes[number]
  if not rec then fail(2, name, "entity %d has no node %d", id, number) end
  return rec, ent
end

-- Adds a node or view that ends with the service that receives it to the list for the client that has added it.
local function note_lost(lists, one)
  lists[one.by] = lists[one.by] or {}
  table.move({ one.id, one.node or false }, 1, 2, #lists[one.by] + 1, lists[one.by])
end

local function send_lost(place, lists)
  for by, list in pairs(lists) do place:send(by, wire.say(wire.LOST_VIEWS, by, list)) end
end

-- Probes the clients of a node or view that is in the way of one of this client: with either of them it ends.
local function probe_both(place, client, one)
  place:probe(one.client, client)
  place:probe(one.by, client)
end

-- Entities ----------------------------------------------------------------------------------------------------------

--- Returns the result of `remove_entity`: a shard returns the life of the entity.
function commands.leave(place, client, id, reason)
  local ent = place:entity(client, id, "leave")
  reason = argument.reason(reason)
  local view = views.drop(place, id)
  if view then place:note_end(view, client) end
  for _, rec in pairs(ent.nodes or {}) do
    clients.forget_node(place, ent, rec)
    place:end_node(rec, true)
    place:note_end(rec, client)
  end
  clients.disown(place, id)
  return place:remove_entity(id, ent, client, reason)
end

function commands.set_kind(place, client, id, kind)
  place:rekind(id, place:entity(client, id, "set_kind"), kind)
end

-- Nodes -------------------------------------------------------------------------------------------------------------

-- Returns the record of a node that its entity does not have yet, and the result of put_node.
local function put_node(place, client, ent, id, number, area, handle, options)
  local o = options or {}
  walls.check_node(place, o)
  local rec = { id = id, node = number, client = o.to or client, by = client, handle = handle,
                positions = o.positions or nil, sight = o.sight or nil, linger = math.tointeger(o.linger),
                crosses = o.crosses }
  return rec, place:put_node(rec, ent, area)
end

local function fail_twice(id, number) fail(2, "add_node", "entity %d already has node %d", id, number) end

--- options: positions, sight, linger, crosses; to: the number of the client that receives the events, if it is another.
-- handle: the id of this life of the node in messages, if clients number them.
function commands.add_node(place, client, id, number, ...)
  local ent = place:entity(client, id, "add_node")
  if ent.nodes and ent.nodes[number] then
    probe_both(place, client, ent.nodes[number])
    ent = place:entity(client, id, "add_node")
    if ent.nodes and ent.nodes[number] then fail_twice(id, number) end
  end
  local rec, answer = put_node(place, client, ent, id, number, ...)
  clients.keep_node(place, ent, rec)
  return answer
end

--- Removes a node from its entity; its client receives the end with the next events.
function helpers.drop_node(place, ent, rec)
  clients.forget_node(place, ent, rec)
  place:end_node(rec, false)
end

--- handle: removes the node only if it is this client's with that handle; nil: any.
function commands.remove_node(place, client, id, number, handle)
  local rec, ent = helpers.node(place, client, id, number, "remove_node")
  if handle and not (rec.by == client and rec.handle == handle) then return end
  helpers.drop_node(place, ent, rec)
  place:note_end(rec, client)
end

-- Client views ------------------------------------------------------------------------------------------------------

local function new_view(client, id, area, options, to, fd, handle)
  return { id = id, area = area, options = options, client = to or client, by = client, fd = fd, handle = handle }
end

local function begin_view(place, view)
  place:begin_view(view)
  clients.keep_view(place, view)
end

local function fail_client(id) fail(1, "add_client", "entity %d is already a client", id) end

--- to: the number of the client that receives the messages, if it is another. handle: as for add_node.
function commands.add_client(place, client, id, ...)
  place:entity(client, id, "add_client")
  if place.views[id] then
    probe_both(place, client, place.views[id])
    place:entity(client, id, "add_client")
  end
  if place.views[id] then fail_client(id) end
  begin_view(place, new_view(client, id, ...))
end

--- The client view of an entity; raises if there is none.
function helpers.view(place, client, id, name)
  place:entity(client, id, name)
  return place.views[id] or fail(1, name, "entity %d is no client", id)
end

function commands.remove_client(place, client, id)
  helpers.view(place, client, id, "remove_client")
  place:note_end(views.drop(place, id), client)
end

--- Replaces area i of a client view.
function commands.set_view(place, client, id, i, area)
  local view = helpers.view(place, client, id, "set_view")
  place:check_area("set_view", area)
  views.set_area(place, view, i, area)
end

function commands.set_client(place, client, id, options, to, fd)
  local view = helpers.view(place, client, id, "set_client")
  views.change(place, view, options, to or view.client, fd)
end

function commands.resend(place, client, id)
  views.resend(place, { helpers.view(place, client, id, "resend").id })
end

for _, name in ipairs { "pin", "unpin", "known" } do
  commands[name] = function(place, client, id, ...)
    local view = helpers.view(place, client, id, name)
    if not view.made then return {}, 0 end -- its picture is empty; pins of a shard are in owner.lua
    return methods.answered(methods.invoke(place.sync, name, id, ...))
  end
end

-- Logins and take-overs -----------------------------------------------------------------------------------------------

local function never() return false end

-- Adds nodes and a view, or raises and has changed nothing. more: nodes, a list, and view: arguments of add_node and of
-- add_client behind the entity. What ends(one) is true for is in the way of none: make_way() removes it. Returns a list
-- of the results of add_node.
local function add_all(place, client, id, more, ends, make_way)
  local ent, recs, taken, answers = place:entity(client, id, "join"), {}, {}, {}
  local view = more.view and new_view(client, id, table.unpack(more.view, 1, 5))
  local function in_the_way(one) return one and not ends(one) end
  local ok, err = pcall(function()
    for i, n in ipairs(more.nodes) do
      if taken[n[1]] or in_the_way(ent.nodes and ent.nodes[n[1]]) then fail_twice(id, n[1]) end
      recs[i], answers[i] = put_node(place, client, ent, id, table.unpack(n, 1, 4))
      taken[n[1]] = true
    end
    if view and in_the_way(place.views[id]) then fail_client(id) end
    if view then place:try_view(view) end
  end)
  if not ok then
    for _, rec in ipairs(recs) do place:end_node(rec, false) end
    error(err, 0)
  end
  make_way()
  for _, rec in ipairs(recs) do clients.keep_node(place, ent, rec) end
  if view then begin_view(place, view) end
  return answers
end

--- Adds all of that to an entity that has just entered, or makes it leave and raises.
function helpers.add_all(place, client, id, more)
  local ok, answers = pcall(add_all, place, client, id, more, never, never)
  if ok then return answers end
  commands.leave(place, client, id)
  error(answers, 0)
end

--- Makes this client the owner of the entity: nodes and view of the former owner on it end, and that client may not
-- change the entity any more. more: as of add_all, which is added then; its present owner may replace its own so.
function commands.take_over(place, client, id, more)
  local ent = place:entity(client, id, "take_over")
  local former = ent.client
  local function is_former(a) return place:is_same(a, former) end
  local function ends(one) return is_former(one.by) or is_former(one.client) end
  local function take()
    local lists = {}
    for _, rec in pairs(ent.nodes or {}) do
      if ends(rec) and not is_former(rec.by) then note_lost(lists, rec) end
      if ends(rec) then helpers.drop_node(place, ent, rec) end
    end
    local view = place.views[id]
    if view and ends(view) and not is_former(view.by) then note_lost(lists, view) end
    if view and ends(view) then views.drop(place, id) end
    if former ~= client then
      clients.disown(place, id)
      ent.client = client
      clients.own(place, id, ent)
      local life, number = place:transfer(id, ent, client, former)
      place:send(former, wire.say(wire.TAKEN, former, { id, life or 0, number or 0 }))
    end
    send_lost(place, lists)
  end
  if more then return add_all(place, client, id, more, ends, take) end
  if former ~= client then take() end
end

-- The end of a client -----------------------------------------------------------------------------------------------

--- Removes the entities of a client that has ended, and the nodes and views that it receives or has added.
function helpers.end_client(place, client)
  local lists = {}
  clients.each(place, client, function(one)
    if one.node then helpers.drop_node(place, place.ents[one.id], one) else views.drop(place, one.id) end
  end, function(one) note_lost(lists, one) end)
  for _, id in ipairs(clients.entities(place, client)) do
    commands.leave(place, client, id)
  end
  send_lost(place, lists)
end

-- Queries -----------------------------------------------------------------------------------------------------------

function commands.nodes(place, client, id)
  return sorted_keys(place:entity(client, id, "nodes").nodes or {})
end

--- Returns the record of a node, nil if there is none.
function helpers.find(place, client, id, number)
  local ent = place:find(client, id)
  return ent and ent.nodes and ent.nodes[number]
end

--- Returns a table and its text, since messages carry no metatables. No node has number 0.
function commands.explain(place, client, id, number, target)
  local rec = helpers.find(place, client, id, number)
  local seer = rec and walls.seer(place, rec) or place.core
  local reason = seer:explain(id, rec and not rec.added and rec.number or 0, target)
  reason.node = number
  reason.wall = place.wall_named and place.wall_named[reason.wall] or reason.wall
  local text = tostring(reason)
  return setmetatable(reason, nil), text
end

-- Calls f(record) for each node that sees the entity, except for those of client views, which belong to aoi.sync.
local function each_viewer(place, f, ...)
  for _, seer in ipairs { place.core, place.sight } do
    local list, count = methods.answered(methods.invoke(seer, "viewers", ...))
    for i = 2, 2 * count, 2 do
      local rec = place:record(list[i])
      if rec and walls.seer(place, rec) == seer then f(rec) end
    end
  end
end

--- The nodes that see the entity: pairs watcher, node.
function commands.viewers(place, _, ...)
  local list, n = {}, 0
  each_viewer(place, function(rec)
    list[2 * n + 1], list[2 * n + 2] = rec.id, rec.node
    n = n + 1
  end, ...)
  return list, n
end

--- client -> { handles = of its nodes that see the entity, views = the entities of its views that know it }
function helpers.knowers(place, id)
  local by_client = {}
  local function of(client)
    by_client[client] = by_client[client] or { handles = {}, views = {} }
    return by_client[client]
  end
  if not place.core:has(id) then return by_client end
  each_viewer(place, function(rec) table.insert(of(rec.client).handles, rec.handle) end, id)
  local list, n = {}, 0
  if place.sync then list, n = place.sync:knowers(id) end
  for i = 1, n do
    local view = place.views[list[i]]
    if view then table.insert(of(view.client).views, list[i]) end
  end
  return by_client
end

--- The numbers of the clients with nodes or views that know the entity.
function commands.knowers(place, _, id) return sorted_keys(helpers.knowers(place, id)) end

--- Sends the bytes to these clients, by default to all that know the entity. Returns the list of those to which they
-- were sent, and its length.
function commands.broadcast(place, _, id, bytes, by_client)
  by_client = by_client or helpers.knowers(place, id)
  local reached, list = {}, sorted_keys(by_client)
  for _, client in ipairs(list) do
    local to = by_client[client]
    if place:send_broadcast(client, id, wire.broadcast(client, id, to.handles, to.views, bytes)) then
      reached[#reached + 1] = client
    end
  end
  return reached, #reached
end

return commands
