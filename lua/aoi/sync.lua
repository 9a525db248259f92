--- Client synchronisation: makes the message for each client, as bytes that are ready to be sent.
---
---     local sync = require("aoi.sync").new(space, { quantum = 0.01 })
---     sync:add(player, { radius = 50, margin = 5, shape = "circle" })   -- the player is a client: this is the view
---     space:move(id, x, y)                                              -- as ever: the space records moves
---     sync:tick(function(player, message) socket[player]:send(message) end)
---
--- It is written in C (src/sync/); aoi.meta.sync has the contract of each function, docs/sync.md the manual.
--- @module aoi.sync

return require("aoi").sync
