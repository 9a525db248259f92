-- The recipes: each program prints the lines that stand behind `-->` at its end, and is short.
local process = require "spec.support.process"
local tools = require "spec.support.tools"

local _, lua = process.lua()

describe("recipe", function()
  for _, path in ipairs(process.lines(process.must "ls examples/recipes/*.lua")) do
    it(path, function()
      local expected, lines = {}, 0
      for line in io.lines(path) do
        expected[#expected + 1] = line:match "^%-%-> (.*)$"
        lines = lines + 1
      end
      local output, code = process.run(lua .. " " .. path)
      assert.equal(0, code, output)
      assert.same(expected, process.lines(output))
      assert.is_true(#expected > 1 and lines <= 80)
    end)
  end

  -- LÖVE is LuaJIT, which may be built in this tree, too.
  it("examples/recipes/love runs where LÖVE is installed", function()
    local core = io.open "build/luajit/aoi/core.so"
    if not core then pending("needs LUA=luajit") end
    core:close()
    tools.need("love", "xvfb-run")
    local output, code = process.run("AOI_FRAMES=60 LUA_PATH=\"$PWD/lua/?.lua;$PWD/lua/?/init.lua;;\" "
      .. "LUA_CPATH=\"$PWD/build/luajit/?.so;;\" xvfb-run -a love examples/recipes/love")
    assert.equal(0, code, output)
    assert.is_truthy(output:find "%d+ events", output)
  end)
end)
