-- "A thousand wolves sleep, and cost nothing, until a player comes near the first time; they sleep again when the last
-- one has gone." Prints how many were awake, and how many distances nobody had to compute.

-- The checkout comes last on the path, so that whatever the environment names wins.
local root = arg[0]:match("^(.*)examples[/\\\\]") or "../"
package.path = package.path .. ";" .. root .. "lua/?.lua;" .. root .. "lua/?/init.lua"
package.cpath = package.cpath .. ";" .. root .. "?.so"

local aoi = require "aoi"
local trigger = require "aoi.trigger"

local PLAYER, WOLF = 1, 2
local WOLVES, PLAYERS, SIDE, TICKS = 1000, 20, 2000, 600
local NEAR = 40

-- The same walk on every machine: Lehmer's generator.
local state = 2024
local function random()
  state = state * 16807 % 2147483647
  return state / 2147483647
end

local space = aoi.new()
local awake, woken, thinking = {}, 0, 0

local handlers = { wake = { radius = NEAR, keep = NEAR + 10, mask = PLAYER } } -- the keep: no waking at every step
function handlers.wake.first(wolf) awake[wolf], woken = true, woken + 1 end
function handlers.wake.last(wolf) awake[wolf] = nil end

local triggers = trigger.new(space, handlers)

for id = 1, WOLVES do
  space:enter(id, random() * SIDE, random() * SIDE, WOLF)
  triggers:add(id, "wake")
end

local x, y, angle = {}, {}, {}
for i = 1, PLAYERS do
  x[i], y[i], angle[i] = random() * SIDE, random() * SIDE, random() * 2 * math.pi
  space:enter(WOLVES + i, x[i], y[i], PLAYER)
end

local most = 0
for tick = 1, TICKS do
  triggers:update(tick / 10)
  for i = 1, PLAYERS do
    angle[i] = angle[i] + (random() - 0.5) * 0.2
    x[i], y[i] = (x[i] + math.cos(angle[i]) * 0.6) % SIDE, (y[i] + math.sin(angle[i]) * 0.6) % SIDE
    space:move(WOLVES + i, x[i], y[i])
  end
  local count = 0
  for _ in pairs(awake) do count = count + 1 end -- only they would think
  thinking, most = thinking + count, math.max(most, count)
end

local everybody = WOLVES * PLAYERS * TICKS -- each wolf measures to each player at each tick
local stats = space:stats()
local looked = stats.candidates + stats.steps -- what the engine did instead
print(("%d wolves, %d players, %d ticks"):format(WOLVES, PLAYERS, TICKS))
print(("awake: %.1f on average, %d at most; woken %d times"):format(thinking / TICKS, most, woken))
print(("wolves that had to think: %d instead of %d"):format(thinking, WOLVES * TICKS))
print(("comparisons: %d instead of %d, %.1f%% saved"):format(looked, everybody, 100 - 100 * looked / everybody))
