-- The exchange of a world in one process. It is the barrier of epochs, the post between shards and clients of different
-- processes, and the stream of messages to each client here. Independent of skynet: its options are functions that
-- send.
--
--   idle --(clock, or a batch of the next epoch)--> closing: each shard here makes its parts
--        --(all parts)--> waiting: one batch to each other process; until those of all others have come
--        --(all batches)--> applying: each shard here gets the parts for it, and answers with mail for clients
--        --(all mail)--> idle; mail for clients of other processes goes with the next batch
--
--   lines[process]    line.lua: what is put on it comes once and in order
--     { "epoch", e, { shard, part, ... } }            { "done", e }: all mail of e is on its way
--     { "mail", e, client, mail }                     { "moves", shard, bytes }
--     { "request", key, shard, client, after, ... }   { "answer", key, ... }
--     { "order", key, what, value, epoch }            what: "whole", "death", "resend", "change"
--     { "dead", shard, term }, { "restored", e }: changes.lua    { "gone", process, ... }: members.lua
--     { "wish", wish }: director.lua
--   mail[e][client]   of clients here, until all processes have sent theirs: what shards of any process have written
--                     for an epoch is one message, so that a client gets the epochs in order, and in each one every
-- node once
--   clients[number]   where it lives, the numbers of the last message sent and of the last one acknowledged
--   gone[number]      of one that has died: the epoch in which it ends in all shards, until that has been sent
--
-- A client that has left a window of messages unacknowledged is behind: it is sent nothing until it has acknowledged
-- all; then all shards write whole views in one epoch (`resumes`).
--
-- A service that is dead takes no messages: `tell` and `post` say so. Who might not be sent any is probed twice in a
-- heartbeat. Which shards are here, and which processes take part, changes while the world runs: changes.lua,
-- members.lua, director.lua.

local changes = require "aoi.skynet.world.changes"
local delivery = require "aoi.skynet.world.delivery"
local director = require "aoi.skynet.world.director"
local late = require "aoi.skynet.world.late"
local members = require "aoi.skynet.world.members"
local streams = require "aoi.skynet.streams"
local wire = require "aoi.skynet.wire"

local Exchange = {}
Exchange.__index = Exchange

local MOST_CLIENTS = 1 << 24 -- of one process: a client's number is process << 24 | n
local KEEPS = 30             -- epochs for which orders are remembered that have been obeyed

--- options: plan; processes: by index { name, boot, since }; here: the index of this one; homes[shard]: the process
-- where
-- each shard begins; state: as of changes.state, where the world runs already; nodes: how many shards processes are to
-- have, by name; tell(shard, verb, ...) to a shard here and post(address, message) to a client here, which return
-- nil if that is dead; replace(shard, options, done): makes another instance, as of Shard.new, and calls done(true), or
-- done(false, reason), later; address_of(shard), of one here; call(process, batch, done); on_end(reason); now() in
-- seconds; interval in seconds; window, patience, silence; say(text): for the log.
function Exchange.new(options)
  local self = setmetatable({
    phase = "idle", started = nil, clients = {}, by_address = {}, client_count = 0, foreign = 0,
    inbox = {}, ticks = {}, relays = {}, relay_key = 0, mail = {}, resuming = {}, closed = false,
    fallen = {}, gone = {}, owing = {}, orders = {}, known = {}, order_count = 0, most_deaths = 8, covered = {},
    counters = {
      epochs = 0, messages = 0, bytes = 0, overruns = 0, resyncs = 0, events = 0, wait_seconds = 0, wait_max = 0,
      epoch_seconds = 0, epoch_max = 0,
    },
  }, Exchange)
  for name, value in pairs(options) do self[name] = value end
  self.tell = function(shard, ...) -- the next poll sees to it
    if options.tell(shard, ...) == nil then self.fallen[shard] = true end
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
  self.probe_at = self.now() + self.patience / 2
  return self
end

-- Epochs ------------------------------------------------------------------------------------------------------------

-- What each shard here owes now: its parts, or its mail; nothing where it is dead.
local function expect_all(self)
  self.owing = {}
  for shard = 1, self.plan.shards do
    self.owing[shard] = changes.takes_part(self, shard, self.epoch + 1) and true or nil
  end
end

-- It owes nothing any more. Returns whether it did.
local function settle(self, shard)
  local owed = self.owing[shard] ~= nil
  self.owing[shard] = nil
  return owed
end

local function apply(self)
  self.phase, self.applying_since = "applying", self.now()
  local waited = self.applying_since - self.waiting_since
  self.counters.wait_seconds = self.counters.wait_seconds + waited
  self.counters.wait_max = math.max(self.counters.wait_max, waited)
  for _, batches in pairs(self.batches) do
    local parts = batches[self.epoch + 1] or {} -- what is there of those that are gone counts
    batches[self.epoch + 1] = nil
    for i = 1, #parts, 2 do
      local inbox = self.inbox[parts[i]] or {} -- none: it has died
      inbox[#inbox + 1] = parts[i + 1]
    end
  end
  expect_all(self)
  local unsure = changes.is_unsure(self, self.epoch)
  for shard in pairs(self.owing) do
    self.tell(shard, "apply", self.epoch + 1, self.inbox[shard] or {}, unsure, changes.begins_bereft(self, shard))
  end
  if next(self.owing) == nil then self:applied() end
end

local function check_barrier(self)
  if self.phase == "waiting" and not late.batches(self)[1] then apply(self) end
end

local function all_closed(self)
  self.phase, self.waiting_since = "waiting", self.now()
  for index, line in pairs(self.lines) do
    if self.processes[index].since <= self.epoch + 1 then
      line:send { "epoch", self.epoch + 1, self.outgoing[index] or {} }
    end
  end
  check_barrier(self)
end

local function begin(self)
  local now = self.now()
  changes.enter(self, self.epoch + 1, function(change) director.entered(self, change) end)
  if self.leaving then return end
  self.phase, self.started = "closing", now
  expect_all(self)
  self.next_at = math.max(self.next_at + self.interval, now)
  self.inbox, self.outgoing = {}, {}
  for index in pairs(self.lines) do self.outgoing[index] = {} end
  for shard in pairs(self.owing) do
    if self.hosts[shard] == self.here then self.inbox[shard] = {} end
  end
  for shard = 1, self.plan.shards do
    if self.owing[shard] then self.tell(shard, "close", self.epoch + 1) end
  end
  if next(self.owing) == nil then all_closed(self) end
end

-- The first process pulls all others along.
local function is_called(self)
  for _, batches in pairs(self.batches) do
    if batches[self.epoch + 1] then return true end
  end
  return false
end

local function proceed(self)
  if self.phase ~= "idle" or self.closed or self.leaving then return end
  director.poll(self)
  if not changes.are_ready(self, self.epoch + 1) or self.now() < self.next_at and not is_called(self) then return end
  begin(self)
end

-- Whether that counts: it is from the shard of the present term, which owed it.
local function is_due(self, shard, term, phase)
  local one = self.instances[shard]
  return not self.closed and self.phase == phase and one and one.term == term and settle(self, shard)
end

--- What a shard here of that term has made of the epoch that is being closed: parts by shard.
function Exchange:parts(shard, term, parts)
  if not is_due(self, shard, term, "closing") then return end
  for to, part in pairs(parts) do
    local process = self.hosts[to]
    local list = process == self.here and self.inbox[to] or process ~= self.here and self.outgoing[process] or {}
    if process ~= self.here then list[#list + 1] = to end
    list[#list + 1] = part
  end
  if next(self.owing) == nil then all_closed(self) end
end

local function put_mail(self, epoch, client, mail)
  local all = self.mail[epoch] or {}
  local list = all[client] or {}
  self.mail[epoch], all[client] = all, list
  list[#list + 1] = mail
end

--- A shard here of that term has applied the epoch: mail by client, and the number of events.
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
  if next(self.owing) == nil then self:applied() end
end

function Exchange:applied()
  local counters, seconds = self.counters, self.now() - self.started
  self.epoch, self.phase = self.epoch + 1, "idle"
  counters.epochs, counters.epoch_seconds = counters.epochs + 1, counters.epoch_seconds + seconds
  counters.epoch_max = math.max(counters.epoch_max, seconds)
  if self.on_epoch then -- and the parts of them: closing, waiting for other processes, applying
    self.on_epoch(self.epoch, seconds, self.waiting_since - self.started, self.applying_since - self.waiting_since,
      self.now() - self.applying_since)
  end
  members.send_all(self, "done", self.epoch)
  changes.expire(self)
  self:send_mail()
  proceed(self)
end

--- A shard here of that term has made an error, and is of no use any more.
function Exchange:failed(shard, term)
  local one = self.instances[shard]
  if one and one.term == term then self.fallen[shard] = true end
end

-- The epoch does not wait for them.
local function bury_shards(self)
  local fallen = self.fallen
  self.fallen = {}
  for shard in pairs(fallen) do
    if not self.closed then changes.died(self, shard) end
    if not self.closed and settle(self, shard) and next(self.owing) == nil then
      if self.phase == "closing" then all_closed(self) elseif self.phase == "applying" then self:applied() end
    end
  end
end

--- A process is gone: what waited for it does not any more.
function Exchange:on_drop(index)
  director.dropped(self, index)
  for key, relay in pairs(self.relays) do
    if relay.process == index then
      self.relays[key] = nil
      relay.reply(nil)
    end
  end
end

--- After that.
function Exchange:go_on()
  self:send_mail()
  check_barrier(self)
  proceed(self)
end

local function probe(self)
  self.probe_at = self.now() + self.patience / 2
  changes.tell_all(self, "alive")
  members.ask_missing(self)
  for number, client in pairs(self.clients) do self:post_to(number, wire.ping(client.events.sent)) end
end

--- To be called some hundred times a second: the clock of epochs, and of what has failed.
function Exchange:poll()
  if self.closed then return end
  if self.now() >= self.probe_at then probe(self) end
  late.tell(self)
  bury_shards(self)
  proceed(self)
  for _, line in pairs(self.lines) do
    line:push()
    line:poll()
  end
  members.leave(self)
end

-- Waiting for an epoch ------------------------------------------------------------------------------------------------

--- Calls reply(epoch) when the mail of an epoch has been sent here that has all that came before.
function Exchange:tick(reply)
  if self.closed then return reply(nil) end
  local at = self.epoch + (self.phase == "idle" and 1 or 2)
  if next(self.lines) then at = at + 1 end -- what goes to another process may miss the next one there
  self.ticks[#self.ticks + 1] = { at = at, reply = reply }
end

-- What waited for the epochs of which all processes have sent their mail.
function Exchange:send_mail()
  local last = self.epoch
  for index, done in pairs(self.done) do
    if self.processes[index].since <= self.epoch then last = math.min(last, done) end
  end
  for epoch = self.sent + 1, last do
    local mail = self.mail[epoch] or {}
    self.mail[epoch] = nil
    for number, at in pairs(self.resuming) do
      if at == epoch then mail[number] = mail[number] or {} end
    end
    for number, list in pairs(mail) do delivery.deliver(self, number, epoch, list) end
    changes.tell_clients(self, epoch)
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

--- A client at that address here; the same one again if there is one. Returns its number.
function Exchange:join(address)
  local number = self.by_address[address]
  if number then return number end
  self.client_count = self.client_count % (MOST_CLIENTS - 1) + 1
  number = (self.here - 1) << 24 | self.client_count
  self.by_address[address] = number
  self.clients[number] = streams.begin { address = address, behind = false, left = {} }
  return number
end

--- For a node whose events go to the client at that address: its number, and the node's handle, which no other such
-- node of this process has; nil: it is none.
function Exchange:foreign_handle(address)
  local number = self.by_address[address]
  if not self.clients[number] then return nil end
  self.foreign = self.foreign % 0x7fffffff + 1
  return number, wire.GATE + self.foreign - 1
end

--- The addresses of those of these clients that are here.
function Exchange:addresses(numbers)
  local list = {}
  for _, number in ipairs(numbers) do
    if self.clients[number] then list[#list + 1] = self.clients[number].address end
  end
  return list
end

--- An order of any process, of which this one comes to know; it may know already.
function Exchange:obey(key, what, value, at)
  if self.known[key] or self.closed or at <= self.entered then return end
  local kept = {}
  for _, one in ipairs(self.orders) do
    if one[4] > self.epoch - KEEPS then kept[#kept + 1] = one else self.known[one[1]] = nil end
  end
  kept[#kept + 1] = { key, what, value, at }
  self.orders, self.known[key] = kept, true
  changes.tell_all(self, "order", what, value, at)
  if what ~= "change" then return end
  changes.learn(self, value, at)
  director.learn(self, value, at)
end

--- All shards obey in the same epoch (Shard:order): `at`, or soon. Returns that.
function Exchange:order(what, value, at)
  at = at or self.epoch + director.AHEAD
  self.order_count = self.order_count + 1
  local key = self.here << 32 | self.order_count
  members.send_all(self, "order", key, what, value, at)
  self:obey(key, what, value, at)
  return at
end

--- The client at that address is gone: what it has entered leaves.
function Exchange:leave(address)
  local number = self.by_address[address]
  if not number then return end
  self.by_address[address], self.clients[number], self.resuming[number] = nil, nil, nil
  changes.restored(self, number)
  if not self.closed then self.gone[number] = self:order("death", number) end
end

--- There is mail of that epoch for a client that is gone: what a request has brought into a shard since ends, too.
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
  local at = self:order("resend", ids)
  for _, id in ipairs(ids) do client.starved[id] = at end
end

--- All shards write whole views for that client here, in one epoch to come; it gets no events before.
function Exchange:begin_anew(number)
  local at = self:order("whole", number)
  self.clients[number].resumes, self.resuming[number] = at, at
end

--- The client at that address has delivered the messages up to seq; flags as of wire.lua.
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

--- A request of a client here to a shard elsewhere; reply(...) gets the shard's answer, nothing where that is gone.
function Exchange:relay(reply, shard, ...)
  local process = self.hosts[shard]
  if self.closed or not process then return reply(false, 0, "the world is closed") end
  if process == self.here then return self.tell(shard, "request", reply, ...) end -- since lately
  if not self.lines[process] then return reply(nil) end
  self.relay_key = self.relay_key + 1
  self.relays[self.relay_key] = { reply = reply, process = process }
  self.lines[process]:send { "request", self.relay_key, shard, table.pack(...) }
end

--- Moves of a client here for a shard elsewhere.
function Exchange:relay_moves(shard, message)
  local line = self.lines[self.hosts[shard]]
  if self.closed then return nil end
  if self.hosts[shard] == self.here then
    self.tell(shard, "moves", message)
  elseif line then
    line:send { "moves", shard, message }
  end
  return true
end

local TAKE = {}

function TAKE.alive() end

function TAKE.epoch(self, process, number, parts)
  self.batches[process][number] = parts
  proceed(self)
  check_barrier(self)
end

function TAKE.done(self, process, number)
  self.done[process] = number
  self:send_mail()
end

function TAKE.mail(self, _, epoch, client, mail) put_mail(self, epoch, client, mail) end

function TAKE.moves(self, _, shard, message) changes.take_moves(self, shard, message) end

function TAKE.restored(self, process, epoch) self.whole[process] = epoch end

function TAKE.dead(self, _, shard, term) changes.take_dead(self, shard, term) end

function TAKE.gone(self, ...) members.vote(self, ...) end

function TAKE.wish(self, _, wish) director.take(self, wish) end

function TAKE.request(self, process, key, shard, arguments)
  local function reply(...)
    if self.closed or not self.lines[process] then return end
    self.lines[process]:send { "answer", key, table.pack(...) }
  end
  if not changes.takes_part(self, shard, self.epoch + 1) then return reply(nil) end
  self.tell(shard, "request", reply, table.unpack(arguments, 1, arguments.n))
end

function TAKE.answer(self, _, key, results)
  local relay = self.relays[key]
  self.relays[key] = nil
  if relay then relay.reply(table.unpack(results, 1, results.n)) end
end

function TAKE.order(self, _, ...) self:obey(...) end

function Exchange:take(process, item)
  if self.closed or not self.processes[process] then return end -- an item before may have ended it
  TAKE[item[1]](self, process, table.unpack(item, 2))
end

--- A batch from another process, by its index. Returns the answer to its call.
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

--- Ends the world, here and, unless it is `left`, everywhere: shards and clients hear it, nothing waits any more.
function Exchange:finish(reason, left)
  if self.closed then return end
  changes.tell_all(self, "shutdown")
  self.closed, self.reason = true, reason
  for index, line in pairs(self.lines) do
    if not line.dead and not left then
      self.call(index, { boot = line.boot, to = line.peer, ended = reason }, function() end)
    end
    line:close()
  end
  for _, relay in pairs(self.relays) do relay.reply(false, 0, "the world is closed: " .. reason) end
  for _, tick in ipairs(self.ticks) do tick.reply(nil) end
  self.relays, self.ticks = {}, {}
  for number, client in pairs(self.clients) do
    self.post(client.address, wire.bye(0, reason))
    self.clients[number] = nil
  end
  self.by_address = {}
  self.on_end(reason)
end

return Exchange
