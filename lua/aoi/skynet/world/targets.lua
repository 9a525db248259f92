-- Overrides of nodes, and pins and priorities of client views in a shard. They name a target by id and life, end with
-- that life, and hold wherever the target is. The core and aoi.sync have them only while they have the target, so they
-- are made again when it enters the core. distant.lua brings targets here that are shown or pinned, and far away.
--
--   rec.overrides[target]   { how, life }; how: nil: it is taken back in the coming epoch
--   view.pins[target]       life; false: unpinned, while the view waits with a picture in which the target is pinned
--   view.ranks              { id =, priorities = { [target] = { p, life } } }: a holder, too; id: of the view
--   shard.targets[target]   { holders = set of such holders, life = that in the core at the last apply }
--   shard.overriding        records that have arrived with overrides, or with overrides that have changed
--   shard.asking[target]    distant.put_rows looks at the target when the coming epoch is closed
--
--   set, pin, unpin; adopt, forget: the holder arrives, leaves -> apply, at the end of each epoch -> make

local followers = require "aoi.skynet.world.followers"
local log = require "aoi.skynet.world.log"
local methods = require "aoi.skynet.methods"
local sorted_keys = require "aoi.sorted_keys"

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

-- Overrides of a record, pins of a view, or priorities of its ranks.
local function all_of(holder) return (holder.node and holder.overrides or holder.priorities or holder.pins) or NONE end

local function drop(shard, holder, target)
  local all = all_of(holder)
  all[target] = nil
  if holder.node and next(all) == nil then holder.overrides = nil end
  release(shard, holder, target)
end

local function put(shard, rec, target, how, life)
  if shard.router:life(target) then shard.core:override(rec.id, rec.number, target, how) end
  if shard.log then log.put(shard, 7, "override", rec.id, rec.node, target, how or false, life) end
end

-- That life of the target, if it is in the core; else nil, and whether it has ended, as the core has a later one. If
-- the core has a former one, that is a ghost whose end has yet to arrive.
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
  else
    put(shard, rec, target, life and o.how, life) -- without a life here: what was shown is seen no more
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

local function make_rank(shard, ranks, target)
  local o, view = ranks.priorities[target], shard.views[ranks.id]
  if not (view and view.made) then return end
  local life, has_ended = life_here(shard, target, o.life)
  if life then shard.sync:set_priority(target, o.p, ranks.id) end
  if has_ended then drop(shard, ranks, target) end
end

local function make(shard, holder, target)
  local f = holder.node and make_override or holder.priorities and make_rank or make_pin
  f(shard, holder, target)
end

--- Makes all that the node or view has with targets, as far as these are in the core.
function targets.make(shard, holder)
  for _, target in ipairs((sorted_keys(all_of(holder)))) do make(shard, holder, target) end
  if holder.ranks then targets.make(shard, holder.ranks) end
end

--- Sets an override from the coming epoch on; how: nil: takes it back.
function targets.set(shard, rec, target, how, life)
  rec.overrides = rec.overrides or {}
  rec.overrides[target] = { how = how, life = life }
  hold(shard, rec, target)
  shard.overriding[#shard.overriding + 1] = rec
end

--- Pins the target at once, or as soon as the core has it and the synchroniser the view.
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

--- Sets the priority of the target for that view alone; p: nil: it is what it is for all.
function targets.rank(shard, view, target, p, life)
  local ranks = view.ranks or { id = view.id, priorities = {} }
  view.ranks = ranks
  if p then
    ranks.priorities[target] = { p = p, life = life }
    hold(shard, ranks, target)
    return make_rank(shard, ranks, target)
  end
  if view.made and life_here(shard, target, life) then shard.sync:set_priority(target, nil, view.id) end
  if ranks.priorities[target] then drop(shard, ranks, target) end
end

--- The node or view has arrived in this shard.
function targets.adopt(shard, holder)
  for target in pairs(all_of(holder)) do hold(shard, holder, target) end
  if holder.ranks then targets.adopt(shard, holder.ranks) end
  if holder.node and holder.overrides then shard.overriding[#shard.overriding + 1] = holder end
end

--- The node or view leaves this shard; its overrides or pins stay in its table.
function targets.forget(shard, holder)
  for target in pairs(all_of(holder)) do release(shard, holder, target) end
  if holder.ranks then targets.forget(shard, holder.ranks) end
end

--- The target has left or entered the core. It may do both in one epoch with one life, which `apply` could not detect.
function targets.passed(shard, target)
  if shard.targets[target] then shard.targets[target].life = nil end
end

--- That life of the target has ended, and with it its overrides and pins.
function targets.ended(shard, target, life)
  local e = shard.targets[target]
  for holder in pairs(e and e.holders or {}) do
    local it = all_of(holder)[target]
    if it == life or type(it) == "table" and it.life == life then drop(shard, holder, target) end
  end
end

-- The life that a node shows or a view pins; nil: neither.
local function shown(holder, target)
  local it = all_of(holder)[target]
  if type(it) ~= "table" then return it end
  return it.how == "show" and it.life or nil
end

--- Calls f(target, life) for each target that the node shows or the view pins.
function targets.each_shown(holder, f)
  for target in pairs(all_of(holder)) do
    local life = shown(holder, target)
    if life then f(target, life) end
  end
end

--- The life of the target that a node here shows or a view pins; nil: there is none.
function targets.wanted(shard, target)
  local e = shard.targets[target]
  for holder in pairs(e and e.holders or {}) do
    local life = shown(holder, target)
    if life then return life end
  end
end

--- Marks a target whose life in the core is wanted: it stays as a ghost, also before its owner follows.
function targets.mark(shard, target)
  local want = targets.wanted(shard, target)
  shard.router:mark(target, "wanted", want and shard.router:life(target) == want)
end

--- Called behind the six phases of an epoch.
function targets.apply(shard)
  for _, rec in ipairs(shard.overriding) do targets.make(shard, rec) end
  shard.overriding = {}
  for target, e in pairs(shard.targets) do
    local life = shard.router:life(target)
    if life ~= e.life then
      targets.mark(shard, target)
      for holder in pairs(e.holders) do make(shard, holder, target) end
    end
    e.life = life
  end
end

return targets
