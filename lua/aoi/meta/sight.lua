--- Walls and line of sight.
--- @module aoi.sight
---@meta aoi.sight
-- luacheck: ignore 212 241

--- Why a sight's node does or does not see a target.
---@class aoi.SightExplanation: aoi.Explanation
---@field wall? integer where `why` is "wall": the first shut wall on the line, and where it is crossed:
---@field x? number world units
---@field y? number world units
---@field z? number world units

---@class aoi.SightNodeOptions
---@field linger? integer ticks by which every leave is delayed, unless an override hides the target; 0 by default

---@class aoi.SightOptions
---@field walls? aoi.Sight whose walls it shares; without, it has its own

---@class aoi.SightStats
---@field walls integer
---@field nodes integer
---@field pairs integer pairs of a node and a target in its area
---@field seen integer how many of them were seen at the last tick
---@field tested integer lines that ticks have tested

local sight = {}

--- A sight of a space, which may have several. It ends with the space, or when nothing reaches it any more. Without
--- `walls`, on a space that was loaded, it is the first saved sight that has not been taken over yet.
---@param space aoi.Space
---@param options? aoi.SightOptions
---@return aoi.Sight
function sight.new(space, options) end

--- Nodes that see a target only if it is in their area and no shut wall is in between. A line is clear from both ends
--- or from neither. The nodes belong to the space: `Space:set_area`, `Space:set_facing`, `Space:override` and others
--- apply to them. An override "show" ignores walls.
---@class aoi.Sight
local Sight = {}

--- Adds a shut wall. If both ends are the same, it hides nothing.
---@param x1 number world units, as all coordinates at most 2^50 either way
---@param y1 number world units
---@param x2 number world units
---@param y2 number world units
---@param z0? number world units, in 3D: the lowest height that it hides, inclusive; any without it
---@param z1? number world units, in 3D: the highest
---@return integer wall 1, 2 ...: never used again
function Sight:wall(x1, y1, x2, y2, z0, z1) end

--- Opens a wall: a door. It hides nothing until it is shut. An open one may be opened.
---@param wall integer
function Sight:open_wall(wall) end

---@param wall integer
function Sight:shut_wall(wall) end

---@param wall integer
function Sight:remove_wall(wall) end

--- A wall as it was given; nothing where there is none.
---@param wall integer
---@return number? x1 world units
---@return number? y1 world units
---@return number? x2 world units
---@return number? y2 world units
---@return boolean? open
---@return number? z0 world units, in 3D
---@return number? z1 world units, in 3D
function Sight:get_wall(wall) end

--- All walls.
---@param buf? integer[] a table to fill
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Sight:walls(buf) end

--- The first shut wall on a line, and where the line crosses it; nil if there is none. In 3D the points have a z each:
--- `ray(x0, y0, z0, x1, y1, z1)`, and so has the place.
---@param x0 number world units, at most 2^50 either way
---@param y0 number world units
---@param x1 number world units
---@param y1 number world units
---@param z0? number world units, in 3D: of the six numbers the fifth
---@param z1? number world units, in 3D: the sixth
---@return integer? wall
---@return number? x world units
---@return number? y world units
---@return number? z world units
function Sight:ray(x0, y0, x1, y1, z0, z1) end

--- Adds a node to an entity. `Sight:tick` delivers its events: the net change since the last one, leaves first. Instead
--- of the table of handlers there may be two functions, enter and leave.
---@param id integer
---@param node_id integer one that no other node of the entity has, of the space or of a sight
---@param area number|aoi.Area half-extent of a square in world units, or a table as for `Space:add_node`
---@param handlers? aoi.Handlers
---@param options? aoi.SightNodeOptions
function Sight:add(id, node_id, area, handlers, options) end

--- As `Space:remove_node`: the leaves of what it saw come with the next tick.
---@param id integer
---@param node_id integer
function Sight:remove(id, node_id) end

--- Delivers events; call it once per tick. Handlers may do anything; errors, `Space:on_error` and yields are handled as
--- the space handles them. Costs some 50 ns per pair of which an end has moved or near which a wall has changed.
---@return integer events that were delivered
function Sight:tick() end

--- Whether the node sees the target now, or it lingers.
---@param id integer
---@param node_id integer
---@param target integer
---@return boolean
function Sight:sees(id, node_id, target) end

--- What the node sees now, with what lingers.
---@param id integer
---@param node_id integer
---@param buf? integer[] a table to fill
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Sight:view(id, node_id, buf) end

--- The nodes of the sight that see the target now, or for which it lingers, without those of triggers.
---@param id integer
---@param buf? integer[] a table to fill
---@return integer[] list flat pairs `watcher, node_id`
---@return integer n pairs
function Sight:viewers(id, buf) end

--- `Space:explain`, and `why` is "wall" with the wall and where the line crosses it, or "lingers".
---@param id integer
---@param node_id integer
---@param target integer
---@return aoi.SightExplanation
function Sight:explain(id, node_id, target) end

---@return aoi.SightStats
function Sight:stats() end

--- Ends all its nodes now, without events. Closing twice is harmless.
function Sight:close() end

return sight
