-- Spectators: somebody who watches a player sees what that player sees, without being in the game himself: of kind 0 he
-- is seen by nobody. Any number of them costs one node each where they have a view of their own (a free camera), and
-- nothing where they look through the eyes of a player: then they get the player's events.
local aoi = require "aoi"

local PLAYER, NOBODY = 1, 0
local space = aoi.new()
local watching = { [1] = {} } -- player -> spectators

local function tell(what)
  return function(player, target)
    print(("%d %s %d"):format(player, what, target))
    for _, spectator in ipairs(watching[player]) do print(("  %s is told, too"):format(spectator)) end
  end
end

local function watch(spectator, player) -- what is there already comes first
  table.insert(watching[player], spectator)
  for _, target in ipairs((space:view(player, 1))) do print(("%s begins with %d"):format(spectator, target)) end
end

space:enter(1, 0, 0, PLAYER)
space:enter(2, 5, 0, PLAYER)
space:add_node(1, 1, 10, tell "sees", tell "loses")
watch("Ann", 1)
space:move(2, 50, 0)

space:enter(900, 48, 0, NOBODY) -- a free camera
space:add_node(900, 1, 10, function(_, target) print("the camera sees " .. target) end)
space:move(1, 45, 0)
print("seen by others: " .. select(2, space:viewers(900)))

--> 1 sees 2
--> Ann begins with 2
--> 1 loses 2
-->   Ann is told, too
--> the camera sees 2
--> 1 sees 2
-->   Ann is told, too
--> the camera sees 1
--> seen by others: 0
