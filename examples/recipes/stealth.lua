-- A guard with a cone of vision who searches for five seconds after he has lost somebody, and then gives up.
local aoi = require "aoi"

local THIEF = 1
local space = aoi.new()
local now, last_seen = 0, {}
local handlers = {
  cone = { shape = "sector", radius = 12, facing = 0, angle = math.pi / 2, mask = THIEF },
  alarm = { shape = "sector", radius = 12, facing = 0, angle = math.pi / 2, mask = THIEF, linger = 5 },
}
local function say(text) print(("%4.1f s: %s"):format(now, text)) end
function handlers.alarm.enter(guard) say(guard .. " draws his sword") end
function handlers.alarm.leave(guard) say(guard .. " gives up") end
function handlers.cone.enter() last_seen = {} end
function handlers.cone.leave(guard, thief)
  last_seen[1], last_seen[2] = space:position(thief)
  say(("%d searches around %g, %g"):format(guard, last_seen[1], last_seen[2]))
end

local triggers = require("aoi.trigger").new(space, handlers)
space:enter(7, 0, 0, 2)
local alarm = triggers:add(7, "alarm")
triggers:add(7, "cone")
space:enter(1, 20, 0, THIEF)

local path = { [1] = { 8, 0 }, [3] = { 0, 9 }, [5] = { 6, 2 }, [6] = { -5, 0 } }
for tick = 1, 120 do
  now = tick / 10
  triggers:update(now)
  local place = path[now]
  if place then space:move(1, place[1], place[2]) end
  if now == 8 then print("the alarm is " .. alarm:explain(1).state) end
end

-->  1.0 s: 7 draws his sword
-->  3.0 s: 7 searches around 0, 9
-->  6.0 s: 7 searches around -5, 0
--> the alarm is lingering
--> 11.0 s: 7 gives up
