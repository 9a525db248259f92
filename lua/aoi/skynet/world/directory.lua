-- The directory of ids: each id has a home, one shard by a hash of it, which knows the life that is alive and whose
-- it is.
--
--   life[id]    the number of its life; one home never gives the same number twice
--   holder[id]  the shard that owns it
--   claims[id]  the client that has claimed it, until its entering is heard of: it may die before
--
-- An id is claimed before the entity enters, so that it is unique in the world. Owners tell homes of hand-overs and of
-- lives that end (epoch.HOME); what is said of another life than the one that is alive comes too late and is ignored.

local argument = require "aoi.skynet.argument"
local followers = require "aoi.skynet.world.followers"
local world = require "aoi.skynet.world.native"

local directory = { commands = {} }
local CMD = directory.commands

function directory.home(shard, id) return world.home(id, shard.plan.shards) end

-- Ids are unique in the world; `left` is the life that the caller has made leave itself, of which this home may not
-- have heard yet.
local function claim(shard, client, name, id, holder, left)
  if shard.life[id] and shard.life[id] ~= left then
    argument.fail(1, name, 0, "entity %d is already in the world", id)
  end
  shard.last_life = shard.last_life % 0xffffffff + 1
  shard.life[id], shard.holder[id], shard.claims[id] = shard.last_life, holder, client
  shard.sent_on[id] = nil -- that was an earlier life
  return shard.last_life
end

--- claim(name, ids, places, left): name: of the method; places: x, y of each. Returns the lives, and the shards that
-- will own them; all ids or none.
function CMD.claim(shard, client, name, ids, places, left)
  local lives, holders, seen = {}, {}, {}
  for i, id in ipairs(ids) do
    holders[i] = shard.map:owner(places[2 * i - 1], places[2 * i])
    if shard.life[id] and shard.life[id] ~= left[i] then claim(shard, client, name, id, holders[i], left[i]) end
  end
  for _, id in ipairs(ids) do
    if seen[id] then argument.fail(1, name, 0, "entity %d stands there twice", id) end
    seen[id] = true
  end
  for i, id in ipairs(ids) do lives[i] = claim(shard, client, name, id, holders[i], left[i]) end
  return lives, holders
end

--- lives_of(ids): the lives that are alive, false where there is none.
function CMD.lives_of(shard, _, ids)
  local list = {}
  for i, id in ipairs(ids) do list[i] = shard.life[id] or false end
  return list
end

--- release(ids, lives): they have not entered after all.
function CMD.release(shard, _, ids, lives)
  for i, id in ipairs(ids) do
    if shard.life[id] == lives[i] then shard.life[id], shard.holder[id], shard.claims[id] = nil, nil, nil end
  end
end

--- The client is gone: what it has claimed and not entered is free again.
function directory.bury(shard, client)
  for id, claimer in pairs(shard.claims) do
    if claimer == client then shard.life[id], shard.holder[id], shard.claims[id] = nil, nil, nil end
  end
end

--- whose(ids): the owners of these ids, false where there is none; where a move is sent on from here, or one of this
-- client has been lately, where that goes.
function CMD.whose(shard, client, ids)
  local list = {}
  for i, id in ipairs(ids) do
    list[i] = shard.forwarding[id] or shard.holder[id] and followers.way(shard, client, id) or shard.holder[id] or false
  end
  for _, id in ipairs(ids) do
    if shard.forwarding[id] then error({ id = id, owners = list }, 0) end
  end
  return list
end

--- What an owner has told of the closed epoch.
function directory.on_home(shard, home)
  local id = home.id
  if shard.life[id] ~= home.life then return end
  shard.claims[id] = nil
  if home.shard == 0 then
    shard.life[id], shard.holder[id] = nil, nil
  else
    shard.holder[id] = home.shard
  end
end

return directory
