-- One area around many places: row by row what the formula says, where places crowd so that one question to the index
-- answers many of them. Few places among few entities are compared in every random history.
local aoi = require "aoi"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local shapes = require "spec.support.shapes"

local SEED = random_run.seed("random near_many")
local unpack = table.unpack or unpack

-- Units of 1 stand for ties: places and entities are on a lattice.
local AREAS = {
  { name = "squares", areas = { { radius = 3 }, { radius = 0 }, { radius = 7, mask = 2 } } },
  { name = "circles", areas = { { shape = "circle", radius = 5 }, { shape = "circle", radius = 1 } } },
  { name = "thin boxes", areas = {
    { shape = "box", extents = { 24, 3, 5 } }, { shape = "box", extents = { 3, 24, 1 } },
    { shape = "box", extents = { 40, 0, 2 } }, { shape = "box", extents = { 6, 5, 9 } },
  } },
  { name = "sectors", areas = {
    { shape = "sector", radius = 6, facing = 1, angle = 2 }, { shape = "sector", radius = 4, facing = 4, angle = 5 },
  } },
  { name = "polygons", areas = {
    { shape = "polygon", points = { -4, -3, 5, -3, 0, 6 } },
    { shape = "polygon", rings = { { -8, -8, 8, -8, 8, 8, -8, 8 }, { -3, -4, 5, -3, 0, 6 } } },
  } },
}

-- Where places are: `unit` apart, from `offset` on. Where the offset is large, the sums of the rule are rounded.
local MAPS = {
  { unit = 1, offset = -50 }, { unit = 0.1, offset = 0 }, { unit = 0.3, offset = 2 ^ 48 },
  { unit = 0.25, offset = 2 ^ 49 }, { unit = 1e-160, offset = 0 }, { unit = 2 ^ 42, offset = 0 },
}

local function scaled(area, unit)
  local copy = shapes.copy(area)
  for _, list in ipairs { copy.extents or {}, unpack(copy.rings or {}) } do
    for i, v in ipairs(list) do list[i] = v * unit end
  end
  copy.radius = copy.radius and copy.radius * unit
  local given = {}
  for name, value in pairs(area) do given[name] = value end
  given.radius, given.extents, given.points, given.rings = copy.radius, copy.extents, nil, copy.rings
  return given, copy
end

local function scene(random, engine, dimensions, map, area)
  local given, model = scaled(area, map.unit)
  if dimensions == 2 and model.extents then model.extents[3], given.extents[3] = nil, nil end
  local function place(span)
    local p = {}
    for axis = 1, dimensions do p[axis] = map.offset + (random(axis == 3 and 9 or span) - 1) * map.unit end
    return p
  end
  local span = random { 12, 40, 100 }
  local space, at = aoi.new { engine = engine, dimensions = dimensions }, {}
  for id = 1, 120 + random(300) do
    at[id] = place(span)
    local p = { unpack(at[id]) }
    p[#p + 1] = id % 3 + 1
    space:enter(id, unpack(p))
  end
  local rows, places = {}, {}
  for i = 1, random(250) do
    places[i] = place(span)
    for axis = 1, dimensions do rows[#rows + 1] = places[i][axis] end
  end
  local list, n, ends = space:near_many(rows, given)
  assert.equal(#places, #ends)
  assert.equal(n, ends[#ends])
  local from = 0
  for i, p in ipairs(places) do
    local got, expected = {}, {}
    for k = from + 1, ends[i] do got[#got + 1] = list[k] end
    table.sort(got)
    for id, t in ipairs(at) do
      local kind = id % 3 + 1
      if (not area.mask or kind % (2 * area.mask) >= area.mask) and shapes.holds(model, p, t, 0) then
        expected[#expected + 1] = id
      end
    end
    assert.equal(table.concat(expected, " "), table.concat(got, " "), random_run.again(SEED))
    from = ends[i]
  end
  space:close()
end

for _, engine in ipairs(aoi.engines()) do
  for dimensions = 2, 3 do
    describe(("near_many on %s %dD:"):format(engine, dimensions), function()
      for i, what in ipairs(AREAS) do
        it(what.name, function()
          local random = rng.new(SEED + rng.hash(engine .. dimensions) + i)
          for _ = 1, random_run.steps(2) do
            for _, area in ipairs(what.areas) do scene(random, engine, dimensions, random(MAPS), area) end
          end
        end)
      end
    end)
  end
end

it("near_many of thin boxes that fill a square stays within its tables", function()
  local space, rows = aoi.new(), {}
  for id = 1, 400 do space:enter(id, id * 179 % 400, id * 83 % 400) end
  for i = 1, 1000 do rows[2 * i - 1], rows[2 * i] = i * 61 % 400, i * 37 % 400 end
  local _, n = space:near_many(rows, { shape = "box", extents = { 50, 8 } })
  local box, one_by_one = { shape = "box", extents = { 50, 8 } }, 0
  for i = 1, 1000 do one_by_one = one_by_one + select(2, space:near(rows[2 * i - 1], rows[2 * i], box)) end
  assert.equal(one_by_one, n)
  space:close()
end)
