-- Who enters is never seen for a moment by whom it should not be: with its layers at once, or unseen until the
-- exceptions are made.
local aoi = require "aoi"

local space = aoi.new()
space:enter(1, 0, 0)
space:add_node(1, 1, 50, function(_, who) print("1 sees " .. who) end, function(_, who) print("1 loses " .. who) end)

space:enter(2, 1, 1, { layers = 4 })           -- in another instance
space:set_layers(2, 1)                         -- now in this one

space:enter(3, 1, 1, 0)                        -- kind 0: nobody sees it
space:override(1, 1, 3, "hide")                -- 1 ignores 3
space:set_kind(3, 1)
space:override(1, 1, 3, nil)                   -- no longer

space:enter(4, 1, 1, { kind = 1, extent = -60 }) -- a GM who sneaks in
space:set_extent(4, 0)

--> 1 sees 2
--> 1 sees 3
--> 1 sees 4
