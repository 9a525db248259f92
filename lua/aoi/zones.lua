--- Zones: named areas of the map with priorities. Which is the highest that an entity is in, and when that changes.
---
---     local zones = require("aoi.zones").new(space, { change = function(id, to, from) print(id, to, from) end })
---     zones:add("realm", 500, 0, 0)
---     zones:add("town", { shape = "circle", radius = 60 }, 20, 30, { priority = 1 })
---     print(zones:at(player))                --> town
--- @module aoi.zones

-- The first event of an entity in a delivery finds the space as it is after all of them. So it asks which zones see the
-- entity now, and reports if the highest is another; the other events find nothing new. A handler may still cancel the
-- event of what is reported ahead of it, and none would follow. So one is made that comes behind: a node of `pulse` is
-- told the end of the entity. A change of priority makes such events, too.
local checks = require "aoi.checks"
local reserved = require "aoi.reserved"
local trigger = require "aoi.trigger"

local zones = {}
local Zones -- the class, below

--- The handlers of a set of zones; the fields are looked up at each call.
---@class (exact) aoi.ZoneHandlers
---@field change? fun(id: integer, to: any, from: any) names of zones, nil for none, as for what has left the space

--- The options of a zone.
---@class (exact) aoi.ZoneOptions
---@field priority? number without a unit (no world units), 0 without it; of equal ones the first added is higher
---@field kinds? integer bits of the kinds that it is for, all without it

-- Whether zone a is higher than zone b, which may be nil.
local function is_higher(a, b)
  if not b or a.priority ~= b.priority then return not b or a.priority > b.priority end
  return a.order < b.order
end

-- Lists the zones in which an entity is now, and returns their number and the highest.
local function zones_of(self, id, list)
  if not self.space:has(id) then return 0 end
  local n, highest, set, seen, count = 0, nil, self.triggers, self.space:viewers(id, self.buffer)
  for i = 1, 2 * count, 2 do
    local region = set.triggers[set.base - seen[i + 1]]
    local zone = region and region.id == seen[i] and region.data
    if zone and not zone.removed then
      n = n + 1
      list[n], highest = zone, is_higher(zone, highest) and zone or highest
    end
  end
  return n, highest
end

-- Notes a change and reports it: the handler may do anything.
local function report(self, id, to, life, from)
  local change = self.handlers.change
  self.known[id], self.lives[id] = to, to and life
  to, from = to and to.name, from and from.name -- the same of a zone that was added again
  if change and to ~= from then return change(id, to, from) end
end

-- by: the zone that the entity has entered, if that is the reason
local function update(self, id, by)
  local from, life = self.known[id], checks.life(self.space, id)
  if from and self.lives[id] ~= life then -- that entity has left the space
    report(self, id, nil, nil, from)
    if not self.space:is_open() then return end
    from, life = self.known[id], checks.life(self.space, id)
  end
  local _, to = zones_of(self, id, self.found)
  if to == from then return end
  if to and to ~= by then self.touch(id) end
  return report(self, id, to, life, from)
end

-- Makes self.touch(id), which makes an event about an entity: of the next delivery, or behind the others of this one.
local function new_touch(self)
  local space, node = self.space, reserved.node(self.space)
  local area, hear = { radius = 0, mask = 0 }, function(_, target) update(self, target) end
  self.node = node
  return function(id)
    if not (self.pulse and space:has(self.pulse)) then
      local x, y, z = space:position(id)
      local pulse = reserved.entity(space, x, y, z)
      local ok, err = pcall(space.add_node, space, pulse, node, area, nil, hear)
      if not ok then space:leave(pulse) error(err, 0) end
      self.pulse = pulse
    end
    space:override(self.pulse, node, id, "tell end")
    space:override(self.pulse, node, id, "tell now")
  end
end

-- The handlers of all regions, whatever their name. An event that cannot change the highest zone asks for nothing.
local function new_handlers(self)
  local own = {
    enter = function(_, id, region)
      local known, zone = self.known[id], region.data
      zone.inside = zone.inside + 1
      local same = known and self.lives[id] == checks.life(self.space, id) and known.region:has(id)
      if not same or is_higher(zone, known) then return update(self, id, zone) end
    end,
    leave = function(_, id, region)
      local zone = region.data
      zone.inside = zone.inside - 1
      if zone.removed and zone.inside == 0 then region:remove() end
      if self.known[id] == zone then return update(self, id) end
    end,
  }
  return setmetatable({}, { __index = function() return own end })
end

--- Makes a set of zones for a space; it may have several.
---@param space aoi.Space
---@param handlers aoi.ZoneHandlers
---@return aoi.Zones
function zones.new(space, handlers)
  checks.space(space, zones, "zones")
  checks.type(handlers, "table", 2, "new")
  for name, handler in pairs(handlers) do
    if name ~= "change" or not checks.is_callable(handler) then
      checks.fail(2, "new", ("'change' = function expected, got '%s' = %s"):format(tostring(name), type(handler)))
    end
  end
  local self = setmetatable({ space = space, handlers = handlers, buffer = {}, found = {}, orders = 0 }, Zones)
  self.by_name, self.known, self.lives = {}, {}, {}
  self.touch, self.triggers = new_touch(self), trigger.new(space, new_handlers(self), 0)
  return self
end

--- The zones on one space.
---@class aoi.Zones
Zones = {}
Zones.__index = Zones

local function expect_priority(p, n, method)
  if type(p) == "number" and p == p then return end
  checks.fail(n, method, "a number expected as priority, got " .. (p ~= p and "nan" or type(p)), 3)
end

-- A zone without a region could not be added: memory was refused.
local function find(self, name)
  local zone = name ~= nil and self.by_name[name]
  return zone and zone.region and zone
end

local function zone_of(self, name, method)
  checks.open(self.space, 3)
  return find(self, name) or checks.fail(1, method, ("no zone '%s'"):format(tostring(name)), 3)
end

--- Adds a zone. Whoever is in its area is in it at once.
---@param name any not nil, unique in these zones
---@param area number|aoi.Area half-extent of a square in world units, or the table
---@param x number world units
---@param y number world units
---@param z? number world units; only in 3D, in 2D the options stand here
---@param options? aoi.ZoneOptions
---@return aoi.Trigger region its `id` is an entity, which may be moved, or attached to a ship
function Zones:add(name, area, x, y, z, options)
  checks.self(self, Zones, "add", "zones:add(name, area, x, y)")
  local space = self.space
  checks.open(space)
  if self.triggers.closed then error("attempt to use a closed set of zones", 2) end
  if name == nil or name ~= name then checks.fail(1, "add", "the name of a zone expected, got " .. tostring(name)) end
  if find(self, name) then checks.fail(1, "add", ("there is a zone '%s'"):format(tostring(name))) end
  local high = space:dimensions() == 3
  local place = high and 6 or 5
  if not high then z, options = checks.nothing(options, 6, "add"), z end
  options = checks.options(options, { priority = "number", kinds = "number" }, place, "add", 2)
  expect_priority(options.priority or 0, place, "add")
  if options.kinds and not checks.is_integer(options.kinds) then checks.fail(place, "add", "kind bits expected") end
  local o, tried = {}, {}
  for key, value in pairs(type(area) == "table" and area or { radius = area }) do o[key], tried[key] = value, value end
  tried.mask, tried.outside = 0, nil -- a question that searches nothing checks the rest
  if o.label ~= nil then checks.fail(2, "add", "the label of a zone is its name") end
  if o.mask ~= nil and not checks.is_integer(o.mask) then checks.fail(2, "add", "kind bits expected for 'mask'") end
  if o.outside ~= nil and type(o.outside) ~= "boolean" then checks.fail(2, "add", "boolean expected for 'outside'") end
  if high then checks.finite(z, 5, "add") end
  local places = { [2] = 3, [3] = 4, [4] = high and 5 or 2, [5] = 2 }
  checks.call("add", places, space.near, space, x, y, z or tried, z and tried)
  self.orders = self.orders + 1
  local zone = { name = name, priority = options.priority or 0, order = self.orders, inside = 0, region = false }
  o.mask, o.x, o.y, o.z, o.data = options.kinds or o.mask, x, y, z, zone
  self.by_name[name] = zone
  checks.as_one(space, function() zone.region = self.triggers:region(name, o) end) -- its first events find it
  return zone.region
end

--- Removes a zone, and its region: nobody is in it any more.
---@param name any
function Zones:remove(name)
  checks.self(self, Zones, "remove", "zones:remove(name)")
  local zone = zone_of(self, name, "remove")
  zone.removed = true
  local ok, err = true, nil
  if zone.region:alive() then ok, err = pcall(zone.region.disable, zone.region) end -- its last leave event removes it
  zone.removed = not zone.region:enabled() -- else memory was refused, and nothing has changed
  if zone.removed then
    self.by_name[name] = nil
    if zone.inside == 0 then zone.region:remove() end
  end
  if not ok then error(err, 0) end
end

--- Changes the priority of a zone; a change of the highest zone of those in it is reported with the next delivery.
---@param name any
---@param priority number without a unit (no world units)
function Zones:set_priority(name, priority)
  checks.self(self, Zones, "set_priority", "zones:set_priority(name, priority)")
  local zone = zone_of(self, name, "set_priority")
  expect_priority(priority, 2, "set_priority")
  checks.as_one(self.space, function()
    for _, id in ipairs((zone.region:targets())) do self.touch(id) end
    zone.priority = priority
  end)
end

--- The highest zone in which an entity is now.
---@param id integer
---@return any? name nil if it is in none, or not in the space
function Zones:at(id)
  checks.self(self, Zones, "at", "zones:at(id)")
  checks.id(id, 1, "at")
  checks.open(self.space)
  local _, highest = zones_of(self, id, self.found)
  return highest and highest.name
end

--- The zones in which an entity is now, by falling priority, equal ones in the order in which they were added.
---@param id integer
---@param buf? any[] a table to fill
---@return any[] list `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Zones:all(id, buf)
  checks.self(self, Zones, "all", "zones:all(id)")
  checks.id(id, 1, "all")
  checks.buffer(buf, 2, "all")
  checks.open(self.space)
  local list, found = buf or {}, {}
  local n = zones_of(self, id, found)
  table.sort(found, is_higher)
  checks.end_list(list, n)
  for i = 1, n do list[i] = found[i].name end
  return list, n
end

--- Processes events that `space:drain` returned and ignores those of other nodes.
---@param buf integer[] kind, watcher, target, node id, ...
---@param n integer how many events
function Zones:dispatch(buf, n)
  checks.self(self, Zones, "dispatch", "zones:dispatch(buf, n)")
  local touched = {}
  checks.each_event(buf, n, "dispatch", function(_, _, id, node)
    if node == self.node then touched[#touched + 1] = id end
  end)
  self.triggers:dispatch(buf, n)
  for _, id in ipairs(touched) do update(self, id) end
end

--- Removes all zones and their regions; `change` is not called. Closing twice or after the space is harmless.
function Zones:close()
  checks.self(self, Zones, "close", "zones:close()")
  self.triggers:close()
  self.by_name, self.known = {}, {}
  if self.pulse and self.space:is_open() and self.space:has(self.pulse) then self.space:leave(self.pulse) end
end

return zones
