-- A client of a world after the death of a shard: clients are the backup. The library knows what it has entered (the
-- outbox: place, kind, life), its nodes (their areas, and what their handlers have heard) and its client views, and
-- brings them to where they belong by now: recovery.lua.
--
--   RENEWED --> all own entities: their homes say which are alive --> the others to the shards that own their tiles
--                                                                 --> nodes and views on those of others, one by one
--           --> nodes of others here: whole views, as what their handlers have heard is not known to who restores them
--
--   member.terms[shard]   of those that have had successors
--   member.renewed        "begun": entities are being restored; "again": other shards have died meanwhile; nil: all is
--                         well
--   member.waiters        coroutines whose requests wait: for a successor, and until this client is whole
--   member.claimed[id]    it has been claimed at its home, and no shard has taken it yet
--   record.area           of each node of this client, packed; since, ends: the epochs with which it begins and ends
--   record.saw            what the node saw in a snapshot, and has yet to be heard: bytes and their width
--   member.lent[handle]   nodes that this client has added for others: { watcher, node, handle, to, area, positions,
--                         since }
--   member.views[id]      client views: { area, options, client, fd, life of the entity, since, pins: lives by target }
--   member.traits[id]     of own entities: traits.lua; barred[id]: taking.lua

local argument = require "aoi.skynet.argument"
local core = require "aoi.skynet.native" "world"
local plain = require "aoi.skynet.world.plain"
local sorted_keys = require "aoi.skynet.sorted_keys"
local taking = require "aoi.skynet.world.taking"
local wire = require "aoi.skynet.wire"

local restore = {}

local MOST = 500 -- entities in one request
local FOLLOWS = 2 -- epochs in which moves that went to the former instance of a shard follow to the new one

function restore.begin(self)
  self.terms, self.waiters, self.lent, self.views, self.claimed = {}, {}, {}, {}, {}
  self.barred = {}
end

-- Waiting -----------------------------------------------------------------------------------------------------------

local function wake(self)
  local waiters = self.waiters
  self.waiters = {}
  for _, go in ipairs(waiters) do go() end
end

restore.wake = wake

--- Waits until this client is whole, as what it has moved meanwhile may have gone astray; where a shard did not answer,
-- until that has a successor, too, of another term than this. Returns false where the world has ended.
function restore.await(self, shard, term)
  local restorer = coroutine.running() == self.restorer
  while not self.closed and (shard and (self.terms[shard] or 0) == term or self.renewed and not restorer) do
    self.wait(function(go) table.insert(self.waiters, go) end)
  end
  return not self.closed
end

-- What there is to restore --------------------------------------------------------------------------------------------

-- What the node's handlers have heard of, as bytes, and their width.
local function heard(self, handle)
  local list = {}
  local n = self.client.inbox:view(handle, list)
  for i = n + 1, #list do list[i] = nil end
  table.sort(list)
  for i = 1, n do list[i] = string.pack("<i8", list[i]) end
  return table.concat(list), 8
end

local function copy_of(overrides)
  local copy = {}
  for target, o in pairs(overrides or {}) do copy[target] = { how = o.how, life = o.life } end
  return next(copy) and copy or nil
end

-- As a HAND row has it. What others have heard of a node that has been lent is not known.
local function node_of(self, record)
  local saw = record.to and { "", 4 } or record.saw or { heard(self, record.handle) }
  return { node = record.node, client = record.to or self.number, handle = record.handle, area = record.area,
           seen = saw[1], width = saw[2], states = saw[3], positions = record.positions,
           overrides = copy_of(record.overrides), sight = record.sight, linger = record.linger,
           since = record.since or 0 }
end

-- life: of the entity, nil: any.
local function view_of(self, id, life)
  local view = self.views[id]
  if not view or life and life ~= view.life then return nil end
  return { area = view.area, options = view.options, client = view.client or self.number, fd = view.fd,
           life = view.life, since = view.since, pins = argument.copy(view.pins) }
end

-- entity: id, life, kind, place, stamp. All that this client has on it.
local function with_nodes(self, entity)
  entity.movers = { self.number, self:batch(), 0, 0 }
  entity.nodes, entity.view = {}, view_of(self, entity.id, entity.life)
  entity.traits = self.traits[entity.id]
  for _, record in pairs(self.mine[entity.id] or {}) do
    if record.area and not record.ends then table.insert(entity.nodes, node_of(self, record)) end
  end
  for _, one in pairs(self.lent) do
    if one.watcher == entity.id then table.insert(entity.nodes, node_of(self, one)) end
  end
  return entity
end

-- By home: entities as of recovery.reclaim, and what this client has ended lately.
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

-- Steps of the restorer: false where it must begin again -------------------------------------------------------------

local function ask(self, shard, name, ...)
  local status, a, b, c = self:ask_shard(shard, name, ...)
  return status == true, a, b, c
end

-- It may have left meanwhile, or come again.
local function is_own(self, id, life) return self.outbox:owns(id) == life end

-- Another life of its id has come: what this client had on it is no more.
local function give_up(self, id)
  taking.forget(self, id)
  for _, record in pairs(self.mine[id] or {}) do record.ends = 0 end
  self:forget_lent(id)
end

-- What the homes do not know as alive, by the shards that are to have it.
local function reclaim(self)
  local by_shard = {}
  for home, its in pairs(by_home(self)) do
    local ok, owners, holders, stamps = ask(self, home, "reclaim", its.entities, its.ended)
    if not ok then return false end
    for i, owner in ipairs(owners) do
      local id, life, shard = its.entities[5 * i - 4], its.entities[5 * i - 3], holders[i]
      if not is_own(self, id, life) then
        self.claimed[id] = nil
      elseif not owner then
        give_up(self, id)
      elseif owner == 0 then
        self.claimed[id] = true
        by_shard[shard] = by_shard[shard] or {}
        table.insert(by_shard[shard], { id, life, stamps[i] })
      else
        self.outbox:set(id, owner) -- it is alive there
        taking.move_again(self, id)
      end
    end
  end
  return by_shard
end

-- What has been moved meanwhile is moved again: those rows have gone astray.
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
    if taken[i] then
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

local function restore_all(self, by_shard)
  for shard, list in pairs(by_shard) do
    for first = 1, #list, MOST do
      if not restore_some(self, shard, table.move(list, first, math.min(first + MOST - 1, #list), 1, {})) then
        return false
      end
    end
  end
  return true
end

--- Nodes that have been ended, of which the last word is lost; a resync from now on ends them, too.
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

-- Nodes and client views on entities of others, or on what others may have brought back: their owners know whether they
-- have them. Other coroutines change the tables while this one waits.
local function restore_foreign(self)
  local function is_foreign(id) return not self.outbox:owns(id) or self.barred[id] end
  local function put(name, id, make) -- what has been heard may change while the entity itself is lost
    local ok, reason = self:ask_owner(name, id, make)
    return ok or self.closed or tostring(reason):find("too often", 1, true)
  end
  local list = {}
  for _, record in pairs(self.records) do
    if not record.foreign and record.area and not record.ends then list[#list + 1] = record end
  end
  for _, record in ipairs(list) do
    if is_foreign(record.watcher) and not record.closed and not record.ends then
      if not put("restore_node", record.watcher, function() return node_of(self, record) end) then record.ends = 0 end
      self.client.inbox:since(record.handle, (self.answered_at or 0) + 1)
      if record.ends or self.records[record.handle] ~= record then -- it was removed meanwhile, and has come back
        self:ask_owner("remove_node", record.watcher, record.node, record.handle)
      end
    end
  end
  for _, handle in ipairs((sorted_keys(self.lent))) do
    local one = self.lent[handle]
    local foreign = one and is_foreign(one.watcher)
    local function make() return node_of(self, one) end
    if foreign and not put("restore_node", one.watcher, make) then self.lent[handle] = nil end
  end
  for _, id in ipairs((sorted_keys(self.views))) do
    local kept, view = self.views[id], is_foreign(id) and view_of(self, id)
    local lost = view and not put("restore_view", id, view)
    if lost and self.views[id] == kept then self.views[id] = nil end -- else it is that of a later life
  end
  -- Those, too, whose entity has left before they were restored: no shard knows of them.
  restore.end_nodes(self, math.huge)
end

-- Whether that service, which nodes or views of this client name, is gone.
local function is_gone(self, client)
  local ok, addresses = pcall(self.addresses_of, { client })
  return ok and not addresses[1]
end

-- Nodes and views whose service has died with a shard, or before they were restored: they end, as where it dies later.
-- Where the owner knows none any more, its mail says so, unless it has died, too.
local function end_orphans(self)
  local gone = {}
  local function is_orphan(client)
    if gone[client] == nil then gone[client] = is_gone(self, client) end
    return gone[client]
  end
  local function drop(list, key, one, to, ...)
    if not to or not is_orphan(to) or list[key] ~= one then return end
    if not self:ask_owner(...) then self.tick_epoch() end
    if list[key] ~= one or self.closed then return end
    self.client:receive(wire.lost_views(self.number, { select(2, ...), select(3, ...) or false }))
  end
  for _, handle in ipairs((sorted_keys(self.lent))) do
    local one = self.lent[handle]
    if one then drop(self.lent, handle, one, one.to, "remove_node", one.watcher, one.node, handle) end
  end
  for _, id in ipairs((sorted_keys(self.views))) do
    local view = self.views[id]
    if view then drop(self.views, id, view, view.client, "remove_client", id) end
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
    local by_shard = reclaim(self)
    local done = by_shard and restore_all(self, by_shard) and restore.end_nodes(self, self.renewed_at)
  until self.closed or done and self.renewed == "begun"
  self.renewed, self.restorer = nil, nil
  self.client.send(wire.ack(self.renewed_at, wire.OF_RESTORED))
  for _, record in pairs(self.records) do
    record.saw = nil
    if record.area and self.outbox:owns(record.watcher) then -- else the request is still under way
      self.client.inbox:since(record.handle, (self.answered_at or 0) + 1)
    end
  end
  wake(self)
  self:push() -- moves that are made again
  if has_foreign(self) then self.client:ask_for_all() end
  taking.keep_all(self)
  restore_foreign(self)
  end_orphans(self)
end

--- Shards have successors, from that epoch on, of which all mail has been heard: bytes as of RENEWED in wire.lua.
function restore.renewed(self, epoch, bytes)
  local change, reason = plain.read(bytes)
  if not change then return nil, reason end
  if change.late then
    if self.late then self.late(change.late, change.seconds) end
    return true
  end
  for shard, place in pairs(change.places) do
    self.terms[shard] = place.term
    if self.on_renewed then self.on_renewed(shard, place) end
  end
  wake(self)
  if not change.lost then
    self.epoch_seen = math.max(self.epoch_seen, epoch + FOLLOWS)
    return true
  end
  local begun = self.renewed ~= nil
  self.renewed, self.renewed_at = "again", epoch
  for _, record in pairs(self.records) do
    if record.area then self.client.inbox:since(record.handle, 0xffffffff) end
  end
  if not begun then self.client.fork(function() run(self) end) end
  return true
end

return restore
