-- The wire format between an AOI service, or the exchange of a world, and its clients: stateless conversion to and from
-- strings. docs/skynet.md has the table of all messages.
--
-- EVENTS and MOVES are written and read in C (src/skynet/wire.h), and ACKs of EVENTS written there; the others here.
-- Readers accept any bytes behind a head that `head` accepts: for an invalid message they return nil and a reason,
-- without an error.

local core = require "aoi.skynet.native" "wire"

local spack, sunpack = string.pack, string.unpack

local wire = {
  VERSION = 2,
  EVENTS = 1, MOVES = 2, REFUSED = 3, ACK = 4, PING = 5, BYE = 6, PACKETS = 7, BROADCAST = 8, TAKEN = 9, GONE = 10,
  LOST_VIEWS = 11, ROUTES = 12, RENEWED = 13,
  LEFT_WORLD = 0xffff, -- in place of a shard: another client has removed that life of the entity
  GATE = 0x80000000, -- the first number of links that another client has made for a gate
  PIECE_MESSAGE = 1, PIECE_REQUEST = 2, PIECE_GONE = 3,
  ASK = 1, TICK = 1, Z = 2, LOST = 1, QUIET = 1, OF_PACKETS = 2, OF_BROADCASTS = 4, OF_RESTORED = 8, -- flags
  -- In C:
  head = core.head,     -- (message): kind, flags, u32; or nil and a reason
  call_as = core.call_as, -- (f, name, less, ...): pcall(f, ...); errors name `name` and count `less` arguments fewer
  end_list = core.end_list, -- (list, n): nil behind item n, and no number of a longer list behind that
  apply = core.apply,   -- (space, MOVES, refused): rows applied, refused (ids in the list), batch; or nil and a reason
  check_rows = core.check_rows, -- (rows, n, values): the number of rows, each an id and coordinates; or an error
  outbox = core.outbox, -- (dimensions [, link [, drives]]): collects moves
  post = core.post,     -- (window, max_message): events of spaces to EVENTS of subscribers
  inbox = core.inbox,   -- (): EVENTS to changes of views
  listener = core.listener, -- (...): dispatches messages to one coroutine; nil before Lua 5.3: see wire_listener.c
  OPENED = core.OPENED, CLOSED = core.CLOSED, RESYNCED = core.RESYNCED, MISSED = core.MISSED,
}

local VERSION, HEAD, ROUTE = wire.VERSION, 8, 14
local NO_FD = math.mininteger -- also stands for no node

local function head(kind, flags, width, number) return spack("<BBBBI4", VERSION, kind, flags, width, number) end

-- The least width in bytes for all ids.
local function width_of(ids, n)
  local width = 2
  for i = 1, n do
    local id = ids[i]
    if id < -0x80000000 or id > 0x7fffffff then return 8 end
    if id < -0x8000 or id > 0x7fff then width = 4 end
  end
  return width
end

function wire.refused(link, batch, ids, n)
  local width = width_of(ids, n)
  local parts, format = { head(wire.REFUSED, 0, width, link), spack("<I4I4", batch, n) }, "<i" .. width
  for i = 1, n do parts[i + 2] = spack(format, ids[i]) end
  return table.concat(parts)
end

--- Reads REFUSED into the list `out`. Returns the number of ids and the batch.
function wire.read_refused(s, out)
  local width = s:byte(4)
  local batch, n, pos = sunpack("<I4I4", s, HEAD + 1)
  if #s - pos + 1 ~= n * width then return nil, "wrong length " .. #s end
  local format = "<i" .. width
  for i = 1, n do out[i], pos = sunpack(format, s, pos) end
  return n, batch
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

--- A BROADCAST to the nodes with these handles, and the client views of these entities. sent: bytes of all broadcasts
-- so far; ask: requests an ACK.
function wire.broadcast(link, sent, ask, target, handles, ids, bytes)
  local parts = {
    head(wire.BROADCAST, ask and wire.ASK or 0, 0, link), spack("<I4i8I4I4", sent, target, #handles, #ids),
  }
  for _, handle in ipairs(handles) do parts[#parts + 1] = spack("<I4", handle) end
  for _, id in ipairs(ids) do parts[#parts + 1] = spack("<i8", id) end
  parts[#parts + 1] = bytes
  return table.concat(parts)
end

--- Replaces `sent` and `ask` in a BROADCAST.
function wire.renumbered(s, sent, ask)
  return s:sub(1, 2) .. string.char(ask and wire.ASK or 0) .. s:sub(4, HEAD) .. spack("<I4", sent) .. s:sub(HEAD + 5)
end

--- Reads BROADCAST. Returns the target, a list of handles, a list of entities, the bytes, and `sent`.
function wire.read_broadcast(s)
  local sent, target, n, m, pos = sunpack("<I4i8I4I4", s, HEAD + 1)
  local handles, ids = {}, {}
  if 4 * n + 8 * m > #s - pos + 1 then return nil, "wrong length " .. #s end
  for i = 1, n do handles[i], pos = sunpack("<I4", s, pos) end
  for i = 1, m do ids[i], pos = sunpack("<i8", s, pos) end
  return target, handles, ids, s:sub(pos), sent
end

function wire.taken(link, id, life, number)
  return head(wire.TAKEN, 0, 0, link) .. spack("<i8I4I4", id, life or 0, number or 0)
end

--- list: entity, node or false for a client view, entity, ... quiet: entity, handle, ...: ended by another client.
function wire.lost_views(link, list, quiet)
  local parts = { head(wire.LOST_VIEWS, quiet and wire.QUIET or 0, 0, link) }
  for i, value in ipairs(list) do parts[i + 1] = spack("<i8", value or NO_FD) end
  return table.concat(parts)
end

--- Reads LOST_VIEWS into such a list. Returns the number of pairs, and quiet.
function wire.read_lost_views(s, out)
  if (#s - HEAD) % 16 ~= 0 then return nil, "wrong length " .. #s end
  for i = 1, (#s - HEAD) // 8 do
    local value = sunpack("<i8", s, HEAD + 8 * i - 7)
    out[i] = value ~= NO_FD and value
  end
  return (#s - HEAD) // 16, s:byte(3) & wire.QUIET ~= 0
end

-- EVENTS of a world: an exchange joins the messages of all shards in an epoch to one.

local RESYNC = 16 -- size of the record in bytes

--- A message of records.
function wire.events(seq, ask, records) return head(wire.EVENTS, ask and wire.ASK or 0, 0, seq) .. records end

--- The record that begins a resync with a number of groups.
function wire.resync(link, groups, epoch) return spack("<I4I4I4I4", 0, link, groups, epoch) end

--- Returns the number of groups of a message that begins with a resync, and their bytes.
function wire.read_resync(s) return sunpack("<I4", s, HEAD + 9), s:sub(HEAD + RESYNC + 1) end

function wire.route(id, shard, life) return spack("<i8I2I4", id, shard, life or 0) end

function wire.routes(client, epoch, rows)
  return head(wire.ROUTES, 0, 0, client) .. spack("<I4", epoch) .. table.concat(rows)
end

--- bytes: of world/plain.lua: places = { [shard] = from changes.place }: shards that have a new instance from then on;
-- lost: former instances have died; or late = names, seconds: late.lua
function wire.renewed(client, epoch, bytes)
  return head(wire.RENEWED, 0, 0, client) .. spack("<I4", epoch) .. bytes
end

--- Reads RENEWED. Returns the epoch and the bytes.
function wire.read_renewed(s) return (sunpack("<I4", s, HEAD + 1)), s:sub(HEAD + 5) end

--- Reads ROUTES into the list `out`: id, shard, life, ... Returns the number of rows, and the epoch.
function wire.read_routes(s, out)
  if (#s - HEAD - 4) % ROUTE ~= 0 then return nil, "wrong length " .. #s end
  local n = (#s - HEAD - 4) // ROUTE
  for i = 1, n do
    out[3 * i - 2], out[3 * i - 1], out[3 * i] = sunpack("<i8I2I4", s, HEAD + 5 + ROUTE * (i - 1))
  end
  return n, (sunpack("<I4", s, HEAD + 1))
end

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

--- Reads TAKEN. Returns the entity, its life, and the number of the take-over.
function wire.read_taken(s)
  local id, life, number = sunpack("<i8I4I4", s, HEAD + 1)
  return id, life, number
end

return wire
