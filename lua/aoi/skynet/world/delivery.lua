-- The mail of an epoch to the clients of a process. exchange.lua calls `deliver` for each client when all processes
-- have sent theirs; what all shards have written for the client goes out as routes, one message of events, and the
-- rest. Events have a window: a client that is behind gets none until it has acknowledged all, and then whole views.
--
--   client.events       the window of events (aoi.skynet.streams); client.behind: events are missing
--   client.resumes      the epoch in which shards write whole views for the client
--   client.left[id]     the life of an entity of the client that another client has made leave while it was behind
--   client.suspended[id]  client views of which packets have been dropped; the epoch in which they begin anew

local changes = require "aoi.skynet.world.changes"
local streams = require "aoi.skynet.streams"
local wire = require "aoi.skynet.wire"

local delivery = {}

-- The records of all shards. Nodes that end come first, as another shard may have the next life of one.
local function records_of(number, list, anew)
  local ends, rest, groups = {}, {}, 0
  for _, mail in ipairs(list) do
    ends[#ends + 1] = not anew and mail.ended or nil -- a resync ends these nodes by not naming them
    if mail.events and anew then
      local n, records = wire.read_resync(mail.events)
      groups, rest[#rest + 1] = groups + n, records
    elseif mail.events then
      ends[#ends + 1], rest[#rest + 1] = mail.events:sub(9, mail.ends), mail.events:sub(mail.ends + 1)
    end
  end
  return (anew and wire.resync(number, groups, anew) or "") .. table.concat(ends) .. table.concat(rest)
end

local function check_behind(self, client)
  if client.behind or not streams.is_full(client.events, self.window) then return client.behind end
  client.behind = true
  self.counters.overruns = self.counters.overruns + 1
  return true
end

-- Messages other than events and routes. A client that is behind with broadcasts misses later ones; a view of which
-- packets have been dropped is silent until it begins anew.
local function deliver_messages(self, number, epoch, messages)
  local client, packets = self.clients[number], {}
  for _, message in ipairs(messages) do
    local is_broadcast = wire.head(message) == wire.BROADCAST
    local fits = is_broadcast and streams.broadcast(client, message) or not is_broadcast and message
    if fits then
      self:post_to(number, fits)
    else
      self.counters.missed = self.counters.missed + 1
      self.warn("broadcast", "service %s has fallen behind and misses a broadcast about entity %d",
        self.name_of(client.address), wire.read_broadcast(message).target)
    end
  end
  local list = messages.packets or {}
  for i = 1, #list, 2 do
    local id, at = list[i], client.suspended[list[i]]
    if at and at ~= true and epoch >= at then client.suspended[id] = nil end
    if not streams.suspends(client, id, self.window) then packets[#packets + 1] = list[i + 1] end
  end
  if not packets[1] or not self.clients[number] then return end
  streams.send_packets(client, packets, self.window, function(message) return self:post_to(number, message) end)
end

-- The routes of an epoch go before its events. A client that is behind gets none: it finds owners by asking, and lives
-- that others have ended go before its next events.
local function post_routes(self, number, epoch, list, behind)
  local client, rows = self.clients[number], { epoch = epoch }
  local function put(...) table.move({ ... }, 1, 3, #rows + 1, rows) end
  for _, mail in ipairs(list) do
    local its = mail.routes or {}
    for i = 1, #its, 3 do
      if not behind then put(its[i], its[i + 1], its[i + 2]) end
      if behind and its[i + 1] == wire.LEFT_WORLD then client.left[its[i]] = its[i + 2] end
    end
  end
  if behind then return end
  for id, life in pairs(client.left) do put(id, wire.LEFT_WORLD, life) end
  client.left = {}
  if rows[1] then self:post_to(number, wire.say(wire.ROUTES, number, rows)) end
end

local function deliver_events(self, number, epoch, list)
  local client = self.clients[number]
  local anew = client.resumes == epoch and epoch or nil
  local unsure = anew and changes.is_unsure(self, epoch) -- some of its nodes may be in no shard
  local behind = unsure or not anew and (client.resumes or check_behind(self, client))
  post_routes(self, number, epoch, list, behind)
  if unsure then self:begin_anew(number) end
  if behind then return end
  if anew then
    client.resumes, self.resuming[number] = nil, nil
    self.counters.resyncs = self.counters.resyncs + 1
  end
  local records = records_of(number, list, anew)
  if #records == 0 or not self.clients[number] then return end
  local seq, ask = streams.next(client.events, self.window)
  client.events.sent = seq
  self:post_to(number, wire.events(seq, ask, records))
end

--- Sends the mail of an epoch, a list with that of each shard, to the client of that number in this process.
function delivery.deliver(self, number, epoch, list)
  if not self.clients[number] then return self:leave_again(number, epoch) end
  deliver_events(self, number, epoch, list)
  for _, mail in ipairs(list) do
    if mail.messages and self.clients[number] then deliver_messages(self, number, epoch, mail.messages) end
  end
end

return delivery
