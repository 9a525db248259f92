-- The second node of a trigger with `outside` or `linger`: combines its events with those of the first node.
--
--   outside   the first node has the area, with all kinds and layers; the second has infinite radius, with the mask and
--             layers of the trigger: targets that the second node sees and the first does not are inside
--   linger    the second node sees exactly the targets with visits, by overrides: it reports those that leave the space

local admission = require "aoi.trigger.admission"
local checks = require "aoi.checks"
local registry = require "aoi.trigger.registry"
local reserved = require "aoi.reserved"
local steps = require "aoi.trigger.steps"
local visits = require "aoi.trigger.visits"

local second = {}

local ALL = -1 -- layers: all bits

-- The area of the second node of a trigger with `outside`; its mask is 0 while the trigger is disabled.
local function area_of(t)
  return { radius = math.huge, mask = t.disabled and 0 or t.mask, layers = t.layers, label = t.label }
end

--- Applies the mask of the trigger, 0 while it is disabled, to the node that has it; for a second node the layers, too.
--- A second node that is not added yet, while events pending before the first one are delivered, is added with them.
function second.set_mask(t)
  local space = t.set.space
  if not t.outside then
    space:set_mask(t.id, t.node, t.disabled and 0 or t.mask or -1)
  elseif reserved.has_node(space, t.id, t.second) then
    space:set_area(t.id, t.second, area_of(t))
  end
end

--- Changes the area of a trigger with `outside`, and its mask and layers. Events are processed when both nodes are
-- changed: a target that is inside after the first change alone does not enter.
-- @param area a correct area
function second.set_area(t, area, mask, layers)
  area.mask, area.layers = nil, ALL
  local hold = steps.hold(t.set, coroutine.running())
  local ok, err = pcall(t.set.space.set_area, t.set.space, t.id, t.node, area)
  if ok or err ~= "not enough memory" then -- of a handler's error the area is changed
    t.mask, t.layers = mask, layers
    local also, why = pcall(second.set_mask, t)
    if ok then ok, err = also, why end
  end
  steps.release(t.set, hold)
  if not ok then error(err, 0) end
end

-- Adds the second node of a trigger with `outside`.
local function add(t, seen)
  local set, area = t.set, area_of(t)
  if seen then return set.space:adopt(t.id, t.second, area, seen, set.enter, set.leave) end
  return set.space:add_node(t.id, t.second, area, set.enter, set.leave)
end

local function add_first(t, area)
  local set, of = t.set, t.sight or t.set.space
  local add_node = t.sight and of.add or of.add_node
  return add_node(of, t.id, t.node, area, set.enter, set.leave)
end

--- Adds the nodes of a trigger, with `linger` only the first one: the first target adds the second.
-- @param area area of the first node, with mask and layers
function second.install(t, area)
  if not t.outside then return add_first(t, area) end
  area.mask, area.layers = nil, ALL
  local ok, err = pcall(add_first, t, area) -- its own events call no handler; pending ones may
  if registry.alive(t) then add(t) end
  if not ok then error(err, 0) end
end

--- Adds a node with overrides: reports the net change of `adopt` and `override`.
-- @param overrides target, how, ...
function second.adopt(t, node, area, seen, overrides)
  local set, net, relay = t.set, {}, {}
  function relay.enter(_, target) net[target] = (net[target] or 0) + 1 end
  function relay.leave(_, target) net[target] = (net[target] or 0) - 1 end
  set.space:adopt(t.id, node, area, seen, relay)
  for i = 1, #overrides, 2 do
    if set.space:has(overrides[i]) then set.space:override(t.id, node, overrides[i], overrides[i + 1]) end
  end
  relay.enter, relay.leave = set.enter, set.leave
  for target, n in pairs(net) do
    if n < 0 then set.leave(t.id, target, node) end
  end
  for target, n in pairs(net) do
    if n > 0 then set.enter(t.id, target, node) end
  end
end

--- Replaces the second node of a loaded trigger, which may be in the space that was loaded, by a new one.
-- @param seen the targets with visits that its nodes have seen
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
  local targets, shown = {}, {}
  for i, visit in ipairs(s.visits) do
    targets[i], shown[2 * i - 1], shown[2 * i] = visit.target, visit.target, "show"
  end
  if #targets > 0 then second.adopt(t, t.second, admission.shown_area(t), targets, shown) end
end

--- Removes the second node, if there is one.
function second.remove(t)
  local set = t.set
  if t.second and registry.alive_at(set, set.base - t.second, t.id) then set.space:remove_node(t.id, t.second) end
end

local function override(t, target, how)
  local space = t.set.space
  if space:has(target) and reserved.has_node(space, t.id, t.second) then
    space:override(t.id, t.second, target, how)
  end
end

-- A target may have left the area. A handler may still cancel the pending events about it, and no event follows then:
-- the second node loses it and sees it again, behind those events, and this function is called again.
local function come_out(t, target)
  if t.visits[target] then return admission.arrive(t, target) end
  local near, far = t.set.space:explain(t.id, t.node, target), t.set.space:explain(t.id, t.second, target)
  if far.sees and far.pending then return end -- with that enter this function is called
  if not (near.pending or far.pending) then return far.sees and not near.sees and admission.arrive(t, target) end
  t.again = t.again or {}
  t.again[target] = true
  override(t, target, "hide")
end

--- Processes an enter event of a node of a trigger with visits; `slot` is that of the node.
function second.arrive(set, slot, target)
  local t = set.triggers[slot]
  if slot ~= t.slot then return t.outside and come_out(t, target) end
  if t.outside then return admission.depart(t, target) end
  return admission.arrive(t, target)
end

-- Whether a visit belongs to the present entity of the target's id, which is outside of the area: then the leave event
-- of the second node is for a former entity. This happens if the first node's event for it has begun the new visit.
local function is_of_new_life(t, visit)
  local life = checks.life(t.set.space, visit.target)
  return t.outside and life ~= true and life == visit.life and admission.covers(t, visit.target)
end

--- Processes a leave event in the same way.
function second.depart(set, slot, target)
  local t = set.triggers[slot]
  if slot == t.slot then
    if not t.outside then return admission.depart(t, target) end
    return come_out(t, target)
  else
    if t.again and t.again[target] then
      t.again[target] = nil
      override(t, target, nil)
    end
    local visit = t.visits[target]
    if not visit or is_of_new_life(t, visit) then return end
    if t.outside or visits.lingers(visit) then return admission.depart(t, target, true) end
  end
end

return second
