-- random_area.lua: areas of every shape for random histories, out of a scenario's own coordinates and radii, so that
-- ties are as frequent as the scenario makes them.
local random_area = {}

local pi, huge = math.pi, math.huge

-- Corners lie on the scenario's lattice: horizontal sides, sides through targets, crossing ones.
local function points(random, scenario)
  local list, corners = {}, random { 3, 3, 4, 4, 5, 6, 8 }
  if random(20) == 1 then corners = random { 32, 33, 64, 65, 150 } end
  for i = 1, 2 * corners do list[i] = scenario.coordinate(random) end
  return list
end

local function finite(random, scenario)
  local radius = scenario.radius(random)
  return radius < huge and radius or 3
end

local function angle(random)
  return random { 2 * pi, 2 * pi, pi, pi / 2, pi / 4, 3 * pi / 2, 1e-9, random() * 2 * pi + 1e-300 }
end

function random_area.facing(random)
  return random { random(17) * pi / 4 - 2 * pi, random(17) * pi / 4 - 2 * pi, random() * 20 - 10, 1e6 }
end

-- A leave radius, which is at most 2^50 or infinite.
function random_area.sum(radius, more)
  local sum = radius + more
  return sum < huge and math.min(sum, 2 ^ 50) or sum
end

local makers = {}

function makers.square(random, scenario)
  return { shape = random(2) == 1 and "square" or nil, radius = scenario.radius(random) }
end

function makers.circle(random, scenario) return { shape = "circle", radius = scenario.radius(random) } end

function makers.box(random, scenario, dimensions)
  local extents = {}
  for axis = 1, dimensions do extents[axis] = finite(random, scenario) end
  if random(4) == 1 then extents[1], extents[2] = 100, 2 end
  return { shape = "box", extents = extents }
end

function makers.cylinder(random, scenario)
  return { shape = "cylinder", radius = finite(random, scenario), half_height = finite(random, scenario) }
end

local function any_height(random, scenario, dimensions)
  return dimensions == 3 and random(3) > 1 and scenario.radius(random) or nil
end

function makers.sector(random, scenario, dimensions)
  return {
    shape = "sector", radius = finite(random, scenario), facing = random_area.facing(random), angle = angle(random),
    half_height = any_height(random, scenario, dimensions),
  }
end

function makers.polygon(random, scenario, dimensions)
  local area = { shape = "polygon", half_height = any_height(random, scenario, dimensions) }
  if random(3) > 1 then
    area.points = points(random, scenario)
    return area
  end
  area.rings = {}
  for i = 1, random(3) do area.rings[i] = points(random, scenario) end
  return area
end

-- So large in the plane that a margin is lost to rounding there, and not in height.
local function widen(area)
  if area.extents then area.extents[1], area.extents[2] = 2 ^ 50, 2 ^ 50
  elseif area.radius then area.radius = 2 ^ 50 end
end

-- On the scenario's lattice, or a step.
local function offset(random, scenario, dimensions)
  local list, value = {}, random(2) == 1 and scenario.shift or scenario.coordinate
  for axis = 1, dimensions do list[axis] = value(random) + 0.0 end -- not -0.0, which reads back as 0.0
  return list
end

-- One area of any shape; a number now and then. `masks`: what a mask may be.
function random_area.make(random, scenario, dimensions, masks)
  if random(4) == 1 then return scenario.radius(random) end
  local shape = random {
    "square", "circle", "circle", "box", "box", "sector", "sector", "polygon", "polygon", "cylinder",
  }
  if shape == "cylinder" and dimensions == 2 then shape = "circle" end
  local area = makers[shape](random, scenario, dimensions)
  if random(10) == 1 then widen(area) end
  local grown = random { "margin", "keep", "none", "none" }
  local round = shape == "square" or shape == "circle"
  if grown == "keep" and round then area.keep = random_area.sum(area.radius, scenario.radius(random))
  elseif grown ~= "none" and shape ~= "polygon" then
    area.margin = finite(random, scenario)
  end
  if random(3) == 1 then area.mask = random(masks) end
  if random(6) == 1 then area.label = random { "a", "of several letters" } end
  if random(6) == 1 then area.layers = random { 0, 1, 2, 3 } end
  if random(6) == 1 then area.extents_apply = random(2) == 1 end
  if random(5) == 1 then area.offset = offset(random, scenario, dimensions) end
  return area
end

-- The same of a node, which may see what is outside.
function random_area.of_node(random, ...)
  local area = random_area.make(random, ...)
  if type(area) == "table" and random(5) == 1 then area.outside = true end
  return area
end

return random_area
