-- The streams of messages to one service, each with a window: how much has been sent and acknowledged, modulo 2^32. The
-- events of an AOI service have theirs in C (src/lua/wire_post.h).
--
--   stream.events       of the exchange of a world: numbers of messages, as all others
--   stream.packets      messages of client views; starved[view]: of those whose messages are dropped, until they begin
--                       anew
--   stream.broadcasts   numbers of bytes
--
-- With `window` messages of packets unacknowledged, what comes then is dropped, and its view is silent until all has
-- been acknowledged: then it begins anew. Of broadcasts at most WINDOW bytes are unacknowledged, or one message behind
-- fewer than ASK_EVERY; what comes then is missed.

local wire = require "aoi.skynet.wire"

local streams = {}

local U32 = 0xffffffff
local WINDOW = 1 << 20
local ASK_EVERY = WINDOW // 4

--- Adds the fields to a table.
function streams.begin(stream)
  for _, name in ipairs { "events", "packets", "broadcasts" } do stream[name] = { sent = 0, acked = 0 } end
  stream.starved = {}
  return stream
end

local function waiting(one) return (one.sent - one.acked) & U32 end

--- The number of the next message, and whether it is to be acknowledged.
function streams.next(one, window)
  local n = (waiting(one) + 1) & U32
  return (one.sent + 1) & U32, n % math.max(1, window // 4) == 0 or n >= window
end

--- All up to that number have been acknowledged; out of range, of what was never sent or already acknowledged, it is
-- ignored.
function streams.ack(one, seq)
  if (one.sent - seq) & U32 <= waiting(one) then one.acked = seq end
end

function streams.is_full(one, window) return waiting(one) >= window end

--- An ACK; flags as of wire.lua. Returns false, and nothing has changed, where it is of events. Where views begin anew
-- by it, begin_anew(stream, views, owner) is called, which clears `starved` when they do.
function streams.take_ack(stream, flags, seq, begin_anew, owner)
  if flags & wire.OF_BROADCASTS ~= 0 then
    streams.ack(stream.broadcasts, seq)
    return true
  elseif flags & wire.OF_PACKETS == 0 then
    return false
  end
  streams.ack(stream.packets, seq)
  local due = {}
  for view, since in pairs(waiting(stream.packets) == 0 and stream.starved or {}) do
    if since == true then due[#due + 1] = view end
  end
  if due[1] then begin_anew(stream, due, owner) end
  return true
end

--- Whether the message of that view is dropped.
function streams.starves(stream, view, window)
  if stream.starved[view] then return true end
  if not streams.is_full(stream.packets, window) then return false end
  stream.starved[view] = true
  return true
end

--- Packets in one message: post(message) sends it. Returns what that returns.
function streams.send_packets(stream, packets, window, post)
  local seq, ask = streams.next(stream.packets, window)
  local sent = post(wire.packets(seq, ask) .. table.concat(packets))
  if sent then stream.packets.sent = seq end
  return sent
end

--- The message of a broadcast as it is to be sent; nil: it is missed.
function streams.broadcast(stream, message)
  local one, size = stream.broadcasts, #message
  local n, sent, now = waiting(one), one.sent, (one.sent + size) & U32
  if n >= ASK_EVERY and n + size > WINDOW then return nil end
  one.sent = now
  return wire.renumbered(message, now, size >= ASK_EVERY or now // ASK_EVERY ~= sent // ASK_EVERY)
end

return streams
