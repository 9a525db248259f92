-- Client views: entities that are clients of aoi.sync in a space of the server. Their messages go as packets to the
-- link that asked for the view, or to one that it named: ready for the connection of the player.
--
--   space.sync             the synchroniser, made with the first client view
--   space.views[id]        the view of an entity: the link that gets its messages, the one that asked for it, its fd
--   subscriber.packets     those of this tick, in pieces; all such lists are in server.packet_lists
--   subscriber.starved     views whose messages were dropped, because the subscriber had fallen behind

local methods = require "aoi.skynet.methods"
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
  local ok, err = methods.invoke_as(space.sync, "add", "add_client", id, area, options)
  if not ok then error(err, 0) end
  local view = { id = id, link = link, by = by, fd = fd }
  space.views[id], link.views[id] = view, view
  if by ~= link then by.asked[view] = true end
end

-- Whether the messages of the view are dropped: from the first on that finds the window full, until it begins again.
local function starves(self, view)
  local subscriber = view.link.subscriber
  local starved = subscriber.starved
  if starved and starved[view] then return true end
  if (subscriber.packet_seq - subscriber.packets_acked) & U32 < self.window then return false end
  subscriber.starved = starved or {}
  subscriber.starved[view] = true
  return true
end

local function collect(self, view, bytes)
  if starves(self, view) then return end
  local subscriber = view.link.subscriber
  local list = subscriber.packets
  if not list or list.size >= self.max_message then
    list = { subscriber = subscriber, views = {}, size = 0 }
    subscriber.packets = list
    self.packet_lists[#self.packet_lists + 1] = list
  end
  local packet = wire.packet(view.link.number, view.id, view.fd, bytes)
  list[#list + 1], list.views[#list + 1], list.size = packet, view, list.size + #packet
end

--- One tick of the synchroniser of a space: packets are collected by subscriber.
function packets.tick(self, space)
  local views = space.views
  space.sync:tick(function(id, bytes)
    local view = views[id]
    if view then collect(self, view, bytes) end
  end)
end

-- Returns what the server's `send` returned.
local function send_list(self, list)
  local subscriber = list.subscriber
  local seq = (subscriber.packet_seq + 1) & U32
  local waiting = (seq - subscriber.packets_acked) & U32
  local head = wire.packets(seq, waiting % self.ask_every == 0 or waiting >= self.window)
  local sent = self:post_message(subscriber.address, head .. table.concat(list))
  if sent then
    subscriber.packet_seq = seq
    self.counters.packets = self.counters.packets + #list
  end
  return sent
end

-- Its next message is the whole picture, and says that it begins anew.
local function begin_anew(view)
  local space = view.link.space
  if space.views[view.id] == view then space.sync:resend(view.id) end
end

--- Sends what has been collected: a message for each subscriber, several if it is longer than max_message. Where that
-- fails, the views begin anew.
function packets.send(self)
  local lists = self.packet_lists
  self.packet_lists = {}
  for _, list in ipairs(lists) do
    list.subscriber.packets = nil
    local ok, sent = pcall(send_list, self, list)
    if not ok then self.log(("aoi: %s"):format(tostring(sent))) end
    if not ok or sent == false then
      for _, view in ipairs(list.views) do begin_anew(view) end
    end
  end
end

--- The views that were starved begin anew when everything has been acknowledged.
function packets.ack(subscriber, seq)
  if (subscriber.packet_seq - seq) & U32 <= (subscriber.packet_seq - subscriber.packets_acked) & U32 then
    subscriber.packets_acked = seq
  end
  if subscriber.starved and subscriber.packets_acked == subscriber.packet_seq then
    for view in pairs(subscriber.starved) do begin_anew(view) end
    subscriber.starved = nil
  end
end

return packets
