-- Links: what one client has in one space of the server, the records of its nodes and its entities. aoi.skynet.server
-- draws how they refer to each other.

local packets = require "aoi.skynet.packets"
local wire = require "aoi.skynet.wire"

local links = {}

--- Ends the life of a node, which the core does not have any more; its last events come with the next tick.
function links.close_record(server, record)
  local space = record.link.space
  local nodes = space.nodes[record.watcher]
  nodes[record.node] = nil
  if next(nodes) == nil then space.nodes[record.watcher] = nil end
  record.link.records[record.handle], record.by.asked[record] = nil, nil
  server.records[record.handle] = nil
  server.post:remove(record.handle)
end

function links.end_node(server, record)
  record.link.space.core:remove_node(record.watcher, record.handle)
  links.close_record(server, record)
end

-- Who had an entity that another client has taken over: none of its maps may move it or remove it, for this life of the
-- entity, unless it takes it back.
--
--   space.barred[id]            set of subscribers
--   subscriber.barred[space]    set of ids
local function set_barred(server, space, subscriber, id, value)
  local ids = subscriber.barred[space] or {}
  ids[id] = value
  subscriber.barred[space] = next(ids) ~= nil and ids or nil
  if server.subscribers[subscriber.address] == subscriber then
    server.post:bar(subscriber.slot, next(subscriber.barred) ~= nil)
  end
end

function links.bar(server, space, subscriber, id)
  space.barred[id] = space.barred[id] or {}
  space.barred[id][subscriber] = true
  set_barred(server, space, subscriber, id, true)
end

--- Without a subscriber: all.
function links.unbar(server, space, id, only)
  local set = space.barred[id] or {}
  for subscriber in pairs(only and { [only] = set[only] } or set) do
    set[subscriber] = nil
    set_barred(server, space, subscriber, id, nil)
  end
  if next(set) == nil then space.barred[id] = nil end
end

function links.remove_entity(server, space, id)
  space.core:leave(id)
  links.unbar(server, space, id)
  local owner = space.owner[id]
  if owner then owner.entities[id] = nil end
  space.owner[id] = nil
  packets.forget(space, id)
  local nodes = space.nodes[id]
  if nodes then
    for _, record in pairs(nodes) do links.close_record(server, record) end
  end
end

function links.add_entity(space, link, id)
  space.owner[id] = link
  link.entities[id] = true
end

local function destroy_space(server, space)
  for id in pairs(space.barred) do links.unbar(server, space, id) end
  server.spaces[space.number] = nil
  server.names[space.name] = nil
  space.core:close()
end

--- gate: not opened by the subscriber, which has called itself a gate: another one has named it. The space does not
-- live for such links, whose numbers are those from wire.GATE on.
function links.new(server, space, subscriber, gate)
  local number, base = server.link_number, gate and wire.GATE or 0
  repeat
    number = number % (wire.GATE - 1) + 1
  until not server.links[base + number]
  server.link_number = number
  number = base + number
  if not gate then space.users = space.users + 1 end
  local link = {
    number = number, space = space, subscriber = subscriber, entities = {}, records = {}, views = {},
    drives = false, gate = gate,
    asked = {}, -- records and client views that other links hear, and this one has asked for
    slot = server.post:link(subscriber.slot, space.core, number),
  }
  server.links[number], space.links[number], subscriber.links[number] = link, link, link
  return link
end

-- All nodes and client views that the link hears or has asked for. Who has asked for one that it hears is told.
local function end_all(server, link)
  local lost = {}
  local function note(by, id, node)
    if by == link then return end
    lost[by] = lost[by] or {}
    table.insert(lost[by], id)
    table.insert(lost[by], node)
  end
  for _, record in pairs(link.records) do
    note(record.by, record.watcher, record.node)
    links.end_node(server, record)
  end
  for id, view in pairs(link.views) do
    note(view.by, id, false)
    packets.forget(link.space, id)
  end
  for asked in pairs(link.asked) do
    if asked.handle then links.end_node(server, asked) else packets.forget(link.space, asked.id) end
  end
  return lost
end

local function remove(server, link)
  local space, subscriber = link.space, link.subscriber
  server.links[link.number], space.links[link.number], subscriber.links[link.number] = nil, nil, nil
  local lost = end_all(server, link)
  for id in pairs(link.entities) do links.remove_entity(server, space, id) end
  server.post:unlink(link.slot)
  if link.drives then space.drivers = space.drivers - 1 end
  for by, list in pairs(lost) do
    if server.links[by.number] == by then
      server:post_message(by.subscriber.address, wire.lost_views(by.number, list))
    end
  end
end

--- Removes a client from a space, with its nodes and entities. A space that nobody has open is closed.
function links.detach(server, link)
  local space = link.space
  remove(server, link)
  if link.gate then return end
  space.users = space.users - 1
  if space.users > 0 or not server.spaces[space.number] then return end
  for number, gate in pairs(space.links) do
    remove(server, gate)
    server:post_message(gate.subscriber.address, wire.bye(number))
  end
  destroy_space(server, space)
end

return links
