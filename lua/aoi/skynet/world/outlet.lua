-- What a shard has for clients: events, made messages as by an AOI service (src/lua/wire_post.h), and notes. The window
-- is the exchange's, which joins what the shards have written for an epoch.
--
--   shard.clients[number]   slot, link: what the post knows it by, once it has had a node here
--   shard.notes[client]     routes and refusals, which go with the events of the epoch
--   shard.letters[client]   other messages: flat ones, and in `packets` those for players: id, bytes, and so on

local clients = require "aoi.skynet.clients"
local wire = require "aoi.skynet.wire"

local outlet = { LEFT = wire.LEFT_WORLD }

local CLOSE, LONG, WIDTH = 2, 8, { [4] = 64, [8] = 128 } -- flags of a group: wire.lua
local NO_LIMIT = 0x7fffffff

-- What there is of the client, a new table if nothing is.
local function of(list, client)
  list[client] = list[client] or {}
  return list[client]
end

function outlet.post() return wire.post(NO_LIMIT, NO_LIMIT) end

--- That entity is owned by that shard from now on; 0: a move of it has been refused; or LEFT, and the life that ends.
function outlet.note(self, client, id, shard, life)
  table.insert(of(self.notes, client), wire.route(id, shard, life))
end

--- A message for the client, behind the events of the coming epoch.
function outlet.put(self, client, message) table.insert(of(self.letters, client), message) end

--- A message of the client view of that entity, as of wire.packet.
function outlet.put_packet(self, client, id, packet)
  local packets = of(of(self.letters, client), "packets")
  packets[#packets + 1], packets[#packets + 2] = id, packet
end

--- A number for the node of a record, by which core and post know it from now on, if it has none yet. Where another
-- has asked for it than its client, that has mail in any case: so its exchange finds out whether it has died meanwhile.
function outlet.open_node(self, rec)
  if rec.number then return end
  if rec.by ~= rec.client then of(self.letters, rec.client) end
  local client = clients.of(self, rec.client)
  if not client.link then
    client.slot = self.post:subscribe(rec.client)
    client.link = self.post:link(client.slot, self.core, rec.client)
  end
  rec.number = self.post:add(client.link, rec.id, rec.node, rec.positions, rec.handle)
  self.recs[rec.number] = rec
end

--- A node of the client that is in no core any more ends: it leaves these ids, bytes of that width.
function outlet.end_node(self, client, handle, seen, width)
  local group = string.pack("<I4BI4I4", handle, CLOSE | LONG | WIDTH[width], #seen // width, 0) .. seen
  self.ended_nodes[client] = (self.ended_nodes[client] or "") .. group
end

--- The messages of an epoch for each client, as wire.lua has them: `events`, and `ends`, the length of its head and the
-- nodes that end; `ended`, groups of nodes that end; `routes`. And the number of events.
function outlet.drain(self, number)
  local mail = {}
  for client, notes in pairs(self.notes) do mail[client] = { routes = wire.routes(client, number, notes) } end
  self.notes = {}
  local events = self.post:collect(self.core, self.sight)
  self.post:send(function(client, message, ends)
    local its = of(mail, client)
    its.events, its.ends = message, ends
    return true
  end)
  for client, groups in pairs(self.ended_nodes) do of(mail, client).ended = groups end
  for client, letters in pairs(self.letters) do of(mail, client).letters = letters end
  self.ended_nodes, self.letters = {}, {}
  for _, client in ipairs(self.buried) do
    local c = self.clients[client]
    self.clients[client], mail[client] = nil, nil
    if c and c.link then
      self.post:unlink(c.link)
      self.post:unsubscribe(c.slot)
    end
  end
  return mail, events
end

--- The client's nodes say all that they see, with the next drain.
function outlet.whole(self, number)
  local client = self.clients[number]
  if client and client.link then self.post:ack(client.slot, 0, true) end
end

return outlet
