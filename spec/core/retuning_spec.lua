-- What engines choose by counts follows when the counts have fallen: a space in which areas have shrunk, or from which
-- most have left, walks as few cells and entries as one that has never had more.
local aoi = require "aoi"
local rng = require "spec.support.rng"

local COUNT, SIDE = 2000, 1100

local function nop() end

-- Enters `count` entities whose nodes have that radius, calls `change`, and returns steps and cells of a walk of the
-- first `left` entities.
local function walk(engine, count, radius, left, change)
  local space, random = aoi.new { engine = engine }, rng.new(7)
  local places = {}
  for id = 1, COUNT do places[id] = { SIDE * random(), SIDE * random() } end
  for id = 1, count do
    space:enter(id, places[id][1], places[id][2])
    space:add_node(id, 1, radius, nop)
  end
  if change then change(space) end
  local function step()
    for id = 1, left do
      local p = places[id]
      p[1], p[2] = p[1] + 4 * random() - 2, p[2] + 4 * random() - 2
      space:move(id, p[1], p[2])
    end
  end
  for _ = 1, 3 * COUNT / left do step() end
  local before = space:stats().steps
  step()
  assert.is_true(space:check())
  return { steps = space:stats().steps - before, cells = space:stats().cells }
end

for _, engine in ipairs { "list", "grid", "tower", "quadtree" } do
  describe("counts that have fallen, on " .. engine, function()
    it("areas that have shrunk", function()
      local fresh = walk(engine, COUNT, 10, COUNT)
      assert.same(fresh, walk(engine, COUNT, 300, COUNT, function(space)
        for id = 1, COUNT do space:set_radius(id, 1, 10) end
      end))
    end)

    it("entities that have left", function()
      local left = COUNT / 10
      local fresh = walk(engine, left, 50, left)
      local now = walk(engine, COUNT, 50, left, function(space)
        for id = left + 1, COUNT do space:leave(id) end
      end)
      assert.is_true(now.steps <= 1.5 * fresh.steps, ("%d steps, not %d"):format(now.steps, fresh.steps))
      assert.is_true(now.cells <= left / 2, ("%d cells"):format(now.cells)) -- two in a cell, as in any space
    end)
  end)
end
