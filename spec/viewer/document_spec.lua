-- The snippets of docs/viewer.md: those that need no skynet run, the others are Lua.
local aoi = require "aoi"
local process = require "spec.support.process"
local tools = require "spec.support.tools"

local _, socket = pcall(require, "socket")
local snippets = {}
for text in process.read("docs/viewer.md"):gmatch "\n```lua\n(.-)\n```" do snippets[#snippets + 1] = text end

local compile = loadstring or load

local function run(text, env)
  local chunk = assert(compile(text))
  setmetatable(env, { __index = _G })
  if setfenv then setfenv(chunk, env) else chunk = assert(load(text, "snippet", "t", env)) end
  chunk()
end

describe("docs/viewer.md", function()
  it("writes a page", function()
    local folder, remove = process.folder()
    finally(remove)
    process.write(folder .. "/crowd.csv", "t,id,x,y\n0,1,0,0\n0,2,1,0\n1,1,0,0\n1,2,9,0\n")
    local printed
    run(snippets[1]:gsub('"crowd', '"' .. folder .. "/crowd"), { print = function(...) printed = { ... } end })
    assert.equal(2, printed[1])
    assert.is_true(printed[3])
    assert.matches("aoi%-blocks", process.read(folder .. "/crowd.html"))
  end)

  it("writes a page of a program and a recording", function()
    local folder, remove = process.folder()
    finally(remove)
    process.write(folder .. "/crowd.csv", "t,id,x,y\n0,1,0,0\n0,2,1,0\n")
    local program = { open = function(_, engine)
      local space, left = aoi.new { engine = engine }, 3
      space:enter(1, 0, 0)
      local night = { space = space }
      function night.step()
        left = left - 1
        return left >= 0 and 3 - left or nil
      end
      function night.close() space:close() end
      return night
    end }
    local text = snippets[2]:gsub('"(%l+%.%l+)"', function(name) return '"' .. folder .. "/" .. name .. '"' end)
    run(text, { program = program })
    assert.matches("aoi%-blocks", process.read(folder .. "/pages.html"))
  end)

  it("serves a space", function()
    tools.need "LuaSocket"
    local env = { space = aoi.new(), running = true }
    local ticks = 0
    function env.tick()
      ticks = ticks + 1
      env.running = ticks < 3
    end
    local probe = socket.bind("127.0.0.1", 0)
    local _, port = probe:getsockname()
    probe:close()
    run(snippets[3]:gsub("8642", tostring(port)), env)
    assert.equal(3, ticks)
  end)

  it("and is Lua in all others", function()
    assert.is_true(#snippets >= 5)
    for i = 4, #snippets do assert(compile(snippets[i])) end
  end)
end)
