-- The map of a world in its exchanges (one is passed as `self`): which shard owns each tile, which process has each
-- shard, and which processes take part. It changes only by orders of the leader (director.lua), which all exchanges and
-- shards obey as they close the same epoch, E. What a shard does then: recovery.lua.
--
--   change   tiles = bytes, as of map:assign             owners of tiles
--            moves = { [shard] = { process =, term = } } a later instance of a shard begins there
--            lost, dead = { [shard] = term }             the state of these instances is lost: clients restore it
--            resume = E, anew                            it has been restored; anew: all clients get whole views
--            restores = key                              with lost: no instance has died, a client brings a snapshot
--            gone = { process ... }                      processes that take part no more
--            join = { index =, name =, boot = }          a process that takes part from E on
--            walls = { proposal ... }                    walls and doors: wall_list.lua
--            keys, draining                              of the proposals that this change fulfils (director.lua)
--
--   learned --(each process starts its new instances)--> entered in E --> sent to clients, behind the mail of E
--   --> with lost: clients restore --(lines: "restored")--> a change with resume
--
-- A process does not close E before its new instances are ready. The former instance of a shard, where it lives, goes
-- on for some epochs: it hands over all that it has, and forwards what still comes.
--
--   exchange.hosts[shard], terms[shard]    process and term of each shard, as of `entered`, the last epoch entered
--   exchange.instances[shard]    here: { term, from = E, ready, dead, retires = epoch }; starting[shard]: an instance
--                                until its E, with moves that have come before
--   exchange.walls               the walls of the world: wall_list.lua
--   exchange.pending             { at, change }, learned and not entered; last_change: the last date
--   exchange.dead[shard]         term of a dead instance that no change covers yet; covered[shard]: the last term that
--                                a change covers
--   exchange.lost_at             E of the last change with lost; resumed = { at = R, of = E }: of the last with resume
--   exchange.restoring           clients that have been sent a change with lost and have not restored everything yet
--   exchange.whole[process]      the last E for which all clients of that process have restored everything
--   exchange.renewals            what clients have not been sent yet: { at, lost, moves }

local directory = require "aoi.skynet.world.directory"
local wire = require "aoi.skynet.wire"
local members = require "aoi.skynet.world.members"
local plain = require "aoi.skynet.plain"
local tiles = require "aoi.skynet.world.tiles"
local wall_list = require "aoi.skynet.world.wall_list"
local windows = require "aoi.skynet.world.windows"

local changes = {}

local WITHIN = 60 -- seconds: a shard that dies more than `most_deaths` times in them ends the world

local function plan_with(self, owners)
  local plan = {}
  for name, value in pairs(self.plan) do plan[name] = value end
  plan.owners = owners
  return plan
end

--- The plan, with the present owners of tiles.
function changes.map(self) return plan_with(self, self.map:owners()) end

--- state: of changes.state, for an exchange that joins a running world; else empty.
function changes.begin(self, state)
  local plan = plan_with(self, state.owners or self.plan.owners)
  self.plan, self.map = plan, tiles.map(plan)
  self.hosts, self.terms, self.epoch, self.entered = {}, {}, state.epoch or 0, state.entered or 0
  self.instances, self.starting, self.pending, self.last_change = {}, {}, {}, 0
  self.dead, self.lost_at, self.resumed, self.restoring, self.whole = {}, 0, { at = 0, of = 0 }, {}, {}
  self.renewals, self.deaths, self.sent = {}, {}, self.epoch
  self.walls = state.walls and wall_list.copy(state.walls) or wall_list.new()
  for shard = 1, plan.shards do
    self.hosts[shard], self.terms[shard] = (state.hosts or self.homes)[shard], (state.terms or {})[shard] or 0
    if not state.hosts and self.hosts[shard] == self.here then
      self.instances[shard] = { term = 0, from = 1, ready = true }
    end
  end
end

--- The state for an exchange that takes part from epoch `at` on.
function changes.state(self, at)
  local list = {}
  for _, order in ipairs(self.orders) do
    if order[2] == "change" and (order[4] >= at or order[4] > self.entered) then list[#list + 1] = order end
  end
  return { epoch = at - 1, entered = math.min(self.entered, at - 1), hosts = self.hosts, terms = self.terms,
           owners = self.map:owners(), walls = wall_list.copy(self.walls), orders = list, processes = self.processes,
           last_index = self.last_index, draining = self.draining }
end

-- Instances here ------------------------------------------------------------------------------------------------------

-- The orders that an instance needs when it takes part: changes that are not in its map, and those that are due later.
local function send_orders(self, shard, entered, from)
  for _, order in ipairs(self.orders) do
    if order[4] >= from or order[2] == "change" and order[4] > entered then
      self.send_shard(shard, "order", order[2], order[3], order[4])
    end
  end
end

-- Counts a death. Returns whether there have been so many lately that the shard will die again.
local function dies_too_often(self, shard)
  local list, now = self.deaths[shard] or {}, self.now()
  self.deaths[shard] = list
  table.insert(list, now)
  while list[1] < now - WITHIN do table.remove(list, 1) end
  return #list > self.most_deaths
end

local function start(self, shard, move, at, lost)
  local one, entered = { term = move.term, from = at, moves = {} }, self.entered
  local former = self.instances[shard]
  if former and not former.dead then -- it has retired, and the instance that has its state has died
    self.send_shard(shard, "shutdown", true)
    former.dead, self.fallen[shard] = true, true
  end
  self.starting[shard] = one
  local terms = { table.unpack(self.terms) }
  local plan = plan_with(self, self.map:owners())
  local options = { plan = plan, term = move.term, terms = terms, epoch = at - 1, lost = lost,
                    walls = wall_list.copy(self.walls) }
  local function done(ok, reason)
    if self.closed or self.starting[shard] ~= one then return end
    if not ok and dies_too_often(self, shard) then
      return self:finish(("shard %d cannot be replaced: %s"):format(shard, tostring(reason)))
    elseif not ok then
      return self.replace(shard, options, done) -- the new instance has died as it began
    end
    one.ready = true
    self.send_shard(shard, "admit", self.by_address)
    send_orders(self, shard, entered, at)
  end
  self.replace(shard, options, done)
end

--- Whether the instance here takes part in that epoch.
function changes.takes_part(self, shard, epoch)
  local one = self.instances[shard]
  return one and not one.dead and one.from <= epoch
end

--- Whether the instance here begins with this epoch, and without the state of the former one, which has died: clients
-- restore that by this change or the next one. The death is known by now: its report precedes the parts of its process.
function changes.begins_empty(self, shard)
  local one = self.instances[shard]
  local former = one.term - 1
  return one.from == self.epoch + 1 and (self.dead[shard] == former or self.covered[shard] == former)
end

--- Moves of a client of another process, which may have entered the epoch in which the shard begins here already.
function changes.take_moves(self, shard, message)
  local starting = self.starting[shard]
  if changes.takes_part(self, shard, self.epoch + 1) then
    self.send_shard(shard, "moves", message)
  elseif starting then
    table.insert(starting.moves, message)
  end
end

--- Sends to all live instances here, and to those that are ready to begin.
function changes.send_all(self, ...)
  for shard = 1, self.plan.shards do
    local one, next_one = self.instances[shard], self.starting[shard]
    if one and not one.dead or next_one and next_one.ready then self.send_shard(shard, ...) end
  end
end

--- The instance here takes no messages any more.
function changes.died(self, shard)
  local one = self.instances[shard]
  if not one or one.dead then return end
  if dies_too_often(self, shard) then
    local text = "shard %d in process '%s' has died %d times in a minute"
    return self:finish(text:format(shard, self.processes[self.here].name, self.most_deaths + 1))
  end
  one.dead = true
  if not one.retires or self.epoch < one.retires - windows.FORMER then
    changes.take_dead(self, shard, one.term)
    members.send_all(self, "dead", shard, one.term)
  end
end

--- The instance of that term has died, here or elsewhere.
function changes.take_dead(self, shard, term)
  if term > (self.covered[shard] or -1) then self.dead[shard] = math.max(term, self.dead[shard] or 0) end
end

--- After an epoch: ends former instances that have gone on long enough.
function changes.expire(self)
  for shard = 1, self.plan.shards do
    local one = self.instances[shard]
    if one and one.retires and self.epoch >= one.retires then
      if not one.dead then self.send_shard(shard, "shutdown", true) end
      self.instances[shard] = nil
    end
  end
end

-- Life of a change ----------------------------------------------------------------------------------------------------

--- Takes a change that the leader has ordered for epoch `at`.
function changes.learn(self, change, at)
  table.insert(self.pending, { at = at, change = change })
  table.sort(self.pending, function(a, b) return a.at < b.at end)
  self.last_change = math.max(self.last_change, at)
  if change.lost then self.lost_at = math.max(self.lost_at, at) end
  for shard, term in pairs(change.dead or {}) do
    self.covered[shard] = math.max(term, self.covered[shard] or 0)
    if self.dead[shard] and self.dead[shard] <= term then self.dead[shard] = nil end
  end
  if change.join then
    members.add(self, change.join.index, { name = change.join.name, boot = change.join.boot, since = at })
  end
  for shard, move in pairs(change.moves or {}) do
    if move.process == self.here then start(self, shard, move, at, change.lost) end
  end
end

--- Whether all instances that begin here with that epoch are ready.
function changes.are_ready(self, epoch)
  for _, one in ipairs(self.pending) do
    for shard, move in pairs(one.at <= epoch and one.change.moves or {}) do
      if move.process == self.here and not (self.starting[shard] and self.starting[shard].ready) then return false end
    end
  end
  return true
end

local function move(self, shard, to, at)
  local former = self.instances[shard]
  self.hosts[shard], self.terms[shard] = to.process, to.term
  if to.process == self.here then
    self.instances[shard], self.starting[shard] = self.starting[shard], nil
    for _, message in ipairs(self.instances[shard].moves) do self.send_shard(shard, "moves", message) end
  elseif former and not former.dead then
    former.retires = at + windows.FORMER
  elseif former then
    self.instances[shard] = nil
  end
end

local function enter(self, change, at)
  if change.tiles then self.map:assign(change.tiles) end
  for shard, to in pairs(change.moves or {}) do move(self, shard, to, at) end
  if change.moves or change.lost then
    table.insert(self.renewals, { at = at, lost = change.lost, moves = change.moves or {} })
  end
  if change.resume then self.resumed = { at = at, of = change.resume, anew = change.anew } end
  for _, process in ipairs(change.gone or {}) do
    directory.forget_process(self.entries, process)
    if process ~= self.here then members.drop(self, process, true) end
    self.leaving = self.leaving or process == self.here
  end
  for shard, to in pairs(change.moves or {}) do
    if to.process == self.here then
      self.send_shard(shard, "begin_directory", directory.entries_of(self.entries, shard, self.plan.shards))
    end
  end
end

--- Carries out the changes that are due, as that epoch is closed; entered(change) is called for each.
function changes.enter(self, epoch, entered)
  self.entered = epoch
  while self.pending[1] and self.pending[1].at <= epoch and not self.leaving do
    local one = table.remove(self.pending, 1)
    enter(self, one.change, one.at)
    entered(one.change)
  end
end

-- Restoring -----------------------------------------------------------------------------------------------------------

--- Whether some nodes may be in no shard in that epoch, so that no resync may be sent.
function changes.is_unsure(self, epoch)
  return next(self.dead) ~= nil or self.resumed.of < self.lost_at or epoch < self.resumed.at
end

-- Notifies all processes when no client here restores any more.
local function check_restored(self)
  if next(self.restoring) or self.whole[self.here] == self.sent_lost then return end
  self.whole[self.here] = self.sent_lost
  members.send_all(self, "restored", self.sent_lost)
end

--- The client here has restored what was lost until `epoch`; nil: the client is gone.
function changes.restored(self, number, epoch)
  if not self.restoring[number] or epoch and epoch < self.restoring[number] then return end
  self.restoring[number] = nil
  check_restored(self)
end

--- Where a shard is, for clients here.
function changes.place(self, shard)
  local process = self.hosts[shard]
  local address = process == self.here and self.address_of and self.address_of(shard) or nil
  return { term = self.terms[shard], address = address,
           process = self.processes[process] and self.processes[process].name }
end

--- Notifies clients of changes, behind the mail of that epoch.
function changes.notify_clients(self, epoch)
  while self.renewals[1] and self.renewals[1].at <= epoch do
    local one, places = table.remove(self.renewals, 1), {}
    for shard in pairs(one.moves) do places[shard] = changes.place(self, shard) end
    local bytes = plain.write { epoch = epoch, lost = one.lost, places = places }
    for number in pairs(self.clients) do
      if one.lost then self.restoring[number] = epoch end
      self:post_to(number, wire.say(wire.RENEWED, number, bytes))
    end
    if one.lost then
      self.sent_lost = epoch
      check_restored(self)
    end
  end
  if self.resumed.anew and self.resumed.at <= epoch then
    self.resumed.anew = nil
    for number in pairs(self.clients) do self:begin_anew(number) end
  end
end

return changes
