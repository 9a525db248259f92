-- Flow control of the streams of messages to one service: counts what is sent and acknowledged, modulo 2^32. The stream
-- of an AOI service's events is in C (src/skynet/wire_post.h).
--
--   stream.events       counts messages with events of the exchange of a world
--   stream.packets      counts messages of client views; suspended[view]: its messages are dropped until it restarts
--   stream.broadcasts   counts bytes, of crossings, too
--
-- With `window` unacknowledged messages of packets, further packets are dropped, and their views are suspended until
-- all are acknowledged: then they restart with the whole picture. Broadcasts are dropped if more than WINDOW bytes
-- would be unacknowledged, except for one behind fewer than ASK_EVERY bytes.

local wire = require "aoi.skynet.wire"

local streams = {}

local U32 = 0xffffffff
local WINDOW = 1 << 20
local ASK_EVERY = WINDOW // 4

--- Adds the fields to a table.
function streams.begin(stream)
  for _, name in ipairs { "events", "packets", "broadcasts" } do stream[name] = { sent = 0, acked = 0 } end
  stream.suspended = {}
  return stream
end

local function waiting(one) return (one.sent - one.acked) & U32 end

--- Returns the number of the next message, and whether it requests an acknowledgement.
function streams.next(one, window)
  local n = (waiting(one) + 1) & U32
  return (one.sent + 1) & U32, n % math.max(1, window // 4) == 0 or n >= window
end

--- Acknowledges all messages up to a number. A number that was not sent, or is acknowledged already, is ignored.
function streams.ack(one, seq)
  if (one.sent - seq) & U32 <= waiting(one) then one.acked = seq end
end

function streams.is_full(one, window) return waiting(one) >= window end

--- Processes an ACK; flags: those of the message. Returns false without any change if it is of events. If views can
-- restart, calls begin_anew(stream, views, owner), which clears `suspended` when they do.
function streams.take_ack(stream, flags, seq, begin_anew, owner)
  if flags & wire.OF_BROADCASTS ~= 0 then
    streams.ack(stream.broadcasts, seq)
    return true
  elseif flags & wire.OF_PACKETS == 0 then
    return false
  end
  streams.ack(stream.packets, seq)
  local due = {}
  for view, since in pairs(waiting(stream.packets) == 0 and stream.suspended or {}) do
    if since == true then due[#due + 1] = view end
  end
  if due[1] then begin_anew(stream, due, owner) end
  return true
end

--- Whether the next message of a view has to be dropped; then the view is suspended until its restart.
function streams.suspends(stream, view, window)
  if stream.suspended[view] then return true end
  if not streams.is_full(stream.packets, window) then return false end
  stream.suspended[view] = true
  return true
end

--- Sends packets in one message by post(message). Returns its result.
function streams.send_packets(stream, packets, window, post)
  local seq, ask = streams.next(stream.packets, window)
  local sent = post(wire.packets(seq, ask) .. table.concat(packets))
  if sent then stream.packets.sent = seq end
  return sent
end

--- Returns the message of a broadcast with its number; nil if it has to be dropped.
function streams.broadcast(stream, message)
  local one, size = stream.broadcasts, #message
  local n, sent, now = waiting(one), one.sent, (one.sent + size) & U32
  if n >= ASK_EVERY and n + size > WINDOW then return nil end
  one.sent = now
  return wire.renumbered(message, now, size >= ASK_EVERY or now // ASK_EVERY ~= sent // ASK_EVERY)
end

return streams
