--- Where everything was some ticks ago: lag compensation, replays of the last second.
---
---     local past = require("aoi.history").new(space, 20)     -- reaches 20 ticks back
---     past:tick()                                            -- once per tick: notes what has moved, entered and left
---     local x, y = past:position(3, target)                  -- where it was three ticks ago, be it gone by now
---     local list, n = past:near(3, x, y, { shape = "circle", radius = 2 })
---
--- It is made in C (src/history/); aoi.meta.history has the contract of each function.
--- @module aoi.history

return require("aoi").history
