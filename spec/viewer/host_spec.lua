-- The viewer's host in skynet: what is wrong with its arguments is said before anything is started.
local aoi = require "aoi"

describe("the viewer's host in skynet", function()
  local host, started, kept, dispatch
  before_each(function()
    kept, started = package.loaded.skynet, {}
    package.loaded.skynet = {
      getenv = function() return nil end, self = function() return 1 end,
      register_protocol = function(protocol) dispatch = protocol.dispatch end,
      now = function() return 0 end, hpc = function() return 0 end, fork = function() end,
      pack = function(...) return { n = select("#", ...), ... } end, ret = function(answer) return answer end,
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

  it("answers what fails, and raises nothing into the service", function()
    local spaces = { good = aoi.new(), closed = aoi.new() }
    local answers = {}
    package.loaded.skynet.ret = function(answer) answers[#answers + 1] = answer end
    host.serve(function(name) return spaces[name] or error "no such thing" end, { port = 8700 })
    local function request(...)
      dispatch(1, 42, ...)
      return answers[#answers]
    end
    spaces.closed:close()
    for _, case in ipairs { { "closed", "attempt to use a closed space" }, { "other", "no such thing" } } do
      local answer = request("open", case[1])
      assert.is_nil(answer[1])
      assert.truthy(answer[2]:find(case[2], 1, true), answer[2])
    end
    local session = request("open", "good")[1]
    assert.is_string(request("frame", session)[1])
    spaces.good:close()
    assert.is_nil(request("frame", session)[1])
    request("close", session)
    assert.is_nil(request("frame", session)[1])
    assert.equal(7, #answers)
  end)
end)
