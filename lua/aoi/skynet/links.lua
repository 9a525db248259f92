-- Links: what one client has in one space of the server, the records of its nodes and its entities. aoi.skynet.server
-- draws how they refer to each other.

local wire = require "aoi.skynet.wire"

local links = {}

function links.mark_dirty(record)
  if not record.dirty then
    record.dirty = true
    local link = record.link
    local n = link.dirty_count + 1
    link.dirty_count = n
    link.dirty[n] = record
  end
end

--- Ends the life of a node; its record stays until its last events have been drained.
function links.close_record(space, record)
  local nodes = space.nodes[record.watcher]
  nodes[record.node] = nil
  if next(nodes) == nil then space.nodes[record.watcher] = nil end
  record.link.records[record.handle] = nil
  space.closing[#space.closing + 1] = record
end

local function clean(record) record.dirty, record.leave_count, record.enter_count = false, 0, 0 end

function links.clean_all(link)
  for i = 1, link.dirty_count do
    clean(link.dirty[i])
    link.dirty[i] = nil
  end
  link.dirty_count = 0
end

--- Drops the link's collected changes; its next message brings whole views.
function links.make_stale(link)
  link.stale = true
  links.clean_all(link)
end

function links.remove_entity(space, id)
  space.core:leave(id)
  local owner = space.owner[id]
  if owner then owner.entities[id] = nil end
  space.owner[id] = nil
  local nodes = space.nodes[id]
  if nodes then
    for _, record in pairs(nodes) do links.close_record(space, record) end
  end
end

function links.add_entity(space, link, id)
  space.owner[id] = link
  link.entities[id] = true
  space.width = wire.width(id, space.width)
end

local function destroy_space(server, space)
  for _, record in ipairs(space.closing) do server.records[record.handle] = nil end
  server.spaces[space.number] = nil
  server.names[space.name] = nil
  space.core:close()
end

--- Removes a client from a space, with its nodes and entities. A space without clients is closed.
function links.detach(server, link)
  local space = link.space
  link.gone = true
  links.clean_all(link)
  for handle, record in pairs(link.records) do
    space.core:remove_node(record.watcher, handle)
    links.close_record(space, record)
  end
  for id in pairs(link.entities) do links.remove_entity(space, id) end
  if link.drives then space.drivers = space.drivers - 1 end
  space.links[link.subscriber.address] = nil
  link.subscriber.links[space.number] = nil
  if next(space.links) == nil then destroy_space(server, space) end
end

return links
