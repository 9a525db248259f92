-- Agents that move themselves, each with a message of its own ten times a second, against the AOI service and the
-- simplest service by hand. For a fixed time they move, then they stop. CPU is what the service and the agents have
-- spent on all of it, what was still queued included; where the machine has no time left for it, moves are fewer, so it
-- is shown for each move, too. Lag is how long a question waits behind the moves; one that is not answered in that time
-- counts with what it has waited.
local skynet = require "skynet"
require "skynet.manager"
local role, kind, service, id, side = ...
local aoi = (role ~= "agent" or kind == "aoi") and require "aoi.skynet" -- by hand without it
side = tonumber(side)

local AGENTS, SECONDS, RADIUS, NEIGHBOURS = 2000, tonumber(skynet.getenv "ticks") / 10, 50, 20

local function agent()
  math.randomseed(tonumber(id)) -- services that start together may have one seed
  local x, y = math.random() * side, math.random() * side
  local address = tonumber(service)
  local move
  local events, moves, moving = 0, 0, false
  local function enter() events = events + 1 end
  local me = tonumber(id)
  local function walk()
    skynet.sleep(math.random(10))
    while moving do
      x = math.min(side, math.max(0, x + math.random() * 5 - 2.5))
      y = math.min(side, math.max(0, y + math.random() * 5 - 2.5))
      move()
      moves = moves + 1
      skynet.sleep(10)
    end
  end
  skynet.dispatch("lua", function(session, _, what)
    if session == 0 then
      events = events + 1
      return
    end
    moving = what == "go"
    if moving then skynet.fork(walk) end
    skynet.ret(skynet.pack(skynet.stat "cpu", moves))
  end)
  if kind == "aoi" then
    local map = aoi.open(address, "map")
    map:enter(me, x, y)
    map:add_node(me, 1, RADIUS, { enter = enter, leave = enter })
    function move()
      map:move(me, x, y)
      map:flush()
    end
  else
    skynet.call(address, "lua", "enter", me, x, y)
    skynet.call(address, "lua", "watch", me, RADIUS)
    function move() skynet.send(address, "lua", "move", me, x, y) end
  end
end

-- Asks again and again until `over`; returns a function: the longest that a question has waited, so far, in seconds.
local function ask(question, over)
  local longest, asked = 0, nil
  skynet.fork(function()
    while not over() do
      asked = skynet.hpc()
      question()
      longest, asked = math.max(longest, (skynet.hpc() - asked) / 1e9), nil
      skynet.sleep(10)
    end
  end)
  return function() return math.max(longest, asked and (skynet.hpc() - asked) / 1e9 or 0) end
end

local function measure(what)
  local address = what == "aoi" and aoi.start { interval = 10 } or skynet.newservice "single"
  local length = 2 * RADIUS * math.sqrt(AGENTS / NEIGHBOURS)
  local map = what == "aoi" and aoi.open(address, "map", { engine = "grid" })
  local agents, busy_agents, spent_agents, moves, over = {}, 0, 0, 0, false
  for i = 1, AGENTS do agents[i] = skynet.newservice("agents", "agent", what, address, i, length) end
  skynet.sleep(100)
  local busy, start = skynet.call(address, "debug", "STAT").cpu, skynet.hpc()
  for _, a in ipairs(agents) do busy_agents = busy_agents + skynet.call(a, "lua", "go") end
  local lag = ask(function()
    if map then map:position(1) else skynet.call(address, "lua", "position", 1) end
  end, function() return over end)
  skynet.sleep(100 * SECONDS)
  local longest = lag()
  over = true
  for _, a in ipairs(agents) do
    local cpu, moved = skynet.call(a, "lua", "stop")
    spent_agents, moves = spent_agents + cpu, moves + moved
  end
  local passed = (skynet.hpc() - start) / 1e9
  local spent = skynet.call(address, "debug", "STAT").cpu -- behind all that was queued
  local line = "%-7s %.0f moves a second; service %.0f ms of CPU a second, %.2f us a move; agents %.0f ms, %.1f us; "
    .. "longest lag %.3f s; queue worked off %.1f s later"
  local own, theirs = spent - busy, spent_agents - busy_agents
  skynet.error(line:format(what, moves / passed, 1000 * own / passed, 1e6 * own / moves, 1000 * theirs / passed,
    1e6 * theirs / moves, longest, (skynet.hpc() - start) / 1e9 - passed))
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
