-- finalizers.lua: runs in a small Lua state (faulty.c), where a full collection at every allocation is cheap:
-- finalizers run inside every call that makes a table or a string, and use or close the space.
--
-- In every other round a table has grown just before the call. The collector has not looked at that memory: it does so
-- where the call takes its first string, if only a name that is there already, and may stand between two arguments.
--
-- Argument: engine.
local engine = ...

local aoi = require "aoi"
local history = require "aoi.history"
local mortal = require "spec.support.mortal"

pcall(collectgarbage, "incremental")
collectgarbage("setpause", 0)
collectgarbage("setstepmul", 1000000)

local NAME = ("somebody "):rep(100)

-- Not one of the errors that a call may raise: those are strings.
local function wrong(what)
  error(setmetatable({}, { __tostring = function() return what end }))
end

-- Answers of one piece: n values that are there.
local calls = {
  { "view", function(s) return s:view(1, 1) end },
  { "viewers", function(s) return s:viewers(1) end },
  { "near", function(s) return s:near(0, 0, 50) end },
  { "near with a mask", function(s) return s:near(0, 0, 50, 1) end },
  { "ids", function(s) return s:ids() end },
  { "nodes", function(s) return s:nodes(1) end },
  { "drain", function(s) return s:drain() end },
  { "stats", function(s) return s:stats(), 0 end },
  { "tostring", function(s) return { tostring(s) }, 1 end },
  { "misuse", function(s) return s:move(77, 0, 0), 0 end },
  { "misuse of rows", function(s) return s:move_many { 1, 2, 3, 77, 0, 0 }, 0 end },
  { "add_node", function(s)
    s:add_node(1, 2, setmetatable({ radius = 5 }, { __index = function() s:close() end }))
    return {}, 0
  end },
  { "leave", function(s) s:leave(1) return {}, 0 end },
  { "flush", function(s) return {}, s:flush() * 0 end },
  { "near into a table", function(s, o) return s:near(0, 0, 50, o.list) end },
  { "near an area", function(s, o) return s:near(0, 0, o.area) end },
  { "near an area, into a table", function(s, o) return s:near(0, 0, o.area, o.list) end },
  { "near_many", function(s, o) return s:near_many(o.rows, o.area, o.list) end },
  { "nearest", function(s, o) return s:nearest(0, 0, 3, o.list) end },
  { "sweep", function(s, o) return s:sweep(0, 0, 9, 9, 1, o.list) end },
  { "set_area", function(s, o) return o.list, 0, s:set_area(1, 1, o.area) end },
  { "add_node with an area", function(s, o) return o.list, 0, s:add_node(1, 2, o.area, o.handlers) end },
  { "add_node with handlers", function(s, o) return o.list, 0, s:add_node(1, 2, 5, o.handlers) end },
  { "adopt", function(s, o) return o.list, 0, s:adopt(1, 2, 5, o.list, o.handlers) end },
  { "history:near", function(_, o) return o.history:near(0, 0, 0, 50, o.list) end },
  { "history:near an area", function(_, o) return o.history:near(0, 0, 0, o.area) end },
  { "sight.new", function(s, o) return o.list, 0, aoi.sight.new(s, o.walls) end },
  { "sight:add", function(_, o) return o.list, 0, o.sight:add(1, 3, 5, o.handlers) end },
  { "sight:add an area", function(_, o) return o.list, 0, o.sight:add(1, 3, o.area) end },
  { "sync.new", function(s, o) return o.list, 0, aoi.sync.new(s, o.sighted) end },
  { "sync:add", function(_, o) return o.list, 0, o.sync:add(2, o.area) end },
  { "sync:set_view", function(_, o) return o.list, 0, o.sync:set_view(1, 1, o.area) end },
  { "sync:tick", function(_, o) return o.list, 0, o.sync:tick(o.callable) end },
  { "sync:get", function(_, o)
    local name = o.sync:get(1, "name")
    if name ~= NAME and name ~= "nobody" then wrong "another value" end
    return o.list, 0
  end },
  { "sync:tick, and its bytes", function(_, o)
    o.sync:tick(o.hear)
    if o.bytes and not pcall(aoi.sync.read, o.bytes) then wrong "another message" end
    return o.list, 0
  end },
  { "observer:changes", function(_, o) return o.list, 0, o.observer:changes() end },
  { "observer:structure", function(_, o) return o.list, 0, o.observer:structure(0, 0, 9, 9) end },
}

-- What finalizers do to the space.
local deeds = {
  function(s) s:close() end,
  function(s) s:near(0, 0, 1e9) end,
  function(s) s:leave(1) end,
  function(s) s:drain() end,
  function(_, o) o.sight:close() end,
  function(_, o) o.sync:close() end,
  function(_, o) o.history:close() end,
  function(_, o) o.observer:close() end,
  function(_, o) o.sync:put(1, "name", "nobody") end,
  function(s)
    local rows = {}
    for q = 1, 300 do rows[3 * q - 2], rows[3 * q - 1], rows[3 * q] = 1000 + q, 1, 1 end
    s:enter_many(rows)
    s:near(0, 0, 1e9)
  end,
}

-- What stands on the space, and arguments: nothing is made during a call but what the call makes.
local function objects_on(space)
  local o = {
    list = {}, rows = { 0, 0, 9, 9 }, area = { shape = "circle", radius = 5 }, handlers = { enter = function() end },
    callable = setmetatable({}, { __call = function() end }), sight = aoi.sight.new(space),
    sync = aoi.sync.new(space, { fields = { { "name", "string" } } }), history = history.new(space, 3),
    observer = aoi.observe(space),
  }
  function o.hear(_, bytes) o.bytes = bytes end
  o.walls, o.sighted = { walls = o.sight }, { sight = o.sight }
  o.sync:add(1, 5)
  o.sync:put(1, "name", NAME)
  o.history:tick()
  return o
end

local struck = {}
for _, item in ipairs(calls) do
  local name, call = item[1], item[2]
  for _, deed in ipairs(deeds) do
    for _, delivery in ipairs { "deferred", "immediate" } do
      for round = 1, 4 do
        collectgarbage("stop") -- what becomes garbage is not noticed before the call
        local space = aoi.new { engine = engine, delivery = delivery }
        for id = 1, 30 do space:enter(id, id, 0) end
        local function handler() return { round } end
        local grown = {}
        for id = 1, 10 do space:add_node(id, 1, 100, handler) end
        local objects = objects_on(space)
        local armed = false
        local function finalizer()
          if not armed then return end
          armed = false
          collectgarbage("stop")
          struck[name] = (struck[name] or 0) + 1
          pcall(deed, space, objects)
        end
        for _ = 1, round do mortal(finalizer) end
        armed = true
        collectgarbage("restart")
        if round % 2 == 0 then
          for k = 1, round do grown[k] = k end
          if #grown < round then error("it has not grown", 0) end
        end
        local ok, list, n = pcall(call, space, objects)
        armed = false
        collectgarbage("stop")
        if ok then
          for i = 1, n do if not list[i] then error(name .. ": an answer with a hole", 0) end end
        elseif type(list) ~= "string" then
          error(name .. ": " .. tostring(list), 0)
        end
        if pcall(space.count, space) then space:check() end
        space:close()
      end
      collectgarbage("restart")
      collectgarbage()
    end
  end
end
for i = 1, 7 do -- those that always make a table
  local name = calls[i][1]
  if (struck[name] or 0) < 10 then error(("%s: %d times"):format(name, struck[name] or 0), 0) end
end
return "done"
