-- aoi.world: one world over many services, and over several processes joined by skynet's cluster. Opening it finds or
-- starts the exchange of the process (exchanged.lua), and makes a client of it (member.lua).
--
--   local world = aoi.world { name = "earth", size = 22528, reach = 55, shards = 8 }      -- one process
--   local world = aoi.world { name = "earth", node = "world_a", nodes = { world_a = 4, world_b = 4 }, size = ... }
--   local world = aoi.world { name = "earth", node = "world_b", director = "world_a" }    -- the other processes
--   local world = aoi.world "earth"                              -- anywhere in a process that takes part already

local skynet = require "skynet"
local argument = require "aoi.skynet.argument"
local call = require "aoi.skynet.call"
local failures = require "aoi.skynet.failures"
local Member = require "aoi.skynet.world.member"
local is_dead = require "aoi.skynet.world.is_dead"
local snapshot = require "aoi.skynet.world.snapshot"
local tiles = require "aoi.skynet.world.tiles"

local PLAN = { size = true, reach = true, extent = true, shards = true, tile = true, hysteresis = true }
local JOINING = { name = true, node = true, director = true, journal = true } -- all else comes from the director
local OPTIONS = {
  name = "string", node = "string", nodes = "table", director = "string", engine = "string", dimensions = "number",
  cell = "number", interval = "number", window = "number", heartbeat = "number", silence = "number",
  journal = "string", grace = "number", measure = "boolean", quantum = "number",
  fields = "table", restore = "function", sight = "boolean",
}
local SECONDS = argument.MOST_SECONDS
local MOST = { interval = 100 * SECONDS, heartbeat = SECONDS, silence = SECONDS, grace = SECONDS, window = 0x7fffffff }
local DEFAULTS = { interval = 10, window = 32, heartbeat = 5, silence = 0, grace = 10 }

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

local function check_options(options)
  for name, value in pairs(options) do
    if not PLAN[name] then
      if name == "riders" then fail "option 'riders' is of maps alone: no entity of a world is attached" end
      if not OPTIONS[name] then fail("unknown option '%s'", tostring(name)) end
      if type(value) ~= OPTIONS[name] then fail("bad value for option '%s' (%s expected)", name, OPTIONS[name]) end
    end
  end
  for name, most in pairs(MOST) do
    local value = options[name]
    if value and not (value >= 0 and value <= most) then
      fail("bad value for option '%s' (0 to %d expected, got %s)", name, most, value)
    end
  end
  if options.window and options.window < 1 then fail("bad value for option 'window'") end
  if type(options.name) ~= "string" then fail("bad value for option 'name' (string expected)") end
  if options.director and not options.node then fail("option 'director' needs 'node', the name of this process") end
  for name in pairs(options.director and options or {}) do
    if not JOINING[name] then fail("option '%s' is the director's: a process that names one has none", name) end
  end
end

-- Checks the options. Returns those that the exchange needs: an exchange with a director asks it for the rest.
local function prepare(options)
  check_options(options)
  local given = {}
  for name in pairs(OPTIONS) do given[name] = name ~= "restore" and options[name] or nil end
  for name, value in pairs(DEFAULTS) do given[name] = given[name] or value end
  if options.director then return given end
  local plan = {}
  for name in pairs(PLAN) do plan[name] = options[name] end
  local n = options.nodes and count_shards(options)
  plan.shards = plan.shards or n
  given.plan = tiles.plan(plan)
  if n and given.plan.shards ~= n then fail("bad value for option 'nodes' (%d shards of %d)", n, given.plan.shards) end
  local space = require("aoi").new { engine = options.engine, dimensions = options.dimensions, cell = options.cell }
  require("aoi.sync").new(space, { quantum = options.quantum, fields = options.fields }):close()
  space:close()
  return given
end

-- The exchange of that world in this process, a new one if `create`; nil: there is none.
local function find_exchange(name, create)
  local word = ".aoi.world." .. name
  while create and not skynet.localname(word) do
    skynet.call(skynet.newservice("aoi/skynet/world/exchanged", name), "lua", "begin", name)
  end
  return skynet.localname(word)
end

-- Opens the world at its exchange. Returns that and its answer (CMD.open). An exchange that has ended its world leaves
-- its name to the next one soon.
local function ask_exchange(name, options)
  for _ = 1, 500 do
    local exchange = find_exchange(name, options ~= nil)
    if not exchange then fail("there is no world '%s' in this process", name) end
    local ok, info, reason, ended = pcall(skynet.call, exchange, "lua", "open", options)
    if ok and info then return exchange, info end
    if ok and not ended then fail("%s", reason) end
    skynet.sleep(1)
  end
  fail("world '%s' does not end", name)
end

-- Calls under way, by address: where a service is killed, skynet does not end the calls that wait for it.
local waiting = {}

local function returned(address, ...)
  waiting[address] = waiting[address] > 1 and waiting[address] - 1 or nil
  return ...
end

local function ask_at(address, ...)
  waiting[address] = (waiting[address] or 0) + 1
  return returned(address, call(address, ...))
end

-- Ends the calls that wait for that service where it is dead or dies meanwhile, as a client that leaves the service is
-- not notified of its death any more.
local function watch_calls(address)
  if is_dead(address) or not waiting[address] then return end
  skynet.fork(function()
    repeat skynet.sleep(100) until not waiting[address] or is_dead(address)
  end)
end

-- The answer of a shard, or of the exchange; nil where that service is dead.
local function answered(ok, ...)
  if ok then return ... end
  if ok == nil then return false, 0, (...) end
end

-- Waits until all calls have ended, and raises the first error, if any.
local function together(calls)
  local left, co, wrong = #calls, coroutine.running(), nil
  for _, f in ipairs(calls) do
    skynet.fork(function()
      local ok, err = pcall(f)
      if not ok then wrong = wrong or { err } end
      left = left - 1
      if left == 0 then skynet.wakeup(co) end
    end)
  end
  if left > 0 then skynet.wait(co) end
  if wrong then error(wrong[1], 0) end
end

-- The answer of the exchange. Where it is dead the world is closed before the error is raised.
local function exchange_answer(client, ok, ...)
  if ok then return ... end
  client:beat()
  fail("the world is gone")
end

local function new_member(client, exchange, name, info)
  local addresses, process_of, number = info.addresses, {}, info.number
  local function place(shard, its)
    addresses[shard], process_of[shard] = its.address, its.process
  end
  for shard, its in pairs(info.places) do place(shard, its) end
  local function ask_here(...) return ask_at(exchange, ...) end
  return Member.new(client, {
    name = name, number = number, shards = info.shards, dimensions = info.dimensions, epoch_seen = info.epoch,
    has_sight = info.has_sight,
    process_of = process_of, addresses = addresses, exchange = exchange, together = together,
    ask = function(shard, after, ...)
      if addresses[shard] then
        return answered(ask_at(addresses[shard], "request", number, after, ...))
      end
      return answered(ask_here("relay", shard, number, after, ...))
    end,
    send = function(shard, message)
      if not addresses[shard] then return skynet.send(exchange, "lua", "moves", shard, message) end
      return skynet.rawsend(addresses[shard], "aoi", message) or skynet.send(exchange, "lua", "alive")
    end,
    wait = function(f)
      local co = coroutine.running()
      f(function() skynet.wakeup(co) end)
      skynet.wait(co)
    end,
    on_renewed = function(shard, its)
      if addresses[shard] then watch_calls(addresses[shard]) end
      place(shard, its)
    end,
    around = function(...) return exchange_answer(client, ask_here("around", ...)) end,
    foreign_handle = function(address) return exchange_answer(client, ask_here("foreign_handle", address)) end,
    addresses_of = function(numbers) return exchange_answer(client, ask_here("addresses", numbers)) end,
    tick_epoch = function()
      local ok, epoch = ask_here "tick"
      return ok and epoch or nil
    end,
    move_map = function(...)
      local ok, epoch, reason = ask_here("move", ...)
      return ok and epoch, reason or "the world is closed"
    end,
    map_info = function() return skynet.call(exchange, "lua", "map") end,
    quit = function()
      skynet.send(exchange, "lua", "quit")
      client.lost = true
      client.on_gone()
    end,
    world_info = function() return skynet.call(exchange, "lua", "info") end,
    measured = function() return skynet.call(exchange, "lua", "measured") end,
  })
end

--- connect(address, name, heartbeat, on_gone): a client of the exchange at that address, which receives its messages
-- from then on; name: for errors; on_gone is called when the exchange is gone.
return function(connect)
  local opened = {}

  local function open(options)
    if type(options) == "string" then options = { name = options } end
    if type(options) ~= "table" then
      fail("bad argument #1 to 'world' (table or name expected, got %s)", type(options))
    end
    local name = options.name
    local given = next(options, next(options)) ~= nil and prepare(options) or nil
    if not given then check_options(options) end
    local function is_open() return opened[name] and not opened[name].closed end
    if not given and is_open() then return opened[name] end
    local saved = given and options.restore and snapshot.load(options.restore, given)
    local exchange, info = ask_exchange(name, given)
    if is_open() then return opened[name] end -- another coroutine has opened it meanwhile
    info.addresses = {}
    local client = connect(exchange, ("the world '%s'"):format(name), info.heartbeat, function()
      watch_calls(exchange)
      for _, address in pairs(info.addresses) do watch_calls(address) end
    end)
    opened[name] = new_member(client, exchange, name, info)
    if saved and info.begins then
      snapshot.bring(opened[name], saved)
    elseif saved then
      skynet.error(("aoi: world '%s' runs already: what option 'restore' reads is not used"):format(name))
    end
    return opened[name]
  end

  --- Opens a world, and waits until all its processes are there. The options are described in docs/world.md; a name
  -- alone is enough where another service of this process has opened it.
  return function(options, ...)
    argument.nothing(2, "world", 2, ...)
    local ok, member = pcall(open, options)
    if ok then return member end
    error(failures.reason(member), 2)
  end
end
