-- The requests of clients to the shard that owns an entity: commands[name](shard, client, ...), run by Shard:request.
-- Those that maps have as well are in aoi.skynet.commands. A request is checked against the state of the entity at the
-- end of the coming epoch; the core changes when that epoch is applied (coming.lua). A request that raises has changed
-- nothing. What it raises is a text for the caller, or one of these tables:
--
--   { id, moved = shard }   that shard may own the entity
--   { id, moved = shard, later = true }   this shard owns it, but an earlier move of the client has been forwarded, and
--                           has yet to come back here
--   { id }                  the entity is unknown here
--   { id, stale = true }    the claim of the id is void
--   { id, taken = true }    the id is in the world
--   { id, owners = list }   an answer of the directory (directory.lua)

local any = require "aoi.skynet.commands"
local argument = require "aoi.skynet.argument"
local clients = require "aoi.skynet.clients"
local directory = require "aoi.skynet.world.directory"
local log = require "aoi.skynet.world.log"
local methods = require "aoi.skynet.methods"
local sorted_keys = require "aoi.sorted_keys"
local taking = require "aoi.skynet.world.taking"
local targets = require "aoi.skynet.world.targets"
local traits = require "aoi.skynet.world.traits"
local views = require "aoi.skynet.views"
local walls = require "aoi.skynet.walls"
local wire = require "aoi.skynet.wire"

local commands = setmetatable({}, { __index = any })

local function fail(n, name, ...) argument.fail(n, name, 0, ...) end

local node, find = any.helpers.node, any.helpers.find

-- Entities ----------------------------------------------------------------------------------------------------------

-- The log has the view of a login, as that of a request of its own.
local function log_view(shard, id, more)
  if shard.log and more and more.view then log.request(shard, "add_client", id, table.unpack(more.view, 1, 2)) end
end

--- Entities enter. Their ids have been claimed, with these lives and stamps; their coordinates have been checked. rows:
-- id, x, y [, z] of each. batch: the client's last batch of moves: moves up to that one are of a former life. more:
-- where only one entity enters, its nodes and its view: lists of arguments of add_node and add_client. name, kind: as
-- of traits.of_kind. Returns a list of the nodes' areas, and what that returns.
function commands.enter(shard, client, lives, kind, batch, stamps, rows, more, name)
  local all
  local values, blank = shard.dimensions + 1, shard.state == "blank"
  for i = 1, #lives do
    local id = rows[(i - 1) * values + 1]
    if not directory.is_good(shard, id, stamps[i]) then error({ id = id, stale = true }, 0) end
    if shard.ents[id] then error({ id = id, taken = true }, 0) end
  end
  kind, all = traits.of_kind(shard, name, kind)
  for i = 1, #lives do
    local id, x, y, z = table.unpack(rows, (i - 1) * values + 1, i * values)
    clients.own(shard, id, { life = lives[i], client = client, kind = kind, restored = blank or nil,
                             entry = { x = x, y = y, z = z, client = client, batch = batch } })
    shard.sent_on[id] = nil
    if blank then -- there are no ghosts yet: the entity waits with those that are restored
      shard.restored[id] = true
    else
      shard.enters[#shard.enters + 1] = id
    end
    if all then traits.begin(shard, id, all) end
  end
  local answers = more and any.helpers.add_all(shard, client, rows[1], more)
  log_view(shard, rows[1], more)
  return answers, kind, all
end

--- Returns the area of the node as bytes, and the life of the entity.
function commands.add_node(shard, client, id, ...)
  return any.add_node(shard, client, id, ...), shard.ents[id].life
end

--- Returns the life of the entity.
function commands.add_client(shard, client, id, ...)
  any.add_client(shard, client, id, ...)
  return shard.ents[id].life
end

local function change(shard, rec, area)
  rec.area = area
  if not rec.added then shard.changed[rec] = true end
  return area
end

for _, name in ipairs { "set_area", "set_radius", "set_facing", "set_mask" } do
  commands[name] = function(shard, client, id, number, ...)
    local rec = node(shard, client, id, number, name)
    return change(shard, rec, shard:repack(name, rec, ...))
  end
end

--- life: of the target; false: there is none. how: "hide", "show", "match", or nil; the target need not be near.
function commands.override(shard, client, id, number, target, how, life)
  local rec = node(shard, client, id, number, "override")
  if not life then fail(3, "override", "no entity %d", target) end
  methods.answered(methods.invoke(views.scratch(shard), "override", 1, 1, 2, how))
  if target == id then fail(3, "override", "an entity does not see itself") end
  targets.set(shard, rec, target, how, life)
end

--- Returns a flat list of target, how, life.
function commands.overrides(shard, client, id, number)
  local list = {}
  for target, o in pairs(node(shard, client, id, number, "overrides").overrides or {}) do
    if o.how then table.move({ target, o.how, o.life }, 1, 3, #list + 1, list) end
  end
  return list
end

--- more: as of `enter`, or nil. Returns life, kind and traits of the entity, the clients that have lost it
-- (taking.lua), a list of the nodes' areas, and its position.
function commands.take_over(shard, client, id, more)
  local areas = any.take_over(shard, client, id, more) or false
  log_view(shard, id, more)
  local ent = shard.ents[id]
  return ent.life, commands.kind(shard, client, id), traits.all(shard, id), argument.copy(ent.barred), areas,
    commands.position(shard, client, id)
end

--- After the death of a shard: this client had taken the entity over from the clients in `barred`; one of them may have
-- restored it, and takes it over again. Returns the number of the later take-over by which this client has lost it, or
-- false and the clients that have lost it.
function commands.keep(shard, client, id, life, barred)
  local ent = shard:entity(client, id)
  if ent.life ~= life then fail(1, "take_over", "entity %d is another one", id) end
  local last = taking.last(ent.barred)
  if ent.client ~= client and last >= taking.last(barred) then return last end
  for former, number in pairs(barred) do shard:bar(id, ent, former, number) end
  any.take_over(shard, client, id)
  for former, number in pairs(ent.barred) do
    shard:send(former, wire.say(wire.TAKEN, former, { id, life, number }))
  end
  return false, argument.copy(ent.barred)
end

--- life: of the target; false: it does not exist.
function commands.pin(shard, client, id, target, life)
  local view = any.helpers.view(shard, client, id, "pin")
  if target == id then fail(2, "pin", "an entity does not see itself") end
  if not life then fail(2, "pin", "no entity %d", target) end
  targets.pin(shard, view, target, life)
end

function commands.unpin(shard, client, id, target)
  targets.unpin(shard, any.helpers.view(shard, client, id, "unpin"), target)
end

--- At the owner of the client view: the priority of a target, p: false: that for all. life: of the target.
function commands.rank(shard, client, id, target, p, life)
  shard:entity(client, id)
  local view = shard.views[id] or fail(3, "set_priority", "entity %d is no client", id)
  if shard:is_barred(client, id) then fail(3, "set_priority", "%s", any.helpers.taken_text(shard, id)) end
  local _, sync = views.scratch(shard)
  target, life = argument.integer(target, 1, "set_priority", 0), argument.integer(life, 1, "set_priority", 0)
  if p then methods.answered(methods.invoke(sync, "set_priority", 1, p)) end
  targets.rank(shard, view, target, p or nil, life)
end

-- Traits ------------------------------------------------------------------------------------------------------------

for name, trait in pairs {
  set_extent = "extent", set_layers = "layers", set_priority = "priority", set_team = "team", put = "fields",
} do
  commands[name] = function(shard, client, id, ...)
    shard:entity(client, id)
    traits.set(shard, id, trait, ...)
    return traits.all(shard, id)
  end
end

function commands.touch(shard, client, id)
  shard:entity(client, id)
  traits.touch(shard, id)
end

for name, default in pairs { extent = 0, layers = 1 } do
  commands[name] = function(shard, client, id)
    shard:entity(client, id)
    return traits.get(shard, id, name) or default
  end
end

function commands.get(shard, client, id, ...)
  shard:entity(client, id)
  return traits.field(shard, id, ...)
end

-- In the log ----------------------------------------------------------------------------------------------------------

for name in pairs(log.noted) do
  local command = commands[name]
  commands[name] = function(shard, client, id, ...)
    if not shard.log then return command(shard, client, id, ...) end
    local results = table.pack(command(shard, client, id, ...))
    log.request(shard, name, id, ...)
    return table.unpack(results, 1, results.n)
  end
end

-- Questions to the owner --------------------------------------------------------------------------------------------

function commands.position(shard, client, id)
  local ent = shard:entity(client, id)
  local entry = ent.entry
  if entry then return table.unpack({ entry.x, entry.y, entry.z }, 1, shard.dimensions) end
  return shard.router:where(id)
end

function commands.kind(shard, client, id)
  local ent = shard:entity(client, id)
  if ent.entry then return ent.kind end
  return shard.kinds[id] or shard.core:kind(id)
end

--- Whether this client may move the entity, which is a message of its own.
function commands.jump(shard, client, id) shard:entity(client, id) end

function commands.has(shard, client, id)
  shard:entity(client, id)
  return true
end

function commands.area(shard, client, id, number)
  local rec = find(shard, client, id, number)
  return rec and shard.router:unpack(rec.area)
end

function commands.radius(shard, client, id, number)
  local rec = find(shard, client, id, number)
  return rec and shard.router:unpack(rec.area).radius
end

function commands.view(shard, client, id, number)
  local rec = node(shard, client, id, number, "view")
  if rec.added then return {}, 0 end
  return walls.seer(shard, rec):view(id, rec.number)
end

--- The target may be anywhere: one that is not in the core is not seen.
function commands.sees(shard, client, id, number, target)
  local rec = node(shard, client, id, number, "sees")
  return not rec.added and shard.core:has(target) and walls.seer(shard, rec):sees(id, rec.number, target)
end

-- Questions to several shards -----------------------------------------------------------------------------------------

-- `name` returns the audience of an owned entity, as its viewers are owned by these shards; `name_here` is the request
-- to each of them, which answers for its part of the viewers, at the end of the last epoch.
local function audience(shard, client, id)
  local ent = shard:entity(client, id)
  if ent.entry then return {} end
  return shard.router:audience(id)
end

commands.viewers, commands.knowers = audience, audience

function commands.viewers_here(shard, client, id)
  if not shard.core:has(id) then return {}, 0 end
  return any.viewers(shard, client, id)
end

function commands.knowers_here(shard, _, id) return any.helpers.knowers(shard, id) end

--- The audience as well; then, with what has been collected there: sends the bytes.
function commands.broadcast(shard, client, id, bytes, by_client)
  if not by_client then return audience(shard, client, id) end
  return select(2, any.broadcast(shard, client, id, bytes, by_client))
end

-- Copies rows `first` to `last` of a list, each an id and more values, behind the n rows of `own`, without
-- ghosts. Returns the number of rows in `own`.
local function keep_own(shard, own, n, list, first, last, width)
  for i = (first - 1) * width + 1, last * width, width do
    if not shard.router:ghost(list[i]) then
      table.move(list, i, i + width - 1, n * width + 1, own)
      n = n + 1
    end
  end
  return n
end

--- The methods of a space, for owned entities alone.
for name, width in pairs { near = 1, sweep = 2 } do
  commands[name .. "_here"] = function(shard, _, ...)
    local list, count = methods.answered(methods.invoke(shard.core, name, ...))
    local own = {}
    return own, keep_own(shard, own, 0, list, 1, count, width)
  end
end

function commands.near_many_here(shard, _, ...)
  local list, _, ends = methods.answered(methods.invoke(shard.core, "near_many", ...))
  local own, n, first, last = {}, 0, 1, {}
  for row, stop in ipairs(ends) do
    n = keep_own(shard, own, n, list, first, stop, 1)
    first, last[row] = stop + 1, n
  end
  return own, n, last
end

--- Up to n owned entities, nearest first, with their squared distances.
function commands.nearest_here(shard, _, ...)
  local core, d, arguments = shard.core, shard.dimensions, table.pack(...)
  local x, y, z, n = arguments[1], arguments[2], d == 3 and arguments[3], arguments[d + 1]
  local own, found, all = {}
  repeat -- the core's answer includes ghosts: ask for more until it has n owned entities
    local list, got = methods.answered(methods.invoke(core, "nearest", table.unpack(arguments, 1, arguments.n)))
    found, all = 0, got < arguments[d + 1]
    for i = 1, got do
      if found < n and not shard.router:ghost(list[i]) then
        local px, py, pz = core:position(list[i])
        local dx, dy, dz = px - x, py - y, z and pz - z or 0
        own[2 * found + 1], own[2 * found + 2] = list[i], dx * dx + dy * dy + dz * dz
        found = found + 1
      end
    end
    arguments[d + 1] = 2 * got
  until found == n or all
  return own, found
end

--- Questions to aoi.sight, with the world's ids of walls in place of the sight's.
function commands.of_sight(shard, _, name, ...)
  if name == "get_wall" then
    return methods.answered(walls.invoke(shard, name, shard.wall_of[(...)] or 0))
  elseif name == "walls" then
    return sorted_keys(shard.wall_of)
  end
  local found = table.pack(methods.answered(walls.invoke(shard, name, ...)))
  if found.n == 0 then return end -- of `ray`
  return shard.wall_named[found[1]], table.unpack(found, 2, found.n)
end

function commands.ids_here(shard) return sorted_keys(shard.ents) end

function commands.count_here(shard)
  local n = 0
  for _ in pairs(shard.ents) do n = n + 1 end
  return n
end

function commands.stats_here(shard) return shard.core:stats() end

function commands.info_here(shard) return shard:info() end

function commands.check_here(shard) return shard:check() end

return commands
