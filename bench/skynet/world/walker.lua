-- Moves a share of the walkers, ten times a second: small steps, a jump now and then. In mode exact what it sends goes
-- to OUT/sent.FIRST, too: for each step x, y of each walker, first of all where they enter.
local skynet = require "skynet"
local aoi = require "aoi.skynet"

local first, count, side, epochs, world_name = ...
first, count = math.tointeger(tonumber(first)), math.tointeger(tonumber(count))
side, epochs = tonumber(side), tonumber(epochs)
math.randomseed(first) -- services that start together may have one seed
local x, y = {}, {}
local CMD = {}
local sent = skynet.getenv "mode" == "exact" and
  assert(io.open(("%s/sent.%d"):format(skynet.getenv "out", first), "wb"))

local function write_sent()
  if not sent then return end
  for i = 1, count do sent:write(string.pack("<dd", x[i], y[i])) end
  sent:flush()
end

local function step(world)
  for i = 1, count do
    if math.random(2000) == 1 then
      x[i], y[i] = math.random() * side, math.random() * side
    else
      x[i] = math.min(side, math.max(0, x[i] + 5 * math.random() - 2.5))
      y[i] = math.min(side, math.max(0, y[i] + 5 * math.random() - 2.5))
    end
    world:move(first + i - 1, x[i], y[i])
  end
  write_sent()
  world:flush()
end

local halted, resting = false, true -- whether it is to stand still, and whether it does

local function walk(world)
  local at = skynet.now()
  while world:epoch() < epochs and not world.closed do
    resting = halted
    if not (halted or pcall(step, world)) or not pcall(world.tick, world) then return end -- no faster than the world
    at = at + 10
    skynet.sleep(math.max(0, at - skynet.now()))
    if at < skynet.now() then at = skynet.now() end
  end
end

function CMD.start()
  local world = aoi.world(world_name or "earth")
  local rows = {}
  for i = 1, count do
    x[i], y[i] = math.random() * side, math.random() * side
    rows[3 * i - 2], rows[3 * i - 1], rows[3 * i] = first + i - 1, x[i], y[i]
  end
  write_sent()
  while not pcall(world.enter_many, world, rows) and not world.closed do skynet.sleep(10) end -- of a former life
  skynet.fork(walk, world)
end

--- All stand still from then on, where the world has them.
function CMD.halt()
  halted = true
  while not resting do skynet.sleep(1) end
end

function CMD.walk() halted = false end

skynet.start(function()
  skynet.dispatch("lua", function(_, _, name) skynet.retpack(CMD[name]()) end)
end)
