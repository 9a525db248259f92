-- Agents that move themselves, each with a message of its own ten times a second, against the AOI service and the
-- simplest service by hand. CPU is that of the service, a second; lag is how long a question waits behind the moves.
local skynet = require "skynet"
require "skynet.manager"
local aoi = require "aoi.skynet"

local role, kind, service, id, side = ...
side = tonumber(side)

local AGENTS, SECONDS, RADIUS, NEIGHBOURS = 2000, tonumber(skynet.getenv "ticks") / 10, 50, 20

local function agent()
  local x, y = math.random() * side, math.random() * side
  local address = tonumber(service)
  local tell_map, tell_service
  local events = 0
  local function enter() events = events + 1 end
  local me = tonumber(id)
  if kind == "aoi" then
    local map = aoi.open(address, "map")
    map:enter(me, x, y)
    map:add_node(me, 1, RADIUS, { enter = enter, leave = enter })
    tell_map = function()
      map:move(me, x, y)
      map:flush()
    end
  else
    skynet.dispatch("lua", function() events = events + 1 end)
    skynet.call(address, "lua", "enter", me, x, y)
    skynet.call(address, "lua", "watch", me, RADIUS)
    tell_service = function() skynet.send(address, "lua", "move", me, x, y) end
  end
  skynet.sleep(math.random(10))
  local move = kind == "aoi" and tell_map or tell_service
  skynet.fork(function()
    while true do
      x = math.min(side, math.max(0, x + math.random() * 5 - 2.5))
      y = math.min(side, math.max(0, y + math.random() * 5 - 2.5))
      move()
      skynet.sleep(10)
    end
  end)
end

local function measure(what)
  local address = what == "aoi" and aoi.start { interval = 10 } or skynet.newservice "single"
  local length = 2 * RADIUS * math.sqrt(AGENTS / NEIGHBOURS)
  local map = what == "aoi" and aoi.open(address, "map", { engine = "grid" })
  local agents = {}
  for i = 1, AGENTS do agents[i] = skynet.newservice("agents", "agent", what, address, i, length) end
  skynet.sleep(100)
  local function cpu(list)
    local total = 0
    for _, a in ipairs(list) do total = total + skynet.call(a, "debug", "STAT").cpu end
    return total
  end
  local busy, busy_agents, lag = cpu { address }, cpu(agents), 0
  local start = skynet.hpc()
  for _ = 1, SECONDS * 10 do
    local asked = skynet.hpc()
    if map then map:position(1) else skynet.call(address, "lua", "position", 1) end
    lag = math.max(lag, (skynet.hpc() - asked) / 1e9)
    skynet.sleep(10)
  end
  local passed = (skynet.hpc() - start) / 1e9
  local service_ms, agents_ms = cpu { address } - busy, cpu(agents) - busy_agents
  skynet.error(("%-7s service %.0f ms of CPU a second, agents %.0f; longest lag %.3f s; queue %d"):format(what,
    1000 * service_ms / passed, 1000 * agents_ms / passed, lag, skynet.call(address, "debug", "STAT").mqlen))
  for _, a in ipairs(agents) do skynet.kill(a) end
  skynet.kill(address)
  skynet.sleep(100)
end

local function main()
  skynet.error(("%s, %d agents that move themselves"):format(_VERSION, AGENTS))
  for _ = 1, tonumber(skynet.getenv "rounds") do
    measure "aoi"
    measure "single"
  end
  skynet.sleep(50)
  skynet.abort()
end

skynet.start(role == "agent" and agent or main)
