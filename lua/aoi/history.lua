--- Positions of all entities some ticks ago: lag compensation, replays of the last second.
---
---     local past = require("aoi.history").new(space, 20)     -- reaches 20 ticks back
---     past:tick()                                            -- once per tick: records moves, enters and leaves
---     local x, y = past:position(3, target)                  -- three ticks ago, even if it has left by now
---     local list, n = past:near(3, x, y, { shape = "circle", radius = 2 })
---
--- It is written in C (src/history/); aoi.meta.history has the contract of each function.
--- @module aoi.history

return require("aoi").history
