-- chaos(open, here, nodes, side): for DURATION seconds, whatever may happen to the services of a world, or with
-- KIND=map of an AOI service, its clients and relays, happens to them, as SEED says (chaos_play.lua). Now and then all
-- stand still, and what each client has heard is compared with one space that is given what all have sent
-- (chaos_compare.lua). Each process has clients and gates of its own (chaos_player.lua); the first one says what
-- happens.
local skynet = require "skynet"
require "skynet.manager"
local cluster = require "skynet.cluster"
local aoi = require "aoi.skynet"
local is_dead = require "aoi.skynet.world.is_dead"

local KIND, DURATION = skynet.getenv "kind", tonumber(skynet.getenv "duration")
local SEED, WINDOW = tonumber(skynet.getenv "seed"), tonumber(skynet.getenv "window")
local PLAYERS, GATES, SHARDS = 6, 2, tonumber(skynet.getenv "shards")
local GRACE, HANG, LATEST = 4, 60, 20 -- seconds: until a call counts as lost, until all must be right

return function(open, here, nodes, side)
  local first = here == nodes[1]
  local here_at = 1
  while nodes[here_at] ~= here do here_at = here_at + 1 end
  local world, players, serial, wrong, halted, LOCAL = nil, {}, here_at, 0, true, {}
  local source = KIND == "world" and "world" or first and ".aoi" or nodes[1] .. "@aoi"
  math.randomseed(SEED + here_at)

  local function keep_world()
    while true do
      local ok, new = pcall(open, { window = WINDOW, grace = GRACE, size = side })
      if ok then world = new else skynet.error(new) end
      repeat skynet.sleep(10) until not ok or world.closed
    end
  end

  local function keep_service()
    local service
    while true do
      if not service or not pcall(skynet.call, service, "debug", "PING") then
        service = aoi.start { interval = 10, heartbeat = 2, window = WINDOW }
        skynet.name(".aoi", service)
        if #nodes > 1 then
          pcall(cluster.unregister, "aoi")
          cluster.register("aoi", service)
        end
      end
      LOCAL.service = service
      skynet.sleep(10)
    end
  end

  local function call(player, ...)
    local co, result = coroutine.running(), nil
    skynet.fork(function(...)
      result = result or table.pack(pcall(skynet.call, player.address, "lua", ...))
      if co then skynet.wakeup(co) end
    end, ...)
    if skynet.sleep(100 * HANG) ~= "BREAK" and not result then
      LOCAL.differs(("%s of service %d does not return"):format((...), player.serial))
      result = { false }
    end
    co = nil
    return table.unpack(result, 1, result.n)
  end

  local function each(name, ...)
    local results, left, arguments = {}, #players, table.pack(...)
    for i, player in ipairs(players) do
      skynet.fork(function()
        results[i] = select(2, call(player, name, table.unpack(arguments))) or false
        left = left - 1
      end)
    end
    while left > 0 do skynet.sleep(2) end
    return results
  end

  local function start(i, role)
    serial = serial + #nodes
    players[i] = { serial = serial, role = role }
    players[i].address = skynet.newservice("chaos_player", serial, SEED + serial, side, role, source,
      skynet.self())
  end

  -- Each knows the others of this process; new ones walk with the others.
  local function acquaint()
    local list = {}
    for i, player in ipairs(players) do list[i] = player.address end
    for _, player in ipairs(players) do
      skynet.send(player.address, "lua", "peers", list)
      if not halted then skynet.send(player.address, "lua", "walk") end
    end
  end

  --- life: of this process, from 0 on.
  function LOCAL.begin(life, halts)
    serial, halted = serial + 1000 * life, halts
    for i = 1, PLAYERS + GATES do start(i, i <= PLAYERS and "player" or "gate") end
    acquaint()
  end
  function LOCAL.halt()
    halted = true
    each "halt"
  end
  function LOCAL.walk()
    halted = false
    acquaint()
  end
  function LOCAL.die() os.execute "kill -9 $PPID" end
  function LOCAL.is_open()
    if KIND == "map" then return LOCAL.service ~= nil or not first end
    return world ~= nil and not world.closed
  end
  function LOCAL.each(...) return each(...) end
  function LOCAL.call(i, ...) return players[i] and call(players[i], ...) end -- none: this process begins again
  function LOCAL.differs(text)
    wrong = wrong + 1
    skynet.error("DIFFERENT: " .. text)
  end
  function LOCAL.wrong()
    local n = wrong
    wrong = 0
    return n
  end
  --- Another takes its place.
  function LOCAL.kill(i, softly)
    local player = players[i]
    if not player then return end
    if softly then skynet.send(player.address, "lua", "quit") else skynet.kill(player.address) end
    if not softly then is_dead(player.address) end -- calls that wait for it fail
    start(i, player.role)
    acquaint()
  end
  function LOCAL.shard(n)
    local address = world and not world.closed and world.addresses[n]
    if address then skynet.kill(address) end
    return address and true
  end
  function LOCAL.exchange() skynet.kill(world.exchange) end
  function LOCAL.kill_service() skynet.kill(LOCAL.service) end
  function LOCAL.relay()
    for address, words in pairs(skynet.call(".launcher", "lua", "LIST")) do
      if words:find("aoi/skynet/relay ", 1, true) then skynet.kill(address) end
    end
  end
  function LOCAL.change(name, ...)
    local w = world
    if not w or w.closed then return end
    skynet.fork(function(...)
      local ok, err = pcall(w[name], w, ...)
      if not ok and not w.closed then skynet.error(("%s: %s"):format(name, err)) end
    end, ...)
  end

  local function there(node, name, ...)
    if node == here then return LOCAL[name](...) end
    return cluster.call(node, "@chaos", name, ...)
  end

  if #nodes > 1 then cluster.register("chaos", skynet.self()) end
  skynet.dispatch("lua", function(session, _, name, ...)
    local result = table.pack(LOCAL[name](...))
    if session ~= 0 then skynet.retpack(table.unpack(result, 1, result.n)) end
  end)
  if KIND == "world" then skynet.fork(keep_world) elseif first then skynet.fork(keep_service) end
  if not first then return end
  require "chaos_play"(there, nodes, side, {
    kind = KIND, seconds = DURATION, seed = SEED, shards = SHARDS, players = PLAYERS, gates = GATES, latest = LATEST,
  })
end
