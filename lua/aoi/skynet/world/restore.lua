-- A client of a world after the death of a shard: clients are the backup. The library keeps the entities that a client
-- has entered (the outbox: position, kind, life), its nodes (areas, and targets that their handlers have received) and
-- its client views, and restores them in the shards that are to own them now. The other side is recovery.lua.
--
--   RENEWED --> all its entities: `reclaim` at the homes of their ids --> those that are lost: `restore` in the shards
--                                                                         that own their tiles
--                                                         --> the others: `move_again`, as last moves may be lost
--           --> then, one by one, nodes and views on entities of other clients: `restore_node`, `restore_view`
--           --> nodes that other clients have added for this one: whole views, as those clients do not know what the
--               handlers here have received
--
--   member.terms[shard]   of shards that have had successors
--   member.renewed        "begun": entities are being restored; "again": more shards have died since; nil: all is done
--   member.waiters        functions that resume coroutines which wait for a successor, or until all is restored
--   member.claimed[id]    the id has been reclaimed at its home, and no shard has taken the entity yet
--   record.area           of each node of this client, packed; since, ends: the epochs with which it begins and ends
--   record.saw            what the node saw in a snapshot, and the handlers have yet to receive: bytes, width, states
--   record.to             the client that receives the events of a node that this client has added for it
--   member.views[id]      client views: { area, options, client, fd, life of the entity, since, pins: lives by target;
--                         priorities: as of targets.lua }
--   member.traits[id]     of its entities: traits.lua; barred[id]: taking.lua

local argument = require "aoi.skynet.argument"
local core = require "aoi.skynet.native" "world"
local failures = require "aoi.skynet.failures"
local sorted_keys = require "aoi.sorted_keys"
local taking = require "aoi.skynet.world.taking"
local windows = require "aoi.skynet.world.windows"
local wire = require "aoi.skynet.wire"

local restore = {}

local MOST = 500 -- entities in one request

-- Waiting -----------------------------------------------------------------------------------------------------------

function restore.wake(self)
  local waiters = self.waiters
  self.waiters = {}
  for _, go in ipairs(waiters) do go() end
end

--- Waits until this client has restored its entities, since moves of lost ones have no owner; if a shard with that term
-- has not answered, also until it has a successor. Returns false where the world has ended.
function restore.await(self, shard, term)
  local restorer = coroutine.running() == self.restorer
  while not self.closed and (shard and (self.terms[shard] or 0) == term or self.renewed and not restorer) do
    self.wait(function(go) table.insert(self.waiters, go) end)
  end
  return not self.closed
end

-- What is restored ----------------------------------------------------------------------------------------------------

-- The ids of targets that the node's handlers have received, ascending, as bytes; and their width.
local function heard(self, handle)
  local list = {}
  local n = self.client.inbox:view(handle, list)
  for i = n + 1, #list do list[i] = nil end
  table.sort(list)
  for i = 1, n do list[i] = string.pack("<i8", list[i]) end
  return table.concat(list), 8
end

-- The node as in a HAND row. For a node that was added for another client (`to`), it is unknown what that has received.
local function node_of(self, record)
  local saw = record.to and { "", 4 } or record.saw or { heard(self, record.handle) }
  return { node = record.node, client = record.to or self.number, handle = record.handle, area = record.area,
           seen = saw[1], width = saw[2], states = saw[3], positions = record.positions,
           overrides = next(record.overrides or {}) and argument.copy(record.overrides) or nil,
           sight = record.sight, linger = record.linger, since = record.since or 0, life = record.life }
end

-- life: of the entity, nil: any life.
local function view_of(self, id, life)
  local view = self.views[id]
  if not view or life and life ~= view.life then return nil end
  return { area = view.area, options = view.options, client = view.client or self.number, fd = view.fd,
           life = view.life, since = view.since, pins = argument.copy(view.pins), handle = view.handle,
           ranks = next(view.priorities) and { id = id, priorities = argument.copy(view.priorities) } or nil }
end

-- Whether the node has been added and has not ended.
local function is_kept(self, record)
  local nodes = self.mine[record.watcher]
  return nodes and nodes[record.node] == record and record.area and not record.ends
end

-- entity: id, life, kind, x, y, z, stamp. Adds all that this client has on it: the result is an item of CMD.restore.
local function with_nodes(self, entity)
  entity.movers = { self.number, self:batch(), 0, 0 }
  entity.nodes, entity.view = {}, view_of(self, entity.id, entity.life)
  entity.traits = self.traits[entity.id]
  for _, record in pairs(self.mine[entity.id] or {}) do
    if is_kept(self, record) then table.insert(entity.nodes, node_of(self, record)) end
  end
  return entity
end

-- The arguments of CMD.reclaim by home: entities, and lives that this client has made leave lately.
local function by_home(self)
  local homes = {}
  local function at(id)
    local home = core.home(id, self.shards)
    homes[home] = homes[home] or { entities = {}, ended = {} }
    return homes[home]
  end
  local list, n = self.outbox:owned()
  for i = 1, n do
    local id, entities = list[i], at(list[i]).entities
    local life, _, x, y = self.outbox:owns(id)
    table.move({ id, life, x, y, self.claimed[id] or false }, 1, 5, #entities + 1, entities)
  end
  for id, left in pairs(self.left) do
    if self.outbox:owns(id) ~= left.life then table.insert(at(id).ended, { id = id, life = left.life }) end
  end
  return homes
end

-- Steps of the restorer: they return false where it must begin again --------------------------------------------------

local function ask(self, shard, name, ...)
  local status, a, b, c = self:ask_shard(shard, name, ...)
  return status == true, a, b, c
end

-- While this coroutine waits, the entity may leave, and its id enter again.
local function is_own(self, id, life) return self.outbox:owns(id) == life end

-- The entity has another life by now, or none.
local function has_ended(self, id)
  taking.forget(self, id)
  self:end_life(id, 0)
end

-- Reclaims all entities at their homes. Returns lists of { id, life, stamp } of those that are lost, by the shard that
-- must get them, and lists of the ids of the others by owner.
local function reclaim(self)
  local by_shard, alive = {}, {}
  for home, its in pairs(by_home(self)) do
    local ok, owners, holders, stamps = ask(self, home, "reclaim", its.entities, its.ended)
    if not ok then return false end
    for i, owner in ipairs(owners) do
      local id, life, shard = its.entities[5 * i - 4], its.entities[5 * i - 3], holders[i]
      if not is_own(self, id, life) then
        self.claimed[id] = nil
      elseif not owner then -- the id has another life
        has_ended(self, id)
      elseif owner == 0 then
        self.claimed[id] = true
        by_shard[shard] = by_shard[shard] or {}
        table.insert(by_shard[shard], { id, life, stamps[i] })
      else
        self.outbox:set(id, owner) -- it is alive there
        alive[owner] = alive[owner] or {}
        table.insert(alive[owner], id)
      end
    end
  end
  return by_shard, alive
end

-- Sends the last moves of these entities again, under their numbers: if they have not been lost, nothing moves.
local function move_again(self, shard, ids)
  local rows = {}
  for _, id in ipairs(ids) do
    local number = self.outbox:sent(id)
    if number then
      table.move({ id, number, select(3, self.outbox:owns(id)) }, 1, self.dimensions + 2, #rows + 1, rows)
      self.outbox:settle(id) -- requests go the way of this row
    end
  end
  return not rows[1] or ask(self, shard, "move_again", rows)
end

-- If the entity has been moved since the request was made, it is moved again: those rows had no owner.
local function follow(self, entity)
  local _, _, x, y, z = self.outbox:owns(entity.id)
  if x and (x ~= entity.x or y ~= entity.y or z ~= entity.z) then self.outbox:move(entity.id, x, y, z) end
end

local function restore_some(self, shard, list)
  local entities = {}
  for _, one in ipairs(list) do
    local id, life, stamp = table.unpack(one)
    local now, kind, x, y, z = self.outbox:owns(id)
    if now == life then
      entities[#entities + 1] = with_nodes(self, { id = id, life = life, kind = kind, x = x, y = y, z = z,
                                                   stamp = stamp })
    end
  end
  local ok, taken = ask(self, shard, "restore", entities)
  if not ok then return false end
  local all = true
  for i, entity in ipairs(entities) do
    all = all and taken[i]
    if taken[i] == "ended" then
      self.claimed[entity.id] = nil
      if is_own(self, entity.id, entity.life) then has_ended(self, entity.id) end
      all = ask(self, core.home(entity.id, self.shards), "release", { entity.id }, { entity.life }) and all
    elseif taken[i] then
      self.claimed[entity.id] = nil
      if is_own(self, entity.id, entity.life) then
        self.outbox:set(entity.id, shard)
        follow(self, entity)
      end
      self.counters.restored = self.counters.restored + 1
    end
  end
  return all
end

-- Calls f(self, shard, part of the list) for lists by shard.
local function each_part(self, by_shard, f)
  for shard, list in pairs(by_shard) do
    for first = 1, #list, MOST do
      if not f(self, shard, table.move(list, first, math.min(first + MOST - 1, #list), 1, {})) then return false end
    end
  end
  return true
end

--- Ends nodes that were to end by that epoch, as their last events may be lost; a later resync ends them, too.
function restore.end_nodes(self, epoch)
  local list = {}
  for _, record in pairs(self.records) do
    if record.ends and record.ends <= epoch then
      local n = #list
      list[n + 1] = record.handle
      list[n + 2], list[n + 3] = heard(self, record.handle)
      self.client.inbox:since(record.handle, (self.answered_at or 0) + 1)
    end
  end
  return not list[1] or ask(self, 1, "end_nodes", list)
end

-- A list of the records of nodes, since other coroutines change the tables.
local function all_nodes(self)
  local list = {}
  for _, nodes in pairs(self.mine) do
    for _, record in pairs(nodes) do list[#list + 1] = record end
  end
  return list
end

-- Nodes and client views on entities that others have entered, or may have restored: the shard that owns the entity
-- finds out whether they were lost.
local function restore_foreign(self)
  local function is_foreign(id) return not self.outbox:owns(id) or self.barred[id] end
  local function put(name, id, make) -- make: events may come, and change `heard`, while the request waits for an owner
    local ok, reason = self:ask_owner(name, id, make)
    return ok or self.closed or tostring(reason):find("too often", 1, true)
  end
  for _, record in ipairs(all_nodes(self)) do
    if is_kept(self, record) and is_foreign(record.watcher) then
      local done = put("restore_node", record.watcher, function() return node_of(self, record) end)
      if record.to then
        if not done then self:disown_record(record) end
      else
        if not done then record.ends = 0 end
        self.client.inbox:since(record.handle, (self.answered_at or 0) + 1)
        if record.ends or self.records[record.handle] ~= record then -- removed meanwhile, and added again here
          self:ask_owner("remove_node", record.watcher, record.node, record.handle)
        end
      end
    end
  end
  for _, id in ipairs((sorted_keys(self.views))) do
    local kept, view = self.views[id], is_foreign(id) and view_of(self, id)
    local lost = view and not put("restore_view", id, view)
    if lost and self.views[id] == kept then self.views[id] = nil end -- otherwise this is the view of a later life
  end
  -- Also nodes of entities that have left before the node was restored: no shard has them.
  restore.end_nodes(self, math.huge)
end

-- Whether the service of that client number is gone.
local function is_gone(self, client)
  local ok, addresses = pcall(self.addresses_of, { client })
  return ok and not addresses[1]
end

-- Ends nodes and views that this client has added for services that are dead now. If the owner has none of them, it has
-- reported their end in mail; that may be lost with a shard: an epoch later this client notifies itself.
local function end_unreceived(self)
  local gone = {}
  local function drop(list, key, one, to, id, node, ...)
    if to and gone[to] == nil then gone[to] = is_gone(self, to) end
    if not gone[to] or list[key] ~= one then return end
    local ok, receiver = self:ask_owner(...)
    if not ok then self.tick_epoch() end
    if list[key] ~= one or self.closed then return end
    if ok and receiver then
      one.client = receiver
    else
      self.client:receive(wire.say(wire.LOST_VIEWS, self.number, { id, node }))
    end
  end
  for _, record in ipairs(all_nodes(self)) do
    local id, node = record.watcher, record.node
    drop(self.mine[id] or {}, node, record, record.to, id, node, "remove_node", id, node, record.handle)
  end
  for _, id in ipairs((sorted_keys(self.views))) do
    local view = self.views[id]
    if view then drop(self.views, id, view, view.client, id, false, "remove_unreceived", id, view.client) end
  end
end

local function has_foreign(self)
  for _, record in pairs(self.records) do
    if record.foreign then return true end
  end
end

local function run(self)
  self.restorer = coroutine.running()
  repeat
    self.renewed = "begun"
    local lost, alive = reclaim(self)
    local done = lost and each_part(self, lost, restore_some) and each_part(self, alive, move_again)
      and restore.end_nodes(self, self.renewed_at)
  until self.closed or done and self.renewed == "begun"
  self.renewed, self.restorer = nil, nil
  self.client.send(wire.ack(self.renewed_at, wire.OF_RESTORED))
  for _, record in pairs(self.records) do
    record.saw = nil
    if record.area and self.outbox:owns(record.watcher) then -- without an area add_node is under way
      self.client.inbox:since(record.handle, (self.answered_at or 0) + 1)
    end
  end
  restore.wake(self)
  self:push() -- moves of `follow`
  if has_foreign(self) then self.client:ask_for_all() end
  taking.keep_all(self, move_again)
  restore_foreign(self)
  end_unreceived(self)
end

-- Where that fails this client ends: others wait for it, and would hear of what it has not restored for ever.
local function run_or_end(self)
  local ok, err = xpcall(run, debug.traceback, self)
  if ok then return end
  self.client.log(err)
  self.client:lose(("what this client had cannot be restored: %s"):format(failures.reason(err):match "[^\n]*"))
  self.quit()
end

--- A message RENEWED: from the epoch of the change on shards have successors; the mail of that epoch has come before.
function restore.renewed(self, change)
  if change.late then
    if self.late_handler then failures.run(self.client, self, self.late_handler, change.late, change.seconds) end
    return
  end
  for shard, place in pairs(change.places) do
    self.terms[shard] = place.term
    if self.on_renewed then self.on_renewed(shard, place) end
  end
  restore.wake(self)
  if not change.lost then
    self.epoch_seen = math.max(self.epoch_seen, change.epoch + windows.FORWARDS)
    return
  end
  local begun = self.renewed ~= nil
  self.renewed, self.renewed_at = "again", change.epoch
  for _, record in pairs(self.records) do
    if record.area then self.client.inbox:since(record.handle, 0xffffffff) end
  end
  if not begun then self.client.fork(function() run_or_end(self) end) end
end

return restore
