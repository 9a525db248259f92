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
--     { "order", "whole" | "death" | "resend" | "renewed" | "resume", value, epoch }
--     { "dead", shard }                               { "restored", e }: as of successors.lua
--   mail[e][client]   of clients here, until all processes have sent theirs: what shards of any process have written
--                     for an epoch is one message, so that a client gets the epochs in order, and in each one every
-- node once
--   clients[number]   where it lives, the numbers of the last message sent and of the last one acknowledged
--
-- A client that has left a window of messages unacknowledged is behind: it is sent nothing until it has acknowledged
-- all; then all shards write whole views in one epoch (`resumes`).
--
-- A service that is dead takes no messages: `tell` and `post` say so. Who might not be sent any is probed twice in a
-- heartbeat. A shard that dies has a successor (successors.lua); a process that dies ends the world in every other,
-- with a reason.

local Line = require "aoi.skynet.world.line"
local successors = require "aoi.skynet.world.successors"
local streams = require "aoi.skynet.streams"
local wire = require "aoi.skynet.wire"

local Exchange = {}
Exchange.__index = Exchange

local MOST_CLIENTS = 1 << 24 -- of one process: a client's number is process << 24 | n
local AHEAD = 3              -- epochs after which every process obeys an order given now

--- options: processes: a list of { name, boot, shards = list }; here: the index of this one; tell(shard, verb, ...) to
-- a shard here and post(address, message) to a client here, which return nil if that is dead; replace(shard, options,
-- done): makes a successor, as of Shard.new, and calls done(true), or done(false, reason), later; address_of(shard), of
-- one here; call(process, batch, done); on_end(reason); now() in seconds; interval in seconds; window, patience,
-- silence.
function Exchange.new(options)
  local self = setmetatable({
    epoch = 0, phase = "idle", started = nil, clients = {}, by_address = {}, client_count = 0,
    lines = {}, process_of = {}, batches = {}, done = {}, inbox = {}, outgoing = {}, ticks = {}, relays = {},
    relay_key = 0, mail = {}, sent = 0, resuming = {}, closed = false,
    fallen = {}, owing = {}, applying = {}, orders = {},
    most_deaths = 8, terms = {}, dying = {}, kept = {}, unsure = 0, unsettled = {}, resumes = {},
    renewals = {}, deaths = {}, renewed_in = {}, restoring = {}, whole = {},
    counters = {
      epochs = 0, messages = 0, bytes = 0, overruns = 0, resyncs = 0, events = 0, wait_seconds = 0, wait_max = 0,
      epoch_seconds = 0, epoch_max = 0,
    },
  }, Exchange)
  for name, value in pairs(options) do self[name] = value end
  self.tell = function(shard, ...) -- the next poll sees to it
    if options.tell(shard, ...) == nil then self.fallen[shard] = true end
  end
  self.shards = self.processes[self.here].shards
  for index, process in ipairs(self.processes) do
    for _, shard in ipairs(process.shards) do self.process_of[shard] = index end
    if index ~= self.here then
      self.batches[index], self.done[index] = {}, 0
      self.lines[index] = Line.new {
        boot = self.processes[self.here].boot, peer = process.boot, now = self.now, patience = self.patience,
        silence = self.silence,
        call = function(batch, done) self.call(index, batch, done) end,
        take = function(item) self:take(index, item) end,
        fail = function(reason) self:finish(("process '%s' is gone: %s"):format(process.name, reason)) end,
      }
    end
  end
  self.next_at = self.now() + self.interval
  self.probe_at = self.now() + self.patience / 2
  return self
end

-- Epochs ------------------------------------------------------------------------------------------------------------

-- What each shard here owes now: its parts, or its mail; nothing where it is dead.
local function expect_all(self)
  self.left, self.owing = 0, {}
  for _, shard in ipairs(self.shards) do
    if self.dying[shard] == nil then self.left, self.owing[shard] = self.left + 1, true end
  end
end

-- It owes nothing any more. Returns whether it did.
local function settle(self, shard)
  if not self.owing[shard] then return false end
  self.left, self.owing[shard] = self.left - 1, nil
  return true
end

local function apply(self)
  self.phase, self.applying_since = "applying", self.now()
  local waited = self.applying_since - self.waiting_since
  self.counters.wait_seconds = self.counters.wait_seconds + waited
  self.counters.wait_max = math.max(self.counters.wait_max, waited)
  for index, batches in pairs(self.batches) do
    local parts = batches[self.epoch + 1]
    batches[self.epoch + 1] = nil
    for i = 1, #parts, 2 do
      local inbox = self.inbox[parts[i]]
      if not inbox then return self:finish(("process %d sent a part astray"):format(index)) end
      inbox[#inbox + 1] = parts[i + 1]
    end
  end
  local inbox = self.inbox
  self.inbox = {}
  expect_all(self)
  for _, shard in ipairs(self.shards) do
    if self.owing[shard] then
      self.applying[shard] = inbox[shard]
      self.tell(shard, "apply", self.epoch + 1, inbox[shard])
    else
      self.kept[shard] = inbox[shard]
    end
  end
  if self.left == 0 then self:applied() end
end

local function check_barrier(self)
  if self.phase ~= "waiting" then return end
  for _, batches in pairs(self.batches) do
    if not batches[self.epoch + 1] then return end
  end
  apply(self)
end

local function all_closed(self)
  self.phase, self.waiting_since = "waiting", self.now()
  for index, line in pairs(self.lines) do
    line:put { "epoch", self.epoch + 1, self.outgoing[index] }
    line:push()
  end
  check_barrier(self)
end

local function begin(self)
  local now = self.now()
  self.phase, self.started = "closing", now
  expect_all(self)
  self.next_at = math.max(self.next_at + self.interval, now)
  for _, shard in ipairs(self.shards) do self.inbox[shard] = {} end
  for index in pairs(self.lines) do self.outgoing[index] = {} end
  for _, shard in ipairs(self.shards) do self.tell(shard, "close", self.epoch + 1) end
  if self.left == 0 then all_closed(self) end
end

-- Whoever is first pulls all others along.
local function is_called(self)
  for _, batches in pairs(self.batches) do
    if batches[self.epoch + 1] then return true end
  end
  return false
end

local function proceed(self)
  if self.phase ~= "idle" or self.closed or successors.replace(self) then return end
  if self.now() < self.next_at and not is_called(self) then return end
  successors.resume(self)
  begin(self)
end

-- Whether that counts: it is from the shard of the present term, which owed it.
local function is_due(self, shard, term, phase)
  return not self.closed and self.phase == phase and (self.terms[shard] or 0) == term and settle(self, shard)
end

--- What a shard here of that term has made of the epoch that is being closed: parts by shard.
function Exchange:parts(shard, term, parts)
  if not is_due(self, shard, term, "closing") then return end
  for to, part in pairs(parts) do
    local process = self.process_of[to]
    local list = process == self.here and self.inbox[to] or self.outgoing[process]
    if process ~= self.here then list[#list + 1] = to end
    list[#list + 1] = part
  end
  if self.left == 0 then all_closed(self) end
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
  self.applying[shard] = nil
  for client, one in pairs(mail) do
    local process = (client >> 24) + 1
    if process == self.here then
      put_mail(self, self.epoch + 1, client, one)
    elseif self.lines[process] then
      self.lines[process]:put { "mail", self.epoch + 1, client, one }
    end
  end
  self.counters.events = self.counters.events + events
  if self.left == 0 then self:applied() end
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
  for _, line in pairs(self.lines) do
    line:put { "done", self.epoch }
    line:push()
  end
  self:send_mail()
  proceed(self)
end

-- The epoch does not wait for it.
local function release(self, shard)
  if not settle(self, shard) or self.left > 0 then return end
  if self.phase == "closing" then all_closed(self) elseif self.phase == "applying" then self:applied() end
end

--- A shard here of that term has made an error, and is of no use any more.
function Exchange:failed(shard, term)
  if (self.terms[shard] or 0) == term then self.fallen[shard] = true end
end

local function bury_shards(self)
  local fallen = self.fallen
  self.fallen = {}
  for shard in pairs(fallen) do
    if not self.closed then successors.died(self, shard, function(...) release(self, ...) end) end
  end
end

local function probe(self)
  self.probe_at = self.now() + self.patience / 2
  for _, shard in ipairs(self.shards) do
    if self.dying[shard] == nil then self.tell(shard, "alive") end
  end
  for number, client in pairs(self.clients) do self:post_to(number, wire.ping(client.seq)) end
end

--- To be called some hundred times a second: the clock of epochs, and of what has failed.
function Exchange:poll()
  if self.closed then return end
  if self.now() >= self.probe_at then probe(self) end
  bury_shards(self)
  proceed(self)
  for _, line in pairs(self.lines) do
    line:push()
    line:poll()
  end
end

-- Waiting for an epoch ------------------------------------------------------------------------------------------------

--- Calls reply(epoch) when an epoch has been reported here that takes all that was sent before.
function Exchange:tick(reply)
  if self.closed then return reply(nil) end
  local at = self.epoch + (self.phase == "idle" and 1 or 2)
  if next(self.lines) then at = at + 1 end -- what goes to another process may miss the next one there
  self.ticks[#self.ticks + 1] = { at = at, reply = reply }
end

-- What waited for the epochs of which all processes have sent their mail.
function Exchange:send_mail()
  local complete = self.epoch
  for _, done in pairs(self.done) do complete = math.min(complete, done) end
  for epoch = self.sent + 1, complete do
    local mail = self.mail[epoch] or {}
    self.mail[epoch] = nil
    for number, at in pairs(self.resuming) do
      if at == epoch then mail[number] = mail[number] or {} end
    end
    for number, list in pairs(mail) do self:deliver(number, epoch, list) end
    successors.tell_clients(self, epoch)
  end
  self.sent = math.max(self.sent, complete)
  local left = {}
  for _, tick in ipairs(self.ticks) do
    if tick.at <= complete then tick.reply(complete) else left[#left + 1] = tick end
  end
  self.ticks = left
end

-- Clients -----------------------------------------------------------------------------------------------------------

--- A client at that address here; the same one again if there is one. Returns its number.
function Exchange:join(address)
  local number = self.by_address[address]
  if number then return number end
  self.client_count = self.client_count % (MOST_CLIENTS - 1) + 1
  number = (self.here - 1) << 24 | self.client_count
  self.by_address[address] = number
  self.clients[number] = streams.begin { address = address, seq = 0, acked = 0, behind = false, foreign = 0 }
  return number
end

--- For a node whose events go to the client at that address: its number, and the node's handle there; nil: it is none.
function Exchange:foreign_handle(address)
  local number = self.by_address[address]
  local client = self.clients[number]
  if not client then return nil end
  client.foreign = client.foreign % 0x7fffffff + 1
  return number, wire.GATE + client.foreign - 1
end

--- The addresses of those of these clients that are here.
function Exchange:addresses(numbers)
  local list = {}
  for _, number in ipairs(numbers) do
    if self.clients[number] then list[#list + 1] = self.clients[number].address end
  end
  return list
end

-- To the shards here; a successor receives it later.
local function obey(self, what, value, at)
  local kept = {}
  for _, one in ipairs(self.orders) do
    if one[3] > self.epoch - AHEAD then kept[#kept + 1] = one end
  end
  kept[#kept + 1] = { what, value, at }
  self.orders = kept
  for _, shard in ipairs(self.shards) do
    if self.dying[shard] == nil then self.tell(shard, "order", what, value, at) end
  end
  successors.on_order(self, what, value, at)
end

--- Everybody obeys in the same epoch (Shard:order): `at`, or soon. Returns that.
function Exchange:order(what, value, at)
  at = at or self.epoch + AHEAD
  obey(self, what, value, at)
  for _, line in pairs(self.lines) do
    line:put { "order", what, value, at }
    line:push()
  end
  return at
end

--- The client at that address is gone: what it has entered leaves.
function Exchange:leave(address)
  local number = self.by_address[address]
  if not number then return end
  self.by_address[address], self.clients[number], self.resuming[number] = nil, nil, nil
  successors.restored(self, number)
  if not self.closed then self:order("death", number) end
end

function Exchange:post_to(number, message)
  local client = self.clients[number]
  if not client then return end
  if self.post(client.address, message) == nil then return self:leave(client.address) end
  self.counters.messages, self.counters.bytes = self.counters.messages + 1, self.counters.bytes + #message
  return true
end

-- The records of all shards: nodes that end come first, as another shard may have the next life of one.
local function records_of(number, list, anew)
  local ends, rest, groups = {}, {}, 0
  for _, mail in ipairs(list) do
    ends[#ends + 1] = not anew and mail.ended or nil -- which a resync ends by not naming them
    if mail.events and anew then
      local n, records = wire.read_resync(mail.events)
      groups, rest[#rest + 1] = groups + n, records
    elseif mail.events then
      ends[#ends + 1], rest[#rest + 1] = mail.events:sub(9, mail.ends), mail.events:sub(mail.ends + 1)
    end
  end
  return (anew and wire.resync(number, groups, anew) or "") .. table.concat(ends) .. table.concat(rest)
end

local function lags(self, client)
  if client.behind or not streams.is_full(client, "seq", "acked", self.window) then return client.behind end
  client.behind = true
  self.counters.overruns = self.counters.overruns + 1
  return true
end

-- Messages that are neither events nor routes. A client that has fallen behind with broadcasts misses what comes then;
-- a view of which packets have been dropped is silent until it begins anew.
local function deliver_letters(self, number, epoch, letters)
  local client, packets = self.clients[number], {}
  for _, message in ipairs(letters) do
    if wire.head(message) == wire.BROADCAST then message = streams.broadcast(client, message) end
    if message then self:post_to(number, message) end
  end
  for i = 1, #letters.packets, 2 do
    local id, at = letters.packets[i], client.starved[letters.packets[i]]
    if at and at ~= true and epoch >= at then client.starved[id] = nil end
    if not streams.starves(client, id, self.window) then packets[#packets + 1] = letters.packets[i + 1] end
  end
  if not packets[1] or not self.clients[number] then return end
  streams.send_packets(client, packets, self.window, function(message) return self:post_to(number, message) end)
end

local function ack_packets(self, client, seq)
  local ids = streams.ack_packets(client, seq)
  if not ids[1] then return end
  local at = self:order("resend", ids)
  for _, id in ipairs(ids) do client.starved[id] = at end
end

--- The mail of an epoch to a client here.
function Exchange:deliver(number, epoch, list)
  self:deliver_events(number, epoch, list)
  for _, mail in ipairs(list) do
    if mail.letters and self.clients[number] then deliver_letters(self, number, epoch, mail.letters) end
  end
end

function Exchange:deliver_events(number, epoch, list)
  local client = self.clients[number]
  local anew = client and client.resumes == epoch and epoch or nil
  if anew and self.unsure > 0 then -- not all its nodes are in a shard
    client.resumes = self:order("whole", number)
    self.resuming[number] = client.resumes
    return
  end
  if not client or not anew and (client.resumes or lags(self, client)) then return end
  for _, mail in ipairs(list) do
    if mail.routes then self:post_to(number, mail.routes) end
  end
  if anew then
    client.resumes, self.resuming[number] = nil, nil
    self.counters.resyncs = self.counters.resyncs + 1
  end
  local records = records_of(number, list, anew)
  if #records == 0 or not self.clients[number] then return end
  local seq, ask = streams.next(client, "seq", "acked", self.window)
  client.seq = seq
  self:post_to(number, wire.events(seq, ask, records))
end

--- The client at that address has delivered the messages up to seq; flags as of wire.lua.
function Exchange:ack(address, seq, flags)
  local number = self.by_address[address]
  local client = self.clients[number]
  if not client or self.closed then return end
  if flags & wire.OF_RESTORED ~= 0 then return successors.restored(self, number, seq) end
  if flags & wire.OF_PACKETS ~= 0 then return ack_packets(self, client, seq) end
  if flags & wire.OF_BROADCASTS ~= 0 then return streams.ack_broadcasts(client, seq) end
  local lost = flags & wire.LOST ~= 0
  streams.ack(client, "seq", "acked", seq)
  client.behind = client.behind or lost and not client.resumes
  if client.behind and client.acked == client.seq then
    client.behind = false
    client.resumes = self:order("whole", number)
    self.resuming[number] = client.resumes
  end
end

-- To shards of other processes ----------------------------------------------------------------------------------------

--- A request of a client here to a shard elsewhere; reply(...) gets the shard's answer.
function Exchange:relay(reply, shard, ...)
  local line = self.lines[self.process_of[shard]]
  if self.closed or not line then return reply(false, 0, "the world is closed") end
  self.relay_key = self.relay_key + 1
  self.relays[self.relay_key] = reply
  line:put { "request", self.relay_key, shard, table.pack(...) }
  line:push()
end

--- Moves of a client here for a shard elsewhere.
function Exchange:relay_moves(shard, message)
  local line = self.lines[self.process_of[shard]]
  if not line or self.closed then return nil end
  line:put { "moves", shard, message }
  line:push()
  return true
end

local TAKE = {}

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

function TAKE.moves(self, _, shard, message) self.tell(shard, "moves", message) end

function TAKE.restored(self, process, epoch) self.whole[process] = epoch end

function TAKE.dead(self) self.unsure = self.unsure + 1 end

function TAKE.request(self, process, key, shard, arguments)
  self.tell(shard, "request", function(...)
    if self.closed then return end
    self.lines[process]:put { "answer", key, table.pack(...) }
    self.lines[process]:push()
  end, table.unpack(arguments, 1, arguments.n))
end

function TAKE.answer(self, _, key, results)
  local reply = self.relays[key]
  self.relays[key] = nil
  if reply then reply(table.unpack(results, 1, results.n)) end
end

function TAKE.order(self, _, what, value, at) obey(self, what, value, at) end

function Exchange:take(process, item)
  if self.closed then return end
  TAKE[item[1]](self, process, table.unpack(item, 2))
end

--- A batch from another process, by its index. Returns the answer to its call.
function Exchange:receive(process, batch)
  if self.closed then return { boot = false, reason = self.reason } end
  local line = self.lines[process]
  if batch.ended and batch.boot == line.peer then
    line:close()
    self:finish(batch.ended)
    return { boot = line.boot }
  end
  return line:receive(batch)
end

-- The end -----------------------------------------------------------------------------------------------------------

--- Ends the world, here and everywhere: shards and clients receive the end, nothing waits any more.
function Exchange:finish(reason)
  if self.closed then return end
  self.closed, self.reason = true, reason
  for _, shard in ipairs(self.shards) do self.tell(shard, "shutdown") end
  for index, line in pairs(self.lines) do
    if not line.dead then self.call(index, { boot = line.boot, to = line.peer, ended = reason }, function() end) end
    line:close()
  end
  for _, reply in pairs(self.relays) do reply(false, 0, "the world is closed: " .. reason) end
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
