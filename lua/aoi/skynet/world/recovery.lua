-- A shard when the map changes (changes.lua): tiles get other owners, or another instance of a shard begins, the
-- successor, with a term that is one higher. If the former instance is alive, it hands over everything in close(E), as
-- to any other shard, and is `retired`: for some epochs it only forwards. If it has died, its clients restore entities
-- from their own records (restore.lua), and orders of the leader date two epochs, E and R:
--
--   close(E)    each shard names its entities to the homes of their ids (HOME); ids that no shard names are lost
--   E to R      clients reclaim lost ids at the homes, and restore their entities, with what nodes have reported, in
--               the shards of their tiles, where these wait; the successor has no ghosts yet; lost entities stand still
--   close(R)    each shard names its entities to their audiences (NEAR); ghosts become unconfirmed until their owners
--               name them; all restored entities enter in this epoch, so that nodes find all targets that they saw
--   later       entities that are restored late enter at once; LOST rows remove unconfirmed ghosts of them elsewhere
--   E + grace   lost ids are dropped, and ghosts that are still unconfirmed leave; if more has
--               been lost before, they wait for the last grace: what a shard has restored may have died with it, too
--
--   shard.terms[s]       the term of each shard that has had a successor
--   shard.state, what this instance has:
--
--     whole   --E--> waits --close(R)--> whole                 another shard has died
--     (start) --E--> blank --close(R)--> filling --apply(R)--> whole
--                      ^-----------------'                     the former instance has died: there are no ghosts yet;
--                                                              back: a shard has died before it has closed R
--     (start) --E--> whole                                     the former instance hands over, or the world begins
--     (start) --E--> blank                                     the former instance, which is blank, hands over what has
--                                                              been restored: the leader moves a shard as soon as it
--                                                              has closed R, and may learn later that no R was that
--
--   shard.ready          E of this instance: before it has no part in any epoch (`is_absent`)
--   shard.renewed        the last E with a loss
--   shard.full           the last R; shard.ends: E + grace of it, until then
--   shard.restored      set of ids of restored entities that wait for R: ents[id].restored; their nodes have `seen`
--   shard.lost_ids[id]    the epoch in which a life of the directory here was found lost
--   shard.superseded[id] a life that has ended: it must not be restored any more
--   shard.ended          { id, life }: lives that, as clients report, they have made leave
--
-- A restored entity is like one that enters in the coming epoch, but is always handed over, perhaps to this shard.

local clients = require "aoi.skynet.clients"
local commands = require "aoi.skynet.commands"
local epoch = require "aoi.skynet.world.epoch"
local followers = require "aoi.skynet.world.followers"
local directory = require "aoi.skynet.world.directory"
local log = require "aoi.skynet.world.log"
local misrouted = require "aoi.skynet.world.misrouted"
local outlet = require "aoi.skynet.world.outlet"
local targets = require "aoi.skynet.world.targets"
local traits = require "aoi.skynet.world.traits"
local wall_list = require "aoi.skynet.world.wall_list"

local recovery = { commands = {} }
local CMD = recovery.commands

--- Whether requests must wait, as this instance has not got its part of the directory yet.
function recovery.is_absent(self) return self.applied < self.ready end

--- Called first when an epoch is applied. unsure: entities are lost, or parts of an earlier epoch may be missing, as a
-- process has died before it had sent them to all. begins_empty: the instance begins, and its former one has died
-- without a hand-over (changes.lua). partial: a shard has died before it has closed this epoch: it has not named its
-- entities, so that this is no R for a blank instance; the next one is ordered for that death.
function recovery.begin(self, parts, unsure, begins_empty, partial)
  self.unsure = unsure
  if begins_empty or partial and self.state == "filling" then self.state = "blank" end
  epoch.each_row(parts, epoch.HAND, function(_, hand)
    if hand.waits then self.state = "blank" end
  end)
end

--- Whether there are no ghosts yet.
function recovery.has_no_ghosts(self) return self.state == "blank" or self.state == "filling" end

-- Restored entities -------------------------------------------------------------------------------------------------

--- n: a node of a HAND row, which becomes its record. It has no number until it is added to the core, so its client
-- gets no events of it before that.
function recovery.take_node(self, ent, id, n)
  n.id, n.by, n.added = id, n.by or n.client, true
  clients.keep_node(self, ent, n)
  targets.adopt(self, n)
end

-- entity: a HAND row. An entity that is here already stays as it is.
local function take(self, entity)
  if self.ents[entity.id] then return end
  local client, batch = entity.movers[1], entity.movers[2]
  local ent = { life = entity.life, client = entity.client, kind = entity.kind, barred = entity.barred, restored = true,
                entry = { x = entity.x, y = entity.y, z = entity.z, client = client, batch = batch } }
  clients.own(self, entity.id, ent)
  if entity.view then
    entity.view.id = entity.id
    clients.keep_view(self, entity.view)
    targets.adopt(self, entity.view)
  end
  self.restored[entity.id], self.sent_on[entity.id] = true, nil
  self.trait_changes[entity.id] = entity.traits
  for _, n in ipairs(entity.nodes) do recovery.take_node(self, ent, entity.id, n) end
end

--- The rows that a blank shard applies. Entities that are handed over to it wait for R, as those that are restored;
-- LOST rows end these.
function recovery.sift(self, parts)
  local sifted = {}
  epoch.each_row(parts, epoch.HAND, take, self)
  epoch.each_row(parts, epoch.TRAIT, traits.await, self)
  for i, part in ipairs(parts) do
    sifted[i] = { bytes = "" }
    for _, tag in ipairs { epoch.HOME, epoch.ROWS, epoch.LOST, epoch.WANT } do sifted[i][tag] = part[tag] end
  end
  return sifted
end

--- Called when an epoch is closed, for a restored entity that enters. Returns its owner.
function recovery.enter(self, id, ent)
  local at = ent.entry
  self.lost[#self.lost + 1] = { id = id, life = ent.life, what = epoch.RESTORED }
  return (self.router:restored(id, ent.life, ent.kind, at.x, at.y, at.z))
end

-- That life has ended without a row of its owner.
local function note_end(self, id, life)
  directory.note(self, id, life, 0, 0)
  if self.log then log.put(self, 1, "leave", id, life) end
end

--- LOST rows for shard `to`, or for all shards: ghosts of these lives that are from before the loss, or have ended,
-- must leave.
function recovery.put_lost(self, put)
  for _, lost in ipairs(self.lost) do
    if lost.what == epoch.ENDED then note_end(self, lost.id, lost.life) end
    local row = { id = lost.id, life = lost.life, what = lost.what }
    for shard = lost.to or 1, lost.to or self.plan.shards do put(shard, epoch.LOST, row) end
  end
  self.lost = {}
end

-- Changes ------------------------------------------------------------------------------------------------------------

-- The set of clients of a process that is gone that have or had anything here, or have claimed an id.
local function clients_of(self, process)
  local found = {}
  local function add(client) if client >> 24 == process - 1 then found[client] = true end end
  for client in pairs(self.clients) do add(client) end
  for _, client in pairs(self.client_of) do add(client) end
  return found
end

-- R: clients have restored what was lost by the epoch `renewed`, an E.
local function resume(self, renewed)
  if renewed < self.renewed then return end -- more has been lost since: a later R is ordered
  self.state = self.state == "blank" and "filling" or "whole"
  self.full, self.ends = self.applied + 1, renewed + self.grace
  self.router:announce_all(true)
end

--- Called when an epoch is closed, with the change (changes.lua) that is dated `at`: for this epoch, or for an earlier
-- one that this instance has missed.
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
  if change.lost then
    self.renewed, self.state = self.applied + 1, recovery.has_no_ghosts(self) and "blank" or "waits"
  end
  if change.moves or change.lost or change.join then self.names = self.applied + 1 end
  if change.moves and not change.lost then self.router:announce_all() end -- new instances have no ghosts
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

--- In close(E): calls notify_home(id, life, shard) for each entity here. A process that joins has no entries yet: those
-- of lost ids come from their homes.
function recovery.name_all(self, notify_home)
  if self.names ~= self.applied + 1 then return end
  for id in pairs(self.lost_ids) do directory.note(self, id, self.life[id], self.number, self.client_of[id]) end
  for id, ent in pairs(self.ents) do
    if ent.restored or not ent.entry then notify_home(id, ent.life, self.number) end
  end
end

--- When E has been applied: marks ids of this home as lost that no shard has named.
function recovery.refill(self, parts)
  if self.renewed ~= self.applied and self.ready ~= self.applied then return end
  local named = {}
  epoch.each_row(parts, epoch.HOME, function(_, home)
    local id, life = string.unpack(epoch.ENTRY, home)
    named[id] = named[id] or life == self.life[id]
  end)
  for id in pairs(self.life) do
    if not named[id] and not directory.is_claimed(self, id) then
      self.lost_ids[id] = self.lost_ids[id] or self.applied
    end
  end
end

-- Lives that end ----------------------------------------------------------------------------------------------------

local function drop_lost(self, id)
  note_end(self, id, self.life[id])
  directory.drop(self, id)
end

--- Called when an epoch is closed: ends lives that clients report as ended, and `replaced` ones if the HOME row has not
-- come, and drops lost ids that no client has restored in time, or whose client has died.
function recovery.expire(self)
  local ended = self.ended
  self.ended = {}
  for _, one in ipairs(ended) do
    local id, life = one.id, self.life[one.id]
    local claimed = directory.is_claimed(self, id) -- a client is restoring it
    if life == one.life and self.lost_ids[id] and not claimed then drop_lost(self, id) end
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
  for id, since in pairs(self.lost_ids) do
    local claimed = directory.is_claimed(self, id)
    if not claimed and self.departed[self.client_of[id]] then -- nobody restores it
      self.lost[#self.lost + 1] = { id = id, life = self.life[id], what = epoch.ENDED }
      directory.drop(self, id)
    elseif self.closed >= since + (claimed and 2 or 1) * self.grace then
      drop_lost(self, id)
    end
  end
end

--- Phase 1, once the grace of the last R is over: ghosts leave that have been unconfirmed since.
function recovery.drop_unconfirmed(self)
  if self.state ~= "whole" or not self.ends or self.closed < self.ends then return end
  self.ends, self.superseded = nil, {}
  local list, n = self.router:ids("unconfirmed", self.full)
  for i = 1, n do self.core:leave(list[i]) end
end

--- A LOST row in phase 2, behind all moves and NEAR rows: removes the ghost of that life.
function recovery.apply_lost(self, lost)
  local ghost, unconfirmed = self.router:ghost(lost.id)
  if lost.what == epoch.ENDS or not ghost or not (unconfirmed or lost.what == epoch.ENDED) then return end
  if self.router:life(lost.id) ~= lost.life then return end
  self.core:leave(lost.id)
end

--- A LOST row at the end of an epoch: makes the owned entity leave. ENDS: its client has made it leave, which was lost
-- with a shard; ENDED: it has been restored, though its id has a later life.
function recovery.end_own(self, lost)
  local ent = self.ents[lost.id]
  local ended = lost.what == epoch.ENDED
  if ended then self.superseded[lost.id] = lost.life end
  if not ent or ent.life ~= lost.life or lost.what ~= epoch.ENDS and not (ended and ent.restored) then return end
  if ended then ent.restored = nil end -- then `leave` sends no LOST rows: all shards have this one
  outlet.note(self, ent.client, lost.id, outlet.LEFT, ent.life)
  commands.leave(self, ent.client, lost.id)
end

local function is_claimer(self, id, client) return self.claims[id] and self.claims[id][1] == client end

-- Whether the id has no owner, and no client may still enter it.
local function is_lost(self, id)
  return not directory.is_claimed(self, id) and (self.lost_ids[id] or self.claims[id])
end

-- since: the epoch of a node or view of this client, which another client's take-over in that epoch or later has ended.
local function check_taken(ent, client, id, since)
  local lost = ent.barred and ent.barred[client]
  if lost and since <= lost then error(("entity %d has been taken over by another client"):format(id), 0) end
end

-- Requests of clients -------------------------------------------------------------------------------------------------

--- At the home. entities: flat: id, life, x, y, whether this client has claimed it before without success; ended: list
-- of { id, life } that it has made leave. Returns lists by entity: its owner, false: another life has come, 0: the
-- client must restore it; the shard where it restores it; the stamp of the claim.
function CMD.reclaim(self, client, entities, ended)
  local owners, holders, stamps, n = {}, {}, {}, 0
  for i = 1, #entities, 5 do
    local id, life = entities[i], entities[i + 1]
    local known = self.life[id]
    n = n + 1
    holders[n] = self.map:owner(entities[i + 2], entities[i + 3])
    stamps[n] = directory.stamp(self, holders[n])
    -- A lost life may come from a reclaim that was under way when the life ended: a later life replaces it.
    local later = known and known ~= life and self.lost_ids[id] and followers.is_later(life, known)
    if followers.is_later(life, self.last_life) then self.last_life = life end -- of a snapshot
    if known and known ~= life and not later then
      owners[n] = false
    elseif not known or later or is_lost(self, id) or entities[i + 4] and is_claimer(self, id, client) then
      owners[n] = 0
      if later and self.claims[id] then self.lost[#self.lost + 1] = { id = id, life = known, what = epoch.ENDED } end
      self.life[id], self.holder[id], self.client_of[id] = life, holders[n], client
      self.claims[id] = { client, stamps[n] }
      self.lost_ids[id] = self.lost_ids[id] or self.applied
      self.revived[id] = { client = client, epoch = self.applied }
    else
      owners[n] = self.holder[id]
    end
  end
  table.move(ended, 1, #ended, #self.ended + 1, self.ended)
  return owners, holders, stamps
end

--- list: entities of this client, as `take` has them, each with the stamp of its claim. Returns a list: whether each is
-- here now; false: its claim is void, and must be made again; "ended": its life has ended.
function CMD.restore(self, client, list)
  local taken = {}
  for i, entity in ipairs(list) do
    entity.client = client
    for _, n in ipairs(entity.nodes) do n.by = client end
    if entity.view then entity.view.by = client end
    taken[i] = self.superseded[entity.id] == entity.life and "ended" or directory.is_good(self, entity.id, entity.stamp)
    if taken[i] == true then take(self, entity) end
  end
  return taken
end

--- rows: flat: id, the number of the message (misrouted.again), x, y [, z].
function CMD.move_again(self, client, rows)
  local values = self.dimensions + 2
  for i = 1, #rows, values do
    misrouted.again(self, client, rows[i + 1], rows[i], table.unpack(rows, i + 2, i + values - 1))
  end
end

--- Restores a node of this client on an entity of another client, unless the node is there.
function CMD.restore_node(self, client, id, n)
  local ent = self:entity(client, id)
  local rec = ent.nodes and ent.nodes[n.node]
  if rec and rec.by == client and rec.handle == n.handle then return end
  if ent.life ~= n.life then error(("entity %d is another one"):format(id), 0) end
  if rec then error(("entity %d has another node %d by now"):format(id, n.node), 0) end
  check_taken(ent, client, id, n.since)
  n.by = client
  recovery.take_node(self, ent, id, n)
  if not ent.restored then self.added[#self.added + 1] = n end
end

--- The same for a client view, which belongs to one life of the entity.
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

--- Removes a client view whose receiver is dead; returns its receiver if another client has set one that is not.
function CMD.remove_unreceived(self, client, id, receiver)
  local now = commands.helpers.view(self, client, id, "remove_client").client
  if now ~= receiver then return now end
  commands.remove_client(self, client, id)
end

--- list: flat: handle, bytes and width of the ids seen: nodes of this client that no shard has any more. The client
-- receives their end with the next mail.
function CMD.end_nodes(self, client, list)
  for i = 1, #list, 3 do outlet.end_node(self, client, list[i], list[i + 1], list[i + 2]) end
end

return recovery
