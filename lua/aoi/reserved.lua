-- Ids of the nodes and entities that the Lua layers add to a user's space: -2^52, -2^52 - 1, and so on down.
--
-- They are counted per space, which any number of layers share, and never used twice: an event that still waits when
-- its node is removed must not reach another node.

local reserved = {}

-- Without an exponent, so that it is an integer where Lua has them.
local FIRST = -4503599627370496
reserved.FIRST = FIRST

--- `SLOT_BASE - node` numbers the nodes that `reserved.node` has given out in a space: 1, 2, 3, ...
reserved.SLOT_BASE = FIRST + 1

local counters = setmetatable({}, { __mode = "k" })

local function next_id(space, what)
  local counter = counters[space]
  if not counter then
    counter = { node = FIRST, entity = FIRST }
    counters[space] = counter
  end
  local id = counter[what]
  counter[what] = id - 1
  return id
end

--- A node id that no node of this space has.
function reserved.node(space) return next_id(space, "node") end

--- An id that no entity of this space has.
function reserved.entity(space)
  local id
  repeat id = next_id(space, "entity") until not space:has(id)
  return id
end

--- Whether there is such a node. `space:radius` is the cheapest question; it has no answer for boxes and polygons, and
--- `sees` raises an error where there is no node.
function reserved.has_node(space, id, node)
  return space:radius(id, node) ~= nil or pcall(space.sees, space, id, node, id)
end

--- Whether an id is of the reserved range: a region of `aoi.trigger`, where ids of entities are meant.
function reserved.has(id) return id <= FIRST end

return reserved
