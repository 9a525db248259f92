-- Chat channels that follow from where one is: say (10 m), yell (40 m) and the channel of a zone. Who is in a channel
-- is the trigger's own list, so that a message costs its receivers and no search.
local aoi = require "aoi"

local PLAYER = 1
local space = aoi.new()
local handlers = { zone = { mask = PLAYER } }
handlers.say, handlers.yell = { radius = 10, mask = PLAYER }, { radius = 40, mask = PLAYER }
function handlers.zone.enter(_, id, zone) print(("%d joins the channel of %s"):format(id, zone.data)) end
function handlers.zone.leave(_, id, zone) print(("%d leaves the channel of %s"):format(id, zone.data)) end

local triggers = require("aoi.trigger").new(space, handlers)
local zones = {
  city = triggers:region("zone", { x = 0, y = 0, shape = "box", extents = { 50, 50 }, data = "the city" }),
  harbour = triggers:region("zone", { x = 60, y = 0, shape = "box", extents = { 20, 50 }, data = "the harbour" }),
}

local function enter(id, x, y)
  space:enter(id, x, y, PLAYER)
  triggers:add(id, "say")
  triggers:add(id, "yell")
end

local buffer = {}
local function send(channel, id, text)
  local of = zones[channel] or triggers:get(id, channel)
  local list = of:targets(buffer)
  table.sort(list)
  for _, other in ipairs(list) do
    if other ~= id then print(("%d hears %d in %s: %s"):format(other, id, channel, text)) end
  end
end

enter(1, 0, 0)
enter(2, 8, 0)
enter(3, 35, 0)
send("say", 1, "hello")
send("yell", 1, "HELLO")
send("city", 3, "selling a boat")
space:move(3, 60, 0)
send("harbour", 3, "anybody here?")

--> 1 joins the channel of the city
--> 2 joins the channel of the city
--> 3 joins the channel of the city
--> 2 hears 1 in say: hello
--> 2 hears 1 in yell: HELLO
--> 3 hears 1 in yell: HELLO
--> 1 hears 3 in city: selling a boat
--> 2 hears 3 in city: selling a boat
--> 3 leaves the channel of the city
--> 3 joins the channel of the harbour
