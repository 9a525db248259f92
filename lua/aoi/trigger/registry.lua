-- The registry of a set of triggers: lookup by node and by entity, and iteration over all.
--
--   node id --> slot 1, 2, 3 ...      in three dense arrays, so that an event of a plain trigger reads little memory:
--     set.triggers[slot]                the trigger; nil after its removal
--     set.names[slot]                   its name, false for a trigger with visits: one read for both
--     set.inside[slot]                  the number of targets inside
--   set.families[id][name]            the triggers of an entity
--   set.all[place]                    every trigger, without holes; the last one fills the gap of a removed one
--   set.hand, set.share               the place that the sweep has reached, the number it examines at an update
--
-- Name and count are separate from the record because that is a large table, of which an event would read several cache
-- lines: with both in the record, 20,000 plain triggers add 170 to 190 % to a bare move instead of 80 %
-- (`make bench ARGS="scripting --engine grid"`, "sleepers").
--
-- A trigger is dead when its node is removed. The nodes of an entity are removed when it leaves, and a node without
-- targets gives no event then. So such a trigger's record stays until an event, `get`, `add` or the sweep finds it. The
-- sweep examines a share of all records at each update: all within ROUND updates, but no more than MOST at one.

local reserved = require "aoi.reserved"
local visits = require "aoi.trigger.visits"

local registry = {}

local ROUND = 256 -- updates; a dead trigger is found in the current round or in the next
local MOST = 64 -- records per update: in a large world each one costs cache misses

--- Whether the node of a slot, and with it the entity that carries it, is still in the space; false if a handler has
--- closed the space.
function registry.alive_at(set, slot, id)
  local space = set.space
  return set.is_open(space) and set.has_node(space, id, set.base - slot)
end

--- The same for a trigger.
local function alive(t)
  return not t.dead and registry.alive_at(t.set, t.slot, t.id)
end

local empty = {} -- killing needs no memory

--- Removes a trigger from the registry, with its visits and timers. The caller removes the node.
local function kill(t)
  if t.dead then return end
  local set, slot, all = t.set, t.slot, t.set.all
  t.dead = true
  set.triggers[slot], set.names[slot], set.inside[slot] = nil, nil, nil
  if all[t.place] == t then
    local last = all[#all]
    all[t.place], last.place = last, t.place
    all[#all] = nil
  end
  local family = set.families[t.id]
  family[t.name] = nil
  if next(family) == nil then set.families[t.id] = nil end
  if t.visits then visits.free_all(t) end
  for _ in pairs(t.mutes or empty) do set.mutes = set.mutes - 1 end
  t.mutes = nil
end

registry.alive, registry.kill = alive, kill

--- Removes the dead triggers among the next records.
-- Walks down, so that the record that fills a gap has been examined before.
-- @param n the number of records; by default the share of an update
function registry.sweep(set, n)
  local all = set.all
  for _ = 1, n or set.share do
    if set.hand == 0 then
      set.hand = #all
      set.share = math.min(math.ceil(#all / ROUND), MOST)
    end
    local t = all[set.hand]
    if t and not alive(t) then kill(t) end
    if set.hand > 0 then set.hand = set.hand - 1 end
  end
end

--- Removes every dead trigger, in O(n).
function registry.sweep_all(set)
  set.hand = 0
  return registry.sweep(set, #set.all)
end

--- Removes the dead triggers of an entity, and returns the others by name, nil if there is none.
function registry.family(set, id)
  for _, t in pairs(set.families[id] or {}) do
    if not alive(t) then kill(t) end
  end
  return set.families[id]
end

--- Registers a trigger of an entity, with the id of a new node. Until it has that node it is dead, also where memory is
-- refused on the way.
function registry.insert(set, t, id)
  t.id, t.node = id, reserved.node(set.space)
  t.slot, t.place = set.base - t.node, #set.all + 1
  local family = set.families[id] or {}
  family[t.name], set.families[id] = t, family
  set.all[t.place] = t
  set.triggers[t.slot], set.names[t.slot], set.inside[t.slot] = t, not t.visits and t.name, 0
end

return registry
