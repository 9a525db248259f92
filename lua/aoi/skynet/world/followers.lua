-- Forwarded moves: they follow an entity that has been handed over. A later request of the same client must not
-- overtake such a move: if the entity has come back here before the move, the request waits; if this shard is the home
-- of the id, the request takes the same way. misrouted.lua and the directory are the callers.
--
--   sent_on[id][client]   the last forwarded move of that client: batch; to: a shard; epoch in which it is sent; back:
--                         nil until the entity comes back here, then whether the move has yet to come

local windows = require "aoi.skynet.world.windows"
local world = require "aoi.skynet.native" "world"

local followers = {}

function followers.is_later(batch, than) return (batch - than & 0xffffffff) < 0x80000000 and batch ~= than end

local function find(shard, client, id) return shard.sent_on[id] and shard.sent_on[id][client] end

--- The move is forwarded to that shard with the coming epoch.
function followers.note(shard, client, batch, id, to)
  local sent, row = shard.sent_on[id] or {}, find(shard, client, id)
  shard.sent_on[id] = sent
  if not row or followers.is_later(batch, row.batch) then
    sent[client] = { batch = batch, to = to, epoch = shard.applied + 1 }
  end
end

--- A move of that batch has come here, by itself or with the entity: it, and earlier ones, are awaited no longer.
function followers.forget(shard, client, batch, id)
  local row = find(shard, client, id)
  if row and not followers.is_later(row.batch, batch) then shard.sent_on[id][client] = nil end
end

--- The entity comes here, and may have passed moves that follow it: those that `movers`, the last two clients that have
-- moved it, with their batches, do not include. If two others have moved it since, this is unknown: no move is awaited.
function followers.expect(shard, id, movers)
  if not shard.sent_on[id] then return end
  followers.forget(shard, movers[1], movers[2], id)
  followers.forget(shard, movers[3], movers[4], id)
  for client, row in pairs(shard.sent_on[id]) do
    row.back = movers[3] == 0 or movers[1] == client or movers[3] == client
  end
end

--- Whether the entity has come back here, and the client's move has yet to come.
function followers.awaits(shard, client, id)
  local row = find(shard, client, id)
  return row and row.back and shard.applied < row.epoch + windows.AWAITED
end

--- At the home of the id: the shard to which the client's move was forwarded lately. The entity may have another owner
-- by now, which the move has yet to reach.
function followers.way(shard, client, id)
  local row = find(shard, client, id)
  if not row or row.back ~= nil or shard.applied > row.epoch + windows.ON_ITS_WAY then return nil end
  return world.home(id, shard.plan.shards) == shard.number and row.to or nil
end

--- Forgets moves that were forwarded before that epoch.
function followers.forget_old(shard, epoch)
  for id, sent in pairs(shard.sent_on) do
    for client, row in pairs(sent) do
      if row.epoch < epoch then sent[client] = nil end
    end
    if next(sent) == nil then shard.sent_on[id] = nil end
  end
end

return followers
