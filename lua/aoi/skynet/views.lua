-- Client views in a place: entities that are clients of aoi.sync there. In a world a view belongs to the shard that
-- owns its entity, and moves with it, together with its picture. This is possible as all shards tick in epochs.
--
--   place.sync        the synchroniser, made with the first client view
--   place.views[id]   id, area, options; client: receives the messages; by: has added the view; fd; made: whether the
--                     synchroniser has it; in a shard: pins (world/targets.lua)

local argument = require "aoi.skynet.argument"
local clients = require "aoi.skynet.clients"
local methods = require "aoi.skynet.methods"
local state_of = require("aoi.sync").state
local targets = require "aoi.skynet.world.targets"
local wire = require "aoi.skynet.wire"

local views = {}

--- The synchroniser, which is made at the first call.
function views.sync(place)
  place.sync = place.sync or place.new_sync(place.core, {
    quantum = place.quantum, fields = place.fields, riders = place.riders, sight = place.sight, tick = place.applied,
  })
  return place.sync
end

--- A space and a synchroniser for validating requests before they are applied, with an entity 1 that has a node 1, and
-- an entity 2 without any changes.
function views.scratch(place)
  if not place.tried then
    local space = require("aoi").new { dimensions = place.dimensions }
    for id = 1, 2 do space:enter(id, 0, 0, place.dimensions == 3 and 0 or nil) end
    space:add_node(1, 1, 0)
    place.tried = { space, place.new_sync(space, { quantum = place.quantum, fields = place.fields }) }
  end
  return place.tried[1], place.tried[2]
end

--- The value of a field that has not been put; raises the synchroniser's errors.
function views.blank(place, ...)
  local _, sync = views.scratch(place)
  return methods.answered(methods.invoke(sync, "get", 2, ...))
end

--- Makes a view of an entity in the core; raises the errors of aoi.sync.
function views.make(place, view)
  methods.answered(methods.invoke_as(views.sync(place), "add", "add_client", view.id, view.area, view.options))
  view.made = true
end

--- Validates a view that is not made yet, on an entity of its id in the scratch space: raises the synchroniser's errors
-- about area and options, and about a call of a method, if one is named.
function views.try(place, view, method, as, ...)
  local space, sync = views.scratch(place)
  local id = view.id
  local there = space:has(id)
  if not there then space:enter(id, 0, 0, place.dimensions == 3 and 0 or nil) end
  local ok, err = methods.invoke_as(sync, "add", "add_client", id, view.area, view.options)
  if ok then
    if method then ok, err = methods.invoke_as(sync, method, as, id, ...) end
    sync:remove(id)
  end
  if not there then space:leave(id) end
  methods.answered(ok, err)
end

local function invoke(place, view, method, as, ...)
  if not view.made then return views.try(place, view, method, as, ...) end
  methods.answered(methods.invoke_as(place.sync, method, as, view.id, ...))
end

--- Changes options of a view: those of aoi.sync, fd, and the client; for another client the view restarts.
function views.change(place, view, options, client, fd)
  invoke(place, view, "set", "set_client", options)
  for name, value in pairs(options) do view.options[name] = value end
  if fd ~= nil then view.fd = fd end
  if client == view.client then return end
  clients.forget_view(place, view)
  view.client = client
  clients.keep_view(place, view)
  views.resend(place, { view.id })
end

--- Changes one area of a view.
function views.set_area(place, view, i, area)
  invoke(place, view, "set_view", "set_view", i, area)
  view.area = argument.with_view(view.area, i, area)
end

function views.drop(place, id)
  local view = place.views[id]
  if not view then return nil end
  clients.forget_view(place, view)
  place:end_view(view)
  if view.made and place.core:has(id) then place.sync:remove(id) end
  return view
end

--- Makes a tick of the synchroniser: calls put(view, packet) for each view with a message.
function views.tick(place, put)
  if not place.sync then return end
  place.sync:tick(function(id, bytes)
    local view = place.views[id]
    if view then put(view, wire.packet(view.client, id, view.fd, bytes)) end
  end)
end

--- Restarts views with the whole picture; for this a view from another shard that is not made yet loses its own.
function views.resend(place, ids)
  for _, id in ipairs(ids) do
    local view = place.views[id]
    if view and view.made then
      place.sync:resend(id)
    elseif view then
      view.picture, view.known, view.shown = nil, nil, nil
    end
  end
end

-- In a shard --------------------------------------------------------------------------------------------------------

--- Removes the view of an entity that moves to another shard and returns it for that shard, nil if there is none.
-- picture: of aoi.sync; known: the ids in it, with their lives; shown: the state of those that are frozen here
-- (world/distant.lua), which may be older than the picture.
function views.export(shard, id)
  local view = shard.views[id]
  if not view then return nil end
  if view.made then
    local bytes, list, n = shard.sync:picture(id)
    local known, shown = {}, nil
    for i = 1, n do
      known[2 * i - 1], known[2 * i] = list[i], shard.router:life(list[i]) or 0
      local _, unconfirmed = shard.router:ghost(list[i])
      if unconfirmed then
        shown = shown or {}
        shown[list[i]] = state_of(shard.core, list[i])
      end
    end
    view.picture, view.known, view.shown = bytes, known, shown
  end
  views.drop(shard, id)
  view.made = nil
  return view
end

-- Reports the differences between the state of a target and the state that a view has shown.
local function renew(shard, target, shown)
  for name, value in pairs(state_of(shard.core, target) or {}) do
    local was = shown[name]
    if was == nil then was = views.blank(shard, name) end
    if was ~= value then
      shard.sync:put(target, name, was, 1)
      shard.sync:put(target, name, value)
    end
  end
end

-- Continues the picture of a view; targets that are here in another life than in the picture are removed from it.
local function adopt(shard, id, view)
  local gone = {}
  for i = 1, #view.known, 2 do
    local life = shard.router:life(view.known[i])
    if life and life ~= view.known[i + 1] then gone[#gone + 1] = view.known[i] end
  end
  shard.sync:adopt(id, view.picture, gone)
  for target, shown in pairs(view.shown or {}) do renew(shard, target, shown) end
  view.picture, view.known, view.shown = nil, nil, nil
end

--- Adds the view of an entity that comes from another shard; nil: it has none.
function views.import(shard, id, view)
  if not view then return end
  view.id = id
  clients.keep_view(shard, view)
  targets.adopt(shard, view)
  shard.viewing[#shard.viewing + 1] = id
end

-- An error in one view ends that view and not the shard: its client receives LOST_VIEWS.
local function begin_or_drop(shard, id, view)
  local ok, err = pcall(function()
    views.make(shard, view)
    if view.known then adopt(shard, id, view) end
    targets.make(shard, view)
  end)
  if ok then return end
  shard.warn(("aoi: the client view of entity %d is dropped: %s"):format(id, tostring(err)))
  views.drop(shard, id)
  shard:send(view.by, wire.say(wire.LOST_VIEWS, view.by, { id, false }))
end

--- Makes the views that begin or came from other shards, after all changes of the epoch are applied.
function views.apply(shard)
  for _, id in ipairs(shard.viewing) do
    local view = shard.views[id]
    if view and not view.made and shard.core:has(id) then begin_or_drop(shard, id, view) end
  end
end

return views
