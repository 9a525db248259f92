-- The half of the client library that asks: queries, to the owner of an entity or to several shards. It adds methods to
-- the class of aoi.skynet.world.member, with what that uses itself to ask.

local argument = require "aoi.skynet.argument"
local methods = require "aoi.skynet.methods"

local MOST_ROUNDS = 6 -- in which shards are asked for answers of one epoch

-- tools: results, ask, ask_owner, owner_method, check_place.
return function(Member, tools)

local results, ask, ask_owner = tools.results, tools.ask, tools.ask_owner
local owner_method, check_place = tools.owner_method, tools.check_place

-- The answer is copied into the caller's table, if there is one, and ends there with nil.
local function fill(buf, width, ok, list, n)
  if ok and buf then
    table.move(list, 1, n * width + 1, 1, buf)
    list = buf
  end
  return ok, list, n
end

for name, integers in pairs { position = 1, kind = 1, area = 2, radius = 2, sees = 3 } do
  owner_method(name, integers, integers)
end

-- Where there is no such entity these tell nothing instead of raising.
for _, name in ipairs { "position", "kind", "area", "radius" } do
  local strict = Member[name]
  Member[name] = function(self, ...)
    local answer = table.pack(pcall(strict, self, ...))
    if answer[1] then return table.unpack(answer, 2, answer.n) end
    if tostring(answer[2]):find("no entity", 1, true) then return nil end
    error((tostring(answer[2]):gsub("^[^\n]-:%d+: ", "")), 2)
  end
end

function Member:has(id)
  id = argument.integer(id, 1, "has", 2)
  local ok, reason = ask_owner(self, "has", id)
  if not ok and not tostring(reason):find("no entity", 1, true) then error(reason, 2) end
  return ok == true
end

function Member:nodes(id, buf)
  id = argument.integer(id, 1, "nodes", 2)
  return results(fill(buf, 1, ask_owner(self, "nodes", id)))
end

--- What the node sees as of the last epoch.
function Member:view(id, node, buf)
  id, node = argument.integer(id, 1, "view", 2), argument.integer(node, 2, "view", 2)
  return results(fill(buf, 1, ask_owner(self, "view", id, node)))
end

local function explanation(ok, told, text)
  if ok then setmetatable(told, { __tostring = function() return text end }) end
  return ok, told
end

function Member:explain(id, node, target)
  id, node = argument.integer(id, 1, "explain", 2), argument.integer(node, 2, "explain", 2)
  target = argument.integer(target, 3, "explain", 2)
  return results(explanation(ask_owner(self, "explain", id, node, target)))
end

-- Asks all at once, each as soon as that epoch has been applied there. Fills the answers by shard, packed: true, the
-- epoch, and the shard's results. Returns the latest epoch and whether it is that of all answers; or nil and a reason.
local function ask_together(self, shards, answers, after, name, ...)
  local calls, arguments = {}, table.pack(...)
  for i, shard in ipairs(shards) do
    calls[i] = function()
      answers[shard] = table.pack(self.ask(shard, after, name, table.unpack(arguments, 1, arguments.n)))
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

-- One answer of each shard, all of the same epoch, as between two epochs entities change hands: if not by chance, they
-- are asked for one to come, that is a little farther away each time. Returns true, the answers by shard, and the
-- epoch, nil where after some rounds there was none; or false and a reason.
local function ask_all(self, shards, name, ...)
  local answers, after, ahead = {}, self.epoch_seen, 1
  if #shards == 0 then return true, answers, self.answered_at end
  for _ = 1, MOST_ROUNDS do
    if self.closed then return false, "attempt to use a closed world" end
    local latest, same = ask_together(self, shards, answers, after, name, ...)
    if not latest then return false, same end
    if same then return true, answers, latest end
    after, ahead = latest + ahead, 2 * ahead
  end
  self.counters.uneven = self.counters.uneven + 1
  return true, answers
end

-- The answers of several shards, each a list, one behind the other, and the epoch. None stands there twice.
local function gather(self, shards, width, name, ...)
  local ok, answers, epoch = ask_all(self, shards, name, ...)
  if not ok then return false, answers end
  self.answered_at = epoch
  local all, n, seen = {}, 0, {}
  for _, shard in ipairs(shards) do
    local list, count = answers[shard][3], answers[shard][4]
    for i = 1, count * width, width do
      local key = width == 1 and list[i] or list[i] .. " " .. list[i + 1]
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
  for shard = 1, self.plan.shards do shards[shard] = shard end
  return shards
end

local function viewers(self, id)
  for round = 1, MOST_ROUNDS do
    local ok, shards = ask_owner(self, "audience", id)
    if not ok then return false, shards end
    local asked_at = self.answered_at
    local good, list, n = gather(self, shards, 2, "viewers_here", id)
    if not good then return false, list end
    local even = #shards > 0 and self.answered_at == asked_at
    if even or #shards == 0 or round == MOST_ROUNDS then
      if not even then self.answered_at = nil end -- it enters with the next epoch; or it changes hands all the time
      return true, list, n
    end
  end
end

--- Whoever sees it stands with its owner or with one of the shards that hear of it.
function Member:viewers(id, buf)
  id = argument.integer(id, 1, "viewers", 2)
  return results(fill(buf, 2, viewers(self, id)))
end

-- How far an area reaches on each axis of the plane.
local function extents(area)
  if type(area) ~= "table" then return area, area end
  local ex, ey = area.radius or 0, area.radius or 0
  if type(area.extents) == "table" then ex, ey = area.extents[1], area.extents[2] end
  for i, v in ipairs(type(area.points) == "table" and area.points or {}) do
    if i % 2 == 1 then ex = math.max(ex, math.abs(v)) else ey = math.max(ey, math.abs(v)) end
  end
  local margin = area.margin or 0
  return math.max(ex + margin, area.keep or 0), math.max(ey + margin, area.keep or 0)
end

local function around(self, x, y, area)
  local ok, ex, ey = pcall(extents, area)
  if not ok or not (math.type(ex) and math.type(ey) and ex >= 0 and ey >= 0) then
    ex, ey = 0, 0 -- the shards there will say what is wrong with the area
  end
  return self.around(x, y, ex, ey)
end

local NEAR = { name = "near", arguments = "x y z area mask?", fills = 1 }

local function near(self, buf, x, y, ...)
  check_place(self, "near", 1, x, y, (...), 4)
  local area = self.dimensions == 3 and select(2, ...) or (...)
  return fill(buf, 1, gather(self, around(self, x, y, area), 1, "near_here", x, y, ...))
end

function Member:near(...) return results(near(self, methods.split(NEAR, self.dimensions, ...))) end

-- Nearest first, equal ones by id, as a space does it.
local function merge_nearest(self, shards, n, ...)
  local ok, answers, epoch = ask_all(self, shards, "nearest_here", n, ...)
  if not ok then return false, answers end
  local found, seen = {}, {}
  for _, shard in ipairs(shards) do
    local ids, distances = answers[shard][3], answers[shard][4]
    for i, id in ipairs(ids) do
      if not seen[id] then found[#found + 1], seen[id] = { id, distances[i] }, true end
    end
  end
  table.sort(found, function(a, b) return a[2] < b[2] or a[2] == b[2] and a[1] < b[1] end)
  local list = {}
  for i = 1, math.min(n, #found) do list[i] = found[i][1] end
  self.answered_at = epoch
  return true, list, #list
end

local NEAREST = { name = "nearest", arguments = "x y z n radius? mask?", fills = 1 }

local function nearest(self, buf, x, y, ...)
  local z, n, radius, mask = nil, ...
  if self.dimensions == 3 then z, n, radius, mask = ... end
  check_place(self, "nearest", 1, x, y, z, 4)
  n = argument.integer(n, self.dimensions + 1, "nearest", 4)
  local shards = radius and math.type(radius) and radius >= 0 and self.around(x, y, radius, radius) or
    all_shards(self)
  return fill(buf, 1, merge_nearest(self, shards, n, radius, mask, x, y, z))
end

function Member:nearest(...) return results(nearest(self, methods.split(NEAREST, self.dimensions, ...))) end

function Member:ids(buf) return results(fill(buf, 1, gather(self, all_shards(self), 1, "ids_here"))) end

local function sum(self, name)
  local ok, answers = ask_all(self, all_shards(self), name)
  if not ok then return false, answers end
  local total = 0
  for shard = 1, self.plan.shards do total = total + answers[shard][3] end
  return true, total
end

function Member:count() return results(sum(self, "count_here")) end

function Member:__len() return self:count() end

local function stats(self)
  local total = {}
  for shard = 1, self.plan.shards do
    local ok, one = ask(self, shard, "stats_here")
    if not ok then return false, one end
    for name, value in pairs(one) do total[name] = (total[name] or 0) + value end
  end
  return true, total
end

--- The sums over all shards; ghosts count in each of them.
function Member:stats() return results(stats(self)) end

--- Every shard verifies itself; true, or the first precise description is raised.
function Member:check()
  for shard = 1, self.plan.shards do
    local ok, reason = ask(self, shard, "check_here")
    if not ok then error(reason, 2) end
  end
  return true
end

--- The shard that owns it, and the process where that lives.
function Member:where(id)
  id = argument.integer(id, 1, "where", 2)
  local ok, reason = ask_owner(self, "has", id)
  if not ok then error(reason, 2) end
  local shard = self.outbox:where(id)
  return shard, self.process_of and self.process_of[shard]
end

--- The last epoch of which this client has heard.
function Member:epoch() return math.max(self.epoch_seen, self.epoch_told or 0) end

--- Numbers by shard, and of the barrier here, for a console.
function Member:info()
  local info = { world = self.world_info and self.world_info() or {}, client = {} }
  for name, value in pairs(self.counters) do info.client[name] = value end
  for shard = 1, self.plan.shards do
    local ok, one = ask(self, shard, "info_here")
    if not ok then error(one, 2) end
    info["shard " .. shard] = one
  end
  return info
end

end
