-- LÖVE: `love examples/recipes/love` with the paths of aoi set (README, Install). A wolf in the middle looks in the
-- direction of a circle; walkers that it sees are red. LÖVE runs LuaJIT, so the core is the one of `make LUA=luajit`.
local aoi = require "aoi"

local WOLF, VIEW = 0, 1
local space = aoi.new { engine = "grid" }
local seen, walkers, time, frames = {}, {}, 0, 0
local limit = tonumber(os.getenv "AOI_FRAMES") -- for a run without anybody who looks: that many frames, then the end

function love.load()
  space:enter(WOLF, 400, 300)
  space:add_node(WOLF, VIEW, { shape = "sector", radius = 200, facing = 0, angle = math.pi / 2 }, {
    enter = function(_, id) seen[id] = true end,
    leave = function(_, id) seen[id] = nil end,
  })
  for id = 1, 60 do
    walkers[id] = { x = id * 13 % 800, y = id * 29 % 600, dx = math.cos(id) * 60, dy = math.sin(id) * 60 }
    space:enter(id, walkers[id].x, walkers[id].y)
  end
end

function love.update(dt)
  time = time + dt
  space:set_facing(WOLF, VIEW, time)
  for id, w in ipairs(walkers) do
    w.x, w.y = (w.x + w.dx * dt) % 800, (w.y + w.dy * dt) % 600
    space:move(id, w.x, w.y)
  end
  frames = frames + 1
  if frames == limit then
    print(space:check() and space:stats().events .. " events")
    love.event.quit()
  end
end

function love.draw()
  love.graphics.arc("line", 400, 300, 200, time - math.pi / 4, time + math.pi / 4)
  for id, w in ipairs(walkers) do
    if seen[id] then love.graphics.setColor(1, 0.2, 0.2) else love.graphics.setColor(1, 1, 1) end
    love.graphics.circle("fill", w.x, w.y, 4)
  end
  love.graphics.setColor(1, 1, 1)
end
