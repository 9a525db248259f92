-- Targets that a shard must know wherever they are, as something of its own shows or pins them (targets.lua). Their
-- owner has the shard in their audience as one that follows them (src/lua/world_follow.c), and takes that along where
-- they change hands.
--
--   epoch e    the shard asks the home of the id (epoch.WANT)
--   e + 1      the home asks the owner, that one, where the target has changed hands, the next one
--   e + 2      the owner tells the shard of it as of one that comes near
--
-- What is handed over with its node or its view is asked for anew; its new shard has the ghost at once, as the former
-- one had it, with its state, and doubted until the owner has named it: so it is never missing, but may stand still
-- meanwhile.
--
--   shard.asked[target]   the life for which it has asked
--   shard.asking[target]  something may have changed; AGAIN: it has to ask in any case
--   shard.passing         rows for other shards: shard, row, and so on
--   shard.expired         id, life, and so on: as ghosts that no owner has named, they leave
--
-- Messages may be lost with shards that die, and pass each other where a target changes hands: every so often a shard
-- asks again for what it does not have, and no more for what it has in vain.

local directory = require "aoi.skynet.world.directory"
local epoch = require "aoi.skynet.world.epoch"
local strays = require "aoi.skynet.world.strays"
local state_of = require("aoi.sync").state
local targets = require "aoi.skynet.world.targets"
local views = require "aoi.skynet.views"

local distant = {}

local AGAIN = "again"
local REPEATS = 16 -- epochs

local function expire(shard, target, life)
  table.move({ target, life }, 1, 2, #shard.expired + 1, shard.expired)
end

local function put_row(shard, put, target, life, what)
  put(directory.home(shard, target), epoch.WANT, epoch.want(target, life, shard.number, what))
end

--- As an epoch is closed: put(shard, tag, row).
function distant.tell(shard, put)
  for target, how in pairs(shard.asking) do
    local asked, want = shard.asked[target], targets.wanted(shard, target)
    if asked and asked ~= want then put_row(shard, put, target, asked, epoch.UNWANTED) end
    if not want then expire(shard, target, asked or shard.router:life(target) or 0) end
    if want and (asked ~= want or how == AGAIN) then put_row(shard, put, target, want, epoch.WANTED) end
    shard.asked[target] = want
    shard.router:mark(target, "wanted", want and shard.router:life(target) == want)
  end
  for i = 1, #shard.passing, 2 do put(shard.passing[i], epoch.WANT, shard.passing[i + 1]) end
  shard.asking, shard.passing = {}, {}
end

local function pass(shard, to, row, what)
  table.insert(shard.passing, to)
  table.insert(shard.passing, epoch.want(row.id, row.life, row.shard, what))
end

-- The shard that may know the owner of what is not here; nil: there is none.
local function next_shard(shard, row)
  if shard.retired then return shard.number end
  local handed = strays.handed_to(shard, row.id)
  if handed or directory.home(shard, row.id) ~= shard.number or shard.life[row.id] ~= row.life then return handed end
  local holder = shard.holder[row.id]
  return holder ~= shard.number and holder or nil
end

local function on_ended(shard, row)
  expire(shard, row.id, row.life)
  if shard.asked[row.id] == row.life then shard.asked[row.id] = nil end
  targets.ended(shard, row.id, row.life)
end

--- At the end of an epoch: a row of another shard, or of this one.
function distant.on_want(shard, row)
  if row.what == epoch.HAS_ENDED then return on_ended(shard, row) end
  local ent = shard.ents[row.id]
  local is_here = ent ~= nil and ent.life == row.life
  if is_here and not ent.birth then
    return shard.router:follow(row.id, row.shard, row.what == epoch.WANTED)
  end
  local to = is_here and shard.number or next_shard(shard, row) -- here it enters with the coming epoch
  if to then return pass(shard, to, row, row.what) end
  local is_home = directory.home(shard, row.id) == shard.number
  if row.what == epoch.WANTED and is_home and shard.life[row.id] ~= row.life
    and not directory.may_return(shard, row.id) then
    pass(shard, row.shard, row, epoch.HAS_ENDED)
  end
end

-- Hand-overs ----------------------------------------------------------------------------------------------------------

local function has(list, value)
  for _, one in ipairs(list) do
    if one == value then return true end
  end
end

-- Whether its tile concerns this shard.
local function is_near(shard, id) return has(shard.map:audience(shard.core:position(id)), shard.number) end

local function lend_all(shard, holder, taker, list)
  local core = shard.core
  targets.each_shown(holder, function(target, life)
    if shard.router:life(target) ~= life then return end
    local x, y, z = core:position(target)
    if has(shard.map:audience(x, y), taker) then return end -- its owner sees to it
    list = list or {}
    list[#list + 1] = { id = target, life = life, kind = core:kind(target), x = x, y = y, z = z,
                        fields = shard.sync and state_of(core, target) or nil }
  end)
  return list
end

--- Ghosts that go with the nodes of an own entity and its view, nil: none. taker: the shard that gets them.
function distant.lend(shard, id, ent, taker)
  local view, list = shard.views[id], nil
  for _, rec in pairs(ent.nodes or {}) do
    if rec.overrides then list = lend_all(shard, rec, taker, list) end
  end
  if view and view.pins then list = lend_all(shard, view, taker, list) end
  return list
end

-- What may yet be restored after a death is doubted, too: it waits as all of its shard do.
local function leave(shard, id)
  if (shard.waits or shard.fulls[1]) and is_near(shard, id) then return end
  shard.core:leave(id)
  targets.passed(shard, id)
end

--- Those that come with a hand-over, when all other ghosts and own entities are where they will be.
function distant.take(shard, hand)
  for _, one in ipairs(hand.ghosts or {}) do
    if not shard.core:has(one.id) then
      shard:enter_core(one)
      shard.router:note(one.id, one.life, false)
      shard.router:doubt(one.id)
      for name, value in pairs(one.fields or {}) do -- which is no news for a view that comes with its picture
        views.sync(shard):put(one.id, name, value, shard.applied + 1)
      end
      targets.passed(shard, one.id)
    end
  end
end

-- Every so often ------------------------------------------------------------------------------------------------------

local function look(shard)
  for target, life in pairs(shard.asked) do
    local _, doubted = shard.router:ghost(target)
    if shard.router:life(target) ~= life or doubted then shard.asking[target] = AGAIN end
    if doubted and shard.closed - doubted > 2 * REPEATS then leave(shard, target) end
  end
  local list, n = shard.router:ids "distant"
  for i = 1, n do
    local id = list[i]
    local life, _, doubted = shard.router:life(id), shard.router:ghost(id)
    if doubted and not shard.asked[id] then
      leave(shard, id)
    elseif not shard.asked[id] then
      pass(shard, directory.home(shard, id), { id = id, life = life, shard = shard.number }, epoch.UNWANTED)
    end
  end
end

-- Tiles have changed owners: what is doubted, and stands where nodes of this shard might see it now, need not be there.
local function drop_near(shard)
  for target in pairs(shard.asked) do
    local ghost, doubted = shard.router:ghost(target)
    if ghost and doubted and is_near(shard, target) then leave(shard, target) end
  end
end

--- As an epoch is applied, phase 2, behind all that has come: what has been named in it stays.
function distant.apply(shard)
  if shard.closed % REPEATS == 0 then look(shard) end
  local expired = shard.expired
  shard.expired = {}
  for i = 1, #expired, 2 do
    local ghost, doubted = shard.router:ghost(expired[i])
    if ghost and doubted and shard.router:life(expired[i]) == expired[i + 1] then leave(shard, expired[i]) end
  end
  if shard.remapped == shard.closed then drop_near(shard) end
end

return distant
