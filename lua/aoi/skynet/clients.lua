-- The entities, nodes and views of each client in one place, which is a map or a shard of a world.
--
--   place.ents[id]          an entity: client, its owner; nodes[node] --> rec; barred: former owners
--   place.recs[number] -->  rec, one life of a node: id, node; client, the receiver of its events; by, the client that
--                           has added it; handle, its id in messages; number, its id in the core and the post
--   place.views[id]         a client view: client, the receiver of its messages; by, as for rec; fd (views.lua)
--   place.clients[number]   sets of a client: entities that it owns, nodes and views that it receives; asked: nodes and
--                           views that it has added and others receive

local sorted_keys = require "aoi.sorted_keys"

local clients = {}

function clients.new(number) return { number = number, entities = {}, nodes = {}, views = {}, asked = {} } end

--- The record of a client, made at the first use.
function clients.of(place, number)
  local client = place.clients[number]
  if not client then
    client = clients.new(number)
    place.clients[number] = client
  end
  return client
end

function clients.own(place, id, ent)
  place.ents[id] = ent
  clients.of(place, ent.client).entities[id] = true
end

function clients.disown(place, id)
  local client = place.clients[place.ents[id].client]
  place.ents[id] = nil
  if client then client.entities[id] = nil end
end

local function put(place, kind, one, value)
  local client, by = clients.of(place, one.client), clients.of(place, one.by)
  client[kind][one] = value
  if by ~= client then by.asked[one] = value end
end

function clients.keep_node(place, ent, rec)
  ent.nodes, ent.node_count = ent.nodes or {}, (ent.node_count or 0) + 1
  ent.nodes[rec.node] = rec
  put(place, "nodes", rec, true)
end

function clients.forget_node(place, ent, rec)
  ent.nodes[rec.node], ent.node_count = nil, ent.node_count - 1
  if next(ent.nodes) == nil then ent.nodes = nil end
  put(place, "nodes", rec, nil)
end

function clients.keep_view(place, view)
  place.views[view.id] = view
  put(place, "views", view, true)
end

function clients.forget_view(place, view)
  place.views[view.id] = nil
  put(place, "views", view, nil)
end

--- Calls f(one) for each node and view that the client receives or has added, and lost(one) before it for those that
-- others have added.
function clients.each(place, number, f, lost)
  local client, all = clients.of(place, number), {}
  for _, set in ipairs { client.nodes, client.views, client.asked } do
    for one in pairs(set) do all[#all + 1] = one end
  end
  for _, one in ipairs(all) do
    if one.by ~= number then lost(one) end
    f(one)
  end
end

--- The ids of the client's entities, ascending.
function clients.entities(place, number) return (sorted_keys(clients.of(place, number).entities)) end

return clients
