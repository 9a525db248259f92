-- calls.lua: every function that has annotations, with something to call it on and arguments that it takes.
--
--   local w = calls.world(2)                      a space, and one of everything that stands on a space
--   for key, f in pairs(calls.functions(2)) do    "Space:enter", "sync.new" ...: annotations.read has f.params, f.param
--     calls.call(f, w, calls.arguments(f, w))     as users write it, because messages count the arguments of methods
--
-- In two dimensions a function has no parameters for heights. f.native: it is written in C. Functions that no world has
-- an object for are left out.
local aoi = require "aoi"
local annotations = require "spec.support.annotations"

local calls = {}

local compile = loadstring or load -- luacheck: ignore
local unpack = table.unpack or unpack -- luacheck: ignore
local function noop() end

local modules = { aoi = aoi }
for _, name in ipairs { "history", "journal", "neighbors", "sight", "sync", "team", "trigger", "viewer", "zones" } do
  modules[name] = require("aoi." .. name)
end

calls.sources = { trigger = "lua/aoi/trigger.lua", zones = "lua/aoi/zones.lua", neighbors = "lua/aoi/neighbors.lua" }
calls.sources.team = "lua/aoi/team.lua"
for _, topic in ipairs { "aoi", "space", "sync", "sight", "history", "journal", "viewer" } do
  calls.sources[topic] = ("lua/aoi/meta/%s.lua"):format(topic)
end

-- The key of a world by the owner of a method.
local OBJECTS = {
  Space = "space", Sync = "clients", History = "past", Journal = "journal", Player = "player", Observer = "observer",
  Triggers = "triggers", Trigger = "trigger", Zones = "zones", Neighbors = "near", ["Trigger:set_facing"] = "sector",
}

-- 1 at the origin sees 2 at (3, 0) by its nodes 7, a square, and 9, a sector.
function calls.world(dimensions)
  local w = { space = aoi.new { dimensions = dimensions } }
  local space, z = w.space, dimensions == 3 and 0 or nil
  space:enter(1, 0, 0, z)
  space:enter(2, 3, 0, z)
  space:add_node(1, 7, 5, noop, noop)
  space:add_node(1, 9, { shape = "sector", radius = 5, facing = 0, angle = 1 })
  w.handlers = { alert = { radius = 5, enter = noop }, bell = { radius = 4 } }
  w.triggers = modules.trigger.new(space, w.handlers)
  w.trigger = w.triggers:add(2, "alert")
  w.sector = w.triggers:add(2, "bell", { shape = "sector", radius = 5, facing = 0, angle = 1 })
  w.near = modules.neighbors.new(space)
  w.near:add(1, 5)
  w.clients = modules.sync.new(space, { fields = { { "hp", "u8" }, { "name", "string" } } })
  w.clients:add(1, 5)
  w.teams = modules.team.new(space, {})
  w.teams:add("red", 1, 5)
  w.zones = modules.zones.new(space, {})
  w.zones:add("cave", 5, 0, 0, z)
  w.walls = modules.sight.new(space)
  w.wall = w.walls:wall(1, -1, 1, 1)
  w.walls:add(1, 3, 10, { enter = noop })
  w.past = modules.history.new(space, 10)
  w.observer = aoi.observe(space)
  local bytes = {}
  w.journal = modules.journal.record(space, function(part) bytes[#bytes + 1] = part end)
  w.journal:stop()
  w.player = modules.journal.open(table.concat(bytes))
  w.journal = modules.journal.record(space, noop)
  return w
end

-- By name of a parameter, and where it means something else by function.
local SAMPLES = {
  x0 = 0, y0 = 0, z0 = 0, x1 = 5, y1 = 0, z1 = 0, x2 = 9, y2 = 9, x = 1, y = 2, z = 3, dx = 1, dy = 2, dz = 3,
  id = 1, node_id = 7, target = 2, carrier = 2, wall = 1, client = 1, i = 1, team = 1, kind = 1, mask = 1, layers = 2,
  extent = 5, radius = 5, keep = 6, area = 5, facing = 1, how = "hide", passengers = true, reason = 3, ago = 0,
  n = 1, most = 5, ticks = 5, time = 1, now = 1, dt = 1, priority = 1, name = "alert", value = 1, buf = {}, ends = {},
  seen = { 2 }, gone = {}, points = { 0, 0, 1, 0, 1, 1 }, data = {}, reasons = {}, into = {}, options = {},
  handlers = {}, on_enter = noop, on_leave = noop, f = noop, bad = noop, send = noop, sink = noop, filters = noop,
  path = "/nowhere", bytes = "", message = "",
}
local SPECIAL = {
  ["Space:enter"] = { id = 50 }, ["Space:add_node"] = { node_id = 8 }, ["Space:adopt"] = { node_id = 8 },
  ["Space:set_facing"] = { node_id = 9 }, ["Sync:add"] = { id = 2 }, ["Neighbors:add"] = { id = 2 },
  ["Sync:put"] = { name = "hp" }, ["Sync:get"] = { name = "hp" }, ["Triggers:region"] = { name = "bell" },
  ["Triggers:dispatch"] = { n = 0 }, ["Neighbors:dispatch"] = { n = 0 }, ["Zones:dispatch"] = { n = 0 },
  ["Zones:add"] = { name = "hall", n = 0 }, ["Zones:remove"] = { name = "cave" },
  ["Zones:set_priority"] = { name = "cave" }, ["Sync:pin"] = { target = 2 }, ["aoi.load"] = { handlers = noop },
  ["Space:nearest"] = { options = { least = 1 } },
}

local function sample(f, name, w)
  local special = SPECIAL[f.key]
  if special and special[name] ~= nil then return special[name] end
  if name == "space" then return w.space end
  if name == "none" then return nil end
  if name == "picture" then return (w.clients:picture(1)) end
  if f.owner == "Sight" then
    if f.native then
      if name == "node_id" then return f.name == "add" and 4 or 3 end
    elseif name == "name" then
      return f.name == "add" and "blue" or "red"
    end
  end
  -- Rows as wide as the space is high.
  if name == "t" then return { f.name == "enter_many" and 50 or 1, 0, 0, w.space:dimensions() == 3 and 0 or nil } end
  if name == "rows" then return { 1, 2, w.space:dimensions() == 3 and 3 or nil } end
  local value = SAMPLES[name]
  assert(value ~= nil, "no sample for " .. name .. " of " .. f.key)
  return value
end

-- The arguments, and how many they are.
function calls.arguments(f, w)
  local list = {}
  for i, param in ipairs(f.param) do list[i] = sample(f, param.name, w) end
  return list, #f.param
end

-- What the function is called on; nil for what no world has.
function calls.object(f, w)
  if not f.method then return modules[f.owner] end
  if f.owner == "Sight" then return f.native and w.walls or w.teams end
  return w[OBJECTS[f.key] or OBJECTS[f.owner]]
end

-- The call with ":" or "."; the usual one without it. No tail call, which would have no name.
function calls.call(f, w, list, n, separator)
  local call = assert(compile(([[
    local o, unpack, a, n = ...
    local function same(...) return ... end
    return same(o%s%s(unpack(a, 1, n)))]]):format(separator or f.method and ":" or ".", f.name), "@caller"))
  return call(calls.object(f, w), unpack, list, n)
end

local function of_dimensions(f, dimensions)
  local copy = { param = {} }
  for name, value in pairs(f) do copy[name] = copy[name] or value end
  for _, param in ipairs(f.param or {}) do
    if dimensions == 3 or not param.name:match "^d?z%d?$" then table.insert(copy.param, param) end
  end
  return copy
end

function calls.functions(dimensions)
  local list, w = {}, calls.world(dimensions)
  for topic, path in pairs(calls.sources) do
    for key, f in pairs(annotations.read(path).functions) do
      if not f.constant then
        local copy = of_dimensions(f, dimensions)
        copy.key, copy.native = key, path:find("/meta/", 1, true) ~= nil
        local object = calls.object(copy, w)
        if object then
          copy.native = debug.getinfo(object[copy.name], "S").what == "C"
          list[topic .. ": " .. key] = copy
        end
      end
    end
  end
  return list
end

return calls
