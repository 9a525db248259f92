-- Why a target has gone: a leave says that it is not seen any more. Whether it has walked off, died, logged out or
-- become invisible is asked in the handler: by then the space shows the new state.
local aoi = require "aoi"

local space = aoi.new()
local reason = {} -- what the game knows of entities that leave the space: kept until their leaves are delivered

local function why(watcher, target, node)
  if not space:has(target) then return reason[target] or "has left" end
  if not space:has(watcher) then return "is not looked at any more" end
  local e = space:explain(watcher, node, target)
  if e.why == "mask" or e.why == "hidden" then return "has become invisible" end
  return ("is too far away (%g)"):format(e.distance)
end

local function leave(id, because)
  reason[id] = because
  space:leave(id)
  reason[id] = nil -- in a deferred space after the flush
end

space:enter(1, 0, 0)
space:add_node(1, 1, 10, nil, function(watcher, target, node)
  print(("%d %s"):format(target, why(watcher, target, node)))
end)
for id = 2, 6 do space:enter(id, id, 0) end
space:move(2, 30, 0)
leave(3, "has died")
leave(4, "has logged out")
space:set_kind(5, 0)
space:override(1, 1, 6, "hide")

--> 2 is too far away (30)
--> 3 has died
--> 4 has logged out
--> 5 has become invisible
--> 6 has become invisible
