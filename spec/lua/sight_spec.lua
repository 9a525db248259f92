-- Walls: events of ticks, doors, lingering, what handlers may do, questions, misuse. Random histories against a loop
-- over all walls are in spec/c/sight.c.
local aoi = require "aoi"
local sights = require "aoi.sight"


for _, delivery in ipairs { "immediate", "deferred" } do
  describe("sights, " .. delivery .. ":", function()
    local space, sight, heard, handlers, door

    before_each(function()
      space = aoi.new { delivery = delivery }
      sight = sights.new(space)
      heard = {}
      handlers = {
        enter = function(w, t, n) heard[#heard + 1] = ("%d.%d+%d"):format(w, n, t) end,
        leave = function(w, t, n) heard[#heard + 1] = ("%d.%d-%d"):format(w, n, t) end,
      }
      space:enter(1, 0, 0)
      space:enter(2, 10, 0)
      space:enter(3, 0, 5)
      door = sight:wall(5, -2, 5, 2)
    end)

    local function tick()
      local n = sight:tick()
      table.sort(heard)
      local said = table.concat(heard, " ")
      heard = {}
      return said, n
    end

    it("a tick tells what no wall hides, doors included", function()
      sight:add(1, 1, { shape = "circle", radius = 30 }, handlers)
      assert.equal("", table.concat(heard))
      assert.same({ "1.1+3", 1 }, { tick() })
      sight:open_wall(door)
      assert.equal("1.1+2", tick())
      sight:shut_wall(door)
      sight:open_wall(door)
      assert.equal("", tick())
      sight:remove_wall(door)
      assert.equal("", tick())
      assert.is_nil((sight:get_wall(door)))
      local other = sight:wall(5, 0, 5, 9)
      assert.not_equal(door, other)
      assert.equal("1.1-2", tick()) -- the line goes through its end: that of one side counts
      sight:remove_wall(other)
      sight:wall(5, 0, 5, -9)
      assert.equal("1.1+2", tick()) -- and that of the other does not
      assert.is_true(space:check())
    end)

    it("a node of the space: facing, area, exceptions, removal", function()
      sight:add(1, 1, { shape = "sector", radius = 30, facing = 0, angle = 1 }, handlers)
      sight:open_wall(door)
      assert.equal("1.1+2", tick())
      space:set_facing(1, 1, math.pi / 2)
      assert.equal("1.1+3 1.1-2", tick())
      space:set_facing(1, 1, 0)
      sight:shut_wall(door)
      assert.equal("1.1-3", tick())
      space:override(1, 1, 2, "show") -- seen through walls
      assert.equal("1.1+2", tick())
      space:override(1, 1, 2, "hide")
      assert.equal("1.1-2", tick())
      space:override(1, 1, 2, nil)
      space:set_area(1, 1, { shape = "circle", radius = 6 })
      assert.equal("1.1+3", tick())
      space:remove_node(1, 1)
      assert.equal("1.1-3", tick())
      assert.same({ 0, 0 }, { sight:stats().pairs, sight:stats().nodes })
    end)

    it("leaves come first, of entities that are gone too", function()
      sight:add(1, 1, 30, handlers)
      tick()
      space:leave(3)
      space:enter(3, 0, 6)
      sight:open_wall(door)
      sight:tick()
      assert.equal("1.1-3", heard[1])
      table.sort(heard)
      assert.equal("1.1+2 1.1+3 1.1-3", table.concat(heard, " "))
      heard = {}
      space:leave(1)
      assert.equal("1.1-2 1.1-3", tick())
      assert.is_true(space:check())
    end)

    it("lingers for as many ticks as are asked for, without a break", function()
      sight:open_wall(door)
      sight:add(1, 1, 30, handlers, { linger = 2 })
      sight:add(1, 2, 30, handlers.enter, handlers.leave, { linger = 0 })
      assert.equal("1.1+2 1.1+3 1.2+2 1.2+3", tick())
      for _ = 1, 5 do assert.equal("", tick()) end
      sight:shut_wall(door)
      assert.equal("1.2-2", tick())
      assert.equal("", tick())
      assert.is_true(sight:sees(1, 1, 2))
      assert.equal("lingers", sight:explain(1, 1, 2).why)
      sight:open_wall(door)
      assert.equal("1.2+2", tick())
      sight:shut_wall(door)
      for _, said in ipairs { "1.2-2", "", "1.1-2", "" } do assert.equal(said, tick()) end
      assert.is_false(sight:sees(1, 1, 2))
    end)

    it("lingers whatever has ended the view, an override that hides excepted", function()
      for how, ends in pairs {
        area = function() space:move(2, 100, 0) end,
        kind = function() space:set_kind(2, 0) end,
        mask = function() space:set_mask(1, 1, 2) end,
        hide = function() space:override(1, 1, 2, "hide") end,
        ["hide, already lingering"] = function() sight:shut_wall(door) sight:tick() space:override(1, 1, 2, "hide") end,
      } do
        local hidden = how:match "hide" ~= nil
        space:leave(3)
        sight:open_wall(door)
        sight:add(1, 1, 30, handlers, { linger = 2 })
        assert.equal("1.1+2", tick())
        ends()
        assert.equal(not hidden, sight:sees(1, 1, 2), how)
        assert.same({ hidden and 0 or 1, hidden and 0 or 1 },
          { select(2, sight:view(1, 1)), select(2, sight:viewers(2)) }, how)
        assert.equal(hidden and "hidden" or "lingers", sight:explain(1, 1, 2).why)
        assert.equal(hidden and "1.1-2" or "", tick(), how)
        sight:remove(1, 1)
        tick()
        space:move(2, 10, 0)
        space:set_kind(2, 1)
        space:enter(3, 0, 5)
      end
    end)

    it("handlers may do anything; a tick in a handler is delivered by the outer one", function()
      local deep, most = 0, 0
      sight:add(1, 1, 30, {
        enter = function(_, t)
          deep = deep + 1
          most = math.max(most, deep)
          heard[#heard + 1] = "+" .. t
          if t == 3 then
            sight:open_wall(door)
            space:move(3, 0, 7)
            assert.equal(0, sight:tick())
          end
          deep = deep - 1
        end,
        leave = function(w, t)
          heard[#heard + 1] = "-" .. t
          if t == 2 then sight:remove(w, 1) end
        end,
      })
      assert.equal(2, sight:tick())
      assert.equal(1, most)
      assert.equal("+3 +2", table.concat(heard, " "))
      sight:shut_wall(door)
      sight:tick()
      sight:tick()
      assert.equal("+3 +2 -2 -3", table.concat(heard, " "))
      sight:add(1, 1, 30, { enter = function() sight:close() end })
      sight:tick()
      assert.has_error(function() sight:tick() end, "attempt to use a closed sight")
      assert.is_true(space:check())
    end)

    it("an enter that waits is taken back when its target leaves, or its node goes", function()
      local enters
      local function take(way)
        local new = aoi.new { delivery = delivery }
        local own, entered, left = sights.new(new), {}, {}
        for id = 1, 4 do new:enter(id, id, 0) end
        enters = 0
        for id = 1, 4 do
          own:add(id, 1, 30, function(w, t)
            enters = enters + 1
            assert.is_true(new:has(w) and new:has(t) and #new:nodes(w) == 1)
            entered[w .. ">" .. t] = true
            if enters == 1 then way(new, own, t % 4 + 1 ~= w and t % 4 + 1 or (t + 1) % 4 + 1) end
          end, function(w, t) left[w .. ">" .. t] = true end)
        end
        local n = own:tick()
        assert.equal(enters, n)
        assert.is_true(new:check())
        local again = own:tick()
        for pair in pairs(left) do assert.is_true(entered[pair]) end
        assert.is_true(new:check())
        return again
      end
      assert.equal(0, take(function(new, _, third) new:leave(third) end))
      assert.equal(6, enters) -- of the pairs of three
      assert.equal(0, take(function(new, _, third) new:remove_node(third, 1) end))
      assert.equal(9, enters)
      assert.equal(0, take(function(_, own, third) own:remove(third, 1) end))
      assert.equal(9, enters)
      assert.equal(0, take(function(new, own, third)
        new:move(third, 1000, 0)
        assert.equal(0, own:tick())
      end))
      assert.equal(6, enters)
      assert.equal(3, take(function(new, _, third)
        new:leave(third)
        new:enter(third, 0, 0) -- another life
      end))
      assert.equal(9, enters)
    end)

    it("an error is raised from the tick, the others wait for the next one; on_error takes it", function()
      local fail = true
      sight:open_wall(door)
      sight:add(1, 1, 30, function(_, t)
        if fail then error("boom", 0) end
        heard[#heard + 1] = t
      end)
      assert.has_error(function() sight:tick() end, "boom")
      fail = false
      assert.equal(1, sight:tick())
      assert.equal(1, #heard)
      fail = true
      space:on_error(function(err, w, _, n, trace) heard[#heard + 1] = err .. w .. n .. type(trace) end)
      space:move(3, 0, 100)
      sight:tick()
      space:move(3, 0, 5)
      assert.equal(1, sight:tick())
      assert.equal("boom11string", heard[2])
    end)

    it("what a deferred space or a drain has to tell is left alone, and takes nothing away", function()
      space:add_node(1, 7, 30, function(_, t) heard[#heard + 1] = "s" .. t end)
      heard = {}
      sight:add(1, 1, 30, handlers)
      assert.equal("1.1+3", tick())
      if delivery == "deferred" then
        local buf, n = space:drain({})
        assert.same({ 2, aoi.ENTER, 7 }, { n, buf[1], buf[4] })
      end
      sight:open_wall(door)
      space:move(3, 0, 100)
      space:flush()
      assert.equal("", (table.concat(heard, " "):gsub("s%d", "")))
      heard = {}
      assert.equal("1.1+2 1.1-3", tick())
    end)

    if delivery == "deferred" then
      it("a flush in a handler has all leaves before all enters", function()
        local order = {}
        local function on(sign) return function(_, t) order[#order + 1] = sign .. t end end
        space:add_node(1, 7, 8, on "+", on "-")
        space:flush()
        space:enter(4, 1, 1)
        space:leave(3)
        space:enter(5, 1, 1)
        sight:add(1, 1, 30, function() space:flush() end)
        sight:tick()
        assert.same("+3 -3 +4 +5", table.concat(order, " "))
        assert.equal(0, space:flush())
      end)
    end

    if not rawget(_G, "jit") and _VERSION ~= "Lua 5.1" and _VERSION ~= "Lua 5.2" then
      it("handlers may yield", function()
        sight:open_wall(door)
        sight:add(1, 1, 30, function(_, t)
          coroutine.yield()
          heard[#heard + 1] = t
        end)
        local run = coroutine.wrap(function() return sight:tick() end)
        run()
        assert.equal(0, #heard)
        run()
        assert.equal(1, #heard)
        assert.equal(2, run())
        assert.equal(2, #heard)
      end)

      it("a tick while a flush is suspended takes none of its events", function()
        if delivery ~= "deferred" then return end
        local seen = {}
        space:add_node(1, 7, 30, function(_, t)
          if #seen == 0 then coroutine.yield() end
          seen[#seen + 1] = t
          if t == 2 then space:enter(4, 1, 1) end
        end)
        local run = coroutine.wrap(function() return space:flush() end)
        run()
        sight:add(1, 1, 30, handlers)
        assert.equal("1.1+3", tick())
        assert.same({}, seen)
        assert.equal(3, run()) -- and the flush goes on to its end
        table.sort(seen)
        assert.same({ 2, 3, 4 }, seen)
      end)
    end

    it("questions are of now", function()
      sight:add(1, 1, 30, handlers)
      assert.is_true(sight:sees(1, 1, 3))
      assert.is_false(sight:sees(1, 1, 2))
      assert.same({ { 3 }, 1 }, { sight:view(1, 1, { 9, 9, 9 }) })
      sight:open_wall(door)
      assert.same({ { 1, 1 }, 1 }, { sight:viewers(2) })
      local _, n = sight:view(1, 1)
      assert.equal(2, n)
      sight:shut_wall(door)
      local why = sight:explain(1, 1, 2)
      assert.same({ false, "wall", door, 5, 0 }, { why.sees, why.why, why.wall, why.x, why.y })
      assert.matches("wall " .. door .. " at 5", tostring(why), 1, true)
      assert.equal("inside", sight:explain(1, 1, 3).why)
      assert.equal("no node", sight:explain(2, 1, 3).why)
      assert.same({ door, 5, 1 }, { sight:ray(0, 1, 9, 1) })
      assert.is_nil((sight:ray(0, 3, 9, 3)))
      assert.same({ 5, -2, 5, 2, false }, { sight:get_wall(door) })
      assert.same({ { door }, 1 }, { sight:walls() })
    end)

    it("a still tick looks at nothing, and one mover at its own pairs", function()
      for id = 10, 60 do
        space:enter(id, id % 7, id % 5)
        sight:add(id, 1, 30, handlers)
      end
      sight:tick()
      local tested = sight:stats().tested
      sight:tick()
      assert.equal(tested, sight:stats().tested)
      space:move(2, 9, 1)
      sight:tick()
      assert.equal(tested + 51, sight:stats().tested)
    end)

    it("the line between two that see each other is tested once", function()
      sight:open_wall(door)
      for id = 1, 2 do sight:add(id, 1, 30, handlers) end
      local function tested(change, said)
        local before = sight:stats().tested
        change()
        assert.equal(said, tick())
        assert.is_true(space:check())
        return sight:stats().tested - before
      end
      assert.equal(4, tested(function() end, "1.1+2 1.1+3 2.1+1 2.1+3"))
      assert.equal(3, tested(function() space:move(1, 1, 0) space:move(2, 9, 0) end, ""))
      assert.equal(2, tested(function() space:move(2, 9, 1) end, ""))
      assert.equal(3, tested(function() sight:shut_wall(door) end, "1.1-2 2.1-1"))
      assert.equal(3, tested(function() sight:open_wall(door) end, "1.1+2 2.1+1"))
      space:override(2, 1, 1, "show")
      assert.equal(3, tested(function() sight:shut_wall(door) end, "1.1-2")) -- what an override shows tells nothing
    end)

    it("several sights share walls", function()
      local other = sights.new(space, { walls = sight })
      sight:add(1, 1, 30, handlers)
      other:add(1, 2, 30, handlers)
      sight:tick()
      other:tick()
      sight:close()
      heard = {}
      other:open_wall(door)
      assert.equal(1, other:tick())
      assert.equal("1.2+2", heard[1])
      assert.is_nil(space:area(1, 1))
      assert.is_true(space:check())
    end)
  end)
end

describe("sights:", function()
  it("a wall beyond the reach, before a large target that is seen from there", function()
    local space = aoi.new()
    local sight = sights.new(space)
    space:enter(1, 0, 0)
    space:enter(2, 30, 0)
    space:set_extent(2, 25)
    local door = sight:wall(20, -2, 20, 2)
    sight:open_wall(door)
    sight:add(1, 1, { shape = "circle", radius = 6 })
    assert.equal(1, sight:tick())
    sight:shut_wall(door)
    assert.equal(1, sight:tick())
    assert.is_false(sight:sees(1, 1, 2))
    assert.is_true(space:check())
  end)

  it("a line through ends of walls is clear from both sides, or from none: pillars on tiles", function()
    local map = { "..........", "..#..#.#..", ".....#....", ".#......#.", "...#..#...", ".........." }
    local space, ids = aoi.new(), {}
    local sight = sights.new(space)
    local function rock(x, y) return not map[y] or x < 1 or x > 10 or map[y]:sub(x, x) == "#" end
    for y = 1, #map do
      for x = 1, 10 do
        if rock(x, y) ~= rock(x + 1, y) then sight:wall(x + 0.5, y - 0.5, x + 0.5, y + 0.5) end
        if rock(x, y) ~= rock(x, y + 1) then sight:wall(x - 0.5, y + 0.5, x + 0.5, y + 0.5) end
        if not rock(x, y) then
          ids[#ids + 1] = 100 * y + x
          space:enter(100 * y + x, x, y)
          sight:add(100 * y + x, 1, { shape = "circle", radius = 20 })
        end
      end
    end
    sight:tick()
    local seen = 0
    for i, id in ipairs(ids) do
      for j = i + 1, #ids do
        local x0, y0 = space:position(id)
        local x1, y1 = space:position(ids[j])
        local there, back = { sight:ray(x0, y0, x1, y1) }, { sight:ray(x1, y1, x0, y0) }
        local sees = sight:sees(id, 1, ids[j])
        assert.same({ sees, not sees, not sees }, { sight:sees(ids[j], 1, id), there[1] ~= nil, back[1] ~= nil })
        seen = seen + (sees and 1 or 0)
      end
    end
    assert.is_true(seen > 100)
    assert.is_true(space:check())
  end)

  it("a wall may be as long as the plane, and so may a ray", function()
    local far = 2 ^ 50
    local space = aoi.new()
    local sight = sights.new(space)
    local wall = sight:wall(-far, far, far, -far)
    assert.same({ wall, 0, 0 }, { sight:ray(-far, -far, far, far) })
    assert.same({ wall, 0, 0 }, { sight:ray(far, far, -far, -far) })
    assert.same({ wall, far / 2, -far / 2 }, { sight:ray(far, 0, 0, -far) })
    assert.is_nil((sight:ray(far, 0, 0, far)))
  end)

  it("the first wall is the one that is nearest to whoever looks", function()
    local space = aoi.new()
    local sight = sights.new(space)
    local near, far = sight:wall(1, -1, 1, 1), sight:wall(3, -1, 3, 1)
    assert.same({ near, 1, 0 }, { sight:ray(0, 0, 4, 0) })
    assert.same({ far, 3, 0 }, { sight:ray(4, 0, 0, 0) })
    local twin = sight:wall(3, -2, 3, 1)
    assert.is_true(twin > far)
    assert.same({ far, 3, 0 }, { sight:ray(4, 0, 0, 0) })
  end)

  it("in 3D a wall has heights, the bounds included", function()
    local space = aoi.new { dimensions = 3 }
    local sight = sights.new(space)
    space:enter(1, 0, 0, 0)
    space:enter(2, 10, 0, 4)
    sight:add(1, 1, { shape = "circle", radius = 30 })
    local wall = sight:wall(5, -1, 5, 1, 0, 2)
    assert.is_false(sight:sees(1, 1, 2)) -- crossed at 2, its upper bound
    assert.same({ wall, 5, 0, 2 }, { sight:ray(0, 0, 0, 10, 0, 4) })
    space:move(2, 10, 0, 4.5)
    assert.is_true(sight:sees(1, 1, 2))
    assert.same({ 5, -1, 5, 1, false, 0, 2 }, { sight:get_wall(wall) })
    sight:wall(4, -1, 4, 1)
    assert.is_false(sight:sees(1, 1, 2)) -- any height
  end)

  it("are garbage when nothing reaches them, with handlers that capture them", function()
    local alive = setmetatable({}, { __mode = "k" })
    for _ = 1, 20 do
      local space = aoi.new()
      local sight = sights.new(space)
      space:enter(1, 0, 0)
      space:enter(2, 1, 0)
      sight:add(1, 1, 5, function() return sight, space end)
      sight:tick()
      alive[sight] = true
    end
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(alive))
  end)
end)
