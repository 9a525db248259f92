-- Polygons as people have them: many corners, parts, holes. What is inside is compared in every random history, and in
-- spec/c/shapes; here: what goes in comes out everywhere, once for all nodes that have it.
local aoi = require "aoi"
local history = require "aoi.history"
local journal = require "aoi.journal"
local shapes = require "spec.support.shapes"

local MOST = 65535

-- A ring of n corners around (x, y), far from round.
local function ring(n, x, y, r)
  local points = {}
  for i = 0, n - 1 do
    local a = 2 * math.pi * i / n
    local far = r * (1 + 0.3 * math.sin(9 * a) + 0.1 * math.sin(41 * a))
    points[2 * i + 1], points[2 * i + 2] = x + far * math.cos(a), y + far * math.sin(a)
  end
  return points
end

local most = { shape = "polygon", rings = { ring(MOST - 2003, 0, 0, 100), ring(2000, 5, 5, 20), ring(3, 300, 0, 9) } }

local function grid(space)
  local places = {}
  for id = 1, 900 do
    places[id] = { id % 30 * 16 - 140, math.floor(id / 30) * 16 - 230 }
    space:enter(id, places[id][1], places[id][2])
  end
  return places
end

local function expected(area, places)
  local copy, ids = shapes.copy(area), {}
  for id, p in ipairs(places) do
    if shapes.holds(copy, { 0, 0 }, p, 0) then ids[#ids + 1] = id end
  end
  return ids
end

local function sorted(list, n)
  assert.equal(n, #list)
  table.sort(list)
  return list
end

describe("polygons of many corners and rings", function()
  it("answer questions, many at once and about the past", function()
    local space = aoi.new()
    local places, past = grid(space), history.new(space, 3)
    past:tick()
    for _, area in ipairs { most, { shape = "polygon", points = ring(2000, 0, 0, 100) } } do
      local ids = expected(area, places)
      assert.is_true(#ids > 50)
      assert.same(ids, sorted(space:near(0, 0, area)))
      assert.same(ids, sorted(space:near(0, 0, area, -1, { 9, 9, 9 })))
      local list, n, ends = space:near_many({ 0, 0, 5000, 0 }, area)
      assert.same({ #ids, #ids, #ids }, { n, ends[1], ends[2] })
      assert.same(ids, sorted(list, n))
      assert.same(ids, sorted(past:near(0, 0, 0, area)))
    end
  end)

  it("come back from a node, a snapshot and a journal as they were given", function()
    local space, pieces = aoi.new(), {}
    grid(space)
    local log = journal.record(space, function(bytes) pieces[#pieces + 1] = bytes end)
    space:enter(-1, 0, 0)
    space:add_node(-1, 1, most)
    local seen = sorted(space:view(-1, 1))
    assert.same(most.rings, space:area(-1, 1).rings)
    assert.is_nil(space:area(-1, 1).points)
    log:stop()
    local copy = aoi.load(space:save())
    assert.same(most.rings, copy:area(-1, 1).rings)
    assert.same(seen, sorted(copy:view(-1, 1)))
    assert.is_true(copy:check())
    assert.equal(space:save(), copy:save())
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write(table.concat(pieces))
    file:close()
    local player = journal.read(path)
    while player:step() do end -- luacheck: ignore
    assert.same(most.rings, player.space:area(-1, 1).rings)
    os.remove(path)
  end)

  it("one ring is points, whatever it was given as", function()
    local space, one = aoi.new(), ring(100, 0, 0, 5)
    space:enter(1, 0, 0)
    space:add_node(1, 1, { shape = "polygon", rings = { one } })
    assert.same(one, space:area(1, 1).points)
    assert.is_nil(space:area(1, 1).rings)
  end)

  it("are held once for all nodes that have them", function()
    local space = aoi.new()
    local area = { shape = "polygon", points = ring(2001, 0, 0, 100) }
    for id = 1, 100 do space:enter(id, id, 0) end
    space:near(0, 0, { shape = "polygon", points = ring(9000, 0, 0, 90) }) -- what has been there is of no matter
    space:add_node(1, 1, area)
    space:near(0, 0, { shape = "polygon", points = ring(8999, 0, 0, 80) })
    local one = space:stats().memory
    for id = 2, 100 do space:add_node(id, 1, area) end
    assert.is_true(space:stats().memory - one < 60000)
    space:set_area(1, 1, { shape = "polygon", points = ring(2000, 0, 0, 101) }) -- another
    assert.is_true(space:check())
    assert.same(area.points, space:area(2, 1).points)
  end)

  it("take a bounded room, and are right, whatever their sides do", function()
    local space, random = aoi.new(), 1
    local function number()
      random = random * 16807 % 2147483647
      return random / 2147483647 * 200 - 100
    end
    local star, comb = {}, {}
    for i = 0, 1999 do
      star[2 * i + 1], star[2 * i + 2] = number(), number()
      comb[2 * i + 1], comb[2 * i + 2] = i / 10 - 100, i % 2 * 150 - 75 + number() / 50
    end
    local places = grid(space)
    for _, points in ipairs { star, comb } do
      local area = { shape = "polygon", points = points }
      local had = space:stats().memory
      space:add_node(1, 1, area)
      assert.is_true(space:stats().memory - had < 2000 * 500)
      space:move(1, 0, 0)
      places[1] = { 0, 0 }
      local ids = expected(area, places)
      if ids[1] == 1 then table.remove(ids, 1) end
      assert.same(ids, sorted(space:view(1, 1)))
      space:remove_node(1, 1)
    end
  end)

  it("are areas of views of clients, several at a time", function()
    local space = aoi.new()
    local places = grid(space)
    space:enter(-1, 0, 0)
    local sync = require("aoi.sync").new(space)
    local far = { shape = "polygon", points = ring(500, 200, 0, 30) }
    sync:add(-1, { most, 3, far })
    local message
    sync:tick(function(_, bytes) message = bytes end)
    local known = {}
    for _, area in ipairs { most, far } do
      for _, id in ipairs(expected(area, places)) do known[id] = true end
    end
    for id, p in ipairs(places) do known[id] = known[id] or (math.max(math.abs(p[1]), math.abs(p[2])) <= 3) or nil end
    local appeared = require("aoi.sync").read(message).appeared
    for i = 1, appeared.n do
      assert.is_true(known[appeared[4 * i - 3]])
      known[appeared[4 * i - 3]] = nil
    end
    assert.is_nil(next(known))
  end)

  it("stay sound where a finalizer changes their corners while they are read", function()
    local space = aoi.new()
    space:enter(1, 0, 0)
    space:enter(2, 1, 1)
    for round = 1, 300 do
      local rings = { ring(100, 0, 0, 9), ring(80, 0, 0, 5) }
      local garbage = newproxy and newproxy(true) or setmetatable({}, { __gc = true })
      local function change()
        rings[2][165], rings[2][166] = round, round
        rings[1][203 - round % 3] = nil
      end
      getmetatable(garbage).__gc = change
      garbage = nil -- luacheck: ignore
      local ok, err = pcall(space.near, space, 0, 0, { shape = "polygon", rings = rings })
      assert.is_true(ok or err:find("changed meanwhile", 1, true) ~= nil or err:find("must have", 1, true) ~= nil, err)
    end
    assert.is_true(space:check())
  end)
end)
