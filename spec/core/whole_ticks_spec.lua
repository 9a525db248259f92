-- move_many in which most entities move a little: an engine may then examine the whole map once, after all have moved.
-- The events of a tick must be those of brute force. AOI_SEED replays, AOI_LENGTH makes it longer.
local aoi = require "aoi"
local random_run = require "spec.support.random_run"
local recorder = require "spec.support.recorder"
local rng = require "spec.support.rng"

local unpack = table.unpack or unpack -- luacheck: ignore
local SEED, STEPS = random_run.seed("whole ticks"), random_run.steps(750)
local PEOPLE = 70

-- unit: of coordinates; radii: in units, one node each; rare: of a few; far: one move in so many
local MAPS = {
  { name = "tenths", unit = 0.1, radii = { 7 }, span = 40, offset = 0, far = 2000 },
  { name = "ties, and jumps in every other tick", unit = 1, radii = { 5 }, span = 25, offset = -9, far = 160 },
  { name = "fractions of a cell", unit = 0.37, radii = { 20 }, span = 200, offset = -30, far = 2000 },
  { name = "two nodes each", unit = 0.5, radii = { 6, 15 }, span = 60, offset = -75, far = 2000 },
  { name = "a few see farther", unit = 0.5, radii = { 6 }, rare = 50, span = 60, offset = -75, far = 2000 },
  { name = "reaches that differ", unit = 0.25, radii = { 9 }, spread = 4, span = 60, offset = 3, far = 2000 },
  { name = "radius 0", unit = 1, radii = { 0 }, span = 6, offset = 0, far = 2000 },
  { name = "beyond the outermost cell", unit = 2, radii = { 9 }, span = 60, offset = 2 ^ 37, far = 2000 },
  { name = "around the outermost cell", unit = 1, radii = { 11 }, span = 40, offset = 2 ^ 34 - 20, far = 2000 },
  { name = "steps below the last digit", unit = 0.1, radii = { 7 }, span = 40, offset = 2 ^ 49, far = 2000 },
}

local function agree(random, engine, dimensions, map, option)
  local pair = recorder.against_brute { engine = engine, dimensions = dimensions }
  local both, at = pair.both, {}
  local function carry(id, node, radius)
    local area = { radius = radius * map.unit, mask = option.masks and random(3) or 3, keep = option.keep and 1e4 }
    pair.watch(id, node, area)
  end
  local function place(id, far)
    local p = at[id] or {}
    for a = 1, dimensions do
      if far then p[a] = random(map.span)
      elseif a < 3 or option.climb then p[a] = math.max(1, math.min(map.span, p[a] + random(5) - 3)) end
    end
    at[id] = p
    local x = {}
    for a = 1, dimensions do x[a] = map.offset + p[a] * map.unit end
    return unpack(x)
  end
  for id = 1, PEOPLE do
    both("enter", id, place(id, true))
    for node, radius in ipairs(map.radii) do
      carry(id, node, radius + (map.spread and random(map.spread) or 0))
    end
    if map.rare and id % 20 == 0 then carry(id, 9, map.rare) end
    if option.masks then both("set_kind", id, random(4) - 1) end
    if option.looks and id % 9 == 0 then both("set_extent", id, random(2 * map.radii[1] + 9) * map.unit) end
    if option.looks and id % 4 == 0 then both("set_layers", id, random(3)) end
  end
  both("flush")
  for i = 1, STEPS / 30 do
    local stand = random { 0, 0, 0.2, 0.45, 0.8 } -- the share of entities that do not move
    local rows = {}
    for id = 1, PEOPLE do
      if random() >= stand then
        rows[#rows + 1] = id
        for _, x in ipairs { place(id, random(map.far) == 1) } do rows[#rows + 1] = x end
      end
    end
    both("move_many", rows)
    if random(5) == 1 then both("set_radius", random(PEOPLE), 1, random(2 * map.radii[1] + 1) * map.unit) end
    if option.looks and random(3) == 1 then both("set_extent", random(PEOPLE), random { 0, 0.5, 3, 30 } * map.unit) end
    if i % 10 == 0 then pair.check() end
  end
  pair.close()
end

local engines = {}
for _, engine in ipairs(aoi.engines()) do
  if engine ~= "brute" then engines[#engines + 1] = engine end
end

for _, engine in ipairs(engines) do
  for dimensions = 2, 3 do
    describe(("whole ticks on %s %dD:"):format(engine, dimensions), function()
      for i, map in ipairs(MAPS) do
        it(map.name, function()
          local random = rng.new(SEED + rng.hash(engine .. dimensions) + i)
          agree(random, engine, dimensions, map, {})
          local looks = { looks = true, masks = i % 2 == 0, climb = i % 3 == 0 }
          agree(random, engine, dimensions, map, looks)
          agree(random, engine, dimensions, map, { masks = true })
          agree(random, engine, dimensions, map, { keep = true, climb = i % 2 == 0 })
          if dimensions == 3 then agree(random, engine, dimensions, map, { climb = true }) end
        end)
      end
    end)
  end
end

describe("areas that agree in their outer border only", function()
  -- 144 carry the first area, so that it is the usual one of the tick; the one at the origin carries the second.
  local PAIRS = {
    { 3, { shape = "box", extents = { 50, 50, 50 }, margin = 10 },
      { shape = "box", extents = { 40, 40, 40 }, margin = 20 } },
    { 2, { shape = "box", extents = { 50, 50 }, margin = 10 }, { shape = "box", extents = { 40, 40 }, margin = 20 } },
    { 2, { radius = 50, margin = 10 }, { radius = 40, margin = 20 } },
    { 2, { shape = "circle", radius = 50, keep = 60 }, { shape = "circle", radius = 40, keep = 60 } },
    { 3, { shape = "cylinder", radius = 50, half_height = 50, margin = 10 },
      { shape = "cylinder", radius = 40, half_height = 40, margin = 20 } },
  }
  for _, engine in ipairs(aoi.engines()) do
    for i, pair in ipairs(PAIRS) do
      it(("are judged each by its own, %s, %d"):format(engine, i), function()
        local space, height = aoi.new { engine = engine, dimensions = pair[1] }, pair[1] == 3 and 0 or nil
        local function at(x, y) return x, y, height end
        local rows = {}
        for k = 1, 144 do
          local x, y = 200 * (k % 12 + 1), 200 * (math.floor(k / 12) + 1)
          space:enter(k, at(x, y))
          space:add_node(k, 1, pair[2], function() end)
          for _, v in ipairs { k, at(x + 0.01, y) } do rows[#rows + 1] = v end
        end
        local seen = 0
        space:enter(1000, at(0, 0))
        space:add_node(1000, 1, pair[3], function() seen = seen + 1 end, function() seen = seen - 1 end)
        space:enter(1001, at(65, 0))
        for _, x in ipairs { 57, 47, 39, 47, 65 } do
          local batch = { unpack(rows) }
          for _, v in ipairs { 1001, at(x, 0) } do batch[#batch + 1] = v end
          for _, v in ipairs { 1000, at(0, 0) } do batch[#batch + 1] = v end
          space:move_many(batch)
          assert.equal(space:sees(1000, 1, 1001) and 1 or 0, seen, "at " .. x)
        end
        assert.is_true(space:check())
        space:close()
      end)
    end
  end
end)
