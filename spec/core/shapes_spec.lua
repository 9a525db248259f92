-- Shapes by example: what is inside, ties included; what a margin keeps; nearest.
local fixture = require "spec.support.fixture"
local rng = require "spec.support.rng"

local pi = math.pi

-- { area, inside, outside }, in the plane; in 3D the same at the watcher's height.
local plane = {
  {
    { shape = "box", extents = { 100, 2 } },
    { { 100, 2 }, { -100, -2 }, { 0, 2 } }, { { 100.5, 0 }, { 0, 2.5 }, { 3, 3 } },
  },
  { { shape = "box", extents = { 0, 3 } }, { { 0, 3 }, { 0, 0 } }, { { 1e-300, 0 }, { 0, 4 } } },
  { { shape = "circle", radius = 5 }, { { 3, 4 }, { -4, -3 }, { 5, 0 } }, { { 4, 4 }, { 5, 1 } } },
  { { shape = "sector", radius = 5, facing = 0, angle = 2 * pi }, { { -5, 0 }, { -3, 4 }, { 0, 0 } }, { { -5, 1 } } },
  {
    { shape = "sector", radius = 5, facing = 0, angle = pi / 2 },
    { { 0, 0 }, { 5, 0 }, { 3, 2 } }, { { -1, 0 }, { 2, 3 }, { 6, 0 } },
  },
  { { shape = "sector", radius = 5, facing = pi / 2, angle = 3 }, { { 0, 5 }, { 1, 1 } }, { { 0, -1 }, { 5, -1 } } },
  { -- each side owns its lower end, and what lies to its left: a square of this kind is half-open
    { shape = "polygon", points = { -2, -2, 2, -2, 2, 2, -2, 2 } },
    { { -2, -2 }, { -2, 0 }, { 0, -2 }, { 1, 1 } }, { { 2, 0 }, { 0, 2 }, { 2, 2 }, { -2, 2 }, { 2, -2 } },
  },
  { -- the other winding is the same
    { shape = "polygon", points = { -2, 2, 2, 2, 2, -2, -2, -2 } },
    { { -2, -2 }, { -2, 0 }, { 0, -2 } }, { { 2, 0 }, { 0, 2 }, { 2, 2 } },
  },
  { -- concave, without its own watcher
    { shape = "polygon", points = { -4, -4, 4, -4, 4, 4, 0, -3, -4, 4 } },
    { { -3, 0 }, { 3, 0 }, { 0, -4 }, { 0, -3 } }, { { 0, 0 }, { 0, 3 }, { 0, -2.5 } },
  },
  { -- sides that cross: what lies in both loops of a star is out
    { shape = "polygon", points = { 0, 10, 6, -8, -10, 3, 10, 3, -6, -8 } },
    { { 0, 8 }, { -8, 2.5 } }, { { 0, 0 }, { 0, -9 } },
  },
}

for setup in fixture.immediate() do
  describe("shapes on " .. setup.name, function()
    local w, space
    before_each(function()
      w = setup.new()
      space = w.space
      w:enter(1, w:at(0))
    end)

    local function point(p, height) return setup.dimensions == 2 and p or { p[1], p[2], height or 0 } end

    local function area_of(area)
      local copy = {}
      for name, value in pairs(area) do copy[name] = value end
      if copy.extents and setup.dimensions == 3 then copy.extents = { copy.extents[1], copy.extents[2], 0 } end
      return copy
    end

    it("have inside what the formula says", function()
      for i, case in ipairs(plane) do
        local area = area_of(case[1])
        w:watch(1, i, area)
        for _, inside in ipairs { true, false } do
          for _, p in ipairs(inside and case[2] or case[3]) do
            local where = ("area %d at %g %g"):format(i, p[1], p[2])
            w:enter(2, point { 500, 500 }, 8)
            w:move(2, point(p))
            assert.equal(inside, space:sees(1, i, 2), where)
            assert.equal(inside and 1 or 0, select(2, space:viewers(2)), where)
            assert.equal(inside and 1 or 0, select(2, w:near(w:at(0), area, 8)), where)
            assert.equal(inside and "inside" or "outside", space:explain(1, i, 2).why, where)
            space:leave(2)
          end
        end
        space:remove_node(1, i)
      end
      assert.is_true(space:check())
    end)

    it("lose what they saw only beyond the margin", function()
      w:watch(1, 1, { shape = "sector", radius = 5, facing = 0, angle = pi, margin = 2 })
      for _, step in ipairs { { 6, "" }, { 5, "+1/1>2" }, { 7, "" }, { 7.5, "-1/1>2" }, { 7, "" } } do
        if space:has(2) then w:move(2, w:at(step[1])) else w:enter(2, w:at(step[1])) end
        assert.equal(step[2], table.concat(w:take()), step[1])
      end
      w:move(2, w:at(5))
      w:move(2, w:at(-1))
      assert.same({ "+1/1>2", "-1/1>2" }, w:take(), "the angle has no margin")
    end)

    it("tell exactly who comes and goes when they turn, little or much", function()
      local random, seen = rng.new(5), {}
      local function hear(_, target, _) seen[target] = not seen[target] or nil end
      for id = 2, 161 do -- many at the rim
        local away, a = id % 2 == 0 and 5 or 5 * random(), 2 * pi * random()
        w:enter(id, point { away * math.cos(a), away * math.sin(a) })
      end
      for k, angle in ipairs { 0.01, 1, 2.1, pi, 4, 6.2 } do
        seen = {}
        space:add_node(1, k, { shape = "sector", radius = 5, facing = 0, angle = angle }, hear, hear)
        local facing = 0
        for turn = 1, 40 do
          facing = facing + (turn % 2 == 0 and random() - 0.5 or (random() - 0.5) * 7)
          space:set_facing(1, k, facing)
          local heard = 0
          for _ in pairs(seen) do heard = heard + 1 end
          local list, n = space:view(1, k)
          for i = 1, n do assert.is_true(seen[list[i]], ("%d, angle %g, turn %d"):format(list[i], angle, turn)) end
          assert.equal(n, heard, ("angle %g, turn %d"):format(angle, turn))
        end
        space:remove_node(1, k)
      end
      assert.is_true(space:check())
    end)

    it("leave nearest in order: by distance, then by id", function()
      for id, x in pairs { [5] = 3, [4] = -3, [3] = 1, [9] = 40, [8] = 1e12 } do w:enter(id, w:at(x), id) end
      local function nearest(...)
        local p = w:at(0)
        local list, n
        if setup.dimensions == 2 then list, n = space:nearest(p[1], p[2], ...)
        else list, n = space:nearest(p[1], p[2], p[3], ...) end
        local count = 0
        for _ in ipairs(list) do count = count + 1 end
        assert.equal(n, count)
        return list
      end
      assert.same({ 1, 3, 4, 5, 9, 8 }, nearest(10))
      assert.same({ 1, 3, 4 }, nearest(3))
      assert.same({ 1, 3, 4, 5 }, nearest(10, 3))
      assert.same({ 1, 3 }, nearest(10, 2.5))
      assert.same({ 9, 8 }, nearest(10, math.huge, 8))
      assert.same({}, nearest(0))
      local buf = { 7, 7, 7, 7 }
      assert.equal(buf, nearest(2, buf))
      assert.is_nil(buf[3])
    end)
  end)
end
