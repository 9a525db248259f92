--- One world over many services and processes: what `aoi.world` of aoi.skynet takes and returns; docs/world.md.
--- @module aoi.skynet.world
---@meta aoi.skynet.world

-- luacheck: ignore 212 241

--- What `aoi.world` takes.
---@class aoi.WorldOptions
---@field name string in all processes
---@field size? number|number[] world units: the side of the square of regions from the origin, or its x0, y0, x1, y1
---@field reach? number world units: no area reaches farther
---@field extent? number world units: the largest extent of an entity, 0
---@field shards? integer|integer[]|fun(column: integer, row: integer): integer a number, columns and rows, or by tile
---@field node? string the name of this process in the cluster
---@field nodes? table<string, integer> shards by process; the process that gives them is the director
---@field director? string the name of the process to ask for all other options
---@field tile? number world units: a power of two
---@field hysteresis? number world units: so far an entity may leave its shard's region
---@field interval? integer hundredths of a second per epoch, 10
---@field heartbeat? number seconds for which failed calls to a process are repeated, 5
---@field silence? number seconds without an answer after which a process counts as dead, 0: never
---@field window? integer messages that a client may leave without acknowledgement, 32
---@field engine? string as in `aoi.new`
---@field dimensions? integer 2 or 3
---@field cell? number world units: as in `aoi.new`
---@field quantum? number world units, of client views
---@field fields? aoi.Field[] of client views
---@field sight? boolean the world has walls
---@field journal? string a path: each shard writes what it accepts
---@field restore? fun(shard: integer): string? the bytes of a snapshot, nil for shard 1: there is none

--- A world: the methods of a map of `aoi.open`, and these.
---@class aoi.World : aoi.skynet.Map
local World = {}

--- Waits for an epoch that takes what this client has sent.
---@return integer events received meanwhile
function World:tick() end

--- The shard that owns an entity, and the process where that is.
---@param id integer
---@return integer shard
---@return string? process
function World:where(id) end

--- The last epoch that was reported to this client.
---@return integer epoch
function World:epoch() end

--- Calls `save` for each shard with what it has at the end of one epoch.
---@param save fun(shard: integer, epoch: integer, bytes: string)
---@return integer epoch
function World:snapshot(save) end

--- The grid of tiles, and whose they are.
---@class aoi.Tiles
---@field tile number their side, in world units
---@field column integer of the first tile: its corner is at column * tile, row * tile
---@field row integer
---@field columns integer
---@field rows integer
---@field owners integer[] the shard of each tile, row by row

--- Whose tiles are whose now.
---@return aoi.Tiles
function World:tiles() end

--- Numbers of the barrier, of this client and of each shard.
---@return table<string, table> info
function World:info() end
