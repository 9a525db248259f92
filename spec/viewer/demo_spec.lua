-- The page of `make demo`, pages with chapters and clients, and pages of programs.
local aoi = require "aoi"
local page = require "aoi.viewer.page"
local process = require "spec.support.process"

local tools = require "spec.support.tools"

-- Two who walk towards each other.
local program = { open = function(_, engine)
  local space, tick = aoi.new { engine = engine }, -1
  space:enter(1, 0, 0)
  space:enter(2, 20, 0)
  space:add_node(1, 1, 5, { enter = function() end })
  return {
    space = space, story = { names = { ["1"] = "Ann" }, captions = { { time = 0, text = "they meet" } } },
    step = function()
      tick = tick + 1
      if tick > 20 then return nil end
      space:move(2, 20 - tick, 0)
      return tick / 10
    end,
    close = function() space:close() end,
  }
end }

describe("examples/demo.lua", function()
  it("tells a story in a browser, on a wide screen and on a telephone", function()
    tools.need("node", "chromium", "string.pack", "timeout")
    local folder, remove = process.folder()
    finally(remove)
    local _, lua = process.lua()
    local command = "%s examples/demo.lua examples/data/hermes_ao300.csv.gz %s/demo.html"
    local output, code = process.run(command:format(lua, folder))
    assert.equal(0, code, output)
    assert.matches("Anna: Got you%.", output)
    assert.is_nil(process.read(folder .. "/demo.html"):find("https?://"))
    output, code = process.run(("timeout 300 node spec/viewer/demo_check.js %s/demo.html %s"):format(folder,
      os.getenv("AOI_PICTURES") or ""))
    assert.equal(0, code, output)
  end)
end)

describe("a page of a program", function()
  local folder, remove

  setup(function() folder, remove = process.folder() end)
  teardown(function() remove() end)

  it("has what a client is sent beside it, forwards and backwards", function()
    tools.need("node", "string.pack")
    local told = assert(page.write(program, folder .. "/a.html", { client = { id = 1, area = 10 }, engines = {} }))
    assert.equal(21, told.ticks)
    local output = process.run(("node spec/viewer/client_check.js %s/a.html 2>&1"):format(folder))
    assert.equal("000000000011111111111 true 1 Ann true\n", output)
  end)

  it("may have chapters", function()
    local chapters = { { source = program, title = "a" }, { source = program, title = "b" } }
    local told = assert(page.write(chapters, folder .. "/b.html"))
    assert.equal(42, told.ticks)
  end)

  it("says what is wrong", function()
    local out = folder .. "/c.html"
    local function refuses(why, ...)
      local arguments = { ... }
      assert.error_matches(function() page.write((table.unpack or unpack)(arguments, 1, 3)) end, why)
      assert.is_nil(io.open(out))
    end
    local expected = "bad argument #1 to 'write' %(a path, a program or a list of chapters expected, got "
    refuses(expected .. "an empty table%)", {}, out)
    refuses(expected .. "number%)", 7, out)
    refuses("chapter 1: 'source' is neither a path nor a program", { { title = "a" } }, out)
    refuses("bad argument #1 to 'write' %(unknown option 'titel': 'areas', .* or 'to' expected; did you mean 'title'",
      { { source = program, titel = "a" } }, out)
    refuses("'client': table expected, got number", program, out, { client = 1 })
    refuses("#3 to 'write' %(bad value for option 'client': { id = ..., area = ... } expected%)", program, out,
      { client = { id = 1 } })
    refuses("#3 to 'write' %(no options beside chapters: each has its own%)", { { source = program } }, out, {})
  end)
end)
