-- The mail of a shard: messages for clients, collected while commands come and an epoch is applied, and drained at its
-- end. The exchange of each client joins the mail of all shards for the epoch and applies the window (delivery.lua).
--
--   shard.clients[number]   slot, link: keys of the client in the post, once it has had a node here
--   shard.mail[client]      routes: rows of ROUTES, delivered before the events of the epoch; ended: groups
--                           of nodes that end; messages: delivered behind the events; messages.packets: a flat list id,
--                           bytes for client views; from drain on events: a message, and ends: the length of its head
--                           and the nodes in it that end

local clients = require "aoi.skynet.clients"
local wire = require "aoi.skynet.wire"

local outlet = { LEFT = wire.LEFT_WORLD }

local CLOSE, LONG, WIDTH = 2, 8, { [4] = 64, [8] = 128 } -- flags of a group: wire.lua
local NO_LIMIT = 0x7fffffff

-- list[client], a new table if it is nil.
local function of(list, client)
  list[client] = list[client] or {}
  return list[client]
end

function outlet.post() return wire.post(NO_LIMIT, NO_LIMIT) end

--- shard: the new owner of the entity; 0: a move was refused; LEFT: another client has made that life leave.
function outlet.note(self, client, id, shard, life)
  local routes = of(of(self.mail, client), "routes")
  table.move({ id, shard, life or 0 }, 1, 3, #routes + 1, routes)
end

--- The message is delivered behind the events of the coming epoch.
function outlet.put(self, client, message) table.insert(of(of(self.mail, client), "messages"), message) end

--- packet: of the client view of that entity, made by wire.packet.
function outlet.put_packet(self, client, id, packet)
  local packets = of(of(of(self.mail, client), "messages"), "packets")
  packets[#packets + 1], packets[#packets + 2] = id, packet
end

--- Gives the record a number, the name of the node in core and post, if it has none yet. If another client has asked
-- for the node, its own client gets mail in any case, so that its exchange detects that this client is dead.
function outlet.open_node(self, rec)
  if rec.number then return end
  if rec.by ~= rec.client then of(self.mail, rec.client) end
  local client = clients.of(self, rec.client)
  if not client.link then
    client.slot = self.post:subscribe(rec.client)
    client.link = self.post:link(client.slot, self.core, rec.client)
  end
  rec.number = self.post:add(client.link, rec.id, rec.node, rec.positions, rec.handle)
  self.recs[rec.number] = rec
end

--- A node of the client that is in no core ends: its handlers get leaves of the ids seen, bytes of that width each.
function outlet.end_node(self, client, handle, seen, width)
  local group = string.pack("<I4BI4I4", handle, CLOSE | LONG | WIDTH[width], #seen // width, 0) .. seen
  local its = of(self.mail, client)
  its.ended = (its.ended or "") .. group
end

--- Returns the mail of an epoch by client, and the number of events.
function outlet.drain(self, number)
  local mail = self.mail
  self.mail = {}
  for _, its in pairs(mail) do
    if its.routes then its.routes.epoch = number end
  end
  local events = self.post:collect(self.core, self.sight)
  self.post:send(function(client, message, ends)
    local its = of(mail, client)
    its.events, its.ends = message, ends
    return true
  end)
  for _, client in ipairs(self.ended_clients) do
    local c = self.clients[client]
    self.clients[client], mail[client] = nil, nil
    if c and c.link then
      self.post:unlink(c.link)
      self.post:unsubscribe(c.slot)
    end
  end
  return mail, events
end

--- With the next drain, the client's nodes report all that they see.
function outlet.whole(self, number)
  local client = self.clients[number]
  if client and client.link then self.post:ack(client.slot, 0, true) end
end

return outlet
