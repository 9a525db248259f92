-- gc_stress.lua: runs in a small Lua state (faulty.c), where collecting all the time is cheap.
--
-- Arguments: the collector's mode ("incremental", "generational"), what is to happen; for "busy", engine and delivery.
local mode, what, engine, delivery = ...

local aoi = require "aoi"
local dump = require "spec.support.dump"
local mortal = require "spec.support.mortal"
local rng = require "spec.support.rng"

local function start()
  if mode == "generational" then return collectgarbage("generational") end
  pcall(collectgarbage, "incremental")
  collectgarbage("setpause", 0)
  collectgarbage("setstepmul", 1000)
end

local function same(expected, got)
  if expected ~= got then error(("%s, but expected %s"):format(tostring(got), tostring(expected)), 2) end
end

-- A busy hour: every method, many handlers that make garbage and new handlers.
local function busy(random, steps)
  local space = aoi.new { engine = engine, delivery = delivery }
  local heard = 0
  local function handlers()
    local own = {}
    local function on_enter(watcher, target, node_id)
      own[#own + 1] = { watcher, target, node_id }
      heard = heard + 1
    end
    local function on_leave()
      own = {}
      heard = heard + 1
    end
    if random(2) == 1 then return { enter = on_enter, leave = on_leave } end
    return on_enter, on_leave
  end
  for i = 1, steps do
    local id, node_id, verb = random(12), random(2), random(10)
    if not space:has(id) then
      space:enter(id, random(20), random(20))
    elseif verb <= 4 then
      space:move(id, random(20), random(20))
    elseif verb == 5 then
      space:leave(id)
    elseif verb <= 7 then
      if space:radius(id, node_id) then space:remove_node(id, node_id)
      else space:add_node(id, node_id, random(8), handlers()) end
    elseif verb == 8 then
      local t, n = space:ids()
      local rows = {}
      for k = 1, n do rows[3 * k - 2], rows[3 * k - 1], rows[3 * k] = t[k], random(20), random(20) end
      space:move_many(rows)
    elseif verb == 9 then
      space:viewers(id)
      space:near(random(20), random(20), 5)
      space:nodes(id)
      space:stats()
    else
      space:flush()
    end
    if i % 10 == 0 then assert(space:check()) end
  end
  space:flush()
  return dump(space), heard
end

local scenes = {}

function scenes.busy()
  collectgarbage("stop")
  local expected, heard = busy(rng.new(71), 150)
  collectgarbage("restart")
  start()
  local got, heard_too = busy(rng.new(71), 150)
  same(expected, got)
  same(heard, heard_too)
end

function scenes.orders()
  start()
  -- four things that know each other in a circle, let go of in all 24 orders
  local orders = {}
  local function permute(list, k)
    if k > #list then orders[#orders + 1] = { list[1], list[2], list[3], list[4] } end
    for i = k, #list do
      list[k], list[i] = list[i], list[k]
      permute(list, k + 1)
      list[k], list[i] = list[i], list[k]
    end
  end
  permute({ "space", "handler", "coroutine", "entity" }, 1)
  same(24, #orders)
  local weak = setmetatable({}, { __mode = "v" })
  for _, order in ipairs(orders) do
    for _, kind in ipairs(aoi.engines()) do
      local things = { space = aoi.new { engine = kind }, entity = { hp = 1 } }
      local circle = { things.space, things.entity }
      function things.handler(watcher, target)
        if coroutine.isyieldable and coroutine.isyieldable() then coroutine.yield(watcher, target) end
        return circle, things
      end
      circle[3] = things.handler
      things.coroutine = coroutine.create(function()
        local space = things.space
        space:enter(1, 0, 0)
        space:add_node(1, 1, 5, things.handler, things.handler)
        for id = 2, 6 do space:enter(id, id, 0) end
        coroutine.yield(space)
      end)
      coroutine.resume(things.coroutine)
      circle[4] = things.coroutine
      for _, name in ipairs(order) do weak[#weak + 1] = things[name] end
      local space = things.space
      for _, name in ipairs(order) do
        things[name] = nil
        collectgarbage("step", 100)
        if things.space then assert(things.space:check()) end
      end
      assert(space:check())
    end
  end
  for _ = 1, 4 do collectgarbage() end
  local alive = 0
  for _ in pairs(weak) do alive = alive + 1 end
  same(0, alive)
end

function scenes.memory()
  start()
  collectgarbage()
  local closed = 0
  for i = 1, 60 do
    local space = aoi.new { engine = aoi.engines()[i % #aoi.engines() + 1] }
    local guard = mortal(function() closed = closed + 1 end)
    space:enter(1, 0, 0)
    space:add_node(1, 1, 5, function() return guard, space end)
  end
  for _ = 1, 4 do collectgarbage() end
  same(60, closed)
end

scenes[what]()
return "done"
