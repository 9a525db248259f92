-- Areas: a number or a table, squares and circles (spheres), and hysteresis with `keep`.
local fixture = require "spec.support.fixture"

local huge = math.huge
local unpack = unpack or table.unpack

for setup in fixture.all() do
  describe("areas on " .. setup.name, function()
    local w
    before_each(function()
      w = setup.new()
      w:enter(1, w:at(0))
    end)

    it("are a number or a table, and a square without saying so", function()
      w:watch(1, 1, 5)
      w:watch(1, 2, { radius = 5 })
      w:watch(1, 3, { radius = 5, shape = "square" })
      w:enter(2, w:at(5, 1, 5))
      w:enter(3, w:at(5, 1, 5.5))
      assert.same({ "+1/1>2", "+1/2>2", "+1/3>2" }, w:take())
    end)

    it("may be the complement: what matches, and a twin without `outside` does not see", function()
      for _, area in ipairs {
        { radius = 5, margin = 3, mask = 2 }, { shape = "circle", radius = 5, keep = 7, mask = 2 },
      } do
        for _, node in ipairs { 1, 2 } do
          if w.space:area(1, node) then w.space:remove_node(1, node) end
          area.outside = node == 2
          w.space:add_node(1, node, area, function() end)
        end
        local function compare(matches)
          assert.is_true(w.space:check())
          assert.equal(matches and not w.space:sees(1, 1, 2), w.space:sees(1, 2, 2))
          assert.equal(w.space:explain(1, 1, 2).why, w.space:explain(1, 2, 2).why)
        end
        w.space:enter(2, unpack(w:at(1)))
        compare(false)
        w.space:move(2, unpack(w:at(6))) -- inside, and then between the borders, as a kind that does not count
        w.space:set_kind(2, 2)
        compare(true)
        assert.is_true(w.space:sees(1, 2, 2))
        for _, x in ipairs { 1, 6, 20, 6, 1, 6 } do
          w.space:move(2, unpack(w:at(x)))
          compare(true)
          w.space:flush()
        end
        assert.is_false(w.space:sees(1, 2, 2))
        w.space:set_layers(2, 2)
        compare(false)
        w.space:leave(2)
      end
      local x = w:at(0)
      x[#x + 1] = { radius = 5, outside = true }
      assert.error_matches(function() w.space:near(unpack(x)) end, "'outside' is for the nodes of a space only")
    end)

    if setup.dimensions == 3 then
      it("may be spheres", function()
        w:watch(1, 1, { radius = 7, shape = "circle" })
        w:enter(2, { 2, 3, 6 })
        w:enter(3, { 2, 3, 6.001 })
        w:enter(4, { -6, -2, 3 })
        w:enter(5, { 5, 5, 5 })
        assert.same({ "+1/1>2", "+1/1>4" }, w:take())
        w:move(5, { 4, 4, 4 })
        assert.same({ "+1/1>5" }, w:take())
      end)
    end

    it("follow the circle's rule in doubles, where it differs from the square's", function()
      local cases = {
        { 0, 0, 1e-200, true, "1e-200 squared is zero" },
        { 0, 1e-170, 1e-165, true, "both squares are zero" },
        { 0, 1e-170, 1e-150, false, "only one square is zero" },
        { -2 ^ 50, 2 ^ 50, 2 ^ 50, false, "the largest circle, the two ends of the line" },
        { 0, huge, 2 ^ 50, true, "infinite radius" },
        { 1e15 + 1 / 8, 1 / 16, 1e15, false, "the difference is exact, though the square's edge is not" },
        { 0.7, 0.1, 0.8, 0.8 - 0.7 <= 0.1, "0.8 - 0.7 against 0.1" },
        { 0.3, 0.1, 0.2, math.abs(0.2 - 0.3) <= 0.1, "0.2 - 0.3 against 0.1" },
        { 0.9, 0.3, 0.6, math.abs(0.6 - 0.9) <= 0.3, "0.6 - 0.9 against 0.3" },
        { 1 + 2 ^ -52, 1, 2 ^ -54, 1 + 2 ^ -52 - 2 ^ -54 <= 1, "a difference that rounds" },
        { -(2 ^ -54), 1, 1, true, "a difference that rounds onto the radius" },
        { -(2 ^ -53), 1, 1, true, "a difference that rounds onto the radius, beyond the square's rounded edge" },
        { 2 ^ -53, 1, -1, true, "the same on the other side" },
        { -(2 ^ -53) * 8, 8, 8, true, "the same, eight times as large" },
        { 5, 0, 5, true, "radius zero" },
        { 0.0, 0, -0.0, true, "radius zero, the two zeros" },
      }
      for _, case in ipairs(cases) do
        local from, radius, to, seen, why = (table.unpack or unpack)(case) -- luacheck: ignore
        for axis = 1, setup.dimensions do
          for _, way in ipairs { "enter", "move", "watcher", "radius" } do
            local v = setup.new()
            v:enter(1, v:at(way == "watcher" and -12345 or from, axis))
            if way ~= "radius" then v:watch(1, 1, { radius = radius, shape = "circle" }) end
            v:enter(2, v:at(way == "move" and 12345 or to, axis))
            if way == "move" then v:move(2, v:at(to, axis)) end
            if way == "watcher" then v:move(1, v:at(from, axis)) end
            if way == "radius" then
              v:watch(1, 1, { radius = 1, shape = "circle" })
              v.space:set_radius(1, 1, radius)
            end
            local d = to - from
            assert.equal(d * d <= radius * radius, seen, "the table is wrong: " .. why)
            assert.equal(seen, v.space:sees(1, 1, 2), ("%s (axis %d, %s)"):format(why, axis, way))
            v:take()
            v.space:close()
          end
        end
      end
    end)

    it("may keep for ever", function()
      w:watch(1, 1, { radius = 5, keep = huge })
      w:enter(2, w:at(1e15))
      w:move(2, w:at(5))
      assert.same({ "+1/1>2" }, w:take())
      w:move(2, w:at(2 ^ 50))
      w:move(1, w:at(-2 ^ 50))
      assert.same({}, w:take())
      w.space:leave(2)
      assert.same({ "-1/1>2" }, w:take())
      w:enter(2, w:at(0))
      assert.same({}, w:take(), "a new entity was not seen before")
    end)
  end)

  describe("set_radius on " .. setup.name, function()
    local w
    before_each(function()
      w = setup.new()
      w:enter(1, w:at(0))
      for i = 1, 5 do w:enter(10 + i, w:at(2 * i)) end
    end)

    it("keeps the shape", function()
      w:enter(21, w:at(4, 1, 4))
      w:watch(1, 1, { radius = 5, shape = "circle" })
      assert.same({ "+1/1>11", "+1/1>12" }, w:take())
      w.space:set_radius(1, 1, 5.5)
      assert.same({}, w:take())
      w.space:set_radius(1, 1, 8)
      assert.same({ "+1/1>13", "+1/1>14", "+1/1>21" }, w:take())
      w.space:set_radius(1, 1, 6)
      assert.same(w.dimensions == 2 and { "-1/1>14" } or { "-1/1>14", "-1/1>21" }, w:take())
    end)
  end)
end
