-- adopt: a node with a past. Only differences between what it has seen and what it sees now are events.
local aoi = require "aoi"
local fixture = require "spec.support.fixture"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local seed = random_run.seed("adopted nodes")

for setup in fixture.all() do
  describe("adopt on " .. setup.name, function()
    local w, space, heard
    local function note(kind)
      return function(watcher, target, node) heard[#heard + 1] = kind .. watcher .. "/" .. node .. ">" .. target end
    end
    local function adopt(...)
      space:adopt(...)
      w:deliver()
    end
    local function events()
      local list
      if setup.mode == "drain" then
        list = w:take()
      else
        list, heard = heard, {}
      end
      table.sort(list)
      return list
    end

    before_each(function()
      w = setup.new()
      space, heard = w.space, {}
      for id, x in pairs { 0, 3, 12, 50, 5, 13 } do w:enter(id, w:at(x)) end
      w:take()
    end)

    it("tells strangers inside, and what is seen no more, also if it is gone", function()
      adopt(1, 7, { radius = 10, keep = 15 }, { 2, 3, 4, 77, 1, 2 }, note "+", note "-")
      assert.same({ "+1/7>5", "-1/7>4", "-1/7>77" }, events())
      local view = space:view(1, 7)
      table.sort(view)
      assert.same({ 2, 3, 5 }, view)
      assert.is_true(space:check())
    end)

    it("keeps what was seen between the borders, and only that", function()
      adopt(1, 7, { radius = 10, keep = 15 }, { 3 }, note "+", note "-")
      assert.same({ "+1/7>2", "+1/7>5" }, events())
      assert.is_true(space:sees(1, 7, 3))
      assert.is_false(space:sees(1, 7, 6))
      w:move(3, w:at(20))
      w:deliver()
      assert.same({ "-1/7>3" }, events())
    end)

    it("minds mask and kind", function()
      adopt(1, 7, { radius = 10, mask = 2 }, { 2 }, note "+", note "-")
      assert.same({ "-1/7>2" }, events())
    end)

    it("takes the first n, with handlers behind it or none", function()
      adopt(1, 7, 10, { 2, 4 }, 1, note "+", note "-")
      assert.same({ "+1/7>5" }, events())
      space:adopt(1, 8, 10, { 2, 5 }, nil, nil, nil)
      space:adopt(1, 9, 10, {}, { enter = note "+" })
      w:deliver()
      assert.is_true(space:sees(1, 8, 2))
    end)
  end)
end

describe("a node that is handed over", function()
  -- Beside each node another is adopted with its view, again and again: neither hears anything that the other does not.
  for _, engine in ipairs(aoi.engines()) do
    for _, delivery in ipairs { "immediate", "deferred" } do
      it(("hears what the old one would have heard, %s, %s"):format(engine, delivery), function()
        local random = rng.new(seed)
        local space = aoi.new { engine = engine, delivery = delivery }
        local ids, areas = 30, {
          20, { radius = 15, keep = 25 }, { radius = 15, margin = 8, shape = "circle" },
          { shape = "box", extents = { 30, 5 }, margin = 4 },
          { shape = "sector", radius = 30, facing = 1, angle = 2, margin = 5 },
        }
        local heard = { {}, {} }
        local function handlers(i)
          return function(id, target, node) heard[i][#heard[i] + 1] = ("+%d/%d>%d"):format(id, node % 100, target) end,
            function(id, target, node) heard[i][#heard[i] + 1] = ("-%d/%d>%d"):format(id, node % 100, target) end
        end
        for id = 1, ids do
          space:enter(id, random(100), random(100))
          if id <= #areas then
            space:add_node(id, 1, areas[id], handlers(1))
            space:add_node(id, 101, areas[id], handlers(2))
          end
        end
        space:flush()
        local events, steps = 0, math.min(random_run.steps(400), 4000)
        for step = 1, steps do
          local id = random(ids)
          local x, y = space:position(id)
          space:move(id, x + random(21) - 11, y + random(21) - 11)
          if delivery == "deferred" and random(3) > 1 then space:flush() end
          if step % 5 == 0 then
            space:flush()
            local watcher = random(#areas)
            local seen, n = space:view(watcher, 101)
            heard[2].saved = #heard[2]
            space:remove_node(watcher, 101)
            space:flush()
            for k = #heard[2], heard[2].saved + 1, -1 do heard[2][k] = nil end -- the leaves of the old node
            space:adopt(watcher, 101, areas[watcher], seen, n, handlers(2))
            space:flush()
          end
          if delivery == "immediate" or step % 10 == 0 then
            space:flush()
            heard[2].saved = nil
            table.sort(heard[1])
            table.sort(heard[2])
            assert.same(heard[1], heard[2])
            events = events + #heard[1]
            heard[1], heard[2] = {}, {}
          end
        end
        assert.is_true(space:check())
        assert.is_true(steps < 400 or events > 20)
      end)
    end
  end
end)
