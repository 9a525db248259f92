-- Ticks of random worlds: every shape, radii that differ, heights, kinds, layers, extents, passengers, jumps, ties,
-- places far away, and some that stand still. The events of a tick must be those of brute force, which moves one after
-- the other.
local aoi = require "aoi"
local random_run = require "spec.support.random_run"
local recorder = require "spec.support.recorder"
local rng = require "spec.support.rng"

local unpack = table.unpack or unpack -- luacheck: ignore
local SEED, WORLDS = random_run.seed("random ticks"), random_run.steps(40)
local TICKS = 8
local OUTLIERS = { 0, 5, 1e6, -1e9, 1e12, -1e15, 2 ^ 49 }

local function options(random)
  return {
    dimensions = random { 2, 3 },
    people = 20 + random(100),
    jumps = random { 0, 0, 0.01, 0.1, 1 },
    share = random { 1, 1, 0.5, 0.2, 0.8 },
    masks = random(2) == 1,
    lattice = random(2) == 1,
    alike = random { "all", "most", "none" },
    carried = random { 1, 1, 2, 3, 4 },
    unit = random { 1, 1, 0.37, 1e-3, 1e6 },
    offset = random { 0, 0, -1e6, 2 ^ 37, 2 ^ 49 },
    span = random { 10, 30, 60, 300, 3000 },
    outlier = random(5) == 1,
    climb = random(3) > 1,
    keep = random(3) == 1,
    layers = random(4) == 1,
    extents = random(3) == 1,
    passengers = random(4) == 1,
    turns = random(2) == 1,
    beside = random { 0, 0, 0.2, 1 },
    crosses = random { 0, 0.1, 1 },
    shapes = random {
      { "square", "circle" }, { "sector" }, { "square", "circle", "box", "sector", "polygon", "cylinder" },
    },
  }
end

local function new_area(random, o)
  local function length(most) return (o.lattice and random(most) - 1 or random() * most) * o.unit end
  local shape = o.shapes[random(#o.shapes)]
  if shape == "cylinder" and o.dimensions == 2 then shape = "circle" end
  local area = { shape = shape, mask = o.masks and random(7) or nil }
  if o.layers and random(3) == 1 then area.layers = random(3) end
  if shape == "box" then
    area.extents = { length(12), length(12), o.dimensions == 3 and length(8) or nil }
  elseif shape == "polygon" then
    area.points = {}
    for i = 1, 2 * (2 + random(7)) do
      area.points[i] = (o.lattice and random(21) - 11 or random() * 20 - 10) * o.unit
    end
  else
    area.radius = length(random(10) == 1 and 60 or 12)
  end
  if shape == "sector" then
    area.facing, area.angle = random() * 7 - 3, random(6) == 1 and 2 * math.pi or random() * 6.28 + 0.001
  end
  local has_height = shape == "cylinder" or ((shape == "sector" or shape == "polygon") and random(2) == 1)
  if has_height and o.dimensions == 3 then area.half_height = length(random(4) == 1 and 1000 or 8) end
  if shape ~= "polygon" and o.keep and random(2) == 1 then area.margin = length(3) end
  if random() < o.beside then
    local function beside(most) return length(most) - length(most) end
    area.offset = { beside(20), beside(20), o.dimensions == 3 and beside(8) or nil }
  end
  if random(30) == 1 then return { radius = random { 2 ^ 49, math.huge }, mask = area.mask } end
  return area
end

-- What most carry: often squares or circles that differ in their radii alone.
local function usual_areas(random, o)
  local list = { new_area(random, o) }
  local first = list[1]
  for i = 2, o.carried do
    list[i] = new_area(random, o)
    if first.radius and random(6) > 1 then
      local shape = first.shape == "circle" and "circle" or "square"
      list[i] = { shape = shape, radius = first.radius * (1 + random(3)) / 3 }
      list[i].mask = first.mask
    end
  end
  return list
end

-- An area that agrees with another in one of its borders and differs in the other one.
local function twin(random, o, area)
  local by, other = random(4) * o.unit, {}
  for key, value in pairs(area) do other[key] = value end
  local grows = random(2) == 1 -- the outer border stays, else the inner one
  if not area.angle and (area.shape == "polygon" or area.radius == math.huge) then return other end
  other.margin = (area.margin or 0) + by
  if not grows then return other end
  local least = area.half_height or area.radius or area.extents[1]
  for _, length in ipairs { area.radius or least, unpack(area.extents or {}) } do least = math.min(least, length) end
  if least < by then return other end
  local function shrunk(length) return length and length - by end
  other.radius, other.half_height = shrunk(area.radius), shrunk(area.half_height)
  if area.extents then
    other.extents = {}
    for a, extent in ipairs(area.extents) do other.extents[a] = shrunk(extent) end
  end
  return other
end

local function events(space)
  local buf, n, reasons = aoi.drain_reasons(space)
  local list = {}
  for k = 1, n do
    local i = 4 * k - 3
    list[k] = ("%d %d/%d %d %s"):format(buf[i], buf[i + 1], buf[i + 3], buf[i + 2], reasons[k] or "")
  end
  table.sort(list)
  return list
end

local function place(random, o, at)
  for a = 1, o.dimensions do
    local span = a == 3 and 10 or o.span
    at[a] = o.lattice and random(span) - 1 or random() * span
  end
end

local function step(random, o, at, id)
  if o.outlier and id < 3 and random(4) == 1 then
    at[random(2)] = random(OUTLIERS)
  elseif random() < o.jumps then
    place(random, o, at)
  else
    for a = 1, o.dimensions do
      if a < 3 or o.climb then at[a] = at[a] + (o.lattice and random(3) - 2 or random() * 2 - 1) end
    end
  end
end

local function world(engine, random)
  local o = options(random)
  local places, spaces, usual, riders = {}, {}, usual_areas(random, o), {}
  for i, name in ipairs { engine, "brute" } do
    spaces[i] = aoi.new { engine = name, dimensions = o.dimensions, delivery = "deferred" }
  end
  local function row(id)
    local x = {}
    for a = 1, o.dimensions do
      x[a] = math.max(-2 ^ 49, math.min(2 ^ 49, o.offset + places[id][a] * o.unit)) -- passengers are within 2^50, too
    end
    return x
  end
  local function both(verb, ...)
    for _, space in ipairs(spaces) do space[verb](space, ...) end
  end
  for id = 1, o.people do
    places[id] = {}
    place(random, o, places[id])
    local kind, areas = o.masks and random { 1, 2, 4 } or 1, {}
    local odd = o.alike == "none" or (o.alike == "most" and random(8) == 1)
    for node = 1, odd and random(4) - 1 or #usual do
      local twins = odd and usual[node] and random(2) == 1
      areas[node] = twins and twin(random, o, usual[node]) or odd and new_area(random, o) or usual[node]
    end
    local hears = {}
    for node = 1, #areas do hears[node] = random() < o.crosses and { cross = print } end
    for _, space in ipairs(spaces) do
      local x = row(id)
      x[#x + 1] = kind
      space:enter(id, unpack(x))
      for node, area in ipairs(areas) do space:add_node(id, node, area, hears[node] or print) end
    end
    if o.layers then both("set_layers", id, random(3)) end
    if o.extents and random(6) == 1 then both("set_extent", id, (random(3) == 1 and 8 or 1) * random() * o.unit) end
    if o.passengers and id > 9 and random(6) == 1 then
      riders[id] = true
      both("attach", id, random(9), unpack({ random(3) * o.unit, -random(3) * o.unit, 0 }, 1, o.dimensions))
    end
  end
  local function turn(id)
    if not o.turns or random(4) > 1 then return end
    for _, node in ipairs(spaces[1]:nodes(id)) do
      if spaces[1]:area(id, node).shape == "sector" then both("set_facing", id, node, random() * 7) end
    end
  end
  for _, space in ipairs(spaces) do space:drain {} end
  for _ = 1, TICKS do
    local rows = {}
    for id = 1, o.people do
      turn(id)
      if not riders[id] and random() < o.share then
        step(random, o, places[id], id)
        rows[#rows + 1] = id
        for _, x in ipairs(row(id)) do rows[#rows + 1] = x end
      end
    end
    both("move_many", rows)
    for id = 1, o.people do turn(id) end
    for _ = 1, o.crosses > 0 and random(4) - 1 or 0 do
      local id = random(o.people)
      if not riders[id] then both("jump", id, unpack(row(id))) end
    end
    assert.are.same(events(spaces[2]), events(spaces[1]), random_run.again(SEED))
    assert.is_true(spaces[1]:check())
  end
end

-- Where the square of an extent touches a circle, none of its corners need be inside.
local function beside_circles(engine, random)
  local pair = recorder.against_brute { engine = engine }
  for id = 1, 60 do
    pair.both("enter", id, random(30), random(30))
    pair.watch(id, 1, { shape = "circle", radius = 4 + random(5) })
  end
  for id = 1, 3 do pair.both("set_extent", id, id / 2) end
  for _ = 1, 60 do
    pair.both("move", random(3), random(30), random(30))
    pair.check()
  end
  pair.close()
end

-- Owners of nodes much larger than the extents rise out of their reach and come back, over the same place.
local function up_and_down(engine, random)
  local spaces, high = {}, {}
  for i, name in ipairs { engine, "brute" } do
    local space = aoi.new { engine = name, delivery = "deferred", dimensions = 3 }
    for id = 1, 70 do
      space:enter(id, id % 10, id / 10, 0)
      space:add_node(id, 1, { radius = id <= 4 and 300 or 2, margin = id % 2 }, print)
    end
    for id = 5, 8 do space:set_extent(id, id / 8) end
    spaces[i] = space
  end
  for _ = 1, 20 do
    local rows = {}
    for id = 1, 70 do
      if id <= 4 and random() < 0.5 then high[id] = not high[id] end
      for _, v in ipairs { id, id % 10, id / 10, high[id] and 1000 or random(3) } do rows[#rows + 1] = v end
    end
    for _, space in ipairs(spaces) do space:move_many(rows) end
    assert.are.same(events(spaces[2]), events(spaces[1]), random_run.again(SEED))
    assert.is_true(spaces[1]:check())
  end
end

describe("random ticks", function()
  for _, engine in ipairs(aoi.engines()) do
    if engine ~= "brute" then
      it(("on %s are those of brute force"):format(engine), function()
        for i = 1, WORLDS do world(engine, rng.new(rng.hash(SEED .. engine .. i))) end
      end)

      it(("on %s: targets with an extent are seen by circles that they touch"):format(engine), function()
        beside_circles(engine, rng.new(rng.hash(SEED .. engine)))
      end)

      it(("on %s: targets with an extent are lost by nodes that rise above them"):format(engine), function()
        up_and_down(engine, rng.new(rng.hash(SEED .. engine)))
      end)
    end
  end
end)

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
