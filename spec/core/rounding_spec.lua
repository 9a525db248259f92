-- Coordinates whose sums round to either side, or beyond what a float can tell apart, by example; crowds_spec.lua has
-- crowds of them. AOI_SEED replays.
local aoi = require "aoi"
local random_run = require "spec.support.random_run"
local recorder = require "spec.support.recorder"
local rng = require "spec.support.rng"

local SEED, PEOPLE = random_run.seed("rounding"), 60

-- Engines keep the structures for one size of node for a while after the last node of that size has gone.
for _, engine in ipairs(aoi.engines()) do
  it("one radius for all after many different ones, on " .. engine, function()
    local random, pair = rng.new(SEED + rng.hash(engine)), recorder.against_brute { engine = engine }
    local both = pair.both
    for id = 1, PEOPLE do both("enter", id, random(9), random(9)) end
    for id = PEOPLE, 1, -1 do pair.watch(id, 1, { radius = 1, mask = 1 }) end
    for size = 1, 24 do both("set_radius", size, 1, 4 ^ size) end
    for size = 1, 24 do both("set_radius", size, 1, 1) end
    for i = 1, PEOPLE do
      local x, y = pair.one.space:position(i)
      both("move", i, x + random(5) - 3, y + random(5) - 3)
      pair.check()
    end
    pair.close()
  end)
end

-- The sum w + e rounds up to t, which lies farther away than e: by tiles, on the other side of the origin.
for _, engine in ipairs(aoi.engines()) do
  it("a bound that is a rounded sum reaches what lies farther away, on " .. engine, function()
    local space = aoi.new { engine = engine }
    for id, x in ipairs { -0.05, 2 ^ 50, -2 ^ 50 } do space:enter(id, x, id == 1 and 0.05 or 0) end
    space:add_node(1, 1, { shape = "box", extents = { 2, 0 }, margin = 2 ^ 50 })
    space:add_node(1, 2, { shape = "box", extents = { 2 ^ 50, 2 ^ 50 } })
    assert.is_true(space:check())
    assert.is_true(space:sees(1, 2, 2))
    local _, n = space:viewers(2)
    assert.equal(1, n)
    space:move(2, 5, 0)
    space:move(2, 2 ^ 50, 0)
    assert.is_true(space:check())
    space:close()
  end)
end

-- extents, margin; the target stands at z = inside, then between the borders, then outside
describe("a margin that is lost to rounding in the plane", function()
  local wide = { shape = "box", extents = { 2 ^ 50, 2 ^ 50, 30 }, margin = 0.1 }
  local plain = { shape = "box", extents = { 2 ^ 50, 2 ^ 50, 30.1 } }
  for _, engine in ipairs(aoi.engines()) do
    for _, delivery in ipairs { "immediate", "deferred" } do
      local function heights(prepare)
        local it = recorder.new { engine = engine, dimensions = 3, delivery = delivery }
        local function at(z)
          it.space:move(2, 1, 1, z)
          return it.call("flush")
        end
        it.space:enter(1, 0, 0, 0)
        it.space:enter(2, 1, 1, 10)
        prepare(it)
        it.call("flush")
        assert.equal("", at(30.05))
        assert.is_true(it.space:sees(1, 1, 2))
        assert.is_true(it.space:check())
        assert.equal("leave 1/1 2", at(50))
        assert.equal("", at(30.05))
        assert.equal("enter 1/1 2", at(30))
        assert.is_true(it.space:check())
      end

      it(("counts in height on %s, %s"):format(engine, delivery), function()
        heights(function(it) it.space:add_node(1, 1, wide, it.enter, it.leave) end)
      end)

      it(("counts in height on %s, %s, where set_area brings it to a box of the same bounds"):format(engine, delivery),
        function()
          heights(function(it)
            it.space:add_node(1, 1, plain, it.enter, it.leave)
            it.space:set_area(1, 1, wide)
          end)
        end)
    end
  end
end)

-- dx * dx is 0: the distance is no measure of which side of a sector a target is on.
for _, engine in ipairs(aoi.engines()) do
  it("squares that underflow do not hide what goes out of a sector, on " .. engine, function()
    for _, radius in ipairs { 1e-300, 1e-200 } do
      for mover = 1, 2 do
        local it = recorder.new { engine = engine }
        it.space:enter(1, 0, 0)
        it.space:enter(2, radius / 2, 0)
        it.space:add_node(1, 1, { shape = "sector", radius = radius, facing = 0, angle = math.pi }, it.enter, it.leave)
        it.call "flush"
        local beyond = mover == 1 and radius or -radius / 2
        assert.equal("leave 1/1 2", it.call("move", mover, beyond, 0))
        assert.equal("enter 1/1 2", it.call("move", mover, mover == 1 and 0 or radius / 2, 0))
      end
    end
  end)
end

-- A move that changes the sign of a zero alone is none to an index; the position is the new one.
for _, engine in ipairs(aoi.engines()) do
  it("a zero by another sign is the same place, on " .. engine, function()
    local space = aoi.new { engine = engine }
    space:enter(1, 0.0, 0.0)
    space:add_node(1, 1, 0, print)
    space:move(1, -1 / math.huge, 0.0) -- Lua 5.1 has no constant -0.0
    assert.is_true(space:check())
    assert.equal(-math.huge, 1 / space:position(1))
  end)
end
