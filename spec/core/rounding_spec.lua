-- Crowds in which everybody carries one node of the same reach, where engines take short cuts: I see who sees me, save
-- for roundings. Coordinates and radii are such that sums round to either side; of some worlds a float cannot tell
-- neighbours apart, wherever it counts from. And the same with two sizes of nodes. AOI_SEED replays.
local aoi = require "aoi"
local rng = require "spec.support.rng"
local recorder = require "spec.support.recorder"

local SEED = tonumber(os.getenv("AOI_SEED") or os.time() % 1000000)
local STEPS = tonumber(os.getenv("AOI_STEPS") or 1500)
local PEOPLE = 60

print("alike, AOI_SEED=" .. SEED)

-- unit: of coordinates; radius: in units; offset: where the map is; far: one move in so many
local WORLDS = {
  { name = "tenths", unit = 0.1, radius = 3, span = 12, offset = 0, far = 20 },
  { name = "tenths around a border of tiles", unit = 0.1, radius = 7, span = 20, offset = 6.4, far = 20 },
  { name = "thirds, far out", unit = 1 / 3, radius = 5, span = 30, offset = 12345.6, far = 20 },
  { name = "whole numbers", unit = 1, radius = 2, span = 9, offset = -4, far = 10 },
  { name = "nobody sees far", unit = 1, radius = 0, span = 4, offset = 0, far = 5 },
  { name = "where floats end", unit = 2 ^ 100, radius = 3.7, span = 12, offset = 2 ^ 102, far = 20 },
  { name = "steps below the last digit", unit = 0.1, radius = 3, span = 12, offset = 2 ^ 49, far = 20 },
  { name = "heights below the last digit of a float", unit = 0.1, radius = 3, span = 12, offset = 2 ^ 23, far = 20 },
  { name = "one cell, half a float's digit", unit = 0.25, radius = 3, span = 12, offset = 2 ^ 23, far = 20,
    cell = math.huge },
  { name = "a cell of many floats", unit = 0.001, radius = 7, span = 40, offset = 99990, far = 20, cell = 1e5 },
  { name = "beyond all cells, one float", unit = 1e-3, radius = 3, span = 12, offset = 1e9, far = 20 },
  { name = "farther beyond", unit = 2, radius = 3, span = 12, offset = 1e15, far = 20 },
  { name = "a town", unit = 0.5, radius = 40, span = 300, offset = -75, far = 100 },
}

local function record(engine, dimensions, world, area)
  local it = recorder { engine = engine, dimensions = dimensions, cell = world.cell }
  function it.carry(id, mask)
    local radius = area.other and id % 3 == 0 and area.other or area.radius
    local node = { radius = radius, keep = area.keep, shape = area.shape, mask = mask }
    return it.call("add_node", id, 1, node, it.enter, it.leave)
  end
  return it
end

local function agree(random, engine, dimensions, world, area)
  local one, brute = record(engine, dimensions, world, area), record("brute", dimensions, world, area)
  local at, step = {}, 0
  local function both(verb, ...)
    assert.equal(brute.call(verb, ...), one.call(verb, ...), ("step %d: %s"):format(step, verb))
  end
  local function place(id, far)
    local p = at[id] or {}
    for a = 1, dimensions do
      local k = far and random(world.span) or (p[a] or random(world.span)) + random(5) - 3
      p[a] = k
    end
    at[id] = p
    local x = {}
    for a = 1, dimensions do x[a] = world.offset + p[a] * world.unit end
    return (table.unpack or unpack)(x)
  end
  local function come(id)
    both("enter", id, place(id, true))
    local mask = area.masks and random(3) or 1
    assert.equal(brute.carry(id, mask), one.carry(id, mask))
    if area.masks then both("set_kind", id, random(4) - 1) end
  end
  for id = 1, PEOPLE do come(id) end
  for i = 1, STEPS / 5 do
    step = i
    local id = random(PEOPLE)
    if random(40) == 1 then
      both("leave", id)
      at[id] = nil
      come(id)
    end
    both("move", id, place(id, random(world.far) == 1))
    if i % 25 == 0 then assert.is_true(one.space:check()) end
  end
  one.space:close()
  brute.space:close()
end

for _, engine in ipairs(aoi.engines()) do
  for dimensions = 2, 3 do
    describe(("everybody alike on %s %dD:"):format(engine, dimensions), function()
      for i, world in ipairs(WORLDS) do
        it(world.name, function()
          local random = rng.new(SEED + rng.hash(engine .. dimensions) + i)
          local radius = world.unit * world.radius
          agree(random, engine, dimensions, world, { radius = radius })
          agree(random, engine, dimensions, world, { radius = radius, masks = true })
          agree(random, engine, dimensions, world, { radius = radius, keep = radius + world.unit })
          agree(random, engine, dimensions, world, { radius = radius, shape = "circle" })
          agree(random, engine, dimensions, world, { radius = radius, other = radius + world.unit })
        end)
      end
    end)
  end
end

-- Engines keep what they have laid out for a size for a while after the last node of that size has gone.
for _, engine in ipairs(aoi.engines()) do
  it("everybody alike at last on " .. engine .. ", of many sizes once", function()
    local random, world = rng.new(SEED + rng.hash(engine)), {}
    local one, brute = record(engine, 2, world, { radius = 1 }), record("brute", 2, world, { radius = 1 })
    local function both(verb, ...) assert.equal(brute.call(verb, ...), one.call(verb, ...)) end
    for id = 1, PEOPLE do both("enter", id, random(9), random(9)) end
    for id = PEOPLE, 1, -1 do assert.equal(brute.carry(id), one.carry(id)) end
    for size = 1, 22 do both("set_radius", size, 1, 16 ^ size) end
    for size = 1, 22 do both("set_radius", size, 1, 1) end
    for i = 1, PEOPLE do
      local x, y = one.space:position(i)
      both("move", i, x + random(5) - 3, y + random(5) - 3)
      assert.is_true(one.space:check())
    end
  end)
end
