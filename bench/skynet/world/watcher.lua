-- Adds a node to a share of the walkers, its own process's or another's, and sums up what they hear. With a port it has
-- a client view for each player that connects (players.lua), too, on a walker of its own process; in mode exact any
-- view, which it changes while the world runs (asking.lua).
local skynet = require "skynet"
local socket = require "skynet.socket"
local aoi = require "aoi.skynet"
local asking = require "asking"
local checksum = require "checksum"
local viewed = require "viewed"

local index, count, walkers, radius, services, port = ...
index, count, walkers, radius = math.tointeger(tonumber(index)), tonumber(count), tonumber(walkers), tonumber(radius)
services, port = math.tointeger(tonumber(services)), math.tointeger(tonumber(port))
math.randomseed(index)
local events, sum = 0, 0
local views = {} -- entities by connection
local MARGIN, QUANTUM = 5, 1 / 64
local OPTIONS = tonumber(skynet.getenv "walls") > 0 and { sight = true } or nil
local ask = skynet.getenv "mode" == "exact" and port and asking.to(("%s/asked.%d"):format(skynet.getenv "out", index))
local CMD = {}

local handlers = {}

function handlers.enter(watcher, target, node)
  events, sum = events + 1, sum + checksum(1, watcher, target, node)
end

function handlers.leave(watcher, target, node)
  events, sum = events + 1, sum + checksum(2, watcher, target, node)
end

-- Waits until f() raises no error: whoever moves the entity may not have entered it yet.
local function until_good(world, f, ...)
  while not pcall(f, ...) do
    if world.closed then return end
    skynet.sleep(10)
  end
end

local function watched(i) return math.tointeger(i * (walkers // count) + index) end

-- Where a walker has left and has entered again, its node is a new one. Returns how many were added.
local function add_all(world)
  local added = 0
  for i = 0, count - 1 do
    until_good(world, function()
      if world:area(watched(i), index) then return end
      world:add_node(watched(i), index, { radius = radius, margin = MARGIN }, handlers, OPTIONS)
      added = added + 1
    end)
  end
  return added
end

local function serve(world, fd)
  socket.start(fd)
  local number = tonumber((socket.readline(fd)))
  if not number then return socket.close(fd) end
  local id = viewed.id(walkers, services, index, number)
  if ask then
    local area, options = viewed.area(math.random, radius, MARGIN), viewed.options(math.random)
    options.fd = fd
    until_good(world, ask, world, "add_client", id, area, options)
  else
    until_good(world, world.add_client, world, id, { radius = radius, margin = MARGIN }, { fd = fd })
  end
  views[fd] = id
end

local function listen(world)
  world:on_client(function(_, bytes, fd) socket.write(fd, string.pack(">s4", bytes)) end)
  socket.start(assert(socket.listen("127.0.0.1", port)), function(fd) skynet.fork(serve, world, fd) end)
end

-- Until the world stands still.
local function ask_all(world)
  local epochs, nodes = tonumber(skynet.getenv "epochs"), {}
  for i = 0, count - 1 do nodes[i + 1] = { watched(i), index } end
  while not world.closed and world:epoch() < epochs do
    local list = {}
    for _, id in pairs(views) do list[#list + 1] = id end
    local ok, err = pcall(asking.random, ask, world, list, nodes, radius)
    if not (ok or err:find("has no node", 1, true) or err:find("no entity", 1, true)) then skynet.error(err) end
    skynet.sleep(1)
  end
end

function CMD.start()
  local world = aoi.world "earth"
  if port then listen(world) end
  skynet.fork(add_all, world)
  if ask then skynet.fork(ask_all, world) end
end

function CMD.result() return events, sum end

-- The walls of the world by now.
local function sight_of(world)
  local sight = OPTIONS and require("aoi.sight").new(require("aoi").new())
  for _, wall in ipairs(sight and world:walls() or {}) do
    local x1, y1, x2, y2, is_open = world:get_wall(wall)
    if not is_open then sight:wall(x1, y1, x2, y2) end
  end
  return sight
end

-- Takes away what walls hide from that place.
local function in_sight(world, sight, x, y, list, n)
  local kept = 0
  for k = 1, sight and n or 0 do
    if not sight:ray(x, y, world:position(list[k])) then
      kept = kept + 1
      list[kept] = list[k]
    end
  end
  return list, sight and kept or n
end

-- Whether `seen`, a set of ids, has everything within the radius of the entity, and nothing farther than what is kept.
local function is_right(world, sight, id, seen)
  local x, y = world:position(id)
  local near, few = in_sight(world, sight, x, y, world:near(x, y, radius))
  local kept, most = in_sight(world, sight, x, y, world:near(x, y, radius + MARGIN))
  for k = 1, few do
    if near[k] ~= id and not seen[near[k]] then return false end
  end
  local far = {}
  for other in pairs(seen) do far[other] = true end
  for k = 1, most do far[kept[k]] = nil end
  far[id] = nil
  return next(far) == nil
end

-- What the player at the other end has: a set of ids; nil: an entity stands elsewhere.
local function picture_of(world, fd)
  socket.write(fd, string.pack(">s4", ""))
  local seen, n = {}, string.unpack("<I4", assert(socket.read(fd, 4)))
  local rows, exact = n > 0 and assert(socket.read(fd, 24 * n)) or "", true
  for at = 1, 24 * n, 24 do
    local id, px, py = string.unpack("<i8dd", rows, at)
    local x, y = world:position(id)
    exact = exact and x and math.abs(px - x) <= QUANTUM and math.abs(py - y) <= QUANTUM
    seen[id] = true
  end
  return exact and seen or nil
end

-- Everything stands still: nodes, how many of them have heard something else than what is there, and how many were new,
-- since their entity had been away; client views, how many of their pictures differ.
function CMD.verify()
  local world, wrong, pictures, differ = aoi.world "earth", 0, 0, 0
  local added = add_all(world)
  world:tick()
  local sight = sight_of(world)
  for i = 0, count - 1 do
    local id, seen = watched(i), {}
    local list, n = world:seen(id, index)
    for k = 1, n do seen[list[k]] = true end
    if not is_right(world, sight, id, seen) then wrong = wrong + 1 end
  end
  for fd, id in pairs(views) do
    local ok, seen = pcall(picture_of, world, fd)
    pictures = pictures + 1
    if not (ok and seen and is_right(world, sight, id, seen)) then differ = differ + 1 end
  end
  return count, wrong, added, pictures, differ
end

skynet.start(function()
  skynet.dispatch("lua", function(_, _, name) skynet.retpack(CMD[name]()) end)
end)
