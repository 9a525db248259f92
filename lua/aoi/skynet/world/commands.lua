-- The requests of clients to the shard that owns an entity: commands[name](shard, client, ...). Each is checked against
-- what the entity will be at the end of the coming epoch, and then waits for it; the core changes when the epoch is
-- applied. A request that raises has changed nothing. What it raises is a text for the caller, or a table: { id,
-- moved = shard } where the entity is another's by now, or, with later, where a move that came before has yet to come
-- after the entity (then it is this shard), { id } where this shard knows nothing of it, { id, owners } as
-- an answer of the directory (directory.lua).

local argument = require "aoi.skynet.argument"
local directory = require "aoi.skynet.world.directory"
local followers = require "aoi.skynet.world.followers"
local methods = require "aoi.skynet.methods"
local outlet = require "aoi.skynet.world.outlet"
local overrides = require "aoi.skynet.world.overrides"
local recovery = require "aoi.skynet.world.recovery"
local strays = require "aoi.skynet.world.strays"
local views = require "aoi.skynet.world.views"
local wire = require "aoi.skynet.wire"

local commands = {}

local function fail(n, name, ...) argument.fail(n, name, 0, ...) end

local function entity(shard, client, id)
  if followers.awaits(shard, client, id) then error({ id = id, moved = shard.number, later = true }, 0) end
  local ent = shard.ents[id]
  if ent then return ent end
  error({ id = id, moved = shard.forwarding[id] or strays.handed_to(shard, id) }, 0)
end

-- The entity, unless another client has taken it over from this one.
local function controlled(shard, client, id, name)
  local ent = entity(shard, client, id)
  if ent.barred and ent.barred[client] then fail(1, name, "entity %d has been taken over by another client", id) end
  return ent
end

local function node(shard, client, id, number, name)
  local ent = entity(shard, client, id)
  local rec = ent.nodes and ent.nodes[number]
  if not rec then fail(2, name, "entity %d has no node %d", id, number) end
  return rec, ent
end

-- The router takes an area behind itself, as add_client has it behind the entity, the others behind that and the node.
local function checked(name, less, f, ...)
  local ok, result = wire.call_as(f, name, less, ...)
  if ok then return result end
  error(result, 0)
end

local function pack(shard, name, area)
  return checked(name, name == "add_client" and 0 or -1, shard.router.pack, shard.router, area, shard.plan.reach)
end

local function repack(shard, name, rec, ...)
  return checked(name, 2, shard.router.repack, shard.router, rec.area, shard.plan.reach, ...)
end

-- Entities ----------------------------------------------------------------------------------------------------------

--- Its id has been claimed, with that stamp, and its coordinates have been checked. batch: the client's last one
-- before; moves of that and older ones were of a former life.
function commands.enter(shard, client, id, life, kind, batch, stamp, x, y, z)
  directory.check_claim(shard, id, stamp)
  if shard.ents[id] then fail(1, "enter", "entity %d is already in the world", id) end
  shard.ents[id] = { life = life, client = client, kind = kind, birth = { x = x, y = y, z = z, batch = batch } }
  shard.sent_on[id] = nil
  if shard.blank then
    shard.ents[id].past, shard.returning[id] = true, true -- it would see nothing yet
  else
    shard.births[#shard.births + 1] = id
  end
end

--- lives, stamps of their claims, rows: id, x, y [, z].
function commands.enter_many(shard, client, lives, kind, batch, stamps, rows)
  local values = shard.dimensions + 1
  for i = 1, #lives do
    local at = (i - 1) * values + 1
    directory.check_claim(shard, rows[at], stamps[i])
    if shard.ents[rows[at]] then fail(1, "enter_many", "entity %d is already in the world", rows[at]) end
  end
  for i = 1, #lives do
    local at = (i - 1) * values + 1
    local z = values == 4 and rows[at + 3] or nil
    commands.enter(shard, client, rows[at], lives[i], kind, batch, stamps[i], rows[at + 1], rows[at + 2], z)
  end
end

-- The record is none any more. Its client is told that it ends, what has never been in the core by a message for it.
local function end_record(shard, rec)
  rec.dead = true
  overrides.forget(shard, rec)
  if rec.seen then
    outlet.end_node(shard, rec.client, rec.handle, rec.seen, rec.width)
  else
    shard.recs[rec.number] = nil
    shard.post:remove(rec.number)
  end
  if not rec.added then shard.ending[rec.number] = rec end
end

-- Its client is told with the events of the epoch; until then the record is none of the entity's.
function commands.drop_node(shard, ent, rec)
  ent.nodes[rec.node] = nil
  if next(ent.nodes) == nil then ent.nodes = nil end
  end_record(shard, rec)
  if not rec.added then shard.removed[#shard.removed + 1] = rec end
end

--- Returns the life that ends.
function commands.leave(shard, client, id)
  local ent = controlled(shard, client, id, "leave")
  views.drop(shard, id)
  for _, rec in pairs(ent.nodes or {}) do end_record(shard, rec) end
  if ent.client ~= client then outlet.note(shard, ent.client, id, outlet.LEFT) end
  if ent.past then shard.lost[#shard.lost + 1] = { id = id, life = ent.life, ended = true, leaves = true } end
  if ent.birth then
    shard.releases = shard.releases or {}
    shard.releases[#shard.releases + 1] = { id = id, life = ent.life }
  else
    shard.router:leave(id)
    shard.leaves[#shard.leaves + 1] = { id = id, life = ent.life }
  end
  shard.ents[id], shard.kinds[id] = nil, nil
  return ent.life
end

function commands.set_kind(shard, client, id, kind)
  local ent = controlled(shard, client, id, "set_kind")
  if ent.birth then
    ent.kind = kind
  else
    shard.kinds[id] = kind
  end
end

-- Nodes -------------------------------------------------------------------------------------------------------------

--- handle: as the client that gets its events knows this life of the node. options: positions; to: the number of that
-- client, where it is another.
function commands.add_node(shard, client, id, number, area, handle, options)
  local ent, o = entity(shard, client, id), options or {}
  if ent.nodes and ent.nodes[number] then fail(2, "add_node", "entity %d already has node %d", id, number) end
  local rec = { id = id, node = number, client = o.to or client, by = client, handle = handle,
                area = pack(shard, "add_node", area), added = true, positions = o.positions or nil }
  outlet.open_node(shard, rec)
  ent.nodes = ent.nodes or {}
  ent.nodes[number] = rec
  if not ent.past then shard.added[#shard.added + 1] = rec end
  return rec.area
end

--- n: as of recovery.lua: after the death of a shard.
function commands.restore_node(shard, client, id, n)
  recovery.put_node(shard, client, id, entity(shard, client, id), n)
end

--- handle: of the life that is meant, nil: any.
function commands.remove_node(shard, client, id, number, handle)
  local rec, ent = node(shard, client, id, number, "remove_node")
  if handle and rec.handle ~= handle then return end
  commands.drop_node(shard, ent, rec)
end

local function change(shard, rec, area)
  rec.area = area
  if not rec.added then shard.changed[rec] = true end
  return area
end

function commands.set_area(shard, client, id, number, area)
  local rec = node(shard, client, id, number, "set_area")
  return change(shard, rec, pack(shard, "set_area", area))
end

function commands.set_radius(shard, client, id, number, radius, keep)
  local rec = node(shard, client, id, number, "set_radius")
  return change(shard, rec, repack(shard, "set_radius", rec, "radius", radius, keep))
end

function commands.set_facing(shard, client, id, number, facing)
  local rec = node(shard, client, id, number, "set_facing")
  return change(shard, rec, repack(shard, "set_facing", rec, "facing", facing))
end

function commands.set_mask(shard, client, id, number, mask)
  local rec = node(shard, client, id, number, "set_mask")
  return change(shard, rec, repack(shard, "set_mask", rec, "mask", mask))
end

--- life: of the target. how: "hide", "show", "match", or nil; the target need not be near.
function commands.override(shard, client, id, number, target, how, life)
  local rec = node(shard, client, id, number, "override")
  if target == id then fail(3, "override", "an entity is no target of its own nodes") end
  overrides.set(shard, rec, target, how, life)
end

--- A list of target, how, life.
function commands.overrides(shard, client, id, number)
  local list = {}
  for target, o in pairs(node(shard, client, id, number, "overrides").overrides or {}) do
    if o.how then table.move({ target, o.how, o.life }, 1, 3, #list + 1, list) end
  end
  return list
end

--- The entity is this client's from now on: what the former one had on it, nodes and view, ends, and it may not change
-- the entity any more. Returns its life, its kind, and where it is.
function commands.take_over(shard, client, id)
  local ent = entity(shard, client, id)
  local former = ent.client
  if former ~= client then
    for _, rec in pairs(ent.nodes or {}) do
      if rec.client == former or rec.by == former then commands.drop_node(shard, ent, rec) end
    end
    views.drop(shard, id)
    ent.client, ent.barred = client, ent.barred or {}
    ent.barred[former], ent.barred[client] = true, nil
    if not ent.birth then shard.router:bar(id, true) end
    outlet.put(shard, former, wire.taken(former, id))
  end
  return ent.life, commands.kind(shard, client, id), commands.position(shard, client, id)
end

-- Client views ------------------------------------------------------------------------------------------------------

--- to: the number of the client that gets the messages, where it is another.
function commands.add_client(shard, client, id, area, options, to, fd)
  entity(shard, client, id)
  for _, one in ipairs(type(area) == "table" and area[1] and area or { area }) do pack(shard, "add_client", one) end
  views.add(shard, id, { area = area, options = options, client = to or client, by = client, fd = fd })
end

local function view_of(shard, client, id, name)
  entity(shard, client, id)
  return shard.views[id] or fail(1, name, "entity %d is no client", id)
end

function commands.remove_client(shard, client, id)
  view_of(shard, client, id, "remove_client")
  views.drop(shard, id)
end

for _, name in ipairs { "resend", "pin", "unpin", "known" } do
  commands[name] = function(shard, client, id, ...)
    if not view_of(shard, client, id, name).made then return {}, 0 end
    local ok, list, n = methods.invoke(shard.sync, name, id, ...)
    if not ok then error(list, 0) end
    return list, n
  end
end

--- In each shard where it may be known.
function commands.touch_here(shard, _, id)
  if shard.sync and shard.core:has(id) then shard.sync:touch(id) end
end

-- Questions to the owner --------------------------------------------------------------------------------------------

function commands.position(shard, client, id)
  local ent = entity(shard, client, id)
  if ent.birth then return ent.birth.x, ent.birth.y, ent.birth.z end
  return shard.router:where(id)
end

function commands.kind(shard, client, id)
  local ent = entity(shard, client, id)
  if ent.birth then return ent.kind end
  return shard.kinds[id] or shard.core:kind(id)
end

function commands.has(shard, client, id)
  entity(shard, client, id)
  return true
end

function commands.nodes(shard, client, id)
  local list = {}
  for number in pairs(entity(shard, client, id).nodes or {}) do list[#list + 1] = number end
  table.sort(list)
  return list, #list
end

local function find(shard, client, id, number)
  local ent = entity(shard, client, id)
  return ent.nodes and ent.nodes[number]
end

function commands.area(shard, client, id, number)
  local rec = find(shard, client, id, number)
  if rec then return (shard.router:unpack(rec.area)) end
end

function commands.radius(shard, client, id, number)
  local rec = find(shard, client, id, number)
  if rec then return (select(2, shard.router:unpack(rec.area))) end
end

function commands.view(shard, client, id, number)
  local rec = node(shard, client, id, number, "view")
  if rec.added then return {}, 0 end
  return shard.core:view(id, rec.number)
end

--- Of a target anywhere: one that is not near is not seen.
function commands.sees(shard, client, id, number, target)
  local rec = node(shard, client, id, number, "sees")
  return not rec.added and shard.core:has(target) and shard.core:sees(id, rec.number, target)
end

--- A table, and its text.
function commands.explain(shard, client, id, number, target)
  local rec = find(shard, client, id, number)
  local told = shard.core:explain(id, rec and not rec.added and rec.number or 0, target)
  told.node = number
  local text = tostring(told)
  return setmetatable(told, nil), text
end

-- Questions to several shards -----------------------------------------------------------------------------------------

--- The own entity's place and the shards where its viewers stand.
function commands.audience(shard, client, id)
  local ent = entity(shard, client, id)
  if ent.birth then return {} end
  local x, y = shard.core:position(id)
  return shard.map:audience(x, y)
end

--- Who of this shard's own saw it in the last epoch: pairs watcher, node.
function commands.viewers_here(shard, _, id)
  local list, n = {}, 0
  if not shard.core:has(id) then return list, 0 end
  local pairs_seen, count = shard.core:viewers(id)
  for i = 1, 2 * count, 2 do
    local rec = shard.recs[pairs_seen[i + 1]] or shard.ending[pairs_seen[i + 1]]
    if rec then
      list[2 * n + 1], list[2 * n + 2] = pairs_seen[i], rec.node
      n = n + 1
    end
  end
  return list, n
end

-- Clients of nodes and views of this shard's own that know it: client -> the handles, the entities of its views.
local function knowers(shard, id)
  local by_client = {}
  local function of(client)
    by_client[client] = by_client[client] or { handles = {}, views = {} }
    return by_client[client]
  end
  if not shard.core:has(id) then return by_client end
  local list, n = shard.core:viewers(id)
  for i = 2, 2 * n, 2 do
    local rec = shard.recs[list[i]]
    if rec then table.insert(of(rec.client).handles, rec.handle) end
  end
  list, n = {}, 0
  if shard.sync then list, n = shard.sync:knowers(id) end
  for i = 1, n do
    local view = shard.views[list[i]]
    if view then table.insert(of(view.client).views, list[i]) end
  end
  return by_client
end

local function clients_of(by_client)
  local list = {}
  for client in pairs(by_client) do list[#list + 1] = client end
  table.sort(list)
  return list, #list
end

function commands.knowers_here(shard, _, id) return clients_of(knowers(shard, id)) end

--- The caller's bytes to them, behind the events of the coming epoch. Returns their numbers.
function commands.broadcast_here(shard, _, id, bytes)
  local by_client = knowers(shard, id)
  for client, to in pairs(by_client) do
    outlet.put(shard, client, wire.broadcast(client, 0, false, id, to.handles, to.views, bytes))
  end
  return clients_of(by_client)
end

--- What is in the area and was this shard's own in the last epoch; arguments as of a space.
function commands.near_here(shard, _, ...)
  local ok, list, count = methods.invoke(shard.core, "near", ...)
  if not ok then error(list, 0) end
  local n = 0
  for i = 1, count do
    if not shard.router:ghost(list[i]) then
      n = n + 1
      list[n] = list[i]
    end
  end
  for i = count, n + 1, -1 do list[i] = nil end
  return list, n
end

--- Up to n of its own, nearest first, with their squared distances.
function commands.nearest_here(shard, _, n, radius, mask, x, y, z)
  local core, count = shard.core, shard.core:count()
  local ids, distances, ask, found = {}, {}, n
  repeat -- ghosts are among the answers: ask for more until there are n own ones
    local list, got
    if z then
      list, got = core:nearest(x, y, z, math.min(ask, count), radius, mask)
    else
      list, got = core:nearest(x, y, math.min(ask, count), radius, mask)
    end
    found = 0
    for i = 1, got do
      if found < n and not shard.router:ghost(list[i]) then
        found = found + 1
        local px, py, pz = core:position(list[i])
        local dx, dy, dz = px - x, py - y, z and pz - z or 0
        ids[found], distances[found] = list[i], dx * dx + dy * dy + dz * dz
      end
    end
    local all = got < ask
    ask = 2 * ask
  until found == n or all or ask > 2 * count
  return ids, distances
end

function commands.ids_here(shard)
  local list, n = shard.router:reals()
  for id, ent in pairs(shard.ents) do
    if ent.birth then
      n = n + 1
      list[n] = id
    end
  end
  return list, n
end

function commands.count_here(shard)
  local n = 0
  for _ in pairs(shard.ents) do n = n + 1 end
  return n
end

function commands.stats_here(shard) return shard.core:stats() end

function commands.info_here(shard) return shard:info() end

function commands.check_here(shard) return shard:check() end

return commands
