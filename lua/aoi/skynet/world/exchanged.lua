-- The service of an exchange: one for each world in each process that has a part in it, ".aoi.world.NAME" there and
-- "@aoi.world.NAME" in the cluster. All its logic is in aoi.skynet.world.exchange; here are services, timers, and the
-- cluster.
--
--   joining, until all processes of the world are there --> with an exchange --> ended: it leaves its name to the next
-- one
--
-- Processes know each other by a boot id, a new one for each life of a world in a process. The first process of `nodes`
-- is the director: the others ask it until all have come, then all have the same list of processes.

local skynet = require "skynet"
require "skynet.manager"
local core = require "skynet.core"
local Exchange = require "aoi.skynet.world.exchange"
local Line = require "aoi.skynet.world.line"
local is_dead = require "aoi.skynet.world.is_dead"
local last_words = require "aoi.skynet.last_words"
local protocol = require "aoi.skynet.protocol"
local tiles = require "aoi.skynet.world.tiles"
local wire = require "aoi.skynet.wire"

local SCOPE = "aoi.world."
-- options, given, boot, waiting (coroutines), addresses of shards; processes, here; exchange; reason of its end
local world
local name, calls = nil, 0 -- calls to other processes under way
local ptype
local CMD = {}

local function now() return skynet.hpc() / 1e9 end

local function new_boot()
  return ("%x-%x-%x"):format(os.time(), skynet.hpc(), math.random(0) & 0xffffffff)
end

local function call_process(node, ...)
  return pcall(require("skynet.cluster").call, node, "@" .. SCOPE .. name, ...)
end

-- Life of the world -------------------------------------------------------------------------------------------------

local function wake()
  for _, co in ipairs(world.waiting) do skynet.wakeup(co) end
  world.waiting = {}
end

-- What is to be said to other processes goes first.
local function leave()
  local until_then = skynet.now() + 100
  repeat skynet.sleep(1) until calls == 0 or skynet.now() > until_then
  skynet.exit()
end

local function forget(reason)
  if world.reason then return end
  world.reason = reason
  wake()
  skynet.fork(leave)
end

local function finish(reason)
  if world.exchange then world.exchange:finish(reason) else forget(reason) end
end

-- more: of a successor, as of Shard.new.
local function start_shard(shard, more)
  local o, options = world.options, more or {}
  local address = skynet.newservice("aoi/skynet/world/shardd")
  world.addresses[shard] = address
  options.number, options.plan, options.engine, options.dimensions = shard, o.plan, o.engine, o.dimensions
  options.cell, options.journal, options.heartbeat, options.quantum = o.cell, o.journal, o.heartbeat, o.quantum
  options.fields = o.fields
  options.grace = math.ceil(100 * o.grace / math.max(1, o.interval))
  skynet.call(address, "lua", "start", options)
end

local function start_shards(shards)
  for _, shard in ipairs(shards) do start_shard(shard) end
end

local function replace(shard, options, done)
  skynet.error(("aoi: shard %d of world '%s' has died in epoch %d"):format(shard, name, options.epoch))
  is_dead(world.addresses[shard]) -- calls that wait for it fail
  skynet.fork(function()
    local ok, err = pcall(start_shard, shard, options)
    if world.reason then skynet.send(world.addresses[shard], "lua", "shutdown") else done(ok, err) end
  end)
end

local function tell(shard, verb, ...)
  local address = world.addresses[shard]
  if verb ~= "request" then return skynet.send(address, "lua", verb, ...) end
  local reply = (...)
  skynet.fork(function(_, ...)
    local answer = table.pack(pcall(skynet.call, address, "lua", "request", ...))
    if answer[1] then reply(table.unpack(answer, 2, answer.n)) else reply(nil) end
  end, ...)
  return true
end

local function call(index, batch, done)
  calls = calls + 1
  skynet.fork(function()
    local ok, answer = call_process(world.processes[index].name, "batch", world.here, batch)
    calls = calls - 1
    done(ok, answer)
  end)
end

local function run()
  local o = world.options
  local ok, err = pcall(start_shards, world.processes[world.here].shards)
  if world.reason or not ok then
    for _, address in pairs(world.addresses) do skynet.send(address, "lua", "shutdown") end
    return forget("a shard cannot be started: " .. tostring(err))
  end
  world.exchange = Exchange.new {
    processes = world.processes, here = world.here, now = now, interval = o.interval / 100,
    window = o.window, patience = o.heartbeat, silence = o.silence,
    tell = tell, call = call, replace = replace, address_of = function(shard) return world.addresses[shard] end,
    post = function(address, message) return core.send(address, ptype, 0, message) end,
    on_end = function(reason)
      skynet.error(("aoi: world '%s' has ended: %s"):format(name, reason))
      forget(reason)
      for _, address in pairs(world.addresses) do is_dead(address) end
    end,
    on_epoch = o.measure and function(epoch, seconds, ...)
      world.measured = world.measured or {}
      table.insert(world.measured, { epoch, seconds, now(), ... })
    end or nil,
  }
  wake()
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
  for node in pairs(nodes) do
    if node ~= here then list[#list + 1] = node end
  end
  table.sort(list, function(a, b) return a == here and b ~= here or b ~= here and a < b end)
  for i, node in ipairs(list) do
    local shards = {}
    for _ = 1, nodes[node] do
      shard = shard + 1
      shards[#shards + 1] = shard
    end
    list[i] = { name = node, shards = shards }
  end
  return list
end

local function complete()
  for _, process in ipairs(world.processes) do
    if not process.boot then return false end
  end
  return true
end

local function index_of(processes, node)
  for i, process in ipairs(processes) do
    if process.name == node then return i end
  end
end

-- Asks the director until all have come.
local function join()
  while not world.reason do
    local o = world.options
    local ok, answer = call_process(o.director, "join", o.node, world.boot)
    if ok and answer.refused then return forget(answer.refused) end
    if ok and answer.processes then
      local options = answer.options
      options.node, options.journal = o.node, o.journal
      world.options, world.processes = options, answer.processes
      world.here = index_of(world.processes, options.node)
      return run()
    end
    skynet.sleep(20)
  end
end

-- Says for what the world waits.
local function remind()
  skynet.sleep(500)
  while not (world.started or world.reason) do
    local names = {}
    for _, process in ipairs(world.processes) do
      if not process.boot then names[#names + 1] = process.name end
    end
    skynet.error(("aoi: world '%s' waits for %s"):format(name, table.concat(names, ", ")))
    skynet.sleep(3000)
  end
end

local function begin_world(options)
  world = { options = options, given = options, boot = new_boot(), waiting = {}, addresses = {} }
  if options.node then
    local cluster = require "skynet.cluster"
    cluster.unregister(SCOPE .. name) -- it may be that of an exchange that is gone
    cluster.register(SCOPE .. name, skynet.self())
  end
  if options.director then return skynet.fork(join) end
  if options.nodes then
    world.processes = list_processes(options.nodes, options.node)
  else
    local shards = {}
    for shard = 1, options.plan.shards do shards[shard] = shard end
    world.processes = { { name = options.node or "here", shards = shards } }
  end
  world.processes[1].boot, world.here = world.boot, 1
  skynet.fork(complete() and run or remind)
end

--- A process asks its director. It gets the processes when all have come.
function CMD.join(_, node, boot)
  if not world or world.options.director then return { wait = true } end
  local index = index_of(world.processes, node)
  if not index then return { refused = ("process '%s' is none of the world's nodes"):format(node) } end
  local process = world.processes[index]
  if world.started then
    if process.boot == boot then return { processes = world.processes, options = world.options } end
    finish(("process '%s' has been started again"):format(node))
    return { wait = true }
  end
  process.boot = boot
  if not complete() then return { wait = true } end
  world.started = true
  skynet.fork(run)
  return { processes = world.processes, options = world.options }
end

--- A batch of another process. One that is ahead of this one, which is about to begin, waits for it.
function CMD.batch(_, from, batch)
  local refusal = world and Line.refusal(batch, world.boot)
  if refusal then return refusal end
  while world and not world.exchange and not world.reason do skynet.sleep(2) end
  if not world or not world.exchange then return { boot = false, reason = world and world.reason or "it is closed" } end
  return world.exchange:receive(from, batch)
end

-- Clients -----------------------------------------------------------------------------------------------------------

-- The name of an option, where they differ, nil if they are the same.
local function difference(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a ~= b and "" or nil end
  for _, pair in ipairs { { a, b }, { b, a } } do
    for option, value in pairs(pair[1]) do
      local inner = difference(value, pair[2][option])
      if inner then return option == "plan" and inner or option end
    end
  end
end

--- Takes the name, unless another has it: then this service ends.
function CMD.begin(_, word)
  name = word
  skynet.register("." .. SCOPE .. name)
  if skynet.localname("." .. SCOPE .. name) ~= skynet.self() then skynet.timeout(0, skynet.exit) end
end

--- options: nil where the world is expected to be there. Waits until all its processes have come. Returns what a client
-- needs; or false and a reason, and whether the world had ended before.
function CMD.open(source, options)
  if not world and not options then return false, ("there is no world '%s' in this process"):format(name) end
  if not world then begin_world(options) end
  if world.reason then return false, world.reason, true end
  local differs = options and difference(options, world.given)
  if differs then return false, ("world '%s' is open with another value of option '%s'"):format(name, differs) end
  if not world.exchange then
    table.insert(world.waiting, (coroutine.running()))
    skynet.wait()
  end
  if world.reason then return false, world.reason end
  local o = world.options
  local process_of = {}
  for shard, index in pairs(world.exchange.process_of) do process_of[shard] = world.processes[index].name end
  return {
    number = world.exchange:join(source), shards = o.plan.shards, dimensions = o.dimensions or 2,
    addresses = world.addresses, process_of = process_of, epoch = world.exchange.epoch, heartbeat = o.heartbeat,
  }
end

function CMD.alive() end

--- The shards that own what is in that rectangle: one map a process, as it may be large.
function CMD.around(_, x, y, ex, ey)
  world.map = world.map or tiles.map(world.options.plan)
  local e = world.options.plan.extent
  return world.map:around(x, y, ex + e, ey + e)
end

function CMD.foreign_handle(_, address)
  if world.exchange then return world.exchange:foreign_handle(address) end
end

function CMD.addresses(_, numbers) return world.exchange and world.exchange:addresses(numbers) or {} end

function CMD.quit(source)
  if world.exchange then world.exchange:leave(source) end
end

function CMD.moves(_, shard, message)
  if world.exchange then world.exchange:relay_moves(shard, message) end
end

function CMD.info()
  local exchange = world and world.exchange
  local info = { epoch = exchange and exchange.epoch }
  for key, value in pairs(exchange and exchange.counters or {}) do info[key] = value end
  for index, line in pairs(exchange and exchange.lines or {}) do
    info["calls to " .. exchange.processes[index].name] = line.calls
  end
  return info
end

--- Number, seconds and end of each epoch since the last question, where the world was opened with measure = true.
function CMD.measured()
  local list = world.measured or {}
  world.measured = {}
  return list
end

--- Ends the world in every process.
function CMD.shutdown(_, reason)
  if world then finish(reason or "it was closed") end
  return true
end

-- These answer later.
local LATER = {}

function LATER.tick(response)
  world.exchange:tick(function(epoch) response(true, epoch) end)
end

function LATER.relay(response, ...)
  world.exchange:relay(function(...) response(true, ...) end, ...)
end

-- Of shards.
local SHARD = {}

function SHARD.parts(exchange, ...) exchange:parts(...) end

function SHARD.mail(exchange, ...) exchange:mailed(...) end

function SHARD.failed(exchange, ...) exchange:failed(...) end

-- Messages of clients, as an AOI service gets them.
ptype = protocol(function(_, source, message)
  local kind, flags, seq = wire.head(message)
  if not world or not world.exchange then return end
  if kind == wire.GONE then
    world.exchange:leave(source)
  elseif kind == wire.ACK then
    world.exchange:ack(source, seq, flags)
  end
end)

skynet.start(function()
  skynet.dispatch("lua", function(session, source, verb, ...)
    if LATER[verb] then
      LATER[verb](skynet.response(), ...)
    elseif SHARD[verb] then
      if world.exchange then SHARD[verb](world.exchange, ...) end
    elseif session ~= 0 then
      skynet.ret(skynet.pack(CMD[verb](source, ...)))
    else
      CMD[verb](source, ...)
    end
  end)
  skynet.info_func(CMD.info)
  last_words(function() -- killed, this service tells its clients by its last breath
    if not world or world.reason or not world.exchange then return end
    for _, client in pairs(world.exchange.clients) do
      core.send(client.address, ptype, 0, wire.bye(0, "the exchange of this process is gone: it takes no messages"))
    end
  end)
end)
