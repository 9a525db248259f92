--- Looking at a space: pages of recordings, a live page, and what both are made of.
--- @module aoi.viewer
---@meta aoi.viewer

-- luacheck: ignore 212 241

local viewer = {}

--- What `aoi.viewer.serve` takes.
---@class (exact) aoi.ViewerOptions
---@field port? integer 8642 without it; 0: any free one
---@field address? string 127.0.0.1 without it; with one that is open to others `token` is needed
---@field token? string 8 or more letters, digits, - or _; the page's address then ends in `?token=`
---@field interval? number seconds between two frames at least, 0.1 without it; longer for crowds
---@field title? string

--- Shows a running space in a browser; needs LuaSocket. It is read only and costs nothing while no page is open.
---@param space aoi.Space
---@param options? aoi.ViewerOptions
---@return aoi.ViewerServer? server with `url` and `port`; nil where the port cannot be had
---@return string? why
function viewer.serve(space, options) end

--- A live page's server.
---@class aoi.ViewerServer
local ViewerServer = {}

--- Does what is to be done now, and never waits: once in each loop of the host. Only a closed server is an error; where
--- the space is closed, pages are told so.
---@return integer watchers how many pages look
function ViewerServer:poll() end

--- Ends it. Closing twice is harmless.
function ViewerServer:close() end

--- Blocks of bytes; docs/viewer-wire.md has the format.
---@alias aoi.Blocks string

--- What `aoi.observe` takes.
---@class (exact) aoi.ObserverOptions
---@field quantum? number world units: positions are in whole quanta, as `aoi.sync` does; without, as floats
---@field exact? boolean positions that do not come back from that exactly are doubles
---@field events? integer so many of the events that are delivered between two calls are written; all are counted
---@field share? integer of all nodes one in so many is looked at in a call, in turn; all of them without it

--- Tells what a space is and how it changes. Nothing that the space answers or delivers is otherwise.
---@class aoi.Observer
local Observer = {}

--- What has changed since the last call; all there is at the first one. Costs some ten nanoseconds an entity or node.
---@return aoi.Blocks? blocks nil where nothing has changed
function Observer:changes() end

--- The next `changes` has everything again.
function Observer:restart() end

--- What the engine's index is made of within a rectangle.
---@param x0 number world units, like all others
---@param y0 number world units
---@param x1 number world units
---@param y1 number world units
---@param most? integer parts, all without it; the others are counted
---@param x? number world units: the entries of parts around this place alone
---@param y? number world units
---@return aoi.Blocks blocks
function Observer:structure(x0, y0, x1, y1, most, x, y) end

--- Ends it. Closing twice is harmless.
function Observer:close() end
