-- nearest from inside and from far outside of crowds, by kind and in 3D, against a sort of all; and what questions
-- walk: `steps` follow the neighbourhood, not the crowd, and not the side of cells that nobody chose. AOI_SEED replays.
local aoi = require "aoi"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local SEED, STEPS = random_run.seed("nearest"), random_run.steps(120)

local function by_sort(people, p, n, radius, mask, dimensions)
  local all = {}
  for id, q in pairs(people) do
    local d = (q[1] - p[1]) * (q[1] - p[1]) + (q[2] - p[2]) * (q[2] - p[2])
    if dimensions == 3 then d = d + (q[3] - p[3]) * (q[3] - p[3]) end
    if d <= radius * radius and (not mask or q.kind == mask) then all[#all + 1] = { d, id } end
  end
  table.sort(all, function(a, b) if a[1] ~= b[1] then return a[1] < b[1] end return a[2] < b[2] end)
  local ids = {}
  for i = 1, math.min(n, #all) do ids[i] = all[i][2] end
  return table.concat(ids, " ")
end

for _, engine in ipairs(aoi.engines()) do
  for _, dimensions in ipairs { 2, 3 } do
    it(("nearest finds what a sort of all finds, %s %dD"):format(engine, dimensions), function()
      local random = rng.new(SEED + dimensions)
      local space, people = aoi.new { engine = engine, dimensions = dimensions }, {}
      for id = 1, 300 do
        local crowd = random(3)
        local q = { crowd * 400 + random(60), random(60) / 2, random(30), kind = random(20) == 1 and 2 or 1 }
        people[id] = q
        if dimensions == 2 then space:enter(id, q[1], q[2], q.kind) else space:enter(id, q[1], q[2], q[3], q.kind) end
      end
      for step = 1, STEPS do
        local p = { random { 430, 820, 1e4, -1e5, 1e15, 600, 400 }, random { 10, 20, -3e4, 0 }, random { 0, 15, 500 } }
        local n, mask = random { 0, 1, 2, 10, 50, 299, 400 }, random { 1, 2, false } or nil
        local radius = random { math.huge, math.huge, 25, 1000, 0 }
        local list, count
        if dimensions == 2 then list, count = space:nearest(p[1], p[2], n, radius, mask)
        else list, count = space:nearest(p[1], p[2], p[3], n, radius, mask) end
        local expected = by_sort(people, p, n, radius, mask, dimensions)
        assert.equal(expected, table.concat(list, " ", 1, count), ("step %d, %s"):format(step, random_run.again(SEED)))
      end
      assert.is_true(space:check())
    end)
  end

  local function steps_of(space, question)
    local before = space:stats().steps
    question(space)
    return space:stats().steps - before
  end

  local function crowd(options, side)
    local space, random = aoi.new(options), rng.new(7)
    side = side or 2000
    for id = 1, 4000 do space:enter(id, random() * side, random() * side) end
    return space
  end

  it("nearest from far away walks the edge of a crowd, not the crowd: " .. engine, function()
    for _, side in ipairs { 500, 1000, 2000, 4000, 20000 } do
      local space = crowd({ engine = engine }, side)
      for _, p in ipairs { { -10000, side / 2 }, { side + 7000, -7000 }, { side / 3, side + 20000 }, { -1e9, -1e9 } } do
        local steps = steps_of(space, function() space:nearest(p[1], p[2], 5) end)
        assert.is_true(steps < 2500, ("from %g, %g: %d steps, side %d"):format(p[1], p[2], steps, side))
      end
      assert.is_true(space:check())
    end
    assert.is_true(steps_of(crowd { engine = engine }, function(space) space:nearest(1000, 1000, 5) end) < 300)
  end)

  it("near walks what it walks with a hint, after a hundred questions of one size: " .. engine, function()
    for _, radius in ipairs { 10, 150, 400 } do
      local without, with = crowd { engine = engine }, crowd { engine = engine, cell = radius }
      local function ask(space)
        for i = 1, 100 do space:near(500 + 10 * i, 1000, radius) end
      end
      ask(without)
      assert.is_true(without:check())
      local one, other = steps_of(without, ask), steps_of(with, ask)
      assert.is_true(one < 1.5 * other, ("radius %d: %d steps, with the hint %d"):format(radius, one, other))
    end
  end)
end
