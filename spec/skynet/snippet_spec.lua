-- The snippets of docs/skynet.md run over the simulated network, each in the service that it is for.
if not string.pack then return pending "the page of the AOI service: needs string.pack of Lua 5.3" end

local process = require "spec.support.process"
local transport = require "spec.support.transport"

local SERVICE, AGENT, GATE = 1, 2, 3

local snippets = {}
for code in process.read("docs/skynet.md"):gmatch "\n```lua\n(.-)\n```" do snippets[#snippets + 1] = code end

describe("docs/skynet.md, snippet", function()
  local net, server, agent, gate, library, opened

  before_each(function()
    net, opened = transport.new(1), {}
    server = net:serve(SERVICE, {})
    agent, gate = net:client(AGENT, SERVICE), net:client(GATE, SERVICE)
    library = {}
    function library.start(options)
      assert(options.interval == 10)
      return SERVICE
    end
    function library.open(address, ...)
      opened[#opened + 1] = address
      return agent:open(...)
    end
  end)

  local function run(code, globals)
    globals.require = function(name) return name == "aoi.skynet" and library or require(name) end
    net:run(assert(load(code, "=docs/skynet.md", "t", setmetatable(globals, { __index = _G }))))
  end

  it("1: an entity, its node, a move", function()
    run(snippets[1], { id = 7, x = 1, y = 2 })
    net:tick(server)
    assert.same({ SERVICE }, opened)
    local x, y, seen
    net:run(function()
      local map = gate:open "meadow"
      x, y = map:position(7)
      map:enter(8, 5, 5)
      seen = map:viewers(8)
    end)
    assert.same({ 1, 2 }, { x, y })
    assert.same({ 7, 1 }, seen)
  end)

  it("2: walls and a door", function()
    local guard, spotted, run_in = 7, {}, {}
    function library.open(_, name, options)
      run_in[1] = agent:open(name, options)
      run_in[1]:enter_many { guard, 30, 2, 8, 50, 2 }
      return run_in[1]
    end
    run(snippets[2], { aoi = library, guard = guard, spots = function(_, target) spotted[1] = target end,
                       loses = function() end })
    net:tick(server)
    assert.same({ 8 }, spotted)
    net:run(function()
      assert.equal(3, select(2, run_in[1]:walls()))
      run_in[1]:shut_wall(3)
      assert.is_false(run_in[1]:sees(guard, 1, 8))
    end)
  end)

  it("3: a client view whose bytes go to the gate, however many they are", function()
    local written = {}
    local socket = {
      write = function(fd, bytes) written[#written + 1] = { fd, #bytes - 2 == string.unpack(">I2", bytes) } end,
    }
    local of_agent, of_gate
    net:run(function() of_agent, of_gate = agent:open "meadow", gate:open_gate() end)
    -- `gate` is an address for the agent, and what aoi.gate has returned in the gate.
    local code = snippets[3]:gsub("gate:on_client", "of_gate:on_client")
    net:run(function()
      of_agent:enter(7, 0, 0)
      for i = 1, 5000 do of_agent:enter(1152921504606846976 + i * 1000003 * 10007, 5 + i % 7 / 10, 5) end
    end)
    code = code:gsub("limit = 60, ", "") -- more than 64 kB
    run(code, { map = of_agent, of_gate = of_gate, id = 7, fd = 40, gate = GATE, socket = socket })
    net:tick(server)
    assert.same({}, gate.logged)
    assert.same({ { 40, true } }, written)
  end)

  it("4: opening again after the service has gone", function()
    local sleeper
    local globals = {
      aoi = library, players = { [7] = { x = 1, y = 2, handlers = {} } },
      skynet = {
        sleep = function()
          sleeper = coroutine.running()
          coroutine.yield()
        end,
      },
    }
    run(snippets[4], globals)
    assert.is_true(server.names.meadow.core:has(7))
    local first = globals.map
    globals.players[7].x, globals.players[7].seen = 5, { 8 }
    net:kill(SERVICE)
    coroutine.wrap(function() agent:beat(false) end)()
    assert.is_true(first.closed)
    assert.equal("suspended", coroutine.status(sleeper))
    server = net:serve(SERVICE, {})
    net:run(function() assert(coroutine.resume(sleeper)) end)
    assert.same({ 5, 2 }, { server.names.meadow.core:position(7) })
    assert.same({}, globals.players[7].seen)
    assert.is_false(globals.map.closed)
    assert.is_false(rawequal(first, globals.map))
  end)

  it("4, where another service has one of the ids at first", function()
    local sleeper
    local function sleep()
      sleeper = coroutine.running()
      coroutine.yield()
    end
    local globals = { aoi = library, players = {}, skynet = { sleep = sleep } }
    for id = 1, 5 do globals.players[id] = { x = id, y = 2, handlers = {} } end
    local other = net:run(function() return gate:open "meadow" end)
    net:run(function() other:enter(3, 0, 0) end)
    coroutine.wrap(assert(load(snippets[4], "=docs/skynet.md", "t", setmetatable(globals, { __index = _G }))))()
    net:run()
    assert.same({ 3 }, (server.names.meadow.core:ids()))
    net:run(function()
      other:leave(3)
      assert(coroutine.resume(sleeper))
    end)
    net:run()
    assert.equal(5, #server.names.meadow.core:ids())
    assert.is_false(globals.map.closed)
  end)

  it("5: a map of another node", function()
    local calls = {}
    local cluster = {
      register = function(name, address) calls[#calls + 1] = { name, address } end,
      open = function(name) calls[#calls + 1] = { name } end,
    }
    run(snippets[5], { aoi = library, cluster = cluster, service = SERVICE })
    assert.same({ { "aoi", SERVICE }, { "near" } }, calls)
    assert.same({ "near@aoi" }, opened)
  end)
end)
