-- Questions of a client to several shards of a world: requests[name](self, ...) of member.lua, which return true and
-- the answer, or false and what was wrong. All shards answer for the same epoch, if that can be had.

local argument = require "aoi.skynet.argument"
local snapshot = require "aoi.skynet.world.snapshot"
local sorted_keys = require "aoi.sorted_keys"

local requests = {}

local MOST_ROUNDS = 6 -- of asking shards for answers of one epoch

-- Asks all shards at once, each to answer once it has applied epoch `after`. Fills the answers by shard, packed: true,
-- epoch, results. Returns the latest epoch, and whether all answers are of that; or nil and a reason.
local function ask_together(self, shards, answers, after, name, ...)
  local calls, arguments = {}, table.pack(...)
  for i, shard in ipairs(shards) do
    calls[i] = function()
      answers[shard] = table.pack(self:ask(shard, after, name, table.unpack(arguments, 1, arguments.n)))
    end
  end
  self.together(calls)
  local latest, same = -1, true
  for i, shard in ipairs(shards) do
    local answer = answers[shard]
    if not answer[1] then return nil, answer[3] end
    same = same and (i == 1 or answer[2] == latest)
    latest = math.max(latest, answer[2])
  end
  self.epoch_seen = math.max(self.epoch_seen, latest)
  return latest, same
end

-- Adds the shards of another list that are missing. Returns whether there are any.
local function add_missing(shards, others)
  local known, n = {}, #shards
  for _, shard in ipairs(shards) do known[shard] = true end
  for _, shard in ipairs(others) do
    if not known[shard] then shards[#shards + 1] = shard end
  end
  return #shards > n
end

-- One answer of each shard, all of the same epoch, as entities change hands from one epoch to the next. Where the
-- answers differ in epoch, shards are asked for a later one, a little farther ahead each time. find() lists the shards;
-- as tiles may change owners meanwhile it is called again after each round. Returns true, the answers by shard, the
-- shards, and the epoch, nil where there was no common one after some rounds; or false and a reason.
local function ask_all(self, find, name, ...)
  local answers, after, ahead, shards = {}, self.epoch_seen, 1, table.move(find(), 1, self.shards, 1, {})
  if #shards == 0 then return true, answers, shards, self.answered_at end
  for round = 1, MOST_ROUNDS do
    if self.closed then return false, self:closed_text() end
    local latest, same = ask_together(self, shards, answers, after, name, ...)
    if not latest then return false, same end
    local complete = round == MOST_ROUNDS or not add_missing(shards, find())
    if same and complete then return true, answers, shards, latest end
    after = same and latest or latest + ahead
    ahead = same and ahead or 2 * ahead
  end
  self.counters.uneven = self.counters.uneven + 1
  return true, answers, shards
end

-- Joins the answers of several shards, lists of rows of `width` values, without duplicates: rows are equal where their
-- first values, one or two, are. Returns true, the rows and their number; sets answered_at to the epoch.
local function gather(self, find, width, firsts, name, ...)
  local ok, answers, shards, epoch = ask_all(self, find, name, ...)
  if not ok then return false, answers end
  self.answered_at = epoch
  local all, n, seen = {}, 0, {}
  for _, shard in ipairs(shards) do
    local list, count = answers[shard][3], answers[shard][4]
    for i = 1, count * width, width do
      local key = firsts == 1 and list[i] or list[i] .. " " .. list[i + 1]
      if not seen[key] then
        seen[key] = true
        table.move(list, i, i + width - 1, n * width + 1, all)
        n = n + 1
      end
    end
  end
  return true, all, n
end

local function all_shards(self)
  local shards = {}
  for shard = 1, self.shards do shards[shard] = shard end
  return function() return shards end
end

-- Asks the shards that own viewers of an entity, its owner and its audience, which are the answer to `name`: ask(find)
-- is as gather. Returns its results, of the epoch of that audience, if that can be had.
local function in_audience(self, name, id, ask)
  for round = 1, MOST_ROUNDS do
    local ok, shards = self:ask_owner(name, id)
    if not ok then return false, shards end
    local asked_at = self.answered_at
    local results = table.pack(ask(function() return shards end))
    if not results[1] then return false, results[2] end
    local even = #shards > 0 and self.answered_at == asked_at
    if even or #shards == 0 or round == MOST_ROUNDS then
      if not even then self.answered_at = nil end -- the entity has yet to enter, or changes hands all the time
      return table.unpack(results, 1, results.n)
    end
  end
end

function requests.viewers(self, id)
  return in_audience(self, "viewers", id, function(find) return gather(self, find, 2, 2, "viewers_here", id) end)
end

-- By client, what knows the entity: helpers.knowers of aoi.skynet.commands, of all shards.
local function knowers(self, name, id)
  return in_audience(self, name, id, function(find)
    local ok, answers, shards, epoch = ask_all(self, find, "knowers_here", id)
    if not ok then return false, answers end
    self.answered_at = epoch
    local all = {}
    for _, shard in ipairs(shards) do
      for client, its in pairs(answers[shard][3]) do
        local known = all[client] or { handles = {}, views = {} }
        all[client] = known
        for key, list in pairs(its) do table.move(list, 1, #list, #known[key] + 1, known[key]) end
      end
    end
    return true, all
  end)
end

function requests.knowers(self, id)
  local ok, by_client = knowers(self, "knowers", id)
  if not ok then return false, by_client end
  local list = self.addresses_of(sorted_keys(by_client))
  return true, list, #list
end

-- One shard sends it, so each client gets it once though watchers change hands.
function requests.broadcast(self, id, bytes)
  if type(bytes) ~= "string" then argument.fail(2, "broadcast", 0, "string expected, got %s", type(bytes)) end
  local ok, by_client = knowers(self, "broadcast", id)
  if not ok then return false, by_client end
  return self:ask_owner("broadcast", id, bytes, by_client)
end

function requests.where(self, id)
  local ok, has = self:ask_owner("has", id)
  if ok and not has then argument.fail(1, "where", 0, "no entity %d", id) end
  return ok, has
end

-- For an entity that is nowhere the answer is an empty space's.
function requests.explain(self, ...)
  local ok, reason, text = self:ask_owner("explain", ...)
  if not ok or reason then return ok, reason, text end
  local empty = { core = require("aoi").new(), find = function() end }
  return true, require("aoi.skynet.commands").explain(empty, nil, ...)
end

-- As a float: sums of integers would wrap around.
local function real(value) return value + 0.0 end

-- How far an area reaches on any axis.
local function extent(area)
  if type(area) ~= "table" then return real(area) end
  local most = real(area.radius or 0)
  local lists = { area.extents or {}, area.points or {}, table.unpack(area.rings or {}) }
  for _, list in ipairs(lists) do
    for _, v in ipairs(list) do most = math.max(most, math.abs(real(v))) end
  end
  local beside = 0.0
  for _, v in ipairs(area.offset or {}) do beside = math.max(beside, math.abs(real(v))) end
  return math.max(most + (area.margin or 0), real(area.keep or 0)) + beside
end

-- The same; 0 for an invalid area, as the shards there report what is wrong with it.
local function reach(area)
  local ok, most = pcall(extent, area)
  return ok and most >= 0 and most or 0
end

-- The shards within reach of any of these places, a list of n coordinates, as one rectangle; where a coordinate is
-- invalid, one shard, which reports it.
local function around(self, list, n, most)
  local low, high, sound = { math.huge, math.huge }, { -math.huge, -math.huge }, n > 0 and n % self.dimensions == 0
  for i = 0, n - 1 do
    local axis, v = i % self.dimensions + 1, list[i + 1]
    sound = sound and math.type(v) and v - v == 0
    if sound and axis < 3 then low[axis], high[axis] = math.min(low[axis], v), math.max(high[axis], v) end
  end
  if not sound then return function() return { 1 } end end
  local function middle(axis) return low[axis] / 2 + high[axis] / 2 end
  local function half(axis) return high[axis] / 2 - low[axis] / 2 end
  return function() return self.around(middle(1), middle(2), half(1) + most, half(2) + most) end
end

function requests.near(self, ...)
  local area = select(self.dimensions + 1, ...)
  return gather(self, around(self, { ... }, self.dimensions, reach(area)), 1, 1, "near_here", ...)
end

-- Like gather, for rows of an id and a number: sorted by number, then by id, as a space does it. The answer has the
-- first `width` values of the first `most` rows.
local function gather_by_number(self, find, most, width, name, ...)
  local ok, list, n = gather(self, find, 2, 1, name, ...)
  if not ok then return false, list end
  local rows, sorted = {}, {}
  for i = 1, n do rows[i] = { list[2 * i - 1], list[2 * i] } end
  table.sort(rows, function(a, b) return a[2] < b[2] or a[2] == b[2] and a[1] < b[1] end)
  n = math.min(n, most)
  for i = 1, n do table.move(rows[i], 1, width, width * (i - 1) + 1, sorted) end
  return true, sorted, n
end

-- By time. The shards report an invalid radius.
function requests.sweep(self, ...)
  local n = 2 * self.dimensions
  local find = around(self, { ... }, n, reach((select(n + 1, ...))))
  return gather_by_number(self, find, math.huge, 2, "sweep_here", ...)
end

function requests.near_many(self, rows, area, mask)
  local find = around(self, rows, type(rows) == "table" and #rows or 0, reach(area))
  local ok, answers, shards = ask_all(self, find, "near_many_here", rows, area, mask)
  if not ok then return false, answers end
  local all, n, ends = {}, 0, {}
  for row = 1, #rows // self.dimensions do
    local seen = {}
    for _, shard in ipairs(shards) do
      local list, last = answers[shard][3], answers[shard][5]
      for i = (last[row - 1] or 0) + 1, last[row] do
        if not seen[list[i]] then
          n = n + 1
          seen[list[i]], all[n] = true, list[i]
        end
      end
    end
    ends[row] = n
  end
  return true, all, n, ends
end

-- Nearest first.
function requests.nearest(self, ...)
  local d = self.dimensions
  local n, radius = select(d + 1, ...)
  local bounded = math.type(radius) and radius >= 0
  local find = bounded and around(self, { ... }, d, reach(radius)) or all_shards(self)
  return gather_by_number(self, find, n, 1, "nearest_here", ...)
end

function requests.count(self)
  local ok, answers = ask_all(self, all_shards(self), "count_here")
  if not ok then return false, answers end
  local total = 0
  for shard = 1, self.shards do total = total + answers[shard][3] end
  return true, total
end

-- The sums over all shards; ghosts count in each of them.
function requests.stats(self)
  local total = {}
  for shard = 1, self.shards do
    local ok, one = self:ask_shard(shard, "stats_here")
    if not ok then return false, one end
    for name, value in pairs(one) do total[name] = (total[name] or 0) + value end
  end
  return true, total
end

--- The bytes of all shards at the end of one epoch, which contains all that this client has sent.
function requests.snapshot(self, save)
  if type(save) ~= "function" then argument.fail(1, "snapshot", 0, "function expected, got %s", type(save)) end
  self:tick()
  local ok, answers, _, epoch
  repeat
    ok, answers, _, epoch = ask_all(self, all_shards(self), snapshot.REQUEST)
    if not ok then return false, answers end
  until epoch
  for shard = 1, self.shards do save(shard, epoch, answers[shard][3]) end
  return true, epoch
end

function requests.check(self)
  for shard = 1, self.shards do
    local ok, reason = self:ask_shard(shard, "check_here")
    if not ok then return false, reason end
  end
  return true, true
end

function requests.ids(self) return gather(self, all_shards(self), 1, 1, "ids_here") end

return function(into)
  for name, f in pairs(requests) do into[name] = f end
end
