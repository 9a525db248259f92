-- Respawn: who dies leaves the space, and enters it again as a new entity when the time has come. Nothing is left to
-- clean up: nodes, lists and triggers of the dead one went with it.
local aoi = require "aoi"

local space = aoi.new()
local now, graves = 0, {} -- what rises, and when

local function spawn(id)
  space:enter(id, 5, 0)
  space:add_node(id, 1, 10, {
    enter = function(wolf, target) print(("%2d s  wolf %d sees %d"):format(now, wolf, target)) end,
    leave = function(wolf, target) print(("%2d s  wolf %d loses %d"):format(now, wolf, target)) end,
  })
end

local function kill(id)
  print(("%2d s  wolf %d dies"):format(now, id))
  space:leave(id)
  graves[#graves + 1] = { id = id, at = now + 10 }
end

space:enter(100, 0, 0)
spawn(1)
for second = 1, 30 do
  now = second
  if now == 3 or now == 20 then kill(1) end
  for i = #graves, 1, -1 do
    if graves[i].at <= now then spawn(table.remove(graves, i).id) end
  end
end

-->  0 s  wolf 1 sees 100
-->  3 s  wolf 1 dies
-->  3 s  wolf 1 loses 100
--> 13 s  wolf 1 sees 100
--> 20 s  wolf 1 dies
--> 20 s  wolf 1 loses 100
--> 30 s  wolf 1 sees 100
