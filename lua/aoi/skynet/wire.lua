-- The wire format between an AOI service, or the exchange of a world, and its clients: stateless conversion to and from
-- strings. docs/skynet.md has the table of all messages.
--
-- EVENTS and MOVES are written and read in C (src/skynet/wire.h), and ACKs of EVENTS written there; the others here.
-- Readers accept any bytes behind a head that `head` accepts: for an invalid message they return nil and a reason,
-- without an error.

local core = require "aoi.skynet.native" "wire"
local plain = require "aoi.skynet.plain"

local spack, sunpack = string.pack, string.unpack

local wire = {
  VERSION = 2,
  EVENTS = 1, MOVES = 2, REFUSED = 3, ACK = 4, PING = 5, BYE = 6, PACKETS = 7, BROADCAST = 8, TAKEN = 9, GONE = 10,
  LOST_VIEWS = 11, ROUTES = 12, RENEWED = 13, CROSSED = 14,
  LEFT_WORLD = 0xffff, -- in place of a shard: another client has removed that life of the entity
  GATE = 0x80000000, -- the first number of links that another client has made for a gate
  PIECE_MESSAGE = 1, PIECE_REQUEST = 2, PIECE_GONE = 3,
  ASK = 1, TICK = 1, Z = 2, LOST = 1, OF_PACKETS = 2, OF_BROADCASTS = 4, OF_RESTORED = 8, -- flags
  -- In C:
  head = core.head,     -- (message): kind, flags, u32; or nil and a reason
  call_as = core.call_as, -- (f, name, less, ...): pcall(f, ...); errors name `name` and count `less` arguments fewer
  end_list = core.end_list, -- (list, n): nil behind item n, and no number of a longer list behind that
  apply = core.apply,   -- (space, MOVES, refused): rows applied, refused (ids in the list), batch; or nil and a reason
  check_rows = core.check_rows, -- (rows, n, values): the number of rows, each an id and coordinates; or an error
  outbox = core.outbox, -- (dimensions [, link [, drives]]): collects moves
  post = core.post,     -- (window, max_message): events of spaces to EVENTS of subscribers
  inbox = core.inbox,   -- (): EVENTS to changes of views
  OPENED = core.OPENED, CLOSED = core.CLOSED, RESYNCED = core.RESYNCED, MISSED = core.MISSED,
}

local VERSION, HEAD = wire.VERSION, 8
local NO_FD = math.mininteger

local function head(kind, flags, width, number) return spack("<BBBBI4", VERSION, kind, flags, width, number) end

--- A message that says a table, or what plain.write has made of one.
function wire.say(kind, number, value)
  return head(kind, 0, 0, number) .. (type(value) == "string" and value or plain.write(value))
end

--- The table that such a message says; nil and a reason if it is none. With `width` it is a list of rows of so many
-- integers, or false, one row at least; its `epoch` is an integer or nil.
function wire.read(s, width, at)
  local ok, value, behind = pcall(plain.read, s, at or HEAD + 1)
  if not ok or type(value) ~= "table" or behind ~= #s + 1 then return nil, "no table" end
  for i = 1, width and #value or 0 do
    if value[i] and math.type(value[i]) ~= "integer" then return nil, "no integer" end
  end
  local sound = not width or #value > 0 and #value % width == 0 and math.type(value.epoch or 0) == "integer"
  if not sound then return nil, "no rows of " .. width end
  return value
end

--- flag: LOST, or OF_ and the stream if it is not EVENTS; nil: none.
function wire.ack(seq, flag) return head(wire.ACK, flag or 0, 0, seq) end

function wire.ping(seq) return head(wire.PING, 0, 0, seq) end

function wire.bye(link, reason) return head(wire.BYE, 0, 0, link) .. (reason or "") end

--- The reason, or nil.
function wire.read_bye(s) return #s > HEAD and s:sub(HEAD + 1) or nil end

function wire.gone() return head(wire.GONE, 0, 0, 0) end

--- The head of PACKETS; the packets are appended to it.
function wire.packets(seq, ask) return head(wire.PACKETS, ask and wire.ASK or 0, 0, seq) end

function wire.packet(link, id, fd, bytes) return spack("<I4i8i8s4", link, id, fd or NO_FD, bytes) end

--- Reads PACKETS into the list `out`: link, entity, fd or false, bytes. Returns the number of packets.
function wire.read_packets(s, out)
  local pos, n = HEAD + 1, 0
  while pos <= #s do
    if #s - pos + 1 < 24 then return nil, "packet cut off" end
    local link, id, fd, length = sunpack("<I4i8i8I4", s, pos)
    if #s - pos + 1 - 24 < length then return nil, "packet cut off" end
    out[4 * n + 1], out[4 * n + 2], out[4 * n + 3] = link, id, fd ~= NO_FD and fd
    out[4 * n + 4] = s:sub(pos + 24, pos + 23 + length)
    n, pos = n + 1, pos + 24 + length
  end
  return n
end

--- A BROADCAST, which `renumbered` completes, to the nodes with these handles, and the client views of these entities.
function wire.broadcast(link, target, handles, ids, bytes)
  return head(wire.BROADCAST, 0, 0, link) .. spack("<I4", 0)
    .. plain.write { target = target, handles = handles, ids = ids, bytes = bytes }
end

--- A CROSSED, which `renumbered` completes; list: flat: handle, target, t.
function wire.crossed(link, list) return head(wire.CROSSED, 0, 0, link) .. spack("<I4", 0) .. plain.write(list) end

--- Sets `sent`, the bytes of all broadcasts and CROSSED so far, and whether it requests an ACK.
function wire.renumbered(s, sent, ask)
  return s:sub(1, 2) .. string.char(ask and wire.ASK or 0) .. s:sub(4, HEAD) .. spack("<I4", sent) .. s:sub(HEAD + 5)
end

--- Reads BROADCAST. Returns its table and `sent`; nil and a reason if it is malformed.
function wire.read_broadcast(s)
  local it, reason = wire.read(s, nil, HEAD + 5)
  local sound = it and math.type(it.target) == "integer" and type(it.handles) == "table" and type(it.ids) == "table"
  if not sound then return nil, reason or "no broadcast" end
  return it, (sunpack("<I4", s, HEAD + 1))
end

--- Reads CROSSED. Returns its list and `sent`; nil and a reason if it is malformed.
function wire.read_crossed(s)
  local list, reason = wire.read(s, nil, HEAD + 5)
  local sound = list and #list > 0 and #list % 3 == 0
  for i = 1, sound and #list or 0 do
    sound = sound and math.type(list[i]) == (i % 3 == 0 and "float" or "integer")
  end
  if not sound then return nil, reason or "no crossings" end
  return list, (sunpack("<I4", s, HEAD + 1))
end

-- EVENTS of a world: an exchange joins the messages of all shards in an epoch to one.

local RESYNC = 16 -- size of the record in bytes

--- A message of records.
function wire.events(seq, ask, records) return head(wire.EVENTS, ask and wire.ASK or 0, 0, seq) .. records end

--- The record that begins a resync with a number of groups.
function wire.resync(link, groups, epoch) return spack("<I4I4I4I4", 0, link, groups, epoch) end

--- Returns the number of groups of a message that begins with a resync, and their bytes.
function wire.read_resync(s) return sunpack("<I4", s, HEAD + 9), s:sub(HEAD + RESYNC + 1) end

--- A piece of the strings between a relay and its other end: u8 what, u32 client, u32 session, u32 length, bytes.
function wire.piece(what, client, session, bytes) return spack("<BI4I4s4", what, client, session, bytes) end

--- Calls f(what, client, session, bytes) for each piece.
function wire.each_piece(pieces, f)
  local pos = 1
  while pos <= #pieces do
    local what, client, session, bytes, behind = sunpack("<BI4I4s4", pieces, pos)
    pos = behind
    f(what, client, session, bytes)
  end
end

return wire
