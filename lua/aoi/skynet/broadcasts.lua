-- Who knows an entity, and the bytes of the caller's own that go to them: those whose nodes see it, and those that get
-- the messages of client views that know it.
--
--   subscriber.broadcast_bytes     bytes of BROADCAST sent to it, modulo 2^32
--   subscriber.broadcasts_acked    those that it has acknowledged
--
-- At most WINDOW bytes are unacknowledged, or one message behind fewer than ASK_EVERY. A subscriber that has fallen
-- behind misses what comes then; that is counted and logged.

local wire = require "aoi.skynet.wire"

local broadcasts = {}

local U32 = 0xffffffff
local WINDOW = 1 << 20
local ASK_EVERY = WINDOW // 4

-- f(link, handle) for nodes that see it, f(link, nil, view) for client views that know it.
local function each_knower(server, space, id, f)
  local list, n = space.core:viewers(id)
  for i = 2, 2 * n, 2 do
    local record = server.records[list[i]]
    if record then f(record.link, record.handle) end
  end
  if not space.sync then return end
  list, n = space.sync:knowers(id)
  for i = 1, n do
    local view = space.views[list[i]]
    if view then f(view.link, nil, view) end
  end
end

--- The addresses of the services that know it, each once, and how many.
function broadcasts.knowers(server, space, id)
  local list, n, seen = {}, 0, {}
  each_knower(server, space, id, function(link)
    local address = link.subscriber.address
    if not seen[address] then
      n = n + 1
      seen[address], list[n] = true, address
    end
  end)
  return list, n
end

--- Whether so many bytes more may go to it; then the bytes so far, and whether an ACK is expected.
function broadcasts.admit(subscriber, size)
  local sent = subscriber.broadcast_bytes
  local waiting, now = (sent - subscriber.broadcasts_acked) & U32, (sent + size) & U32
  if waiting >= ASK_EVERY and waiting + size > WINDOW then return false end
  return true, now, size >= ASK_EVERY or now // ASK_EVERY ~= sent // ASK_EVERY
end

-- Whether it was sent.
local function send_to(server, link, id, to, bytes)
  local subscriber = link.subscriber
  local fits, now, ask = broadcasts.admit(subscriber, wire.size_of_broadcast(to.handles, to.views, bytes))
  if not fits then
    server.counters.missed = server.counters.missed + 1
    server.warn("broadcast", "aoi: service :%08x has fallen behind and misses a broadcast about entity %d",
      subscriber.address, id)
    return false
  end
  if not server:post_message(subscriber.address, wire.broadcast(link.number, now, ask, id, to.handles, to.views, bytes))
  then
    return false
  end
  subscriber.broadcast_bytes = now
  return true
end

--- One message to each link that knows the entity: the handles of its nodes, the entities of its client views. Returns
-- to how many services it was sent.
function broadcasts.send(server, space, id, bytes)
  local by_link, order, reached, n = {}, {}, {}, 0
  each_knower(server, space, id, function(link, handle, view)
    local to = by_link[link]
    if not to then
      to = { handles = {}, views = {} }
      by_link[link], order[#order + 1] = to, link
    end
    if handle then table.insert(to.handles, handle) else table.insert(to.views, view.id) end
  end)
  for _, link in ipairs(order) do
    local address = link.subscriber.address
    if send_to(server, link, id, by_link[link], bytes) and not reached[address] then
      reached[address], n = true, n + 1
    end
  end
  server.counters.broadcasts = server.counters.broadcasts + 1
  return n
end

--- Out of range, of bytes never sent or already acknowledged, it is ignored.
function broadcasts.ack(subscriber, bytes)
  local waiting = (subscriber.broadcast_bytes - subscriber.broadcasts_acked) & U32
  if (subscriber.broadcast_bytes - bytes) & U32 <= waiting then subscriber.broadcasts_acked = bytes end
end

return broadcasts
