-- The viewer's host in skynet: what is wrong with its arguments is said before anything is started.
local aoi = require "aoi"

describe("the viewer's host in skynet", function()
  local host, started, kept
  before_each(function()
    kept, started = package.loaded.skynet, {}
    package.loaded.skynet = {
      getenv = function() return nil end, self = function() return 1 end, register_protocol = function() end,
      newservice = function(...)
        started[#started + 1] = { ... }
        return 42
      end,
    }
    package.loaded["aoi.skynet.viewer_host"] = nil
    host = require "aoi.skynet.viewer_host"
  end)
  after_each(function()
    package.loaded.skynet, package.loaded["aoi.skynet.viewer_host"] = kept, nil
  end)

  it("refuses what cannot be meant, at the caller's line", function()
    local space = aoi.new()
    local closed = aoi.new()
    closed:close()
    for _, case in ipairs {
      { "bad value for option 'port': 1 to 65535 expected", space, { port = 0 } },
      { "bad value for option 'port': 1 to 65535 expected", space, { port = 70000 } },
      { "bad value for option 'port': 1 to 65535 expected", space, { port = 80.5 } },
      { "bad value for option 'port': number expected, got string", space, { port = "8642" } },
      { "bad value for option 'interval': seconds, 0 or more, expected", space, { interval = -1 } },
      { "bad value for option 'interval': seconds, 0 or more, expected", space, { interval = 0 / 0 } },
      { "option 'token' is needed", space, { address = "0.0.0.0" } },
      { "8 or more letters", space, { token = "abc" } },
      { "unknown option 'host'", space, { host = "0.0.0.0" } },
      { "#2 to 'serve' (table expected", space, 8642 },
      { "#1 to 'serve' (aoi.space expected, got nil)", nil, {} },
      { "#1 to 'serve' (aoi.space expected, got table)", {}, {} },
      { "#1 to 'serve' (attempt to use a closed space)", closed, {} },
    } do
      local ok, why = pcall(function()
        local view = host.serve(case[2], case[3])
        return view
      end)
      assert.is_false(ok, case[1])
      assert.truthy(why:find(case[1], 1, true), why .. "\n does not say\n" .. case[1])
      assert.truthy(why:find "^[^:]*host_spec.lua:%d+: ", why)
    end
    assert.same({}, started)
  end)

  it("starts its service where all is right", function()
    local view = host.serve(aoi.new(), { port = 8700, token = "12345678" })
    assert.equal("http://127.0.0.1:8700/?token=12345678", view.url)
    assert.same({ { "aoi/skynet/viewer_service", 1, "127.0.0.1", 8700, "12345678" } }, started)
    assert.same({ pages = 0, frames = 0, seconds = 0 }, view:stats())
  end)
end)
