-- Ids of the nodes and entities that the Lua layers add to a user's space: -2^52, -2^52 - 1, and so on down.
--
-- They are counted per space, which any number of layers share, and never used twice: an event that still waits when
-- its node is removed must not reach another node. A space that was loaded or played may have such ids already, of
-- layers that are not there: then counting begins below them.

require "aoi" -- has it in it
local core = require "aoi.core.helpers"

local reserved = {}

-- Without an exponent, so that they are integers where Lua has them. Below the last are the nodes of aoi.sync.
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

--- `base - node` numbers the nodes that `reserved.node` gives out in a space: 1, 2, 3, ...
function reserved.base(space) return counter_of(space).old_node end

--- A node id that no node of this space has, and no event that waits.
function reserved.node(space) return next_id(space, "node") end

--- An id that no entity of this space has.
function reserved.entity(space)
  local id
  repeat id = next_id(space, "entity") until not space:has(id)
  return id
end

--- Whether a node id, or the id of an entity, is one of layers that this space had before it was loaded.
function reserved.is_old_node(space, node) return node <= FIRST and node >= counter_of(space).old_node end
function reserved.is_old_entity(space, id) return id <= FIRST and id >= counter_of(space).old_entity end

--- Whether there is such a node. `space:radius` is the cheapest question; it has no answer for boxes and polygons, and
--- `sees` raises an error where there is no node.
function reserved.has_node(space, id, node)
  return space:radius(id, node) ~= nil or pcall(space.sees, space, id, node, id)
end

--- Whether an id is of the reserved range: a region of `aoi.trigger`, where ids of entities are meant.
function reserved.has(id) return id <= FIRST end

return reserved
