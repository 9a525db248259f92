-- The service of exchanges: one in each process, whatever worlds that has a part in. All its logic is in
-- aoi.skynet.world.exchange; here are services, timers, and the cluster.
--
--   worlds[name]     a world: joining until all its processes are there, then with an exchange, until it ends
--
-- Processes know each other by a boot id, a new one for each life of a world in a process. The first process of `nodes`
-- is the director: the others ask it until all have come, then all have the same list of processes.

local skynet = require "skynet"
require "skynet.manager"
local Exchange = require "aoi.skynet.world.exchange"
local Line = require "aoi.skynet.world.line"
local is_dead = require "aoi.skynet.world.is_dead"
local tiles = require "aoi.skynet.world.tiles"
local protocol = require "aoi.skynet.protocol"

local NAME = "aoi.world" -- in the cluster
local worlds, by_number, last_number = {}, {}, 0
local registered = false
local CMD, linked = {}, {}

local function now() return skynet.hpc() / 1e9 end

local function new_boot()
  return ("%x-%x-%x"):format(os.time(), skynet.hpc(), math.random(0) & 0xffffffff)
end

local function cluster() return require "skynet.cluster" end

local function register()
  if not registered then
    registered = true
    cluster().unregister(NAME) -- it may be that of an exchange that was killed
    cluster().register(NAME, skynet.self())
  end
end

-- Life of a world ---------------------------------------------------------------------------------------------------

local function wake(world)
  for _, co in ipairs(world.waiting) do skynet.wakeup(co) end
  world.waiting = {}
end

local function forget(world, reason)
  world.reason = reason
  if worlds[world.name] == world then worlds[world.name] = nil end
  by_number[world.number] = nil
  wake(world)
end

local function finish(world, reason)
  if world.exchange then world.exchange:finish(reason) else forget(world, reason) end
end

local function start_shards(world, shards)
  local o = world.options
  for _, shard in ipairs(shards) do
    local address = skynet.newservice("aoi/skynet/world/shardd")
    world.addresses[shard] = address
    skynet.call(address, "lua", "start", world.number, {
      number = shard, plan = o.plan, engine = o.engine, dimensions = o.dimensions, cell = o.cell, journal = o.journal,
      heartbeat = o.heartbeat,
    })
  end
end

local function tell(world, shard, verb, ...)
  local address = world.addresses[shard]
  if verb ~= "request" then return skynet.send(address, "lua", verb, ...) end
  local reply = (...)
  skynet.fork(function(_, ...)
    local answer = table.pack(pcall(skynet.call, address, "lua", "request", ...))
    if answer[1] then reply(table.unpack(answer, 2, answer.n)) else reply(false, 0, "the shard is gone") end
  end, ...)
  return true
end

-- To a client; the `debug LINK` to one that was killed fails then.
local function post(address, message)
  if skynet.rawsend(address, "aoi", message) ~= nil then return true end
  skynet.redirect(skynet.self(), address, "error", 0, "")
end

local function call(world, index, batch, done)
  skynet.fork(function()
    done(pcall(cluster().call, world.processes[index].name, "@" .. NAME, "batch", world.name, world.here, batch))
  end)
end

local function run(world)
  local o = world.options
  local ok, err = pcall(start_shards, world, world.processes[world.here].shards)
  if world.reason or not ok then
    for _, address in pairs(world.addresses) do skynet.send(address, "lua", "shutdown") end
    return forget(world, world.reason or "a shard cannot be started: " .. tostring(err))
  end
  world.exchange = Exchange.new {
    number = world.number, processes = world.processes, here = world.here, now = now, interval = o.interval / 100,
    window = o.window, patience = o.heartbeat, silence = o.silence,
    tell = function(...) return tell(world, ...) end,
    call = function(...) return call(world, ...) end,
    post = post,
    on_end = function(reason)
      skynet.error(("aoi: world '%s' has ended: %s"):format(world.name, reason))
      forget(world, reason)
      for _, address in pairs(world.addresses) do is_dead(address) end
    end,
    on_epoch = o.measure and function(epoch, seconds, ...)
      world.measured = world.measured or {}
      table.insert(world.measured, { epoch, seconds, now(), ... })
    end or nil,
  }
  wake(world)
  skynet.fork(function()
    while not world.exchange.closed do
      world.exchange:poll()
      skynet.sleep(1)
    end
  end)
end

-- Processes ---------------------------------------------------------------------------------------------------------

-- From { name = shards } to a list, the director's own first.
local function list_processes(nodes, here)
  local list, shard = { here }, 0
  for name in pairs(nodes) do
    if name ~= here then list[#list + 1] = name end
  end
  table.sort(list, function(a, b) return a == here and b ~= here or b ~= here and a < b end)
  for i, name in ipairs(list) do
    local shards = {}
    for _ = 1, nodes[name] do
      shard = shard + 1
      shards[#shards + 1] = shard
    end
    list[i] = { name = name, shards = shards }
  end
  return list
end

local function complete(world)
  for _, process in ipairs(world.processes) do
    if not process.boot then return false end
  end
  return true
end

local function index_of(processes, name)
  for i, process in ipairs(processes) do
    if process.name == name then return i end
  end
end

-- Asks the director until all have come.
local function join(world)
  while not world.reason do
    local o = world.options
    local ok, answer = pcall(cluster().call, o.director, "@" .. NAME, "join", world.name, o.node, world.boot)
    if ok and answer.refused then return forget(world, answer.refused) end
    if ok and answer.processes then
      local options = answer.options
      options.node, options.journal = world.options.node, world.options.journal
      world.options, world.processes = options, answer.processes
      world.here = index_of(world.processes, options.node)
      return run(world)
    end
    skynet.sleep(20)
  end
end

-- Says for what a world waits.
local function remind(world)
  skynet.sleep(500)
  while not (world.started or world.reason) do
    local names = {}
    for _, process in ipairs(world.processes) do
      if not process.boot then names[#names + 1] = process.name end
    end
    skynet.error(("aoi: world '%s' waits for %s"):format(world.name, table.concat(names, ", ")))
    skynet.sleep(3000)
  end
end

local function new_world(name, options)
  last_number = last_number + 1
  local world = {
    name = name, number = last_number, options = options, given = options, boot = new_boot(), waiting = {},
    addresses = {},
  }
  worlds[name], by_number[last_number] = world, world
  if options.node then register() end
  if options.director then
    skynet.fork(join, world)
    return world
  end
  if options.nodes then
    world.processes = list_processes(options.nodes, options.node)
  else
    local shards = {}
    for shard = 1, options.plan.shards do shards[shard] = shard end
    world.processes = { { name = options.node or "here", shards = shards } }
  end
  world.processes[1].boot, world.here = world.boot, 1
  if complete(world) then skynet.fork(run, world) else skynet.fork(remind, world) end
  return world
end

--- A process asks its director. It gets the processes when all have come.
function CMD.join(_, name, node, boot)
  local world = worlds[name]
  if not world or world.options.director then return { wait = true } end
  local index = index_of(world.processes, node)
  if not index then return { refused = ("process '%s' is none of the world's nodes"):format(node) } end
  local process = world.processes[index]
  if world.started then
    if process.boot == boot then return { processes = world.processes, options = world.options } end
    finish(world, ("process '%s' has been started again"):format(node))
    return { wait = true }
  end
  process.boot = boot
  if not complete(world) then return { wait = true } end
  world.started = true
  skynet.fork(run, world)
  return { processes = world.processes, options = world.options }
end

--- A batch of another process. One that is ahead of this one, which is about to begin, waits for it.
function CMD.batch(_, name, from, batch)
  local world = worlds[name]
  local refusal = world and Line.refusal(batch, world.boot)
  if refusal then return refusal end
  while world and not world.exchange and not world.reason do skynet.sleep(2) end
  if not world or not world.exchange then return { boot = false, reason = world and world.reason or "it is closed" } end
  return world.exchange:receive(from, batch)
end

-- Clients -----------------------------------------------------------------------------------------------------------

-- Waits for the exit of a client. One that is killed is noticed by the next message to it, a probe at the latest.
local function link(address)
  if linked[address] then return end
  linked[address] = true
  skynet.fork(function()
    pcall(skynet.call, address, "debug", "LINK")
    linked[address] = nil
    skynet.sleep(10) -- LINK returns before the service is gone
    for _, world in pairs(by_number) do
      if world.exchange then world.exchange:leave(address) end
    end
  end)
end

-- The name of an option, where they differ, nil if they are the same.
local function difference(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a ~= b and "" or nil end
  for _, pair in ipairs { { a, b }, { b, a } } do
    for name, value in pairs(pair[1]) do
      local inner = difference(value, pair[2][name])
      if inner then return name == "plan" and inner or name end
    end
  end
end

--- options: nil where the world is expected to be there. Waits until all its processes have come.
function CMD.open(source, name, options)
  local world = worlds[name]
  if not world then
    if not options then return false, ("there is no world '%s' in this process"):format(name) end
    world = new_world(name, options)
  end
  local differs = options and difference(options, world.given)
  if differs then return false, ("world '%s' is open with another value of option '%s'"):format(name, differs) end
  if not world.exchange and not world.reason then
    table.insert(world.waiting, (coroutine.running()))
    skynet.wait()
  end
  if not world.exchange or world.exchange.closed then return false, world.reason or world.exchange.reason end
  link(source)
  local o = world.options
  local process_of = {}
  for shard, index in pairs(world.exchange.process_of) do process_of[shard] = world.processes[index].name end
  return true, {
    number = world.number, client = world.exchange:join(source), shards = o.plan.shards, dimensions = o.dimensions or 2,
    addresses = world.addresses, process_of = process_of, epoch = world.exchange.epoch, heartbeat = o.heartbeat,
  }
end

function CMD.alive() end

--- The shards that own what is in that rectangle: one map a process, as it may be large.
function CMD.around(_, number, x, y, ex, ey)
  local world = by_number[number]
  if not world then return nil end
  world.map = world.map or tiles.map(world.options.plan)
  return world.map:around(x, y, ex, ey)
end

local function exchange_of(number) return by_number[number] and by_number[number].exchange end

function CMD.ack(source, number, seq)
  local exchange = exchange_of(number)
  if exchange then exchange:ack(source, seq) end
end

function CMD.quit(source, number)
  local exchange = exchange_of(number)
  if exchange then exchange:leave(source) end
end

function CMD.moves(_, number, shard, message)
  local exchange = exchange_of(number)
  if exchange then exchange:relay_moves(shard, message) end
end

function CMD.info(_, number)
  local exchange = exchange_of(number)
  local info = { epoch = exchange and exchange.epoch }
  for name, value in pairs(exchange and exchange.counters or {}) do info[name] = value end
  for index, line in pairs(exchange and exchange.lines or {}) do
    info["calls to " .. exchange.processes[index].name] = line.calls
  end
  return info
end

--- Number, seconds and end of each epoch since the last question, where the world was opened with measure = true.
function CMD.measured(_, number)
  local world = by_number[number]
  local list = world and world.measured or {}
  if world then world.measured = {} end
  return list
end

-- Answers later.
local LATER = {}

function LATER.tick(response, number)
  local exchange = exchange_of(number)
  if not exchange then return response(true, nil) end
  exchange:tick(function(epoch) response(true, epoch) end)
end

function LATER.relay(response, number, ...)
  local exchange = exchange_of(number)
  if not exchange then return response(true, false, 0, "the world is closed") end
  exchange:relay(function(...) response(true, ...) end, ...)
end

-- Shards ------------------------------------------------------------------------------------------------------------

local SHARD = {}

function SHARD.parts(exchange, shard, parts) exchange:parts(shard, parts) end

function SHARD.mail(exchange, shard, mail, events) exchange:mail(shard, mail, events) end

function SHARD.failed(exchange, shard, reason) exchange:finish(("shard %d has failed: %s"):format(shard, reason)) end

--- Ends the world in every process.
function CMD.shutdown(_, name, reason)
  if worlds[name] then finish(worlds[name], reason or "it was closed") end
  return true
end

protocol(function() end) -- it only sends

skynet.start(function()
  skynet.register(".aoi.world")
  if skynet.localname ".aoi.world" ~= skynet.self() then return skynet.timeout(0, skynet.exit) end
  skynet.dispatch("lua", function(session, source, name, number, ...)
    if LATER[name] then
      LATER[name](skynet.response(), number, ...)
    elseif SHARD[name] then
      local exchange = exchange_of(number)
      if exchange then SHARD[name](exchange, ...) end
    elseif session ~= 0 then
      skynet.ret(skynet.pack(CMD[name](source, number, ...)))
    else
      CMD[name](source, number, ...)
    end
  end)
  skynet.info_func(function()
    local info = {}
    for name, world in pairs(worlds) do info[name] = CMD.info(nil, world.number) end
    return info
  end)
end)
