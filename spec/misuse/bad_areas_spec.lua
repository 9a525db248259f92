-- Areas that are none: the message names the field, and the shape where that decides, and nothing has changed. The same
-- words from add_node, set_area, near and near_many. What is no misuse: a table that changes after the call.
local aoi = require "aoi"
local calls = require "spec.support.calls"
local dump = require "spec.support.dump"

local nan, huge, pi = 0 / 0, math.huge, math.pi

local function regular(corners)
  local t = {}
  for i = 1, corners do
    t[2 * i - 1], t[2 * i] = math.cos(2 * pi * i / corners), math.sin(2 * pi * i / corners)
  end
  return t
end

-- An area of that shape with all it needs, and these fields.
local function area_of(d, shape, fields)
  local needs = { radius = shape ~= "box" and shape ~= "polygon" and 5 or nil }
  if shape == "box" then needs.extents = { 1, 2, d == 3 and 3 or nil } end
  if shape == "polygon" and not fields.rings then needs.points = regular(3) end
  if shape == "sector" then needs.facing, needs.angle = 0, 1 end
  if shape == "cylinder" then needs.half_height = 1 end
  needs.shape = shape
  for name, value in pairs(fields) do needs[name] = value end
  return needs
end

-- Rows "SHAPE { FIELDS } -- WORDS" for both dimensions.
local ROWS = [[
cone {} -- bad value for 'shape': 'square', 'circle', 'box', 'cylinder', 'sector' or 'polygon' expected
square { shape = 1 } -- bad value for 'shape': 'square', 'circle', 'box', 'cylinder', 'sector' or 'polygon' expected
circle { shape = "cirle" } -- got 'cirle'; did you mean 'circle'?
box { width = 5 } -- unknown area option 'width' of a box
sector { angle = 0 } -- angle must be greater than 0 and at most 2 pi radians, got 0
sector { angle = -1 } -- angle must be greater than 0 and at most 2 pi
sector { angle = 2 * pi + 1e-15 } -- angle must be greater than 0 and at most 2 pi
sector { angle = nan } -- angle must be greater than 0 and at most 2 pi
sector { facing = huge } -- facing must be finite
sector { facing = nan } -- facing must be finite
sector { radius = large } -- radius must be at most 2^50, got 1.1258999068426e+15
sector { margin = large } -- margin must be at most 2^50
circle { radius = large } -- radius must be at most 2^50 or infinite
square { keep = 2.5 * large } -- keep must be at most 2^50 or infinite
square { margin = large } -- margin must be at most 2^50
circle { margin = huge } -- margin must be at most 2^50
square { keep = 4 } -- keep must not be less than radius
circle { keep = nan } -- keep must not be less than radius
circle { radius = huge, keep = 4 } -- keep must not be less than radius
square { keep = 5, margin = 0 } -- 'keep' and 'margin' exclude each other
circle { keep = 6, margin = 1 } -- 'keep' and 'margin' exclude each other
box { extents = {} } -- 'extents' must have
box { extents = { 1 } } -- 'extents' must have
box { extents = { 1, 1, 1, 1 } } -- 'extents' must have
box { extents = { 1, "1", 1 } } -- number expected in 'extents', got string
square { offset = 5 } -- table expected for 'offset', got number
box { offset = { 1 } } -- 'offset' must have
sector { offset = { 1, 2, 3, 4 } } -- 'offset' must have
circle { offset = { 1, "2", high } } -- number expected in 'offset', got string
polygon { offset = { nan, 0, high } } -- offset must be finite numbers
box { offset = { 0, -huge, high } } -- offset must be finite numbers
sector { offset = { -large, 0, high } } -- offset must be at most 2^50 either way
box { extents = { large, 1, high } } -- extents must be at most 2^50
box { extents = { 1, -1, high } } -- extents must be finite and not negative
box { extents = { 1, nan, high } } -- extents must be finite and not negative
box { extents = { huge, 1, high } } -- extents must be finite and not negative
polygon { points = { 1, 2, 3, {}, 5, 6 } } -- number expected in 'points', got table
polygon { points = { 0, 0, 1, 0 } } -- 'points' must have x and y of 3 to 65535 corners
polygon { points = regular(0) } -- 'points' must have x and y of 3 to 65535 corners
polygon { points = regular(65536) } -- 'points' must have x and y of 3 to 65535 corners
polygon { points = { 1, 2, 3, 4, 5, 6, 7 } } -- 'points' must have x and y of 3 to 65535 corners
polygon { points = { 0, 0, nan, 0, 1, 1 } } -- points must be finite numbers
polygon { points = { 0, 0, 1, -huge, 1, 1 } } -- points must be finite numbers
polygon { points = { 0, 0, -large, 0, 1, 1 } } -- points must be at most 2^50 either way
polygon { rings = { {} } } -- each of 'rings' must have x and y of 3 to 65535 corners, that many in all
polygon { rings = { regular(3), regular(2) } } -- each of 'rings' must have x and y of 3 to 65535 corners
polygon { rings = { { 1, 2, 3, 4, 5, 6, 7 } } } -- each of 'rings' must have x and y of 3 to 65535 corners
polygon { rings = { regular(32768), regular(32768) } } -- each of 'rings' must have x and y of 3 to 65535 corners
polygon { rings = {} } -- 'rings' must have 1 to 21845 rings
polygon { rings = regular(3) } -- table expected for 'rings', got number
polygon { rings = { regular(3), true } } -- table expected for 'rings', got boolean
polygon { rings = { regular(3), { 1, 2, 3, 4, 5, "6" } } } -- number expected in 'rings', got string
polygon { rings = { regular(3), { 1, 2, 3, 4, 5, nan } } } -- points must be finite numbers
polygon { points = regular(3), rings = { regular(3) } } -- 'points' and 'rings' exclude each other
polygon { mask = 0.5 } -- integer expected for 'mask'
square { layers = 0.5 } -- integer expected for 'layers'
]]

local NEEDED = { square = "radius", circle = "radius", sector = "radius facing angle", box = "extents" }
NEEDED.polygon = "points"
local USELESS = { -- what a shape has no use for
  square = "extents facing angle points rings half_height", circle = "extents facing angle points half_height",
  box = "radius keep facing angle points half_height", sector = "keep extents points",
  polygon = "radius keep margin extents facing angle", cylinder = "keep extents facing angle points",
}

-- { message, area }, in d dimensions.
local function cases(d)
  local list = {}
  local function case(message, a) list[#list + 1] = { message, a } end
  local env = { nan = nan, huge = huge, pi = pi, large = 2 ^ 50 * (1 + 2 ^ -52), regular = regular }
  env.high = d == 3 and 1 or nil
  for shape, fields, words in ROWS:gmatch "(%w+) (%b{}) %-%- ([^\n]*)" do
    local f = (loadstring or load)("return " .. fields, "=row", "t", env)
    if setfenv then setfenv(f, env) end -- luacheck: ignore
    case(words, area_of(d, shape, f()))
  end
  local values = { extents = { 1, 2, d == 3 and 3 or nil }, points = regular(3) }
  for shape, names in pairs(USELESS) do
    if shape ~= "cylinder" or d == 3 then
      for name in names:gmatch "%S+" do
        case(("a %s has no '%s'"):format(shape, name), area_of(d, shape, { [name] = values[name] or 5 }))
        case(("a %s has no '%s'"):format(shape, name), { shape = shape, [name] = false }) -- whatever its value
      end
      for _, name in ipairs { "raduis", 1, {} } do
        local spelt = type(name) == "table" and "table" or name
        case(("unknown area option '%s' of a %s"):format(spelt, shape), { shape = shape, [name] = 5 })
      end
    end
  end
  for shape, names in pairs(NEEDED) do
    for name in names:gmatch "%S+" do
      local a = area_of(d, shape, {})
      a[name] = nil
      if name == "extents" then case("table expected for 'extents' of a box, got nil", a)
      elseif name == "points" then case("table expected for 'points' or 'rings' of a polygon, got nil", a)
      else case(("number expected for '%s' of a %s, got nil"):format(name, shape), a) end
    end
  end
  for _, value in ipairs { -1, nan, -huge } do
    for _, shape in ipairs { "square", "circle" } do
      case("radius must not be negative or nan", area_of(d, shape, { radius = value }))
      case("margin must not be negative or nan", area_of(d, shape, { margin = value }))
    end
    for _, shape in ipairs { "sector", d == 3 and "cylinder" or nil } do
      case("radius must be finite and not negative", area_of(d, shape, { radius = value }))
      case("margin must be finite and not negative", area_of(d, shape, { margin = value }))
    end
    case("margin must be finite and not negative", area_of(d, "box", { margin = value }))
    for _, shape in ipairs { d == 3 and "sector" or nil, d == 3 and "polygon" or nil } do
      case("half_height must not be negative or nan", area_of(d, shape, { half_height = value }))
    end
    if d == 3 then case("half_height must be finite and not neg", area_of(d, "cylinder", { half_height = value })) end
  end
  if d == 2 then
    case("bad value for 'shape': a cylinder needs 3 dimensions", { shape = "cylinder", radius = 5, half_height = 5 })
    case("a sector in 2 dimensions has no 'half_height'", area_of(d, "sector", { half_height = 5 }))
    case("a polygon in 2 dimensions has no 'half_height'", area_of(d, "polygon", { half_height = 5 }))
  else
    case("half_height must be at most 2^50", area_of(d, "sector", { half_height = env.large }))
    case("radius must be finite and not negative", area_of(d, "cylinder", { radius = huge }))
  end
  return list
end

describe("bad areas", function()
  for d = 2, 3 do
    it(("are told by field and shape, and change nothing, in %dD"):format(d), function()
      local w, z = calls.world(d), d == 3 and 0 or nil -- its nodes go with what made them
      local space = w.space
      local before = dump(space)
      for i, c in ipairs(cases(d)) do
        local function refused(argument, name, call)
          local ok, err = pcall(call)
          assert.is_false(ok, "no error: " .. c[1])
          assert.is_truthy(err:find(("bad argument #%d to '%s' ("):format(argument, name), 1, true), err)
          assert.is_truthy(err:find(c[1], 1, true), ("case %d: %s\n does not say\n%s"):format(i, err, c[1]))
        end
        local a = c[2]
        refused(3, "add_node", function() space:add_node(1, 8, a) end)
        refused(3, "set_area", function() space:set_area(1, 7, a) end)
        refused(2, "near_many", function() space:near_many({ 0, 0, z }, a) end)
        if d == 2 then refused(3, "near", function() space:near(0, 0, a) end)
        else refused(4, "near", function() space:near(0, 0, 0, a) end) end
        assert.equal(before, dump(space), "the space has changed after: " .. c[1])
      end
    end)
  end
end)

describe("an area is read when it is given:", function()
  it("changing the table later changes nothing", function()
    local space = aoi.new()
    space:enter(1, 0, 0)
    space:enter(2, 3, 0)
    local points = { -4, -4, 4, -4, 4, 4, -4, 4 }
    local area = { shape = "polygon", points = points }
    space:add_node(1, 1, area)
    for i = 1, #points do points[i] = 0 end
    area.shape, area.radius = "circle", 1
    assert.is_true(space:sees(1, 1, 2))
    local told = space:area(1, 1)
    assert.same({ -4, -4, 4, -4, 4, 4, -4, 4 }, told.points)
    told.points[1] = 99
    assert.equal(-4, space:area(1, 1).points[1])
    local extents = { 3, 3 }
    space:set_area(1, 1, { shape = "box", extents = extents })
    extents[1] = 0
    space:move(1, 0, 1)
    assert.is_true(space:sees(1, 1, 2))
    assert.is_true(space:check())
  end)

  it("a metatable is not asked", function()
    local space = aoi.new()
    space:enter(1, 0, 0)
    local area = setmetatable({ radius = 1 }, { __index = function() error "asked" end })
    space:add_node(1, 1, area)
    assert.equal("square", space:area(1, 1).shape)
  end)
end)
