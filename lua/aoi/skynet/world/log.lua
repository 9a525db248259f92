-- What a shard has accepted, epoch by epoch, as lines: the union of all shards' lines of an epoch, made in one
-- space in the order of the phases, gives the events of the world.
--
--   1 leave ID LIFE | 1 remove ID NODE | 2 move ID X Y [Z] | 2 rows BYTES | 3 kind ID KIND | 4 area ID NODE AREA
--   5 enter ID KIND LIFE X Y [Z] | 6 add ID NODE AREA
--   2 restore ID KIND LIFE X Y Z|- [NODE AREA ...]  after a death: what is there from now on
--   1 wall ID open|shut|gone [X1 Y1 X2 Y2 [Z0 Z1]]  in the lines of every shard
--   7 do NAME ID BYTES                     a request of traits, client views or overrides, as it was made: plain.lua
--   7 override ID NODE TARGET hide|show|match|-     as the core has it from now on: nothing is shown that the shard
--                                                   does not know
--
-- The number in front is the phase; coordinates are hexadecimal, so that no bit is lost; AREA is the packed area in
-- hexadecimal, of a node with sight with /LINGER behind it; BYTES a message of moves as a client sends it. After a
-- death a life may be said to leave that is not there any more, while another of that id is.

local plain = require "aoi.skynet.world.plain"

local log = {}

--- How many arguments behind the entity belong to a request that is noted, by its name.
log.noted = {
  add_client = 2, set_client = 1, set_view = 2, remove_client = 0, resend = 0, pin = 1, unpin = 1, override = 3,
  set_priority = 1, put = 2, touch = 0, set_extent = 1, set_layers = 1,
}

local function hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function area_of(rec)
  return hex(rec.area) .. (rec.sight and ("/%d"):format(rec.linger or 0) or "")
end

local function place(x, y, z)
  return z and ("%a %a %a"):format(x, y, z) or ("%a %a"):format(x, y)
end

--- A request that has been accepted for the coming epoch.
function log.request(shard, name, id, ...)
  local list = { ... }
  for i = log.noted[name] + 1, select("#", ...) do list[i] = nil end
  shard.log(shard.closed + 1, ("7 do %s %d %s"):format(name, id, hex(plain.write(list))))
end

--- While an epoch is applied. how: nil: as the rule says.
function log.override(shard, rec, target, how)
  shard.log(shard.closed, ("7 override %d %d %d %s"):format(rec.id, rec.node, target, how or "-"))
end

--- What a client or a former shard has had of it, whatever the space has.
function log.restored(shard, id, ent)
  local list, at = {}, ent.birth
  for node, rec in pairs(ent.nodes or {}) do list[#list + 1] = (" %d %s"):format(node, area_of(rec)) end
  local z = at.z and ("%a"):format(at.z) or "-"
  shard.log(shard.closed, ("2 restore %d %d %d %s %s%s"):format(id, ent.kind, ent.life, place(at.x, at.y), z,
    table.concat(list)))
end

--- When an epoch is closed, before entities enter or are handed over.
function log.commands(shard)
  local function put(...) shard.log(shard.closed, (...):format(select(2, ...))) end
  for id in pairs(shard.rebuilt or {}) do
    local wall, list = shard.walls.list[id], {}
    for i = 1, wall and #wall or 0 do list[i] = (" %a"):format(wall[i]) end
    put("1 wall %d %s%s", id, not wall and "gone" or wall.open and "open" or "shut", table.concat(list))
  end
  for _, leave in ipairs(shard.leaves) do put("1 leave %d %d", leave.id, leave.life) end
  for _, rec in ipairs(shard.removed) do put("1 remove %d %d", rec.id, rec.node) end
  for id, kind in pairs(shard.kinds) do put("3 kind %d %d", id, kind) end
  for rec in pairs(shard.changed) do
    if not rec.dead then put("4 area %d %d %s", rec.id, rec.node, hex(rec.area)) end
  end
  for _, id in ipairs(shard.births) do
    local ent = shard.ents[id]
    if ent and ent.birth and not ent.past and not ent.logged then
      ent.logged = true
      put("5 enter %d %d %d %s", id, ent.kind, ent.life, place(ent.birth.x, ent.birth.y, ent.birth.z))
    end
  end
  for _, rec in ipairs(shard.added) do
    if not rec.dead then put("6 add %d %d %s", rec.id, rec.node, area_of(rec)) end
  end
end

--- When its moves have been routed.
function log.moves(shard)
  shard.log(shard.closed, "2 rows " .. shard.router:closed_rows(shard.closed))
  for _, given in ipairs(shard.given) do
    if not given.stays then
      shard.log(shard.closed, ("2 move %d %s"):format(given.id, place(given.x, given.y, given.z)))
    end
  end
end

local function bytes_of(word)
  return (word:gsub("%x%x", function(c) return string.char(tonumber(c, 16)) end))
end

-- The bytes; of a node with sight a table of them, and for how long it lingers.
local function read_area(word)
  local area, linger = word:match "^(%x*)/(%d+)$"
  return linger and { bytes_of(area), tonumber(linger) } or bytes_of(word)
end

--- A line as a list: phase, verb, id, ...; areas as bytes, or { bytes, linger }.
function log.read(line)
  if line:sub(1, 7) == "2 rows " then return { 2, "rows", line:sub(8) } end
  local name, id, bytes = line:match "^7 do (%S+) (%S+) (%x*)$"
  if name then return { 7, "do", name, math.tointeger(tonumber(id)), assert(plain.read(bytes_of(bytes))) } end
  local list = {}
  for word in line:gmatch("%S+") do list[#list + 1] = word end
  for i = 1, #list do
    local n = i ~= 2 and tonumber(list[i])
    if i == 5 and (list[2] == "add" or list[2] == "area") or list[2] == "restore" and i > 8 and i % 2 == 0 then
      list[i] = read_area(list[i])
    elseif n then
      list[i] = n
    end
  end
  return list
end

return log
