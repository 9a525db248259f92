-- A shot 150 ms ago: the shooter saw the world of three ticks before, so the shot is judged there.
local aoi, history = require "aoi", require "aoi.history"

local TICK = 0.05
local space = aoi.new()
local past = history.new(space, 20)                     -- the last second
space:enter(1, 0, 0)                                    -- the shooter
space:enter(2, 10, 0)                                   -- runs to the right, and through a door

for step = 1, 6 do
  space:move(2, 10 + 2 * step, 0)
  past:tick()
end
space:leave(2)
past:tick()

local function shot(x, y, latency)
  local ago = math.floor(latency / TICK + 0.5)
  local list, n = past:near(ago, x, y, { shape = "circle", radius = 0.5 })
  for i = 1, n do print(("hits %d as of %d ticks ago, at %g"):format(list[i], ago, (past:position(ago, list[i])))) end
  if n == 0 then print("a miss as of " .. ago .. " ticks ago") end
end

shot(18, 0, 0.15)                                       -- where it was then, though it is gone now
shot(18, 0, 0)
shot(22, 0, 0.05)

--> hits 2 as of 3 ticks ago, at 18
--> a miss as of 0 ticks ago
--> hits 2 as of 1 ticks ago, at 22
