-- Coins that a client is told once: what stands still costs nothing after it has appeared, and a view that keeps
-- without end does not tell it as gone when the player walks away, nor again when he comes back.
local aoi = require "aoi"
local Sync = require "aoi.sync"

local PLAYER, COIN = 1, 2
local space = aoi.new { delivery = "deferred" }
local sync = Sync.new(space, { quantum = 0.01 })
space:enter(1, 0, 0, PLAYER)
for i = 1, 3 do space:enter(10 + i, 40 * i, 0, COIN) end
sync:add(1, {
  { radius = 50, margin = 5, mask = PLAYER },
  { radius = 50, keep = math.huge, mask = COIN },
})

local function tick(what)
  space:flush()
  sync:tick(function(_, message)
    local m = Sync.read(message)
    print(("%s: %d appeared, %d gone"):format(what, m.appeared.n, m.gone.n))
  end)
end

tick "here"
space:move(1, 90, 0) tick "two more"
space:move(1, 5000, 0) tick "far away"
space:move(1, 0, 0) tick "back again"
space:leave(12) tick "one is taken"

--> here: 1 appeared, 0 gone
--> two more: 2 appeared, 0 gone
--> one is taken: 0 appeared, 1 gone
