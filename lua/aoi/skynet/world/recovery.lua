-- A shard when the map changes (changes.lua): tiles change owners, or another instance of a shard begins, with a
-- term that
-- is one higher. Where its former instance lives, that one hands over all that it has in close(E), as to any other
-- shard, and sends on what still comes for some epochs: `retired`. Where that has died, two epochs are dated, E, from
-- which on all know of the new one, and R, when clients have restored:
--
--   close(E)    each shard names all that is its own, as HOME to the home of its id; ids that no shard names are
--               orphans: they were the dead shard's
--   E to R      clients restore what they have entered, with what its nodes have heard; it waits where it was brought
--               to; the successor has no ghosts yet; the ghosts of what was lost stand still
--   close(R)    each shard names all that is its own to its audience, as NEAR; ghosts that no shard names are doubted;
--               what has been restored goes on, all in one epoch, so that nothing that it sees is missing
--   later       what is restored late goes on at once; LOST ends ghosts of it that are elsewhere
--   E + grace   what is still doubted leaves
--
--   shard.terms[s]       the term of each shard that has had a successor
--   shard.ready          E of this instance
--   shard.blank          until R of that, where its former instance has died, be it as late as E; false: no more, or
--                        what other shards have lost as it began may be unknown here; nil: nothing was lost
--   shard.renewed        the last E; shard.waits: until its R
--   shard.full           the last R; shard.fulls: those whose grace is not over: { R, ends = E + grace }
--   shard.returning      set of ids that wait for R: ents[id].past; their nodes are added, with what they have seen
--   shard.orphans[id]    since when, of ids whose home this is; the life is that of the directory
--   shard.superseded[id] the life that has ended, while one that is being restored may be it
--   shard.ended          lives that have ended though no shard has them: { id, life }
--
-- What returns is as one that enters in the coming epoch, but is handed over, if need be to this shard itself.

local clients = require "aoi.skynet.clients"
local commands = require "aoi.skynet.commands"
local core = require "aoi.skynet.native" "world"
local epoch = require "aoi.skynet.world.epoch"
local followers = require "aoi.skynet.world.followers"
local directory = require "aoi.skynet.world.directory"
local log = require "aoi.skynet.world.log"
local outlet = require "aoi.skynet.world.outlet"
local targets = require "aoi.skynet.world.targets"
local traits = require "aoi.skynet.world.traits"
local wall_list = require "aoi.skynet.world.wall_list"
local walls = require "aoi.skynet.walls"

local recovery = { commands = {} }
local CMD = recovery.commands

--- Whether requests must wait: what the homes know is not here yet.
function recovery.is_absent(self) return self.applied < self.ready end

--- As an epoch is applied. unsure: something is lost, or parts of an earlier epoch may be missing, as a process has
-- died before it had sent them to all. What is lost while an instance begins is unknown to it, as only what is alive
-- was named; bereft: it is what the former instance had (changes.begins_bereft).
function recovery.begin(self, number, unsure, bereft)
  self.unsure = unsure
  if bereft then
    self.blank, self.waits = true, true
  elseif unsure and number == self.ready then
    self.blank = self.blank or false
  end
end

-- An entity with a past ---------------------------------------------------------------------------------------------

-- n: as a HAND row has it, its record from now on. Its client gets nothing of it before it is in the core: it has
-- no number until then.
local function node_with_past(self, ent, id, n)
  n.id, n.by, n.added = id, n.by or n.client, true
  clients.keep_node(self, ent, n)
  targets.adopt(self, n)
end

-- entity: as a HAND row has it. One that is here already stays as it is.
local function take(self, entity)
  if self.ents[entity.id] then return end
  local ent = { life = entity.life, client = entity.client, kind = entity.kind, barred = entity.barred, past = true,
                birth = { x = entity.x, y = entity.y, z = entity.z, batch = entity.movers[2] } }
  clients.own(self, entity.id, ent)
  if entity.view then
    entity.view.id = entity.id
    clients.keep_view(self, entity.view)
    targets.adopt(self, entity.view)
  end
  self.returning[entity.id], self.sent_on[entity.id] = true, nil
  self.trait_changes[entity.id] = entity.traits
  for _, n in ipairs(entity.nodes) do node_with_past(self, ent, entity.id, n) end
end

--- What a blank shard takes of the parts for it; what is handed to it waits for R.
function recovery.sift(self, parts)
  local sifted = {}
  epoch.each_row(parts, epoch.HAND, take, self)
  epoch.each_row(parts, epoch.TRAIT, traits.await, self)
  for i, part in ipairs(parts) do
    sifted[i] = { bytes = "" }
    for _, tag in ipairs { epoch.HOME, epoch.ROWS, epoch.WANT } do sifted[i][tag] = part[tag] end
  end
  return sifted
end

--- When an epoch is closed, of an entity with a past: its new owner.
function recovery.bear(self, id, ent)
  local at = ent.birth
  self.returning[id] = nil
  self.lost[#self.lost + 1] = { id = id, life = ent.life, what = epoch.GOES_ON }
  return (self.router:restored(id, ent.life, ent.kind, at.x, at.y, at.z))
end

local function log_leave(self, id, life)
  if self.log then log.put(self, 1, "leave", id, life) end
end

--- To all shards: of these lives nothing is true but what they have received.
function recovery.tell_lost(self, put)
  for _, lost in ipairs(self.lost) do
    if lost.what == epoch.ENDED then log_leave(self, lost.id, lost.life) end
    local row = epoch.lost(lost.id, lost.life, lost.what)
    for shard = lost.to or 1, lost.to or self.plan.shards do put(shard, epoch.LOST, row) end
  end
  self.lost = {}
end

-- Changes ------------------------------------------------------------------------------------------------------------

-- Those clients of that process, which is gone, that have or had anything here, or have claimed an id.
local function clients_of(self, process)
  local found = {}
  local function add(client) if client >> 24 == process - 1 then found[client] = true end end
  for client in pairs(self.clients) do add(client) end
  for _, claim in pairs(self.claims) do add(claim[1]) end
  return found
end

-- Clients have restored what was lost until that E.
local function resume(self, renewed)
  if renewed < self.renewed then return end -- something else has been lost meanwhile
  self.waits, self.full = false, self.applied + 1
  self.fulls[#self.fulls + 1] = { self.full, ends = renewed + self.grace }
  self.router:retell()
end

--- As an epoch is closed: the change that is dated for it (changes.lua), or for one before this instance began.
function recovery.change(self, change, at)
  local mine = (change.moves or {})[self.number]
  self.retired = self.retired or mine ~= nil and mine.term > self.term
  for shard, move in pairs(change.moves or {}) do self.terms[shard] = move.term end
  if change.walls then wall_list.change(self, change.walls) end
  if change.tiles then
    self.map:assign(change.tiles)
    self.remapped = self.applied + 1
  end
  if change.tiles or mine then self.router:remap(self.retired) end
  if at < self.ready then return end
  if change.lost then self.renewed, self.waits = self.applied + 1, true end
  if change.moves or change.lost then self.names = self.applied + 1 end
  if change.moves and not change.lost then self.router:retell() end -- new instances know nothing
  if change.resume then resume(self, change.resume) end
  if change.anew then
    local ids = {}
    for id in pairs(self.views) do ids[#ids + 1] = id end
    self:order("resend", ids, self.applied + 1)
  end
  for _, process in ipairs(change.gone or {}) do
    for client in pairs(clients_of(self, process)) do self:order("death", client, self.applied + 1) end
  end
end

--- In E: names all that is here: tell_home(id, life, shard).
function recovery.name_all(self, tell_home)
  if self.names ~= self.applied + 1 then return end
  for id, ent in pairs(self.ents) do
    if ent.past or not ent.birth then tell_home(id, ent.life, self.number) end
  end
end

--- When E has been applied: ids whose home this is, and that no shard has named as alive.
function recovery.refill(self, parts)
  if self.renewed ~= self.applied then return end
  local named = {}
  epoch.each_row(parts, epoch.HOME, function(_, home) named[home.id] = true end)
  for id in pairs(self.life) do
    if not named[id] and not directory.is_claimed(self, id) then self.orphans[id] = self.orphans[id] or self.renewed end
  end
end

-- Later -------------------------------------------------------------------------------------------------------------

local function drop_orphan(self, id)
  log_leave(self, id, self.life[id])
  self.life[id], self.holder[id], self.orphans[id], self.claims[id] = nil, nil, nil, nil
end

--- As an epoch is closed: lives that no client has restored in time, or that it says have ended.
function recovery.expire(self)
  local ended = self.ended
  self.ended = {}
  for _, one in ipairs(ended) do
    local id, life = one.id, self.life[one.id]
    local claimed = directory.is_claimed(self, id) -- a client is bringing it back
    if life == one.life and self.orphans[id] and not claimed then drop_orphan(self, id) end
    if self.life[id] == one.life then
      self.ended[#self.ended + 1] = one
      if not claimed then
        table.insert(self.lost, { id = id, life = life, what = epoch.ENDS, to = self.holder[id] })
      end
    else
      self.lost[#self.lost + 1] = { id = id, life = one.life, what = epoch.ENDED }
    end
  end
  for id, one in pairs(self.replaced) do
    if self.closed >= one.at or one.holder and (self.terms[one.holder] or 0) ~= one.term then
      self.lost[#self.lost + 1] = { id = id, life = one.life, what = epoch.ENDED }
      self.replaced[id] = nil
    end
  end
  if next(self.orphans) == nil then return end
  for id, since in pairs(self.orphans) do
    local patience = directory.is_claimed(self, id) and 2 * self.grace or self.grace
    if self.closed >= since + patience then drop_orphan(self, id) end
  end
end

--- As an epoch is applied, phase 1.
function recovery.drop_doubted(self)
  local first = self.fulls[1]
  if not first or self.closed < first.ends then return end
  table.remove(self.fulls, 1)
  if not self.fulls[1] then self.superseded = {} end
  local list, n = self.router:ids("doubted", first[1])
  for i = 1, n do self.core:leave(list[i]) end
end

--- Phase 2, when everything is where it will be.
function recovery.apply_lost(self, lost)
  local ghost, doubted = self.router:ghost(lost.id)
  if lost.what == epoch.ENDS or not ghost or not (doubted or lost.what == epoch.ENDED) then return end
  if self.router:life(lost.id) ~= lost.life then return end
  self.core:leave(lost.id)
end

--- At the end of an epoch: an own entity that a client has made leave, where that was lost, and the entity was not; or
-- one that has been restored, or is being, though a later life of its id has come.
function recovery.end_own(self, lost)
  local ent = self.ents[lost.id]
  local ended = lost.what == epoch.ENDED
  if ended then self.superseded[lost.id] = lost.life end
  if not ent or ent.life ~= lost.life or lost.what ~= epoch.ENDS and not (ended and ent.past) then return end
  if ended then ent.past = nil end -- every shard has that row: none need be sent
  outlet.note(self, ent.client, lost.id, outlet.LEFT, ent.life)
  commands.leave(self, ent.client, lost.id)
end

local function is_claimer(self, id, client) return self.claims[id] and self.claims[id][1] == client end

-- No shard has it, and no client may still enter it.
local function is_lost(self, id)
  return not directory.is_claimed(self, id) and (self.orphans[id] or self.claims[id])
end

local function check_node(self, n)
  local ok, reason = core.check_area(n.area, self.dimensions)
  if not ok then error(reason, 0) end
  walls.check_node(self, n)
end

-- What the client has had on the entity has ended where another has taken that over since; in that very epoch, perhaps.
local function check_taken(ent, client, id, since)
  local lost = ent.barred and ent.barred[client]
  if lost and since <= lost then error(("entity %d has been taken over by another client"):format(id), 0) end
end

-- Requests of clients -------------------------------------------------------------------------------------------------

--- At the home. entities: id, life, x, y, whether it has been claimed before in vain, and so on; ended: { id, life }:
-- what this client has made leave. Returns for each entity its owner, false where another life has come, 0 where it is
-- to be restored; then where, and the stamp of the claim.
function CMD.reclaim(self, client, entities, ended)
  local owners, holders, stamps, n = {}, {}, {}, 0
  for i = 1, #entities, 5 do
    local id, life = entities[i], entities[i + 1]
    local known = self.life[id]
    n = n + 1
    holders[n] = self.map:owner(entities[i + 2], entities[i + 3])
    stamps[n] = directory.stamp(self, holders[n])
    -- A life that no shard has may have been claimed by a request that was under way as it ended: a later one counts.
    local later = known and known ~= life and self.orphans[id] and followers.is_later(life, known)
    if followers.is_later(life, self.last_life) then self.last_life = life end -- of a snapshot
    if known and known ~= life and not later then
      owners[n] = false
    elseif not known or later or is_lost(self, id) or entities[i + 4] and is_claimer(self, id, client) then
      owners[n] = 0
      if later and self.claims[id] then self.lost[#self.lost + 1] = { id = id, life = known, what = epoch.ENDED } end
      self.life[id], self.holder[id], self.claims[id] = life, holders[n], { client, stamps[n] }
      self.orphans[id] = self.orphans[id] or self.applied
      self.revived[id] = { client = client, epoch = self.applied }
    else
      owners[n] = self.holder[id]
    end
  end
  table.move(ended, 1, #ended, #self.ended + 1, self.ended)
  return owners, holders, stamps
end

--- list: entities as `take` has them, of this client, each with the stamp of its claim. Returns for each whether it is
-- here now, false where the claim counts no more.
function CMD.restore(self, client, list)
  local taken = {}
  for _, entity in ipairs(list) do
    for _, n in ipairs(entity.nodes) do check_node(self, n) end
  end
  for i, entity in ipairs(list) do
    entity.client = client
    for _, n in ipairs(entity.nodes) do n.by = client end
    if entity.view then entity.view.by = client end
    taken[i] = directory.is_good(self, entity.id, entity.stamp) and self.superseded[entity.id] ~= entity.life
    if taken[i] then take(self, entity) end
  end
  return taken
end

--- A node of a client on an entity that is here, of another client; it may never have been lost.
function CMD.restore_node(self, client, id, n)
  local ent = self:entity(client, id)
  check_node(self, n)
  local rec = ent.nodes and ent.nodes[n.node]
  if rec and rec.handle == n.handle then return end
  if rec then error(("entity %d has another node %d by now"):format(id, n.node), 0) end
  check_taken(ent, client, id, n.since)
  n.by = client
  node_with_past(self, ent, id, n)
  if not ent.past then self.added[#self.added + 1] = n end
end

--- The same of a client view. It is of one life of the entity.
function CMD.restore_view(self, client, id, view)
  local ent = self:entity(client, id)
  local known = self.views[id]
  if ent.life ~= view.life or known and known.by ~= client then error(("entity %d is another one"):format(id), 0) end
  if known then return end
  check_taken(ent, client, id, view.since)
  view.id, view.by = id, client
  self:begin_view(view)
  clients.keep_view(self, view)
  targets.adopt(self, view)
end

--- list: handle, bytes and width of the ids that it sees, and so on: nodes of this client that no shard has any more:
-- it hears that they end.
function CMD.end_nodes(self, client, list)
  for i = 1, #list, 3 do outlet.end_node(self, client, list[i], list[i + 1], list[i + 2]) end
end

return recovery
