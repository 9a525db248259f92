--- Vision shared by a team: heroes and wards are its watchers, and a target is reported once when the first watcher
--- sees it, and once when the last one no longer does.
---
---     local sight = require("aoi.team").new(space, {
---       enter = function(team, target) reveal(team, target) end,
---       leave = function(team, target) cover(team, target) end,
---     })
---     sight:add("red", hero, { radius = 30, mask = BLUE })
---     sight:add("red", ward, { shape = "circle", radius = 20, mask = BLUE })
---     sight:bush { 10, 10, 20, 10, 20, 18, 10, 18 }
---     sight:tick()                           -- once per tick: reports the changes since the last one
---
--- A tick reports the net change: a target that walks from one ward's area into another's is not reported.
---
--- **Bushes** are polygons on the map, and may overlap. A target in a bush is seen only by a watcher that is in one
--- bush with it and has it in its area.
---
--- In a deferred space call `flush` before `tick`, not `drain`, which takes the events instead of the handlers.
--- @module aoi.team

-- How it is built
--
--   space --(handlers of a team's nodes)--> team { count = {target -> nodes that see it}, known = {target -> life} }
--         --(handlers of the bushes)------> inside { entity -> { bush -> true } }; `unlayered` is the same by questions
--   nodes mark targets; bushes note entities, for which tick marks targets; then it evaluates these and calls handlers
--
-- Of a node only its id is stored, in team.nodes: {watcher -> node id}. Entries of watchers that have left the space
-- are removed when the table may have doubled.

local checks = require "aoi.checks"
local reserved = require "aoi.reserved"
local sights = require "aoi.sight"
local sorted_keys = require "aoi.sorted_keys"

local team = {}

local Sight -- the class, below

--- The handlers of a set of teams; the fields are looked up at each call.
---@alias aoi.TeamHandler fun(team: any, target: integer)
---@class (exact) aoi.TeamHandlers
---@field enter? aoi.TeamHandler the first watcher of the team sees the target
---@field leave? aoi.TeamHandler the last one no longer does, or the target has left the space
---@field sight? aoi.Sight watchers do not see targets behind its shut walls

-- Handlers of nodes and bushes ----------------------------------------------------------------------------------------

-- A set of ids in the order in which they were added.
local function new_marks() return { n = 0, has = {} } end

local function mark(marks, id)
  if marks.has[id] then return end
  marks.has[id] = true
  marks.n = marks.n + 1
  marks[marks.n] = id
end

local function clear(marks)
  for i = 1, marks.n do marks.has[marks[i]], marks[i] = nil, nil end
  marks.n = 0
end

local function new_side(self, name)
  local side = {
    name = name, count = {}, known = {}, nodes = {}, size = 0, bound = 16,
    changed = new_marks(), -- targets that may have become visible or invisible for the team
    cancelled = {}, -- target -> life with a cancelled enter and a queued leave: a handler has called tick
  }
  function side.enter(_, target)
    side.count[target] = (side.count[target] or 0) + 1
    mark(side.changed, target)
  end
  function side.leave(_, target)
    local n = side.count[target] - 1
    side.count[target] = n > 0 and n or nil
    mark(side.changed, target)
  end
  self.sides[name] = side
  self.order[#self.order + 1] = side
  return side
end

-- The node of a watcher of a team; nil if the entity is none.
local function node_of(self, side, id)
  local node = side and side.nodes[id]
  return node and self.space:has_node(id, node) and node or nil
end

-- Marks an entity for the teams that see it, and the targets in bushes that it sees as a watcher.
local function mark_entity(self, id)
  for _, side in ipairs(self.order) do
    if side.count[id] then mark(side.changed, id) end
    local node = node_of(self, side, id)
    if node then
      for _, target in ipairs((self.space:view(id, node))) do
        if self.inside[target] then mark(side.changed, target) end
      end
    end
  end
end

-- Notes entities that enter or leave a bush. Targets are marked in the tick, since with a sight a target that is lost
-- and seen again between two ticks gives no event.
local function new_bush_handlers(self)
  return {
    enter = function(bush, id)
      self.inside[id] = self.inside[id] or {}
      self.inside[id][bush] = true
      mark(self.noted, id)
    end,
    leave = function(bush, id)
      local bushes = self.inside[id]
      bushes[bush] = nil
      if next(bushes) == nil then self.inside[id] = nil end
      mark(self.noted, id)
    end,
  }
end

-- Watchers on no layer are seen by no node, those of bushes neither: a tick asks who of them is in a bush.
local function note_unlayered(self)
  local now, space = {}, self.space
  for _, side in ipairs(next(self.bushes) and self.order or {}) do
    for id in pairs(side.nodes) do
      if space:layers(id) == 0 and space:kind(id) ~= 0 then now[id] = {} end
    end
  end
  for bush, area in pairs(next(now) and self.bushes or {}) do
    local x, y, z = space:position(bush)
    if not x then self.bushes[bush] = nil end
    for _, id in ipairs(x and (z and space:near(x, y, z, area) or space:near(x, y, area)) or {}) do
      if now[id] then now[id][bush] = true end
    end
  end
  for _, entities in ipairs { self.unlayered, now } do
    for _, id in ipairs((sorted_keys(entities))) do mark(self.noted, id) end
  end
  self.unlayered = now
end

-- Evaluation ----------------------------------------------------------------------------------------------------------

local function share(bushes, others)
  for bush in pairs(others or {}) do
    if bushes[bush] then return true end
  end
  return false
end

local function is_visible(self, side, target)
  if not side.count[target] then return false end
  local bushes = self.inside[target]
  if not bushes then return true end
  local watchers, n = self.space:viewers(target, self.buffer)
  for i = 1, 2 * n, 2 do
    local watcher, node = watchers[i], watchers[i + 1]
    if side.nodes[watcher] == node
      and (share(bushes, self.inside[watcher]) or share(bushes, self.unlayered[watcher]))
      and (not self.sight or self.sight:sees(watcher, node, target)) then
      return true
    end
  end
  return false
end

-- Removes the nodes of watchers that have left the space.
local function sweep(self, side)
  side.size = 0
  for id in pairs(side.nodes) do
    if node_of(self, side, id) then side.size = side.size + 1 else side.nodes[id] = nil end
  end
  side.bound = 2 * side.size + 16
end

-- Appends a call to the queue: side, event, target and the life of its id (checks.life).
local function queue(self, side, event, target, life)
  local calls, last = self.calls, self.last
  calls[last + 1], calls[last + 2], calls[last + 3], calls[last + 4] = side, event, target, life
  self.last = last + 4
end

-- Queues the calls for one kind of event. A team knows one life of an id: a later entity of that id is another target.
local function evaluate(self, side, event)
  for _, target in ipairs(side.changed) do
    local known, now = side.known[target], is_visible(self, side, target) and checks.life(self.space, target)
    if event == "leave" and known and known ~= now then
      side.known[target] = nil
      queue(self, side, "leave", target, known)
    elseif event == "enter" and now and not known then
      side.known[target] = now
      queue(self, side, "enter", target, now)
    end
  end
end

-- The public part -----------------------------------------------------------------------------------------------------

--- Makes a set of teams for a space. Bushes are the same for all of them.
---@param space aoi.Space
---@param handlers aoi.TeamHandlers
---@param none? nil a sight is given among the handlers
---@return aoi.Teams
function team.new(space, handlers, none)
  checks.space(space, team, "team")
  checks.nothing(none, 3, "new")
  checks.type(handlers, "table", 2, "new")
  for name, handler in pairs(handlers) do
    if name ~= "enter" and name ~= "leave" and name ~= "sight" then
      checks.fail(2, "new", ("unknown handler '%s': 'enter' or 'leave' expected"):format(tostring(name)))
    elseif name ~= "sight" and not checks.is_callable(handler) then
      checks.fail(2, "new", ("bad handler '%s': function expected, got %s"):format(name, type(handler)))
    end
  end
  local self = setmetatable({
    space = space, handlers = handlers, sides = {}, order = {}, inside = {}, noted = new_marks(), buffer = {},
    bushes = {}, unlayered = {}, calls = {}, first = 1, last = 0,
  }, Sight)
  self.in_bush = new_bush_handlers(self)
  if handlers.sight ~= nil then -- the teams have a sight of their own with the same walls: Sight:tick ticks it
    if not checks.is_sight(space, handlers.sight) then
      local words = "bad value for option 'sight' (an open sight of the same space expected, got %s)"
      checks.fail(2, "new", words:format(tostring(handlers.sight)))
    end
    self.sight = sights.new(space, { walls = handlers.sight })
  end
  return self
end

--- The teams on one space.
---@class aoi.Teams
Sight = {}
Sight.__index = Sight

local function side_of(self, name, method)
  if name == nil or name ~= name then
    checks.fail(1, method, "a team expected, got " .. (name == nil and "no value" or "nan"), 3)
  end
  return self.sides[name]
end

--- Makes an entity a watcher of a team, until it leaves the space. The first watcher creates the team.
---@param name any name of the team; not nil
---@param id integer the watcher: a hero, a ward
---@param area number|aoi.Area half-extent of a square in world units, or the table; `mask` selects kinds of targets
function Sight:add(name, id, area)
  checks.self(self, Sight, "add", "sight:add(team, id, area)")
  local side = side_of(self, name, "add")
  checks.entity(self.space, id, 2, "add")
  if node_of(self, side, id) then
    checks.fail(2, "add", ("entity %s watches for that team already"):format(checks.spell(id)))
  end
  local valid = type(area) == "number" and area >= 0 and area <= checks.FARTHEST
  local fault = not valid and (type(area) == "table" and checks.area_fault or checks.near_fault)(self.space, area)
  if type(area) == "table" then fault = fault or checks.near_fault(self.space, { radius = 0, mask = area.mask }) end
  if fault then checks.fail(3, "add", fault) end -- before anything is made
  side = side or new_side(self, name)
  if side.size >= side.bound then sweep(self, side) end
  local node = reserved.node(self.space)
  side.nodes[id], side.size = node, side.size + 1
  local of = self.sight
  local add = of and of.add or self.space.add_node
  checks.call("add", { [2] = 2, [4] = 3 }, add, of or self.space, id, node, area, side.enter, side.leave)
end

--- Removes a watcher from a team.
---@param name any name of the team
---@param id integer the watcher
---@return boolean done false if it was none
function Sight:remove(name, id)
  checks.self(self, Sight, "remove", "sight:remove(team, id)")
  local side = side_of(self, name, "remove")
  checks.id(id, 2, "remove")
  checks.open(self.space)
  local node = node_of(self, side, id)
  if side then side.nodes[id] = nil end
  if node then self.space:remove_node(id, node) end
  return node ~= nil
end

--- The node of a watcher, for `space:set_area`, `set_mask`, `override`.
---@param name any name of the team
---@param id integer the watcher
---@return integer? node nil if the entity is no watcher of that team
function Sight:node(name, id)
  checks.self(self, Sight, "node", "sight:node(team, id)")
  local side = side_of(self, name, "node")
  checks.id(id, 2, "node")
  checks.open(self.space)
  return node_of(self, side, id)
end

--- Adds a bush, for all teams. Bushes may overlap: a target is seen if it shares at least one bush with the watcher.
---@param points number[] `x1, y1, x2, y2, ...` in world units, 3 to 65,535 corners on the map
---@return integer bush its id, an entity of kind 0; `space:leave(bush)` removes it
function Sight:bush(points)
  checks.self(self, Sight, "bush", "sight:bush(points)")
  checks.type(points, "table", 1, "bush")
  checks.open(self.space)
  local space, low, high, n = self.space, { math.huge, math.huge }, { -math.huge, -math.huge }, #points
  for i = 1, math.min(n, 131070) do
    local v, axis = points[i], 2 - i % 2
    checks.finite(v, 1, "bush")
    if math.abs(v) > checks.FARTHEST then
      checks.fail(1, "bush", "corners of at most 2^50 either way expected, got " .. v)
    end
    low[axis], high[axis] = math.min(low[axis], v), math.max(high[axis], v)
  end
  if n % 2 ~= 0 or n < 6 or n > 131070 then
    checks.fail(1, "bush", "x and y of 3 to 65535 corners expected")
   end
  local x, y = (low[1] + high[1]) / 2, (low[2] + high[2]) / 2
  local corners = {}
  for i = 1, n do corners[i] = points[i] - (i % 2 == 1 and x or y) end
  local id = reserved.entity(space, x, y, space:dimensions() == 3 and 0 or nil)
  local area = { shape = "polygon", points = corners, layers = -1 } -- all layers, not those of the bush
  checks.call("bush", { [4] = 1 }, space.add_node, space, id, reserved.node(space), area, self.in_bush)
  self.bushes[id] = { shape = "polygon", points = corners }
  return id
end

--- Calls the handlers for the changes since the last tick: all leaves, then all enters. Handlers may call any method.
--- An error in one is raised from here; the remaining calls are made by the next tick.
---@param none? nil a tick has no length
---@return integer n the number of calls
function Sight:tick(none)
  checks.self(self, Sight, "tick", "sight:tick()")
  checks.nothing(none, 1, "tick")
  checks.open(self.space)
  if self.sight then self.sight:tick() end
  note_unlayered(self)
  for _, id in ipairs(self.noted) do mark_entity(self, id) end
  clear(self.noted)
  for _, event in ipairs { "leave", "enter" } do
    for _, side in ipairs(self.order) do evaluate(self, side, event) end
  end
  for _, side in ipairs(self.order) do clear(side.changed) end
  local n, calls = 0, self.calls
  while self.first <= self.last and self.space:is_open() do -- a handler may close it
    local i = self.first
    local side, event, target, life = calls[i], calls[i + 1], calls[i + 2], calls[i + 3]
    calls[i], calls[i + 1], calls[i + 2], calls[i + 3] = nil, nil, nil, nil
    self.first = i + 4
    if event == "enter" and checks.life(self.space, target) ~= life then -- it has left the space since
      if side.known[target] == life then side.known[target] = nil else side.cancelled[target] = life end
    elseif event == "leave" and side.cancelled[target] == life then
      side.cancelled[target] = nil
    else
      n = n + 1
      local handler = self.handlers[event]
      if handler then handler(side.name, target) end
    end
  end
  self.first, self.last = 1, 0
  return n
end

--- Whether a target was visible for a team in the last tick.
---@param name any name of the team
---@param target integer
---@return boolean
function Sight:knows(name, target)
  checks.self(self, Sight, "knows", "sight:knows(team, target)")
  local side = side_of(self, name, "knows")
  checks.id(target, 2, "knows")
  return side ~= nil and side.known[target] ~= nil
end

--- The targets that were visible for a team in the last tick, sorted by id.
---@param name any name of the team
---@param buf? integer[] a table to fill
---@return integer[] list `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Sight:known(name, buf)
  checks.self(self, Sight, "known", "sight:known(team)")
  checks.buffer(buf, 2, "known")
  local side, list, sorted, n = side_of(self, name, "known"), buf or {}, self.buffer, 0
  for target in pairs(side and side.known or {}) do
    n = n + 1
    sorted[n] = target
  end
  checks.end_list(sorted, n)
  table.sort(sorted)
  for i = 1, n do list[i] = sorted[i] end
  checks.end_list(list, n) -- the table may hold other things behind it
  return list, n
end

return team
