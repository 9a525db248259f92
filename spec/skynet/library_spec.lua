-- aoi.skynet itself, on a skynet that has only what it is asked for here: what it says of mistakes.
if not string.pack then return pending "the client library: needs string.pack of Lua 5.3" end

local options = require "aoi.skynet.service_options"

describe("the client library", function()
  local EXCHANGE, SHARD = 6, 9
  local kept, library, origin, answer, sent

  local function nothing() return nil end

  before_each(function()
    kept, sent = {}, {}
    for name, module in pairs(package.loaded) do
      if name:find "^skynet" or name:find "^aoi%.skynet" then
        kept[name], package.loaded[name] = module, nil
      end
    end
    local function pack(...)
      for i = 1, select("#", ...) do
        if type(select(i, ...)) == "function" then error("Unsupport type function to serialize", 0) end
      end
      return ""
    end
    package.loaded["skynet.core"] = { send = function(to) sent[#sent + 1] = to; return true end, now = nothing }
    package.loaded.skynet = {
      getenv = nothing, register_protocol = nothing, dispatch_message = nothing, error = nothing, fork = nothing,
      now = function() return 0 end,
      self = function() return 7 end,
      starttime = function() return 1000 end,
      harbor = function(address) return math.floor(address / 2 ^ 24), address >= 2 ^ 24 end,
      address = function(address) return (":%08x"):format(address) end,
      localname = function(name) return name == ".aoi" and 5 or nil end,
      packstring = pack,
      call = function(...)
        pack(...)
        return table.unpack(answer)
      end,
    }
    library, origin = require "aoi.skynet", require "aoi.skynet.origin"
  end)

  after_each(function()
    for name in pairs(package.loaded) do
      if name:find "^skynet" or name:find "^aoi%.skynet" then package.loaded[name] = nil end
    end
    for name, module in pairs(kept) do package.loaded[name] = module end
  end)

  -- Raised at the line of the caller of `f`.
  local function raises(text, f, ...)
    local arguments = table.pack(...)
    local ok, err = pcall(function()
      f(table.unpack(arguments, 1, arguments.n))
    end)
    assert.is_false(ok)
    assert.matches("^[^:]*library_spec.lua:%d+: bad argument ", err)
    assert.matches(text, err, 1, true)
  end

  local function open_world()
    answer = {
      { number = 1, shards = 1, dimensions = 2, epoch = 0, heartbeat = 5, places = { { address = SHARD } } },
    }
    package.loaded.skynet.localname = function() return EXCHANGE end
    return library.world "earth"
  end

  it("points at the caller's line", function()
    raises("#1 to 'open' (no service '.nobody')", library.open, ".nobody", "map")
    raises("#1 to 'open' (no service 'nil')", library.open, nil, "map")
    raises("#3 to 'open' (table expected, got number)", library.open, ".aoi", "map", 5)
    raises("#3 to 'open' (unknown option 'size')", library.open, "local", "map", { size = 5 })
    raises("#3 to 'open' (bad value for option 'interval'", library.open, "local", "map", { interval = -3 })
    assert.error_matches(function() library.world { name = "earth", riders = true } end,
      "option 'riders' is of maps alone: no entity of a world is attached", 1, true)
    answer = { false, "bad argument #2 to 'open' (name expected, got table)" }
    raises("#2 to 'open' (name expected", library.open, ".aoi", {})
    answer = { "what?" }
    raises("#1 to 'open' (it is no AOI service)", library.open, ".aoi", "map")
    raises("#1 to 'gate' (it is no AOI service)", library.gate, ".aoi")
    raises("#1 to 'gate' (no service '.nobody')", library.gate, ".nobody")
    raises("#1 to 'stop' (no service '.nobody')", library.stop, ".nobody")
    raises("#1 to 'stop' (no service 'nil')", library.stop)
    for name, most in pairs { start = 1, stop = 1, open = 3, gate = 1, info = 1, world = 1 } do
      local arguments = { [most + 1] = 5 }
      raises(("#%d to '%s' (nothing expected, got number)"):format(most + 1, name), library[name],
        table.unpack(arguments, 1, most + 1))
    end
    answer = { false, "unknown request 'shutdown'" }
    raises("#1 to 'stop' (a service of another node is stopped there)", library.stop, ".aoi")
    assert.is_nil(library.info(5), "nothing is left of a failure")
  end)

  it("has the counters of a service by each of its names", function()
    answer = { true, 1, 1, 2, 5 }
    library.open(".aoi", "map")
    for _, service in ipairs { 5, ".aoi" } do assert.equal(0, library.info(service).moves) end
    assert.is_nil(library.info ".nobody")
  end)

  it("says which value an option of the service has", function()
    for name, values in pairs {
      interval = { -3, 0.5, "x", math.huge, 0 / 0, 1e9 }, window = { 0, -1, 1.5 }, viewer = { 0, 70000 },
      heartbeat = { 0, -1, math.huge, 1e300, 1e6 + 1 }, max_message = { 0 }, silence = { -1, true, 1e7 },
    } do
      for _, value in ipairs(values) do
        raises(("#1 to 'start' (bad value for option '%s' ("):format(name), library.start, { [name] = value })
      end
    end
    raises("bad value for option 'interval' (a whole number of 1/100 s from 0 on expected, got -3)", library.start,
      { interval = -3 })
    raises("unknown option 'intervall'", library.start, { intervall = 10 })
    raises("table expected, got number", library.start, 10)
    assert.equal(0, options.check("interval", "0"))
    assert.equal(2.5, options.check("heartbeat", "2.5"))
    assert.equal(0, options.check("silence", 0))
    assert.equal(8000, options.check("viewer", 8000.0))
    assert.equal(1e6, options.check("heartbeat", 1e6))
    for _, name in ipairs { "interval", "heartbeat", "silence", "grace", "window" } do
      for _, value in ipairs { math.huge, 1e300, 0 / 0, -1 } do
        assert.error_matches(function() library.world { name = "earth", size = 64, reach = 10, [name] = value } end,
          ("bad value for option '%s' (0 to "):format(name), 1, true)
      end
    end
  end)

  it("finds out that a proxy of the cluster stands between", function()
    local here = origin.here()
    assert.is_nil(origin.fault(7, here))
    assert.is_nil(origin.fault(0x01000007, here:gsub("^7 ", tostring(0x01000007) .. " ") .. "of another process"),
      "another machine of the harbor")
    assert.matches("a proxy of skynet's cluster", origin.fault(9, here), "its agent asks, in this process or another")
    assert.matches("a proxy", origin.fault(7, here .. "1"), "with the same address by chance")
    assert.is_nil(origin.fault(7, nil), "through a relay, which brings everything")
    answer = { false, origin.fault(9, here) }
    raises("(a proxy of skynet's cluster brings no moves", library.open, ".aoi", "map")
  end)

  it("says that an argument cannot be sent, and not that who would get it is gone", function()
    local wrong = "Unsupport type function to serialize"
    answer = { true, 1, 1, 2, 5 }
    local map = library.open(".aoi", "map")
    assert.error_matches(function() map:enter(1, 5, print) end, "^" .. wrong .. "$")
    local world = open_world()
    answer = { true, 1, { 1 } }
    assert.error_matches(function() world:put(1, "hp", print) end, "^" .. wrong .. "$")
    assert.is_false(world.closed)
    package.loaded.skynet.fork = function(f) pcall(f) end -- what a forked coroutine raises is logged
    package.loaded.skynet.wakeup = function() end
    local ended = 0
    local function fails()
      ended = ended + 1
      error("odd", 0)
    end
    assert.error_matches(function() world.together { fails, fails } end, "^odd$")
    assert.equal(2, ended)
  end)

  it("keeps a client that begins at the address of one that is gone while a request of that still waits", function()
    local skynet, core = package.loaded.skynet, package.loaded["skynet.core"]
    local call, send = skynet.call, core.send
    skynet.call = function() error(coroutine.yield(), 0) end
    local first = coroutine.create(library.open)
    assert(coroutine.resume(first, 5, "map"))
    skynet.call, core.send = function() error "call failed" end, nothing
    assert.is_false(pcall(library.open, 5, "map"))
    skynet.call, core.send, answer = call, send, { true, 1, 1, 2, 5 }
    library.open(5, "map")
    assert.is_false((coroutine.resume(first, "call failed")))
    assert.is_table(library.info(5))
  end)

  it("names a service of another node as its caller does, and not the relay", function()
    local skynet, reason = package.loaded.skynet, nil
    skynet.uniqueservice = nothing
    skynet.call = function(to) return to == 5 and error("call failed", 0) or 5 end
    assert.error_matches(function() library.open("near@aoi", "map") end, "^the AOI service near@aoi is gone: call")
    skynet.call = function(to)
      if to == 5 then return true, 1, 1, 2, 5 end
      return 5
    end
    local map = library.open("near@aoi", "map")
    map:on_close(function(why) reason = why end)
    package.loaded["skynet.core"].send = nothing
    map.client:beat()
    assert.equal("the AOI service near@aoi is gone", reason)
  end)

  it("closes a world whose exchange is gone before a request fails for it, or a flush", function()
    for _, use in ipairs {
      function(world) world:add_node(1, 1, 5, {}, { to = 8 }) end,
      function(world)
        world.outbox:keep(1, 1, 1, 1, 0, 0)
        world:move(1, 5, 5)
        world:flush()
      end,
    } do
      local world, reason = open_world(), nil
      local call, send = package.loaded.skynet.call, package.loaded["skynet.core"].send
      world:on_close(function(why) reason = why end)
      for _, name in ipairs { "send", "rawsend", "redirect" } do package.loaded.skynet[name] = nothing end
      package.loaded["skynet.core"].send = nothing
      package.loaded.skynet.call = function() error("call to invalid address", 0) end
      assert.error_matches(function() use(world) end, "the world.* is gone")
      assert.is_true(world.closed)
      assert.equal("the world 'earth' is gone", reason)
      package.loaded.skynet.call, package.loaded["skynet.core"].send = call, send
    end
  end)

  -- On real skynet a call that waits for a service fails when that exits, and not when it is killed.
  it("lets a request of a world fail whose shard is killed after the exchange", function()
    local skynet, alive, asleep, calls = package.loaded.skynet, { [EXCHANGE] = true, [SHARD] = true }, {}, {}
    local world = open_world()
    skynet.send = function(to) return alive[to] end
    package.loaded["skynet.core"].send = skynet.send
    skynet.call = function(to)
      calls[to] = coroutine.running()
      error(coroutine.yield(), 0)
    end
    skynet.redirect = function(_, from)
      if calls[from] then assert(coroutine.resume(calls[from], "call failed")) end
    end
    skynet.fork = function(f, ...) assert(coroutine.resume(coroutine.create(f), ...)) end
    skynet.sleep = function()
      asleep[#asleep + 1] = coroutine.running()
      coroutine.yield()
    end
    local function wake()
      local list = asleep
      asleep = {}
      for _, co in ipairs(list) do assert(coroutine.resume(co)) end
    end
    local reason
    skynet.fork(function() reason = select(2, pcall(world.position, world, 1)) end)
    alive[EXCHANGE] = nil
    world.client:beat()
    wake()
    assert.same({ true, nil }, { world.closed, reason }, "the shard may still answer")
    alive[SHARD] = nil
    wake()
    assert.equal("attempt to use a closed world (the world 'earth' is gone)", reason)
    wake()
    assert.equal(0, #asleep)
  end)

  describe("maps of the caller's own service", function()
    local steps, forks

    before_each(function()
      steps, forks = {}, {}
      package.loaded["aoi.skynet.period"] = { start = function(_, f) steps[#steps + 1] = f end }
      package.loaded.skynet.fork = function(f, ...) forks[#forks + 1] = table.pack(f, ...) end
    end)

    -- Their clocks, and what these fork.
    local function step()
      for i = #steps, 1, -1 do
        if steps[i]() == false then table.remove(steps, i) end
      end
      for _, f in ipairs(forks) do coroutine.wrap(f[1])(table.unpack(f, 2, f.n)) end
      forks = {}
    end

    it("tick on while a handler waits", function()
      local map, heard = library.open("local", "map"), {}
      map:enter(1, 0, 0)
      map:enter(2, 0, 0)
      map:add_node(1, 1, 5, function(...)
        heard[#heard + 1] = table.concat({ ... }, " ")
        coroutine.yield()
      end)
      step()
      map:add_node(2, 1, 5, function(...) heard[#heard + 1] = table.concat({ ... }, " ") end)
      step()
      assert.same({ "1 2 1", "2 1 1" }, heard)
    end)

    it("are as many as are opened, of one space for each name", function()
      local one, other = library.open("local", "map", { dimensions = 3 }), library.open("local", "map")
      assert.is_false(rawequal(one, other))
      assert.is_true(one == other)
      assert.equal(1, #steps)
      raises("#3 to 'open' (space 'map' has another dimensions)", library.open, "local", "map", { dimensions = 2 })
      raises("#3 to 'open' (space 'map' has another interval)", library.open, "local", "map", { interval = 20 })
      one:enter(1, 0, 0, 0)
      other:enter(2, 0, 0, 0)
      one:close()
      assert.same({ false, true }, { other:has(1), other:has(2) })
      local heard = 0
      other:enter(3, 0, 0, 0)
      other:add_node(2, 1, 5, function() heard = heard + 1 end)
      step()
      assert.equal(1, heard)
      local driver = library.open("local", "map", { drive = true })
      other:enter(4, 0, 0, 0)
      step()
      assert.equal(1, heard, "its flush is the tick")
      driver:flush()
      assert.equal(2, heard)
      driver:close()
      other:close()
      step()
      assert.equal(0, #steps)
    end)

    it("leave nothing behind", function()
      local clients = setmetatable({}, { __mode = "k" })
      for i = 1, 3 do
        local map = library.open("local", i)
        clients[map.client] = true
        map:close()
      end
      step()
      collectgarbage()
      collectgarbage()
      assert.is_nil(next(clients))
    end)
  end)
end)
