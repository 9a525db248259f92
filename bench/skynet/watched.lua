-- A service with a map of NPCs that walk, and the viewer: what a tick costs while nobody looks, and while a page does.
-- The two take turns, `seconds` / 6 each: a page is let in by opening the viewer, and sent away by closing it.
local skynet = require "skynet"
require "skynet.manager"
local aoi = require "aoi"
local host = require "aoi.skynet.viewer_host"

local function number(name) return assert(tonumber(skynet.getenv(name))) end

local N, SECONDS, INTERVAL, PORT = number "entities", number "seconds", number "interval", number "port"
local RADIUS, STEP, NEIGHBOURS, ROUNDS = 50, 2.5, 20, 6
local SIDE = 2 * RADIUS * math.sqrt(N / NEIGHBOURS)
local x, y, events = {}, {}, 0
local space = aoi.new { engine = skynet.getenv "engine", delivery = "deferred" }

local function count() events = events + 1 end

local function step()
  for id = 1, N do
    x[id] = math.min(SIDE, math.max(0, x[id] + (2 * math.random() - 1) * STEP))
    y[id] = math.min(SIDE, math.max(0, y[id] + (2 * math.random() - 1) * STEP))
    space:move(id, x[id], y[id])
  end
  space:flush()
end

-- Ticks for so many seconds; CPU of this service a tick, the least and the median of a tick alone, in ms.
local function run(seconds)
  local ticks, times, cpu, next_tick = math.floor(seconds * 100 / INTERVAL), {}, skynet.stat "cpu", skynet.now()
  for i = 1, ticks do
    local start = skynet.hpc()
    step()
    times[i] = (skynet.hpc() - start) / 1e6
    next_tick = next_tick + INTERVAL
    skynet.sleep(math.max(0, next_tick - skynet.now()))
  end
  cpu = 1000 * (skynet.stat "cpu" - cpu) / ticks
  table.sort(times)
  return cpu, times[1], times[ticks // 2 + 1]
end

skynet.start(function()
  for id = 1, N do
    x[id], y[id] = math.random() * SIDE, math.random() * SIDE
    space:enter(id, x[id], y[id], 1 << id % 4)
    space:add_node(id, 1, RADIUS, { enter = count, leave = count })
  end
  run(2)
  local frames, spent = 0, 0
  local sums = { without = { 0, math.huge, 0 }, with = { 0, math.huge, 0 } }
  for round = 1, ROUNDS do
    for _, name in ipairs { "without", "with" } do
      local view
      if name == "with" then
        view = host.serve(space, { port = PORT, title = N .. " NPCs" })
        if round == 1 then skynet.error("look at " .. view.url) end
        skynet.sleep(300) -- the page connects again
      end
      local cpu, least, median = run(SECONDS / ROUNDS)
      local sum = sums[name]
      sum[1], sum[2], sum[3] = sum[1] + cpu / ROUNDS, math.min(sum[2], least), sum[3] + median / ROUNDS
      if view then
        local stats = view:stats()
        frames, spent = frames + stats.frames, spent + stats.seconds
        view:close()
      end
    end
  end
  for _, name in ipairs { "without", "with" } do
    skynet.error(("%-7s a page: %.3f ms of CPU a tick in the service, a tick alone %.3f at least, %.3f in the middle")
      :format(name, sums[name][1], sums[name][2], sums[name][3]))
  end
  local share = 100 * spent / frames * 1000 / sums.without[3]
  skynet.error(("%d NPCs, %s, %d events: %d frames for the page took %.3f ms each, %.1f %% of a tick"):format(N,
    skynet.getenv "engine", events, frames, 1000 * spent / frames, share))
  skynet.sleep(20) -- the log is written
  skynet.abort()
end)
