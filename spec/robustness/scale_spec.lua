-- Thousands of entities: sums over all events are those of brute force, and memory stays bounded under churn.
-- (A million entities and minutes of churn: `make soak`.)
local aoi = require "aoi"
local rng = require "spec.support.rng"

local M = 2147483647

-- Sums over the events of entities that enter, walk, jump and leave. Deferred, so that the order does not matter.
local function day(engine, dimensions, people, watchers)
  local random = rng.new(73)
  local space = aoi.new { engine = engine, dimensions = dimensions, delivery = "deferred" }
  local size = 20 * people ^ (1 / dimensions)
  local rows, at, sums = {}, {}, { [aoi.ENTER] = 0, [aoi.LEAVE] = 0, n = 0 }
  local buffer = {}
  local function drain()
    local list, n = space:drain(buffer)
    for i = 1, 4 * n, 4 do
      local kind = list[i]
      sums[kind] = (sums[kind] + list[i + 1] * 31 + list[i + 2] * 7919 + list[i + 3]) % M
    end
    sums.n = sums.n + n
  end
  local function put(i, id)
    local base = (i - 1) * (dimensions + 1)
    rows[base + 1] = id
    for a = 1, dimensions do rows[base + 1 + a] = at[id][a] end
  end
  for id = 1, people do
    at[id] = {}
    for a = 1, dimensions do at[id][a] = random() * size end
    put(id, id)
  end
  space:enter_many(rows, people)
  for id = 1, watchers do
    space:add_node(id, 1, 30)
    if id % 3 == 0 then space:add_node(id, 2, { radius = 20, keep = 35, shape = "circle" }) end
    if id % 50 == 0 then space:add_node(id, 3, size / 2) end
  end
  drain()
  for _ = 1, 3 do
    for id = 1, people do
      local far = random(50) == 1
      for a = 1, dimensions do
        at[id][a] = far and random() * size or at[id][a] + random() * 6 - 3
      end
      put(id, id)
    end
    space:move_many(rows, people)
    drain()
  end
  for id = 1, people, 2 do space:leave(id) end
  drain()
  local mid = size / 2
  local _, near
  if dimensions == 2 then _, near = space:near(mid, mid, 100) else _, near = space:near(mid, mid, mid, 100) end
  assert.is_true(near > 10)
  local stats = space:stats()
  assert.equal(people - math.ceil(people / 2), stats.entities)
  assert.equal(0, stats.pending)
  assert.equal(sums.n, stats.events)
  assert.is_true(stats.memory > 0 and stats.memory < 4000 * people)
  space:close()
  return { sums.n, sums[aoi.ENTER], sums[aoi.LEAVE], near }
end

for _, setup in ipairs { { 2, 10000, 500 }, { 3, 5000, 300 } } do
  describe(("a crowd of %d in %dD"):format(setup[2], setup[1]), function()
    local expected
    setup.expected = function()
      expected = expected or day("brute", setup[1], setup[2], setup[3])
      return expected
    end
    for _, engine in ipairs(aoi.engines()) do
      if engine ~= "brute" then
        it("is the same to " .. engine .. " as to brute force", function()
          assert.is_true(setup.expected()[1] > 10000)
          assert.same(setup.expected(), day(engine, setup[1], setup[2], setup[3]))
        end)
      end
    end
  end)
end

for _, engine in ipairs(aoi.engines()) do
  -- A large space prefetches the entity that moved next in the last tick. Here only a few of many move, some of them
  -- in the opposite order, and some have left by then.
  it("moves in the order of the last tick, or in another one, are those of brute force on " .. engine, function()
    local PEOPLE, MOVERS = 5000, 300
    local function ticks(kind, in_order)
      local random, heard = rng.new(17), 0
      local space = aoi.new { engine = kind }
      local function hear(watcher, target) heard = (heard + watcher * 31 + target) % M end
      for id = 1, PEOPLE do
        space:enter(id, id % 1000 * 10, math.floor(id / 1000) * 10)
        if id <= MOVERS and id % 3 == 0 then space:add_node(id, 1, 25, hear, hear) end
      end
      for tick = 1, 6 do
        local to = {}
        for id = 1, MOVERS do to[id] = { id * 10 + random(21) - 11, random(21) } end
        for k = 1, MOVERS do
          local id = (in_order or tick % 2 == 0) and k or MOVERS + 1 - k
          if space:has(id) then space:move(id, to[id][1], to[id][2]) end
        end
        for id = MOVERS - tick, 1, -40 do
          if space:has(id) then space:leave(id) end
        end
        space:enter(100000 + tick, 50, 5) -- into a slot that was freed
      end
      local list, n = space:ids()
      table.sort(list, function(a, b) return a < b end)
      local sum = n
      for i = 1, MOVERS do
        local x, y = space:position(list[i])
        sum = (sum * 31 + list[i] + x * 7 + y * 11) % M
      end
      space:close()
      return { sum, heard }
    end
    local ordered, other = ticks(engine, true), ticks(engine, false)
    assert.is_true(ordered[2] > 0)
    assert.equal(ordered[1], other[1])
    assert.same(ticks("brute", true), ordered)
    assert.same(ticks("brute", false), other)
  end)

  describe("coming and going on " .. engine, function()
    -- The same number of entities and nodes all the time, on ids that are used again or never.
    local function churn(space, rounds, random, id_of)
      for i = 1, rounds do
        local id = id_of(i)
        if space:has(id) then space:leave(id) end
        space:enter(id, random() * 200, random() * 200)
        space:add_node(id, 1, 5 + random() * 20)
        local other = id_of(random(i))
        if space:has(other) then space:move(other, random() * 200, random() * 200) end
        if i > 100 then
          local oldest = id_of(i - 100)
          if space:has(oldest) then space:leave(oldest) end
        end
        if i % 50 == 0 then space:flush() end
      end
      space:flush()
      return space:stats().memory
    end

    for _, delivery in ipairs { "immediate", "deferred" } do
      -- A leak of one record a round would be ten times what is held at any moment.
      it("needs no more memory after a long time than after a short one, " .. delivery, function()
        local random = rng.new(7)
        local space = aoi.new { engine = engine, delivery = delivery }
        local early = churn(space, 1500, random, function(i) return i % 150 end)
        local late = churn(space, 6000, random, function(i) return i % 150 end)
        assert.is_true(late <= early * 2, ("%d, later %d"):format(early, late))
        local ids, n = space:ids()
        for i = 1, n do space:leave(ids[i]) end
        late = churn(space, 6000, random, function(i) return 1000 + i end)
        assert.is_true(late <= early * 2, ("%d, later %d"):format(early, late))
        assert.is_true(space:check())
      end)
    end

    it("across the whole number line leaves nothing behind", function()
      local random = rng.new(8)
      local space = aoi.new { engine = engine, delivery = "deferred" }
      local function far() return (random() - 0.5) * 10 ^ random(12) end
      local function wander(steps)
        for _ = 1, steps do
          local id = random(60)
          if space:has(id) then space:move(id, far(), far())
          else
            space:enter(id, far(), far())
            space:add_node(id, 1, 10 ^ random(6))
          end
        end
        space:flush()
        return space:stats().memory
      end
      local early = wander(3000)
      local late = wander(12000)
      assert.is_true(late <= early * 2, ("%d, later %d"):format(early, late))
      assert.is_true(space:check())
    end)
  end)
end

describe("a crowd where cells end", function()
  local function walk(engine, end_x, end_y)
    local space = aoi.new { engine = engine }
    local heard = 0
    local function hear(watcher, target) heard = heard + watcher * 31 + target end
    for id = 1, 40 do
      space:enter(id, end_x + id, end_y - id)
      space:add_node(id, 1, 33, hear, hear)
    end
    for round = 1, 30 do
      for id = 1, 40 do space:move(id, end_x + id + round * id % 17 * 3, end_y - id + round * id % 13) end
    end
    assert.is_true(space:check())
    space:close()
    return heard
  end

  -- Cells have numbers up to 2^30, and sides of 64; what is beyond is in the outermost ones.
  for _, at in ipairs { { 2 ^ 36, 0 }, { -2 ^ 36, 2 ^ 36 }, { 2 ^ 36 - 130, -2 ^ 36 } } do
    for _, engine in ipairs(aoi.engines()) do
      it(("at %g, %g is the same to %s as to brute force"):format(at[1], at[2], engine), function()
        local expected = walk("brute", at[1], at[2])
        assert.is_true(expected > 0)
        assert.equal(expected, walk(engine, at[1], at[2]))
      end)
    end
  end
end)

describe("more handlers than a node's tag can number", function()
  it("are each called by their own nodes", function()
    local space, heard = aoi.new { engine = "grid" }, {}
    local last = 33000 -- two handlers each: more than 65,535
    for id = 1, last do
      space:enter(id, id * 10, 0, 0)
      space:add_node(id, 1, 4, function(watcher) heard[id] = watcher end, function(watcher) heard[-id] = watcher end)
    end
    space:enter(0, 0, 0)
    for _, id in ipairs { 1, 2, 32766, 32767, 32768, last - 1, last } do
      space:move(0, id * 10, 0)
      space:move(0, 0, 0)
      assert.same({ id, id }, { heard[id], heard[-id] })
    end
    space:close()
  end)
end)

describe("one tile for the whole map", function()
  -- An entry is moved from where it is. Sought from the end of its list, it would pass half of it: some hundred blocks.
  it("costs a small step the entries that it passes, not the list", function()
    local space, random, people = aoi.new { engine = "list", cell = math.huge }, rng.new(5), 2000
    local x, y = {}, {}
    for id = 1, people do
      x[id], y[id] = random() * 1000, random() * 1000
      space:enter(id, x[id], y[id])
      space:add_node(id, 1, 50)
    end
    for id = 1, people do space:move(id, x[id] + 1, y[id] + 1) end
    local before = space:stats().steps
    for id = 1, people do space:move(id, x[id], y[id]) end
    local steps = (space:stats().steps - before) / people
    assert.is_true(steps < 40, ("%.1f blocks a move"):format(steps))
    space:close()
  end)
end)
