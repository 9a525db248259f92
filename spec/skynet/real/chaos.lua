-- chaos(open, here, nodes, side): for DURATION seconds, whatever may happen to the services of a world, or with
-- KIND=map of an AOI service, its clients and relays, happens to them, as SEED says (chaos_play.lua). Now and then all
-- stand still, and what each client has heard is compared with one space that is given what all have sent
-- (chaos_compare.lua). Each process has clients and gates of its own (chaos_player.lua); the first one says what
-- happens. SEED says, too, which process has the AOI service: the second one is killed now and then.
local skynet = require "skynet"
require "skynet.manager"
local cluster = require "skynet.cluster"
local aoi = require "aoi.skynet"
local is_dead = require "aoi.skynet.world.is_dead"

local function number(name) return math.tointeger(tonumber(skynet.getenv(name))) end

local KIND, SEED, WINDOW = skynet.getenv "kind", number "seed", number "window"
local PLAYERS, GATES = 6, 2
local GRACE, HANG, LATEST = 4, 60, 20 -- seconds: until a call counts as lost, until all must be right

-- f(1) to f(n) at once; returns when all have.
local function at_once(n, f)
  local left = n
  for i = 1, n do
    skynet.fork(function()
      f(i)
      left = left - 1
    end)
  end
  while left > 0 do skynet.sleep(2) end
end

return function(open, here, nodes, side)
  local index, home = here == nodes[1] and 1 or 2, nodes[SEED % #nodes + 1]
  local source = KIND == "world" and "world" or here == home and ".aoi" or home .. "@aoi"
  local world, service
  local players, serial, wrong, halted, LOCAL = {}, index, 0, true, {}
  math.randomseed(SEED + index)

  local function keep_world()
    while true do
      local ok, new = pcall(open, { window = WINDOW, grace = GRACE, size = side })
      if ok then world = new else skynet.error(new) end
      repeat skynet.sleep(10) until not ok or world.closed
    end
  end

  local function keep_service()
    while true do
      if not service or not pcall(skynet.call, service, "debug", "PING") then
        service = aoi.start { interval = 10, heartbeat = 2, window = WINDOW }
        skynet.name(".aoi", service)
        pcall(cluster.unregister, "aoi")
        cluster.register("aoi", service)
      end
      skynet.sleep(10)
    end
  end

  local function call(player, name, ...)
    local result, till = nil, skynet.now() + 100 * HANG
    skynet.fork(function(...) result = table.pack(pcall(skynet.call, player.address, "lua", name, ...)) end, ...)
    while not result and skynet.now() < till do skynet.sleep(1) end
    if result then return table.unpack(result, 1, result.n) end
    LOCAL.differs(("%s of service %d does not return"):format(name, player.serial))
    return false
  end

  local function start(i)
    serial = serial + #nodes
    players[i] = { serial = serial, address = skynet.newservice("chaos_player", serial, SEED + serial, side,
      i <= PLAYERS and "player" or "gate", source, skynet.self()) }
  end

  -- Each knows the others of this process; new ones walk with the others.
  local function acquaint()
    local list = {}
    for i, player in ipairs(players) do list[i] = player.address end
    for _, address in ipairs(list) do skynet.send(address, "lua", "peers", list, not halted) end
  end

  --- life: of this process, from 0 on.
  function LOCAL.begin(life, halts)
    serial, halted = serial + 1000 * life, halts
    for i = 1, PLAYERS + GATES do start(i) end
    acquaint()
  end
  function LOCAL.is_open()
    if KIND == "map" then return service ~= nil or here ~= home end
    return world ~= nil and not world.closed
  end
  function LOCAL.die(softly)
    if softly then pcall(world.drain, world, here) end
    os.execute "kill -9 $PPID"
  end

  function LOCAL.call(i, ...) return players[i] and call(players[i], ...) end -- none: this process begins again
  function LOCAL.each(...)
    local results, arguments = {}, table.pack(...)
    at_once(#players, function(i)
      local ok, answer = call(players[i], table.unpack(arguments, 1, arguments.n))
      if ok then results[#results + 1] = answer end
    end)
    return results
  end
  function LOCAL.halt()
    halted = true
    LOCAL.each "halt"
  end
  function LOCAL.walk()
    halted = false
    acquaint()
  end
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
    local address = players[i] and players[i].address
    if not address then return end
    if softly then skynet.send(address, "lua", "quit") else skynet.kill(address) end
    if not softly then is_dead(address) end -- calls that wait for it fail
    start(i)
    acquaint()
  end
  function LOCAL.shard(n)
    local address = world and not world.closed and world.addresses[n]
    if address then skynet.kill(address) end
    return address and true
  end
  function LOCAL.exchange() skynet.kill(world.exchange) end
  function LOCAL.service() if service then skynet.kill(service) end end
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
  if KIND == "world" then skynet.fork(keep_world) elseif here == home then skynet.fork(keep_service) end
  if index > 1 then return end
  require "chaos_play"(there, nodes, side, {
    kind = KIND, seconds = number "duration", seed = SEED, shards = number "shards", players = PLAYERS + GATES,
    latest = LATEST, at_once = at_once,
  })
end
