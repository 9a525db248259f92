-- A party: members see each other on the client wherever they are, and hide nothing from each other.
local aoi = require "aoi"

local space = aoi.new()
local sync = require("aoi.sync").new(space, { quantum = 0.01 })

local function join(a, b)
  sync:pin(a, b) -- known whatever the distance
  sync:pin(b, a)
end

for id, x in ipairs { 0, 1000, 10 } do
  space:enter(id, x, 0)
  sync:add(id, { shape = "circle", radius = 50, margin = 5 })
end
join(1, 2)

local function tick()
  sync:tick(function(client, message)
    local news = require("aoi.sync").read(message)
    print(("client %d: %d appeared, %d gone, %d moved"):format(client, news.appeared.n, news.gone.n, news.moved.n))
  end)
end

tick()
space:move(2, 2000, 0)
tick()
sync:unpin(1, 2)
tick()

--> client 1: 2 appeared, 0 gone, 0 moved
--> client 2: 1 appeared, 0 gone, 0 moved
--> client 3: 1 appeared, 0 gone, 0 moved
--> client 1: 0 appeared, 0 gone, 1 moved
--> client 1: 0 appeared, 1 gone, 0 moved
