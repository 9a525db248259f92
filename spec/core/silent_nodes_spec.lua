-- Nodes without a handler in an immediate space make no events: what moves or enters among them is placed, and no pair
-- of theirs is examined. Questions know them all the same, and what they keep is kept.
local aoi = require "aoi"
local recorder = require "spec.support.recorder"

local PEOPLE = 120

local function ids(list, n)
  local t = {}
  for i = 1, n do t[i] = list[i] end
  table.sort(t)
  return table.concat(t, " ")
end

for _, engine in ipairs(aoi.engines()) do
  describe("nodes without a handler on " .. engine, function()
    local space
    local function place(id) return id % 11, id % 7 end
    local function fill(area)
      space = aoi.new { engine = engine }
      for id = 1, PEOPLE do
        space:enter(id, place(id))
        space:add_node(id, 1, area)
      end
    end
    local function walk()
      local before = space:stats().candidates
      for id = 1, PEOPLE do
        local x, y = place(id)
        space:move(id, x + 1.5, y - 2.5)
      end
      space:enter(PEOPLE + 1, 3, 3)
      space:leave(PEOPLE + 1)
      return space:stats().candidates - before
    end

    if engine ~= "brute" then -- which has no index
      for name, area in pairs {
        square = 3, circle = { radius = 3, shape = "circle" }, box = { shape = "box", extents = { 3, 1 } },
        sector = { shape = "sector", radius = 3, facing = 1, angle = 2 },
      } do
        it("are not examined when something moves: " .. name, function()
          fill(area)
          assert.equal(0, walk())
          assert.is_true(space:check())
        end)
      end
    end

    it("answer questions", function()
      fill(2)
      walk()
      local seen, viewed = {}, {}
      for id = 1, PEOPLE do
        if id ~= 5 and space:sees(5, 1, id) then seen[#seen + 1] = id end
        if id ~= 5 and space:sees(id, 1, 5) then viewed[#viewed + 1] = id end
      end
      assert.is_true(#seen > 3)
      assert.equal(table.concat(seen, " "), ids(space:view(5, 1)))
      local pairs_, n = space:viewers(5)
      local who = {}
      for i = 1, n do who[i] = pairs_[2 * i - 1] end
      assert.equal(table.concat(viewed, " "), ids(who, n))
    end)

    it("keep what their margin holds, also where it comes later and goes again", function()
      fill(2)
      space:enter(1000, 50, 50)
      space:enter(1001, 51, 50)
      space:add_node(1000, 1, 2)
      space:set_area(1000, 1, { radius = 2, margin = 2 })
      space:move(1001, 53.5, 50)
      assert.is_true(space:sees(1000, 1, 1001))
      assert.is_true(space:check())
      space:set_area(1000, 1, 2)
      space:move(1001, 51, 50)
      space:move(1001, 53.5, 50)
      assert.is_false(space:sees(1000, 1, 1001))
      assert.is_true(space:check())
    end)

    it("stand beside others of the same radius that are heard", function()
      fill(3)
      local it = recorder.new { engine = engine }
      for id = 1, PEOPLE do
        it.space:enter(id, 10 * id, 0)
        it.space:add_node(id, 1, 12, id % 2 == 0 and it.enter or nil, id % 2 == 0 and it.leave or nil)
      end
      it.call("flush")
      assert.equal("enter 2/1 50, leave 50/1 49, leave 50/1 51",
        (it.call("move", 50, 20, 0):gsub("enter 50/1 %d+, ", "")))
    end)
  end)
end
