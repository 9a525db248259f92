-- Events of the space: dispatches enter and leave events of a node to its trigger.
--
--   set.enter, set.leave, set.cross --node--> slot --> steps pending?    append to their queue
--                                       --> with visits       aoi.trigger.admission
--                                       --> plain             count, call the handlers
--
-- A plain trigger has no option that concerns single targets: it only counts the targets inside.

local admission = require "aoi.trigger.admission"
local aoi = require "aoi"
local registry = require "aoi.trigger.registry"
local steps = require "aoi.trigger.steps"

local alive_at, kill = registry.alive_at, registry.kill
local begin, finish, append, run, unmute = steps.begin, steps.finish, steps.append, steps.run, steps.unmute
local NEVER_ENTERED = steps.NEVER_ENTERED

local arrive, depart = admission.arrive, admission.depart

local events = {}

-- A target entered the area of a plain trigger.
local function entered(set, slot, name, id, target)
  local n = set.inside[slot] + 1
  set.inside[slot] = n
  local own = set.handlers[name]
  if not own then return end
  local handler = own.enter
  if n == 1 and own.first then
    if handler then return begin(set, own, slot, id, target) end
    handler = own.first
  end
  if handler then return handler(id, target, set.triggers[slot]) end
end

-- A target left the area of a plain trigger. No handler is called if the reason is that the carrier has left the space.
local function left(set, slot, name, id, target)
  local muted = set.mutes > 0 and unmute(set, slot, target)
  if muted == NEVER_ENTERED then return end
  local n = set.inside[slot] - 1
  set.inside[slot] = n
  local own = set.handlers[name]
  local leave, last = own and not muted and own.leave, n == 0 and own and own.last
  if not (leave or last) then return end
  if not alive_at(set, slot, id) then return kill(set.triggers[slot]) end
  if leave and last then return finish(set, own, slot, id, target) end
  return (leave or last)(id, target, set.triggers[slot])
end

-- Steps for queued events. The target of an enter event may have left the space since: then its leave event is ignored;
-- with visits, it finds no visit.
local function enter_late(set, slot, id, target)
  local name = set.names[slot]
  if not set.has(set.space, target) then
    if name then return steps.mute(set, slot, target, NEVER_ENTERED) end
  elseif name then
    return entered(set, slot, name, id, target)
  else
    return arrive(set.triggers[slot], target)
  end
end

local function leave_late(set, slot, id, target)
  local name = set.names[slot]
  if name then return left(set, slot, name, id, target) end
  return depart(set.triggers[slot], target)
end

-- Makes a handler for the events of one kind.
-- @param plain, with_visits process an event of the two kinds of triggers
-- @param late the step for both while others are pending
local function handler(set, plain, with_visits, late)
  local names, work, base = set.names, set.steps, set.base
  return function(id, target, node)
    local slot = base - node
    local name = names[slot]
    if work.n > 0 and name ~= nil then
      append(set, late, slot, id, target)
      return run(set)
    end
    if name then return plain(set, slot, name, id, target) end
    if name == false then return with_visits(set.triggers[slot], target) end
  end
end

-- A step for a crossing at that place.
local function cross_late(at)
  return function(set, slot, _, target) return admission.cross(set.triggers[slot], target, at) end
end

--- Makes `set.enter`, `set.leave` and `set.cross`, the handlers of all nodes of a set.
function events.attach(set)
  set.enter, set.leave = handler(set, entered, arrive, enter_late), handler(set, left, depart, leave_late)
  function set.cross(id, target, node, at)
    local slot = set.base - node
    if set.names[slot] == nil then return end
    if set.steps.n == 0 then return admission.cross(set.triggers[slot], target, at) end
    append(set, cross_late(at), slot, id, target)
    return run(set)
  end
  set.crossing = { enter = set.enter, leave = set.leave, cross = set.cross }
end

--- The handlers for the node of a trigger of that name with that area, as `add_node` takes them.
function events.of(set, name, area)
  if set.handlers[name].cross and not area.outside then return set.crossing end
  return set.enter, set.leave
end

--- Appends an event that `space:drain` returned to the queue. Events of other nodes are ignored.
-- @param kind aoi.ENTER and so on
-- @param at of a crossing: its place
function events.append(set, kind, id, target, node, at)
  local slot = set.base - node
  if set.names[slot] == nil then return end
  local late = kind == aoi.CROSS and cross_late(at) or kind == aoi.ENTER and enter_late or leave_late
  append(set, late, slot, id, target)
end

return events
