-- Successors of shards that have died, as the exchange of their process has it: it has a new service made for each and
-- dates the epoch from which on all shards know (recovery.lua). The world stands meanwhile, as this process closes no
-- epoch; the one that was under way is completed without the dead shard.
--
--   died --(lines: "dead")--> no more of it counts --(idle)--> replaced --> order "renewed" for E
--        --> sent to clients, behind the mail of E --> they restore --(lines: "restored")--> order "resume" for R
--
--   exchange.terms[shard]     of those that have had successors
--   exchange.dying[shard]     here: until its successor is there; true: that is being made
--   exchange.kept[shard]      parts for it that have come meanwhile
--   exchange.unsure           deaths here or elsewhere until their R: not every node is in a shard, so that no resync
--                             is sent; unsettled: E of those that have one; resumes[R]: for which E
--   exchange.renewals         { shard, term, at = E }, which clients have not received yet
--   exchange.renewed_in       the last E that is over, and those to come
--   exchange.restoring        clients that have received it, and have not restored everything yet
--   exchange.whole[process]   the last E until which all clients there have
--   exchange.resuming_at      the last E that this exchange has ordered, until it orders R

local wire = require "aoi.skynet.wire"

local successors = {}

local SOON = 2    -- epochs: an order given while this process is idle is known to all before that one is closed
local WITHIN = 60 -- seconds: who dies more than `most_deaths` times in them is given up

local function put_all(self, ...)
  for _, line in pairs(self.lines) do
    line:put { ... }
    line:push()
  end
end

-- So often has it died lately that it will die again.
local function is_hopeless(self, shard)
  local list, now = self.deaths[shard] or {}, self.now()
  self.deaths[shard] = list
  table.insert(list, now)
  while list[1] < now - WITHIN do table.remove(list, 1) end
  return #list > self.most_deaths
end

--- A shard here takes no messages any more. Calls release(shard): the epoch is not to wait for it.
function successors.died(self, shard, release)
  if self.dying[shard] ~= nil then return end
  if is_hopeless(self, shard) then
    local text = "shard %d in process '%s' has died %d times in a minute"
    return self:finish(text:format(shard, self.processes[self.here].name, self.most_deaths + 1))
  end
  self.dying[shard], self.kept[shard] = false, self.applying[shard] or {}
  self.unsure = self.unsure + 1
  put_all(self, "dead", shard)
  release(shard)
end

local function on_replaced(self, shard, ready, ok, reason)
  if self.closed then return end
  if not ok then return self:finish(("shard %d cannot be replaced: %s"):format(shard, tostring(reason))) end
  self.dying[shard], self.kept[shard] = nil, nil
  local term = self.terms[shard]
  for _, order in ipairs(self.orders) do
    if order[1] == "death" or order[3] > self.epoch then self.tell(shard, "order", table.unpack(order)) end
  end
  self.resuming_at = ready
  self:order("renewed", { shard = shard, term = term }, ready)
end

-- The last E that is over.
local function last_renewed(self)
  local last = 0
  for at in pairs(self.renewed_in) do
    if at <= self.epoch then last = math.max(last, at) end
  end
  for at in pairs(self.renewed_in) do
    if at < last then self.renewed_in[at] = nil end
  end
  return last
end

--- While this process is idle. Returns whether it must stay so.
function successors.replace(self)
  for shard, begun in pairs(self.dying) do
    if not begun then
      local ready, terms = self.epoch + SOON, {}
      self.dying[shard], self.terms[shard] = true, (self.terms[shard] or 0) + 1
      for other, term in pairs(self.terms) do terms[other] = term end
      self.replace(shard, {
        term = terms[shard], terms = terms, epoch = self.epoch, ready = ready, held = self.kept[shard],
        renewed = last_renewed(self),
      }, function(...) on_replaced(self, shard, ready, ...) end)
    end
  end
  return next(self.dying) ~= nil
end

-- No client here restores any more.
local function check_whole(self)
  if next(self.restoring) or self.whole[self.here] == self.told_renewed then return end
  self.whole[self.here] = self.told_renewed
  put_all(self, "restored", self.told_renewed)
end

--- A client here has restored what was lost until that E; or is gone.
function successors.restored(self, number, epoch)
  if not self.restoring[number] or epoch and epoch < self.restoring[number] then return end
  self.restoring[number] = nil
  check_whole(self)
end

--- While this process is idle: R may be soon, once all clients have restored, or have had their time.
function successors.resume(self)
  local renewed = self.resuming_at
  if not renewed then return end
  if self.epoch < renewed + self.patience / self.interval then
    for index in ipairs(self.processes) do
      if (self.whole[index] or 0) < renewed then return end
    end
  end
  self.resuming_at = nil
  self:order("resume", renewed, self.epoch + SOON)
end

--- An order of any process that this one has come to know.
function successors.on_order(self, what, value, at)
  if what == "resume" then self.resumes[at] = math.max(self.resumes[at] or 0, value) end
  if what ~= "renewed" then return end
  self.unsettled[#self.unsettled + 1] = at
  self.terms[value.shard], self.renewed_in[at] = value.term, true
  self.renewals[#self.renewals + 1] = { value.shard, value.term, at = at }
end

-- In R, which does not count where another shard has died since that E (recovery.resume).
local function settle(self, epoch)
  local resume = self.resumes[epoch]
  self.resumes[epoch] = nil
  for _, at in ipairs(self.unsettled) do
    if at <= epoch and (not resume or at > resume) then return end
  end
  local left = {}
  for _, at in ipairs(self.unsettled) do
    if at > epoch then left[#left + 1] = at end
  end
  self.unsure, self.unsettled = self.unsure - #self.unsettled + #left, left
end

--- Behind the mail of that epoch.
function successors.tell_clients(self, epoch)
  settle(self, epoch)
  local due, kept = {}, {}
  for _, renewal in ipairs(self.renewals) do table.insert(renewal.at <= epoch and due or kept, renewal) end
  if not due[1] then return end
  self.renewals = kept
  for number in pairs(self.clients) do
    local list = {}
    for i, renewal in ipairs(due) do
      list[i] = wire.renewal(renewal[1], renewal[2], self.address_of and self.address_of(renewal[1]) or 0)
    end
    self.restoring[number] = epoch
    self:post_to(number, wire.renewed(number, epoch, list))
  end
  self.told_renewed = epoch
  check_whole(self)
end

return successors
