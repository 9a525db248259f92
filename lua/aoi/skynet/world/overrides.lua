-- Overrides of nodes in a shard. A target is known by its life: an override ends with it. While the target is far, the
-- core has nothing to set aside; the override is made again when it comes near.
--
--   rec.overrides[target]     { how, life }; how: nil where it has been taken back in this epoch
--   shard.overridden[target]  { recs = set of records, life = that of the target in the core at the last look, nil:
--                             none }

local overrides = {}

local function entry(shard, target)
  local e = shard.overridden[target]
  if not e then
    e = { recs = {} }
    shard.overridden[target] = e
  end
  return e
end

local function drop(shard, rec, target)
  rec.overrides[target] = nil
  local e = shard.overridden[target]
  if not e then return end
  e.recs[rec] = nil
  if next(e.recs) == nil then shard.overridden[target] = nil end
end

--- From the coming epoch on.
function overrides.set(shard, rec, target, how, life)
  rec.overrides = rec.overrides or {}
  rec.overrides[target] = { how = how, life = life }
  entry(shard, target).recs[rec] = true
  shard.overriding[#shard.overriding + 1] = rec
end

--- The node has come here, or is gone.
function overrides.adopt(shard, rec)
  for target in pairs(rec.overrides or {}) do entry(shard, target).recs[rec] = true end
  if rec.overrides then shard.adopted[#shard.adopted + 1] = rec end
end

--- Those of the node, for another shard; nil: it has none.
function overrides.copy(rec)
  local copy = {}
  for target, o in pairs(rec.overrides or {}) do copy[target] = o end
  return next(copy) and copy
end

function overrides.forget(shard, rec)
  for target in pairs(rec.overrides or {}) do drop(shard, rec, target) end
end

local function make(shard, rec, target)
  local o, life = rec.overrides and rec.overrides[target], shard.router:life(target)
  if not o or rec.dead or rec.added then return end
  if life and life ~= o.life then
    drop(shard, rec, target)
  elseif life then
    shard.core:override(rec.id, rec.number, target, o.how)
  end
  if not o.how then drop(shard, rec, target) end
end

local function make_all(shard, rec)
  local targets = {}
  for target in pairs(rec.overrides or {}) do targets[#targets + 1] = target end
  for _, target in ipairs(targets) do make(shard, rec, target) end
end

--- When everything of an epoch is where it will be. recs: those whose overrides have changed.
function overrides.apply(shard, recs)
  for _, rec in ipairs(recs) do make_all(shard, rec) end
  for _, rec in ipairs(shard.adopted) do make_all(shard, rec) end
  shard.adopted = {}
  for target, e in pairs(shard.overridden) do
    local life = shard.router:life(target)
    if life and life ~= e.life then
      for rec in pairs(e.recs) do make(shard, rec, target) end
    end
    e.life = life
  end
end

return overrides
