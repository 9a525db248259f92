-- The plan of a world: how its plane is cut into tiles, and which shard owns each. init.lua makes it from the options;
-- exchanges and shards make their maps (C) from it. It is a table of numbers and one string, sent as it is.
--
--   size      the square, or the rectangle, over which the grid of tiles lies; the outermost tiles go on for ever
--   tile      side of a tile: a power of two, so that the tile of a position is exact on every machine
--   halo      a shard has ghosts from so many tiles around its own: the reach and the hysteresis, rounded up

local core = require "aoi.skynet.native" "world"

local tiles = {}

local MOST_TILES = 1 << 20
local MOST_SHARDS = 4096

local function fail(format, ...) error(format:format(...), 0) end

local function is_finite(value) return math.type(value) and value - value == 0 end

local function number(options, name, default)
  local value = options[name]
  if value == nil then value = default end
  if not is_finite(value) then fail("bad value for option '%s' (finite number expected)", name) end
  return value
end

local function rectangle(size)
  if math.type(size) then size = { 0, 0, size, size } end
  if type(size) ~= "table" or #size ~= 4 then
    fail("bad value for option 'size' (a side or { x0, y0, x1, y1 } expected)")
  end
  for i = 1, 4 do
    if not is_finite(size[i]) then fail("bad value for option 'size' (finite numbers expected)") end
  end
  if not (size[3] > size[1] and size[4] > size[2]) then fail("bad value for option 'size' (it is empty)") end
  return table.unpack(size, 1, 4)
end

local function is_power_of_two(x) return x > 0 and x == 2.0 ^ math.floor(math.log(x, 2) + 0.5) end

-- The largest power of two up to 0.6 reach with which there are not too many tiles.
local function default_tile(reach, width, height)
  local tile = 2.0 ^ math.floor(math.log(math.max(0.6 * reach, 1e-9), 2))
  while (width / tile + 2) * (height / tile + 2) > MOST_TILES do tile = 2 * tile end
  return tile
end

-- The number of shards in each row of a nearly square grid of n shards.
local function near_square(n)
  local rows = math.max(1, math.floor(math.sqrt(n) + 0.5))
  local list = {}
  for row = 1, rows do list[row] = n * row // rows - n * (row - 1) // rows end
  return list
end

local function row_lengths(shards)
  local function is_count(n) return math.type(n) == "integer" and n >= 1 and n <= MOST_SHARDS end
  if is_count(shards) then return near_square(shards) end
  if type(shards) == "table" and #shards == 2 and is_count(shards[1]) and is_count(shards[2]) and
    is_count(shards[1] * shards[2]) then
    local list = {}
    for row = 1, shards[2] do list[row] = shards[1] end
    return list
  end
  fail("bad value for option 'shards' (a number from 1 to %d, { columns, rows } or a function expected)", MOST_SHARDS)
end

-- The owner of each tile where regions form a grid: the height of a row of regions is its share of the shards.
local function grid(columns, rows, shards)
  local lengths, n = row_lengths(shards), 0
  for _, length in ipairs(lengths) do n = n + length end
  if rows < #lengths then fail("bad value for option 'shards' (%d regions over %d tiles)", #lengths, rows) end
  local lines, done, first = {}, 0, 1
  for _, length in ipairs(lengths) do
    if columns < length then fail("bad value for option 'shards' (%d regions over %d tiles)", length, columns) end
    local cells = {}
    for column = 0, columns - 1 do cells[column + 1] = string.pack("<I2", first + column * length // columns) end
    local line, above = table.concat(cells), done + length
    for _ = rows * done // n + 1, rows * above // n do lines[#lines + 1] = line end
    done, first = above, first + length
  end
  return table.concat(lines), n
end

local function chosen(columns, rows, f)
  local cells, n = {}, 0
  for row = 0, rows - 1 do
    for column = 0, columns - 1 do
      local shard = f(column, row)
      if math.type(shard) ~= "integer" or shard < 1 or shard > MOST_SHARDS then
        fail("bad value for option 'shards' (%s for tile %d, %d: a number from 1 to %d expected)", tostring(shard),
          column, row, MOST_SHARDS)
      end
      n = math.max(n, shard)
      cells[#cells + 1] = string.pack("<I2", shard)
    end
  end
  return table.concat(cells), n
end

--- options: size, reach, extent (the largest of an entity), shards (a number, { columns, rows } of regions, or
-- f(column, row) over tiles), tile, hysteresis. Raises an error that names the option.
function tiles.plan(options)
  local x0, y0, x1, y1 = rectangle(options.size)
  local reach = number(options, "reach")
  if reach < 0 then fail("bad value for option 'reach' (it is negative)") end
  local extent = number(options, "extent", 0) + 0.0 -- what is added to it may be the greatest integer
  if extent < 0 then fail("bad value for option 'extent' (it is negative)") end
  local tile = number(options, "tile", default_tile(reach, x1 - x0, y1 - y0)) + 0.0
  if not is_power_of_two(tile) then fail("bad value for option 'tile' (a power of two expected, got %s)", tile) end
  local hysteresis = number(options, "hysteresis", tile / 8)
  if hysteresis < 0 or hysteresis > tile / 2 then
    fail("bad value for option 'hysteresis' (0 to half a tile, %s, expected)", tile / 2)
  end
  local column, row = math.floor(x0 / tile), math.floor(y0 / tile)
  local columns, rows = math.ceil(x1 / tile) - column, math.ceil(y1 / tile) - row
  if columns * rows > 4 * MOST_TILES then
    fail("bad value for option 'tile' (%g tiles are too many)", columns * rows)
  end
  local owners, shards
  if type(options.shards) == "function" then
    owners, shards = chosen(columns, rows, options.shards)
  else
    owners, shards = grid(columns, rows, options.shards or 1)
  end
  return {
    column = column, row = row, columns = columns, rows = rows, tile = tile, hysteresis = hysteresis, reach = reach,
    extent = extent, halo = math.floor(1.000001 * (reach + extent + hysteresis) / tile) + 1, owners = owners,
    shards = shards,
  }
end

--- The option in which two plans differ, the first of those that others derive from; either plan may be nil.
function tiles.difference(a, b)
  for _, name in ipairs { "reach", "extent", "tile", "hysteresis", "column", "row", "columns", "rows" } do
    if (a or {})[name] ~= (b or {})[name] then return (name:find "^column" or name:find "^row") and "size" or name end
  end
  return "shards"
end

--- The tiles, by number, that the rectangle touches.
function tiles.within(plan, x0, y0, x1, y1)
  local function cut(v, first, count)
    return math.max(0, math.min(count - 1, math.floor(v / plan.tile) - first))
  end
  local left, right = cut(x0, plan.column, plan.columns), cut(x1, plan.column, plan.columns)
  local low, high = cut(y0, plan.row, plan.rows), cut(y1, plan.row, plan.rows)
  local list = {}
  for r = low, high do
    for c = left, right do list[#list + 1] = r * plan.columns + c end
  end
  return list
end

--- The map of a plan: the owner and the audience of each tile.
function tiles.map(plan) return core.map(plan) end

return tiles
