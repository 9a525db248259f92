-- The garbage collector runs all the time, in every mode; objects that reference each other die in every order.
local aoi = require "aoi"
local tree = require "spec.support.tree"

-- A small Lua of its own, built by make, next to the core: there a collection takes no time, so all can happen in one.
local path = os.getenv("AOI_FAULTY")
local faulty = path and assert(package.loadlib(path, "luaopen_faulty"))()

local function run(script, ...)
  local ok, result, left = faulty.run("spec/support/child/" .. script, package.path, package.cpath, ...)
  if ok == nil then pending(result) return end
  if not ok then error(result, 0) end
  assert.equal(0, left, "bytes that were not given back")
end

local modes = { "incremental" }
if pcall(collectgarbage, "generational") then
  collectgarbage("incremental")
  modes[2] = "generational"
end

for _, mode in ipairs(modes) do
  describe("the collector, " .. mode .. ", all the time,", function()
    if not faulty then
      pending("needs AOI_FAULTY: run the specs with `make spec`")
      return
    end

    for _, engine in ipairs(tree.engines) do
      for _, delivery in ipairs { "immediate", "deferred" } do
        it(("changes nothing, %s %s"):format(engine, delivery), function()
          run("gc_stress.lua", mode, "busy", engine, delivery)
        end)
      end
    end

    it("takes spaces, handlers and coroutines in every order", function() run("gc_stress.lua", mode, "orders") end)

    it("takes the memory of spaces along", function() run("gc_stress.lua", mode, "memory") end)
  end)
end

describe("a finalizer", function()
  if not faulty then
    pending("needs AOI_FAULTY: run the specs with `make spec`")
    return
  end

  for _, engine in ipairs(tree.engines) do
    it("may use and close the space in the middle of a call, " .. engine, function()
      run("finalizers.lua", engine)
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

  for _, engine in ipairs(tree.engines) do
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
