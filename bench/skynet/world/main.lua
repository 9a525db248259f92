-- A process of a world under load: 20,000 walkers, 2,000 watchers in 4 services, at 10 Hz. Every shard writes what it
-- has accepted to a journal, every watcher sums up what it hears; compare.lua makes it all again in one space.
--
--   mode exact   runs so many epochs, writes OUT/NODE.result: events heard, their checksum, the lengths of epochs
--   mode scale   what an epoch costs, with no journal (scale.lua)
--   mode again   opens the world whenever it has ended, and says on the console how long that took
--   mode shards  the first process kills each of its shards under load; what handlers have heard is compared at the end
--   mode deaths  the first process kills a quiet client, a shard, its exchange (deaths.lua); the other one as in again
local skynet = require "skynet"
require "skynet.manager"
local aoi = require "aoi.skynet"

local function number(name) return assert(tonumber(skynet.getenv(name))) end

local NODE, NODES, OUT, MODE = skynet.getenv "node", skynet.getenv "nodes", skynet.getenv "out", skynet.getenv "mode"
local WALKERS, WATCHERS, EPOCHS, SHARDS = number "walkers", number "watchers", number "epochs", number "shards"
local RADIUS, NEIGHBOURS, SERVICES, HEARTBEAT = 50, 20, 4, 2
local SIDE = 2 * RADIUS * math.sqrt(WALKERS / NEIGHBOURS)

local list = {}
for name in NODES:gmatch("%S+") do list[#list + 1] = name end

local function open(others)
  local options = {
    name = "earth", size = SIDE, reach = 55, interval = number "interval", heartbeat = HEARTBEAT, engine = "grid",
    journal = MODE == "exact" and OUT .. "/journal" or nil, measure = true,
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
  for name, value in pairs(others or {}) do options[name] = value end
  return aoi.world(options)
end

-- This process's share of the walkers, and the services that move and watch them.
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
    services[#services + 1] = skynet.newservice("watcher", i, WATCHERS // SERVICES, WALKERS, RADIUS)
  end
  for _, service in ipairs(services) do skynet.call(service, "lua", "start") end
  return services
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

local function run_exact()
  local world = open()
  skynet.error(("%s: the world is there"):format(NODE))
  local services = populate()
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

function RUN.again()
  local last
  while true do
    local world = open()
    skynet.error(("%s: open, epoch %d"):format(NODE, world:epoch()))
    if last then skynet.error(("%s: open again after %.2f s"):format(NODE, (skynet.hpc() - last) / 1e9)) end
    local services = populate()
    local ended
    world:on_close(function(reason) ended = reason end)
    local at, longest = skynet.hpc(), 0
    repeat
      skynet.sleep(10)
      if not ended and pcall(world.tick, world) then
        longest = math.max(longest, (skynet.hpc() - at) / 1e9)
        at = skynet.hpc()
      end
      if longest > 1 then
        skynet.error(("%s: a pause of %.1f s, then epoch %d"):format(NODE, longest, world:epoch()))
        longest = 0
      end
    until ended
    skynet.error(("%s: ended %.2f s after the last epoch: %s"):format(NODE, (skynet.hpc() - at) / 1e9, ended))
    for _, service in ipairs(services) do skynet.kill(service) end
    last = at
  end
end

function RUN.deaths()
  if NODE ~= list[1] then return RUN.again() end
  skynet.error(NODE .. (require "deaths"(open, HEARTBEAT) and ": all deaths noticed" or ": TOO LATE"))
  skynet.sleep(50) -- the console
  skynet.abort()
end

-- Each shard of the first process is killed, one after the other, while everything moves; then all stand still, and
-- every watcher compares what it has heard with what is there.
function RUN.shards()
  local world = open()
  local services, ended = populate(), nil
  world:on_close(function(reason) ended = reason end)
  skynet.sleep(800)
  local all = world:count()
  for shard, address in pairs(NODE == list[1] and world.addresses or {}) do
    local at, longest, back = skynet.hpc(), 0, nil
    skynet.kill(address)
    for _ = 1, 40 do
      local from = skynet.hpc()
      world:tick()
      longest = math.max(longest, (skynet.hpc() - from) / 1e9)
      back = back or world:count() == all and (skynet.hpc() - at) / 1e9 or nil
    end
    local text = "%s: shard %d was killed, the longest of 40 ticks took %.2f s; all %d entities are there after %.2f s"
    skynet.error(text:format(NODE, shard, longest, all, back or -1))
  end
  while world:epoch() < EPOCHS + 30 do world:tick() end
  local nodes, wrong = 0, 0
  for _, service in ipairs(services) do
    local n, bad = skynet.call(service, "lua", "verify")
    nodes, wrong = nodes + n, wrong + bad
  end
  local text = "%s: %d nodes, %d of them see something else; on_close: %s"
  skynet.error(text:format(NODE, nodes, wrong, tostring(ended)))
  skynet.error(NODE .. (wrong == 0 and not ended and world:count() == all and ": all is well" or ": DIFFERENT"))
  skynet.sleep(500) -- the other one may still ask
  skynet.abort()
end

skynet.start(function()
  if #list > 1 then require("skynet.cluster").open(NODE) end
  RUN[MODE]()
end)
