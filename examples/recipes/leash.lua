-- Leash and return: a wolf chases who comes near, gives up where it is too far from its den, walks home and takes no
-- notice of anybody until it is there. The den is a region; the leash is that the wolf leaves it.
local aoi = require "aoi"

local PLAYER, WOLF = 1, 2
local space = aoi.new()
local state, prey = "idle", nil
local handlers = {
  den = { shape = "circle", radius = 15, mask = WOLF },
  home = { shape = "circle", radius = 1, mask = WOLF },
  sight = { shape = "circle", radius = 8, mask = PLAYER },
}
local triggers = require("aoi.trigger").new(space, handlers)
local sight

local function become(new)
  state = new
  print("the wolf is " .. new)
end
function handlers.sight.enter(_, player)
  if state ~= "idle" then return end
  prey = player
  become "chasing"
end
function handlers.den.leave()
  prey = nil
  become "returning"
  sight:disable()
end
function handlers.home.enter()
  if state ~= "returning" then return end
  become "idle"
  sight:enable() -- whoever is near now comes in
end

local function step(id, x, y) -- one metre towards a place
  local ox, oy = space:position(id)
  local dx, dy = x - ox, y - oy
  local far = math.max(1, math.sqrt(dx * dx + dy * dy))
  space:move(id, ox + dx / far, oy + dy / far)
end

space:enter(7, 0, 0, WOLF)
triggers:region("den", { x = 0, y = 0 })
triggers:region("home", { x = 0, y = 0 })
sight = triggers:add(7, "sight")
space:enter(1, 0, 12, PLAYER)
for tick = 1, 60 do
  if tick < 30 then step(1, 0, tick < 6 and 6 or 100) end
  if state == "chasing" then step(7, space:position(prey)) end
  if state == "returning" then step(7, 0, 0) end
end

--> the wolf is chasing
--> the wolf is returning
--> the wolf is idle
