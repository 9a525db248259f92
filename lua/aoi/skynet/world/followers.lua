-- Moves that a shard has sent on, as they follow an entity that has changed hands. A request that comes after such a
-- move must not overtake it: where the entity has come back to this shard and the move has not, it waits; where this is
-- the id's home, it goes the same way.
--
--   sent_on[id][client]   the last move of that client: batch, to, epoch (with which it goes); back, where the entity
--                         has come here since: whether that move is still behind it

local world = require "aoi.skynet.native" "world"

local followers = {}

local WAITS = 8    -- epochs: a move that has made so many hops is none that counts any more
local FOLLOWS = 4  -- epochs: the shard to which it went still remembers then where the entity is

function followers.is_later(batch, than) return (batch - than & 0xffffffff) < 0x80000000 and batch ~= than end

local function find(shard, client, id) return shard.sent_on[id] and shard.sent_on[id][client] end

--- It goes on to that shard, with the coming epoch.
function followers.note(shard, client, batch, id, to)
  local sent, row = shard.sent_on[id] or {}, find(shard, client, id)
  shard.sent_on[id] = sent
  if not row or followers.is_later(batch, row.batch) then
    sent[client] = { batch = batch, to = to, epoch = shard.applied + 1 }
  end
end

--- It has come here, or its entity with it, or a later one.
function followers.forget(shard, client, batch, id)
  local row = find(shard, client, id)
  if row and not followers.is_later(row.batch, batch) then shard.sent_on[id][client] = nil end
end

--- The entity comes here, and may have passed moves that follow it: those of which its movers do not know. Where others
-- have moved it since, this cannot be known, and theirs count.
function followers.expect(shard, id, movers)
  if not shard.sent_on[id] then return end
  followers.forget(shard, movers[1], movers[2], id)
  followers.forget(shard, movers[3], movers[4], id)
  for client, row in pairs(shard.sent_on[id]) do
    row.back = movers[3] == 0 or movers[1] == client or movers[3] == client
  end
end

--- Whether the client's move is still behind the entity, which has come back.
function followers.awaits(shard, client, id)
  local row = find(shard, client, id)
  return row and row.back and shard.applied < row.epoch + WAITS
end

--- Where this is the id's home: the shard to which the client's move has gone lately. The entity may be another shard's
-- already, which the move has yet to reach.
function followers.way(shard, client, id)
  local row = find(shard, client, id)
  if not row or row.back ~= nil or shard.applied > row.epoch + FOLLOWS then return nil end
  return world.home(id, shard.plan.shards) == shard.number and row.to or nil
end

--- What was sent on before that epoch.
function followers.forget_old(shard, epoch)
  for id, sent in pairs(shard.sent_on) do
    for client, row in pairs(sent) do
      if row.epoch < epoch then sent[client] = nil end
    end
    if next(sent) == nil then shard.sent_on[id] = nil end
  end
end

return followers
