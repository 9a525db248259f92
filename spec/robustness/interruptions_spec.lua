-- Interruptions: memory runs out, a time budget ends inside a handler, the Lua state closes during a delivery.
local aoi = require "aoi"
local dump = require "spec.support.dump"
local process = require "spec.support.process"
local tree = require "spec.support.tree"

local is_jit = type(jit) == "table" -- luacheck: ignore

-- A Lua of its own whose memory can be refused: built by make, next to the core.
local path = os.getenv("AOI_FAULTY")
local faulty = path and assert(package.loadlib(path, "luaopen_faulty"))()

local function run(script, ...)
  local ok, result, left = faulty.run("spec/support/child/" .. script, package.path, package.cpath, ...)
  if ok == nil then pending(result) return end
  if not ok then error(result, 0) end
  assert.equal(0, left, "bytes that were not given back")
end

describe("memory that runs out", function()
  if not faulty then
    pending("needs AOI_FAULTY: run the specs with `make spec`")
    return
  end
  it("goes to on_error where it was a handler that needed it", function()
    run("refused_memory.lua", aoi.engines()[1], "immediate", "on_error")
  end)

  it("loses no piece of a journal", function() run("journal_memory.lua") end)

  for _, engine in ipairs(tree.engines) do
    for _, delivery in ipairs { "immediate", "deferred" } do
      -- a deferred space delivers only in flush, the same way
      for _, way in ipairs(delivery == "immediate" and { "plain", "coroutine" } or { "plain" }) do
        it(("leaves a space as it was: every method, every request, %s %s %s"):format(engine, delivery, way), function()
          run("refused_memory.lua", engine, delivery, way)
        end)
      end
      it(("does no harm in a crowd under a limit, %s %s"):format(engine, delivery), function()
        run("memory_limit.lua", engine, delivery, os.getenv("AOI_SEED") or "70")
      end)
    end
  end
end)

describe("a time budget", function()
  -- A hook that raises after so many instructions: an error like any other, wherever it strikes.
  local function busy(heard)
    return function(kind, watcher, target)
      local x = 0
      for i = 1, 20 do x = x + i % 3 end
      heard[#heard + 1] = kind .. watcher .. ">" .. target
      return x
    end
  end

  local function scene(engine, heard)
    local space, note = aoi.new { engine = engine }, busy(heard)
    local function on_enter(w, t) note("+", w, t) end
    local function on_leave(w, t) note("-", w, t) end
    for id = 1, 6 do space:enter(id, id * 10, 0) end
    for id = 1, 6 do space:add_node(id, 1, 12, on_enter, on_leave) end
    return space
  end

  for _, engine in ipairs(tree.engines) do
    it("that interrupts a handler is another error in a handler, " .. engine, function()
      local expected, struck = {}, 0
      local space = scene(engine, expected)
      space:move(1, 45, 0)
      local after = dump(space)
      for budget = 1, 2000 do
        local heard = {}
        space = scene(engine, heard)
        local made = #heard
        local function attempt()
          debug.sethook(function() debug.sethook() error("time is up", 0) end, "", budget)
          space:move(1, 45, 0)
          debug.sethook()
        end
        if is_jit then jit.off(attempt, true) end -- luacheck: ignore
        local ok, err = pcall(attempt)
        debug.sethook()
        if not ok then
          assert.equal("time is up", err)
          struck = struck + 1
        end
        if space:position(1) == 10 then -- it struck before the call
          assert.equal(made, #heard)
          space:move(1, 45, 0)
        end
        assert.is_true(space:check())
        space:flush()
        -- at most the one event whose handler was interrupted is missing
        assert.is_true(#heard == #expected or not ok and #heard == #expected - 1)
        if #heard == #expected then assert.same(expected, heard) end
        assert.equal(after, dump(space))
        if ok and budget > 100 then break end
      end
      if not is_jit then assert.is_true(struck > 50) end
    end)
  end
end)

describe("a Lua that ends", function()
  if _VERSION == "Lua 5.1" and not is_jit then
    pending("needs os.exit that closes the state: Lua 5.2 or later")
    return
  end

  -- Runs the program in a process of its own; it must end with code 7 and say nothing more than `output`.
  local function ends(program, output)
    local name = os.tmpname()
    process.write(name, program)
    local text, code = process.run(("LUA_PATH=%s LUA_CPATH=%s %s %s"):format(process.quote(package.path),
      process.quote(package.cpath), select(2, process.lua()), process.quote(name)))
    os.remove(name)
    assert.equal(output, text)
    assert.equal(7, code)
  end

  local prelude = [[
    local aoi = require "aoi"
    local spaces = {}
    for _, engine in ipairs(aoi.engines()) do
      for i, delivery in ipairs { "immediate", "deferred" } do
        local space = aoi.new { engine = engine, delivery = delivery }
        for id = 1, 20 do space:enter(id, id, 0) end
        spaces[#spaces + 1] = space
      end
    end
    local n = 0
    local function crowd(handler)
      for _, space in ipairs(spaces) do
        for id = 1, 10 do space:add_node(id, 1, 5, handler, handler) end
      end
      for _, space in ipairs(spaces) do space:flush() end
    end
  ]]

  it("in the middle of a delivery takes its spaces along", function()
    ends(prelude .. [[
      crowd(function() n = n + 1 if n == 25 then io.write("bye") io.stdout:flush() os.exit(7, true) end end)
    ]], "bye")
  end)

  it("in a delivery within a delivery", function()
    ends(prelude .. [[
      crowd(function(watcher)
        n = n + 1
        if n < 10 then return spaces[n % #spaces + 1]:move(watcher, n, n) end
        if n == 10 then table.remove(spaces):close() end
        if n == 20 then io.write("bye") io.stdout:flush() os.exit(7, true) end
      end)
    ]], "bye")
  end)

  it("in a coroutine, with handlers suspended in others", function()
    ends(prelude .. [[
      local asleep = {}
      for i = 1, 5 do
        asleep[i] = coroutine.create(function() crowd(function() n = n + 1 pcall(coroutine.yield) end) end)
        pcall(coroutine.resume, asleep[i])
        for _, space in ipairs(spaces) do for id = 1, 10 do pcall(space.remove_node, space, id, 1) end end
      end
      coroutine.wrap(function()
        crowd(function() io.write("bye") io.stdout:flush() os.exit(7, true) end)
      end)()
    ]], "bye")
  end)

  it("while finalizers still use its spaces", function()
    ends(prelude .. [[
      crowd(function() end)
      local function last(space)
        pcall(space.move, space, 1, 50, 50)
        pcall(space.view, space, 1, 1)
        pcall(space.close, space)
        pcall(space.enter, space, 99, 0, 0)
      end
      for i, space in ipairs(spaces) do
        local trap = setmetatable({}, { __gc = function() last(space) end })
        _G["trap" .. i] = trap
      end
      io.write("bye") io.stdout:flush()
      os.exit(7, true)
    ]], "bye")
  end)
end)
