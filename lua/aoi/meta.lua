--- Area of interest for game servers: which entities came near which.
---
---     local aoi = require "aoi"
---     local space = aoi.new()                              -- 2D, engine "list"
---     space:enter(1, 0, 0)
---     space:add_node(1, 1, 50, function(watcher, target) print(watcher, "sees", target) end)
---     space:enter(2, 30, 40)                               -- 1 sees 2
---
--- A **space** holds **entities**: things with a position and an integer id. An entity carries any number of **nodes**,
--- areas of interest, and is then a **watcher**; those it sees are its **targets**. What comes into a node's area and
--- what leaves it is an event for its handlers.
---
--- A node of half-extent `r` at `w` sees a target at `t` if and only if `w - r <= t and t <= w + r` on every axis in
--- doubles, the target is not the watcher, and a bit of the target's kind is in the node's mask.
---
--- Misuse raises an error in the words of the standard library; then nothing has changed. This file only describes: the
--- functions are C, in `aoi.core`.
--- @module aoi
---@meta aoi.core

-- luacheck: ignore 212 241

local aoi = {}

--- What `aoi.new` takes.
---@alias aoi.Engine "list"|"grid"|"tower"|"quadtree"|"brute"
---@class (exact) aoi.Options
---@field engine? aoi.Engine the spatial index, one of `aoi.engines()`; all give the same events
---@field dimensions? 2|3 2 without it; in 3D the third coordinate is the height
---@field cell? number cell size in world units, a hint for the engines that use cells
---@field delivery? "immediate"|"deferred" when handlers run: before each call returns (default), or in `Space:flush`

--- An area of interest.
---@class (exact) aoi.Area
---@field radius number half-extent in world units, >= 0; `math.huge` sees the whole space
---@field keep? number leave radius in world units, >= radius: a target enters within `radius` and leaves beyond `keep`
---@field mask? integer bits of the kinds it looks for, all without it
---@field shape? "square"|"circle" square without it (in 3D a cube); a circle (a sphere) measures the distance

--- Handlers of nodes: the fields are looked up at each event, and any number of nodes may share one table.
---@alias aoi.Handler fun(watcher: integer, target: integer, node_id: integer)
---@class (exact) aoi.Handlers
---@field enter? aoi.Handler
---@field leave? aoi.Handler

--- What `Space:stats` returns. An engine may count more.
---@class (exact) aoi.Stats
---@field entities integer
---@field nodes integer
---@field events integer delivered so far
---@field pending integer waiting
---@field memory integer bytes held by the core
---@field candidates integer pairs that were examined
---@field steps integer list or cell entries that were walked

--- Kind of an event in what `Space:drain` returns: the target came in.
---@type integer
aoi.ENTER = nil

--- Kind of an event in what `Space:drain` returns: the target left.
---@type integer
aoi.LEAVE = nil

--- Makes a space.
---@param options? aoi.Options
---@return aoi.Space
function aoi.new(options) end

--- The engines there are.
---@return aoi.Engine[]
function aoi.engines() end

--- A map or scene. `#space` is `space:count()`.
---@class aoi.Space
---@operator len: integer
local Space = {}

--- An entity enters.
---@param id integer any; on Lua 5.1, 5.2 and LuaJIT within 2^53
---@param x number world units
---@param y number world units
---@param z number world units; only in 3D
---@param kind? integer kind bits, 1 without it; no node sees kind 0
---@overload fun(self: aoi.Space, id: integer, x: number, y: number, kind?: integer)
function Space:enter(id, x, y, z, kind) end

--- An entity moves, any distance.
---@param id integer
---@param x number world units
---@param y number world units
---@param z? number world units; only in 3D
function Space:move(id, x, y, z) end

--- An entity leaves, with all its nodes. Every node that saw it, and each node of its own for each of its targets, gets
--- a leave event.
---@param id integer
function Space:leave(id) end

--- Adds an area of interest. Targets that are in it already enter.
---@param id integer the entity that carries it, the watcher
---@param node_id integer unique on that entity
---@param area number|aoi.Area half-extent in world units, or the table
---@param on_enter? aoi.Handler|aoi.Handlers one function for entering, or a table with both
---@param on_leave? aoi.Handler
function Space:add_node(id, node_id, area, on_enter, on_leave) end

--- Removes an area of interest; leave events for all it saw.
---@param id integer
---@param node_id integer
function Space:remove_node(id, node_id) end

--- Changes the size of an area, with exactly the difference in events.
---@param id integer
---@param node_id integer
---@param radius number half-extent in world units, >= 0, may be `math.huge`
---@param keep? number leave radius in world units, >= radius; the same without it
function Space:set_radius(id, node_id, radius, keep) end

--- Changes which kinds a node looks for.
---@param id integer
---@param node_id integer
---@param mask integer kind bits
function Space:set_mask(id, node_id, mask) end

--- Changes the kind of an entity.
---@param id integer
---@param kind integer kind bits
function Space:set_kind(id, kind) end

--- Moves many at once. The events are the net change over the whole batch; all rows are checked before the first one
--- is applied.
---@param t number[] rows: `id, x, y [, z], id, x, y [, z], ...`
---@param n? integer how many rows, all without it
function Space:move_many(t, n) end

--- Enters many at once.
---@param t number[] rows: `id, x, y [, z], id, x, y [, z], ...`
---@param n? integer how many rows, all without it
---@param kind? integer kind bits of all of them, 1 without it
function Space:enter_many(t, n, kind) end

--- Delivers waiting events: in a deferred space the net change since the last time, in an immediate one what an error
--- in a handler has left.
---@return integer n how many events
function Space:flush() end

--- Hands over waiting events as data, without calling handlers: `kind, watcher, target, node_id, ...` with `aoi.ENTER`
--- or `aoi.LEAVE` as the kind.
---@param buf? integer[] a table to fill
---@return integer[] buf only the first 4 * n items are meaningful
---@return integer n how many events
function Space:drain(buf) end

--- Takes the errors of handlers; without it they are raised from the call that was delivering.
---@param f? fun(err: any, watcher: integer, target: integer, node_id: integer) nil takes it away again
function Space:on_error(f) end

--- The targets that a node sees now.
---@param id integer
---@param node_id integer
---@param buf? integer[] a table to fill
---@return integer[] list ids; only `list[1..n]` is meaningful
---@return integer n
function Space:view(id, node_id, buf) end

--- The nodes that see an entity now.
---@param id integer
---@param buf? integer[] a table to fill
---@return integer[] list pairs: `watcher, node_id, ...`
---@return integer n how many pairs
function Space:viewers(id, buf) end

--- The entities in a square (in 3D a cube), whatever nodes there are.
---@param x number world units, the centre
---@param y number world units
---@param z number world units; only in 3D
---@param radius number half-extent in world units
---@param mask? integer kind bits, all without it
---@param buf? integer[] a table to fill
---@return integer[] list ids; only `list[1..n]` is meaningful
---@return integer n
---@overload fun(self: aoi.Space, x: number, y: number, radius: number, mask?: integer, buf?: table): table, integer
function Space:near(x, y, z, radius, mask, buf) end

--- Whether a node sees a target now.
---@param id integer
---@param node_id integer
---@param target integer
---@return boolean
function Space:sees(id, node_id, target) end

--- The position of an entity, as it was set.
---@param id integer
---@return number? x world units; nil if there is no such entity
---@return number? y
---@return number? z only in 3D
function Space:position(id) end

--- The kind of an entity.
---@param id integer
---@return integer? kind kind bits; nil if there is no such entity
function Space:kind(id) end

--- The radius of a node, as it was set.
---@param id integer
---@param node_id integer
---@return number? radius half-extent in world units; nil if there is no such node
function Space:radius(id, node_id) end

--- Whether an entity is in the space.
---@param id integer
---@return boolean
function Space:has(id) end

--- How many entities there are.
---@return integer
function Space:count() end

--- All entities.
---@param buf? integer[] a table to fill
---@return integer[] list ids; only `list[1..n]` is meaningful
---@return integer n
function Space:ids(buf) end

--- The nodes of an entity.
---@param id integer
---@param buf? integer[] a table to fill
---@return integer[] list node ids; only `list[1..n]` is meaningful
---@return integer n
function Space:nodes(id, buf) end

--- Figures.
---@return aoi.Stats
function Space:stats() end

--- Verifies every invariant and compares with brute force: for tests. Raises a description of what is wrong.
---@return boolean
function Space:check() end

--- Frees everything now, without events. Closing twice is harmless.
function Space:close() end

return aoi
