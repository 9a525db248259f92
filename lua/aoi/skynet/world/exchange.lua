-- The exchange of a world: one object in each process that takes part. It is the barrier of epochs, carries parts and
-- requests between shards and clients of different processes, and numbers the messages to each client of its own
-- process. Independent of skynet: its options are functions that send (exchanged.lua is its service).
--
--   idle --(clock, or a batch of the next epoch)--> closing: each shard here makes its parts
--        --(all parts)--> waiting: one batch goes to each other process, and one comes from each
--        --(all batches)--> applying: each shard here applies the parts for it, and returns mail for clients
--        --(all mail)--> idle; mail for clients of other processes goes with the next batch
--
--   lines[process]    line.lua: delivers each item once, in order
--     { "epoch", e, { shard, part, ..., entries = rows of directory.lua } }
--            { "done", e }: all mail of e is on the line before it
--     { "mail", e, client, mail }                     { "moves", shard, bytes }
--     { "request", key, shard, { client, after, ... } }   { "answer", key, { ... } }
--     { "order", key, what, value, epoch }            what: "whole", "death", "resend", "change"
--     { "dead", shard, term }, { "restored", e }: changes.lua    { "gone", process, ... }: members.lua
--     { "proposal", proposal }: director.lua
--   mail[e][client]   mail of epoch e for clients here, kept until all processes have sent theirs: everything that
--                     shards have written for an epoch is one message, so a client receives epochs in order, and in
--                     each epoch every node once
--   clients[number]   the client's address and the streams of messages to it (streams.lua, delivery.lua)
--   gone[number]      of a client that has died: the epoch in which it ends in all shards, until its mail is sent
--
-- A client that leaves a window of messages unacknowledged is behind: it receives nothing until it has acknowledged
-- all; then all shards write whole views for it in one epoch (`resumes`).
--
-- `send_shard` and `post` return nil where the receiving service is dead. All are probed twice per heartbeat, as some
-- receive nothing else. Shards move, processes come and go while the world runs: changes.lua, members.lua,
-- director.lua.

local changes = require "aoi.skynet.world.changes"
local directory = require "aoi.skynet.world.directory"
local delivery = require "aoi.skynet.world.delivery"
local director = require "aoi.skynet.world.director"
local failures = require "aoi.skynet.failures"
local late = require "aoi.skynet.world.late"
local members = require "aoi.skynet.world.members"
local streams = require "aoi.skynet.streams"
local windows = require "aoi.skynet.world.windows"
local wire = require "aoi.skynet.wire"

local Exchange = {}
Exchange.__index = Exchange

local MOST_CLIENTS = 1 << 24 -- of one process: a client's number is (process - 1) << 24 | n

--- options: plan; walls_in: the number of dimensions, nil in a world without walls; processes: by index { name, boot,
-- since }; here: index of this process; homes[shard]: the process where each shard begins; state: from changes.state,
-- where the world runs already; nodes: number of shards by name of a process; send_shard(shard, verb, ...) sends to a
-- shard here and post(address, message) to a client here, and both return nil if the receiver is dead; replace(shard,
-- options, done): starts another instance, with options of Shard.new, and calls done(true) or done(false, reason)
-- later; interrupt(shard): ends an instance here that loops; address_of(shard): of a shard here; call(process, batch,
-- done): as of Line.new; on_end(reason); now() in seconds; interval in seconds; window, patience, silence; say(text):
-- writes to the log. Optional: on_epoch(epoch, seconds, closing, waiting, applying), all in seconds;
-- name_of(address): for messages.
function Exchange.new(options)
  local self = setmetatable({
    phase = "idle", started = nil, clients = {}, by_address = {}, client_count = 0, foreign = 0,
    say = function() end, name_of = tostring,
    inbox = {}, ticks = {}, relays = {}, relay_key = 0, mail = {}, resuming = {}, closed = false,
    entries = {}, new_entries = {},
    fallen = {}, gone = {}, awaited = {}, orders = {}, known = {}, order_count = 0, most_deaths = 8, covered = {},
    counters = {
      epochs = 0, messages = 0, bytes = 0, overruns = 0, resyncs = 0, events = 0, wait_seconds = 0, wait_max = 0,
      epoch_seconds = 0, epoch_max = 0, missed = 0, malformed = 0,
    },
  }, Exchange)
  for name, value in pairs(options) do self[name] = value end
  self.warn = failures.rate_limited(self.say, self.now)
  self.send_shard = function(shard, ...) -- the next poll removes a dead shard
    if options.send_shard(shard, ...) == nil then self.fallen[shard] = true end
  end
  local state = options.state or {}
  changes.begin(self, state)
  members.begin(self)
  director.begin(self, state)
  self.processes = { [self.here] = options.processes[self.here] }
  for index, process in pairs(options.processes) do members.add(self, index, process) end
  self.last_index = math.max(self.last_index, state.last_index or 0)
  for _, order in ipairs(state.orders or {}) do self:obey(table.unpack(order)) end
  self.next_at = self.now() + self.interval
  self.probe_at, self.polled_at = self.now() + self.patience / 2, self.now()
  return self
end

-- Epochs ------------------------------------------------------------------------------------------------------------

-- Each live shard here owes its parts, or its mail, from now on.
local function await_shards(self)
  self.awaited, self.waited = {}, 0
  for shard = 1, self.plan.shards do
    self.awaited[shard] = changes.takes_part(self, shard, self.epoch + 1) and true or nil
  end
end

-- The shard owes nothing any more. Returns whether it did.
local function settle(self, shard)
  local owed = self.awaited[shard] ~= nil
  self.awaited[shard] = nil
  return owed
end

local function apply(self)
  self.phase, self.applying_since = "applying", self.now()
  local waited = self.applying_since - self.waiting_since
  self.counters.wait_seconds = self.counters.wait_seconds + waited
  self.counters.wait_max = math.max(self.counters.wait_max, waited)
  for _, batches in pairs(self.batches) do
    local parts = batches[self.epoch + 1] or {} -- a batch that a dropped process has sent counts
    batches[self.epoch + 1] = nil
    directory.keep(self.entries, parts.entries or "")
    for i = 1, #parts, 2 do
      local inbox = self.inbox[parts[i]] or {} -- none: the shard has died
      inbox[#inbox + 1] = parts[i + 1]
    end
  end
  directory.keep(self.entries, table.concat(self.new_entries))
  await_shards(self)
  local unsure = changes.is_unsure(self, self.epoch)
  local partial = next(self.dead) ~= nil or self.lost_at > self.epoch + 1 -- it has yet to have a successor
  for shard in pairs(self.awaited) do
    self.send_shard(shard, "apply", self.epoch + 1, self.inbox[shard] or {}, unsure, changes.begins_empty(self, shard),
      partial)
  end
  if next(self.awaited) == nil then self:applied() end
end

local function check_barrier(self)
  if self.phase == "waiting" and not late.batches(self)[1] then apply(self) end
end

local function all_closed(self)
  self.phase, self.waiting_since = "waiting", self.now()
  for index, line in pairs(self.lines) do
    if self.processes[index].since <= self.epoch + 1 then
      line.outgoing.entries = table.concat(self.new_entries)
      line:send { "epoch", self.epoch + 1, line.outgoing }
    end
  end
  check_barrier(self)
end

local function begin(self)
  local now = self.now()
  changes.enter(self, self.epoch + 1, function(change) director.entered(self, change) end)
  if self.leaving then return end
  self.phase, self.started = "closing", now
  await_shards(self)
  self.next_at = math.max(self.next_at + self.interval, now)
  self.inbox, self.new_entries = {}, {}
  for _, line in pairs(self.lines) do line.outgoing = {} end
  for shard in pairs(self.awaited) do
    if self.hosts[shard] == self.here then self.inbox[shard] = {} end
  end
  for shard = 1, self.plan.shards do
    if self.awaited[shard] then self.send_shard(shard, "close", self.epoch + 1) end
  end
  if next(self.awaited) == nil then all_closed(self) end
end

-- Whether another process has closed the next epoch: the earliest clock sets the pace of all.
local function has_batch(self)
  for _, batches in pairs(self.batches) do
    if batches[self.epoch + 1] then return true end
  end
  return false
end

local function proceed(self)
  if self.phase ~= "idle" or self.closed or self.leaving then return end
  director.poll(self)
  if not changes.are_ready(self, self.epoch + 1) or self.now() < self.next_at and not has_batch(self) then return end
  begin(self)
end

-- Whether an answer counts: it comes from the instance of the present term, which owes it.
local function is_due(self, shard, term, phase)
  local one = self.instances[shard]
  return not self.closed and self.phase == phase and one and one.term == term and settle(self, shard)
end

--- The shard's instance of that term has closed the epoch: parts by receiving shard, and rows for directory.keep.
function Exchange:parts(shard, term, parts, entries)
  if not is_due(self, shard, term, "closing") then return end
  table.insert(self.new_entries, entries)
  for to, part in pairs(parts) do
    local line = self.lines[self.hosts[to]]
    local list = line and line.outgoing or self.hosts[to] == self.here and self.inbox[to] or {}
    if line then list[#list + 1] = to end
    list[#list + 1] = part
  end
  if next(self.awaited) == nil then all_closed(self) end
end

local function put_mail(self, epoch, client, mail)
  local all = self.mail[epoch] or {}
  local list = all[client] or {}
  self.mail[epoch], all[client] = all, list
  list[#list + 1] = mail
end

--- The shard's instance of that term has applied the epoch: mail by client, and the number of events.
function Exchange:mailed(shard, term, mail, events)
  if not is_due(self, shard, term, "applying") then return end
  for client, one in pairs(mail) do
    local process = (client >> 24) + 1
    if process == self.here then
      put_mail(self, self.epoch + 1, client, one)
    elseif self.lines[process] then
      self.lines[process]:put { "mail", self.epoch + 1, client, one }
    end
  end
  self.counters.events = self.counters.events + events
  if next(self.awaited) == nil then self:applied() end
end

function Exchange:applied()
  local counters, seconds = self.counters, self.now() - self.started
  self.epoch, self.phase = self.epoch + 1, "idle"
  counters.epochs, counters.epoch_seconds = counters.epochs + 1, counters.epoch_seconds + seconds
  counters.epoch_max = math.max(counters.epoch_max, seconds)
  if self.on_epoch then
    self.on_epoch(self.epoch, seconds, self.waiting_since - self.started, self.applying_since - self.waiting_since,
      self.now() - self.applying_since)
  end
  members.send_all(self, "done", self.epoch)
  changes.expire(self)
  self:send_mail()
  proceed(self)
end

--- The shard's instance of that term has raised an error and cannot go on.
function Exchange:failed(shard, term)
  local one = self.instances[shard]
  if one and one.term == term then self.fallen[shard] = true end
end

-- The epoch does not wait for dead shards.
local function remove_dead_shards(self)
  local fallen = self.fallen
  self.fallen = {}
  for shard in pairs(fallen) do
    if not self.closed then changes.died(self, shard) end
    if not self.closed and settle(self, shard) and next(self.awaited) == nil then
      if self.phase == "closing" then all_closed(self) elseif self.phase == "applying" then self:applied() end
    end
  end
end

--- A process has been dropped: requests to its shards are answered with nil, so that callers ask the successors.
function Exchange:on_drop(index)
  director.dropped(self, index)
  for key, relay in pairs(self.relays) do
    if relay.process == index then
      self.relays[key] = nil
      relay.reply(nil)
    end
  end
end

--- Resumes what has waited for dropped processes; called after on_drop.
function Exchange:go_on()
  self:send_mail()
  check_barrier(self)
  proceed(self)
end

local function probe(self)
  self.probe_at = self.now() + self.patience / 2
  changes.send_all(self, "alive")
  members.ask_missing(self)
  for number, client in pairs(self.clients) do self:post_to(number, wire.ping(client.events.sent)) end
end

local function stepped(self, ok, ...)
  if ok then return ... end
  self.say((...))
  local reason = "the exchange of this process has failed"
  if not pcall(self.finish, self, reason, true) then self.on_end(reason) end
end

--- Calls f(...), a part of the exchange's work for the barrier. An error leaves that in an undefined state: the
-- exchange ends here, and the others go on as if this process had died. Returns the results of f.
function Exchange:step(f, ...) return stepped(self, xpcall(f, debug.traceback, ...)) end

--- To be called some hundred times a second: the clock of epochs and of failure detection.
function Exchange:poll()
  if self.closed then return end
  if self.now() >= self.probe_at then probe(self) end
  late.watch(self)
  late.notify(self)
  remove_dead_shards(self)
  proceed(self)
  for _, line in pairs(self.lines) do
    line:push()
    line:poll()
  end
  members.leave(self)
end

-- Waiting for an epoch ------------------------------------------------------------------------------------------------

--- What a request is answered that comes when the world has ended, or waits as it ends.
function Exchange:closed_text() return "the world is closed: " .. self.reason end

--- Calls reply(epoch) once the mail of an epoch has been sent here that covers all that came before; reply(nil, reason)
-- where the world ends before.
function Exchange:tick(reply)
  if self.closed then return reply(nil, self:closed_text()) end
  local at = self.epoch + (self.phase == "idle" and 1 or 2)
  if next(self.lines) then at = at + 1 end -- a message to another process may miss the next epoch there
  self.ticks[#self.ticks + 1] = { at = at, reply = reply }
end

-- Sends the mail and answers the ticks of each epoch for which every process has sent its mail.
function Exchange:send_mail()
  local last = self.epoch
  for index, line in pairs(self.lines) do
    if self.processes[index].since <= self.epoch then last = math.min(last, line.done) end
  end
  for epoch = self.sent + 1, last do
    local mail = self.mail[epoch] or {}
    self.mail[epoch] = nil
    for number, at in pairs(self.resuming) do
      if at == epoch then mail[number] = mail[number] or {} end
    end
    for number, list in pairs(mail) do delivery.deliver(self, number, epoch, list) end
    changes.notify_clients(self, epoch)
  end
  self.sent = math.max(self.sent, last)
  local left = {}
  for _, tick in ipairs(self.ticks) do
    if tick.at <= last then tick.reply(last) else left[#left + 1] = tick end
  end
  self.ticks = left
  for number, at in pairs(self.gone) do
    if at <= last then self.gone[number] = nil end
  end
end

-- Clients -----------------------------------------------------------------------------------------------------------

--- The number of the client at that address here, given at its first call.
function Exchange:join(address)
  local number = self.by_address[address]
  if number then return number end
  repeat
    self.client_count = self.client_count % (MOST_CLIENTS - 1) + 1
    number = (self.here - 1) << 24 | self.client_count
  until not self.clients[number] and not self.gone[number]
  self.by_address[address] = number
  self.clients[number] = streams.begin { address = address, behind = false, left = {} }
  changes.send_all(self, "admit", { [address] = number })
  return number
end

--- Of the client at that address, to which the events of a node go: its number, and a handle that no other such node of
-- this process has; nil: that service is no client.
function Exchange:foreign_handle(address)
  local number = self.by_address[address]
  if not self.clients[number] then return nil end
  self.foreign = self.foreign % 0x7fffffff + 1
  return number, wire.GATE + self.foreign - 1
end

--- The addresses of those of the numbered clients that are in this process.
function Exchange:addresses(numbers)
  local list = {}
  for _, number in ipairs(numbers) do
    if self.clients[number] then list[#list + 1] = self.clients[number].address end
  end
  return list
end

-- Once in an epoch, as many clients may die in one.
local function drop_old_orders(self)
  local kept = {}
  for _, one in ipairs(self.orders) do
    if one[4] > self.epoch - windows.ORDERS then kept[#kept + 1] = one else self.known[one[1]] = nil end
  end
  self.orders, self.dropped_at = kept, self.epoch
end

--- Takes an order, of any process; one that has been taken before is ignored.
function Exchange:obey(key, what, value, at)
  if self.known[key] or self.closed or at <= self.entered then return end
  if self.dropped_at ~= self.epoch then drop_old_orders(self) end
  table.insert(self.orders, { key, what, value, at })
  self.known[key] = true
  changes.send_all(self, "order", what, value, at)
  if what ~= "change" then return end
  changes.learn(self, value, at)
  director.learn(self, value, at)
end

--- An order that all shards obey in the same epoch (Shard:order): `at`, or the earliest possible. Returns that epoch.
function Exchange:order(what, value, at)
  at = at or self.epoch + windows.AHEAD
  self.order_count = self.order_count + 1
  local key = self.here << 32 | self.order_count
  members.send_all(self, "order", key, what, value, at)
  self:obey(key, what, value, at)
  return at
end

--- The client at that address is gone: its entities leave.
function Exchange:leave(address)
  local number = self.by_address[address]
  if not number then return end
  self.by_address[address], self.clients[number], self.resuming[number] = nil, nil, nil
  changes.restored(self, number)
  if not self.closed then self.gone[number] = self:order("death", number) end
end

--- A client that is gone has mail of that epoch: what its last requests have brought into a shard is ended, too.
function Exchange:leave_again(number, epoch)
  if epoch > (self.gone[number] or 0) then self.gone[number] = self:order("death", number) end
end

function Exchange:post_to(number, message)
  local client = self.clients[number]
  if not client then return end
  if self.post(client.address, message) == nil then return self:leave(client.address) end
  self.counters.messages, self.counters.bytes = self.counters.messages + 1, self.counters.bytes + #message
  return true
end

local function resend(client, ids, self)
  for id, at in pairs(client.suspended) do -- of an earlier order: begun anew, or ended before
    if at ~= true and at <= self.sent then client.suspended[id] = nil end
  end
  local at = self:order("resend", ids)
  for _, id in ipairs(ids) do client.suspended[id] = at end
end

--- Orders whole views for that client from all shards, in one epoch to come; it receives no events before.
function Exchange:begin_anew(number)
  local at = self:order("whole", number)
  self.clients[number].resumes, self.resuming[number] = at, at
end

--- The client at that address has delivered its messages up to seq; flags: wire.lua.
function Exchange:ack(address, seq, flags)
  local number = self.by_address[address]
  local client = self.clients[number]
  if not client or self.closed then return end
  if flags & wire.OF_RESTORED ~= 0 then return changes.restored(self, number, seq) end
  if streams.take_ack(client, flags, seq, resend, self) then return end
  streams.ack(client.events, seq)
  client.behind = client.behind or flags & wire.LOST ~= 0 and not client.resumes
  if client.behind and not streams.is_full(client.events, 1) then
    client.behind = false
    self:begin_anew(number)
  end
end

-- To shards of other processes ----------------------------------------------------------------------------------------

--- A request of a client here to a shard of another process; reply(...) gets its answer, nil where the shard is dead.
function Exchange:relay(reply, shard, ...)
  local process = self.hosts[shard]
  if self.closed or not process then return reply(false, 0, "the world is closed") end
  if process == self.here then return self.send_shard(shard, "request", reply, ...) end -- the client will be notified
  if not self.lines[process] then return reply(nil) end
  self.relay_key = self.relay_key + 1
  self.relays[self.relay_key] = { reply = reply, process = process }
  self.lines[process]:send { "request", self.relay_key, shard, table.pack(...) }
end

-- Whether a message of moves names a client for which is_its(number) is true. Reports others.
local function is_sender(self, message, source, is_its)
  local kind, _, number = wire.head(type(message) == "string" and message or "")
  if kind == wire.MOVES and is_its(number) then return true end
  self.counters.malformed = self.counters.malformed + 1
  self.warn("moves", "bad moves from %s: they are not its own", source)
end

--- Moves of the client at that address, for a shard of another process. Returns true, nil where the world is closed.
function Exchange:relay_moves(address, shard, message)
  local line = self.lines[self.hosts[shard]]
  if self.closed then return nil end
  local function is_its(number) return number == self.by_address[address] end
  if not is_sender(self, message, self.name_of(address), is_its) then return true end
  if self.hosts[shard] == self.here then
    self.send_shard(shard, "moves", message)
  elseif line then
    line:send { "moves", shard, message }
  end
  return true
end

local TAKE = {}

function TAKE.epoch(self, process, number, parts)
  self.batches[process][number] = parts
  proceed(self)
  check_barrier(self)
end

function TAKE.done(self, process, number)
  self.lines[process].done = number
  self:send_mail()
end

function TAKE.restored(self, process, epoch) self.whole[process] = epoch end

TAKE.gone = members.vote

local function is_of(process, number) return math.type(number) == "integer" and (number >> 24) + 1 == process end

function TAKE.moves(self, process, shard, message)
  local name = self.processes[process].name
  if is_sender(self, message, name, function(number) return is_of(process, number) end) then
    changes.take_moves(self, shard, message)
  end
end

function TAKE.request(self, process, key, shard, arguments)
  local function reply(...)
    if self.closed or not self.lines[process] then return end
    self.lines[process]:send { "answer", key, table.pack(...) }
  end
  if not is_of(process, arguments[1]) then return reply(false, 0, "it is no client of that process") end
  if not changes.takes_part(self, shard, self.epoch + 1) then return reply(nil) end
  self.send_shard(shard, "request", reply, table.unpack(arguments, 1, arguments.n))
end

-- Items that mean the same from any process.
local TAKE_ANY = { mail = put_mail, dead = changes.take_dead, proposal = director.take,
                   order = Exchange.obey, alive = function() end }

function TAKE_ANY.answer(self, key, results)
  local relay = self.relays[key]
  self.relays[key] = nil
  if relay then relay.reply(table.unpack(results, 1, results.n)) end
end

function Exchange:take(process, item)
  if self.closed or not self.processes[process] then return end -- an earlier item may have ended the process
  local what = item[1]
  if TAKE_ANY[what] then return TAKE_ANY[what](self, table.unpack(item, 2)) end
  TAKE[what](self, process, table.unpack(item, 2))
end

--- A batch from another process, by its index. Returns the reply to that call.
function Exchange:receive(process, batch)
  if self.closed then return { boot = false, reason = self.reason } end
  local line = self.lines[process]
  if batch.ended and line and batch.boot == line.peer then
    line:close()
    self:finish(batch.ended)
    return { boot = line.boot }
  end
  return members.receive(self, process, batch)
end

-- The end -----------------------------------------------------------------------------------------------------------

--- Ends the world, here and, unless `left`, in all processes: shards and clients are notified, all waits end.
function Exchange:finish(reason, left)
  if self.closed then return end
  changes.send_all(self, "shutdown")
  self.closed, self.reason = true, reason
  for index, line in pairs(self.lines) do
    if not line.dead and not left then
      self.call(index, { boot = line.boot, to = line.peer, ended = reason }, function() end)
    end
    line:close()
  end
  for _, relay in pairs(self.relays) do relay.reply(false, 0, self:closed_text()) end
  for _, tick in ipairs(self.ticks) do tick.reply(nil, self:closed_text()) end
  director.close(self)
  self.relays, self.ticks = {}, {}
  for number, client in pairs(self.clients) do
    self.post(client.address, wire.bye(0, reason))
    self.clients[number] = nil
  end
  self.by_address = {}
  self.on_end(reason)
end

return Exchange
