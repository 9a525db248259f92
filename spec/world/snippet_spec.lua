-- The snippet of docs/world.md that needs one process runs, and prints what it says.
if not string.pack then return pending "the page of worlds: needs string.pack of Lua 5.3" end

local network = require "spec.world.network"
local process = require "spec.support.process"

describe("the page of worlds", function()
  it("shows what happens", function()
    local code = assert(process.read("docs/world.md"):match "\n```lua\n(.-)\n```")
    local expected, printed, net = {}, {}, nil
    for line in code:gmatch "%-%-> ([^\n]*)" do expected[#expected + 1] = line end
    local library = {}
    function library.world(options)
      net = network.new { seed = 1, plan = options, processes = { options.shards } }
      return net:member(1)
    end
    local function print_line(...)
      local words = table.pack(...)
      for i = 1, words.n do words[i] = tostring(words[i]) end
      printed[#printed + 1] = table.concat(words, "\t")
    end
    local chunk = assert(load(code, "=docs/world.md", "t", {
      require = function(name) return name == "aoi.skynet" and library or require(name) end, print = print_line,
    }))
    local finished = false
    coroutine.wrap(function()
      chunk()
      finished = true
    end)()
    net:run_until(function() return finished end, 60)
    assert.same(expected, printed)
  end)
end)
