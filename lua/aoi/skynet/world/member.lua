-- The client library of a world: what `aoi.world` returns. It has the verbs, queries and handlers of a space of
-- aoi.open; behind them each request goes to the shard that owns the entity, wherever that is, and moves are sorted
-- by shard.
--
--   outbox               (C) the owner of each entity that has been asked for, and rows of moves by shard
--   mine[id][node] --+   the record of a node that this client has added
--   records[handle] <+   one life of one node: its handlers, what it sees after the messages so far, the number of the
--                        last group about it, and groups that have come too early
--   queue                events that have arrived and are not delivered yet: record, kind, target, ...
--
-- The groups of a node are numbered, whichever shard writes them: so its handlers hear the sequence that one space
-- would give, though it changes hands and its messages come on different ways.

local argument = require "aoi.skynet.argument"
local handlers_of = require "aoi.skynet.handlers"
local methods = require "aoi.skynet.methods"
local core = require "aoi.skynet.world.native"
local hearing = require "aoi.skynet.world.hearing"
local questions = require "aoi.skynet.world.questions"

local results = methods.results

local function one_by_one(calls)
  for _, f in ipairs(calls) do f() end
end

local Member = {}
Member.__index = Member

local MOST_TRIES = 100 -- shards asked one after the other for an entity that changes hands
local REMEMBERS = 100  -- epochs for which the lives are known that this client has ended
local MOST_LEFT = 1000 -- of them before the old ones are looked for
local MOST_FLUSHES = 4 -- whose moves are under way in an epoch: those of later ones wait for its end

--- options: number of this client; plan: of that, how many shards there are; dimensions; ask(shard, after, name, ...)
-- waits and returns what Shard:request replies; around(x, y, ex, ey): a list of the shards that own what is in that
-- rectangle around a place, may wait, too; send(shard, message) sends moves, nil if the world is gone; tick_epoch()
-- waits, and returns the epoch; quit(); log(text); optional: together(calls), which calls all at once, fork(f), which
-- calls f later, world_info(), process_of, by shard.
function Member.new(options)
  local self = setmetatable({
    outbox = core.outbox(options.dimensions, options.plan.shards), batch = 0, epoch_seen = 0,
    records = {}, mine = {}, handle = 0, left = {}, left_count = 0, lost = {}, lost_count = 0,
    queue = {}, head = 1, tail = 0, list = {}, closed = false,
    counters = { messages = 0, bytes = 0, malformed = 0, events = 0, resyncs = 0, early = 0, errors = 0, batches = 0,
                 moves = 0, refused = 0, routes = 0, uneven = 0 },
    together = one_by_one, flushes = 0,
  }, Member)
  for name, value in pairs(options) do self[name] = value end
  return self
end

-- Requests ----------------------------------------------------------------------------------------------------------

local function usable(self)
  if self.closed then error("attempt to use a closed world" .. (self.reason and ": " .. self.reason or ""), 3) end
end

local function answered(self, status, applied, ...)
  self.answered_at = applied or 0
  if applied and applied > self.epoch_seen then self.epoch_seen = applied end
  return status, ...
end

-- Of one shard: true and results; false and a reason; "moved" and a shard; "unknown".
local function ask(self, shard, name, ...)
  if self.closed then return false, "attempt to use a closed world" end
  return answered(self, self.ask(shard, self.epoch_seen, name, ...))
end

local function no_entity(name, id) return false, ("bad argument #1 to '%s' (no entity %d)"):format(name, id) end

local function home(self, id) return core.home(id, self.plan.shards) end

local function push_moves(self)
  local list, n = self.outbox:pending()
  if n == 0 then return true end
  self.batch = self.batch + 1 & 0xffffffff
  local gone = false
  for i = 1, n do
    local message, rows = self.outbox:take(list[i], self.number, self.batch)
    self.counters.batches, self.counters.moves = self.counters.batches + 1, self.counters.moves + rows
    gone = self.send(list[i], message) == nil or gone
  end
  return not gone
end

-- Entities whose owner is not known, since somebody else has entered them: their homes are asked, each once. A move of
-- them that comes meanwhile is the last one.
local function find_lost(self)
  local by_home = {}
  for id in pairs(self.lost) do
    local at = home(self, id)
    by_home[at] = by_home[at] or {}
    table.insert(by_home[at], id)
  end
  local refused = {}
  for at, ids in pairs(by_home) do
    local ok, owners = ask(self, at, "whose", ids)
    for i, id in ipairs(ids) do
      local to = self.lost[id]
      if to then
        self.lost[id], self.lost_count = nil, self.lost_count - 1
        if ok and owners[i] then
          self.outbox:set(id, owners[i])
          self.outbox:move(id, to[1], to[2], to[3])
        else
          refused[#refused + 1] = id
        end
      end
    end
  end
  if #refused > 0 then self:refuse(refused) end
end

-- Its owner is not known any more; a move that waits, of another coroutine perhaps, looks for it.
function Member:forget_owner(id)
  local x, y, z = self.outbox:set(id, 0)
  if not x then return end
  if not self.lost[id] then self.lost_count = self.lost_count + 1 end
  self.lost[id] = { x, y, z }
end

-- To the owner of an entity, wherever it is now; the collected moves go first. Where the last of them went to another
-- shard than the owner, as the entity had changed hands, the request goes the same way: it always comes after it.
local function ask_owner(self, name, id, ...)
  if self.closed then return false, "attempt to use a closed world" end
  if self.lost_count > 0 then find_lost(self) end
  push_moves(self)
  local owner, sent = self.outbox:where(id)
  local shard, batch, same = sent or owner, self.batch, 0
  for _ = 1, MOST_TRIES do
    if not shard then
      local ok, list = ask(self, home(self, id), "whose", { id })
      if not ok then return false, list end
      shard = list[1]
      if not shard then return no_entity(name, id) end
    end
    local answer = table.pack(ask(self, shard, name, id, ...))
    local status, reason = answer[1], answer[2]
    if status == true then
      self.outbox:set(id, shard)
      if batch == self.batch then self.outbox:settle(id) end
      return table.unpack(answer, 1, answer.n)
    elseif status == "moved" then
      shard = reason
    elseif status == "unknown" then
      self:forget_owner(id)
      local ok, list = ask(self, home(self, id), "whose", { id })
      if not ok then return false, list end
      same = list[1] == shard and same + 1 or 0 -- it may have come there meanwhile; or it has only been claimed
      if not list[1] or same > 1 then return no_entity(name, id) end
      shard = list[1]
    else
      return false, reason
    end
  end
  return false, ("entity %d cannot be found: it changes hands too often"):format(id)
end

-- The entity is looked for by its id, so it must be one.
local function owner_method(name, values, n_integers)
  Member[name] = function(self, ...)
    local arguments = table.pack(...)
    for i = 1, n_integers do arguments[i] = argument.integer(arguments[i], i, name, 2) end
    return results(ask_owner(self, name, table.unpack(arguments, 1, math.max(values, arguments.n))))
  end
end

-- Entities ----------------------------------------------------------------------------------------------------------

local function check_place(self, name, first, x, y, z, level)
  argument.finite(x, first, name, level + 1)
  argument.finite(y, first + 1, name, level + 1)
  if self.dimensions == 3 then argument.finite(z, first + 2, name, level + 1) end
end

local function enter(self, id, kind, x, y, z)
  if self.closed then return false, "attempt to use a closed world" end
  local at, left = home(self, id), self.left[id]
  local ok, lives, owners = ask(self, at, "claim", { id }, { x, y }, { left and left.life or false })
  if not ok then return false, lives end
  local shard = owners[1]
  local entered, reason = ask(self, shard, "enter", id, lives[1], kind, self.batch, x, y, z)
  if not entered then
    ask(self, at, "release", { id }, lives)
    return false, reason
  end
  self.outbox:set(id, shard)
  return true
end

--- enter(id, x, y [, z] [, kind])
function Member:enter(id, x, y, z, kind)
  usable(self)
  id = argument.integer(id, 1, "enter", 2)
  check_place(self, "enter", 2, x, y, z, 2)
  if self.dimensions == 2 then z, kind = nil, z end
  kind = kind == nil and 1 or argument.integer(kind, self.dimensions + 2, "enter", 2)
  return results(enter(self, id, kind, x, y, z))
end

-- Rows sorted by a key of their id: { [key] = { rows } }, each row id, x, y [, z].
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

local function claim_all(self, rows, n, values)
  local lives, owners, done = {}, {}, {}
  for at, list in pairs(sort_rows(rows, n, values, function(id) return home(self, id) end)) do
    local ids, places, left = {}, {}, {}
    for i = 1, #list, values do
      ids[#ids + 1] = list[i]
      places[#places + 1], places[#places + 2] = list[i + 1], list[i + 2]
      left[#left + 1] = self.left[list[i]] and self.left[list[i]].life or false
    end
    local ok, got, holders = ask(self, at, "claim", ids, places, left)
    if not ok then
      for other, claimed in pairs(done) do ask(self, other, "release", claimed.ids, claimed.lives) end
      return false, (tostring(got):gsub("to 'enter'", "to 'enter_many'"))
    end
    done[at] = { ids = ids, lives = got }
    for i, id in ipairs(ids) do lives[id], owners[id] = got[i], holders[i] end
  end
  return true, lives, owners
end

local function enter_many(self, rows, n, kind)
  local values = self.dimensions + 1
  local ok, lives, owners = claim_all(self, rows, n, values)
  if not ok then return false, lives end
  local by_owner = sort_rows(rows, n, values, function(id) return owners[id] end)
  for shard, list in pairs(by_owner) do
    local given = {}
    for i = 1, #list, values do given[#given + 1] = lives[list[i]] end
    local entered, reason = ask(self, shard, "enter_many", given, kind, self.batch, list)
    if not entered then return false, reason end
    for i = 1, #list, values do self.outbox:set(list[i], shard) end
  end
  return true
end

local function check_rows(self, name, rows, n)
  local values = self.dimensions + 1
  if type(rows) ~= "table" then argument.fail(1, name, 3, "table expected, got %s", type(rows)) end
  if n == nil then
    n = #rows // values
    if #rows % values ~= 0 then
      argument.fail(1, name, 3, "the length of the array is no multiple of %d", values)
    end
  else
    n = argument.integer(n, 2, name, 3)
    if n < 0 or n > #rows // values then argument.fail(2, name, 3, "the array has %d rows", #rows // values) end
  end
  for i = 0, n - 1 do
    local at = i * values
    if math.type(rows[at + 1]) ~= "integer" and not math.tointeger(rows[at + 1]) then
      argument.fail(1, name, 3, "row %d: integer expected, got %s", i + 1, type(rows[at + 1]))
    end
    for v = 2, values do
      local x = rows[at + v]
      if not math.type(x) or x - x ~= 0 then argument.fail(1, name, 3, "row %d: finite number expected", i + 1) end
    end
  end
  return n
end

--- enter_many(rows [, n] [, kind]): all or, where an id is taken, none.
function Member:enter_many(rows, n, ...)
  local kind = ...
  usable(self)
  n = check_rows(self, "enter_many", rows, n)
  local most = #rows // (self.dimensions + 1)
  if select("#", ...) == 0 and n ~= most then
    argument.fail(2, "enter_many", 2, "the array has %d rows, and the kind comes third: with it n may be less", most)
  end
  kind = kind == nil and 1 or argument.integer(kind, 3, "enter_many", 2)
  return results(enter_many(self, rows, n, kind))
end

-- By then their homes have heard.
local function forget_left(self)
  self.left_count = 0
  for id, left in pairs(self.left) do
    if left.epoch < self.epoch_seen - REMEMBERS then
      self.left[id] = nil
    else
      self.left_count = self.left_count + 1
    end
  end
end

local function leave(self, id)
  local ok, life = ask_owner(self, "leave", id)
  if not ok then return false, life end
  self.outbox:set(id, 0)
  if self.lost[id] then self.lost[id], self.lost_count = nil, self.lost_count - 1 end
  self.left[id] = { life = life, epoch = self.epoch_seen }
  self.left_count = self.left_count + 1
  if self.left_count > MOST_LEFT then forget_left(self) end
  return true
end

function Member:leave(id)
  usable(self)
  return results(leave(self, argument.integer(id, 1, "leave", 2)))
end

owner_method("set_kind", 2, 2)

-- Moving ------------------------------------------------------------------------------------------------------------

--- Moves an entity. Moves are collected until `flush` or the next request; the last one of an entity counts.
function Member:move(id, x, y, z)
  usable(self)
  id = argument.integer(id, 1, "move", 2)
  check_place(self, "move", 2, x, y, z, 2)
  local found, waits = self.outbox:move(id, x, y, z), self.lost_count > 0 and self.lost[id]
  if found and not waits then return end
  if found or not waits then self.lost_count = self.lost_count + (found and -1 or 1) end
  self.lost[id] = not found and { x, y, z } or nil
end

--- rows: id, x, y [, z], ...: as many calls of `move`.
function Member:move_many(rows, n)
  usable(self)
  n = check_rows(self, "move_many", rows, n)
  local values = self.dimensions + 1
  for i = 1, n * values, values do
    self:move(rows[i], rows[i + 1], rows[i + 2], values == 4 and rows[i + 3] or nil)
  end
end

Member.push_moves = push_moves

-- Back-pressure: who flushes more often than there are epochs sends no more than a shard can apply, as moves that wait
-- are one row an entity. They go when an epoch has been told, or with the next request.
local function wait_for_epoch(self)
  if self.ticking then return end
  self.ticking = true
  self.fork(function()
    local ok, epoch = pcall(self.tick_epoch)
    self.ticking = false
    if not ok or not epoch or self.closed then return end
    self.flushes = 0
    push_moves(self)
  end)
end

--- The end of the caller's tick: its moves go out, one message to each shard concerned; if that has happened several
-- times in this epoch already, at its end.
function Member:flush()
  usable(self)
  if self.lost_count > 0 then find_lost(self) end
  self.flushes = self.flushes + 1
  if self.flushes > MOST_FLUSHES and self.fork then return wait_for_epoch(self) end
  if not push_moves(self) then error("the world is gone", 2) end
end

--- Waits for an epoch that takes all that this client has sent; returns how many events it heard meanwhile.
function Member:tick()
  usable(self)
  self.flushes = 0
  self:flush()
  local before = self.counters.events
  local epoch = self.tick_epoch()
  if not epoch then error("the world is closed" .. (self.reason and ": " .. self.reason or ""), 2) end
  self.epoch_seen = math.max(self.epoch_seen, epoch)
  return self.counters.events - before
end

-- Watching ----------------------------------------------------------------------------------------------------------

local function add_node(self, id, node, area, handlers)
  local handle = self.handle
  repeat
    handle = handle % 0xffffffff + 1
  until not self.records[handle]
  self.handle = handle
  local record = { watcher = id, node = node, handlers = handlers, view = {}, seq = 0, handle = handle }
  local before = self.mine[id] and self.mine[id][node]
  self.records[handle] = record
  local ok, reason = ask_owner(self, "add_node", id, node, area, handle)
  if not ok then
    self.records[handle] = nil
    return false, reason
  end
  if self.records[handle] ~= record then return true end -- it has already been closed
  record.accepted = self.answered_at + 1
  -- The life before this one may still have events on their way, from another shard: they come first.
  if before and self.records[before.handle] then record.after, before.next = before, record end
  self.mine[id] = self.mine[id] or {}
  self.mine[id][node] = record
  return true
end

function Member:add_node(id, node, area, on_enter, on_leave)
  usable(self)
  local handlers = on_enter
  if type(on_enter) ~= "table" then
    if on_enter ~= nil and type(on_enter) ~= "function" then
      argument.fail(4, "add_node", 2, "function or table expected, got %s", type(on_enter))
    elseif on_leave ~= nil and type(on_leave) ~= "function" then
      argument.fail(5, "add_node", 2, "function expected, got %s", type(on_leave))
    end
    handlers = { enter = on_enter, leave = on_leave }
  end
  id, node = argument.integer(id, 1, "add_node", 2), argument.integer(node, 2, "add_node", 2)
  return results(add_node(self, id, node, area, handlers))
end

for name, integers in pairs { remove_node = 2, set_area = 2, set_radius = 2, set_facing = 2, set_mask = 3 } do
  owner_method(name, 2, integers)
end

--- What a node of this client sees after the messages so far. Sends nothing; nil for nodes of other clients.
function Member:seen(id, node, buf)
  local record = self.mine[id] and self.mine[id][node]
  if not record then return nil end
  local n = 0
  buf = buf or {}
  for target in pairs(record.view) do
    n = n + 1
    buf[n] = target
  end
  buf[n + 1] = nil
  return buf, n
end

-- on_error(f): f(err, watcher, target, node) takes the errors of handlers; otherwise they are logged. The other events
--   go on.
-- on_refused(f): f(ids, n) gets the entities whose moves were refused, because they are not in the world. Without it
-- they are logged. on_resync(f): f() is called after a resync: this client had fallen behind, and the difference has
-- been delivered. on_close(f): f(reason) is called when the world has ended.
handlers_of.setters(Member, function(self, name, f) self[name .. "_handler"] = f end,
  { "error", "refused", "resync", "close" })

hearing(Member)
questions(Member, {
  results = results, ask = ask, ask_owner = ask_owner, owner_method = owner_method, check_place = check_place,
})

return Member
