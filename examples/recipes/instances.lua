-- Instances: one space for each copy of a dungeon. Moving a player from one to the other is leave and enter; an empty
-- copy is closed, which frees its memory at once.
local aoi = require "aoi"

local copies, players = {}, {} -- name -> space; player -> name of the copy

local function open(name)
  copies[name] = copies[name] or aoi.new { engine = "grid" }
  return copies[name]
end

local function go(player, name, x, y)
  local from = copies[players[player]]
  if from then
    from:leave(player)
    if #from == 0 then
      from:close()
      copies[players[player]] = nil
      print(players[player] .. " is closed")
    end
  end
  players[player] = name
  local space = open(name)
  space:enter(player, x, y)
  space:add_node(player, 1, 30, function(who, other) print(("%d meets %d in %s"):format(who, other, name)) end)
end

go(1, "town", 0, 0)
go(2, "town", 5, 0)
go(1, "crypt #1", 0, 0)
go(2, "crypt #2", 0, 0)
go(2, "crypt #1", 3, 0)

--> 1 meets 2 in town
--> 2 meets 1 in town
--> town is closed
--> crypt #2 is closed
--> 1 meets 2 in crypt #1
--> 2 meets 1 in crypt #1
