-- Snapshots: a world as bytes, all shards at the end of one epoch, and a world from these bytes.
--
--   bytes of a shard   "AOIW", u8 version, u8 dimensions, u16 shard, u16 shards, u32 epoch, u32 CRC-32 of the rest, as
--                      plain.lua writes it: entities, a list of HAND rows (epoch.lua) without client views, as their
--                      connections end; of shard 1 also walls, a state of wall_list.lua
--   world:snapshot     asks all shards for one epoch (questions.lua); each one answers at its end, before it runs other
--                      requests; while entities are lost it waits
--   option restore     the client that opens the world becomes the one that has entered everything, and restores it as
--                      after the death of all shards (restore.lua): all of it enters in one epoch

local building = require "aoi.skynet.world.building"
local plain = require "aoi.skynet.plain"
local sorted_keys = require "aoi.sorted_keys"
local tiles = require "aoi.skynet.world.tiles"
local traits = require "aoi.skynet.world.traits"
local wire = require "aoi.skynet.wire"
local world = require "aoi.skynet.native" "world"

local snapshot = { REQUEST = "snapshot_here" }

local HEAD, VERSION = "<c4BBI2I2I4I4", 1

-- In a shard ----------------------------------------------------------------------------------------------------------

--- The nodes of an owned entity as in a HAND row, and the numbers of those that the core has.
function snapshot.nodes(shard, id, ent)
  local list, numbers = {}, {}
  for node, rec in pairs(ent.nodes or {}) do
    local seen, width, states = rec.seen or "", rec.width or 4, rec.states
    if not rec.added then
      seen, width, states = shard.router:seen(id, rec.number)
      numbers[#numbers + 1] = rec.number
    end
    list[#list + 1] = { node = node, client = rec.client, handle = rec.handle, added = rec.added or false,
                        positions = rec.positions, area = rec.area, seen = seen, width = width,
                        by = rec.by ~= rec.client and rec.by or nil, overrides = rec.overrides, sight = rec.sight,
                        linger = rec.linger, states = states ~= "" and states or nil }
  end
  return list, numbers
end

local function write(shard)
  local all = { entities = {}, walls = shard.sight and shard.number == 1 and shard.walls or nil }
  for i, id in ipairs((sorted_keys(shard.ents))) do
    local ent, x, y, z = shard.ents[id], shard.core:position(id)
    all.entities[i] = { id = id, life = ent.life, kind = shard.core:kind(id), client = ent.client, x = x, y = y, z = z,
                        nodes = snapshot.nodes(shard, id, ent), traits = shard.traits[id] }
  end
  local bytes = plain.write(all)
  return string.pack(HEAD, "AOIW", VERSION, shard.dimensions, shard.number, shard.plan.shards, shard.applied,
    world.crc32(bytes)) .. bytes
end

--- Called at the end of an epoch, before anything is accepted for the next one: answers requests for a snapshot.
function snapshot.answer(shard)
  if shard.state ~= "whole" or shard.retired then return end
  local left, bytes = {}, nil
  for _, r in ipairs(shard.queue) do
    if r[1] == snapshot.REQUEST and r.after <= shard.applied then
      bytes = bytes or write(shard)
      r.reply(true, shard.applied, bytes)
    else
      left[#left + 1] = r
    end
  end
  shard.queue = left
end

-- Reading -------------------------------------------------------------------------------------------------------------

local function fail(...) error(("bad value for option 'restore' (%s)"):format((...):format(select(2, ...))), 0) end

-- Reads the bytes of a shard. Returns its entities, the number of shards, the epoch, and the walls or nil.
local function read(bytes, shard, dimensions)
  if type(bytes) ~= "string" then fail("the bytes of shard %d expected, got %s", shard, type(bytes)) end
  if #bytes < string.packsize(HEAD) or bytes:sub(1, 4) ~= "AOIW" then
    fail("shard %d: no bytes of a world's snapshot", shard)
  end
  local _, version, dims, number, shards, at, sum, first = string.unpack(HEAD, bytes)
  if version ~= VERSION then fail("shard %d: version %d, this release reads %d", shard, version, VERSION) end
  bytes = bytes:sub(first)
  if world.crc32(bytes) ~= sum then fail("shard %d: the bytes are damaged", shard) end
  if number ~= shard then fail("shard %d: these are the bytes of shard %d", shard, number) end
  if dims ~= dimensions then fail("shard %d: it has %d dimensions, this world %d", shard, dims, dimensions) end
  local all = plain.read(bytes)
  return all.entities, shards, at, all.walls
end

-- Returns a function that raises where the world `given` does not allow the traits or nodes of an entity.
local function checker(given, dimensions)
  local space = require("aoi").new { dimensions = dimensions, delivery = "deferred" }
  local router = world.router(space, tiles.map(given.plan), 1)
  local place = { plan = given.plan, dimensions = dimensions, quantum = given.quantum, fields = given.fields,
                  new_sync = require("aoi.sync").new, traits = {}, trait_changes = {} }
  local function check_node(node)
    if node.sight and not given.sight then error("a node has option 'sight', the world has not", 0) end
    local ok, reason = wire.call_as(router.pack, "add_node", -1, router, router:unpack(node.area), given.plan.reach)
    if not ok then error(reason, 0) end
  end
  return function(hand)
    local all = hand.traits or {}
    for name, value in pairs(all) do
      if name ~= "fields" and name ~= "put" then traits.set(place, 1, name, value) end
    end
    for name, value in pairs(all.fields or {}) do traits.set(place, 1, "fields", name, value) end
    for _, node in ipairs(hand.nodes) do check_node(node) end
  end
end

--- load(shard): the bytes that `save` got for that shard; nil for shard 1: there is no snapshot yet. given: plan,
-- dimensions, quantum, fields, sight of the new world; its regions and shards may differ. Returns a list of entities,
-- or nil; list.walls: a state of wall_list.lua, or nil. Raises for bytes that are not valid.
function snapshot.load(load, given)
  local bytes, dimensions = load(1), given.dimensions or 2
  if bytes == nil then return nil end
  local list, shard_of, check = {}, {}, checker(given, dimensions)
  local _, shards, at, its_walls = read(bytes, 1, dimensions)
  list.walls = its_walls
  if its_walls and not given.sight then fail("it has walls: open the world with sight = true") end
  for shard = 1, shards do
    local hands, n, its = read(shard == 1 and bytes or load(shard), shard, dimensions)
    if n ~= shards or its ~= at then
      fail("shard %d is of %d in epoch %d, shard 1 of %d in epoch %d", shard, n, its, shards, at)
    end
    for _, hand in ipairs(hands) do
      local id = hand.id
      if shard_of[id] then fail("entity %d is in shards %d and %d", id, shard_of[id], shard) end
      local ok, reason = pcall(check, hand)
      if not ok then fail("entity %d of shard %d: %s", id, shard, reason) end
      shard_of[id], list[#list + 1] = shard, hand
    end
  end
  return list
end

-- In a client ---------------------------------------------------------------------------------------------------------

local function keep_nodes(self, hand)
  for _, node in ipairs(hand.nodes) do
    local record = self:new_record(hand.id, node.node, self.listener or {})
    record.area, record.positions, record.life, record.restored = node.area, node.positions, hand.life, true
    record.saw = { node.seen, node.width, node.states }
    record.overrides, record.sight, record.linger = node.overrides, node.sight, node.linger
    self:own_record(record)
  end
end

--- list: from load. Waits until all of it is in the world as this client's own; raises where the world ends before.
function snapshot.bring(self, list)
  for _, hand in ipairs(list) do
    self.outbox:keep(hand.id, 1, hand.life, hand.kind, hand.x, hand.y, hand.z)
    self.traits[hand.id] = hand.traits
    keep_nodes(self, hand)
  end
  if list.walls then building.propose(self, "all", list.walls) end
  local at, reason = self.move_map("restore")
  if not at then error(reason, 0) end
end

return snapshot
