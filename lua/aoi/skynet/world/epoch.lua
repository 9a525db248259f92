-- Parts: what a shard tells another one of an epoch. The router writes and applies rows of positions, with tags 1 to 6
-- (src/skynet/world_parts.c). The others are tables, which plain.lua writes, but for HOME rows, which are bytes:
--
--   HAND    id, life, kind, x, y [, z], client; movers = { client, batch, client, batch }, the last two that have moved
--           it; enters: it enters the world with this epoch; barred (taking.lua), view (views.lua), traits, follows = a
--           list of shards, ghosts (distant.lua); waits: for R, in the next instance of its shard (recovery.lua);
--           nodes: a list of node, client, handle, area = bytes, added: with this epoch, positions, seen = ids seen, of
--           `width` bytes each, by = the client that has added it, overrides (targets.lua), sight, linger, states: from
--           the router's `seen`, of a node with sight
--           A hand-over: the record of an entity. A snapshot consists of them, and clients restore them.
--   HOME    ENTRY: id, life, shard, client
--           To the home of the id, and to all exchanges (directory.lua): the owner of that life and the client that
--           has entered it; shard 0: the life has ended.
--   ROWS    id, client, batch, hops, x, y [, z]
--           A misrouted move (misrouted.lua).
--   LOST    id, life, what
--           RESTORED: an unconfirmed ghost of that life leaves; ENDED: the life has ended: any ghost of it leaves;
--           ENDS: to the owner: the life must end.
--   TRAIT   id, life, traits, whole: all traits, for a shard that is new in the audience; otherwise those that have
--           changed (traits.lua)
--   WANT    id, life, shard, what
--           To the owner: WANTED: that shard follows the entity wherever it is, UNWANTED: no more; to that shard:
--           HAS_ENDED (distant.lua).

local plain = require "aoi.skynet.plain"

local epoch = { HAND = 7, HOME = 8, ROWS = 9, LOST = 10, TRAIT = 11, WANT = 12, RESTORED = 0, ENDED = 1, ENDS = 2,
                UNWANTED = 0, WANTED = 1, HAS_ENDED = 2, ENTRY = "<i8I4I2I4" }

--- part: the router's, or nil; lists: lists of rows by tag, or nil. Returns bytes; nil: there is nothing to tell.
function epoch.part(part, lists)
  if part or lists then return string.pack("<s4", part or "") .. plain.write(lists or {}) end
end

--- Returns { bytes = the router's, [tag] = list of rows }.
function epoch.read(bytes)
  local own, at = string.unpack("<s4", bytes)
  local part = plain.read(bytes:sub(at))
  part.bytes = own
  return part
end

--- Calls f(shard, row) for each row with that tag of parts that `read` has returned.
function epoch.each_row(parts, tag, f, shard)
  for _, part in ipairs(parts) do
    for _, row in ipairs(part[tag] or {}) do f(shard, row) end
  end
end

return epoch
