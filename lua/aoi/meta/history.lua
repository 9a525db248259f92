--- Where everything was some ticks ago: lag compensation, replays of the last second.
--- @module aoi.history
---@meta aoi.history

-- luacheck: ignore 212 241 631

local history = {}

--- A history of a space, which may have several: it has noted the space as it is, and begins with that as its tick 0. It
--- ends with the space, or when nothing reaches it any more. It is in no snapshot and no journal. About 100 bytes an
--- entity, and a place a tick for those that have moved within that many ticks.
---@param space aoi.Space
---@param ticks integer how far back it answers, from 1 to 2^20
---@return aoi.History
function history.new(space, ticks) end

---@class aoi.History
local History = {}

--- A tick: notes what has moved, entered, left or changed its kind since the last one, where it is now. Moves of a deferred
--- space count at once. Costs nothing for what stands still.
function History:tick() end

--- Where an entity was. What has moved since the last tick counts with the next.
---@param ago integer ticks before the last one, 0 to what `new` was given
---@param id integer
---@return number? x world units; nil if it was not there then, or there was no such tick yet
---@return number? y
---@return number? z only in 3D
function History:position(ago, id) end

--- `space:near` as of then, kinds included, with entities that have left since. Empty before the first tick.
---@param ago integer ticks before the last one, 0 to what `new` was given
---@param x number world units, the centre
---@param y number world units
---@param z number world units; only in 3D
---@param area number|aoi.Area half-extent of a square in world units, or the table
---@param mask? integer kind bits; instead of the area's
---@param buf? integer[] a table to fill
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
---@overload fun(self: aoi.History, ago: integer, x: number, y: number, area: number|aoi.Area, mask?: integer, buf?: integer[]): integer[], integer
function History:near(ago, x, y, z, area, mask, buf) end

--- Frees it now. Closing twice is harmless.
function History:close() end
