-- The service of an exchange: one for each world in each process that takes part, ".aoi.world.NAME" in the process and
-- "@aoi.world.NAME" in the cluster. The logic is in aoi.skynet.world.exchange; this file adds services, timers and the
-- cluster. A client's aoi.world starts it (init.lua) and calls CMD.open; it starts the shards of its process.
--
--   joining: waits for all processes of the world --> running, with an exchange --> ended: its name becomes free
--
-- Processes identify each other by a boot id, a new one for each life of a world in a process. The first process of
-- `nodes` begins the world: the others ask it until all have come, and then have the same list of processes. A process
-- that starts while the world runs, be it the first one, is admitted by its leader (director.lua).

local skynet = require "skynet"
require "skynet.manager"
local core = require "skynet.core"
local argument = require "aoi.skynet.argument"
local Exchange = require "aoi.skynet.world.exchange"
local changes = require "aoi.skynet.world.changes"
local failures = require "aoi.skynet.failures"
local director = require "aoi.skynet.world.director"
local Line = require "aoi.skynet.world.line"
local members = require "aoi.skynet.world.members"
local is_dead = require "aoi.skynet.world.is_dead"
local late = require "aoi.skynet.world.late"
local at_exit = require "aoi.skynet.at_exit"
local protocol = require "aoi.skynet.protocol"
local tiles = require "aoi.skynet.world.tiles"
local wire = require "aoi.skynet.wire"

local SCOPE = "aoi.world."
local world -- options, given, boot, waiting (coroutines), addresses of shards; processes, here; exchange; reason: ended
local name, calls = nil, 0 -- calls to other processes under way
local ptype
local CMD = {}

local function now() return skynet.hpc() / 1e9 end

local warn = failures.rate_limited(skynet.error, now)

local function new_boot()
  return ("%x-%x-%x"):format(os.time(), skynet.hpc(), math.random(0) & 0xffffffff)
end

local function call_process(node, ...)
  return pcall(require("skynet.cluster").call, node, "@" .. SCOPE .. name, ...)
end

-- Life of the world -------------------------------------------------------------------------------------------------

-- A world without the option has one process.
local function nodes_of(options)
  return options.nodes or { [options.node or "here"] = options.plan.shards }
end

local function wake()
  for _, co in ipairs(world.waiting) do skynet.wakeup(co) end
  world.waiting = {}
end

-- Waits, for a second at most, until calls to other processes have returned.
local function leave()
  local until_then = skynet.now() + 100
  repeat skynet.sleep(1) until calls == 0 or skynet.now() > until_then
  skynet.exit()
end

local function end_world(reason)
  if world.reason then return end
  world.reason = reason
  wake()
  skynet.fork(leave)
end

local function finish(reason)
  if world.exchange then world.exchange:finish(reason) else end_world(reason) end
end

-- more: options of Shard.new for a later instance.
local function start_shard(shard, more)
  local o, options = world.options, more or {}
  local address = skynet.newservice("aoi/skynet/world/shardd", name, shard) -- as the debug console lists it
  world.addresses[shard] = address
  for option, value in pairs(o) do
    if options[option] == nil then options[option] = value end
  end
  options.number, options.grace = shard, math.ceil(100 * o.grace / math.max(1, o.interval))
  skynet.call(address, "lua", "start", options)
end

local function start_shards(homes, here)
  for shard, process in ipairs(homes) do
    if process == here then start_shard(shard) end
  end
end

local function replace(shard, options, done)
  local how = options.lost and "has died" or "comes here"
  skynet.error(("aoi: shard %d of world '%s' %s in epoch %d"):format(shard, name, how, options.epoch))
  if world.addresses[shard] then is_dead(world.addresses[shard]) end -- ends calls that wait for a dead one
  skynet.fork(function()
    local ok, err = pcall(start_shard, shard, options)
    if world.reason or not ok then skynet.send(world.addresses[shard], "lua", "shutdown") end
    if not world.reason then world.exchange:step(done, ok, err) end
  end)
end

local function send_shard(shard, verb, ...)
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
    local process = world.exchange.processes[index]
    local ok, answer = false, "it takes part no more"
    if process then ok, answer = call_process(process.name, "batch", world.here, batch) end
    calls = calls - 1
    world.exchange:step(done, ok, answer)
  end)
end

local function run(state)
  local o = world.options
  local ok, err = true, nil
  if not state then ok, err = pcall(start_shards, world.homes, world.here) end
  if world.reason or not ok then
    for _, address in pairs(world.addresses) do skynet.send(address, "lua", "shutdown") end
    return end_world("a shard cannot be started: " .. tostring(err))
  end
  world.exchange = Exchange.new {
    plan = o.plan, processes = state and state.processes or world.processes, homes = world.homes, here = world.here,
    nodes = nodes_of(o), state = state, now = now, interval = o.interval / 100,
    window = o.window, patience = o.heartbeat, silence = o.silence,
    send_shard = send_shard, call = call, replace = replace, walls_in = o.sight and (o.dimensions or 2) or nil,
    interrupt = function(shard)
      core.command("SIGNAL", skynet.address(world.addresses[shard])) -- an error in the Lua code that it runs
      skynet.send(world.addresses[shard], "lua", "shutdown")
    end,
    address_of = function(shard) return world.addresses[shard] end,
    post = function(address, message) return core.send(address, ptype, 0, message) end,
    say = function(text) skynet.error(("aoi: world '%s': %s"):format(name, text)) end, name_of = skynet.address,
    on_end = function(reason)
      skynet.error(("aoi: world '%s' has ended: %s"):format(name, reason))
      end_world(reason)
      for _, address in pairs(world.addresses) do is_dead(address) end
    end,
    on_epoch = o.measure and function(epoch, seconds, ...)
      world.measured = world.measured or {}
      table.insert(world.measured, { epoch, seconds, now(), ... })
    end or nil,
  }
  world.started = true
  wake()
  skynet.fork(function()
    while not world.exchange.closed do
      world.exchange:step(Exchange.poll, world.exchange)
      skynet.sleep(1)
    end
  end)
end

-- Processes ---------------------------------------------------------------------------------------------------------

-- nodes: { name = number of shards }. Returns a list of processes, this one first, and the process of each shard.
local function list_processes(nodes, here)
  local list, homes = { here }, {}
  for node in pairs(nodes) do
    if node ~= here then list[#list + 1] = node end
  end
  table.sort(list, function(a, b) return a == here and b ~= here or b ~= here and a < b end)
  for i, node in ipairs(list) do
    for _ = 1, nodes[node] do homes[#homes + 1] = i end
    list[i] = { name = node }
  end
  return list, homes
end

-- The names of the processes for which the world waits.
local function missing()
  local names = {}
  for _, process in ipairs(world.processes) do
    if not process.boot then names[#names + 1] = process.name end
  end
  return names
end

-- Takes the answer of a process that was asked for the world. Returns whether asking is over.
local function begun(answer)
  if answer.refused then
    end_world(answer.refused)
    return true
  end
  if not answer.options then return false end
  local options = answer.options
  options.node, options.journal = world.options.node, world.options.journal
  world.options, world.processes, world.homes = options, answer.processes, answer.homes
  world.here = answer.index or members.index_of(world.processes, options.node)
  run(answer.state)
  return true
end

-- Asks the director until all processes have come, or the leader of a world that runs.
local function join(node)
  local first = node
  while not world.reason do
    local ok, answer = call_process(node, "join", world.options.node, world.boot)
    if ok and begun(answer) then return end
    node = ok and answer.ask ~= world.options.node and answer.ask or first -- the leader may be its own former life
    skynet.sleep(20)
  end
end

-- The name of another process where the world runs, so that this one has been restarted; waits at most a second.
local function find_running(processes)
  local found, left, co = nil, #processes - 1, coroutine.running()
  for i = 2, #processes do
    skynet.fork(function()
      local ok, runs = call_process(processes[i].name, "runs")
      found, left = found or ok and runs and processes[i].name or nil, left - 1
      if left == 0 or found then skynet.wakeup(co) end
    end)
  end
  if left > 0 then skynet.sleep(100) end
  return found
end

-- Logs for which processes the world waits.
local function remind()
  skynet.sleep(500)
  while not (world.started or world.reason) do
    skynet.error(("aoi: world '%s' waits for %s"):format(name, table.concat(missing(), ", ")))
    skynet.sleep(3000)
  end
end

local function begin_world(options)
  world = { options = options, given = options, boot = new_boot(), waiting = {}, addresses = {} }
  if options.node then
    local cluster = require "skynet.cluster"
    cluster.unregister(SCOPE .. name) -- an exchange that is gone may have left it
    cluster.register(SCOPE .. name, skynet.self())
  end
  if options.director then return skynet.fork(join, options.director) end
  world.processes, world.homes = list_processes(nodes_of(options), options.node or "here")
  world.processes[1].boot, world.here = world.boot, 1
  skynet.fork(function()
    local node = find_running(world.processes)
    if node then return join(node) end
    world.founder = true
    if missing()[1] then remind() else run() end
  end)
end

-- Answers a process that starts while the world runs.
local function admit(node, boot)
  local exchange = world.exchange
  local leader = members.leader(exchange)
  if leader ~= world.here then return { ask = exchange.processes[leader].name } end
  local index, state, refused = director.admit(exchange, node, boot)
  if not index then return { wait = not refused, refused = refused } end
  return { index = index, state = state, options = world.options, homes = world.homes,
           processes = state and state.processes or world.processes }
end

--- A process asks its director, and gets the list of processes when all have come.
function CMD.join(_, node, boot)
  if type(node) ~= "string" or type(boot) ~= "string" then return { refused = "no name and boot id of a process" } end
  if not world or world.reason then return { wait = true } end
  if world.exchange and world.started then return admit(node, boot) end
  local index = world.founder and members.index_of(world.processes, node)
  if not world.founder then return { wait = true } end
  if not index then return { refused = director.refusal(nodes_of(world.options), node) } end
  world.processes[index].boot = boot
  if missing()[1] then return { wait = true } end
  if not world.started then
    world.started = true
    skynet.fork(run)
  end
  return { processes = world.processes, homes = world.homes, options = world.options }
end

--- Whether the world runs here.
function CMD.runs() return world ~= nil and world.exchange ~= nil and not world.reason end

--- A batch of another process. It waits where that process has begun the world and this one is about to.
function CMD.batch(_, from, batch)
  local refusal = world and Line.refusal(batch, world.boot)
  if refusal then return refusal end
  while world and not world.exchange and not world.reason do skynet.sleep(2) end
  if not world or not world.exchange then return { boot = false, reason = world and world.reason or "it is closed" } end
  local exchange = world.exchange
  return exchange:step(Exchange.receive, exchange, from, batch) or exchange:receive(from, batch) -- that it has ended
end

-- Clients -----------------------------------------------------------------------------------------------------------

--- Takes the name; if another service has it, this one ends.
function CMD.begin(_, word)
  if name then return end
  name = word
  skynet.register("." .. SCOPE .. name)
  if skynet.localname("." .. SCOPE .. name) ~= skynet.self() then skynet.timeout(0, skynet.exit) end
end

--- options: nil: the world must exist. Waits until all its processes are there. Returns what Member.new needs, or
-- false, a reason, and whether the world had already ended.
function CMD.open(source, options)
  if not world and not options then return false, ("there is no world '%s' in this process"):format(name) end
  if not world then begin_world(options) end
  if world.reason then return false, world.reason, true end
  local differs = argument.difference(options or world.given, world.given)
  if differs == "plan" then differs = tiles.difference(options.plan, world.given.plan) end
  if differs then return false, ("world '%s' is open with another value of option '%s'"):format(name, differs) end
  if not world.exchange then
    table.insert(world.waiting, (coroutine.running()))
    skynet.wait()
  end
  if world.reason then return false, world.reason end
  local o, places, number = world.options, {}, world.exchange:join(source)
  for shard = 1, o.plan.shards do places[shard] = changes.place(world.exchange, shard) end
  return {
    number = number, begins = world.founder and number % (1 << 24) == 1, -- the first client of a new world
    shards = o.plan.shards, dimensions = o.dimensions or 2, has_sight = o.sight,
    places = places, epoch = world.exchange.epoch, heartbeat = o.heartbeat,
  }
end

function CMD.alive() end

--- The shards that own tiles in that rectangle. Clients ask here as a map may be large: there is one per process.
function CMD.around(_, x, y, ex, ey)
  local e = world.options.plan.extent
  return world.exchange.map:around(x, y, ex + e, ey + e)
end

--- The grid of tiles, and their owners.
function CMD.map() return changes.map(world.exchange) end

function CMD.quit(source) world.exchange:leave(source) end

function CMD.info()
  local exchange = world and world.exchange
  if not exchange then return {} end
  local info = { epoch = exchange.epoch }
  info.late, info.late_seconds = late.names(exchange)
  for shard, index in pairs(exchange.hosts) do
    local process = exchange.processes[index]
    info["shard " .. shard .. " is in"] = process and process.name or "no process"
  end
  for key, value in pairs(exchange.counters) do info[key] = value end
  for index, line in pairs(exchange.lines) do
    info["calls to " .. exchange.processes[index].name] = line.calls
  end
  return info
end

--- For each epoch since the last call: number, seconds and end, where the world was opened with measure = true.
function CMD.measured()
  local list = world.measured or {}
  world.measured = {}
  return list
end

--- Ends the world in every process: aoi.stop.
function CMD.shutdown(_, reason)
  if world then finish(reason or "it was closed") end
  return true
end

local LATER = {} -- requests that are answered later, by reply(...)

--- A request of an operator: as of director.move.
function LATER.move(reply, _, what, ...) director.move(world.exchange, what, reply, ...) end

function LATER.tick(reply) world.exchange:tick(reply) end

function LATER.relay(reply, source, shard, number, ...)
  if world.exchange.by_address[source] ~= number then return reply(false, 0, "the world is closed") end
  world.exchange:relay(reply, shard, number, ...)
end

function CMD.moves(...) return world.exchange:relay_moves(...) end

function CMD.foreign_handle(_, ...) return world.exchange:foreign_handle(...) end

function CMD.addresses(_, ...) return world.exchange:addresses(...) end

for verb, method in pairs { parts = "parts", mail = "mailed", failed = "failed" } do
  CMD[verb] = function(_, ...) world.exchange:step(Exchange[method], world.exchange, ...) end
end

-- Who may send a verb: "client": a service that has opened the world here; "shard": the shard here that it names first;
-- any service, also of another process, where it is not listed.
local SENDER = {
  parts = "shard", mail = "shard", failed = "shard", moves = "client", foreign_handle = "client", addresses = "client",
  move = "client", tick = "client", relay = "client", around = "client", map = "client", measured = "client",
  shutdown = "client",
}

local function may_send(source, verb, shard)
  if not (CMD[verb] or LATER[verb]) then return false end
  if not SENDER[verb] then return true end
  if not world or not world.exchange then return false end
  if SENDER[verb] == "shard" then return world.addresses[shard] == source end
  return world.exchange.closed or world.exchange.by_address[source] ~= nil
end

local function answer(session, ...)
  if session ~= 0 then skynet.ret(skynet.pack(...)) end
end

-- Messages of clients, in the protocol of an AOI service.
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
    if not may_send(source, verb, ...) then
      warn("verb", "aoi: %s may not send '%s' to a world", skynet.address(source), tostring(verb))
      if session ~= 0 then skynet.response()(false) end
    elseif LATER[verb] then
      local response = skynet.response()
      LATER[verb](function(...) response(true, ...) end, source, ...)
    else
      answer(session, CMD[verb](source, ...))
    end
  end)
  skynet.info_func(CMD.info)
  at_exit(function() -- also called where this service is killed
    if not world or world.reason or not world.exchange then return end
    for _, client in pairs(world.exchange.clients) do
      core.send(client.address, ptype, 0, wire.bye(0, "the exchange of this process is gone: it takes no messages"))
    end
  end)
end)
