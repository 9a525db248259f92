-- What nodes and client views in a shard have with one target wherever it is: overrides and pins. A target is known by
-- its life, with which they end. While it is not in the core there is nothing to set aside or to pin: that is made
-- again when the target comes. What `show` and pins need of a target far away: distant.lua.
--
--   rec.overrides[target]   { how, life }; how: nil where it has been taken back in this epoch
--   view.pins[target]       life; false: it has been unpinned while the view waits with a picture that has it as pinned
--   shard.targets[target]   { holders = set of such records and views, life = that of the target in the core at the
--                           last look, nil: none }
--   shard.overriding        records with overrides that have come, or whose overrides have changed
--   shard.asking[target]    distant.lua looks at it as the coming epoch is closed

local followers = require "aoi.skynet.world.followers"
local log = require "aoi.skynet.world.log"
local methods = require "aoi.skynet.methods"
local sorted_keys = require "aoi.skynet.sorted_keys"

local targets = {}

local function hold(shard, holder, target)
  local e = shard.targets[target] or { holders = {} }
  shard.targets[target], e.holders[holder], shard.asking[target] = e, true, true
end

local function release(shard, holder, target)
  local e = shard.targets[target]
  if not e then return end
  e.holders[holder], shard.asking[target] = nil, true
  if next(e.holders) == nil then shard.targets[target] = nil end
end

local NONE = {}

-- Overrides of a record, or pins of a view.
local function all_of(holder) return (holder.node and holder.overrides or holder.pins) or NONE end

local function drop(shard, holder, target)
  local all = all_of(holder)
  all[target] = nil
  if holder.node and next(all) == nil then holder.overrides = nil end
  release(shard, holder, target)
end

local function put(shard, rec, target, how)
  if shard.router:life(target) then shard.core:override(rec.id, rec.number, target, how) end
  if shard.log then log.put(shard, 7, "override", rec.id, rec.node, target, how or false) end
end

-- That life of the target, if it is in the core; else nil, and whether it has ended: there is a later one. A former one
-- is a ghost whose end the shard has yet to learn.
local function life_here(shard, target, life)
  local here = shard.router:life(target)
  if here == life then return here end
  return nil, here and life and followers.is_later(here, life)
end

local function make_override(shard, rec, target)
  local o = rec.overrides and rec.overrides[target]
  if not o or rec.dead or rec.added then return end
  local life, has_ended = life_here(shard, target, o.life)
  if has_ended then
    drop(shard, rec, target)
  elseif life or o.how == "show" then
    put(shard, rec, target, life and o.how)
  end
  if not o.how then drop(shard, rec, target) end
end

local function make_pin(shard, view, target)
  local pinned = view.pins and view.pins[target]
  if pinned == nil or not view.made then return end
  local life, has_ended = life_here(shard, target, pinned)
  if life then shard.sync:pin(view.id, target) end
  if not pinned then shard.sync:unpin(view.id, target) end
  if not pinned or has_ended then drop(shard, view, target) end
end

local function make(shard, holder, target)
  if holder.node then make_override(shard, holder, target) else make_pin(shard, holder, target) end
end

--- All that the node or the view has with targets that are in the core.
function targets.make(shard, holder)
  for _, target in ipairs((sorted_keys(all_of(holder)))) do make(shard, holder, target) end
end

--- An override, from the coming epoch on.
function targets.set(shard, rec, target, how, life)
  rec.overrides = rec.overrides or {}
  rec.overrides[target] = { how = how, life = life }
  hold(shard, rec, target)
  shard.overriding[#shard.overriding + 1] = rec
end

--- At once, or as soon as target and view are there.
function targets.pin(shard, view, target, life)
  view.pins = view.pins or {}
  view.pins[target] = life
  hold(shard, view, target)
  make_pin(shard, view, target)
end

function targets.unpin(shard, view, target)
  if view.made and shard.core:has(target) then
    methods.answered(methods.invoke(shard.sync, "unpin", view.id, target))
  end
  if view.pins and view.pins[target] then drop(shard, view, target) end
  if not view.known then return end
  view.pins = view.pins or {}
  view.pins[target] = false
end

--- The node or the view has come here.
function targets.adopt(shard, holder)
  for target in pairs(all_of(holder)) do hold(shard, holder, target) end
  if holder.node and holder.overrides then shard.overriding[#shard.overriding + 1] = holder end
end

--- It is gone from here. What it has with targets stays in it.
function targets.forget(shard, holder)
  for target in pairs(all_of(holder)) do release(shard, holder, target) end
end

--- The target has left the core, or comes into it: in the same epoch it may do both, in the same life.
function targets.passed(shard, target)
  if shard.targets[target] then shard.targets[target].life = nil end
end

--- That life of the target has ended: what is of it has, too.
function targets.ended(shard, target, life)
  local e, list = shard.targets[target], {}
  for holder in pairs(e and e.holders or {}) do
    local it = all_of(holder)[target]
    if it == life or type(it) == "table" and it.life == life then list[#list + 1] = holder end
  end
  for _, holder in ipairs(list) do drop(shard, holder, target) end
end

-- The life that a node shows or a view pins; nil: neither.
local function shown(holder, target)
  local it = all_of(holder)[target]
  if type(it) ~= "table" then return it end
  return it.how == "show" and it.life or nil
end

--- Calls f(target, life) for what the node shows, or the view pins.
function targets.each_shown(holder, f)
  for target in pairs(all_of(holder)) do
    local life = shown(holder, target)
    if life then f(target, life) end
  end
end

--- The life of a target that something here shows or pins; nil: nothing does.
function targets.wanted(shard, target)
  local e = shard.targets[target]
  for holder in pairs(e and e.holders or {}) do
    local life = shown(holder, target)
    if life then return life end
  end
end

--- When everything of an epoch is where it will be.
function targets.apply(shard)
  for _, rec in ipairs(shard.overriding) do targets.make(shard, rec) end
  shard.overriding = {}
  for target, e in pairs(shard.targets) do
    local life = shard.router:life(target)
    if life ~= e.life then
      if life then shard.router:mark(target, "wanted", shard.asked[target] == life) end
      for holder in pairs(e.holders) do make(shard, holder, target) end
    end
    e.life = life
  end
end

return targets
