-- A process of a world under load: 20,000 walkers, 2,000 watchers in 4 services, at 10 Hz. Every shard writes what it
-- has accepted to a journal, every watcher sums up what it hears; compare.lua makes it all again in one space.
--
--   mode exact   runs so many epochs, writes OUT/NODE.result: events heard, their checksum, the lengths of epochs; with
--                VIEWS, a process `players` writes the pictures of so many players to OUT/pictures
--   mode scale   what an epoch costs, with no journal (scale.lua)
--   mode live    opens the world whenever it has ended, and does what run.sh asks for; process `players` has no part in
--                it, but connections for client views
--   mode chaos   whatever may happen to services happens to them, again and again (chaos.lua)
--   mode deaths  the first process kills a quiet client, a shard, its exchange (deaths.lua); the other one as in live
local skynet = require "skynet"
require "skynet.manager"
local aoi = require "aoi.skynet"
local viewed = require "viewed"

local function number(name) return assert(tonumber(skynet.getenv(name))) end

local NODE, NODES, OUT, MODE = skynet.getenv "node", skynet.getenv "nodes", skynet.getenv "out", skynet.getenv "mode"
local WALKERS, WATCHERS, EPOCHS, SHARDS = number "walkers", number "watchers", number "epochs", number "shards"
local WALLS, VIEWS = number "walls", MODE ~= "scale" and MODE ~= "deaths" and number "views" or 0
local HAS_STATE = MODE == "exact" or MODE == "chaos"
local RADIUS, NEIGHBOURS, SERVICES, HEARTBEAT = 50, 20, number "services", 2
local SIDE = 2 * RADIUS * math.sqrt(WALKERS / NEIGHBOURS)

local list = {}
for name in NODES:gmatch("%S+") do list[#list + 1] = name end

local function open(others)
  local options = {
    name = "earth", size = SIDE, reach = 55, interval = number "interval", heartbeat = HEARTBEAT, engine = "grid",
    quantum = HAS_STATE and viewed.quantum or nil, fields = HAS_STATE and viewed.fields or nil,
    sight = WALLS > 0 or nil, journal = MODE == "exact" and OUT .. "/journal" or nil,
    measure = MODE ~= "live" and MODE ~= "chaos",
  }
  if #list == 1 then
    options.shards = SHARDS
  else
    options.node, options.nodes = NODE, {}
    for _, name in ipairs(list) do options.nodes[name] = SHARDS // #list end
    if NODE ~= list[1] then
      options = { name = "earth", node = NODE, director = list[1], journal = options.journal }
    end
  end
  for name, value in pairs(options.director and {} or others or {}) do options[name] = value end
  return aoi.world(options)
end

local function port_of(service) return number "port" + 10 + service end

-- This process's share of the walkers: the services that watch and those that move them.
local function populate()
  local here = 1
  for i, name in ipairs(list) do
    if name == NODE then here = i end
  end
  local services, movers, each = {}, {}, WALKERS // SERVICES
  for i = here, SERVICES, #list do
    movers[#movers + 1] = skynet.newservice("walker", (i - 1) * each + 1, each, SIDE, EPOCHS)
  end
  for _, service in ipairs(movers) do skynet.call(service, "lua", "start") end
  for i = here, SERVICES, #list do
    services[#services + 1] = skynet.newservice("watcher", i, WATCHERS // SERVICES, WALKERS, RADIUS, SERVICES,
      (MODE == "live" or VIEWS > 0) and port_of(i) or nil)
  end
  for _, service in ipairs(services) do skynet.call(service, "lua", "start") end
  return services, movers
end

-- Walls as long as a street is wide, and doors that open and shut until may_go() is false.
local function build(world, may_go)
  local rows, is_open = {}, {}
  for i = 1, WALLS do
    local x, y, long = math.random() * SIDE, math.random() * SIDE, 10 + math.random() * 30
    local horizontal = i % 2 == 0
    table.move({ x, y, x + (horizontal and long or 0), y + (horizontal and 0 or long) }, 1, 4, 4 * i - 3, rows)
  end
  local doors = world:wall_many(rows)
  while not world.closed do
    local id = doors[math.random(#doors)]
    local turn = is_open[id] and world.shut_wall or world.open_wall
    if may_go() and pcall(turn, world, id) then is_open[id] = not is_open[id] end
    skynet.sleep(5)
  end
end

local function percentile(sorted, p) return sorted[math.max(1, math.ceil(p * #sorted))] or 0 end

local function write_result(world, services)
  local events, sum = 0, 0
  for _, service in ipairs(services) do
    local n, s = skynet.call(service, "lua", "result")
    events, sum = events + n, sum + s
  end
  local measured, periods, late, why = world.measured(), {}, 0, { 0, 0, 0, 0 }
  for i = 11, math.min(EPOCHS, #measured) do
    periods[#periods + 1] = measured[i][3] - measured[i - 1][3]
    if periods[#periods] > 0.12 then
      late, why[1] = late + 1, why[1] + periods[#periods] - measured[i][2]
      for part = 1, 3 do why[part + 1] = why[part + 1] + measured[i][3 + part] end
    end
  end
  table.sort(periods)
  local info = world:info()
  local file = assert(io.open(("%s/%s.result"):format(OUT, NODE), "w"))
  file:write(("events %d\nsum %d\n"):format(events, sum))
  local text = "epochs %d within 120 ms: %.2f %%, median %.1f ms, p99 %.1f, longest %.1f; waits %.2f, most %.2f\n"
  file:write(text:format(#periods, 100 - 100 * late / math.max(1, #periods), 1000 * percentile(periods, 0.5),
      1000 * percentile(periods, 0.99), 1000 * percentile(periods, 1),
      1000 * info.world.wait_seconds / info.world.epochs, 1000 * info.world.wait_max))
  if late > 0 then
    local ms = 1000 / late
    file:write(("late ones, on average: %.1f ms until it begins, %.1f closing, %.1f waiting, %.1f applying\n"):format(
      ms * why[1], ms * why[2], ms * why[3], ms * why[4]))
  end
  for shard, process in ipairs(world.process_of) do
    local n = info["shard " .. shard]
    if process == NODE or #list == 1 then
      local words = "shard %d: %d own, %d ghosts; read %.2f ms, close %.2f (hands %.2f), apply %.2f, drain %.2f, "
      local ms = 1000 / n.epoch
      file:write(words:format(shard, n.reals, n.ghosts, ms * n.read_seconds, ms * n.close_seconds, ms * n.hand_seconds,
        ms * n.apply_seconds, ms * n.drain_seconds))
      file:write(("%.1f kB out; %d handed over, %.1f us each, %d events\n"):format(n.bytes / n.epoch / 1000, n.handed,
        1e6 * n.hand_seconds / math.max(1, n.handed), n.events))
    end
  end
  file:close()
end

-- A square of so many tiles in the corner goes to the last shard, and back to the first one.
local function move_tiles(world, count)
  local side = 32 * math.ceil(math.sqrt(count)) -- the largest power of two below 0.6 of the reach
  skynet.sleep(1000)
  for _, shard in ipairs { SHARDS, 1 } do
    local epoch = world:assign(0, 0, side - 1, side - 1, shard)
    skynet.error(("%s: %d tiles are shard %d's in epoch %d"):format(NODE, (side // 32) ^ 2, shard, epoch))
  end
end

local function run_exact()
  local world = open()
  skynet.error(("%s: the world is there"):format(NODE))
  local services = populate()
  if NODE == list[1] and WALLS > 0 then
    skynet.fork(build, world, function() return world:epoch() < EPOCHS end)
  end
  if NODE == list[1] and number "tiles" > 0 then skynet.fork(move_tiles, world, number "tiles") end
  while world:epoch() < EPOCHS + 30 do
    skynet.sleep(50)
    world:tick()
  end
  write_result(world, services)
  skynet.error(NODE .. ": done")
  skynet.sleep(300) -- the other one may still ask
  skynet.abort()
end

local function run_scale()
  local world = open()
  populate()
  local file = assert(io.open(("%s/%s.result"):format(OUT, NODE), "w"))
  require "scale"(world, SHARDS, EPOCHS, file)
  file:close()
  skynet.abort()
end

local RUN = { exact = run_exact, scale = run_scale }

-- What OUT/NODE.order asks for: orders[its first word](the others); the file is gone when that is done.
local function obey(orders)
  local path = ("%s/%s.order"):format(OUT, NODE)
  local file = io.open(path)
  if not file then return end
  local words = {}
  for word in file:read("a"):gmatch "%S+" do words[#words + 1] = word end
  file:close()
  orders[words[1]](table.unpack(words, 2))
  os.remove(path)
end

local function say(format, ...) skynet.error((NODE .. ": " .. format):format(...)) end

local function call_all(services, name)
  for _, service in ipairs(services) do skynet.call(service, "lua", name) end
end

-- What run.sh may ask for of a process in which the world lives. state.longest: seconds of the longest epoch since the
-- last question.
local function orders_of(world, state)
  local orders = {}

  function orders.halt()
    state.halted = true
    skynet.sleep(100) -- the door that is being opened
    call_all(state.movers, "halt")
    world:tick()
  end

  function orders.walk()
    state.halted = false
    call_all(state.movers, "walk")
  end

  function orders.verify()
    local sums = { 0, 0, 0, 0, 0 }
    for _, service in ipairs(state.watchers) do
      for i, n in ipairs { skynet.call(service, "lua", "verify") } do sums[i] = sums[i] + n end
    end
    say("epoch %d, %d entities; the longest tick took %.2f s", world:epoch(), world:count(), state.longest)
    say("%d nodes, %d of them DIFFERENT, %d added anew; %d client views, %d of them DIFFERENT", table.unpack(sums))
    state.longest = 0
  end

  function orders.shards()
    for _, address in pairs(world.addresses) do
      skynet.kill(address)
      skynet.sleep(300)
    end
  end

  function orders.drain() skynet.fork(pcall, world.drain, world, NODE) end -- it ends meanwhile

  return orders
end

-- Opens the world, again where it has ended, unless it was drained.
function RUN.live()
  while true do
    local world = open()
    local state = { longest = 0 }
    local ended
    world:on_close(function(reason) ended = reason end)
    state.watchers, state.movers = populate()
    local others = WALLS > 0 and select(2, world:walls()) -- of a former life of this process
    if others == 0 then skynet.fork(build, world, function() return not state.halted end) end
    say("open, epoch %d", world:epoch())
    local orders = orders_of(world, state)
    skynet.fork(function()
      while not ended do
        obey(orders)
        skynet.sleep(10)
      end
    end)
    repeat
      local at = skynet.hpc()
      skynet.sleep(1)
      if pcall(world.tick, world) then state.longest = math.max(state.longest, (skynet.hpc() - at) / 1e9) end
    until ended
    say("ON_CLOSE %s", ended)
    if ended:find "has left" then skynet.abort() end
    for _, services in ipairs { state.watchers, state.movers } do
      for _, service in ipairs(services) do skynet.kill(service) end
    end
  end
end

-- No part of the world: players.lua.
function RUN.players()
  local path = MODE == "exact" and OUT .. "/pictures"
  local losses, orders = require "players"(list, SERVICES, number "views", port_of, path, WALKERS), {}
  function orders.verify(gone)
    local text = ""
    for _, node in ipairs(list) do
      text = ("%s, %d with %s"):format(text, losses[node] or 0, node)
      if node ~= gone and losses[node] then text = text .. " DIFFERENT" end
      losses[node] = nil
    end
    say("connections lost%s", text)
  end
  while true do
    obey(orders)
    skynet.sleep(10)
  end
end

function RUN.chaos() require "chaos"(open, NODE, list, SIDE) end

function RUN.deaths()
  if NODE ~= list[1] then return RUN.live() end
  skynet.error(NODE .. (require "deaths"(open, HEARTBEAT) and ": all deaths noticed" or ": TOO LATE"))
  skynet.sleep(50) -- the console
  skynet.abort()
end

skynet.start(function()
  if NODE == "players" then return RUN.players() end
  if #list > 1 then require("skynet.cluster").open(NODE) end
  RUN[MODE]()
end)
