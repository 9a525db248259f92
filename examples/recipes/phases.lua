-- Phases and personal objects: a bit of the kind for each phase of the story, and an override for what is one player's
-- own.
local aoi = require "aoi"

local BEFORE, AFTER, OWN = 1, 2, 4 -- the village stands; it has burnt; seen by nobody without an override
local VIEW = 1
local space = aoi.new()

local function enter_player(id, phase)
  space:enter(id, 0, 0, phase)
  space:add_node(id, VIEW, { radius = 20, mask = phase }, {
    enter = function(who, what) print(("player %d sees %d"):format(who, what)) end,
    leave = function(who, what) print(("player %d loses %d"):format(who, what)) end,
  })
end

space:enter(100, 5, 0, BEFORE)          -- a house
space:enter(101, 5, 0, AFTER)           -- its ruin
space:enter(102, 3, 0, BEFORE + AFTER)  -- a well, in both
enter_player(1, BEFORE)

print "the village burns, for player 1"
space:set_kind(1, AFTER)
space:set_mask(1, VIEW, AFTER)

print "a chest of player 1's own"
space:enter(103, 2, 0, OWN)
space:override(1, VIEW, 103, "match")   -- as if its kind matched; the distance still counts
space:move(103, 50, 0)

--> player 1 sees 100
--> player 1 sees 102
--> the village burns, for player 1
--> player 1 loses 100
--> player 1 sees 101
--> a chest of player 1's own
--> player 1 sees 103
--> player 1 loses 103
