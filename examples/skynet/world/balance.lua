-- Tiles of a world go where there is less to do: over world:tiles, world:assign and world:info. In one service:
--
--   local balance = require "balance"                       this folder is in skynet's lua_path
--   skynet.fork(balance.run, world, skynet.sleep, 1000)     every 10 s the slowest shard gives tiles to a neighbour
--   balance.split(world, 1)                                 half of the tiles of shard 1 go to a shard without any
--   balance.merge(world, 3, 1)                              all tiles of shard 3 go to shard 1
--
-- The seconds of a shard's thread are counted where skynet's `profile` is on. Tiles are numbered from 1 on, row by row.

local balance = {}

local ENOUGH = 1.1 -- a shard gives tiles only if it takes more than so many times as long as its neighbour

--- Assigns tiles, a list in ascending order: those beside each other in a row with one call.
function balance.give(world, map, list, shard)
  local function x(i) return (map.column + (i - 1) % map.columns + 0.5) * map.tile end
  local i = 1
  while list[i] do
    local first, y = list[i], (map.row + (list[i] - 1) // map.columns + 0.5) * map.tile
    while list[i + 1] == list[i] + 1 and list[i] % map.columns ~= 0 do i = i + 1 end
    world:assign(x(first), y, x(list[i]), y, shard)
    i = i + 1
  end
end

local function tiles_of(map, shard)
  local list = {}
  for i, owner in ipairs(map.owners) do
    if owner == shard then list[#list + 1] = i end
  end
  return list
end

function balance.merge(world, shard, into)
  local map = world:tiles()
  balance.give(world, map, tiles_of(map, shard), into)
end

--- The half with the later rows. For shards without tiles let the option `shards = f(column, row)` name fewer than
-- `nodes` has.
function balance.split(world, shard)
  local map, into = world:tiles(), 1
  local list = tiles_of(map, shard)
  while tiles_of(map, into)[1] do into = into + 1 end
  balance.give(world, map, table.move(list, #list // 2 + 1, #list, 1, {}), into)
end

-- The tiles of a shard at its border, by neighbour.
local function borders(map, list, shard)
  local found, last = {}, #map.owners
  for _, i in ipairs(list) do
    local column = (i - 1) % map.columns
    local beside = { column > 0 and i - 1, column < map.columns - 1 and i + 1, i - map.columns, i + map.columns }
    for k = 1, 4 do
      local owner = beside[k] and beside[k] >= 1 and beside[k] <= last and map.owners[beside[k]] or shard
      local its = found[owner] or {}
      if owner ~= shard and its[#its] ~= i then its[#its + 1] = i end
      found[owner] = its
    end
  end
  found[shard] = nil
  return found
end

--- seconds: by shard. The slowest shard gives its fastest neighbour so many tiles at their border that both take as
-- long, if all its tiles are alike. Returns a list of tiles, and the neighbour.
function balance.even(map, seconds)
  local slow, fast = 1, nil
  for shard, its in ipairs(seconds) do
    if its > seconds[slow] then slow = shard end
  end
  local list = tiles_of(map, slow)
  local found = borders(map, list, slow)
  for shard, its in ipairs(seconds) do
    if found[shard] and (not fast or its < seconds[fast]) then fast = shard end
  end
  if not fast or seconds[slow] <= ENOUGH * seconds[fast] then return {} end
  local n = math.min((seconds[slow] - seconds[fast]) / 2 / seconds[slow] * #list, #found[fast], #list - 1)
  return table.move(found[fast], 1, math.floor(n), 1, {}), fast
end

--- Until the world is closed: sleep(interval), and what shards have had to do meanwhile decides.
function balance.run(world, sleep, interval)
  local before, measured = {}, false
  while true do
    local seconds, info = {}, world:info()
    for shard = 1, world.shards do
      local one = info["shard " .. shard]
      local last = before[shard]
      local all = one.read_seconds + one.close_seconds + one.apply_seconds + one.drain_seconds
      if not last or last.term ~= one.term then last = { all = 0, epoch = 0 } end -- another instance
      seconds[shard] = (all - last.all) / math.max(1, one.epoch - last.epoch)
      before[shard] = { term = one.term, all = all, epoch = one.epoch }
    end
    local map = world:tiles()
    if measured then balance.give(world, map, balance.even(map, seconds)) end
    measured = true
    sleep(interval)
    if world.closed then return end
  end
end

return balance
