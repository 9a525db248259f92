-- What an exchange waits for in the current epoch: for its info, and for clients (on_late), each time it is polled.

local plain = require "aoi.skynet.plain"
local wire = require "aoi.skynet.wire"

local late = {}

local LOOPS, LEAST = 12, 30 -- heartbeats, and seconds: an instance that has not answered for so long loops

local function shards(list, f)
  local names = {}
  for shard, one in pairs(list) do
    if f(one) then names[#names + 1] = "shard " .. shard end
  end
  return names
end

--- The names of processes from which no batch of the current epoch has arrived.
function late.batches(self)
  local names = {}
  for index in pairs(self.lines) do
    local process = self.processes[index]
    local takes_part = process.since <= self.epoch + 1
    if takes_part and not self.batches[index][self.epoch + 1] then names[#names + 1] = process.name end
  end
  return names
end

--- The names of late shards and processes, and for how many seconds this process has waited for them.
function late.names(self)
  local names, since
  if self.phase == "idle" then
    names, since = shards(self.starting, function(one) return not one.ready end), self.next_at
  elseif self.phase == "waiting" then
    names, since = late.batches(self), self.waiting_since
  else
    names = shards(self.awaited, function() return true end)
    since = self.phase == "closing" and self.started or self.applying_since
  end
  table.sort(names)
  return names, names[1] and math.max(0, self.now() - since) or 0
end

--- Ends shards here that have not answered for LOOPS heartbeats: they loop. A time in which nothing polls, as the whole
-- process stands still, counts as a second.
function late.watch(self)
  local now = self.now()
  local since = math.min(now - self.polled_at, 1)
  self.polled_at = now
  if next(self.awaited) == nil then return end
  self.waited = self.waited + since
  if self.waited < math.max(LEAST, LOOPS * self.patience) then return end
  for shard in pairs(self.awaited) do
    self.say(("shard %d has not answered for %.0f s, and is ended"):format(shard, self.waited))
    self.interrupt(shard)
    self.fallen[shard] = true
  end
end

--- Notifies clients each second, and when the wait is over.
function late.notify(self)
  local names, seconds = late.names(self)
  local whole = math.floor(seconds)
  if whole == (self.late_sent or 0) then return end
  self.late_sent = whole
  local bytes = plain.write { late = whole > 0 and names or {}, seconds = whole }
  for number in pairs(self.clients) do self:post_to(number, wire.say(wire.RENEWED, number, bytes)) end
end

return late
