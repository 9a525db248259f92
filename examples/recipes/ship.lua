-- Zones on a ship: its deck and its hold move with it, and a harbour stands. The highest zone of each is one call.
local aoi = require "aoi"

local SHIP, SAILOR, CAT = 1, 2, 3
local space = aoi.new()
local zones = require("aoi.zones").new(space, {
  change = function(id, to, from) print(id .. ": " .. (from or "nowhere") .. " -> " .. (to or "nowhere")) end,
})
space:enter(SHIP, 0, 0, 0)
space:enter(SAILOR, 3, 0)
space:enter(CAT, 100, 5)
zones:add("harbour", 20, 100, 0)
local deck = zones:add("deck", { shape = "box", extents = { 10, 4 } }, 0, 0, { priority = 1 })
local hold = zones:add("hold", { shape = "circle", radius = 2 }, 0, 0, { priority = 2 })
space:attach(deck.id, SHIP)
space:attach(hold.id, SHIP, -6, 0)
space:attach(SAILOR, SHIP, 3, 0)

space:move(SHIP, 100, 5) -- into the harbour: the cat is on deck now
print("the cat is in", table.concat(zones:all(CAT), ", "))
space:attach(CAT, SHIP, -6, 0)
space:move(SHIP, 500, 0)
zones:set_priority("hold", 0)
space:leave(CAT)

--> 3: nowhere -> harbour
--> 2: nowhere -> deck
--> 3: harbour -> deck
--> the cat is in	deck, harbour
--> 3: deck -> hold
--> 3: hold -> deck
--> 3: deck -> nowhere
