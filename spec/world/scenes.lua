-- scenes.lua: worlds in which everything happens that may happen between shards, and how they are cut.
--
--   plan       options of tiles.plan          population, jump    entities, and one move in `jump` goes anywhere
--   walls      about how many; without, nothing hides
--   area       f(random) -> an area           place               f(random, v): v on the places of the scene
local scenes = {}

local function uniform(_, v) return v end

local function squares(random) return random(9) end

-- Who owns a tile where regions have no shape at all.
local function scattered(column, row) return (column * 7 + row * 13 + column * row) % 5 + 1 end

local function any_area(random)
  local what = random(6)
  if what == 1 then return { shape = "circle", radius = random(9) } end
  if what == 2 then return { shape = "box", extents = { random(9), random(6) } } end
  if what == 3 then return { shape = "sector", radius = random(9), facing = random(7), angle = 1 + random(4) } end
  if what == 4 then
    local hole = random(2) == 1 and { -1, -1, 1, -1, 0, 1 } or nil
    return { shape = "polygon", rings = { { -random(9), -random(9), random(9), -1, 2, random(9) }, hole } }
  end
  if what == 6 and random(2) == 1 then return { radius = random(4), offset = { random(9) - 5, random(9) - 5 } } end
  if what == 5 then return { shape = "circle", radius = random(6), margin = random(3), mask = random(7) } end
  return { radius = random(9), mask = random(7) }
end

scenes.list = {
  { name = "two by two", plan = { size = 60, reach = 10, tile = 4, shards = { 2, 2 } }, area = squares },
  { name = "four by four, a tile each", plan = { size = 32, reach = 10, tile = 8, shards = { 4, 4 } }, area = squares },
  { name = "a reach of many tiles", plan = { size = 48, reach = 10, tile = 1, shards = { 3, 3 } }, area = squares },
  {
    name = "circles", plan = { size = { -30, -30, 30, 30 }, reach = 10, tile = 4, shards = 5 },
    area = function(random) return { shape = "circle", radius = random(10) } end,
  },
  {
    name = "nodes that keep", plan = { size = 60, reach = 10, tile = 4, shards = { 2, 2 } },
    area = function(random)
      local r = random(7)
      return { shape = random { "square", "circle" }, radius = r, keep = r + random(3) }
    end,
  },
  {
    name = "nodes that keep, scattered tiles", plan = { size = 40, reach = 10, tile = 8, shards = scattered },
    area = function(random) return { radius = random(6), margin = random(4) } end,
  },
  {
    name = "ties on quarters of tiles", plan = { size = 48, reach = 8, tile = 4, shards = { 3, 2 }, hysteresis = 1 },
    area = function(random) return random(8) end, place = function(_, v) return math.floor(v) end,
  },
  {
    name = "three dimensions", dimensions = 3, plan = { size = 48, reach = 10, tile = 4, shards = { 2, 3 } },
    area = function(random)
      if random(2) == 1 then return { shape = "cylinder", radius = random(9), half_height = random(5) } end
      return { shape = random { "square", "circle" }, radius = random(7), margin = random(3) }
    end,
  },
  {
    name = "extents and layers", plan = { size = 60, reach = 10, extent = 6, tile = 4, shards = { 2, 2 } },
    area = function(random)
      local shape = random { "square", "circle" }
      return { shape = shape, radius = random(7), margin = random(3), layers = random(3) > 1 and random(7) or nil }
    end,
  },
  {
    name = "walls and doors", plan = { size = 60, reach = 10, tile = 4, shards = { 2, 2 } }, walls = 60,
    area = any_area,
  },
  {
    name = "walls with ties, nodes that keep", plan = { size = 48, reach = 10, tile = 8, shards = scattered },
    walls = 60,
    area = function(random) return { radius = random(6), margin = random(4) } end,
    place = function(_, v) return math.floor(v) end,
  },
  {
    name = "walls in three dimensions", dimensions = 3, plan = { size = 48, reach = 10, tile = 4, shards = { 2, 3 } },
    walls = 60,
    area = function(random)
      if random(2) == 1 then return { shape = "cylinder", radius = random(9), half_height = random(5) } end
      return { shape = random { "square", "circle" }, radius = random(7), margin = random(3) }
    end,
  },
  {
    name = "all shapes, ids that come again",
    plan = { size = 48, reach = 14, tile = 4, shards = { 2, 2 }, hysteresis = 0 },
    area = any_area, churn = 6, id = function(i) return (i % 3 - 1) * 5000000000 + i end,
  },
}

scenes.named = {}
for _, scene in ipairs(scenes.list) do
  scenes.named[scene.name] = scene
  scene.dimensions = scene.dimensions or 2
  scene.place = scene.place or uniform
  scene.population = scene.population or 120
  scene.jump = scene.jump or 12
  scene.churn = scene.churn or 25
  scene.id = scene.id or function(i) return i end
end

local FOUR = { size = 60, reach = 10, tile = 4, shards = 4 }

--- Scenes of play.lua, a new list. keep: nodes keep.
function scenes.of_processes(keep)
  local function areas(most, shaped)
    return function(random)
      if not (keep or shaped) then return random(most) end
      return { shape = random { "square", "circle" }, radius = random(keep and most - 2 or most),
               margin = keep and random(3) - 1 or nil, mask = shaped and random(3) or nil }
    end
  end
  local list = {
    { name = "one process, four shards", processes = { 4 }, plan = FOUR, area = areas(9) },
    { name = "two processes and a gate", processes = { 2, 2, 0 }, lose = 0.15, plan = FOUR, area = areas(9, true) },
    {
      name = "three processes in three dimensions", processes = { 1, 2, 2 }, lose = 0.3, dimensions = 3,
      plan = { size = 60, reach = 10, tile = 4, shards = 5 }, area = areas(9),
    },
    {
      name = "long ids, a row of eight regions", processes = { 2, 2, 2, 2 }, lose = 0.1,
      plan = { size = { 0, 0, 96, 16 }, reach = 12, tile = 4, shards = { 8, 1 } }, area = areas(12),
      id = function(i) return (i % 3 - 1) * 5000000000 + i end,
    },
    {
      name = "a window of two messages", processes = { 2, 2 }, window = 2, lose = 0.1, slow = true, plan = FOUR,
      area = areas(8),
    },
    { name = "walls and doors", processes = { 2, 2 }, lose = 0.1, walls = true, plan = FOUR, area = areas(9, true) },
  }
  for _, scene in ipairs(list) do scene.id = scene.id or function(i) return i end end
  return list
end

return scenes
