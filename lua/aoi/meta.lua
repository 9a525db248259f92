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
--- A square node of half-extent `r` at `w` sees a target at `t` if and only if `w - r <= t and t <= w + r` on every
--- axis in doubles, the target is not the watcher, and a bit of the target's kind is in the node's mask. Other shapes
--- have formulas of their own (aoi.Area); for one target the rule can be set aside (`Space:override`).
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

--- Shapes: what is inside, with `d` = target - watcher, all bounds inclusive. A field that the shape has no use for is
--- an error.
---
--- * `square` (default; in 3D a cube): on every axis `w - radius <= t and t <= w + radius`
--- * `circle` (in 3D a sphere): `dx*dx + dy*dy (+ dz*dz) <= radius*radius`
--- * `box`: on every axis `w - e <= t and t <= w + e`, with `extents = { ex, ey [, ez] }`
--- * `cylinder` (3D only): a circle in the plane, and `w - half_height <= t and t <= w + half_height` for the heights
--- * `sector`: of a circle in the plane, `dx*cos(facing) + dy*sin(facing) >= cos(angle / 2) * sqrt(dx*dx + dy*dy)`
--- * `polygon`: even-odd, of either winding, sides may cross; corners relative to the watcher
---
--- Sector and polygon have any height without `half_height`.
---@alias aoi.Shape "square"|"circle"|"box"|"cylinder"|"sector"|"polygon"

--- An area of interest. It is read when it is given: changing the table later changes nothing.
---@class (exact) aoi.Area
---@field shape? aoi.Shape square without it
---@field radius? number world units, >= 0; in squares and circles it may be `math.huge`, which sees the whole space
---@field keep? number squares and circles, instead of `margin`: the leave radius itself in world units, >= radius
---@field margin? number world units, >= 0; what it sees it loses only outside the area grown by it; not for polygons
---@field mask? integer bits of the kinds it looks for, all without it
---@field extents? number[] box: half-extents in world units, one for each axis
---@field half_height? number world units; cylinder, and in 3D sector and polygon
---@field facing? number radians; sector: 0 is along +x, counter-clockwise
---@field angle? number radians; sector: the whole opening, > 0 and at most 2 pi
---@field points? number[] polygon: `x1, y1, x2, y2, ...` in world units, 3 to 64 corners

--- What sets aside the rule for one target: never seen, seen wherever both are, or seen as if kind and mask met.
---@alias aoi.How "hide"|"show"|"match"

--- Why a node sees a target or not: the first that applies.
---@alias aoi.Why "no watcher"|"no node"|"no target"|"self"|"hidden"|"shown"|"mask"|"inside"|"kept"|"outside"

--- What `Space:explain` returns. `tostring` of it is one English sentence. Without watcher, node or target there are no
--- figures.
---@class aoi.Explanation
---@field watcher integer
---@field node integer
---@field target integer
---@field sees boolean
---@field why aoi.Why
---@field pending boolean an event about the pair waits
---@field dx? number world units, target - watcher
---@field dy? number world units
---@field dz? number world units, in 3D
---@field distance? number world units
---@field shape? aoi.Shape
---@field kind? integer of the target
---@field mask? integer of the node

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
---@param area number|aoi.Area half-extent of a square in world units, or the table
---@param on_enter? aoi.Handler|aoi.Handlers one function for entering, or a table with both
---@param on_leave? aoi.Handler
function Space:add_node(id, node_id, area, on_enter, on_leave) end

--- `add_node` with a past: the node counts as having seen the ids in `seen` (a hand-over, a restart), and only the
--- differences are events: an enter for what it sees and `seen` lacks, a leave for what `seen` names and the node does
--- not see. Ids of no entity are legal and give a leave.
---@param id integer
---@param node_id integer
---@param area number|aoi.Area half-extent of a square in world units, or the table
---@param seen integer[] ids; repeated ones count once
---@param n? integer how many of `seen`; up to its first nil without it
---@param on_enter? aoi.Handler|aoi.Handlers
---@param on_leave? aoi.Handler
function Space:adopt(id, node_id, area, seen, n, on_enter, on_leave) end

--- Removes an area of interest; leave events for all it saw.
---@param id integer
---@param node_id integer
function Space:remove_node(id, node_id) end

--- Changes the size of a square or a circle, with exactly the difference in events.
---@param id integer
---@param node_id integer
---@param radius number half-extent in world units, >= 0, may be `math.huge`
---@param keep? number leave radius in world units, >= radius; the same without it
function Space:set_radius(id, node_id, radius, keep) end

--- Gives a node another area, shape and mask included, with exactly the difference in events: what it saw and still
--- sees is not told again.
---@param id integer
---@param node_id integer
---@param area number|aoi.Area half-extent of a square in world units, or the table
function Space:set_area(id, node_id, area) end

--- Turns a sector, with exactly the difference in events.
---@param id integer
---@param node_id integer
---@param facing number radians, 0 is along +x, counter-clockwise
function Space:set_facing(id, node_id, facing) end

--- Sets aside the rule for one target of a node, with exactly the difference in events: stealth, party members, objects
--- of one player alone. It ends when the node, the watcher or the target goes. Costs nothing to nodes without.
---@param id integer the watcher
---@param node_id integer
---@param target integer another entity
---@param how? aoi.How nil: as the rule says
function Space:override(id, node_id, target, how) end

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
---@return integer[] buf 4 * n items; nil behind the last
---@return integer n how many events
function Space:drain(buf) end

--- Takes the errors of handlers; without it they are raised from the call that was delivering.
---@param f? fun(err: any, watcher: integer, target: integer, node_id: integer) nil takes it away again
function Space:on_error(f) end

--- The targets that a node sees now.
---@param id integer
---@param node_id integer
---@param buf? integer[] a table to fill
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Space:view(id, node_id, buf) end

--- The nodes that see an entity now.
---@param id integer
---@param buf? integer[] a table to fill
---@return integer[] list pairs: `watcher, node_id, ...`; nil behind the last
---@return integer n how many pairs
function Space:viewers(id, buf) end

--- The entities inside an area put at a place, whatever nodes there are: of any kind, 0 included, where neither `mask`
--- nor the area's own says which.
---@param x number world units, the centre
---@param y number world units
---@param z number world units; only in 3D
---@param area number|aoi.Area half-extent of a square in world units, or the table
---@param mask? integer kind bits; instead of the area's
---@param buf? integer[] a table to fill
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
---@overload fun(self: aoi.Space, x: number, y: number, area: number|aoi.Area, m?: integer, b?: table): table, integer
function Space:near(x, y, z, area, mask, buf) end

--- The entities that are nearest to a place, nearest first by `dx*dx + dy*dy (+ dz*dz)`, equal ones by id. Costs what
--- the neighbourhood costs.
---@param x number world units
---@param y number world units
---@param z number world units; only in 3D
---@param n integer how many at most, >= 0
---@param radius? number world units: none farther than that
---@param mask? integer kind bits; any kind without it, 0 included
---@param buf? integer[] a table to fill
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
---@overload fun(self: aoi.Space, x: number, y: number, n: integer, r?: number, m?: integer, b?: table): table, integer
function Space:nearest(x, y, z, n, radius, mask, buf) end

--- What `override` has set for a node.
---@param id integer
---@param node_id integer
---@param buf? table a table to fill
---@return table list pairs: `target, how, ...`; nil behind the last
---@return integer n how many pairs
function Space:overrides(id, node_id, buf) end

--- The area of a node: a new table that `set_area` would take to make the very same one. Of squares and circles a
--- `margin` comes back as `keep`.
---@param id integer
---@param node_id integer
---@return aoi.Area? area nil if there is no such node
function Space:area(id, node_id) end

--- Why a node sees a target or not. Any of the three may be missing.
---@param id integer
---@param node_id integer
---@param target integer
---@return aoi.Explanation
function Space:explain(id, node_id, target) end

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
---@return number? radius world units; nil if there is no such node, or it is a box or a polygon
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
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Space:ids(buf) end

--- The nodes of an entity.
---@param id integer
---@param buf? integer[] a table to fill
---@return integer[] list node ids: `list[1..n]`; `list[n + 1]` is nil
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

-- Client synchronisation: `require "aoi.sync"` ------------------------------------------------------------------------

--- The module `aoi.sync`, too: what each client must be told, as bytes ready to be sent.
---@type table
aoi.sync = nil

--- Bytes ready to be sent; docs/sync-wire.md has the format, js/aoi-sync.js a decoder.
---@alias aoi.Message string

--- Up to `distance` world units away, updates in every `ticks`-th tick.
---@alias aoi.Tier number[]

--- What a client is told when not everything. `false` in `Sync:set` takes an option away.
---@class aoi.ClientOptions
---@field limit? integer|false known at a time: pinned ones besides, then by priority, then the nearest; a known one
--- stays until one of higher priority, or at least a tenth nearer, needs the room
---@field bytes? integer|false longest message: what is gone, then what appears, then updates, most urgent first
---@field tiers? aoi.Tier[]|false `{ { 20, 1 }, { 50, 4 } }`, by rising distance; beyond the last as in the last

--- What `aoi.sync.new` takes: `quantum`, and what clients without options of their own have.
---@class aoi.SyncOptions: aoi.ClientOptions
---@field quantum? number world units: positions are told as `quantum * floor(v / quantum + 0.5)`; without, as floats

--- What a message says: flat arrays, `n` rows each, to be applied in this order.
---@class aoi.News
---@field gone integer[] id
---@field appeared number[] in world units but for the first two: id, kind, x, y [, z]
---@field moved number[] in world units but for the first: id, x, y [, z]
---@field touched integer[] id, kind

local sync = {}

--- A synchroniser of a space, which may have several. It ends with the space, or when nothing reaches it any more.
---@param space aoi.Space
---@param options? aoi.SyncOptions
---@return aoi.Sync
function sync.new(space, options) end

--- Decodes a message. Nothing is written if it is refused.
---@param message aoi.Message
---@param into? aoi.News a table to fill, whose arrays are used again
---@return aoi.News? news nil for any other bytes
---@return string? why
function sync.read(message, into) end

--- Clients of one space. A tick is the delivery for their views, whatever the space's; their events go nowhere else.
---@class aoi.Sync
local Sync = {}

--- The entity becomes a client with that view. It ends with the entity's life.
---@param id integer
---@param area number|aoi.Area half-extent of a square in world units, or a table as for `Space:add_node`
---@param options? aoi.ClientOptions
function Sync:add(id, area, options) end

--- It is a client no longer, and is told nothing more.
---@param id integer
function Sync:remove(id) end

--- Changes the options that are named.
---@param id integer
---@param options aoi.ClientOptions
function Sync:set(id, options) end

--- The client has reconnected and knows nothing: the next tick tells it everything.
---@param id integer
function Sync:resend(id) end

--- The node that is the client's view, for `Space:set_area`, `Space:set_mask`, `Space:override` and others.
---@param id integer
---@return integer node_id
function Sync:node(id) end

--- Of a target, for all clients: its rank before all distance, and its urgency. Ends with its life.
---@param target integer
---@param priority number > 0, without a unit; 1 is that of all others (world units do not come into it)
function Sync:set_priority(target, priority) end

--- Always known while both are in the space, whatever the distance, mask and limit: party members.
---@param id integer
---@param target integer
function Sync:pin(id, target) end

--- No longer. Nothing happens to a target that is not pinned, or is gone.
---@param id integer
---@param target integer
function Sync:unpin(id, target) end

--- Its state of yours has changed: the next tick flags it for every client that knows it. `Space:set_kind` does so by
--- itself.
---@param target integer
function Sync:touch(target) end

--- Whether the target is in the client's picture, as of its last message.
---@param id integer
---@param target integer
---@return boolean
function Sync:knows(id, target) end

--- The client's picture.
---@param id integer
---@param buf? integer[] a table to fill
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Sync:known(id, buf) end

--- The clients that know a target: where to send a chat line or a skill's effect. Costs what reading a list costs.
---@param target integer
---@param buf? integer[] a table to fill
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Sync:knowers(target, buf) end

--- One tick: calls `f` once for each client with news. It may do anything; an error is raised from here, its message
--- counts as sent, and the other clients are told by the next tick.
---@param f fun(id: integer, message: aoi.Message)
---@return integer messages
---@return integer bytes
function Sync:tick(f) end

--- Ends all clients now. Closing twice is harmless.
function Sync:close() end

return aoi
