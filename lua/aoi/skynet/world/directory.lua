-- The directory of ids: each id has a home, one shard by a hash of it, which knows the life that is alive and whose
-- it is.
--
--   life[id]    the number of its life; one home never gives the same number twice
--   holder[id]  the shard that owns it
--   revived[id] { client, epoch }: that has brought it back after a death, and when
--   replaced[id] { life, holder, term, at }: a life that its client has made leave, and another has been claimed before
--               this home has heard of its end; that is lost where that instance of its holder (nil: unknown) has died,
--               or in the epoch `at`
--   claims[id]  { client, stamp }: that client has claimed it for the holder, until its entering is heard of: client
--               and holder may die before
--
-- An id is claimed before the entity enters, so that it is unique in the world. Owners tell homes of hand-overs and of
-- lives that end (epoch.HOME); what is said of another life than the one that is alive comes too late and is ignored.

local argument = require "aoi.skynet.argument"
local followers = require "aoi.skynet.world.followers"
local world = require "aoi.skynet.native" "world"

local directory = { commands = {} }

local RESTORES = 20 -- epochs in which clients restore most of what has died with a shard
local ENDS_WITHIN = 3 -- epochs until a home has heard of the end of what has left
local CMD = directory.commands

function directory.home(shard, id) return world.home(id, shard.plan.shards) end

-- The terms of this home and of the holder: a claim is good as long as both are alive.
function directory.stamp(shard, holder) return shard.term << 32 | (shard.terms[holder] or 0) end

--- Whether the client that has claimed the id may still enter it.
function directory.is_claimed(shard, id)
  local claim = shard.claims[id]
  return claim and claim[2] == directory.stamp(shard, shard.holder[id]) and claim or nil
end

-- left: { life, epoch }, which the client has made leave, and when. A life that another client has brought back since
-- has not been made leave: that was lost with its shard.
local function is_taken(shard, client, id, left)
  local by = shard.revived[id]
  return shard.life[id] and
    (not left or shard.life[id] ~= left.life or by and by.client ~= client and by.epoch > left.epoch)
end

-- Whether what this home does not know may be alive: clients are still restoring.
local function is_unknown(shard, id)
  return not shard.life[id] and shard.blank ~= nil and shard.applied < shard.ready + RESTORES
end

-- left: as of is_taken, of which this home may not have heard yet.
local function claim(shard, client, id, holder, left)
  if left and (shard.life[id] == left.life or is_unknown(shard, id)) then
    local former = shard.holder[id]
    shard.replaced[id] = { life = left.life, holder = former, at = shard.closed + ENDS_WITHIN,
                           term = not shard.orphans[id] and (shard.terms[former] or 0) }
  end
  shard.last_life = shard.last_life % 0xffffffff + 1
  shard.life[id], shard.holder[id], shard.orphans[id] = shard.last_life, holder, nil
  shard.claims[id] = { client, directory.stamp(shard, holder) }
  shard.sent_on[id] = nil -- that was an earlier life
  return shard.last_life, shard.claims[id][2]
end

--- claim(name, ids, places, left): name: of the method; places: x, y of each. Returns the lives, the shards that will
-- own them, and the stamps of the claims; all ids or none.
function CMD.claim(shard, client, name, ids, places, left)
  local lives, holders, stamps, seen = {}, {}, {}, {}
  for i, id in ipairs(ids) do
    holders[i] = shard.map:owner(places[2 * i - 1], places[2 * i])
    if is_taken(shard, client, id, left[i]) then
      argument.fail(1, name, 0, "entity %d is already in the world", id)
    end
  end
  for _, id in ipairs(ids) do
    if seen[id] then argument.fail(1, name, 0, "entity %d stands there twice", id) end
    seen[id] = true
  end
  for i, id in ipairs(ids) do lives[i], stamps[i] = claim(shard, client, id, holders[i], left[i]) end
  return lives, holders, stamps
end

--- For the holder: whether a claim still counts, as neither the home nor the former holder has died since.
function directory.is_good(shard, id, stamp)
  return (shard.terms[directory.home(shard, id)] or 0) << 32 | shard.term == stamp
end

--- lives_of(ids): the lives that are alive, false where there is none, 0 where one may be restored.
function CMD.lives_of(shard, _, ids)
  local list = {}
  for i, id in ipairs(ids) do list[i] = shard.life[id] or directory.may_return(shard, id) and 0 or false end
  return list
end

--- release(ids, lives): they have not entered after all.
function CMD.release(shard, _, ids, lives)
  for i, id in ipairs(ids) do
    if shard.life[id] == lives[i] then
      shard.life[id], shard.holder[id], shard.claims[id], shard.orphans[id] = nil, nil, nil, nil
    end
  end
end

--- The client is gone: what it has claimed and not entered is free again.
function directory.bury(shard, client)
  for id, claimer in pairs(shard.claims) do
    if claimer[1] == client then
      shard.claims[id] = nil
      if not shard.orphans[id] then shard.life[id], shard.holder[id] = nil, nil end
    end
  end
end

--- Whether a client may yet restore it.
function directory.may_return(shard, id)
  return shard.orphans[id] or directory.home(shard, id) == shard.number and is_unknown(shard, id)
end

--- whose(ids): the owners of these ids, false where there is none, 0 where it may be restored; where a move is sent on
-- from here, or one of this client has been lately, where that goes.
function CMD.whose(shard, client, ids)
  local list = {}
  for i, id in ipairs(ids) do
    local way = shard.forwarding[id] or shard.holder[id] and followers.way(shard, client, id) or shard.holder[id]
    list[i] = directory.may_return(shard, id) and 0 or way or false
  end
  for _, id in ipairs(ids) do
    if shard.forwarding[id] then error({ id = id, owners = list }, 0) end
  end
  return list
end

--- What an owner has reported for the closed epoch.
function directory.on_home(shard, home)
  local id, replaced = home.id, shard.replaced[home.id]
  if replaced and home.shard == 0 and home.life == replaced.life then shard.replaced[id] = nil end
  if shard.life[id] ~= home.life and (shard.life[id] or home.shard == 0) then return end
  shard.claims[id], shard.orphans[id] = nil, nil
  if home.shard == 0 then
    shard.life[id], shard.holder[id], shard.revived[id] = nil, nil, nil
  else
    shard.life[id], shard.holder[id] = home.life, home.shard
  end
end

return directory
