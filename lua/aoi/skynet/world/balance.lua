-- world:balance: a client measures all shards every few seconds, and assigns the tiles that a function of that lists.

local failures = require "aoi.skynet.failures"
local methods = require "aoi.skynet.methods"

local balance = { INTERVAL = 10 } -- seconds

local ENOUGH = 1.1 -- a shard gives tiles only if it takes more than so many times as long as its neighbour

-- The tiles of a shard at its border, by number, for each neighbour; and how many tiles the shard has.
local function borders(map, shard)
  local found, count, n = {}, 0, map.columns * map.rows
  local function owner(i) return (string.unpack("<I2", map.owners, 2 * i + 1)) end
  local function check_tile(i, other, beside)
    local its = beside and other >= 0 and other < n and owner(other) or shard
    if its == shard then return end
    found[its] = found[its] or {}
    if found[its][#found[its]] ~= i then table.insert(found[its], i) end
  end
  for i = 0, n - 1 do
    if owner(i) == shard then
      local column = i % map.columns
      count = count + 1
      check_tile(i, i - 1, column > 0)
      check_tile(i, i + 1, column < map.columns - 1)
      check_tile(i, i - map.columns, true)
      check_tile(i, i + map.columns, true)
    end
  end
  return found, count
end

-- The shard of these with the most (sign 1) or least (-1) seconds, the first of equal ones.
local function extreme(info, shards, sign)
  local best
  for shard = 1, #info do
    if shards[shard] and (not best or sign * info[shard].seconds > sign * info[best].seconds) then best = shard end
  end
  return best
end

--- The default: the slowest shard gives its fastest neighbour so many tiles at their border that both take as long, if
-- all its tiles are alike.
function balance.even(info)
  local map, moves = info.map, {}
  local slow = extreme(info, info, 1)
  local found, count = borders(map, slow)
  local fast = extreme(info, found, -1)
  local most = info[slow].seconds
  if not fast or most <= ENOUGH * info[fast].seconds then return moves end
  local n = math.min((most - info[fast].seconds) / 2 / most * count, #found[fast], count - 1)
  for k = 1, math.floor(n) do
    local i = found[fast][k]
    local x = (map.column + i % map.columns + 0.5) * map.tile
    local y = (map.row + i // map.columns + 0.5) * map.tile
    moves[k] = { x, y, x, y, fast }
  end
  return moves
end

-- before: the last measurements by shard, which count only for the same instance; updated.
local function measure(self, before)
  local info = { map = self.map_info() }
  for shard = 1, self.shards do
    local one = methods.results(self:ask_shard(shard, "info_here"))
    local seconds = one.read_seconds + one.close_seconds + one.apply_seconds + one.drain_seconds
    local last = before[shard] and before[shard].term == one.term and before[shard] or { epoch = 0, seconds = 0 }
    info[shard] = { seconds = (seconds - last.seconds) / math.max(1, one.epoch - last.epoch), reals = one.reals,
                    ghosts = one.ghosts }
    before[shard] = { term = one.term, epoch = one.epoch, seconds = seconds }
  end
  return info
end

-- All rows at once, as each request waits until its tiles have changed hands.
local function assign(self, moves)
  local calls, wrong = {}, nil
  if type(moves) ~= "table" then error(("aoi: balance: a list expected, got %s"):format(type(moves)), 0) end
  for i, m in ipairs(moves) do
    if type(m) ~= "table" then error(("aoi: balance: row %d: table expected, got %s"):format(i, type(m)), 0) end
    calls[i] = function()
      local ok, reason = self:request("assign", table.unpack(m, 1, 5))
      wrong = wrong or not ok and reason
    end
  end
  self.together(calls)
  if wrong then error(wrong, 0) end
end

local function step(self, f, before)
  failures.run(self.client, self, function()
    local info = measure(self, before)
    if f then assign(self, f(info) or {}) end
  end)
end

--- Runs until the world is closed, or until the next call. f: nil: balance.even; false: stops. Errors are reported to
-- the client like those of handlers.
function balance.start(self, f, seconds)
  local mine, before = {}, {}
  self.balancing = mine
  if f == false then return end
  self.client.fork(function()
    step(self, nil, before)
    while true do
      self.sleep(seconds)
      if self.closed or self.balancing ~= mine then return end
      step(self, f or balance.even, before)
    end
  end)
end

return balance
