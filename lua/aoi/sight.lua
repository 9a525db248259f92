--- Walls that block the view of nodes.
---
---     local sight = require("aoi.sight").new(space)
---     local door = sight:wall(0, 0, 0, 4)                         -- in 3D: [, z0, z1]
---     sight:add(guard, 1, { shape = "sector", radius = 30, facing = 0, angle = 2 }, { enter = spots, leave = loses })
---     sight:tick()                                                -- once per tick: delivers the events
---     sight:open_wall(door)
---
--- It is written in C (src/sight/); aoi.meta.sight has the contract of each function, docs/sight.md the manual.
--- @module aoi.sight

return require("aoi").sight
