-- The collector at work in the middle of everything, in every mode; and things dying in every order.
local aoi = require "aoi"
local dump = require "spec.support.dump"
local rng = require "spec.support.rng"

local collects_userdata_only = _VERSION == "Lua 5.1" -- no __gc on tables, LuaJIT without 5.2 extensions included

-- Something whose end is noticed by f.
local function mortal(f)
  if not collects_userdata_only then return setmetatable({}, { __gc = f }) end
  local proxy = newproxy(true) -- luacheck: ignore
  getmetatable(proxy).__gc = f
  return proxy
end

-- Modes of the collector, where the version has them: a name, how to begin it and how to go back.
local function modes()
  local list = {}
  local old_pause, old_step
  list[#list + 1] = {
    name = "incremental, all the time",
    start = function()
      pcall(collectgarbage, "incremental")
      old_pause = collectgarbage("setpause", 0)
      old_step = collectgarbage("setstepmul", 1000)
    end,
    stop = function()
      collectgarbage("setpause", old_pause)
      collectgarbage("setstepmul", old_step)
    end,
  }
  if pcall(collectgarbage, "generational") then
    collectgarbage("incremental")
    list[#list + 1] = {
      name = "generational",
      start = function() collectgarbage("generational") end,
      stop = function() collectgarbage("incremental") end,
    }
  end
  return list
end

-- A busy hour: every method, many handlers that make garbage and new handlers.
local function busy(engine, delivery, random, steps)
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

for _, mode in ipairs(modes()) do
  describe("the collector, " .. mode.name .. ",", function()
    before_each(mode.start)
    after_each(mode.stop)

    for _, engine in ipairs(aoi.engines()) do
      for _, delivery in ipairs { "immediate", "deferred" } do
        it(("changes nothing, %s %s"):format(engine, delivery), function()
          mode.stop()
          local expected, heard = busy(engine, delivery, rng.new(71), 150)
          mode.start()
          local got, heard_too = busy(engine, delivery, rng.new(71), 150)
          assert.equal(expected, got)
          assert.equal(heard, heard_too)
        end)
      end
    end

    it("takes spaces, handlers and coroutines in every order", function()
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
      assert.equal(24, #orders)
      local weak = setmetatable({}, { __mode = "v" })
      for _, order in ipairs(orders) do
        for _, engine in ipairs(aoi.engines()) do
          local things = { space = aoi.new { engine = engine }, entity = { hp = 1 } }
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
            if things.space then assert.is_true(things.space:check()) end
          end
          assert.is_true(space:check())
        end
      end
      for _ = 1, 4 do collectgarbage() end
      local alive = 0
      for _ in pairs(weak) do alive = alive + 1 end
      assert.equal(0, alive)
    end)

    it("takes the memory of spaces along", function()
      collectgarbage()
      local closed = 0
      for i = 1, 60 do
        local space = aoi.new { engine = aoi.engines()[i % #aoi.engines() + 1] }
        local guard = mortal(function() closed = closed + 1 end)
        space:enter(1, 0, 0)
        space:add_node(1, 1, 5, function() return guard, space end)
      end
      for _ = 1, 4 do collectgarbage() end
      assert.equal(60, closed)
    end)
  end)
end

describe("a finalizer", function()
  local path = os.getenv("AOI_FAULTY")
  if not path then
    pending("needs AOI_FAULTY: run the specs with `make spec`")
    return
  end
  local faulty = assert(package.loadlib(path, "luaopen_faulty"))()

  for _, engine in ipairs(aoi.engines()) do
    it("may use and close the space in the middle of a call, " .. engine, function()
      local ok, result, left = faulty.run("spec/support/finalizers.lua", package.path, package.cpath, engine)
      if ok == nil then pending(result) return end
      if not ok then error(result, 0) end
      assert.equal(0, left)
    end)
  end
end)

describe("a coroutine that dies in a handler", function()
  if not coroutine.isyieldable or not pcall(function()
    -- handlers may yield from 5.3 on
    local space, resumed = aoi.new(), false
    coroutine.wrap(function()
      space:enter(1, 0, 0)
      space:add_node(1, 1, 5, function() coroutine.yield() end)
      space:enter(2, 0, 0)
      resumed = true
    end)()
    assert(not resumed)
  end) then
    pending("needs handlers that may yield: Lua 5.3 or later")
    return
  end

  for _, engine in ipairs(aoi.engines()) do
    local function suspended(space, heard)
      local co = coroutine.create(function()
        space:add_node(1, 1, 50, function(_, target)
          heard[#heard + 1] = target
          if #heard == 1 then coroutine.yield() end
        end)
      end)
      coroutine.resume(co)
      assert.equal(1, #heard)
      return co
    end

    it("by the collector loses no event, " .. engine, function()
      local space, heard = aoi.new { engine = engine }, {}
      for id = 1, 5 do space:enter(id, id, 0) end
      suspended(space, heard)
      for _ = 1, 3 do collectgarbage() end
      assert.equal(3, space:flush())
      assert.equal(4, #heard)
      space:enter(6, 0, 0) -- and delivery goes on as ever
      assert.equal(5, #heard)
      assert.is_true(space:check())
    end)

    if coroutine.close then -- luacheck: ignore
      it("by coroutine.close loses no event, " .. engine, function()
        local space, heard = aoi.new { engine = engine }, {}
        for id = 1, 5 do space:enter(id, id, 0) end
        local co = suspended(space, heard)
        assert.is_true(coroutine.close(co)) -- luacheck: ignore
        space:enter(6, 0, 0)
        assert.equal(5, #heard)
        assert.is_true(space:check())
      end)
    end

    it("with its space closed meanwhile ends quietly, " .. engine, function()
      local space, heard = aoi.new { engine = engine }, {}
      for id = 1, 5 do space:enter(id, id, 0) end
      local co = suspended(space, heard)
      space:close()
      assert.is_true(coroutine.resume(co))
      assert.equal("dead", coroutine.status(co))
      assert.equal(1, #heard)
    end)
  end
end)
