-- The directory of ids. Each id has a home, a shard given by a hash of the id, which holds the entry of the id:
--
--   life[id]    the number of the life that is alive; a home gives each number once
--   holder[id]  the shard that owns the entity; client_of[id]: the client that has entered it or taken it over
--   departed[client]   the epoch in which that client has died: nobody restores what it had
--   revived[id] { client, epoch }: the client that has reclaimed the life after the death of a shard, and when
--   replaced[id] { life, holder, term, at }: a life that its client has made leave before it claimed the id again, when
--               the HOME row of that end was not here yet. It is lost if this instance of the holder (nil: unknown)
--               has died, or if it has not come by epoch `at`: then the end is sent to all shards (recovery.expire)
--   claims[id]  { client, stamp }: a claim of that client for the holder, until the first HOME row of that life is here
--
--   claim (at the home) -> enter (at the holder) -> HOME of the owner -> ... HOME of each new owner -> HOME of the end
--
-- A claim makes the id unique in the world before its entity enters. HOME rows (epoch.lua) of a life before the one
-- alive are late, and ignored; a later life is of a claim that has died with the former home. `commands` are requests
-- of clients.
--
-- A home may die. So each exchange has a copy of all entries, exchange.entries[id] = client << 32 | life, from the HOME
-- rows of all shards, which go with each epoch to all processes, and a successor begins with its part of the copy. Only
-- what has entered since the last epoch is not in it: the successor claims no unknown id before its R (recovery.lua).

local epoch = require "aoi.skynet.world.epoch"
local followers = require "aoi.skynet.world.followers"
local windows = require "aoi.skynet.world.windows"
local world = require "aoi.skynet.native" "world"

local directory = { commands = {} }
local CMD = directory.commands

function directory.home(shard, id) return world.home(id, shard.plan.shards) end

-- The terms of this home and of the holder: a claim is valid as long as neither has got a successor.
function directory.stamp(shard, holder) return shard.term << 32 | (shard.terms[holder] or 0) end

--- Returns the claim of the id if its client may still enter; nil: there is none, or the holder has died since.
function directory.is_claimed(shard, id)
  local claim = shard.claims[id]
  return claim and claim[2] == directory.stamp(shard, shard.holder[id]) and claim or nil
end

-- left: { life, epoch }: the life that the client has made leave, and when. If another client has reclaimed that life
-- later, the leave was lost with its shard, and the life is alive.
local function is_taken(shard, client, id, left)
  local by = shard.revived[id]
  return shard.life[id] and
    (not left or shard.life[id] ~= left.life or by and by.client ~= client and by.epoch > left.epoch)
end

-- Whether an id without an entry may belong to an entity that a client has yet to restore.
local function is_unknown(shard, id)
  return shard.state == "blank" and not shard.life[id]
end

--- Whether a claim of these ids, which may be anything, must wait.
function directory.is_unsure(shard, ids)
  for _, id in ipairs(shard.state == "blank" and type(ids) == "table" and ids or {}) do
    if is_unknown(shard, id) then return true end
  end
  return false
end

-- left: as in is_taken; its HOME row may not be here yet.
local function claim(shard, client, id, holder, left)
  if left and shard.life[id] == left.life then
    local former = shard.holder[id]
    shard.replaced[id] = { life = left.life, holder = former, at = shard.closed + windows.END_ROW,
                           term = not shard.lost_ids[id] and (shard.terms[former] or 0) }
  end
  shard.last_life = shard.last_life % 0xffffffff + 1
  shard.life[id], shard.holder[id], shard.lost_ids[id], shard.revived[id] = shard.last_life, holder, nil, nil
  shard.claims[id], shard.client_of[id] = { client, directory.stamp(shard, holder) }, client
  shard.sent_on[id] = nil -- moves of an earlier life
  return shard.last_life, shard.claims[id][2]
end

--- claim(ids, places, left): places: x, y of each id; left: see is_taken, of each id. Claims all ids, or none and
-- raises { id, taken }. Returns lists of lives, of the shards that will own them, and of stamps.
function CMD.claim(shard, client, ids, places, left)
  local lives, holders, stamps = {}, {}, {}
  for i, id in ipairs(ids) do
    holders[i] = shard.map:owner(places[2 * i - 1], places[2 * i])
    if is_taken(shard, client, id, left[i]) then error({ id = id, taken = true }, 0) end
  end
  for i, id in ipairs(ids) do lives[i], stamps[i] = claim(shard, client, id, holders[i], left[i]) end
  return lives, holders, stamps
end

--- At the holder: whether the claim with that stamp is valid: neither home nor holder has got a successor since.
function directory.is_good(shard, id, stamp)
  return (shard.terms[directory.home(shard, id)] or 0) << 32 | shard.term == stamp
end

--- lives_of(ids): returns the lives that are alive; false: none; 0: one may yet be restored.
function CMD.lives_of(shard, _, ids)
  local list = {}
  for i, id in ipairs(ids) do list[i] = shard.life[id] or directory.may_return(shard, id) and 0 or false end
  return list
end

--- The id has no life any more.
function directory.drop(shard, id)
  for _, of in ipairs { "life", "holder", "client_of", "lost_ids", "claims", "revived" } do shard[of][id] = nil end
end

--- release(ids, lives): takes back claims of entities that have not entered.
function CMD.release(shard, _, ids, lives)
  for i, id in ipairs(ids) do
    if shard.life[id] == lives[i] then
      directory.drop(shard, id)
    end
  end
end

--- The client is dead: ids that it has claimed, and that have not entered, are free again.
function directory.end_client(shard, client)
  shard.departed[client] = shard.applied
  for id, claimer in pairs(shard.claims) do
    if claimer[1] == client then
      shard.claims[id] = nil
      if not shard.lost_ids[id] then directory.drop(shard, id) end
    end
  end
end

--- Whether a client may yet restore the entity.
function directory.may_return(shard, id)
  return shard.lost_ids[id] or directory.home(shard, id) == shard.number and is_unknown(shard, id)
end

--- owners_of(ids): returns the owners of the entities; false: none; 0: it may be restored. If this shard forwards a
-- move of the entity, or has forwarded one of this client lately, the shard to which that goes: a request must not
-- overtake it.
function CMD.owners_of(shard, client, ids)
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

function directory.forget_departed(shard)
  for client, at in pairs(shard.departed) do
    if at + shard.grace < shard.applied then shard.departed[client] = nil end
  end
end

--- A HOME row, once the epoch has been applied.
function directory.on_home(shard, home)
  local id, life, owner, client = string.unpack(epoch.ENTRY, home)
  local replaced = shard.replaced[id]
  if replaced and owner == 0 and life == replaced.life then shard.replaced[id] = nil end
  local known = shard.life[id]
  local later = known and followers.is_later(life, known)
  if life ~= known and not later and (known or owner == 0) then return end
  if later and shard.claims[id] then table.insert(shard.lost, { id = id, life = known, what = epoch.ENDED }) end
  shard.claims[id], shard.lost_ids[id] = nil, nil
  if owner == 0 then
    directory.drop(shard, id)
  else
    shard.life[id], shard.holder[id], shard.client_of[id] = life, owner, client
  end
end

-- The copy in each exchange ------------------------------------------------------------------------------------------

--- A row for the home of the id, which is put into the rows for the exchanges. owner: a shard; 0: the life has ended.
function directory.note(shard, id, life, owner, client)
  local row = string.pack(epoch.ENTRY, id, life, owner, client)
  table.insert(shard.entries, row)
  return row
end

local ENTRY_SIZE = string.packsize(epoch.ENTRY)

--- The exchange takes rows of shards.
function directory.keep(entries, rows)
  for at = 1, #rows, ENTRY_SIZE do
    local id, life, owner, client = string.unpack(epoch.ENTRY, rows, at)
    if owner ~= 0 then
      entries[id] = client << 32 | life
    elseif entries[id] and entries[id] & 0xffffffff == life then
      entries[id] = nil
    end
  end
end

--- The process is gone, and its clients.
function directory.forget_process(entries, process)
  for id, entry in pairs(entries) do
    if entry >> 56 == process - 1 then entries[id] = nil end
  end
end

--- The rows for a shard that begins, from which directory.begin makes its part of the directory.
function directory.entries_of(entries, number, shards)
  local rows = {}
  for id, entry in pairs(entries) do
    if world.home(id, shards) == number then
      rows[#rows + 1] = string.pack(epoch.ENTRY, id, entry & 0xffffffff, number, entry >> 32)
    end
  end
  return table.concat(rows)
end

--- It has no owners yet: the shards name these in the same epoch (recovery.lua).
function directory.begin(shard, rows)
  for at = 1, #rows, ENTRY_SIZE do
    local id, life, _, client = string.unpack(epoch.ENTRY, rows, at)
    shard.life[id], shard.client_of[id] = life, client
  end
end

return directory
