-- A server's restart without a storm of events: what every node saw is kept with the rest of the world, and given back
-- by `adopt`. Only what differs is told.
local aoi = require "aoi"

local VIEW = 1
local function handlers(when)
  return {
    enter = function(w, t) print(("%s: %d sees %d"):format(when, w, t)) end,
    leave = function(w, t) print(("%s: %d loses %d"):format(when, w, t)) end,
  }
end

local function store(space) -- plain tables, for whatever a game writes to its database
  local rows = {}
  local ids = space:ids()
  table.sort(ids)
  for _, id in ipairs(ids) do
    local x, y = space:position(id)
    local row = { id = id, x = x, y = y, kind = space:kind(id), nodes = {} }
    for _, node in ipairs((space:nodes(id))) do
      row.nodes[#row.nodes + 1] = { node = node, area = space:area(id, node), seen = (space:view(id, node)) }
    end
    rows[#rows + 1] = row
  end
  return rows
end

local function restore(rows, handlers_of)
  local space = aoi.new()
  for _, row in ipairs(rows) do space:enter(row.id, row.x, row.y, row.kind) end
  for _, row in ipairs(rows) do
    for _, n in ipairs(row.nodes) do space:adopt(row.id, n.node, n.area, n.seen, handlers_of) end
  end
  return space
end

local space = aoi.new()
for id = 1, 3 do space:enter(id, id * 10, 0) end
space:add_node(1, VIEW, { radius = 12, keep = 25 }, handlers "before")
space:move(2, 30, 0) -- kept: nearer than 25
local rows = store(space)
space:close()

space = restore(rows, handlers "after")
print(space:sees(1, VIEW, 2), space:sees(1, VIEW, 3))
space:move(2, 60, 0)

--> before: 1 sees 2
--> true	false
--> after: 1 loses 2
