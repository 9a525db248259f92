-- The second node of a trigger with `outside` or `linger`: what its events and those of the first one mean together.
--
--   outside   the first node sees all that is in the area, the second, of infinite radius, all that counts: inside the
--             trigger is what the second sees and the first does not; mask and layers are the second's
--   linger    the second sees what the trigger knows, by overrides, and nothing else: it reports targets that leave
--             the space

local admission = require "aoi.trigger.admission"
local checks = require "aoi.checks"
local registry = require "aoi.trigger.registry"
local reserved = require "aoi.reserved"
local visits = require "aoi.trigger.visits"

local second = {}

local ALL = -1 -- layers: all bits
second.ALL = ALL

local function is_seen(t, node, target)
  local space = t.set.space
  return space:has(target) and reserved.has_node(space, t.id, node)
    and (t.sight or space):sees(t.id, node, target) -- with a sight there is no second node
end

--- Whether a target is where it counts, whatever filter, limit and the rest say of it.
function second.covers(t, target)
  if not t.outside then return is_seen(t, t.node, target) end
  return is_seen(t, t.second, target) and not is_seen(t, t.node, target)
end

-- Of the second node of a trigger with `outside`; no mask while it is disabled.
local function area_of(t)
  return { radius = math.huge, mask = t.disabled and 0 or t.mask, layers = t.layers, label = t.label }
end

--- Gives the node whose mask is that of the trigger the mask that it has, none while it is disabled; a second node its
--- layers, too. One that is still to be added, while events that waited before the first one are delivered, comes with
--- them.
function second.set_mask(t)
  local space = t.set.space
  if not t.outside then
    space:set_mask(t.id, t.node, t.disabled and 0 or t.mask or -1)
  elseif reserved.has_node(space, t.id, t.second) then
    space:set_area(t.id, t.second, area_of(t))
  end
end

--- Gives a trigger the id of its second node, if it needs one.
function second.prepare(t)
  t.second = (t.outside or t.linger) and reserved.node(t.set.space) or nil
end

-- That of a trigger with `outside`.
local function add(t, seen)
  local set, area = t.set, area_of(t)
  if seen then return set.space:adopt(t.id, t.second, area, seen, set.enter, set.leave) end
  return set.space:add_node(t.id, t.second, area, set.enter, set.leave)
end

--- Adds the nodes of a trigger; that of one that lingers comes with its first target.
-- @param area of the first one, with mask and layers
-- @param add_first adds the first node, of an area
function second.install(t, area, add_first)
  if not t.outside then return add_first(area) end
  area.mask, area.layers = nil, ALL
  local ok, err = pcall(add_first, area) -- its own events call nothing; others may wait
  if registry.alive(t) then add(t) end
  if not ok then error(err, 0) end
end

--- Removes the second node of a trigger that is loaded, which the space was loaded with, and adds its own.
-- @param seen the targets that the trigger knows and its nodes have seen
function second.load(t, s, seen)
  local space = t.set.space
  if not t.second then return end
  if reserved.is_old_node(space, s.second) and reserved.has_node(space, t.id, s.second) then
    space:remove_node(t.id, s.second)
  end
  if t.outside then
    local all = {}
    for i, target in ipairs(seen) do all[i] = target end
    for _, target in ipairs(s.near) do all[#all + 1] = target end
    return add(t, all)
  end
  for _, visit in ipairs(s.visits) do admission.show(t, visit.target) end
end

--- Removes the second node, if it is there.
function second.remove(t)
  local set = t.set
  if t.second and registry.alive_at(set, set.base - t.second, t.id) then set.space:remove_node(t.id, t.second) end
end

--- A node of a trigger with visits, by its slot, sees a target.
function second.arrive(set, slot, target)
  local t = set.triggers[slot]
  if slot == t.slot then
    if t.outside then return admission.depart(t, target) end
    return admission.arrive(t, target)
  elseif t.outside and second.covers(t, target) then
    return admission.arrive(t, target)
  end
end

-- Whether a visit is of the target that is there now, and counts: then what the second node has lost is a former life
-- of its id. So it is where the first node has reported that life's end before, with the new life outside already.
local function is_of_new_life(t, visit)
  local life = checks.life(t.set.space, visit.target)
  return t.outside and life ~= true and life == visit.life and second.covers(t, visit.target)
end

-- Whether the second node's enter is still to come, which arrives then: until it has come, no leave follows.
local function is_due(t, target) return t.set.space:explain(t.id, t.second, target).pending end

--- It does not see it any more.
function second.depart(set, slot, target)
  local t = set.triggers[slot]
  if slot == t.slot then
    if not t.outside then return admission.depart(t, target) end
    if second.covers(t, target) and not is_due(t, target) then return admission.arrive(t, target) end
  else
    local visit = t.visits[target]
    if not visit or is_of_new_life(t, visit) then return end
    if t.outside or visits.lingers(visit) then return admission.depart(t, target, true) end
  end
end

return second
