-- "Nobody is hurt in the market square. The healing spring gives 5 health a second to two at a time. The cave's
-- guardian speaks to the first who dares, once." Regions are triggers without an entity of yours.

-- The checkout comes last on the path, so that whatever the environment names wins.
local root = arg[0]:match("^(.*)examples[/\\\\]") or "../"
package.path = package.path .. ";" .. root .. "lua/?.lua;" .. root .. "lua/?/init.lua"
package.cpath = package.cpath .. ";" .. root .. "?.so"

local aoi = require "aoi"
local trigger = require "aoi.trigger"

local PLAYER, MONSTER = 1, 2
local names = { "Ann", "Bob", "Cid", [50] = "the wolf" }
local health, safe = { 60, 60, 60 }, {}

local space = aoi.new()
local handlers = {}
local triggers = trigger.new(space, handlers)

local function say(text) print(("%4.1f s  %s"):format(triggers.time, text)) end

-- The square: whoever is inside counts how many safe places hold him, so that places may overlap.
handlers.market = { radius = 20, mask = PLAYER }
function handlers.market.enter(_, id)
  safe[id] = (safe[id] or 0) + 1
  if safe[id] == 1 then say(names[id] .. " is safe") end
end
function handlers.market.leave(_, id)
  safe[id] = safe[id] - 1
  if safe[id] == 0 then say(names[id] .. " is on his own") end
end

handlers.spring = { radius = 3, shape = "circle", mask = PLAYER, limit = 2, interval = 1 }
function handlers.spring.filter(_, id) return health[id] < 100 end
function handlers.spring.enter(_, id) say(names[id] .. " drinks") end
function handlers.spring.stay(_, id)
  health[id] = math.min(100, health[id] + 5)
  if health[id] == 100 then
    say(names[id] .. " is healed and makes room")
    triggers:refresh(id) -- asks the filter again
  end
end

handlers.cave = { radius = 5, mask = PLAYER, once = true }
function handlers.cave.enter(_, id) say("a voice from the cave: go away, " .. names[id]) end

triggers:region("market", { x = 0, y = 0 })
triggers:region("market", { x = 30, y = 0 }) -- a name says what happens; how many there are is up to the map
triggers:region("spring", { x = 100, y = 0 })
triggers:region("cave", { x = 200, y = 0 })

local function bite(id)
  say("the wolf bites " .. names[id] .. ((safe[id] or 0) > 0 and ", in vain" or ""))
  if (safe[id] or 0) == 0 then health[id] = health[id] - 10 end
end

for id = 1, 3 do space:enter(id, id, 0, PLAYER) end
space:enter(50, 60, 0, MONSTER)
bite(1)

-- They walk, ten units a second, one after the other; at the spring they wait until they are healed.
local x = { 1, 2, 3 }
for tick = 1, 600 do
  triggers:update(tick / 10)
  for id = 1, 3 do
    local waits = x[id] == 99 + id - 1 and health[id] < 100
    if tick > 20 * id and not waits and x[id] < 210 then
      x[id] = x[id] + 1
      space:move(id, x[id], 0)
      if x[id] == 60 then bite(id) end
    end
  end
end
print(("%s %d, %s %d, %s %d"):format(names[1], health[1], names[2], health[2], names[3], health[3]))
