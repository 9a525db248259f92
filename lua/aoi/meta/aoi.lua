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

--- Kind of an event in what `Space:drain` returns: the target came in.
---@type integer
aoi.ENTER = nil

--- Kind of an event in what `Space:drain` returns: the target left.
---@type integer
aoi.LEAVE = nil

--- Kind of an event in what `Space:drain` returns: the target went through, see aoi.Handlers.
---@type integer
aoi.CROSS = nil

--- The version of the core that is loaded: "1.0.0".
---@type string
aoi.VERSION = nil

--- Makes a space.
---@param options? aoi.Options
---@return aoi.Space
function aoi.new(options) end

--- What `aoi.load` takes beside the bytes; all else is in them.
---@class (exact) aoi.LoadOptions
---@field engine? aoi.Engine to load it into; without it the one that it was in

--- A new space that is the one that `Space:save` has saved; nothing is delivered. docs/snapshot.md says what is in it.
---@param bytes string any others than those of `save` are an error that says what is wrong
---@param handlers? fun(id: integer, node_id: integer): function|aoi.Handlers?, function? what `add_node` would take
---@param options? aoi.LoadOptions
---@return aoi.Space
function aoi.load(bytes, handlers, options) end

--- The engines there are.
---@return aoi.Engine[]
function aoi.engines() end

--- `space:drain(buf)`, and why: `reasons[i]` is the reason given to `Space:leave` (0 without one) if the ith event is a
--- leave that this made, t of a crossing, else nil.
---@param space aoi.Space
---@param buf? integer[] a table to fill
---@param reasons? table<integer, number> a table to fill; its other numbers go
---@return integer[] buf `kind, watcher, target, node_id, ...`
---@return integer n how many events
---@return table<integer, number> reasons
function aoi.drain_reasons(space, buf, reasons) end

--- Watches a whole space without being in it, for viewers: `aoi.viewer` is made of it.
---@param space aoi.Space
---@param options? aoi.ObserverOptions
---@return aoi.Observer
function aoi.observe(space, options) end

--- The module `aoi.journal`, which `require "aoi.journal"` completes: what was, call by call.
---@type table
aoi.journal = nil

--- The module `aoi.history`, too: where everything was some ticks ago.
---@type table
aoi.history = nil

--- The module `aoi.sight`, too: walls, and what nodes see past them.
---@type table
aoi.sight = nil

--- The module `aoi.sync`, too: what each client must be sent, as bytes ready to be sent.
---@type table
aoi.sync = nil

return aoi
