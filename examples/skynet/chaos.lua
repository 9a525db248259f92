-- A world of NPCs that a scene drives and players that drive themselves, and everything that can happen to them: kills,
-- ends, restarts, handlers that wait, busy loops, new code. Whenever all rest, what each player has been told is
-- compared with what the service says. examples/skynet/chaos.sh runs it, in one process or in two.
--
--   role    "all": everything is here; "near": the service and the scene; "far": the players, over the cluster
local skynet = require "skynet"
require "skynet.manager"
local aoi = require "aoi.skynet"

local role, SECONDS = skynet.getenv "role", tonumber(skynet.getenv "seconds")
local NPCS, AGENTS, RADIUS, SIDE = 2000, 200, 50, 700

local service, scene, resting
local agents, next_id = {}, 1

local function born()
  next_id = next_id + 1
  local agent = { id = 1000000 * (role == "far" and 2 or 1) + next_id }
  agent.address = skynet.newservice("chaos_agent", service, agent.id, SIDE, RADIUS)
  agents[#agents + 1] = agent
end

local function drive()
  local x, y = {}, {}
  scene = aoi.open(service, "world", { engine = "grid" })
  local rows = {}
  for id = 1, NPCS do
    x[id], y[id] = math.random() * SIDE, math.random() * SIDE
    rows[3 * id - 2], rows[3 * id - 1], rows[3 * id] = id, x[id], y[id]
  end
  scene:enter_many(rows)
  return function()
    for id = 1, NPCS do
      x[id] = math.min(SIDE, math.max(0, x[id] + math.random() * 5 - 2.5))
      y[id] = math.min(SIDE, math.max(0, y[id] + math.random() * 5 - 2.5))
      scene:move(id, x[id], y[id])
    end
    scene:flush()
  end
end

local function each(command, ...)
  for _, agent in ipairs(agents) do skynet.send(agent.address, "lua", command, ...) end
end

local counts = { kills = 0, ends = 0, reloads = 0, busy = 0, reopened = 0, waits = 0 }

local function something()
  local k = math.random(#agents)
  local agent, what = agents[k], math.random(12)
  if what <= 4 then
    skynet.kill(agent.address)
    table.remove(agents, k)
    born()
    counts.kills = counts.kills + 1
  elseif what <= 6 then
    skynet.send(agent.address, "lua", "exit")
    table.remove(agents, k)
    skynet.sleep(3)
    born()
    counts.ends = counts.ends + 1
  elseif what <= 8 then
    skynet.send(agent.address, "lua", "reload")
    counts.reloads = counts.reloads + 1
  elseif what == 9 then
    skynet.send(agent.address, "lua", "busy")
    counts.busy = counts.busy + 1
  elseif what == 10 then
    skynet.send(agent.address, "lua", "reopen")
    counts.reopened = counts.reopened + 1
  else
    skynet.send(agent.address, "lua", "wait", what == 11)
    counts.waits = counts.waits + 1
  end
end

local function compare()
  local differences, seen, closed, left = 0, 0, 0, #agents
  for _, agent in ipairs(agents) do
    skynet.fork(function()
      local ok, bad, n = pcall(skynet.call, agent.address, "lua", "compare")
      if not ok or bad < 0 then closed = closed + 1 else differences, seen = differences + bad, seen + n end
      left = left - 1
    end)
  end
  while left > 0 do skynet.sleep(5) end
  local text = ("rest: %d players, %d in view each, %d differences, %d closed"):format(#agents, seen // #agents,
    differences, closed)
  return differences, text, closed
end

local function entities()
  local count = scene and scene:count() or 0
  return count, ("%d entities"):format(count)
end

-- The scene rests, too, wherever it is.
local function rest_all(how)
  resting = how
  if role == "far" then require("skynet.cluster").call("near", "@scene", how) end
  each("rest", how)
end

-- Players live through chaos for some seconds, and are compared at each rest. Returns all differences.
local function play(walk)
  local total = 0
  if walk then
    skynet.fork(function()
      while true do
        if not resting then walk() end
        skynet.sleep(10)
      end
    end)
  end
  for _ = 1, AGENTS do born() end
  local stop = skynet.now() + 100 * SECONDS
  while skynet.now() < stop do
    for _ = 1, 50 do
      something()
      skynet.sleep(6)
    end
    rest_all(true)
    each("wait", false)
    skynet.sleep(250)
    local differences, text = compare()
    local _, there = entities()
    skynet.error(text .. (scene and ", " .. there or ""))
    total = total + differences
    if scene and scene:count() ~= NPCS + #agents then
      total = total + 1
      skynet.error(("%d entities are there instead of %d"):format(scene:count(), NPCS + #agents))
    end
    rest_all(false)
  end
  return total
end

local function summary(total)
  local words = {}
  for name, n in pairs(counts) do words[#words + 1] = name .. "=" .. n end
  table.sort(words)
  skynet.error(("chaos: %d differences; %s"):format(total, table.concat(words, " ")))
end

local function finish(total)
  summary(total)
  skynet.sleep(50)
  skynet.abort()
end

local roles = {}

function roles.all()
  service = aoi.start { interval = 10, heartbeat = 2 }
  finish(play(drive()))
end

-- Tells every second how many entities there are: what is left behind would be seen here.
function roles.near()
  local cluster = require "skynet.cluster"
  service = aoi.start { interval = 10, heartbeat = 1 }
  cluster.reload { near = "127.0.0.1:" .. skynet.getenv "port", far = false }
  cluster.register("aoi", service)
  cluster.register("scene", skynet.self())
  cluster.open "near"
  local walk = drive()
  skynet.fork(function()
    while true do
      if not resting then walk() end
      skynet.sleep(10)
    end
  end)
  skynet.dispatch("lua", function(_, _, how)
    resting = how
    skynet.ret(skynet.pack(true))
  end)
  for _ = 1, SECONDS do
    skynet.sleep(100)
    local count = entities()
    skynet.error(("near: %d entities besides the NPCs"):format(count - NPCS))
  end
  skynet.abort()
end

function roles.far()
  local cluster = require "skynet.cluster"
  cluster.reload { near = "127.0.0.1:" .. skynet.getenv "port" }
  service = "near@aoi"
  local walking = play(nil)
  -- Alone from now on: the near node may be killed and come again.
  for _ = 1, tonumber(skynet.getenv "watch") do
    pcall(rest_all, true)
    skynet.sleep(150)
    local _, text = compare()
    skynet.error("far: " .. text)
  end
  finish(walking)
end

skynet.start(function()
  math.randomseed(tonumber(skynet.getenv "seed") or os.time())
  roles[role]()
end)
