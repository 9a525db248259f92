-- A world in one of its clients, opened by init.lua: a map (aoi.skynet.map) that sends a request to the shard that owns
-- the entity, wherever that is, and sorts moves by shard. Events come as from an AOI service (aoi.skynet.client).
--
--   request --> ask_owner: the owner, if the outbox has it, else the home of the id is asked for it
--           --> the shard answers: done, or that the entity has moved or is unknown there: the next one is asked
--
--   outbox               (C) the owner of each entity that has been asked for, what this client has entered, and rows
--                        of moves by shard; rows of entities without a known owner wait until it is found
--   left[id]             the life that this client has ended, and when
--
-- A node keeps one number, given here, whichever shard owns it: it is the node's handle in messages.

local Map = require "aoi.skynet.map"
local argument = require "aoi.skynet.argument"
local building = require "aoi.skynet.world.building"
local core = require "aoi.skynet.native" "world"
local failures = require "aoi.skynet.failures"
local handlers = require "aoi.skynet.handlers"
local methods = require "aoi.skynet.methods"
local outlet = require "aoi.skynet.world.outlet"
local moving = require "aoi.skynet.world.moving"
local questions = require "aoi.skynet.world.questions"
local restore = require "aoi.skynet.world.restore"
local taking = require "aoi.skynet.world.taking"
local watching = require "aoi.skynet.world.watching"
local windows = require "aoi.skynet.world.windows"

local caught, results = failures.caught, methods.results

local function one_by_one(calls)
  for _, f in ipairs(calls) do f() end
end

local Member = setmetatable({ noun = "world", together = one_by_one }, { __index = Map })
Member.__index = Member

local MOST_TRIES = 100 -- shards asked one after the other for an entity that changes hands
local FAST_TRIES = 20  -- the others come one an epoch, as only epochs change who has it
local MOST_LEFT = 1000 -- lives kept before old ones are dropped; later twice as many as were left then
local MOST_FLUSHES = 4 -- in one epoch: moves of later ones wait for its end

--- options: name; number of this client; shards: how many; dimensions; ask(shard, after, name, ...) waits and returns
-- what Shard:request replies, nil where the shard has died; around(x, y, ex, ey): a list of the shards that own tiles
-- in the rectangle around a place, may wait, too; send(shard, message) sends moves, nil if the world is gone;
-- tick_epoch() waits, and returns the epoch; wait(f) calls f(wake) and waits until wake() is called; quit().
-- Optional: together(calls), which calls all at once; world_info(); process_of, by shard; on_renewed(shard, place):
-- the shard has a successor; move_map(name, ...), as of director.move, and map_info() wait, too.
function Member.new(client, options)
  local self = setmetatable({
    epoch_seen = 0, epoch_received = 0, handle = 0, traits = {}, left = {}, left_count = 0, left_most = MOST_LEFT,
    flushes = 0, flushed_at = 0, terms = {}, waiters = {}, views = {}, claimed = {}, barred = {},
    counters = { refused = 0, routes = 0, uneven = 0, restored = 0 },
  }, Member)
  for name, value in pairs(options) do
    self[name == "ask" and "ask_now" or name] = value
  end
  local outbox = core.outbox(self.dimensions, self.number, false, self.shards)
  client.maps[self.number] = Map.begin(self, client, self.number, self.name, outbox)
  return self
end

-- Requests ----------------------------------------------------------------------------------------------------------

local function note_epoch(self, status, applied, ...)
  self.answered_at = applied or 0
  if applied and applied > self.epoch_seen then self.epoch_seen = applied end
  return status, ...
end

-- Asks once. Returns "renewed" where the shard has died or moved to another process, after its successor has begun.
local function ask_once(self, shard, ...)
  if self.closed then return false, 0, self:closed_text() end -- meanwhile: nothing would end what that brings about
  local term = self.terms[shard] or 0
  local answer = table.pack(self.ask_now(shard, ...))
  if answer[1] == "retired" then
    self.epoch_seen = math.max(self.epoch_seen, answer[2])
  elseif answer[1] ~= nil then
    return table.unpack(answer, 1, answer.n)
  end
  if restore.await(self, shard, term) then return "renewed" end
  return false, 0, self:closed_text()
end

--- Returns what Shard:request replies, of the successor where the shard dies meanwhile.
function Member:ask(shard, after, ...)
  while true do
    local answer = table.pack(ask_once(self, shard, after, ...))
    if answer[1] ~= "renewed" then return table.unpack(answer, 1, answer.n) end
    after = math.max(after, self.epoch_seen)
  end
end

--- Asks one shard. Returns true and results; false and a reason; "moved" and a shard; "unknown"; or "stale".
function Member:ask_shard(shard, name, ...)
  return note_epoch(self, self:ask(shard, self.epoch_seen, name, ...))
end

-- Methods that answer for absent entities, too.
local ABSENT = { position = true, kind = true, area = true, radius = true, has = true, extent = true, layers = true,
                 explain = true }

local function no_entity(name, id)
  if ABSENT[name] then return true, name ~= "has" and nil end
  return false, ("bad argument #1 to '%s' (no entity %d)"):format(name, id)
end

local function home(self, id) return core.home(id, self.shards) end

-- Sorts rows, each an id [, x, y [, z]], by a key of the id: { [key] = { rows } }.
local function sort_rows(rows, n, values, key_of)
  local sorted = {}
  for i = 0, n - 1 do
    local at = i * values
    local key = key_of(rows[at + 1])
    local list = sorted[key] or {}
    sorted[key] = list
    for v = 1, values do list[#list + 1] = rows[at + v] end
  end
  return sorted
end

local function by_home(self, rows, n, values)
  return sort_rows(rows, n, values, function(id) return home(self, id) end)
end

local function push_moves(self)
  local list, n = self.outbox:pending()
  if n == 0 then return true end
  local gone = false
  for i = 1, n do gone = self.send(list[i], self.outbox:take(false, list[i])) == nil or gone end
  return not gone
end

Member.push = push_moves

--- The number of the last message of moves.
function Member:batch()
  local _, batches = self.outbox:count()
  return batches & 0xffffffff
end

-- Asks homes for the owners that moves wait for, as another client has entered the entities: each home once. A move
-- that comes meanwhile replaces the waiting one.
local function find_owners(self)
  local lost, refused = {}, {}
  local n = self.outbox:lost(lost)
  for at, ids in pairs(by_home(self, lost, n, 1)) do
    local ok, owners = self:ask_shard(at, "owners_of", ids)
    for i, id in ipairs(ids) do
      local owner, found = ok and owners[i], self.outbox:where(id) -- found by another coroutine
      if owner and owner > 0 and not found then
        self.outbox:set(id, owner)
      elseif not owner and not found and self.outbox:drop(id) then
        refused[#refused + 1] = id
      end -- 0: its client has yet to restore it, and the next flush asks again
    end
  end
  if #refused > 0 then self:refuse(refused) end
end

--- What the home of the id answers to a method that takes ids (directory.lua): true and the answer, false if the id is
-- not alive; or false and what was wrong. An id that is lost with its shard may be restored: waits for that, and then
-- returns "restored" as well.
function Member:ask_home(name, id)
  local restored
  while true do
    local ok, list = self:ask_shard(home(self, id), name, { id })
    if not ok then return false, list end
    if list[1] ~= 0 then return true, list[1], restored end
    if not self.tick_epoch() then return false, self:closed_text() end
    restored = "restored"
  end
end

-- The shard does not know the entity. Returns true, the shard to ask next (false: none), and "missing" where the home
-- knows none though this client has entered the entity, or "restored"; or false and a reason.
local function next_owner(self, id, shard)
  self.outbox:set(id, 0) -- a move that waits, of another coroutine perhaps, asks for the owner, too
  local ok, found, restored = self:ask_home("owners_of", id)
  if not ok then return false, found end
  -- What this client has entered exists or will be restored, unless another client has made it leave.
  if not found and self.outbox:owns(id) then
    if not self.tick_epoch() then return false, self:closed_text() end
    return true, shard, "missing"
  end
  return true, found, restored
end

local function evaluate(name, ...)
  if name:find "^restore_" and type((...)) == "function" then return (...)() end
  return ...
end

--- Asks the owner of an entity, wherever it is now, after sending the collected moves. If the last of these went to
-- another shard, as the entity had changed hands, the request goes the same way, so that it comes after it. Requests
-- of restore.lua may have a function in place of arguments, which makes them anew for each shard that is asked.
function Member:ask_owner(name, id, ...)
  if not restore.await(self) then return false, self:closed_text() end
  if self.outbox:count() > 0 then find_owners(self) end
  push_moves(self)
  local owner, sent = self.outbox:where(id)
  local shard, batch, same, missing = sent or owner, self:batch(), 0, 0
  for try = 1, MOST_TRIES do
    if try > FAST_TRIES and not self.tick_epoch() then return false, self:closed_text() end
    local answer = { "unknown" }
    if shard then
      answer = table.pack(note_epoch(self, ask_once(self, shard, self.epoch_seen, name, id, evaluate(name, ...))))
    end
    local status, reason = answer[1], answer[2]
    if status == "renewed" then
      push_moves(self)
      owner, sent = self.outbox:where(id)
      shard, batch = sent or owner, self:batch()
    elseif status == true then
      self.outbox:set(id, shard)
      if batch == self:batch() then self.outbox:settle(id) end
      return table.unpack(answer, 1, answer.n)
    elseif status == "moved" then
      shard = reason
    elseif status == "unknown" then
      local ok, found, how = next_owner(self, id, shard)
      if not ok then return false, found end
      missing = how == "missing" and missing + 1 or 0
      -- The entity may have come to that shard meanwhile, or has only been claimed.
      same = found == shard and how ~= "restored" and same + 1 or 0
      local own = self.outbox:owns(id)
      if missing > windows.MISSES or not own and (not found or same > 1) then return no_entity(name, id) end
      shard = found
    else
      return false, reason
    end
  end
  return false, ("entity %d cannot be found: it changes hands too often"):format(id)
end

-- The methods that do more than ask the owner: requests[name](self, ...) returns what `request` does.
local requests = {}
questions(requests)
watching(Member, requests)
moving(Member, requests)
building.add(requests)

local function request(self, name, ...)
  if self.closed then return false, self:closed_text() end
  if requests[name] then return requests[name](self, methods.checked(name, ...)) end
  return self:ask_owner(name, methods.checked(name, ...))
end

--- Makes the request of a method: true and its results, or false and what was wrong.
function Member:request(name, ...) return caught(pcall(request, self, name, ...)) end

-- Entities ----------------------------------------------------------------------------------------------------------

local function release(self, list, values, lives)
  for at, rows in pairs(by_home(self, list, #list // values, values)) do
    local ids, its = {}, {}
    for i = 1, #rows, values do ids[#ids + 1], its[#its + 1] = rows[i], lives[rows[i]] end
    self:ask_shard(at, "release", ids, its)
  end
end

-- row_of: the row of each id, in enter_many; nil: of enter.
local function taken_text(id, row_of)
  if not row_of then return ("bad argument #1 to 'enter' (entity %d is already in the world)"):format(id) end
  return ("bad argument #1 to 'enter_many' (row %d: entity %d is already in the world)"):format(row_of[id], id)
end

local function claim_all(self, rows, n, values, row_of)
  local lives, owners, stamps, claimed = {}, {}, {}, {}
  for at, list in pairs(by_home(self, rows, n, values)) do
    local ids, places, left = {}, {}, {}
    for i = 1, #list, values do
      ids[#ids + 1] = list[i]
      places[#places + 1], places[#places + 2] = list[i + 1], list[i + 2]
      left[#left + 1] = self.left[list[i]] or false
    end
    local ok, got, holders, its = self:ask_shard(at, "claim", ids, places, left)
    if ok ~= true then
      release(self, claimed, values, lives)
      return false, ok and taken_text(got, row_of) or got
    end
    table.move(list, 1, #list, #claimed + 1, claimed)
    for i, id in ipairs(ids) do lives[id], owners[id], stamps[id] = got[i], holders[i], its[i] end
  end
  return true, lives, owners, stamps
end

-- Claims rows at their homes and enters them, shard after shard. Where a home dies or a tile changes hands meanwhile,
-- its rows are claimed again. Adds to `done` the ids that have entered, and releases the claims of others. row_of: as
-- of taken_text; more: what the one row enters with, as of the owner's `enter`. Returns true and its result, or false
-- and why.
local function enter_rows(self, rows, n, values, kind, done, row_of, more)
  local ok, lives, owners, stamps = claim_all(self, rows, n, values, row_of)
  if not ok then return false, lives end
  local entered, reason, bits, traits = true, nil, nil, nil
  for shard, list in pairs(sort_rows(rows, n, values, function(id) return owners[id] end)) do
    if entered == true then
      local ids, its = {}, {}
      for i = 1, #list, values do ids[#ids + 1], its[#its + 1] = lives[list[i]], stamps[list[i]] end
      entered, reason, bits, traits = self:ask_shard(shard, "enter", ids, kind, self:batch(), its, list, more,
        row_of and "enter_many" or "enter")
    end
    if entered ~= true then release(self, list, values, lives) end
    if entered == "stale" then
      entered, reason = enter_rows(self, list, #list // values, values, kind, done, row_of, more)
    elseif entered == "taken" then
      entered, reason = false, taken_text(reason, row_of)
    elseif entered == true then
      for i = 1, #list, values do
        local z = values == 4 and list[i + 3] or nil
        self:end_life(list[i], self.answered_at) -- of the former life: the message that ends its nodes may be lost
        self.outbox:keep(list[i], shard, lives[list[i]], bits, list[i + 1], list[i + 2], z)
        self.traits[list[i]] = argument.copy(traits)
        done[#done + 1] = list[i]
      end
    end
  end
  return entered == true, reason
end

-- Argument n of the method of that name.
local function kind_argument(kind, n, name)
  if type(kind) == "table" then return argument.copy(kind) end
  return kind == nil and 1 or argument.integer(kind, n, name, 0)
end

local function enter_one(self, more, id, ...)
  local d = self.dimensions
  local kind = select(d + 1, ...)
  argument.place(d, 2, "enter", ...)
  for i = d + 2, select("#", ...) do
    local extra = select(i, ...)
    if extra ~= nil then
      argument.fail(i + 1, "enter", 0, "nothing expected in %d dimensions, got %s", d, type(extra))
    end
  end
  return enter_rows(self, { id, ... }, 1, d + 1, kind_argument(kind, d + 2, "enter"), {}, nil, more)
end

function requests.enter(self, ...)
  return methods.done(enter_one(self, nil, ...))
end

--- e: id, x, y, z, kind. Returns what the owner's `enter` returns.
function Member:request_enter(e, more)
  local id = methods.checked("enter", e.id)
  if self.dimensions == 3 then return enter_one(self, more, id, e.x, e.y, e.z, e.kind) end
  return enter_one(self, more, id, e.x, e.y, e.kind)
end

-- Row by id of ids that are all different. Raises.
local function rows_by_id(rows, n, values)
  local row_of = {}
  for row = 1, n do
    local id = rows[(row - 1) * values + 1]
    if row_of[id] then error(taken_text(id, { [id] = row }), 0) end
    row_of[id] = row
  end
  return row_of
end

--- All or none: if another client takes an id while its row is claimed again, the rows that have entered leave.
function requests.enter_many(self, rows, given, ...)
  local n, values = argument.rows(rows, given, self.dimensions + 1, "enter_many")
  local kind = ...
  if select("#", ...) == 0 and n ~= #rows // values then
    argument.fail(2, "enter_many", 0, "the array has %d rows, and the kind comes third: with it n may be less",
      #rows // values)
  end
  kind = kind_argument(kind, 3, "enter_many")
  local done, row_of = {}, rows_by_id(rows, n, values)
  local ok, reason = enter_rows(self, rows, n, values, kind, done, row_of)
  for i = 1, ok and 0 or #done do requests.leave(self, done[i]) end
  return methods.done(ok, reason)
end

-- Drops old entries: their homes have been notified by now.
local function forget_left(self)
  self.left_count = 0
  for id, left in pairs(self.left) do
    if left.epoch < self.epoch_seen - windows.LEFT then
      self.left[id] = nil
    else
      self.left_count = self.left_count + 1
    end
  end
  self.left_most = math.max(MOST_LEFT, 2 * self.left_count)
end

function requests.leave(self, id, reason)
  if argument.reason(reason) then argument.fail(2, "leave", 0, "a world passes no reason on") end
  local ok, life = self:ask_owner("leave", id)
  if not ok then return false, life end
  taking.forget(self, id)
  self.views[id] = nil
  self:end_life(id, self.answered_at + 1)
  self.left[id] = { life = life, epoch = self.epoch_seen }
  self.left_count = self.left_count + 1
  if self.left_count > self.left_most then forget_left(self) end
  return true
end

-- Moving ------------------------------------------------------------------------------------------------------------

--- A move of an entity that is there: in a world none crosses anything.
function requests.jump(self, id, ...)
  argument.place(self.dimensions, 2, "jump", ...)
  argument.nothing(self.dimensions + 2, "jump", 0, select(self.dimensions + 1, ...))
  local ok, reason = self:ask_owner("jump", id)
  if ok then self:move(id, ...) end
  return methods.done(ok, reason)
end

--- rows: id, x, y [, z], ...: as many calls of `move`.
function requests.move_many(self, rows, n, bad)
  local ok, tell = self:put_rows("move_many", rows, n, bad)
  if ok then tell() end
  return methods.done(ok, tell)
end

-- Back-pressure: a client that flushes more often than epochs pass sends no more than a shard can apply, as moves that
-- wait take one row an entity. They go when an epoch has been reported, or with the next request. Without events and
-- answers the client must ask for that, with the last flush that does not wait: that is answered before the next epoch.
local function wait_for_epoch(self)
  if self.ticking then return end
  self.ticking = true
  self.client.fork(function()
    local ok, epoch = pcall(self.tick_epoch)
    self.ticking = false
    if not ok or not epoch or self.closed then return end
    local waits = self.flushes > MOST_FLUSHES
    self.flushes = 0
    if waits then push_moves(self) end
  end)
end

local function flush(self)
  if self.outbox:count() > 0 then find_owners(self) end
  local at = self.client.inbox:seq() + self:epoch() -- grows with messages of events, and with an answer of a new epoch
  self.flushes, self.flushed_at = at == self.flushed_at and self.flushes + 1 or 1, at
  if self.flushes >= MOST_FLUSHES then wait_for_epoch(self) end
  if self.flushes <= MOST_FLUSHES and not push_moves(self) then return false end
end

--- The end of the caller's tick: sends the moves, one message to each shard concerned; after several flushes in one
-- epoch, at its end. With `rows`, they are moved first; with `bad` as in `move_many`.
function Member:flush(rows, n, bad)
  self:check_open()
  local ok, tell = self:put_rows("flush", rows, n, bad)
  if not ok then error(tell, 2) end
  if flush(self) == false then error(self.client:lose(), 2) end
  tell()
end

--- Waits for an epoch that contains all that this client has sent; returns how many events it received meanwhile.
function Member:tick()
  self:check_open()
  self.flushes, self.flushed_at = 0, false
  if flush(self) == false then error(self.client:lose(), 2) end
  local inbox = self.client.inbox
  local _, _, before = inbox:count()
  local epoch = self.tick_epoch()
  if not epoch then error("the world is closed" .. (self.reason and ": " .. self.reason or ""), 2) end
  self.epoch_seen = math.max(self.epoch_seen, epoch)
  local _, _, after = inbox:count()
  return after - before
end

--- A message RENEWED.
Member.take_renewed = restore.renewed

--- A message TAKEN: as taking.taken. The events that end nodes are lost where a shard has died, so they are asked for.
function Member:taken(...)
  local had, nodes_end = taking.taken(self, ...)
  if nodes_end then self.client.fork(function() restore.end_nodes(self, math.huge) end) end
  return had
end

-- Routes ------------------------------------------------------------------------------------------------------------

-- Without entities that this client has made leave: a move may have been under way then.
local function without_left(self, ids, epoch)
  local others = {}
  for _, id in ipairs(ids) do
    local left = self.left[id]
    if not left or epoch > left.epoch + windows.LATE_MOVE then others[#others + 1] = id end
  end
  return others
end

--- Reports that moves of these entities have been refused: by the shards in that epoch; nil: by this client.
function Member:refuse(ids, epoch)
  if epoch then ids = without_left(self, ids, epoch) end
  if #ids == 0 then return end
  self.counters.refused = self.counters.refused + #ids
  for _, id in ipairs(ids) do self.outbox:set(id, 0) end
  self.client:report_refused(self, ids, #ids)
end

--- list: rows of an entity, the shard that owns it from epoch `list.epoch` on, and a life; shard 0: a move was refused.
function Member:take_routes(list)
  local refused, epoch = {}, list.epoch or 0
  self.epoch_received = math.max(self.epoch_received, epoch) -- requests wait for epoch_seen, which shards have answered
  for i = 1, #list, 3 do
    local id, shard = list[i], list[i + 1]
    if shard == outlet.LEFT then -- this client may have entered another life since
      if self.outbox:owns(id) == list[i + 2] then taking.forget(self, id) end
    elseif shard == 0 then
      refused[#refused + 1] = id
    elseif shard <= self.shards and self.outbox:where(id) then
      self.counters.routes = self.counters.routes + 1
      self.outbox:set(id, shard)
    end
  end
  self:refuse(refused, epoch)
end

-- Life --------------------------------------------------------------------------------------------------------------

function Member:forget(...)
  Map.forget(self, ...)
  restore.wake(self)
end

--- Leaves the world with everything that this client has entered or added. No events; closing twice is harmless.
function Member:close()
  if self.closed then return end
  if self.ticking then push_moves(self) end
  self:forget()
  self.quit()
end

Member.__close, Member.__len, Member.__eq = Member.close, Map.__len, rawequal

--- The shard that owns an entity, and the name of its process.
function Member:where(id)
  local ok, reason = self:request("where", id)
  if not ok then error(reason, 2) end
  local shard = self.outbox:where(math.tointeger(id))
  return shard, self.process_of and self.process_of[shard]
end

--- The last epoch that has been reported to this client.
function Member:epoch() return math.max(self.epoch_seen, self.epoch_received) end

-- on_late(f): f(names, seconds) is called each second while this process waits for shards or processes, and then
-- f({}, 0) once.
handlers.setters(Member, { "late" })

--- save(shard, epoch, bytes) is called for each shard with its state at the end of one epoch, which is returned.
function Member:snapshot(save)
  return results(self:request("snapshot", save))
end

--- Numbers by shard, and of the barrier of this process, for a console.
function Member:info()
  self:check_open()
  local info = { world = self.world_info and self.world_info() or {}, client = self.client:info() }
  for name, value in pairs(self.counters) do info.client[name] = value end
  for shard = 1, self.shards do
    info["shard " .. shard] = results(self:ask_shard(shard, "info_here"))
  end
  return info
end

argument.limit(Member, { flush = 3, tick = 0, close = 0, where = 1, epoch = 0, snapshot = 1, info = 0 })

return Member
