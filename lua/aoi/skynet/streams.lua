-- What goes to one service besides events: the messages of client views, and broadcasts. Each has a window, as events
-- have; the fields are of whoever has the stream.
--
--   packet_seq, packets_acked        numbers of the last message of packets that was sent, and acknowledged
--   starved[view]                    of those whose messages are dropped, until they begin anew
--   broadcast_bytes, broadcasts_acked   bytes that were sent, and acknowledged, modulo 2^32
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
  stream.packet_seq, stream.packets_acked, stream.starved = 0, 0, {}
  stream.broadcast_bytes, stream.broadcasts_acked = 0, 0
  return stream
end

--- The number of the next message of one sort, and whether it is to be acknowledged: fields of the last one that was
-- sent and acknowledged.
function streams.next(stream, sent, acked, window)
  local seq = (stream[sent] + 1) & U32
  local waiting = (seq - stream[acked]) & U32
  return seq, waiting % math.max(1, window // 4) == 0 or waiting >= window
end

--- All up to that number have been acknowledged; out of range, of what was never sent or already acknowledged, it is
-- ignored.
function streams.ack(stream, sent, acked, seq)
  if (stream[sent] - seq) & U32 <= (stream[sent] - stream[acked]) & U32 then stream[acked] = seq end
end

function streams.is_full(stream, sent, acked, window) return (stream[sent] - stream[acked]) & U32 >= window end

-- Packets -----------------------------------------------------------------------------------------------------------

--- Whether the message of that view is dropped.
function streams.starves(stream, view, window)
  if stream.starved[view] then return true end
  if not streams.is_full(stream, "packet_seq", "packets_acked", window) then return false end
  stream.starved[view] = true
  return true
end

--- Packets in one message: post(message) sends it. Returns what that returns.
function streams.send_packets(stream, packets, window, post)
  local seq, ask = streams.next(stream, "packet_seq", "packets_acked", window)
  local sent = post(wire.packets(seq, ask) .. table.concat(packets))
  if sent then stream.packet_seq = seq end
  return sent
end

--- Returns the views that begin anew by this acknowledgement; the caller clears `starved` when they do.
function streams.ack_packets(stream, seq)
  streams.ack(stream, "packet_seq", "packets_acked", seq)
  local due = {}
  for view, since in pairs(stream.packets_acked == stream.packet_seq and stream.starved or {}) do
    if since == true then due[#due + 1] = view end
  end
  return due
end

-- Broadcasts --------------------------------------------------------------------------------------------------------

--- The message as it is to be sent; nil: it is missed.
function streams.broadcast(stream, message)
  local sent, size = stream.broadcast_bytes, #message
  local waiting, now = (sent - stream.broadcasts_acked) & U32, (sent + size) & U32
  if waiting >= ASK_EVERY and waiting + size > WINDOW then return nil end
  stream.broadcast_bytes = now
  return wire.renumbered(message, now, size >= ASK_EVERY or now // ASK_EVERY ~= sent // ASK_EVERY)
end

function streams.ack_broadcasts(stream, bytes) streams.ack(stream, "broadcast_bytes", "broadcasts_acked", bytes) end

return streams
