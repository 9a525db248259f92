-- Sight shared by a team: one enter, one leave, nothing between wards, bushes; random histories against plain counting.
local aoi = require "aoi"
local rng = require "spec.support.rng"
local team = require "aoi.team"
local tree = require "spec.support.tree"
local unpack = table.unpack or unpack

local RED, BLUE = 1, 2

for _, engine in ipairs(tree.engines) do
  describe("teams on " .. engine .. ":", function()
    local space, sight, heard

    before_each(function()
      space = aoi.new { engine = engine }
      heard = {}
      sight = team.new(space, {
        enter = function(name, target) heard[#heard + 1] = ("%s+%d"):format(name, target) end,
        leave = function(name, target) heard[#heard + 1] = ("%s-%d"):format(name, target) end,
      })
      space:enter(1, 0, 0, RED)
      space:enter(2, 10, 0, RED)
      space:enter(9, 100, 0, BLUE)
    end)

    local function told()
      sight:tick()
      local list = heard
      heard = {}
      return list
    end

    it("a refused watcher makes no team and is none", function()
      local bad = { -1, "x", 2 ^ 51, { radius = -1 }, { radius = 5, mask = "x" }, { shape = "cone" },
                    { radius = 1, x = 1 } }
      for _, area in ipairs(bad) do
        assert.error_matches(function() sight:add("red", 1, area) end, "bad argument #3 to 'add'")
        assert.is_nil(next(sight.sides))
        assert.equal(0, #sight.order)
      end
      sight:add("red", 1, 200)
      local size = sight.sides.red.size
      assert.is_false(pcall(sight.add, sight, "red", 2, -1))
      assert.equal(size, sight.sides.red.size)
      assert.is_nil(sight:node("red", 2))
      assert.same({ "red+2", "red+9" }, (function(list) table.sort(list) return list end)(told()))
    end)

    it("an id that is another entity is told anew", function()
      sight:add("red", 1, { radius = 20, mask = BLUE })
      space:move(9, 5, 0)
      assert.same({ "red+9" }, told())
      space:leave(9)
      space:enter(9, 6, 0, BLUE)
      assert.same({ "red-9", "red+9" }, told())
      space:leave(9)
      space:enter(9, 6, 0, BLUE)
      space:leave(9)
      assert.same({ "red-9" }, told())
    end)

    it("a bush hides on every layer", function()
      sight:add("red", 1, { radius = 50, mask = BLUE, layers = 4 })
      sight:bush { 4, -2, 8, -2, 8, 2, 4, 2 }
      space:set_layers(9, 4)
      space:move(9, 3, 0)
      assert.same({ "red+9" }, told())
      space:move(9, 5, 0)
      assert.same({ "red-9" }, told())
      space:move(1, 4.5, 0)
      assert.same({ "red+9" }, told())
    end)

    it("a watcher on no layer is in the bush where it stands", function()
      sight:add("red", 1, { radius = 50, mask = BLUE, layers = 1 })
      local bush = sight:bush { 4, -2, 8, -2, 8, 2, 4, 2 }
      space:move(9, 5, 0)
      space:set_layers(1, 0)
      assert.same({}, told())
      space:move(1, 4.5, 0)
      assert.same({ "red+9" }, told())
      space:set_layers(1, 2)
      assert.same({}, told())
      space:set_layers(1, 0)
      assert.same({}, told())
      space:move(1, 0, 0)
      assert.same({ "red-9" }, told())
      space:leave(bush)
      assert.same({ "red+9" }, told())
    end)

    it("an error of a handler is raised, and the other calls are made", function()
      sight:add("red", 1, { radius = 200, mask = BLUE })
      space:enter(8, 1, 0, BLUE)
      local calls = 0
      sight.handlers.enter = function() calls = calls + 1 if calls == 1 then error("oops", 0) end end
      local ok, err = pcall(sight.tick, sight)
      assert.same({ false, "oops" }, { ok, err })
      assert.equal(1, sight:tick())
      assert.equal(2, calls)
    end)

    it("a handler that closes the space ends the tick", function()
      sight:add("red", 1, { radius = 200, mask = BLUE })
      space:enter(8, 1, 0, BLUE)
      sight.handlers.enter = function() space:close() end
      assert.equal(1, sight:tick())
      assert.has_error(function() sight:tick() end, "attempt to use a closed space")
    end)

    it("random histories agree with counting", function()
      local random = rng.new(11)
      local polygons = {}
      for i = 1, 4 do
        local x, y = random(60), random(60)
        polygons[i] = { low = { x, y }, id = sight:bush { x, y, x + 20, y, x + 20, y + 20, x, y + 20 } }
      end
      for id = 10, 29 do
        space:enter(id, random(80) + 0.5, random(80) + 0.5, id % 2 == 0 and RED or BLUE)
        sight:add(id % 2 == 0 and "red" or "blue", id, { radius = 12, mask = id % 2 == 0 and BLUE or RED })
      end
      local picture = { red = {}, blue = {} }
      sight.handlers.enter = function(name, target)
        assert.is_nil(picture[name][target])
        picture[name][target] = true
      end
      sight.handlers.leave = function(name, target)
        assert.is_true(picture[name][target])
        picture[name][target] = nil
      end
      local function in_bush(polygon, id)
        local x, y = space:position(id)
        local dx, dy = x - polygon.low[1], y - polygon.low[2]
        return dx >= 0 and dx < 20 and dy >= 0 and dy < 20
      end
      local function expected(name, target)
        for id = 10, 29 do
          local is_of = space:has(id) and (id % 2 == 0 and "red" or "blue") == name
          local node = is_of and sight:node(name, id)
          if node and space:sees(id, node, target) then
            local hidden = false
            for _, polygon in ipairs(polygons) do
              if in_bush(polygon, target) then
                if in_bush(polygon, id) then return true end
                hidden = true
              end
            end
            if not hidden then return true end
          end
        end
      end
      for _ = 1, 150 do
        for _ = 1, random(6) do
          local id = 9 + random(20)
          if space:has(id) and random(12) > 1 then
            space:move(id, random(80) + 0.5, random(80) + 0.5)
          elseif space:has(id) then
            space:leave(id)
          else
            space:enter(id, random(80) + 0.5, random(80) + 0.5, id % 2 == 0 and RED or BLUE)
            sight:add(id % 2 == 0 and "red" or "blue", id, { radius = 12, mask = id % 2 == 0 and BLUE or RED })
          end
        end
        sight:tick()
        for name, known in pairs(picture) do
          for id = 10, 29 do
            assert.equal(space:has(id) and expected(name, id) or nil, known[id], name .. " " .. id)
          end
        end
      end
    end)
  end)
end

for _, delivery in ipairs { "immediate", "deferred" } do
  for _, walls in ipairs { false, true } do
    describe(("a team's target, %s, %s:"):format(delivery, walls and "walls" or "no walls"), function()
      local space, sight, heard

      before_each(function()
        space = aoi.new { delivery = delivery }
        heard = {}
        sight = team.new(space, {
          enter = function(_, target) heard[#heard + 1] = "+" .. target end,
          leave = function(_, target) heard[#heard + 1] = "-" .. target end,
          sight = walls and require("aoi.sight").new(space) or nil,
        })
        space:enter(1, 0, 0, RED)
        space:enter(9, 1, 0, BLUE)
        sight:add("red", 1, { radius = 5, mask = BLUE })
      end)

      local function told()
        if delivery == "deferred" then for _ = 1, 2 do space:flush() end end
        sight:tick()
        local list = heard
        heard = {}
        return list
      end

      local function renew()
        space:leave(9)
        space:enter(9, 2, 0, BLUE)
      end

      it("another by the same id is new", function()
        assert.same({ "+9" }, told())
        renew()
        assert.same({ "-9", "+9" }, told())
        space:leave(9)
        space:enter(9, 100, 0, BLUE)
        assert.same({ "-9" }, told())
        assert.same({}, told())
      end)

      it("it is lost where the watcher leaves its bush while it is away", function()
        sight:bush { -5, -5, 5, -5, 5, 5, -5, 5 }
        assert.same({ "+9" }, told())
        space:move(1, 100, 100)
        space:move(1, 5.5, 0) -- beside the bush
        assert.same({ "-9" }, told())
        space:move(1, 100, 100)
        space:move(1, 0, 0)
        assert.same({ "+9" }, told())
      end)

      it("it comes in a handler of the space", function()
        assert.same({ "+9" }, told())
        space:enter(2, 500, 0)
        space:add_node(2, 1, 5, renew)
        space:enter(3, 500, 0)
        assert.same({ "-9", "+9" }, told())
      end)

      it("it comes in a handler of the team", function()
        space:enter(8, 1, 0, BLUE)
        sight.handlers.enter = function(_, target)
          heard[#heard + 1] = "+" .. target
          sight.handlers.enter = function(_, other) heard[#heard + 1] = "+" .. other end
          space:leave(17 - target)
          space:enter(17 - target, 1, 0, BLUE)
        end
        local first = told()
        assert.equal(1, #first)
        assert.same({ first[1] == "+8" and "+9" or "+8" }, told())
        assert.same({}, told())
      end)
    end)
  end
end

describe("teams:", function()
  it("take 3D and deferred spaces", function()
    local space = aoi.new { dimensions = 3, delivery = "deferred" }
    local heard = {}
    local sight = team.new(space, { enter = function(_, target) heard[#heard + 1] = target end })
    space:enter(1, 0, 0, 5)
    space:enter(2, 1, 1, 5)
    sight:add("red", 1, 10)
    sight:bush { -2, -2, 2, -2, 0, 2 }
    space:flush()
    sight:tick()
    assert.same({ 2 }, heard)
  end)

  it("a leave is not delivered where a tick of a handler has cancelled the enter", function()
    local space, heard, sight = aoi.new(), {}, nil
    for id = 1, 3 do space:enter(id, 0, 0) end
    sight = team.new(space, {
      enter = function(_, target)
        heard[#heard + 1] = "+" .. target
        if #heard > 1 then return end
        space:leave(5 - target)
        sight:tick()
        space:enter(5 - target, 0, 0)
      end,
      leave = function(_, target) heard[#heard + 1] = "-" .. target end,
    })
    sight:add("red", 1, 5)
    assert.equal(1, sight:tick()) -- the tick of the handler has nothing to deliver
    assert.equal(1, #heard)
    assert.equal(1, sight:tick())
    assert.same({ 2, 3 }, (sight:known "red"))
    space:leave(2)
    assert.equal(1, sight:tick())
    assert.equal("-2", heard[3])
  end)

  it("take what has the methods of a space", function()
    local space = aoi.new()
    local wrapped = setmetatable({}, { __index = function(_, name)
      return function(_, ...) return space[name](space, ...) end
    end })
    local heard = {}
    local sight = team.new(wrapped, { enter = function(_, target) heard[#heard + 1] = target end })
    space:enter(1, 0, 0)
    space:enter(2, 1, 1)
    sight:add("red", 1, 10)
    sight:tick()
    assert.same({ 2 }, heard)
    space:leave(2)
    sight:tick()
    assert.same({}, (sight:known "red"))
  end)

  it("forget watchers that have left", function()
    local space = aoi.new()
    local sight = team.new(space, {})
    for id = 1, 1000 do
      space:enter(id, 0, 0)
      sight:add("red", id, 1)
      space:leave(id)
    end
    local n = 0
    for _ in pairs(sight.sides.red.nodes) do n = n + 1 end
    assert.is_true(n < 40)
  end)

  it("keep nothing of targets that have gone", function()
    local space = aoi.new()
    local sight = team.new(space, {})
    space:enter(1, 5, 5)
    sight:add("red", 1, 5)
    sight:bush { 0, 0, 10, 0, 10, 10, 0, 10 }
    local function size(t, known)
      local n = 0
      known[t] = true
      for _, value in pairs(t) do
        n = n + 1
        if type(value) == "table" and not known[value] then n = n + size(value, known) end
      end
      return n
    end
    local sizes = {}
    for id = 2, 21 do
      space:enter(id, 4, 4)
      assert.equal(1, sight:tick())
      space:leave(id)
      assert.equal(1, sight:tick())
      sizes[id] = size(sight, {})
    end
    assert.equal(sizes[3], sizes[21])
  end)

  it("fill a table that other lists have filled", function()
    local space = aoi.new()
    local sight = team.new(space, {})
    for id = 1, 3 do space:enter(id, 0, 0) end
    sight:add("red", 1, 5)
    sight:tick()
    for n, name in pairs { [0] = "blue", [2] = "red" } do
      local buf = { 9, "hide", 8, "show", 7, "match", 6 } -- as of space:overrides
      local list, count = sight:known(name, buf)
      assert.same({ buf, n }, { list, count })
      assert.is_nil(list[n + 1])
      assert.same(n > 0 and { 2, 3 } or {}, { unpack(list, 1, n) })
    end
  end)
end)
