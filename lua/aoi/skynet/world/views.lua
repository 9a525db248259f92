-- Client views in a shard: entities that are clients of aoi.sync there. A view belongs to the shard that owns its
-- entity, and goes with it; so does its picture: what it knows, by id and life.
--
--   shard.views[id]   area, options, client that gets the messages, `by`, who has asked for it, fd; made: the
--                     synchroniser has it

local argument = require "aoi.skynet.argument"
local methods = require "aoi.skynet.methods"
local outlet = require "aoi.skynet.world.outlet"
local wire = require "aoi.skynet.wire"

local views = {}

local function sync_of(shard)
  shard.sync = shard.sync or require("aoi.sync").new(shard.core, { quantum = shard.quantum })
  return shard.sync
end

-- What the synchroniser would say of the area and the options: the entity may not be in the core yet.
local function check(shard, area, options)
  local space = require("aoi").new { dimensions = shard.dimensions }
  space:enter(1, 0, 0, shard.dimensions == 3 and 0 or nil)
  local sync = require("aoi.sync").new(space, { quantum = shard.quantum })
  local ok, err = methods.invoke_as(sync, "add", "add_client", 1, area, options)
  sync:close()
  space:close()
  if not ok then error(err, 0) end
end

--- From the coming epoch on. view: area, options, client, by, fd.
function views.add(shard, id, view)
  if shard.views[id] then argument.fail(1, "add_client", 0, "entity %d is already a client", id) end
  check(shard, view.area, view.options)
  shard.views[id] = view
  shard.viewing[#shard.viewing + 1] = id
end

function views.drop(shard, id)
  local view = shard.views[id]
  shard.views[id] = nil
  if view and view.made and shard.core:has(id) then shard.sync:remove(id) end
  return view
end

--- The entity goes to another shard: what that needs of its view, nil: it has none. known: ids and lives.
function views.give(shard, id)
  local view, known = shard.views[id], {}
  if not view then return nil end
  local list, n = {}, 0
  if view.made then list, n = shard.sync:known(id) end
  for i = 1, n do known[2 * i - 1], known[2 * i] = list[i], shard.router:life(list[i]) or 0 end
  view.known = view.made and known or view.known
  views.drop(shard, id)
  view.made = nil
  return view
end

-- Its picture goes on; what is here in another life than it knows is gone.
local function adopt(shard, id, view)
  local known, gone = {}, {}
  for i = 1, #view.known, 2 do
    local life = shard.router:life(view.known[i])
    table.insert(life and life ~= view.known[i + 1] and gone or known, view.known[i])
  end
  shard.sync:adopt(id, known, gone)
  view.known = nil
end

--- An entity has come, with its view or without.
function views.take(shard, id, view)
  shard.views[id] = view
  if view then shard.taken_views[#shard.taken_views + 1] = id end
end

--- When everything of an epoch is where it will be. ids: of views that begin.
function views.apply(shard, ids)
  for _, list in ipairs { ids, shard.taken_views } do
    for _, id in ipairs(list) do
      local view = shard.views[id]
      if view and not view.made and shard.core:has(id) then
        sync_of(shard):add(id, view.area, view.options)
        view.made = true
        if view.known then adopt(shard, id, view) end
      end
    end
  end
  shard.taken_views = {}
end

--- A tick of the synchroniser: messages for players go with the mail of the epoch.
function views.tick(shard)
  if not shard.sync then return end
  shard.sync:tick(function(id, bytes)
    local view = shard.views[id]
    if view then outlet.put_packet(shard, view.client, id, wire.packet(view.client, id, view.fd, bytes)) end
  end)
end

--- These views begin anew, as messages of them have been dropped.
function views.resend(shard, ids)
  for _, id in ipairs(ids) do
    if shard.views[id] and shard.views[id].made then shard.sync:resend(id) end
  end
end

--- The client is gone: its views end, and those that it has asked for. Calls lost(by, id) for those of others.
function views.bury(shard, client, lost)
  local gone = {}
  for id, view in pairs(shard.views) do
    if view.client == client or view.by == client then gone[#gone + 1] = id end
  end
  for _, id in ipairs(gone) do
    local view = views.drop(shard, id)
    if view.by ~= client then lost(view.by, id) end
  end
end

return views
