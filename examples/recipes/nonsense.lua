-- A client sends a position that is none, another has just left: the batch of the tick moves all the others, and says
-- whom it has left out, and why.
local aoi = require "aoi"

local space = aoi.new { delivery = "deferred" }
for id = 1, 4 do space:enter(id, id, 0) end
space:leave(3)

local rows = {} -- of the tick, as they came from the network
for id = 1, 4 do
  local x = id == 2 and 0 / 0 or id + 10
  for _, value in ipairs { id, x, 5 } do rows[#rows + 1] = value end
end

space:move_many(rows, function(row, id, reason) print(("row %d, client %d: %s"):format(row, id, reason)) end)
space:flush()
for _, id in ipairs { 1, 2, 4 } do print(id, space:position(id)) end

--> row 2, client 2: finite number expected, got nan
--> row 3, client 3: no entity 3
--> 1	11.0	5.0
--> 2	2.0	0.0
--> 4	14.0	5.0
