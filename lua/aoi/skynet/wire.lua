-- The wire format between an AOI service and its clients: to and from strings, without any state of either.
--
-- Every message is little-endian, without padding, and begins with the same four bytes:
--
--   u8 version (1) | u8 kind | u8 flags | u8 bytes of an id (2, 4 or 8; 0 in kinds without ids)
--
--   kind       from      after the head
--   1 EVENTS   service   u32 seq, then records to the end; flag 1 = an ACK is expected
--   2 MOVES    client    u32 space, u32 batch, u32 rows, each row: id, f64 x, f64 y [, f64 z];
--                        flag 1 = then tick, 2 = rows have a z
--   3 REFUSED  service   u32 space, u32 batch, u32 count, each: id
--   4 ACK      client    u32 seq: all messages up to it have been delivered; flag 1 = some were lost, resync
--   5 PING     service   u32 seq of the last EVENTS; an ACK is expected
--   6 BYE      service   u32 space that was closed, 0 = all of them
--
-- A record is a group, or the beginning of a resync:
--
--   group:     u32 handle (never 0), u8 flags (1 = open, 2 = close, 4 = whole, 8 = long),
--              u8 leaves, u8 enters (long: u32 each), [open: u32 space, id watcher, id node],
--              the ids of the targets that leave, the ids of those that enter
--   resync:    u32 0, u32 space, u32 groups: the groups that follow, so many, are all of that space; any other handle
--              of it is closed
--
-- A handle stands for one life of one node: `open` names the node, `close` ends the handle. `whole`: the enters are all
-- that the node sees, and replace what was known before. Ids are signed.
--
-- Readers take any bytes: they return nil and a reason, never raise, and return no part of a message that is invalid.

local concat, unpack = table.concat, table.unpack
local spack, sunpack = string.pack, string.unpack

local wire = {
  VERSION = 1,
  EVENTS = 1, MOVES = 2, REFUSED = 3, ACK = 4, PING = 5, BYE = 6,
  ASK = 1, TICK = 1, LOST = 1, Z = 2,          -- flags of a message
  OPEN = 1, CLOSE = 2, WHOLE = 4, LONG = 8,    -- flags of a group
}

local VERSION = wire.VERSION
local HEAD = 4
local GROUP, LONG_GROUP, RESYNC = 7, 13, 12 -- bytes, without what a group opens and without its ids
local CHUNK = 64                            -- rows or ids that one string.pack takes

-- Formats by number of items, made once.
local function formats(prefix, item)
  return setmetatable({}, { __index = function(t, n)
    t[n] = prefix .. item:rep(n)
    return t[n]
  end })
end

-- All by bytes of an id: ids alone, whole groups with up to CHUNK ids, and rows by number of dimensions.
local id_formats = { [2] = formats("<", "i2"), [4] = formats("<", "i4"), [8] = formats("<", "i8") }
local group_formats = { [2] = formats("<I4BBB", "i2"), [4] = formats("<I4BBB", "i4"), [8] = formats("<I4BBB", "i8") }
local row_formats = {
  [2] = { [2] = formats("<", "i2dd"), [4] = formats("<", "i4dd"), [8] = formats("<", "i8dd") },
  [3] = { [2] = formats("<", "i2ddd"), [4] = formats("<", "i4ddd"), [8] = formats("<", "i8ddd") },
}

--- The bytes that an id needs, or `width` if that is more.
function wire.width(id, width)
  if id >= -0x8000 and id <= 0x7fff then return width or 2 end
  local needed = id >= -0x80000000 and id <= 0x7fffffff and 4 or 8
  return width and width > needed and width or needed
end

-- Appends list[first..last], items of `values` values each, to parts in chunks; returns the new number of parts.
local function put(parts, np, format, list, first, last, values)
  local step = CHUNK * values
  while first <= last do
    local stop = first + step - 1
    if stop > last then stop = last end
    np = np + 1
    parts[np] = spack(format[(stop - first + 1) // values], unpack(list, first, stop))
    first = stop + 1
  end
  return np
end

-- Writing -----------------------------------------------------------------------------------------------------------

-- Collects the records of an EVENTS message; `size` is their length in bytes. A writer is used for any number of
-- messages.
local Writer = {}
Writer.__index = Writer

function wire.writer()
  return setmetatable({ parts = {}, np = 1, size = HEAD + 4, width = 2 }, Writer)
end

--- Empties the writer, and sets the bytes of an id.
function Writer:reset(width)
  for i = self.np, 2, -1 do self.parts[i] = nil end
  self.np, self.size, self.width = 1, HEAD + 4, width
end

function Writer:resync(space, groups)
  self.np = self.np + 1
  self.parts[self.np] = spack("<I4I4I4", 0, space, groups)
  self.size = self.size + RESYNC
end

--- ids[1..leaves] leave, ids[leaves + 1 .. leaves + enters] enter; `opens` is { space, watcher, node } or nil.
function Writer:group(handle, flags, opens, ids, leaves, enters)
  local parts, np, n, width = self.parts, self.np + 1, leaves + enters, self.width
  if n <= CHUNK and not opens then
    parts[np] = spack(group_formats[width][n], handle, flags, leaves, enters, unpack(ids, 1, n))
    self.size = self.size + GROUP + n * width
  else
    local long = leaves > 0xff or enters > 0xff
    if opens then flags = flags | wire.OPEN end
    parts[np] = spack(long and "<I4BI4I4" or "<I4BBB", handle, long and flags | wire.LONG or flags, leaves, enters)
    if opens then
      np = np + 1
      parts[np] = spack("<I4", opens.space) .. spack(id_formats[width][2], opens.watcher, opens.node)
      self.size = self.size + 4 + 2 * width
    end
    np = put(parts, np, id_formats[width], ids, 1, n, 1)
    self.size = self.size + (long and LONG_GROUP or GROUP) + n * width
  end
  self.np = np
end

--- The message; the writer is empty again.
function Writer:finish(seq, ask)
  self.parts[1] = spack("<BBBBI4", VERSION, wire.EVENTS, ask and wire.ASK or 0, self.width, seq)
  local message = concat(self.parts, "", 1, self.np)
  self:reset(self.width)
  return message
end

--- `list` holds n rows of id, x, y [, z].
function wire.moves(space, batch, dimensions, list, n, width, tick)
  local flags = (tick and wire.TICK or 0) | (dimensions == 3 and wire.Z or 0)
  local parts = { spack("<BBBBI4I4I4", VERSION, wire.MOVES, flags, width, space, batch, n) }
  local values = dimensions + 1
  local np = put(parts, 1, row_formats[dimensions][width], list, 1, n * values, values)
  return concat(parts, "", 1, np)
end

function wire.refused(space, batch, ids, n)
  local width = 2
  for i = 1, n do width = wire.width(ids[i], width) end
  local parts = { spack("<BBBBI4I4I4", VERSION, wire.REFUSED, 0, width, space, batch, n) }
  return concat(parts, "", 1, put(parts, 1, id_formats[width], ids, 1, n, 1))
end

function wire.ack(seq, lost)
  return spack("<BBBBI4", VERSION, wire.ACK, lost and wire.LOST or 0, 0, seq)
end

function wire.ping(seq) return spack("<BBBBI4", VERSION, wire.PING, 0, 0, seq) end

function wire.bye(space) return spack("<BBBBI4", VERSION, wire.BYE, 0, 0, space) end

-- Reading -----------------------------------------------------------------------------------------------------------

-- out[o + 1 .. o + n] = the n ids at s[pos..]; the caller has checked the length.
local function get_ids(s, pos, n, width, out, o)
  local format = id_formats[width]
  local eight, one = format[8], format[1]
  for _ = 1, n // 8 do
    out[o + 1], out[o + 2], out[o + 3], out[o + 4], out[o + 5], out[o + 6], out[o + 7], out[o + 8], pos =
      sunpack(eight, s, pos)
    o = o + 8
  end
  for _ = 1, n % 8 do
    o = o + 1
    out[o], pos = sunpack(one, s, pos)
  end
  return pos, o
end

-- The flags that a message of each kind may carry, the length of what comes before any list, and whether it has ids.
local KINDS = {
  [wire.EVENTS] = { flags = wire.ASK, length = HEAD + 4, ids = true },
  [wire.MOVES] = { flags = wire.TICK | wire.Z, length = HEAD + 12, ids = true },
  [wire.REFUSED] = { flags = 0, length = HEAD + 12, ids = true },
  [wire.ACK] = { flags = wire.LOST, length = HEAD + 4 },
  [wire.PING] = { flags = 0, length = HEAD + 4 },
  [wire.BYE] = { flags = 0, length = HEAD + 4 },
}

--- Returns kind, flags, the first u32 (seq or space); or nil and a reason. Lists are not checked yet.
function wire.head(s)
  if type(s) ~= "string" then return nil, "a message is a string" end
  if #s < HEAD then return nil, "message too short" end
  local version, kind, flags, width = s:byte(1, HEAD)
  if version ~= VERSION then return nil, "unknown version " .. version end
  local rule = KINDS[kind]
  if not rule then return nil, "unknown kind " .. kind end
  if flags & ~rule.flags ~= 0 then return nil, "unknown flags " .. flags end
  if rule.ids and not id_formats[width] or not rule.ids and width ~= 0 then
    return nil, "impossible width of ids " .. width
  end
  if #s < rule.length or not rule.ids and #s ~= rule.length then return nil, "wrong length " .. #s end
  return kind, flags, (sunpack("<I4", s, HEAD + 1))
end

-- Checks the group at pos. Returns the position after it and its fields, or nil and a reason.
local function check_group(s, pos, width)
  local left = #s - pos + 1
  if left < GROUP then return nil, "group cut off" end
  local handle, flags = sunpack("<I4B", s, pos)
  local long, opens = flags & wire.LONG ~= 0, flags & wire.OPEN ~= 0
  if flags > 15 then return nil, "unknown group flags " .. flags end
  if left < (long and LONG_GROUP or GROUP) + (opens and 4 + 2 * width or 0) then return nil, "group cut off" end
  local leaves, enters, at = sunpack(long and "<I4I4" or "<BB", s, pos + 5)
  if flags & wire.WHOLE ~= 0 and leaves > 0 then return nil, "a whole view with leaves" end
  local stop = at + (opens and 4 + 2 * width or 0) + (leaves + enters) * width
  if stop > #s + 1 then return nil, "group cut off" end
  return stop, handle, flags, leaves, enters, at
end

-- Walks the records; with `out` it also fills it. Returns out's length, or nil and a reason.
local function walk_events(s, out)
  local width, pos, o, owed = s:byte(HEAD), HEAD + 5, 0, 0
  while pos <= #s do
    if #s - pos + 1 < GROUP then return nil, "record cut off" end
    if sunpack("<I4", s, pos) == 0 then
      if #s - pos + 1 < RESYNC then return nil, "resync cut off" end
      if owed > 0 then return nil, "a resync inside another" end
      local space
      space, owed, pos = sunpack("<I4I4", s, pos + 4)
      if out then out[o + 1], out[o + 2], out[o + 3] = 0, space, owed end
      o = o + 3
    else
      local stop, handle, flags, leaves, enters, at = check_group(s, pos, width)
      if not stop then return nil, handle end
      if out then
        out[o + 1], out[o + 2], out[o + 6], out[o + 7] = handle, flags, leaves, enters
        out[o + 3], out[o + 4], out[o + 5] = 0, 0, 0
        if flags & wire.OPEN ~= 0 then
          out[o + 3], at = sunpack("<I4", s, at)
          at = get_ids(s, at, 2, width, out, o + 3)
        end
        get_ids(s, at, leaves + enters, width, out, o + 7)
      end
      o = o + 7 + leaves + enters
      pos = stop
      owed = owed > 0 and owed - 1 or 0
    end
  end
  if owed > 0 then return nil, "resync cut off" end
  return o
end

--- EVENTS into the flat list `out`, whose length is returned. A group is: handle, flags, space, watcher, node (0, 0, 0
-- where it is not opened), leaves, enters, then the ids of both; a resync is: 0, space, groups.
function wire.read_events(s, out)
  local n, reason = walk_events(s)
  if not n then return nil, reason end
  return walk_events(s, out)
end

--- MOVES into the flat list `out`: rows of id, x, y [, z]. Returns the number of rows, the batch and the dimensions.
function wire.read_moves(s, out)
  local flags, width = s:byte(HEAD - 1, HEAD)
  local dimensions = flags & wire.Z ~= 0 and 3 or 2
  local batch, n, pos = sunpack("<I4I4", s, HEAD + 5)
  if #s - pos + 1 ~= n * (width + 8 * dimensions) then return nil, "wrong length " .. #s end
  local format = row_formats[dimensions][width]
  local o, two = 0, format[2]
  for _ = 1, n // 2 do
    if dimensions == 2 then
      out[o + 1], out[o + 2], out[o + 3], out[o + 4], out[o + 5], out[o + 6], pos = sunpack(two, s, pos)
    else
      out[o + 1], out[o + 2], out[o + 3], out[o + 4], out[o + 5], out[o + 6], out[o + 7], out[o + 8], pos =
        sunpack(two, s, pos)
    end
    o = o + 2 * dimensions + 2
  end
  if n % 2 == 1 then -- in 2D the fourth value is the position, behind the last row
    out[o + 1], out[o + 2], out[o + 3], out[o + 4] = sunpack(format[1], s, pos)
  end
  return n, batch, dimensions
end

--- REFUSED into the list `out`. Returns the number of ids and the batch.
function wire.read_refused(s, out)
  local width = s:byte(HEAD)
  local batch, n, pos = sunpack("<I4I4", s, HEAD + 5)
  if #s - pos + 1 ~= n * width then return nil, "wrong length " .. #s end
  get_ids(s, pos, n, width, out, 0)
  return n, batch
end

return wire
