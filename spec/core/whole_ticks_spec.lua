-- Ticks of a game in which most move at once, a little each: engines may look at everybody when all have arrived. What
-- a tick brings must be what brute force finds, row by row. AOI_SEED replays.
local aoi = require "aoi"
local rng = require "spec.support.rng"
local recorder = require "spec.support.recorder"

local unpack = table.unpack or unpack -- luacheck: ignore
local SEED = tonumber(os.getenv("AOI_SEED") or os.time() % 1000000)
local STEPS = tonumber(os.getenv("AOI_STEPS") or 1500)
local PEOPLE = 70

print("ticks, AOI_SEED=" .. SEED)

-- unit: of coordinates; radii: in units, the nodes that everybody carries; rare: of a few; far: one move in so many
local WORLDS = {
  { name = "tenths", unit = 0.1, radii = { 7 }, span = 40, offset = 0, far = 2000 },
  { name = "ties, and jumps in every other tick", unit = 1, radii = { 5 }, span = 25, offset = -9, far = 160 },
  { name = "fractions of a cell", unit = 0.37, radii = { 20 }, span = 200, offset = -30, far = 2000 },
  { name = "two nodes each", unit = 0.5, radii = { 6, 15 }, span = 60, offset = -75, far = 2000 },
  { name = "a few see farther", unit = 0.5, radii = { 6 }, rare = 50, span = 60, offset = -75, far = 2000 },
  { name = "reaches that differ", unit = 0.25, radii = { 9 }, spread = 4, span = 60, offset = 3, far = 2000 },
  { name = "nobody sees far", unit = 1, radii = { 0 }, span = 6, offset = 0, far = 2000 },
  { name = "beyond the outermost cell", unit = 2, radii = { 9 }, span = 60, offset = 2 ^ 37, far = 2000 },
  { name = "around the outermost cell", unit = 1, radii = { 11 }, span = 40, offset = 2 ^ 34 - 20, far = 2000 },
  { name = "steps below the last digit", unit = 0.1, radii = { 7 }, span = 40, offset = 2 ^ 49, far = 2000 },
}

local function agree(random, engine, dimensions, world, option)
  local one = recorder { engine = engine, dimensions = dimensions }
  local brute = recorder { engine = "brute", dimensions = dimensions }
  local at, tick = {}, 0
  local function both(verb, ...)
    assert.equal(brute.call(verb, ...), one.call(verb, ...), ("tick %d: %s"):format(tick, verb))
  end
  local function carry(id, node, radius)
    local area = { radius = radius * world.unit, mask = option.masks and random(3) or 3, keep = option.keep and 1e4 }
    for _, it in ipairs { one, brute } do it.space:add_node(id, node, area, it.enter, it.leave) end
  end
  local function place(id, far)
    local p = at[id] or {}
    for a = 1, dimensions do
      if far then p[a] = random(world.span)
      elseif a < 3 or option.climb then p[a] = math.max(1, math.min(world.span, p[a] + random(5) - 3)) end
    end
    at[id] = p
    local x = {}
    for a = 1, dimensions do x[a] = world.offset + p[a] * world.unit end
    return unpack(x)
  end
  for id = 1, PEOPLE do
    both("enter", id, place(id, true))
    for node, radius in ipairs(world.radii) do
      carry(id, node, radius + (world.spread and random(world.spread) or 0))
    end
    if world.rare and id % 20 == 0 then carry(id, 9, world.rare) end
    if option.masks then both("set_kind", id, random(4) - 1) end
  end
  both("flush")
  for i = 1, STEPS / 30 do
    tick = i
    local stand = random { 0, 0, 0.2, 0.45, 0.8 } -- the share of those who stand still
    local rows = {}
    for id = 1, PEOPLE do
      if random() >= stand then
        rows[#rows + 1] = id
        for _, x in ipairs { place(id, random(world.far) == 1) } do rows[#rows + 1] = x end
      end
    end
    both("move_many", rows)
    if random(5) == 1 then both("set_radius", random(PEOPLE), 1, random(2 * world.radii[1] + 1) * world.unit) end
    if i % 10 == 0 then assert.is_true(one.space:check()) end
  end
  one.space:close()
  brute.space:close()
end

local engines = {}
for _, engine in ipairs(aoi.engines()) do
  if engine ~= "brute" then engines[#engines + 1] = engine end
end

for _, engine in ipairs(engines) do
  for dimensions = 2, 3 do
    describe(("ticks on %s %dD:"):format(engine, dimensions), function()
      for i, world in ipairs(WORLDS) do
        it(world.name, function()
          local random = rng.new(SEED + rng.hash(engine .. dimensions) + i)
          agree(random, engine, dimensions, world, {})
          agree(random, engine, dimensions, world, { masks = true })
          if i == 1 then agree(random, engine, dimensions, world, { keep = true }) end
          if dimensions == 3 then agree(random, engine, dimensions, world, { climb = true }) end
        end)
      end
    end)
  end
end
