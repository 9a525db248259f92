-- The leader of a world: the process that decides what the map is to be. It is the first process that takes part, and
-- where that is gone the next one: each exchange (`self`) holds all that a leader needs. It is polled between epochs
-- and gives dated orders (changes.lua), at most one per epoch:
--
--   a shard has died     a successor, in its process if that lives, else in the process with the fewest shards
--   restored             clients have restored what was lost, or their time is over: resume
--   proposed             processes join, tiles and shards move: one after another, when nothing is lost or missing
--   otherwise            each process gets as many shards as `nodes` lists, and a process that is drained gets none
--
-- A proposal is a request of a client: move -> asked -> (leader) proposals -> keys of a change -> entered: answered.
--
--   exchange.proposed[key]  { proposal =, reply = } of this process that are not fulfilled; the key is unique to the
--                        process, so that a proposal can be sent again to the next leader
--   exchange.proposals   of the leader: a list of them
--   exchange.building    of the leader: proposals of wall_list.lua, all of which go with the next change
--   exchange.restores    { key } of a proposal that is fulfilled when clients have restored everything

local changes = require "aoi.skynet.world.changes"
local members = require "aoi.skynet.world.members"
local sorted_keys = require "aoi.sorted_keys"
local tiles = require "aoi.skynet.world.tiles"
local wall_list = require "aoi.skynet.world.wall_list"
local windows = require "aoi.skynet.world.windows"

local director = {}

local TILES = 4    -- of a proposal

function director.begin(self, state)
  self.proposed, self.proposals, self.proposal_key, self.joins, self.building = {}, {}, 0, {}, {}
  self.last_move, self.draining = 0, state.draining or {}
end

local function count_shards(self)
  local count = {}
  for index in pairs(self.processes) do count[index] = 0 end
  for shard = 1, self.plan.shards do
    local host = self.hosts[shard]
    if count[host] then count[host] = count[host] + 1 end
  end
  return count
end

-- How many shards that process is to have; nil: any number.
local function wanted(self, index)
  local process = self.processes[index]
  if self.draining[process.name] then return 0 end
  return self.nodes and (self.nodes[process.name] or 0) or nil
end

-- The process that gets one more shard: the one with the fewest, but those that are to have none come last.
local function choose(self, count)
  local best, rank
  for index in pairs(self.processes) do
    local its = count[index] + (wanted(self, index) == 0 and 1e6 or 0)
    if not self.missing[index] and self.processes[index].since <= self.epoch + 1 and
      (not best or its < rank or its == rank and index < best) then
      best, rank = index, its
    end
  end
  count[best] = count[best] + 1
  return best
end

-- The process and term of the shard after all changes that are under way.
local function latest(self, shard)
  local host, term = self.hosts[shard], self.terms[shard]
  for _, one in ipairs(self.pending) do
    local move = (one.change.moves or {})[shard]
    if move then host, term = move.process, move.term end
  end
  return host, term
end

-- The change that gives dead shards successors.
local function replace_dead(self)
  local moves, dead, count = {}, {}, count_shards(self)
  for shard = 1, self.plan.shards do
    local term = self.dead[shard]
    if term then
      dead[shard] = term
      local host, last = latest(self, shard)
      if term == last then -- else the next instance has begun already, without its state
        moves[shard] = { process = self.processes[host] and not self.missing[host] and host or choose(self, count),
                         term = term + 1 }
      end
    end
  end
  return { moves = moves, dead = dead, lost = true }
end

-- Whether clients have restored everything, or their time is over; a snapshot is restored in full.
local function have_restored(self)
  if not self.restores and self.epoch >= self.lost_at + self.patience / self.interval then return true end
  for index in pairs(self.processes) do
    if (self.whole[index] or 0) < self.lost_at then return false end
  end
  return true
end

-- A change that moves shards from processes that have too many; nil: there are none.
local function rehost(self)
  local count, moves = count_shards(self), {}
  for shard = 1, self.plan.shards do
    local host = self.hosts[shard]
    local wants = wanted(self, host)
    if wants and count[host] > wants then
      for index in pairs(self.processes) do
        local its = wanted(self, index)
        if its and count[index] < its and self.processes[index].since <= self.epoch and not moves[shard] then
          moves[shard] = { process = index, term = self.terms[shard] + 1 }
          count[index], count[host] = count[index] + 1, count[host] - 1
        end
      end
      if not moves[shard] and self.draining[self.processes[host].name] then
        local to = choose(self, count)
        if to ~= host then moves[shard] = { process = to, term = self.terms[shard] + 1 } end
        count[host] = count[host] - 1
      end
    end
  end
  return next(moves) and { moves = moves } or nil
end

-- A change by which processes leave that are drained and have no shards; nil: there are none.
local function drained(self)
  local count, gone = count_shards(self), {}
  for index, process in pairs(self.processes) do
    if self.draining[process.name] and count[index] == 0 and not self.missing[index] then gone[#gone + 1] = index end
  end
  return gone[1] and { gone = gone } or nil
end

local FULFIL = {}

function FULFIL.tiles(_, proposal) return { tiles = proposal.tiles } end

function FULFIL.host(self, proposal, settled)
  local index = members.index_of(self.processes, proposal.host[2])
  if not settled then return nil end
  if not index or self.hosts[proposal.host[1]] == index then return {} end
  return { moves = { [proposal.host[1]] = { process = index, term = self.terms[proposal.host[1]] + 1 } } }
end

function FULFIL.restore(_, proposal) return { lost = true, restores = proposal.key } end

function FULFIL.drain(_, proposal) return { draining = { [proposal.drain] = true } } end

local function fulfil(self, settled)
  local proposal = self.proposals[1]
  if not proposal then return nil end
  local change
  for what, f in pairs(FULFIL) do change = proposal[what] and f(self, proposal, settled) or change end
  if not change then return nil end
  table.remove(self.proposals, 1)
  change.keys = not change.restores and { proposal.key } or nil
  return change
end

local function join(self)
  local boot, name = next(self.joins)
  if not boot then return nil end
  self.joins[boot] = nil
  if members.index_of(self.processes, name) then return nil end -- its former life has yet to be dropped
  local index = self.last_index % 255 + 1
  while self.processes[index] do index = index % 255 + 1 end
  return { join = { index = index, name = name, boot = boot } }
end

-- Whether a change is under way that contains more than walls.
local function is_changing(self)
  for _, one in ipairs(self.pending) do
    for what in pairs(one.change) do
      if what ~= "walls" then return true end
    end
  end
  return false
end

local function decide(self)
  if next(self.dead) then return replace_dead(self) end
  if self.resumed.of < self.lost_at then
    local over = self.epoch >= self.lost_at and not self.resuming_at
    return over and have_restored(self) and { resume = self.lost_at, anew = self.anew, keys = self.restores } or nil
  end
  if next(self.missing) or self.issued == self.epoch then return nil end
  local changing = is_changing(self)
  local settled = not changing and self.epoch > self.last_move + windows.APART
  return fulfil(self, settled) or not changing and join(self) or settled and (rehost(self) or drained(self))
end

--- The leader decides. Called while its process is between two epochs.
function director.poll(self)
  if members.leader(self) ~= self.here then return end
  local change = decide(self)
  local may_build = self.building[1] and self.issued ~= self.epoch and next(self.missing) == nil
  if not change and (self.dropped[1] or may_build) then change = {} end
  if not change then return end
  if self.dropped[1] then change.gone, self.dropped = self.dropped, {} end
  if self.building[1] then change.walls, self.building = self.building, {} end
  self.issued = self.epoch
  self:order("change", change, math.max(self.epoch + windows.AHEAD, self.last_change + 1))
end

--- Every process takes note of each change as it arrives.
function director.learn(self, change, at)
  if change.moves then self.last_move = at end
  if change.restores then self.restores, self.anew = { change.restores }, true end
  if change.resume then self.resuming_at, self.restores = at, nil end
  if change.lost then self.resuming_at = nil end
  if change.anew then self.anew = nil end
  for name in pairs(change.draining or {}) do self.draining[name] = true end
  for _, index in ipairs(change.gone or {}) do
    if self.processes[index] then self.draining[self.processes[index].name] = nil end
    for i = #self.dropped, 1, -1 do
      if self.dropped[i] == index then table.remove(self.dropped, i) end
    end
  end
end

--- A process has been dropped, and the state of its shards is lost.
function director.dropped(self, index)
  for shard = 1, self.plan.shards do
    local host, term = latest(self, shard)
    if host ~= index then term = self.terms[shard] end
    if host == index or self.hosts[shard] == index then
      changes.take_dead(self, shard, term)
      self.anew = true
    end
  end
  local keys = sorted_keys(self.proposed)
  for _, key in ipairs(keys) do director.send(self, self.proposed[key].proposal) end -- there may be another leader
end

-- Proposals -----------------------------------------------------------------------------------------------------------

--- Sends a proposal to the leader.
function director.send(self, proposal)
  local leader = members.leader(self)
  if leader == self.here then
    director.take(self, proposal)
  elseif self.lines[leader] then
    self.lines[leader]:send { "proposal", proposal }
  end
end

--- The leader takes a proposal of any process.
function director.take(self, proposal)
  if proposal.walls then table.insert(self.building, proposal.walls) else table.insert(self.proposals, proposal) end
end

--- A new proposal: { tiles = bytes, as of map:assign }, { host = { shard, name of a process } }, { drain = name },
-- { restore = true }: clients bring back what they have, or { walls = { verb =, value = } }, as of wall_list.lua.
-- reply(epoch) is called when it is fulfilled and the epoch is over; for walls reply(epoch, result).
function director.propose(self, proposal, reply)
  self.proposal_key = self.proposal_key + 1
  proposal.key = self.here << 32 | self.proposal_key
  if proposal.walls then proposal.walls.boot, proposal.walls.n = self.processes[self.here].boot, self.proposal_key end
  self.proposed[proposal.key] = { proposal = proposal, reply = reply }
  director.send(self, proposal)
end

local MOVES = {}

-- A few tiles per epoch.
function MOVES.assign(self, reply, x0, y0, x1, y1, shard)
  local list = tiles.within(self.plan, x0, y0, x1, y1)
  if #list == 0 then return self:tick(reply) end
  for first = 1, #list, TILES do
    local rows = {}
    for i = first, math.min(first + TILES - 1, #list) do rows[#rows + 1] = string.pack("<I4I2", list[i], shard) end
    director.propose(self, { tiles = table.concat(rows) }, first + TILES > #list and reply or nil)
  end
end

function MOVES.host(self, reply, shard, process) director.propose(self, { host = { shard, process } }, reply) end

function MOVES.restore(self, reply) director.propose(self, { restore = true }, reply) end

function MOVES.walls(self, reply, verb, value)
  director.propose(self, { walls = { verb = verb, value = value } }, reply)
end

function MOVES.drain(self, reply, process) director.propose(self, { drain = process }, reply) end

--- A request of a client: MOVES[name](self, reply, ...); reply(epoch), or reply(nil, reason), is called later.
function director.move(self, name, reply, ...)
  if self.closed then return reply(nil, self:closed_text()) end
  if not MOVES[name] or name == "walls" and not wall_list.is_proposal(self.walls_in, ...) then
    return reply(nil, ("bad request '%s'"):format(tostring(name)))
  end
  local process = name == "host" and select(2, ...) or name == "drain" and (...)
  if process and not members.index_of(self.processes, process) then
    return reply(nil, ("there is no process '%s'"):format(process))
  end
  MOVES[name](self, reply, ...)
end

local function answer(self, key, result)
  local own = self.proposed[key]
  self.proposed[key] = nil
  if not (own and own.reply) then return end
  self:tick(function(at, reason) own.reply(at, at and result or reason) end)
end

--- A change has been entered: proposals that it fulfils are answered.
function director.entered(self, change)
  for _, proposal in ipairs(change.walls or {}) do
    local result = wall_list.enter(self.walls, proposal)
    if proposal.boot == self.processes[self.here].boot then answer(self, self.here << 32 | proposal.n, result) end
  end
  for _, key in ipairs(change.keys or {}) do answer(self, key) end
end

--- The world has ended: proposals that wait are answered.
function director.close(self)
  for _, one in pairs(self.proposed) do
    if one.reply then one.reply(nil, self:closed_text()) end
  end
  self.proposed = {}
end

--- Why a process of that name takes no part in a world with these `nodes`; nil: it does. Whoever does is counted in
-- the majority of members.lua.
function director.refusal(nodes, name)
  if nodes[name] then return nil end
  return ("process '%s' is none of the world's nodes: list it in option 'nodes' of the first process"):format(name)
end

--- Answers a process that has started with its index and, if the world runs, its state (changes.state); nil: not yet;
-- nil, nil and a reason: never.
function director.admit(self, name, boot)
  if self.closed or members.leader(self) ~= self.here then return nil end
  local refusal = self.nodes and director.refusal(self.nodes, name)
  if refusal then return nil, nil, refusal end
  for index, process in pairs(self.processes) do
    if process.boot == boot then return index, process.since > 0 and changes.state(self, process.since) or nil end
  end
  self.joins[boot] = name
end

return director
