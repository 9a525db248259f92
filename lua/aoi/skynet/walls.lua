-- Walls of a place (aoi.skynet.commands). If the map or world was opened with sight = true, place.sight has the walls,
-- and the nodes that were added with the option `sight`.
--
--   rec.sight, rec.linger    the options of such a node; rec.crosses: of one without sight

local argument = require "aoi.skynet.argument"
local methods = require "aoi.skynet.methods"

local walls = {}

-- Methods of a map that are those of its sight.
local OF_SIGHT = {
  wall = true, open_wall = true, shut_wall = true, remove_wall = true, get_wall = true, walls = true, ray = true,
}

function walls.has(name) return OF_SIGHT[name] end

--- Calls such a method: returns true and its results, or false and the error.
function walls.invoke(place, name, ...)
  return methods.invoke(walls.sight(place, name), name, ...)
end

--- The sight, for a method of that name; raises where there is none.
function walls.sight(place, name)
  if place.sight then return place.sight end
  error(("attempt to call '%s' where there are no walls: open it with sight = true"):format(name), 0)
end

--- The sight or core that has the node, for `view` and `sees`.
function walls.seer(place, rec) return rec.sight and place.sight or place.core end

--- Checks the options of a node; raises errors.
function walls.check_node(place, options)
  local linger = options.linger
  if options.sight and options.crosses then
    argument.fail(4, "add_node", 0, "handler 'cross': nodes of a sight have none")
  end
  if options.sight and not place.sight then
    argument.fail(5, "add_node", 0, "option 'sight' needs walls: open it with sight = true")
  elseif linger ~= nil and not options.sight then
    argument.fail(5, "add_node", 0, "option 'linger' is of nodes with sight = true")
  elseif linger ~= nil and not (math.type(linger) and linger >= 0 and linger < 1 << 31 and linger % 1 == 0) then
    argument.fail(5, "add_node", 0, "bad value for option 'linger' (a whole number of ticks expected, got %s)", linger)
  end
end

local CROSSES = { cross = function() end } -- makes the core find crossings, which the post takes

--- Adds the node to its sight or core. Returns true, or false and the error.
function walls.add_node(place, rec, area)
  if not rec.sight then
    return methods.invoke(place.core, "add_node", rec.id, rec.number, area, rec.crosses and CROSSES or nil)
  end
  return methods.invoke_as(place.sight, "add", "add_node", rec.id, rec.number, area, nil, { linger = rec.linger })
end

-- The reason in parentheses of an error about an argument.
local function reason(err) return err:match "%((.*)%)$" or err end

--- Calls add(x1, y1, x2, y2 [, z0, z1]) for each row, which returns true and an id, or false and an error: then the
-- walls added before are removed by remove(id), and the error is raised. Returns the list of ids, and its length.
function walls.each_row(rows, dimensions, add, remove)
  local width = dimensions == 3 and 6 or 4
  if type(rows) ~= "table" then argument.fail(1, "wall_many", 0, "table expected, got %s", type(rows)) end
  if #rows % width ~= 0 then argument.fail(1, "wall_many", 0, "%d values: each row has %d", #rows, width) end
  local ids, n = {}, 0
  for first = 1, #rows, width do
    local ok, id = add(table.unpack(rows, first, first + width - 1))
    if not ok then
      for i = 1, n do remove(ids[i]) end
      argument.fail(1, "wall_many", 0, "row %d: %s", first // width + 1, reason(id))
    end
    n = n + 1
    ids[n] = id
  end
  return ids, n
end

return walls
