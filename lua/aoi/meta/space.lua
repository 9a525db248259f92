--- Spaces: the map or scene that holds entities and their areas. `aoi.new` makes one.
--- @module aoi.space
---@meta _

-- luacheck: ignore 212 241 631

--- What sets aside the rule for one target: never seen, seen wherever both are, or seen as if kind and mask met.
---@alias aoi.How "hide"|"show"|"match"

--- Why a node sees a target or not: the first that applies.
---@alias aoi.Why "no watcher"|"no node"|"no target"|"self"|"hidden"|"shown"|"mask"|"layers"|"inside"|"kept"|"outside"

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
---@field facing? number of the node's sector, radians
---@field kind? integer of the target
---@field mask? integer of the node
---@field layers? integer of the target
---@field node_layers? integer of the node: its own, or its owner's
---@field extent? number of the target, world units
---@field offset? number[] of the node's area, world units
---@field label? string of the node

--- Handlers of nodes: the fields are looked up at each event, and any number of nodes may share one table.
---@alias aoi.Handler fun(watcher: integer, target: integer, node_id: integer, reason: integer?)
---@class (exact) aoi.Handlers
---@field enter? aoi.Handler
---@field leave? aoi.Handler
---@field cross? fun(watcher: integer, target: integer, node_id: integer, t: number) a target that was not seen at the
--- last delivery and is not now was inside on its way, first at t, 0 < t < 1: docs/reference.md. A node gets it only if
--- the table has it when the node is added, and not if its area is `outside`

--- What an entity enters with.
---@class (exact) aoi.Looks
---@field kind? integer kind bits, 1 without it
---@field layers? integer bits, 1 without it
---@field extent? number world units, 0 without it
---@field fields? table<string, boolean|number|string> values by name, put in every `aoi.sync` of the space that has the field

--- What `Space:stats` returns. An engine may count more.
---@class (exact) aoi.Stats
---@field entities integer
---@field nodes integer
---@field events integer delivered so far
---@field pending integer waiting
---@field memory integer bytes held by the core
---@field candidates integer pairs that were examined
---@field steps integer list or cell entries that were walked
---@field pairs integer pairs of node and target with a state of their own: between two borders, or overridden
---@field cells integer cells, tiles, towers or quadrants that exist now
---@field levels integer sizes of cells that are in use

--- A map or scene. `#space` is `space:count()`.
---@class aoi.Space
---@operator len: integer
local Space = {}

--- An entity enters.
---@param id integer any; on Lua 5.1, 5.2 and LuaJIT within 2^53
---@param x number world units
---@param y number world units
---@param z number world units; only in 3D
---@param kind? integer|aoi.Looks kind bits, 1 without it; no node sees kind 0; or a table, so that nothing is seen for a moment
---@overload fun(self: aoi.Space, id: integer, x: number, y: number, kind?: integer|aoi.Looks)
function Space:enter(id, x, y, z, kind) end

--- An entity moves, any distance.
---@param id integer
---@param x number world units
---@param y number world units
---@param z? number world units; only in 3D
function Space:move(id, x, y, z) end

--- A move that is no way, a teleport: until the next delivery the entity and its passengers cross nothing, and nothing
--- crosses their nodes.
---@param id integer
---@param x number world units
---@param y number world units
---@param z? number world units; only in 3D
function Space:jump(id, x, y, z) end

--- An entity leaves, with all its nodes. Every node that saw it, and each node of its own for each of its targets, gets
--- a leave event.
---@param id integer
---@param reason? integer why, 0 to 255, of your own choice, 0 without it: the fourth argument of the leave handlers that
--- this calls, and `reasons` of what `aoi.sync.read` returns
function Space:leave(id, reason) end

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
---@param n? integer how many of `seen`, all without it; may be left out, also where handlers follow; nil is left out, too
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
--- sees is not reported again.
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
--- of one player alone. It ends when the node, the watcher or the target goes.
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

--- Puts an entity on layers: floors, phases, instances that overlap. Besides kind and mask, a node sees a target only if
--- their layers share a bit. A node has its owner's layers unless its area has `layers`. Exactly the difference in events.
---@param id integer
---@param layers integer bits; an entity is on the first, 1, without this
---@param passengers? boolean true: those of its passengers, too, and theirs
function Space:set_layers(id, layers, passengers) end

--- Gives the entity a size. Every area is tested as if enlarged by it, as by a margin; `near` and `sweep` too. Polygons and
--- infinite radii are not enlarged. For a few per cent of the entities: more will be slow. Exactly the difference in events.
---@param id integer
---@param extent number world units; 0 without this; below zero areas shrink, and are empty where r + extent < 0
function Space:set_extent(id, extent) end

--- Makes `id` a passenger: its position is the carrier's plus the offset, one addition per coordinate, now and with every
--- move of the carrier, in the same call and delivery. A passenger may carry others, 16 entities in a chain at most. Moving
--- a passenger is an error. With `nil`, or when the carrier leaves, it is no passenger any more and stays where it is.
---@param id integer the passenger
---@param carrier integer? another entity; nil: let go
---@param dx? number world units, 0 without it
---@param dy? number world units
---@param dz? number world units; only in 3D
function Space:attach(id, carrier, dx, dy, dz) end

--- Moves many at once. The events are the net change over the whole batch; all rows are checked before the first one
--- is applied.
---@param t number[] rows: `id, x, y [, z], id, x, y [, z], ...`
---@param n? integer how many rows, all without it; may be left out before `bad`
---@param bad? fun(row: integer, id: any, reason: string) a row that would be refused is left out; called for each such
--- row after the batch has been made and its events delivered
function Space:move_many(t, n, bad) end

--- Enters many at once.
---@param t number[] rows: `id, x, y [, z], id, x, y [, z], ...`
---@param n? integer how many rows, all without it; without a third argument all of them, too
---@param kind? integer|aoi.Looks kind bits of all of them, 1 without it; or the table of `enter`
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

--- Installs a handler for errors in event handlers; without one they are raised from the call that was delivering.
---@param f? fun(err: any, watcher: integer, target: integer, node: integer, traceback: string) nil takes it away again
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

--- The entities inside an area put at a place, whatever nodes there are. Without `mask` and a mask of the area, entities of
--- any kind, 0 included.
---@param x number world units, the centre
---@param y number world units
---@param z number world units; only in 3D
---@param area number|aoi.Area half-extent of a square in world units, or the table
---@param mask? integer kind bits; instead of the area's
---@param buf? integer[] a table to fill
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
---@overload fun(self: aoi.Space, x: number, y: number, area: number|aoi.Area, mask?: integer, buf?: integer[]): integer[], integer
function Space:near(x, y, z, area, mask, buf) end

--- The answers of `near` for many places in one call.
---@param rows number[] flat: `x, y, [z,] x, y, [z,] ...`
---@param area number|aoi.Area half-extent of a square in world units, or the table
---@param mask? integer kind bits; instead of the area's
---@param buf? integer[] a table to fill with ids
---@param ends? integer[] another one
---@return integer[] list ids, those of the first row first; `list[n + 1]` is nil
---@return integer n
---@return integer[] ends `ends[i]`: the index in the list of the last id of row i, that of the row before if it has none
function Space:near_many(rows, area, mask, buf, ends) end

--- The entities that are nearest to a place, nearest first by `dx*dx + dy*dy (+ dz*dz)`, equal ones by id. Costs what
--- the neighbourhood costs.
---@param x number world units
---@param y number world units
---@param z number world units; only in 3D
---@param n integer how many at most, >= 0
---@param radius? number world units: none farther than that
---@param mask? integer kind bits; any kind without it, 0 included
---@param buf? integer[] a table to fill
---@param options? { least: number?, except: integer? } none nearer than `least`, and not that id; may take the place of any that
--- is optional
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
---@overload fun(self: aoi.Space, x: number, y: number, n: integer, radius?: number, mask?: integer, buf?: integer[]): integer[], integer
function Space:nearest(x, y, z, n, radius, mask, buf, options) end

--- What a ball touches on its way from one place to another, and when: bullets, dashes. Ascending by time, then id; a
--- target that it touches at the start has time 0. Costs about what `near` costs of the box of the whole way.
---@param x0 number world units, where its centre starts
---@param y0 number world units
---@param z0 number world units; only in 3D
---@param x1 number world units, where it ends
---@param y1 number world units
---@param z1 number world units; only in 3D
---@param radius number world units, >= 0
---@param mask? integer kind bits; any kind without it, 0 included
---@param buf? number[] a table to fill
---@return number[] list pairs: `id, t, ...` with t from 0 to 1; nil behind the last
---@return integer n how many pairs
---@overload fun(self: aoi.Space, x0: number, y0: number, x1: number, y1: number, radius: number, mask?: integer, buf?: number[]): number[], integer
function Space:sweep(x0, y0, z0, x1, y1, z1, radius, mask, buf) end

--- What `override` has set for a node.
---@param id integer
---@param node_id integer
---@param buf? table a table to fill
---@return table list pairs: `target, how, ...`; nil behind the last
---@return integer n how many pairs
function Space:overrides(id, node_id, buf) end

--- The area of a node: a new table that `set_area` would take to make the very same one. The `margin` of a square or a
--- circle comes back as `keep`.
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

--- The layers of an entity.
---@param id integer
---@return integer? layers bits; nil if there is no such entity
function Space:layers(id) end

--- How large an entity is.
---@param id integer
---@return number? extent world units; nil if there is no such entity
function Space:extent(id) end

--- What an entity is attached to.
---@param id integer
---@return integer? carrier nil if it is attached to nothing, or there is no such entity
function Space:carrier(id) end

--- What is attached to an entity itself.
---@param id integer
---@param buf? integer[] a table to fill
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Space:passengers(id, buf) end

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

--- Whether an entity has such a node.
---@param id integer
---@param node_id integer
---@return boolean
function Space:has_node(id, node_id) end

--- The dimensions of the space.
---@return integer dimensions 2 or 3
function Space:dimensions() end

--- Whether the space is not closed; no error after `close`.
---@return boolean
function Space:is_open() end

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

--- The whole space as bytes, for `aoi.load`: what there is, what every node sees, events that wait. The same bytes on
--- every machine for the same calls. Handlers are not in it, nor the views of clients.
---@return string bytes
function Space:save() end

--- Compares what has been reported with brute force: for tests. Raises a description of what is wrong.
---@return boolean
function Space:check() end

--- Frees everything now, without events. Closing twice is harmless.
function Space:close() end
