-- The log of a shard: the commands that it has accepted, by epoch. If one space carries out the commands of all shards
-- epoch by epoch, in the order of the phases, it has the events of the world. Shard:close writes the log if it has the
-- option `log`. A command is a list, written by plain.lua:
--
--   1, "leave", id, life | 1, "remove", id, node | 2, "move", id, x, y [, z] | 2, "rows", bytes | 3, "kind", id, kind
--   4, "area", id, node, area | 5, "enter", id, kind, life, x, y [, z] | 6, "add", id, node, area
--   2, "restore", id, kind, life, areas by node, x, y [, z]   a restored entity: replaces what the space has of the id
--   1, "wall", id, "open" or "shut" or "gone" [, x1, y1, x2, y2 [, z0, z1]]   in the log of every shard
--   7, "do", name, id, arguments           a request that sets traits, client views or overrides, unchanged
--   7, "override", id, node, target, how [, life]   what the core has from now on of that life of the target; a target
--                                          that is not in it is not shown; how: false: no override
--
-- The first number is the phase; an area is packed, for a node with sight { area, linger }; bytes are a message of
-- moves of a client. After the death of a shard a "leave" may name a former life of an id: the present one stays.

local plain = require "aoi.skynet.plain"

local log = {}

--- The requests that are logged: name -> number of arguments behind the entity.
log.noted = {
  add_client = 2, set_client = 1, set_view = 2, remove_client = 0, resend = 0, pin = 1, unpin = 1, override = 3,
  set_priority = 1, rank = 2, put = 2, touch = 0, set_extent = 1, set_layers = 1, set_team = 1,
}

--- A command of the closed epoch.
function log.put(shard, ...) shard.log(shard.closed, plain.write { ... }) end

local function area_of(rec) return rec.sight and { rec.area, rec.linger or 0 } or rec.area end

--- A request that has been accepted for the coming epoch.
function log.request(shard, name, id, ...)
  local list = { ... }
  for i = log.noted[name] + 1, select("#", ...) do list[i] = nil end
  shard.log(shard.closed + 1, plain.write { 7, "do", name, id, list })
end

--- A restored entity, as its client or a former instance of the shard had it.
function log.restored(shard, id, ent)
  local areas, at = {}, ent.entry
  for node, rec in pairs(ent.nodes or {}) do areas[node] = area_of(rec) end
  log.put(shard, 2, "restore", id, ent.kind, ent.life, areas, at.x, at.y, at.z)
end

--- Called when an epoch is closed, before entities enter or are handed over.
function log.commands(shard)
  for id in pairs(shard.rebuilt) do
    local wall = shard.walls.list[id]
    log.put(shard, 1, "wall", id, not wall and "gone" or wall.open and "open" or "shut", table.unpack(wall or {}))
  end
  for _, leave in ipairs(shard.leaves) do log.put(shard, 1, "leave", leave.id, leave.life) end
  for _, rec in ipairs(shard.removed) do log.put(shard, 1, "remove", rec.id, rec.node) end
  for id, kind in pairs(shard.kinds) do log.put(shard, 3, "kind", id, kind) end
  for rec in pairs(shard.changed) do
    if not rec.dead then log.put(shard, 4, "area", rec.id, rec.node, rec.area) end
  end
  for _, id in ipairs(shard.enters) do
    local ent = shard.ents[id]
    if ent and ent.entry and not ent.restored and not ent.logged then
      ent.logged = true
      log.put(shard, 5, "enter", id, ent.kind, ent.life, ent.entry.x, ent.entry.y, ent.entry.z)
    end
  end
  for _, rec in ipairs(shard.added) do
    if not rec.dead then log.put(shard, 6, "add", rec.id, rec.node, area_of(rec)) end
  end
end

--- Called when an epoch is closed, behind routing.
function log.moves(shard)
  log.put(shard, 2, "rows", shard.router:closed_rows(shard.closed))
  for _, given in ipairs(shard.given) do
    if not given.stays then log.put(shard, 2, "move", given.id, given.x, given.y, given.z) end
  end
end

return log
