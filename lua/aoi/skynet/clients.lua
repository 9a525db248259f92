-- What each client has in one place, which is a map or a shard of a world, and what ends with it.
--
--   place.ents[id]          an entity: client, whose it is; nodes[node] --> rec; barred: who may not change it any more
--   place.recs[number] -->  rec, one life of a node: id, node, client, which hears of it, by, who has asked for it, and
--                           handle, by which messages name it; the core and the post know it by its number
--   place.views[id]         a client view: client, which gets its messages, by, who has asked for it, fd (views.lua)
--   place.clients[number]   entities, nodes and views of the client, as sets; asked: nodes and views that others have,
--                           and that it has asked for

local sorted_keys = require "aoi.skynet.sorted_keys"

local clients = {}

function clients.new(number) return { number = number, entities = {}, nodes = {}, views = {}, asked = {} } end

--- The client of that number, a new one if nothing is known of it.
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
  ent.nodes = ent.nodes or {}
  ent.nodes[rec.node] = rec
  put(place, "nodes", rec, true)
end

function clients.forget_node(place, ent, rec)
  ent.nodes[rec.node] = nil
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

--- Nodes and views that the client has, or has asked for: calls f(one) for each, and lost(one) before it for those
-- that others have asked for.
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

--- The ids of its entities, ascending.
function clients.entities(place, number) return (sorted_keys(clients.of(place, number).entities)) end

return clients
