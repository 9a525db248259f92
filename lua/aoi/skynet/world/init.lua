-- aoi.world: one world over many services, and over several processes joined by skynet's cluster.
--
--   local world = aoi.world { name = "earth", size = 22528, reach = 55, shards = 8 }      -- one process
--   local world = aoi.world { name = "earth", node = "world_a", nodes = { world_a = 4, world_b = 4 }, size = ...,
-- reach = ... }
--   local world = aoi.world { name = "earth", node = "world_b", director = "world_a" }    -- the other processes
--   local world = aoi.world "earth"                                                       -- anywhere in a process
-- that has joined

local skynet = require "skynet"
local Exchange = require "aoi.skynet.world.exchange"
local Member = require "aoi.skynet.world.member"
local is_dead = require "aoi.skynet.world.is_dead"
local tiles = require "aoi.skynet.world.tiles"

local SERVICE = "aoi/skynet/world/exchanged"

local PLAN = { "size", "reach", "shards", "tile", "hysteresis" }
local JOINING = { name = true, node = true, director = true, journal = true } -- all else comes from the director
local OPTIONS = {
  name = "string", node = "string", nodes = "table", director = "string", engine = "string", dimensions = "number",
  cell = "number", interval = "number", window = "number", heartbeat = "number", silence = "number",
  journal = "string", measure = "boolean",
}
local DEFAULTS = { interval = 10, window = 32, heartbeat = 5, silence = 0 }

local function fail(format, ...) error(format:format(...), 0) end

local function count_shards(options)
  local n = 0
  for name, shards in pairs(options.nodes) do
    if type(name) ~= "string" or math.type(shards) ~= "integer" or shards < 0 then
      fail("bad value for option 'nodes' (numbers of shards by name expected)")
    end
    n = n + shards
  end
  if not options.node or not options.nodes[options.node] then
    fail("bad value for option 'node' (the name of this process, one of 'nodes', expected)")
  end
  return n
end

local function is_plan(name)
  for _, other in ipairs(PLAN) do
    if name == other then return true end
  end
end

local function check_options(options)
  for name, value in pairs(options) do
    if not is_plan(name) then
      if not OPTIONS[name] then fail("unknown option '%s'", tostring(name)) end
      if type(value) ~= OPTIONS[name] then fail("bad value for option '%s' (%s expected)", name, OPTIONS[name]) end
    end
  end
  for _, name in ipairs { "interval", "window", "heartbeat", "silence" } do
    local value = options[name]
    if value and (value ~= value or value < 0) then fail("bad value for option '%s'", name) end
  end
  if options.window and options.window < 1 then fail("bad value for option 'window'") end
  if type(options.name) ~= "string" then fail("bad value for option 'name' (string expected)") end
  if options.director and not options.node then fail("option 'director' needs 'node', the name of this process") end
  for name in pairs(options.director and options or {}) do
    if not JOINING[name] then fail("option '%s' is the director's: a process that names one has none", name) end
  end
end

-- What the exchange needs: the director says the rest to those that ask it.
local function prepare(options)
  check_options(options)
  local given = {}
  for name in pairs(OPTIONS) do given[name] = options[name] end
  for name, value in pairs(DEFAULTS) do given[name] = given[name] or value end
  if options.director then return given end
  local plan = {}
  for _, name in ipairs(PLAN) do plan[name] = options[name] end
  if options.nodes then
    local n = count_shards(options)
    plan.shards = plan.shards or n
    given.plan = tiles.plan(plan)
    if given.plan.shards ~= n then
      fail("bad value for option 'nodes' (%d shards of %d)", n, given.plan.shards)
    end
  else
    given.plan = tiles.plan(plan)
  end
  require("aoi").new { engine = options.engine, dimensions = options.dimensions, cell = options.cell }:close()
  return given
end

return function(clients)
  local service, heartbeat = nil, 1
  local opened, by_number = {}, {}

  -- Calls that wait for what was killed fail. The handler of on_close may open the world again at once.
  local function finish(member, number, reason)
    if by_number[number] == member then by_number[number] = nil end
    if opened[member.name] == member then opened[member.name] = nil end
    member:finish(reason)
    for _, address in pairs(member.addresses) do is_dead(address) end
  end

  -- What arrives from the exchange of this process.
  local receiver = {}

  function receiver:receive(message, size) -- luacheck: no self
    if size then message = skynet.tostring(message, size) end
    local kind, flags, number, seq, bytes = Exchange.open_envelope(message)
    if not kind then return nil, flags end
    local member = by_number[number]
    if not member then return true end
    local ok, reason = true, nil
    if kind == Exchange.EVENTS then
      ok, reason = member:receive(bytes)
    elseif kind == Exchange.RESYNCED then
      member:resynced((string.unpack("<I4", bytes)))
    elseif kind == Exchange.BYE then
      finish(member, number, bytes)
    end
    member:deliver()
    if flags & Exchange.ASK ~= 0 then skynet.send(service, "lua", "ack", number, seq) end
    return ok, reason
  end

  local function watch(exchange)
    repeat skynet.sleep(math.floor(math.max(1, heartbeat * 50))) until is_dead(exchange)
    clients[exchange] = nil
    if service == exchange then service = nil end
    local lost = {}
    for number, member in pairs(by_number) do
      if member.exchange == exchange then lost[member] = number end
    end
    for member, number in pairs(lost) do
      finish(member, number, "the exchange of this process is gone: it takes no messages")
    end
  end

  -- That of this process. skynet.uniqueservice would know one that was killed for ever.
  local function find_service()
    while not skynet.localname(".aoi.world") do skynet.newservice(SERVICE) end
    return skynet.localname(".aoi.world")
  end

  local function answered(ok, ...)
    if ok then return ... end
    return false, 0, "the world is gone"
  end

  local function new_member(name, info, exchange)
    local number, addresses = info.number, info.addresses
    local member = Member.new {
      name = name, number = info.client, plan = { shards = info.shards }, dimensions = info.dimensions,
      process_of = info.process_of, addresses = addresses, exchange = exchange,
      ask = function(shard, after, ...)
        if addresses[shard] then
          return answered(pcall(skynet.call, addresses[shard], "lua", "request", info.client, after, ...))
        end
        return answered(pcall(skynet.call, exchange, "lua", "relay", number, shard, info.client, after, ...))
      end,
      send = function(shard, message)
        if addresses[shard] then return skynet.rawsend(addresses[shard], "aoi", message) end
        return skynet.send(exchange, "lua", "moves", number, shard, message)
      end,
      fork = skynet.fork,
      around = function(...)
        local ok, shards = pcall(skynet.call, exchange, "lua", "around", number, ...)
        return ok and shards or fail("the world is gone")
      end,
      together = function(calls)
        local left, co = #calls, coroutine.running()
        for _, f in ipairs(calls) do
          skynet.fork(function()
            f()
            left = left - 1
            if left == 0 then skynet.wakeup(co) end
          end)
        end
        if left > 0 then skynet.wait(co) end
      end,
      tick_epoch = function()
        local ok, epoch = pcall(skynet.call, exchange, "lua", "tick", number)
        return ok and epoch or nil
      end,
      quit = function()
        by_number[number], opened[name] = nil, nil
        skynet.send(exchange, "lua", "quit", number)
      end,
      world_info = function() return skynet.call(exchange, "lua", "info", number) end,
      measured = function() return skynet.call(exchange, "lua", "measured", number) end,
      log = skynet.error,
    }
    member.epoch_seen = info.epoch
    return member
  end

  local function open(options)
    if type(options) == "string" then options = { name = options } end
    if type(options) ~= "table" then
      fail("bad argument #1 to 'world' (table or name expected, got %s)", type(options))
    end
    local name = options.name
    local given = next(options, next(options)) ~= nil and prepare(options) or nil
    if not given then
      check_options(options)
      if opened[name] and not opened[name].closed then return opened[name] end
    end
    local exchange = find_service()
    if service ~= exchange then
      service, clients[exchange] = exchange, receiver
      skynet.fork(watch, exchange)
    end
    local ok, info = skynet.call(exchange, "lua", "open", name, given)
    if not ok then fail("%s", info) end
    heartbeat = math.min(heartbeat, info.heartbeat)
    if opened[name] and not opened[name].closed then return opened[name] end -- another coroutine may have been faster
    local member = new_member(name, info, exchange)
    opened[name], by_number[info.number] = member, member
    return member
  end

  --- Opens a world, and waits until all its processes are there. The options are described in docs/world.md; a name
  -- alone is enough where another service of this process has opened it.
  return function(options)
    local ok, member = pcall(open, options)
    if ok then return member end
    error((tostring(member):gsub("^[^\n]-:%d+: ", "")), 2)
  end
end
