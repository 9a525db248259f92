-- The traits of an entity: extent, layers, and, for client views, priority, team and fields. They hold in every shard
-- that has the entity: the owner sends its audience TRAIT rows (epoch.lua), all traits to a shard that is new in it,
-- and in each epoch the changes to all.
--
--   shard.traits[id]          of owned entities, at the end of the last epoch: extent, layers, priority, team, fields =
--                             { [name] = value }, put = { [name] = the epoch in which the field got that value }
--   shard.trait_changes[id]   the same for the coming epoch; touch: state outside the library has changed
--
--   set, touch -> trait_changes -> tell (close) -> TRAIT -> apply_in_space, apply_wholes, apply_changes (apply)
--
-- Whole traits are set before the client views that arrive begin, changes behind that, so that these views send them.

local argument = require "aoi.skynet.argument"
local epoch = require "aoi.skynet.world.epoch"
local log = require "aoi.skynet.world.log"
local methods = require "aoi.skynet.methods"
local views = require "aoi.skynet.views"

local traits = {}

local SCRATCH = 1 -- the entity of the scratch space (views.lua) on which values are tried
local ENTERS = 3  -- one that enters there to be tried

local function fail_extent(shard, n, name, value)
  local text = "bad argument #%d to '%s' (%g is more than the world's option 'extent', %g)"
  error(text:format(n, name, value, shard.plan.extent), 0)
end

-- Checks a value in the scratch space or its synchroniser, raises their errors, and returns the value as they have it.
local function normal(shard, name, ...)
  local space, sync = views.scratch(shard)
  if name == "extent" or name == "layers" then
    methods.answered(methods.invoke(space, "set_" .. name, SCRATCH, ...))
    local value = space[name](space, SCRATCH)
    if name == "extent" and value > shard.plan.extent then fail_extent(shard, 2, "set_extent", value) end
    return value
  elseif name == "fields" then
    methods.answered(methods.invoke(sync, "put", SCRATCH, ...))
    return sync:get(SCRATCH, (...))
  end
  methods.answered(methods.invoke(sync, "set_" .. name, SCRATCH, ...))
  return (...) == nil and 0 or math.tointeger((...)) or (...)
end

local function value_of(all, name, field)
  local value = all and all[name]
  if field and value then return value[field] end
  return value
end

local function traits_of(shard, space, sync, fields)
  local all, extent, layers = {}, space:extent(ENTERS), space:layers(ENTERS)
  if extent ~= 0 then all.extent = extent end
  if layers ~= 1 then all.layers = layers end
  for field in pairs(fields or {}) do
    local value = sync:get(ENTERS, field)
    if value ~= views.blank(shard, field) then
      all.fields = all.fields or {}
      all.fields[field] = value
    end
  end
  return next(all) and all
end

--- kind: of an entity that enters, bits or a table as of Space:enter. name: "enter" or "enter_many", whose errors are
-- raised. Returns the bits, and the traits or nil.
function traits.of_kind(shard, name, kind)
  if type(kind) ~= "table" then return kind end
  local space, sync = views.scratch(shard)
  local row = { ENTERS, 0, 0, shard.dimensions == 3 and 0 or nil }
  local many = name == "enter_many"
  if many then
    methods.answered(methods.invoke(space, "enter_many", row, 1, kind))
  else
    row[#row + 1] = kind
    methods.answered(methods.invoke(space, "enter", table.unpack(row)))
  end
  local bits, extent, all = space:kind(ENTERS), space:extent(ENTERS), traits_of(shard, space, sync, kind.fields)
  space:leave(ENTERS)
  if extent > shard.plan.extent then fail_extent(shard, many and 3 or #row, name, extent) end
  return bits, all
end

-- Of an entity that was handed over to a blank shard (recovery.lua) and waits there, `put` has the epochs of the fields
-- that came with it, as views have them in their pictures. shown: the values there of those that are put meanwhile.
local function note_shown(change, field)
  if not (change.put and change.put[field]) then return end
  change.shown = change.shown or {}
  change.shown[field], change.put[field] = change.fields[field], nil
end

--- From the coming epoch on. Arguments: a value of extent, layers, priority or team; a name and a value of fields. A
-- field that has this value already does not change, as client views of other shards would be sent it again.
function traits.set(shard, id, name, ...)
  local value, change = normal(shard, name, ...), shard.trait_changes[id] or {}
  if name == "fields" then
    local field, fields = (...), change.fields or {}
    note_shown(change, field)
    local was = value_of(shard.traits[id], name, field)
    if was == nil then was = views.blank(shard, field) end
    fields[field] = nil
    if value ~= was or change.shown and change.shown[field] ~= nil then fields[field] = value end
    change.fields = next(fields) and fields
  else
    change[name] = value
  end
  shard.trait_changes[id] = next(change) and change
end

--- An entity enters with these traits.
function traits.begin(shard, id, all)
  shard.trait_changes[id] = argument.copy(all)
  for name, value in pairs(shard.log and all or {}) do
    for field, one in pairs(name == "fields" and value or {}) do log.request(shard, "put", id, field, one) end
    if name ~= "fields" then log.request(shard, "set_" .. name, id, value) end
  end
end

function traits.touch(shard, id)
  shard.trait_changes[id] = shard.trait_changes[id] or {}
  shard.trait_changes[id].touch = true
end

--- The value at the end of the coming epoch; nil: it has not been set.
function traits.get(shard, id, name, field)
  local value = value_of(shard.trait_changes[id], name, field)
  if value == nil then return value_of(shard.traits[id], name, field) end
  return value
end

--- The same of a field; if it has not been put, the default of its type.
function traits.field(shard, id, ...)
  local before, value = views.blank(shard, ...), traits.get(shard, id, "fields", (...))
  if value == nil then return before end
  return value
end

local function merge(into, change)
  for name, value in pairs(change) do
    if name == "fields" then
      into.fields = into.fields or {}
      for field, one in pairs(value) do into.fields[field] = one end
    elseif name ~= "touch" then
      into[name] = value
    end
  end
  return into
end

--- All traits of an entity, nil: none: a copy for the client that may have to restore them, so without `put`.
function traits.all(shard, id)
  local all = merge(merge({}, shard.traits[id] or {}), shard.trait_changes[id] or {})
  all.put, all.shown = nil, nil
  return next(all) and all
end

--- Called at close, behind routing: put(shard, row) for every shard in the audience, this one included.
-- newcomers[id]: life and position of entities that enter.
function traits.put_rows(shard, put, newcomers)
  local list, n = shard.router:wholes()
  for i = 1, 2 * n, 2 do
    local id, to = list[i], list[i + 1]
    local all = shard.traits[id]
    if all then put(to, { id = id, life = shard.router:life(id), whole = true, traits = all }) end
  end
  for id, change in pairs(shard.trait_changes) do
    local hand, ent = newcomers[id], shard.ents[id]
    if hand or not (ent and ent.restored) then
      local life = hand and hand.life or shard.router:life(id)
      local audience = hand and shard.map:audience(hand.x, hand.y) or shard.router:audience(id)
      for _, to in ipairs(life and audience or {}) do
        put(to, { id = id, life = life, whole = false, traits = change })
      end
      shard.trait_changes[id] = nil
    end
  end
  for _, given in ipairs(shard.given) do shard.traits[given.id] = nil end
end

function traits.forget(shard, id) shard.traits[id], shard.trait_changes[id] = nil, nil end

local function set_in_space(shard, id, one)
  if one.extent then shard.core:set_extent(id, one.extent) end
  if one.layers then shard.core:set_layers(id, one.layers) end
end

-- Values of earlier epochs are no news for views that arrive with their pictures. is_known: the entity is here already,
-- perhaps as a ghost that came with a hand-over (distant.lua): values that differ are news for the views here, too.
local function set_for_views(shard, id, one, is_known)
  if one.priority then views.sync(shard):set_priority(id, one.priority) end
  if one.team then views.sync(shard):set_team(id, one.team) end
  for name, value in pairs(one.shown or {}) do views.sync(shard):put(id, name, value, 1) end
  for name, value in pairs(one.fields or {}) do
    local sync, epoch_of = views.sync(shard), one.put and one.put[name]
    local is_news = not epoch_of or is_known and sync:get(id, name) ~= value
    sync:put(id, name, value, is_news and 0 or math.max(1, shard.applied + 1 - epoch_of))
  end
  if one.touch and shard.sync then shard.sync:touch(id) end
end

--- Keeps the changes of an entity that is handed over to a blank shard (recovery.lua) in this epoch.
function traits.await(shard, row)
  local ent = shard.ents[row.id]
  if not ent or ent.life ~= row.life or row.whole then return end
  local change = shard.trait_changes[row.id] or {}
  for field in pairs(row.traits.fields or {}) do note_shown(change, field) end
  shard.trait_changes[row.id] = merge(change, row.traits)
end

--- This shard becomes the owner. all: the traits of the HAND row.
function traits.take(shard, id, all, is_known)
  if not all then return end
  shard.traits[id] = all
  shard.router:mark(id, "traits", true)
  set_in_space(shard, id, all)
  set_for_views(shard, id, all, is_known)
end

--- Called before other rows are applied: notes whether the entity of the row is here already.
function traits.find_known(shard, row) row.is_known = shard.router:life(row.id) == row.life end

-- Calls f(shard, id, traits, is_known) for the rows with whole traits, or for those with changes.
local function each_row(shard, parts, whole, f)
  epoch.each_row(parts, epoch.TRAIT, function(_, row)
    local is_here = row.whole == whole and shard.router:life(row.id) == row.life
    if is_here then f(shard, row.id, row.traits, row.is_known) end
  end)
end

-- Sets what `kept` does not name to its default.
local function reset(shard, id, kept)
  set_in_space(shard, id, { extent = not kept.extent and 0, layers = not kept.layers and 1 })
  if not shard.sync then return end
  if not kept.priority then shard.sync:set_priority(id, 1) end
  if not kept.team then shard.sync:set_team(id, 0) end
  for _, field in ipairs(shard.fields or {}) do
    local name = field[1]
    if not (kept.fields and kept.fields[name]) then shard.sync:put(id, name, views.blank(shard, name)) end
  end
end

--- An entity that is restored has the traits that its client knows; those that other clients had set are lost with the
-- dead shard, and with this also where the entity is a ghost. Called behind LOST rows.
function traits.reset_restored(shard, parts)
  local kept = {}
  epoch.each_row(parts, epoch.LOST, function(_, lost)
    local is_here = shard.core:has(lost.id) and shard.router:life(lost.id) == lost.life
    if lost.what == epoch.RESTORED and is_here then kept[lost.id] = {} end
  end)
  if next(kept) == nil then return end -- as in nearly every epoch
  epoch.each_row(parts, epoch.TRAIT, function(_, row) kept[row.id] = kept[row.id] and row.traits end)
  for id, its in pairs(kept) do reset(shard, id, its) end
end

--- Extent and layers. Called before nodes are adopted, and again when entities have entered.
function traits.apply_in_space(shard, parts)
  each_row(shard, parts, true, set_in_space)
  each_row(shard, parts, false, set_in_space)
end

--- Priorities and fields of entities that are new here. Called before client views that arrive begin here.
function traits.apply_wholes(shard, parts) each_row(shard, parts, true, set_for_views) end

--- Changes of priorities and fields. Called behind that.
function traits.apply_changes(shard, parts)
  each_row(shard, parts, false, function(_, id, change)
    set_for_views(shard, id, change)
    if not shard.router:owns(id) then return end
    local all = merge(shard.traits[id] or {}, change)
    all.put, all.shown = all.put or {}, nil
    for name in pairs(change.fields or {}) do all.put[name] = shard.applied + 1 end
    shard.traits[id] = all
    shard.router:mark(id, "traits", true)
  end)
end

return traits
