-- Client views: entities that are clients of aoi.sync in a space of the server. Their messages go as packets to the
-- link that asked for the view, or to one that it named: ready for the connection of the player.
--
--   space.sync             the synchroniser, made with the first client view
--   space.views[id]        the view of an entity: the link that gets its messages, the one that asked for it, its fd
--   subscriber.packets     those of this tick, in pieces
--   subscriber.starved     views whose messages were dropped, because the subscriber had fallen behind

local wire = require "aoi.skynet.wire"

local packets = {}

local U32 = 0xffffffff

--- Removes the view of an entity that leaves, or changes hands; the synchroniser forgets one that leaves by itself.
function packets.forget(space, id)
  local view = space.views[id]
  if not view then return end
  space.views[id] = nil
  view.link.views[id], view.by.asked[view] = nil, nil
  if view.link.subscriber.starved then view.link.subscriber.starved[view] = nil end
  if space.core:has(id) then space.sync:remove(id) end
end

--- `link` gets the messages of this entity's view, for which `by` has asked. Raises what aoi.sync raises.
function packets.add(server, by, link, id, area, options, fd)
  local space = link.space
  if not space.sync then
    space.sync = server.new_sync(space.core, { quantum = space.quantum })
  end
  if space.views[id] then error(("bad argument #1 to 'add_client' (entity %d is already a client)"):format(id), 0) end
  space.sync:add(id, area, options)
  local view = { id = id, link = link, by = by, fd = fd }
  space.views[id], link.views[id] = view, view
  if by ~= link then by.asked[view] = true end
end

local function starve(subscriber, view)
  subscriber.starved = subscriber.starved or {}
  subscriber.starved[view] = true
end

local function collect(self, view, bytes)
  local subscriber = view.link.subscriber
  if (subscriber.packet_seq - subscriber.packets_acked) & U32 >= self.window then
    starve(subscriber, view)
    return
  end
  local list = subscriber.packets
  if not list then
    list = {}
    subscriber.packets = list
    self.packet_count = self.packet_count + 1
    self.with_packets[self.packet_count] = subscriber
  end
  list[#list + 1] = wire.packet(view.link.number, view.id, view.fd, bytes)
end

--- One tick of the synchroniser of a space: packets are collected by subscriber.
function packets.tick(self, space)
  local views = space.views
  space.sync:tick(function(id, bytes)
    local view = views[id]
    if view then collect(self, view, bytes) end
  end)
end

local function send_to(self, subscriber)
  local list = subscriber.packets
  local seq = (subscriber.packet_seq + 1) & U32
  local waiting = (seq - subscriber.packets_acked) & U32
  subscriber.packets = nil
  table.insert(list, 1, wire.packets(seq, waiting % self.ask_every == 0 or waiting >= self.window))
  subscriber.packet_seq = seq
  self.counters.packets = self.counters.packets + #list - 1
  self:post_message(subscriber.address, table.concat(list))
end

--- Sends what has been collected: one message for each subscriber.
function packets.send(self)
  while self.packet_count > 0 do
    local n = self.packet_count
    local subscriber = self.with_packets[n]
    self.with_packets[n], self.packet_count = nil, n - 1
    send_to(self, subscriber)
  end
end

--- The views that were starved begin again when everything has been acknowledged.
function packets.ack(subscriber, seq)
  if (subscriber.packet_seq - seq) & U32 <= (subscriber.packet_seq - subscriber.packets_acked) & U32 then
    subscriber.packets_acked = seq
  end
  if subscriber.starved and subscriber.packets_acked == subscriber.packet_seq then
    for view in pairs(subscriber.starved) do view.link.space.sync:resend(view.id) end
    subscriber.starved = nil
  end
end

return packets
