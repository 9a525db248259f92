-- Ids of the nodes and entities that the Lua layers add to a user's space: -2^52, -2^52 - 1, and so on down.
--
-- One counter per space serves all layers. No id is used twice: an event that is still pending when its node is removed
-- must not reach another node. A space that was loaded or replayed may contain such ids of layers that were not loaded
-- with it: then counting begins below them.

require "aoi" -- loads aoi.core.helpers
local core = require "aoi.core.helpers"

local reserved = {}

-- Without an exponent, so that they are integers where Lua has them. The ids below LAST are those of aoi.sync's nodes.
local FIRST, LAST = -4503599627370496, -6755399441055743
reserved.FIRST = FIRST

local counters = setmetatable({}, { __mode = "k" })

local function counter_of(space)
  local counter = counters[space]
  if not counter then
    local entity, node = FIRST + 1, FIRST + 1
    if type(space) == "userdata" then entity, node = core.lowest(space, LAST, FIRST + 1) end
    counter = { entity = entity - 1, node = node - 1, old_entity = entity, old_node = node }
    counters[space] = counter
  end
  return counter
end

local function next_id(space, what)
  local counter = counter_of(space)
  local id = counter[what]
  counter[what] = id - 1
  return id
end

--- `base - node` is 1, 2, 3, ... for the nodes that `reserved.node` returns for a space.
function reserved.base(space) return counter_of(space).old_node end

--- A node id that no node and no pending event of this space has.
function reserved.node(space) return next_id(space, "node") end

--- Enters an entity of kind 0 at a place, with z in 3D only; returns its id, which no entity of this space has had.
function reserved.entity(space, x, y, z)
  local id
  repeat id = next_id(space, "entity") until not space:has(id)
  if z then space:enter(id, x, y, z, 0) else space:enter(id, x, y, 0) end
  return id
end

--- Whether the id of a node, or of an entity, was made by a module of the space from which this one was loaded.
function reserved.is_old_node(space, node) return node <= FIRST and node >= counter_of(space).old_node end
function reserved.is_old_entity(space, id) return id <= FIRST and id >= counter_of(space).old_entity end

--- Whether an id is in the reserved range; among ids of entities these are the regions of `aoi.trigger`, and bushes.
function reserved.has(id) return id <= FIRST end

--- Whether a client of aoi.sync ends with this node: those of its other views are farther down by multiples of 2^32.
function reserved.is_first_view(node) return node < LAST and node >= LAST - 2 ^ 32 end

return reserved
