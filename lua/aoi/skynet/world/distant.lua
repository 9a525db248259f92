-- Distant targets: entities that a node or view here shows or pins (targets.lua), so that this shard needs ghosts of
-- them wherever they are. The owner has this shard in the audience as a follower of the entity
-- (src/skynet/world_follow.c); a hand-over takes the list of followers along.
--
--   epoch e    the shard sends a WANT row (epoch.lua) to the home of the id
--   e + 1      the home forwards it to the owner; a former owner, in one more epoch, to the new one
--   e + 2      the owner sends the entity to the shard as NEAR
--
-- A node or view that is handed over takes ghosts of its distant targets along, with their state: they are there at
-- once, but unconfirmed, and stand still, until the owner names them to the new shard, which sends WANT for itself.
--
--   shard.asked[target]   the life for which a WANT has been sent
--   shard.asking[target]  targets.wanted may have changed; AGAIN: send a WANT in any case
--   shard.passing         WANT rows to forward, a flat list: shard, row
--   shard.expired         a flat list id, life: if these are unconfirmed ghosts, they leave
--   shard.expected[target]  nodes or views that arrive with this epoch show or pin the target
--
-- Rows may be lost with shards that die, and may miss a target that is handed over: every REPEATS epochs the shard
-- sends WANT again for targets that it does not have, and UNWANTED for ghosts that it does not need.

local directory = require "aoi.skynet.world.directory"
local epoch = require "aoi.skynet.world.epoch"
local misrouted = require "aoi.skynet.world.misrouted"
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
  put(directory.home(shard, target), epoch.WANT, { id = target, life = life, shard = shard.number, what = what })
end

--- Called when an epoch is closed: put(shard, tag, row).
function distant.put_rows(shard, put)
  for target, how in pairs(shard.asking) do
    local asked, want = shard.asked[target], targets.wanted(shard, target)
    if asked and asked ~= want then put_row(shard, put, target, asked, epoch.UNWANTED) end
    if not want then expire(shard, target, asked or shard.router:life(target) or 0) end
    if want and (asked ~= want or how == AGAIN) then put_row(shard, put, target, want, epoch.WANTED) end
    shard.asked[target] = want
    targets.mark(shard, target)
  end
  for i = 1, #shard.passing, 2 do put(shard.passing[i], epoch.WANT, shard.passing[i + 1]) end
  shard.asking, shard.passing = {}, {}
end

local function pass(shard, to, row, what)
  table.insert(shard.passing, to)
  table.insert(shard.passing, { id = row.id, life = row.life, shard = row.shard, what = what })
end

-- The shard to which a row is forwarded if its entity is not here; nil: there is none.
local function next_shard(shard, row)
  if shard.retired then return shard.number end
  local handed = misrouted.handed_to(shard, row.id)
  if handed or directory.home(shard, row.id) ~= shard.number or shard.life[row.id] ~= row.life then return handed end
  local holder = shard.holder[row.id]
  return holder ~= shard.number and holder or nil
end

local function on_ended(shard, row)
  expire(shard, row.id, row.life)
  if shard.asked[row.id] == row.life then shard.asked[row.id] = nil end
  targets.ended(shard, row.id, row.life)
end

--- A WANT row, once the epoch has been applied.
function distant.on_want(shard, row)
  if row.what == epoch.HAS_ENDED then return on_ended(shard, row) end
  local ent = shard.ents[row.id]
  local is_here = ent ~= nil and ent.life == row.life
  if is_here and not ent.entry then
    return shard.router:follow(row.id, row.shard, row.what == epoch.WANTED)
  end
  local to = is_here and shard.number or next_shard(shard, row) -- is_here: it enters with the coming epoch
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

-- Whether this shard is in the audience of the entity's tile.
local function is_near(shard, id) return has(shard.map:audience(shard.core:position(id)), shard.number) end

local function copy_ghosts(shard, holder, taker, list)
  local core = shard.core
  targets.each_shown(holder, function(target, life)
    if shard.router:life(target) ~= life then return end
    local x, y, z = core:position(target)
    if has(shard.map:audience(x, y), taker) then return end -- the taker has the ghost already
    list = list or {}
    list[#list + 1] = { id = target, life = life, kind = core:kind(target), x = x, y = y, z = z,
                        fields = shard.sync and state_of(core, target) or nil }
  end)
  return list
end

--- A list of the ghosts that go with the nodes and the view of an owned entity, nil: none. taker: the new owner.
function distant.lend(shard, id, ent, taker)
  local view, list = shard.views[id], nil
  for _, rec in pairs(ent.nodes or {}) do
    if rec.overrides then list = copy_ghosts(shard, rec, taker, list) end
  end
  if view and view.pins then list = copy_ghosts(shard, view, taker, list) end
  return list
end

--- Called before ghosts leave: those that nodes and views of a HAND row need stay, where this shard has the targets.
function distant.expect(shard, hand)
  local function want(target, life)
    if shard.router:life(target) ~= life then return end
    shard.router:mark(target, "wanted", true)
    shard.expected[target] = true
  end
  for _, n in ipairs(hand.nodes) do targets.each_shown(n, want) end
  if hand.view then targets.each_shown(hand.view, want) end
end

--- Whether a target that this shard gives away stays, as what arrives needs it: it is a ghost from now on.
function distant.keeps(shard, target)
  if not shard.expected[target] then return false end
  shard.router:unconfirm(target)
  return true
end

-- Removes an unconfirmed ghost. One in the halo stays while entities of a dead shard may yet be restored: it may be
-- one.
local function leave(shard, id)
  if (shard.state ~= "whole" or shard.ends) and is_near(shard, id) then return end
  shard.core:leave(id)
  targets.passed(shard, id)
end

--- The ghosts of a HAND row. Called in phase 2, behind all moves, NEAR rows and hand-overs.
function distant.take(shard, hand)
  for _, one in ipairs(hand.ghosts or {}) do
    if not shard.core:has(one.id) then
      shard:enter_core(one)
      shard.router:note(one.id, one.life, false)
      shard.router:unconfirm(one.id)
      shard.expected[one.id] = true
      for name, value in pairs(one.fields or {}) do -- no news for the view that arrives: its picture has these values
        local sync = views.sync(shard)
        if sync:get(one.id, name) ~= value then sync:put(one.id, name, value, shard.applied + 1) end
      end
      targets.passed(shard, one.id)
    end
  end
end

-- Repeated checks -----------------------------------------------------------------------------------------------------

local function repeat_wants(shard)
  for target, life in pairs(shard.asked) do
    local _, unconfirmed = shard.router:ghost(target)
    if shard.router:life(target) ~= life or unconfirmed then shard.asking[target] = AGAIN end
    if unconfirmed and shard.closed - unconfirmed > 2 * REPEATS then leave(shard, target) end
  end
  local list, n = shard.router:ids "distant"
  for i = 1, n do
    local id = list[i]
    local life, _, unconfirmed = shard.router:life(id), shard.router:ghost(id)
    if unconfirmed and not shard.asked[id] then
      if not shard.expected[id] then leave(shard, id) end
    elseif not shard.asked[id] then
      pass(shard, directory.home(shard, id), { id = id, life = life, shard = shard.number }, epoch.UNWANTED)
    end
  end
end

-- After tiles have changed owners: an unconfirmed ghost in the new halo may be wrong where nodes here can see it now.
local function drop_near(shard)
  for target in pairs(shard.asked) do
    local ghost, unconfirmed = shard.router:ghost(target)
    if ghost and unconfirmed and is_near(shard, target) then leave(shard, target) end
  end
end

--- Called in phase 2, behind all rows that name ghosts.
function distant.apply(shard)
  if shard.closed % REPEATS == 0 then repeat_wants(shard) end
  local expired = shard.expired
  shard.expired = {}
  for i = 1, #expired, 2 do
    local ghost, unconfirmed = shard.router:ghost(expired[i])
    local is_it = ghost and unconfirmed and shard.router:life(expired[i]) == expired[i + 1]
    if is_it and not shard.expected[expired[i]] then leave(shard, expired[i]) end
  end
  if shard.remapped == shard.closed then drop_near(shard) end
end

return distant
