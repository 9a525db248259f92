-- Sentences of `explain` in coroutines whose stack is full to every height. A C function has 20 places of it, unless it
-- asks for more: what it writes behind them ends the process, here or when memory is given back.
local aoi = require "aoi"

local space = aoi.new { dimensions = 3 }
space:enter(1, 0, 0, 0)
space:enter(2, 4, 0, 0)
space:set_extent(2, 0.5)
space:set_layers(2, 2)
space:add_node(1, 7, { shape = "circle", radius = 50, label = "alert" })
local why, full = space:explain(1, 7, 2), {}
local sentence = tostring(why)

for height = 1, 60 do
  full[height] = height
  local made = coroutine.wrap(function(...) return tostring(why), ... end)((table.unpack or unpack)(full))
  assert(made == sentence)
end
collectgarbage()
print "good"
