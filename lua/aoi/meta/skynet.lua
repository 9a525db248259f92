---@meta aoi.skynet

-- luacheck: ignore 212 241

--- The client library of the AOI service, for skynet services. docs/skynet.md has the whole.
---@class aoi.skynet
local skynet = {}

---@class aoi.skynet.StartOptions
---@field interval? integer 1/100 s between two ticks, 10 by default; 0: only maps that drive make ticks
---@field window? integer messages that a subscriber may leave unacknowledged, 32 by default
---@field max_message? integer bytes, 1 MB by default
---@field heartbeat? number seconds, 5 by default
---@field silence? number seconds of silence after which a client is dropped; 0: three heartbeats if it is far away
---@field viewer? integer a port of 127.0.0.1

---@class aoi.skynet.OpenOptions
---@field engine? aoi.Engine
---@field dimensions? 2|3
---@field cell? number world units
---@field quantum? number world units, of client views
---@field fields? aoi.Field[] of client views
---@field riders? boolean client views know a passenger only with its carrier, as in `aoi.sync`
---@field drive? boolean `flush` is the space's tick
---@field sight? boolean the space has walls
---@field interval? integer of a local space, 1/100 s

---@class aoi.skynet.NodeOptions
---@field positions? boolean enters bring kind and position
---@field to? integer address of the service that receives the events
---@field sight? boolean walls hide from it; the map was opened with `sight`
---@field linger? integer of a node with `sight`: ticks by which every leave is delayed; 0 by default

---@class aoi.skynet.ViewOptions
---@field limit? integer known at a time
---@field bytes? integer longest message
---@field tiers? aoi.Tier[]
---@field team? integer it gets fields with `to = "team"` of entities of that team
---@field fd? integer handed to `on_client`
---@field to? integer address of the service that gets the messages

--- Starts a service; returns its address.
---@param options? aoi.skynet.StartOptions
---@return integer
function skynet.start(options) end

--- Ends the service: its clients get their last events, and their maps are closed.
---@param service integer
function skynet.stop(service) end

--- A map: a space of the service at that address or name, of that name in another process ("node@name"), or "local".
---@param service integer|string
---@param name string|integer
---@param options? aoi.skynet.OpenOptions
---@return aoi.skynet.Map
function skynet.open(service, name, options) end

--- Figures of the client library for that service; nil if it has none.
---@param service integer
---@return table<string, number>?
function skynet.info(service) end

--- What a space has, and in addition:
---@class aoi.skynet.Map : aoi.Space
---@field name string|integer
---@field dimensions integer
---@field closed boolean
local Map = {}

--- The moves since the last flush go out as one message; with rows, these are moved first.
---@param rows? number[] flat: id, x, y [, z]
---@param n? integer how many rows, all without it; may be left out before `bad`
---@param bad? fun(row: integer, id: any, reason: string) a row that is none is left out; called for each after sending
function Map:flush(rows, n, bad) end

--- A tick now; returns the number of events.
---@return integer
function Map:tick() end

--- What a node of this map sees after the messages so far.
---@param id integer
---@param node integer
---@param buf? integer[]
---@return integer[], integer
function Map:seen(id, node, buf) end

--- Handlers of nodes that others add for this service.
---@param handlers table
function Map:listen(handlers) end

---@param how "order"|"free"
function Map:handlers_wait(how) end

---@param id integer
---@param area number|aoi.Area half-extent of a square in world units, or a table as for `Space:add_node`
---@param options? aoi.skynet.ViewOptions
function Map:add_client(id, area, options) end

---@param id integer
function Map:remove_client(id) end

--- Another area for part `i` of a client view; exactly the difference is news.
---@param id integer
---@param i integer from 1 on
---@param area number|aoi.Area half-extent of a square in world units, or a table as for `Space:add_node`
function Map:set_view(id, i, area) end

--- Changes the options that are named; with another `to` the picture starts over there.
---@param id integer
---@param options aoi.skynet.ViewOptions
function Map:set_client(id, options) end

--- A field of `fields`, for client views.
---@param id integer
---@param name string
---@param value any
function Map:put(id, name, value) end

---@param id integer
---@param name string
---@return any
function Map:get(id, name) end

--- What client views know first; with `client` for that entity's view alone.
---@param id integer the target
---@param priority? number > 0, without a unit (no world units); nil with `client`: as for all
---@param client? integer
function Map:set_priority(id, priority, client) end

--- The team of an entity, for fields with `to = "team"`; that of a client view is its option `team`.
---@param id integer
---@param team? integer 0 or nil: none
function Map:set_team(id, team) end

---@class aoi.skynet.Login
---@field id integer
---@field x number world units
---@field y number world units
---@field z? number world units, in three dimensions
---@field kind? integer|aoi.Looks as in `Space:enter`: 1 by default
---@field nodes? table[] each what `add_node` takes behind the id: node, area, handlers [, options]
---@field view? table what `add_client` takes behind the id: area [, options]
---@field take_over? boolean an entity that is there is taken over: this replaces what its owner had on it

--- A login in one request: enters, with nodes and a client view; all of it, or an error and nothing. Returns its place.
---@param entity aoi.skynet.Login
---@return number x world units
---@return number y
---@return number? z
function Map:join(entity) end

--- Addresses of the services that know an entity.
---@param id integer
---@param buf? integer[]
---@return integer[], integer
function Map:knowers(id, buf) end

--- To the services that know it; returns how many.
---@param id integer
---@param bytes string
---@return integer
function Map:broadcast(id, bytes) end

--- Adds a shut wall, as `Sight:wall`. In a world it is there when this returns, in all shards with one epoch.
---@param x1 number world units
---@param y1 number world units
---@param x2 number world units
---@param y2 number world units
---@param z0? number world units, in 3D: the lowest height that it hides, inclusive; any without it
---@param z1? number world units, in 3D: the highest
---@return integer wall
function Map:wall(x1, y1, x2, y2, z0, z1) end

--- Many walls in one request: all rows, or an error and none.
---@param rows number[] flat: x1, y1, x2, y2, in 3D also z0, z1
---@param buf? integer[]
---@return integer[] ids
---@return integer n
function Map:wall_many(rows, buf) end

--- Opens a door, as `Sight:open_wall`. In a world it is open in all shards when this returns.
---@param wall integer
function Map:open_wall(wall) end

---@param wall integer
function Map:shut_wall(wall) end

---@param wall integer
function Map:remove_wall(wall) end

--- A wall as it was given; nothing where there is none.
---@param wall integer
---@return number? x1 world units
---@return number? y1 world units
---@return number? x2 world units
---@return number? y2 world units
---@return boolean? open
---@return number? z0 world units, in 3D
---@return number? z1 world units, in 3D
function Map:get_wall(wall) end

---@param buf? integer[]
---@return integer[], integer
function Map:walls(buf) end

--- As `Sight:ray`.
---@param x0 number world units
---@param y0 number world units
---@param x1 number world units
---@param y1 number world units
---@param z0? number world units, in 3D: of the six numbers the fifth
---@param z1? number world units, in 3D: the sixth
---@return integer? wall
---@return number? x world units
---@return number? y world units
---@return number? z world units
function Map:ray(x0, y0, x1, y1, z0, z1) end

--- The entity is this map's from now on: its former service may only ask about it. Returns where it is.
---@param id integer
---@return number x world units
---@return number y
---@return number? z
function Map:take_over(id) end

---@param f? fun(err: any, watcher: integer, target: integer, node: integer)
function Map:on_error(f) end

---@param f? fun(ids: integer[], n: integer)
function Map:on_refused(f) end

---@param f? fun()
function Map:on_resync(f) end

---@param f? fun(reason: string)
function Map:on_close(f) end

---@param f? fun(id: integer, bytes: string, fd: integer?)
function Map:on_client(f) end

---@param f? fun(bytes: string, target: integer, ids: integer[], n: integer)
function Map:on_broadcast(f) end

---@param f? fun(id: integer)
function Map:on_taken(f) end

--- What a gate receives from all spaces of its service; the functions are those of a map.
---@class aoi.skynet.Gate
---@field closed boolean
local Gate = {}

---@param f? fun(id: integer, bytes: string, fd: integer?)
function Gate:on_client(f) end

---@param f? fun(bytes: string, target: integer, ids: integer[], n: integer)
function Gate:on_broadcast(f) end

---@param f? fun()
function Gate:on_resync(f) end

---@param f? fun(err: any, watcher: integer, target: integer, node: integer)
function Gate:on_error(f) end

---@param f? fun(reason: string)
function Gate:on_close(f) end

---@param handlers table
function Gate:listen(handlers) end

---@param how "order"|"free"
function Gate:handlers_wait(how) end

--- Those that have named it get `on_view_lost`.
function Gate:close() end

--- Makes the caller a gate: it receives the events of all nodes and client views, in any map of that service, that name
--- it with `to`.
---@param service integer|string
---@return aoi.skynet.Gate
function skynet.gate(service) end

--- The service that a node or, without `node`, the client view of the entity named with `to` is gone, or the entity has
--- been taken over from it; they have ended.
---@param f? fun(id: integer, node: integer?)
function Map:on_view_lost(f) end

return skynet
