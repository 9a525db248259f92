-- live_server.lua [N [TICK_MS [ENGINE]]] - a space of N that walk, shown live; the first line of output is its address.
-- It ends after five minutes. Used by live_check.js.
local aoi = require "aoi"
local socket = require "socket"
local viewer = require "aoi.viewer"

local N, TICK, ENGINE = tonumber(arg[1]) or 200, (tonumber(arg[2]) or 50) / 1000, arg[3] or "list"
local space = aoi.new { engine = ENGINE, delivery = "deferred" }
local side = 20 * math.sqrt(N)
local x, y, dx, dy = {}, {}, {}, {}
for id = 1, N do
  x[id], y[id] = math.random() * side, math.random() * side
  local a = math.random() * 2 * math.pi
  dx[id], dy[id] = math.cos(a), math.sin(a)
  space:enter(id, x[id], y[id], id % 3 + 1)
  local margin = id % 4 == 0 and 5 or nil
  space:add_node(id, 1, { shape = id % 2 == 0 and "circle" or "square", radius = 25, margin = margin })
end

-- Walls across the middle with a door; one that sees past them.
local sight = require("aoi.sight").new(space)
sight:wall(0, side / 2, side, side / 2)
sight:open_wall(sight:wall(side / 2, 0, side / 2, side))
sight:add(9, 2, { shape = "circle", radius = side }, function() end)

local function step()
  for id = 1, N do
    x[id], y[id] = x[id] + dx[id], y[id] + dy[id]
    if x[id] < 0 or x[id] > side then dx[id] = -dx[id] end
    if y[id] < 0 or y[id] > side then dy[id] = -dy[id] end
    space:move(id, x[id], y[id])
  end
  sight:tick()
  space:drain()
end

local server = assert(viewer.serve(space, { port = 0, title = "a walk" }))
print(server.url)
io.stdout:flush()
local stop, next_tick = socket.gettime() + 300, socket.gettime()
while socket.gettime() < stop do
  step()
  repeat
    server:poll()
    socket.sleep(0.005)
  until socket.gettime() >= next_tick
  next_tick = next_tick + TICK
end
