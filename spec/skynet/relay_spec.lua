-- aoi.skynet.relay, on a skynet that has only what it is asked for here: what its clients hear where the other node
-- hangs, and where the relay is killed.
if not string.pack then return pending "a relay: needs string.pack of Lua 5.3" end

local REQUEST, RESPONSE, ERROR, ANN, BOB = 10, 1, 7, 20, 21

describe("a relay", function()
  local kept, time, sleepers, sent, arrive, at_exit, far, info

  local function run(f, ...)
    local co = coroutine.create(f)
    local ok, err = coroutine.resume(co, ...)
    if not ok then error(debug.traceback(co, err), 0) end
  end

  -- As many hundredths of a second pass.
  local function pass(ticks)
    for _ = 1, ticks do
      time = time + 1
      local due = {}
      for i = #sleepers, 1, -1 do
        if sleepers[i].at <= time then table.insert(due, 1, table.remove(sleepers, i)) end
      end
      for _, one in ipairs(due) do assert(coroutine.resume(one.co)) end
    end
  end

  local function sleep(ticks)
    table.insert(sleepers, { at = time + ticks, co = coroutine.running() })
    coroutine.yield()
  end

  before_each(function()
    kept, time, sleepers, sent = {}, 0, {}, {}
    for name, module in pairs(package.loaded) do
      if name:find "^skynet" or name:find "^aoi%.skynet%.[rlp]" then kept[name], package.loaded[name] = module, nil end
    end
    package.loaded.skynet = {
      PTYPE_LUA = REQUEST, PTYPE_RESPONSE = RESPONSE, PTYPE_ERROR = ERROR,
      self = function() return 9 end, hpc = function() return 1 end, error = function() end,
      now = function() return time end, sleep = sleep, fork = run,
      timeout = function(ticks, f)
        run(function()
          sleep(ticks)
          f()
        end)
      end,
      start = function(f) f() end, info_func = function(f) info = f end, tostring = tostring,
      packstring = tostring, unpack = function(bytes) return bytes ~= "false" end,
    }
    package.loaded["skynet.core"] = {
      send = function(to, kind, session)
        sent[#sent + 1] = ("%d %d %d"):format(to, kind, session)
        return true
      end,
      redirect = function(to, from, kind, session)
        assert.equal(to, from, "an error of its session comes back to the client, not to the relay")
        sent[#sent + 1] = ("%d %d %d"):format(to, kind, session)
        return true
      end,
      callback = function(f) arrive = f end,
    }
    package.loaded["skynet.cluster"] = { call = function(...) return far(...) end }
    package.loaded["aoi.skynet.protocol"] = function() return 65 end
    package.loaded["aoi.skynet.at_exit"] = function(f) at_exit = f end
    assert(loadfile "lua/aoi/skynet/relay.lua")("near", "aoi")
  end)

  after_each(function()
    for name in pairs(package.loaded) do
      if name:find "^skynet" or name:find "^aoi%.skynet%.[rlp]" then package.loaded[name] = nil end
    end
    for name, module in pairs(kept) do package.loaded[name] = module end
  end)

  local function ask(client, session) arrive(REQUEST, "what it asks", 12, session, client) end

  it("lets requests fail where the other node does not answer, and connects when it goes on after all", function()
    local hello, hellos = nil, 0
    far = function(_, _, command)
      if command == "relay_hello" then hello, hellos = coroutine.running(), hellos + 1 end
      return coroutine.yield()
    end
    ask(ANN, 1)
    pass(1000)
    ask(BOB, 2)
    pass(490)
    assert.same({}, sent)
    pass(30)
    assert.same({ "20 7 1" }, sent)
    pass(1000)
    assert.same({ { "20 7 1", "21 7 2" }, 1 }, { sent, hellos })
    assert(coroutine.resume(hello, 1, 5))
    local up
    far = function(_, _, command, token)
      assert.equal(1, token)
      up = command
      return coroutine.yield()
    end
    ask(ANN, 2)
    pass(10)
    assert.equal("relay_up", up)
    assert.same({ "20 7 1", "21 7 2" }, sent)
  end)

  it("passes an answer on as from the client itself, which may be killed before it reads that", function()
    local wire, brought = require "aoi.skynet.wire", false
    far = function(_, _, command)
      if command == "relay_hello" then return 1, 5 end
      if command == "relay_up" or brought then return coroutine.yield() end
      brought = true
      return wire.piece(wire.PIECE_REQUEST, ANN, 1, "an answer")
    end
    ask(ANN, 1)
    pass(20)
    assert.same({ "20 1 1" }, sent)
  end)

  it("keeps nothing of a client of which no request has succeeded", function()
    local wire, down = require "aoi.skynet.wire", nil
    far = function() error "the node does not answer" end
    ask(ANN, 1)
    ask(ANN, 2)
    pass(20)
    assert.equal(0, info().clients)
    far = function(_, _, command)
      if command == "relay_hello" then return 1, 5 end
      if command == "relay_down" then down = coroutine.running() end
      return coroutine.yield()
    end
    for client = ANN, BOB do
      for session = 3, 4 do ask(client, session) end
    end
    pass(20)
    for client = ANN, BOB do
      for session = 3, 4 do
        local succeeds = tostring(client == BOB and session == 3)
        assert(coroutine.resume(down, wire.piece(wire.PIECE_REQUEST, client, session, succeeds)))
      end
    end
    assert.same({ "20 7 1", "20 7 2", "20 1 3", "20 1 4", "21 1 3", "21 1 4" }, sent)
    assert.equal(1, info().clients)
  end)

  it("keeps nothing of a client that the AOI service has dropped", function()
    local wire, down = require "aoi.skynet.wire", nil
    far = function(_, _, command)
      if command == "relay_hello" then return 1, 5 end
      if command == "relay_down" then down = coroutine.running() end
      return coroutine.yield()
    end
    for client = ANN, BOB do ask(client, 1) end
    ask(BOB, 2) -- waits still when BOB is dropped
    pass(20)
    local function bring(...) assert(coroutine.resume(down, table.concat { ... })) end
    bring(wire.piece(wire.PIECE_REQUEST, ANN, 1, "true"), wire.piece(wire.PIECE_REQUEST, BOB, 1, "true"))
    assert.equal(2, info().clients)
    bring(wire.piece(wire.PIECE_MESSAGE, ANN, 0, wire.bye(7)))
    assert.equal(2, info().clients, "one of its maps is closed")
    bring(wire.piece(wire.PIECE_MESSAGE, ANN, 0, wire.bye(0)), wire.piece(wire.PIECE_MESSAGE, BOB, 0, wire.bye(0)))
    assert.equal(1, info().clients)
    bring(wire.piece(wire.PIECE_REQUEST, BOB, 2, "false"))
    assert.equal(0, info().clients)
    assert.same({ "20 1 1", "21 1 1", "20 65 0", "20 65 0", "21 65 0", "21 1 2" }, sent)
  end)

  it("that is killed closes maps, and then lets requests fail that wait for the other node", function()
    far = function(_, _, command)
      if command == "relay_hello" then return 1, 5 end
      return coroutine.yield()
    end
    ask(ANN, 1)
    ask(ANN, 2)
    pass(20)
    assert.same({}, sent)
    at_exit()
    assert.equal("20 65 0", table.remove(sent, 1), "an error says that the service is gone: no map is open then")
    table.sort(sent)
    assert.same({ "20 7 1", "20 7 2" }, sent)
  end)
end)
