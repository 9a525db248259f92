-- Coordinates whose sums round to either side, and coordinates beyond what a float can tell apart: `t - r <= w` and
-- `t <= w + r` then differ, and keys of an index that are rounded must still find every pair. Crowds in which all nodes
-- have one radius, or two, against brute force. AOI_SEED replays, AOI_LENGTH makes it longer.
local aoi = require "aoi"
local random_run = require "spec.support.random_run"
local recorder = require "spec.support.recorder"
local rng = require "spec.support.rng"

local unpack = table.unpack or unpack -- luacheck: ignore
local SEED, STEPS = random_run.seed("rounding"), random_run.steps(750)
local PEOPLE = 60

-- unit: of coordinates; radius: in units; offset: where the map is; far: one move in so many
local MAPS = {
  { name = "tenths", unit = 0.1, radius = 3, span = 12, offset = 0, far = 20 },
  { name = "tenths around a border of tiles", unit = 0.1, radius = 7, span = 20, offset = 6.4, far = 20 },
  { name = "thirds, far out", unit = 1 / 3, radius = 5, span = 30, offset = 12345.6, far = 20 },
  { name = "whole numbers", unit = 1, radius = 2, span = 9, offset = -4, far = 10 },
  { name = "radius 0", unit = 1, radius = 0, span = 4, offset = 0, far = 5 },
  { name = "large units", unit = 2 ^ 40, radius = 3.7, span = 12, offset = 2 ^ 42, far = 20 },
  { name = "steps below the last digit", unit = 0.1, radius = 3, span = 12, offset = 2 ^ 49, far = 20 },
  { name = "heights below the last digit of a float", unit = 0.1, radius = 3, span = 12, offset = 2 ^ 23, far = 20 },
  { name = "one cell, half a float's digit", unit = 0.25, radius = 3, span = 12, offset = 2 ^ 23, far = 20,
    cell = math.huge },
  { name = "a cell of many floats", unit = 0.001, radius = 7, span = 40, offset = 99990, far = 20, cell = 1e5 },
  { name = "beyond all cells, one float", unit = 1e-3, radius = 3, span = 12, offset = 1e9, far = 20 },
  { name = "farther beyond", unit = 2, radius = 3, span = 12, offset = 1e15, far = 20 },
  { name = "a town", unit = 0.5, radius = 40, span = 300, offset = -75, far = 100 },
}

-- area: radius, keep, shape; other: the radius of every third; masks: masks and kinds at random
local function agree(random, engine, dimensions, map, area)
  local pair = recorder.against_brute { engine = engine, dimensions = dimensions, cell = map.cell }
  local both, at = pair.both, {}
  local function place(id, far)
    local p = at[id] or {}
    for a = 1, dimensions do
      p[a] = far and random(map.span) or (p[a] or random(map.span)) + random(5) - 3
    end
    at[id] = p
    local x = {}
    for a = 1, dimensions do x[a] = map.offset + p[a] * map.unit end
    return unpack(x)
  end
  local function come(id)
    both("enter", id, place(id, true))
    local radius = area.other and id % 3 == 0 and area.other or area.radius
    local mask = area.masks and random(3) or 1
    pair.watch(id, 1, { radius = radius, keep = area.keep, shape = area.shape, mask = mask })
    if area.masks then both("set_kind", id, random(4) - 1) end
  end
  for id = 1, PEOPLE do come(id) end
  for i = 1, STEPS / 5 do
    local id = random(PEOPLE)
    if random(40) == 1 then
      both("leave", id)
      at[id] = nil
      come(id)
    end
    both("move", id, place(id, random(map.far) == 1))
    if i % 25 == 0 then pair.check() end
  end
  pair.close()
end

for _, engine in ipairs(aoi.engines()) do
  for dimensions = 2, 3 do
    describe(("rounding on %s %dD:"):format(engine, dimensions), function()
      for i, map in ipairs(MAPS) do
        it(map.name, function()
          local random = rng.new(SEED + rng.hash(engine .. dimensions) + i)
          local radius = map.unit * map.radius
          agree(random, engine, dimensions, map, { radius = radius })
          agree(random, engine, dimensions, map, { radius = radius, masks = true })
          agree(random, engine, dimensions, map, { radius = radius, keep = radius + map.unit })
          agree(random, engine, dimensions, map, { radius = radius, shape = "circle" })
          agree(random, engine, dimensions, map, { radius = radius, other = radius + map.unit })
        end)
      end
    end)
  end
end

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
