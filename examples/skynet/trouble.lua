-- What one service of a server does wrong, and what the others notice of it. Each scene has a service and a map of its
-- own.
--
--   flood   eight services send a message for each move, as fast as they can: the ticks go on
--   hang    a handler never returns: its own watcher alone hears no more, however much comes for it
--   stall   a gate loops for six seconds: the pictures of its clients are right again afterwards
--   deaf    a service loops while broadcasts go to it: those wait in bounded memory
--   proxy   a service behind a proxy of the cluster, one that is not there, and a node of the cluster by its name
local skynet = require "skynet"
require "skynet.manager"
local aoi = require "aoi.skynet"

local role, service = ...
service = tonumber(service)
local CMD = {}

local function loop(seconds)
  local stop = skynet.hpc() + seconds * 1e9
  while skynet.hpc() < stop do end -- luacheck: ignore
end

-- ---- the services of the scenes -------------------------------------------------------------------------------------

-- A service that moves one entity.
function CMD.flood(id, seconds)
  local map = aoi.open(service, "map")
  map:enter(id, 0, 0)
  local stop, moves = skynet.hpc() + seconds * 1e9, 0
  while skynet.hpc() < stop do
    for _ = 1, 500 do
      moves = moves + 1
      map:move(id, moves % 100, 0)
      map:flush()
    end
    skynet.yield()
  end
  return moves
end

-- One that watches: the pictures of its handlers, and the times at which they are called.
local heard, known, watching = 0, {}, nil

function CMD.watch(first, last, radius, hanging)
  watching = aoi.open(service, "map")
  for id = first, last do
    known[id] = {}
    watching:add_node(id, 1, radius, {
      enter = function(watcher, target)
        heard = heard + 1
        known[watcher][target] = true
        if watcher == hanging then skynet.wait() end
      end,
      leave = function(watcher, target)
        heard = heard + 1
        known[watcher][target] = nil
      end,
    })
  end
end

-- Differences between what handlers were told and what the service says, and events heard so far.
function CMD.compare(except)
  local wrong, seen = 0, 0
  for id, picture in pairs(known) do
    local told = 0
    for _ in pairs(picture) do told = told + 1 end
    local list, n = watching:view(id, 1)
    if id ~= except then wrong, seen = wrong + math.abs(n - told), seen + n end
    for i = 1, n do
      if id ~= except and not picture[list[i]] then wrong = wrong + 1 end
    end
  end
  return wrong, seen, heard, aoi.info(service)
end

-- A gate: the pictures of its clients.
local pictures = {}

function CMD.gate()
  aoi.gate(service):on_client(function(id, bytes)
    pictures[id] = pictures[id] or {}
    local picture, news = pictures[id], assert(require("aoi").sync.read(bytes))
    if news.anew then
      for target in pairs(picture) do picture[target] = nil end
    end
    for i = 1, news.gone.n do picture[news.gone[i]] = nil end
    for i = 1, 4 * news.appeared.n, 4 do picture[news.appeared[i]] = true end
  end)
end

function CMD.loop(seconds) loop(seconds) end

-- Ghosts, and what is missing.
function CMD.pictures()
  local ghosts, missing, right, map = 0, 0, 0, aoi.open(service, "map")
  for id, picture in pairs(pictures) do
    local list, n = map:known(id)
    local really = {}
    for i = 1, n do
      really[list[i]] = true
      if picture[list[i]] then right = right + 1 else missing = missing + 1 end
    end
    for target in pairs(picture) do
      if not really[target] then ghosts = ghosts + 1 end
    end
  end
  return ghosts, missing, right
end

-- ---- the scenes -----------------------------------------------------------------------------------------------------

local function start(name) return skynet.newservice("trouble", name, service) end

local function say(good, text, ...)
  skynet.error((good and "as promised: " or "NOT AS PROMISED: ") .. text:format(...))
end

local function new_map(n)
  local map, rows = aoi.open(service, "map", { engine = "grid" }), {}
  for id = 1, n do rows[3 * id - 2], rows[3 * id - 1], rows[3 * id] = id, math.random() * 300, math.random() * 300 end
  map:enter_many(rows)
  return map, function()
    for i = 2, 3 * n, 3 do rows[i], rows[i + 1] = math.random() * 300, math.random() * 300 end
    map:flush(rows)
  end
end

local function walk(step, ticks)
  for _ = 1, ticks do
    step()
    skynet.sleep(10)
  end
end

local scenes = {}

function scenes.flood()
  local movers, left, total = {}, 8, 0
  for i = 1, 8 do movers[i] = start "mover" end
  for i, mover in ipairs(movers) do
    skynet.fork(function()
      local moves = skynet.call(mover, "lua", "flood", i, 3)
      total, left = total + moves, left - 1
    end)
  end
  local begun = skynet.now()
  while left > 0 do skynet.sleep(10) end
  local ticks = skynet.call(service, "debug", "INFO").service.ticks -- behind all that was queued
  local rate = ticks / (skynet.now() - begun) * 100
  say(rate > 5, "%d moves of eight services in 3 s, a message each: %.1f ticks a second, one due each 0.1 s", total,
    rate)
end

function scenes.hang()
  local _, step = new_map(300)
  local watcher = start "watcher"
  skynet.call(watcher, "lua", "watch", 1, 20, 80, 7)
  walk(step, 100)
  local _, _, before = skynet.call(watcher, "lua", "compare")
  walk(step, 50)
  skynet.sleep(30)
  local wrong, seen, after, info = skynet.call(watcher, "lua", "compare", 7)
  say(wrong == 0 and after > before + 1000 and info.parked < 50000,
    "a handler that never returns: the other 19 watchers see %d, %d differences, %d events since; %d values wait", seen,
    wrong, after - before, info.parked)
end

function scenes.stall()
  local map, step = new_map(300)
  local to = start "gate"
  skynet.call(to, "lua", "gate")
  for id = 1, 10 do map:add_client(id, { radius = 50, margin = 5 }, { to = to, fd = id }) end
  walk(step, 20)
  skynet.fork(skynet.call, to, "lua", "loop", 6)
  walk(step, 70)
  skynet.sleep(30)
  step()
  skynet.sleep(50)
  local ghosts, missing, right = skynet.call(to, "lua", "pictures")
  say(ghosts == 0 and missing == 0 and right > 0,
    "a gate that loops for 6 s: %d ghosts and %d missing in the pictures of its 10 clients, %d right", ghosts, missing,
    right)
end

function scenes.deaf()
  local map = new_map(20)
  local to = start "gate"
  skynet.call(to, "lua", "gate")
  map:add_client(1, 1000, { to = to })
  skynet.sleep(30)
  skynet.fork(skynet.call, to, "lua", "loop", 3)
  skynet.sleep(20)
  local bytes, sent = ("x"):rep(100000), 0
  for _ = 1, 200 do sent = sent + map:broadcast(2, bytes) end
  skynet.sleep(400)
  local again = map:broadcast(2, bytes)
  say(sent <= 11 and again == 1, "200 broadcasts of 100 kB to a service that loops: %d sent, 1 of 1 afterwards", sent)
end

function scenes.proxy()
  local cluster = require "skynet.cluster"
  local port = math.random(20000, 60000)
  cluster.reload { here = "127.0.0.1:" .. port }
  cluster.open "here"
  cluster.register("aoi", service)
  local function open(...)
    local map = aoi.open(...)
    return map
  end
  local ok, err = pcall(open, cluster.proxy("here", "@aoi"), "map")
  local good = not ok and err:find "trouble.lua:%d+: bad argument #1 to .open. %(a proxy"
  say(good, "a proxy of the cluster: %s", err)
  ok, err = pcall(open, ".nobody", "map")
  say(not ok and err:find "trouble.lua:%d+: bad argument #1 to 'open' %(no service", "no such service: %s", err)
  local map = aoi.open("here@aoi", "map")
  map:enter(1, 2, 3)
  local events = 0
  map:add_node(1, 1, 5, { enter = function() events = events + 1 end })
  map:enter(2, 2, 3)
  skynet.sleep(50)
  say(events == 1, "a node of the cluster by its name: %d event", events)
end

skynet.start(function()
  skynet.dispatch("lua", function(_, _, name, ...) skynet.ret(skynet.pack(CMD[name](...))) end)
  if role then return end
  skynet.fork(function()
    for name in skynet.getenv("scenes"):gmatch "%a+" do
      service = aoi.start { interval = 10 }
      local ok, err = xpcall(scenes[name], debug.traceback)
      if not ok then say(false, "%s", err) end
      aoi.stop(service)
    end
    skynet.sleep(20)
    skynet.abort()
  end)
end)
