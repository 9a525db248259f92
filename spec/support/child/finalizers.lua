-- finalizers.lua: runs in a small Lua state (faulty.c), where a full collection at every allocation is cheap:
-- finalizers run inside every call that makes a table or a string, and use or close the space.
--
-- Argument: engine.
local engine = ...

local aoi = require "aoi"

pcall(collectgarbage, "incremental")
collectgarbage("setpause", 0)
collectgarbage("setstepmul", 1000000)

local function mortal(f)
  if _VERSION ~= "Lua 5.1" then return setmetatable({}, { __gc = f }) end
  local proxy = newproxy(true) -- luacheck: ignore
  getmetatable(proxy).__gc = f
  return proxy
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
}

-- What finalizers do to the space.
local deeds = {
  function(s) s:close() end,
  function(s) s:near(0, 0, 1e9) end,
  function(s) s:leave(1) end,
  function(s) s:drain() end,
  function(s)
    local rows = {}
    for q = 1, 300 do rows[3 * q - 2], rows[3 * q - 1], rows[3 * q] = 1000 + q, 1, 1 end
    s:enter_many(rows)
    s:near(0, 0, 1e9)
  end,
}

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
        for id = 1, 10 do space:add_node(id, 1, 100, handler) end
        local armed = false
        local function finalizer()
          if not armed then return end
          armed = false
          collectgarbage("stop")
          struck[name] = (struck[name] or 0) + 1
          pcall(deed, space)
        end
        for _ = 1, round do mortal(finalizer) end
        armed = true
        collectgarbage("restart")
        local ok, list, n = pcall(call, space)
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
