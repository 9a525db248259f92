-- Areas that are none: the message names the field, and the shape where that decides, and nothing has changed. The same
-- words from add_node, set_area and near. What is no misuse: a table that changes after the call.
local aoi = require "aoi"
local dump = require "spec.support.dump"
local fixture = require "spec.support.fixture"

local nan, huge, pi = 0 / 0, math.huge, math.pi
local unpack = table.unpack or unpack -- luacheck: ignore

local function regular(corners)
  local t = {}
  for i = 1, corners do
    t[2 * i - 1], t[2 * i] = math.cos(2 * pi * i / corners), math.sin(2 * pi * i / corners)
  end
  return t
end

local function sector(fields)
  local area = { shape = "sector", radius = 5, facing = 0, angle = 1 }
  for name, value in pairs(fields) do area[name] = value end
  return area
end

-- { message, area }, in d dimensions.
local function cases(d)
  local list = {}
  local function case(message, area) list[#list + 1] = { message, area } end
  local function box(...)
    return { shape = "box", extents = { ... } }
  end
  local function polygon(points, fields)
    local area = { shape = "polygon", points = points }
    for name, value in pairs(fields or {}) do area[name] = value end
    return area
  end
  local good = d == 2 and { 1, 2 } or { 1, 2, 3 }

  -- fields that a shape has no use for
  local useless = {
    square = { "extents", "facing", "angle", "points", "half_height" },
    circle = { "extents", "facing", "angle", "points", "half_height" },
    box = { "radius", "keep", "facing", "angle", "points", "half_height" },
    sector = { "keep", "extents", "points" },
    polygon = { "radius", "keep", "margin", "extents", "facing", "angle" },
    cylinder = d == 3 and { "keep", "extents", "facing", "angle", "points" } or {},
  }
  local values = { extents = good, points = regular(3) }
  for shape, fields in pairs(useless) do
    for _, name in ipairs(fields) do
      local area = { shape = shape }
      if shape ~= "box" and shape ~= "polygon" then area.radius = 5 end
      if shape == "box" then area.extents = good end
      if shape == "polygon" then area.points = regular(3) end
      if shape == "sector" then area.facing, area.angle = 0, 1 end
      if shape == "cylinder" then area.half_height = 1 end
      area[name] = values[name] or 5
      case(("a %s has no '%s'"):format(shape, name), area)
      area = { shape = shape, [name] = false } -- whatever its value
      case(("a %s has no '%s'"):format(shape, name), area)
    end
    if d == 3 or shape ~= "cylinder" then
      case(("unknown area option 'raduis' of a %s"):format(shape), { shape = shape, raduis = 5 })
      case(("unknown area option '1' of a %s"):format(shape), { shape = shape, 5 })
      case(("unknown area option 'table' of a %s"):format(shape), { shape = shape, [{}] = 5 })
    end
  end
  if d == 2 then
    case("bad value for 'shape': a cylinder needs 3 dimensions", { shape = "cylinder", radius = 5, half_height = 5 })
    case("a sector in 2 dimensions has no 'half_height'", sector { half_height = 5 })
    case("a polygon in 2 dimensions has no 'half_height'", polygon(regular(3), { half_height = 5 }))
  end
  local shapes = "'square', 'circle', 'box', 'cylinder', 'sector' or 'polygon' expected"
  for _, shape in ipairs { "cone", "", "Square", 1, true, {} } do
    case("bad value for 'shape': " .. shapes, { shape = shape, radius = 5 })
  end

  -- fields that a shape needs
  case("number expected for 'radius' of a square, got nil", {})
  case("number expected for 'radius' of a circle, got nil", { shape = "circle", margin = 1 })
  case("table expected for 'extents' of a box, got nil", { shape = "box" })
  case("table expected for 'points' of a polygon, got nil", { shape = "polygon" })
  case("number expected for 'facing' of a sector, got nil", { shape = "sector", radius = 5, angle = 1 })
  case("number expected for 'angle' of a sector, got nil", { shape = "sector", radius = 5, facing = 1 })
  case("number expected for 'radius' of a sector, got nil", { shape = "sector", facing = 5, angle = 1 })

  -- bad values
  for _, shape in ipairs { "square", "circle" } do
    for _, value in ipairs { -1, nan, -huge } do
      case("radius must not be negative or nan", { shape = shape, radius = value })
      case("margin must not be negative or nan", { shape = shape, radius = 5, margin = value })
      case("keep must not be less than radius", { shape = shape, radius = 5, keep = value })
    end
    case("keep must not be less than radius", { shape = shape, radius = 5, keep = 0 })
    case("radius must not be negative or nan", { shape = shape, radius = nan, keep = 5 })
    case("'keep' and 'margin' exclude each other", { shape = shape, radius = 5, keep = 6, margin = 1 })
    case("'keep' and 'margin' exclude each other", { shape = shape, radius = 5, keep = 5, margin = 0 })
  end
  for _, value in ipairs { -1, nan, huge, -huge } do
    local extents = { 1, 1, 1 }
    extents[d] = value
    case("extents must be finite and not negative", box(unpack(extents, 1, d)))
    case("margin must be finite and not negative", { shape = "box", extents = good, margin = value })
    case("radius must be finite and not negative", sector { radius = value })
    case("margin must be finite and not negative", sector { margin = value })
    local points = regular(5)
    points[4] = value
    if value ~= -1 then
      case("facing must be finite", sector { facing = value })
      case("points must be finite numbers", polygon(points))
    end
    if d == 3 then
      case("radius must be finite and not negative", { shape = "cylinder", radius = value, half_height = 1 })
      case("half_height must be finite and not negative", { shape = "cylinder", radius = 1, half_height = value })
      if value ~= huge then
        case("half_height must not be negative or nan", sector { half_height = value })
        case("half_height must not be negative or nan", polygon(regular(4), { half_height = value }))
      end
    end
  end
  local large = 2 ^ 50 * (1 + 2 ^ -52)
  case("extents must be at most 2^50", box(unpack({ large, 1, 1 }, 1, d)))
  case("radius must be at most 2^50, got 1.1258999068426e+15", sector { radius = large })
  case("margin must be at most 2^50", sector { margin = large })
  if d == 3 then case("half_height must be at most 2^50", sector { half_height = large }) end
  for _, shape in ipairs { "square", "circle" } do
    case("radius must be at most 2^50 or infinite", { shape = shape, radius = large })
    case("keep must be at most 2^50 or infinite", { shape = shape, radius = 1, keep = 2.5 * large })
    case("margin must be at most 2^50", { shape = shape, radius = 1, margin = large })
    case("margin must be at most 2^50", { shape = shape, radius = 1, margin = huge })
  end
  local far = regular(4)
  far[3] = -large
  case("points must be at most 2^50 either way", polygon(far))
  for _, value in ipairs { 0, -1, 2 * pi + 1e-15, 7, nan, huge, -huge } do
    case("angle must be greater than 0 and at most 2 pi", sector { angle = value })
  end
  case(("'extents' must have %d numbers"):format(d), box())
  case(("'extents' must have %d numbers"):format(d), box(1))
  case(("'extents' must have %d numbers"):format(d), d == 2 and box(1, 1, 1) or box(1, 1))
  case(("'extents' must have %d numbers"):format(d), box(1, 1, 1, 1))
  case("number expected in 'extents', got string", box(1, "1", 1))
  case("number expected in 'points', got table", polygon { 1, 2, 3, {}, 5, 6 })
  for _, corners in ipairs { 0, 1, 2, 65, 66, 1000 } do
    case("'points' must have x and y of 3 to 64 corners", polygon(regular(corners)))
  end
  case("'points' must have x and y of 3 to 64 corners", polygon { 1, 2, 3, 4, 5, 6, 7 })

  -- values of other types
  for _, name in ipairs { "radius", "margin", "keep" } do
    local area = { radius = 5 }
    area[name] = "5"
    case(("number expected for '%s', got string"):format(name), area)
  end
  for _, name in ipairs { "facing", "angle" } do
    case(("number expected for '%s', got boolean"):format(name), sector { [name] = true })
  end
  case("table expected for 'extents', got number", { shape = "box", extents = 5 })
  case("table expected for 'points', got function", { shape = "polygon", points = print })
  case("number expected for 'mask', got boolean", sector { mask = true })
  case("integer expected for 'mask'", polygon(regular(3), { mask = 0.5 }))
  return list
end



local function message_of(call)
  local ok, err = pcall(call)
  assert.is_false(ok, "no error")
  return (err:gsub("^[^\n]-:%d+: ", ""))
end

for setup in fixture.all { modes = { "immediate", "drain" } } do
  describe("bad areas on " .. setup.name, function()
    local w, space
    before_each(function()
      w = setup.new()
      space = w.space
      w:enter(1, w:at(0))
      w:enter(2, w:at(3))
      w:enter(3, w:at(-4), 6)
      w:watch(1, 7, { shape = "circle", radius = 5, margin = 1 })
      w:watch(1, 8, sector { margin = 1 })
      w:watch(2, 7, { shape = "box", extents = setup.dimensions == 2 and { 9, 2 } or { 9, 2, 2 } })
      space:override(1, 7, 3, "hide")
    end)

    it("are told by field and shape, and change nothing", function()
      local before, heard = dump(space), #w.heard
      for i, c in ipairs(cases(setup.dimensions)) do
        local function refused(argument, name, call)
          local got = message_of(call)
          local said = ("bad argument #%d to '%s' (%s"):format(argument, name, c[1])
          assert.equal(said, got:sub(1, #said), "case " .. i)
          assert.equal(before, dump(space), "the space has changed after: " .. c[1])
          assert.equal(heard, #w.heard, "somebody was called after: " .. c[1])
        end
        refused(3, "add_node", function() space:add_node(1, 9, c[2]) end)
        refused(3, "set_area", function() space:set_area(1, 7, c[2]) end)
        if setup.dimensions == 2 then refused(3, "near", function() space:near(0, 0, c[2]) end)
        else refused(4, "near", function() space:near(0, 0, 0, c[2]) end) end
      end
    end)

    it("so are calls that do not fit the shape, and overrides that are none", function()
      local before = dump(space)
      local function refused(message, call)
        assert.equal(message, message_of(call))
        assert.equal(before, dump(space))
      end
      local words = "bad argument #%d to '%s' (%s)"
      local squares = "set_radius is for squares and circles, not for a %s: use set_area"
      refused(words:format(2, "set_radius", squares:format "box"), function() space:set_radius(2, 7, 5) end)
      refused(words:format(2, "set_radius", squares:format "sector"), function() space:set_radius(1, 8, 5) end)
      refused(words:format(2, "set_facing", "a circle has no 'facing': only sectors have"),
        function() space:set_facing(1, 7, 1) end)
      for _, value in ipairs { huge, -huge, nan } do
        local got = value ~= value and "nan" or value > 0 and "inf" or "-inf"
        refused(words:format(3, "set_facing", "finite number expected, got " .. got),
          function() space:set_facing(1, 8, value) end)
      end
      refused(words:format(3, "set_facing", "number expected, got string"), function() space:set_facing(1, 8, "1") end)
      refused(words:format(2, "set_facing", "entity 1 has no node 9"), function() space:set_facing(1, 9, 1) end)
      refused(words:format(2, "set_area", "entity 1 has no node 9"), function() space:set_area(1, 9, 1) end)
      refused(words:format(1, "set_area", "no entity 9"), function() space:set_area(9, 9, 1) end)

      refused(words:format(3, "override", "an entity does not see itself"),
        function() space:override(1, 7, 1, "hide") end)
      refused(words:format(3, "override", "no entity 99"), function() space:override(1, 7, 99, "hide") end)
      refused(words:format(3, "override", "no entity 99"), function() space:override(1, 7, 99, nil) end)
      refused(words:format(2, "override", "entity 1 has no node 9"), function() space:override(1, 9, 2, "hide") end)
      refused(words:format(1, "override", "no entity 9"), function() space:override(9, 7, 2, "hide") end)
      for _, how in ipairs { "rule", "none", "", 1, true, {} } do
        local got = type(how) == "string" and ("'%s'"):format(how) or type(how) == "table" and "table" or tostring(how)
        refused(words:format(4, "override", "'hide', 'show', 'match' or nil expected, got " .. got),
          function() space:override(1, 7, 2, how) end)
      end
      refused(words:format(2, "overrides", "entity 1 has no node 9"), function() space:overrides(1, 9) end)
      refused(words:format(3, "overrides", "table expected, got number"), function() space:overrides(1, 7, 5) end)
      for i, name in ipairs { "id", "node_id", "target" } do
        local ids = { 1, 7, 2 }
        ids[i] = "x"
        refused(words:format(i, "explain", "integer expected, got string"),
          function() space:explain(ids[1], ids[2], ids[3]) end, name)
      end
    end)

    it("nearest says what it wants", function()
      local function nearest(...)
        local arguments, n = { ... }, select("#", ...)
        if setup.dimensions == 3 then
          table.insert(arguments, 1, 0)
          n = n + 1
        end
        return message_of(function() space:nearest(unpack(arguments, 1, n)) end)
      end
      local at = setup.dimensions
      local words = "bad argument #%d to 'nearest' (%s)"
      assert.equal(words:format(1, "finite number expected, got nan"):gsub("#1", "#" .. at - 1), nearest(nan, 0, 1))
      assert.equal(words:format(at + 1, "integer expected, got no value"), nearest(0, 0))
      assert.equal(words:format(at + 1, "number must not be negative"), nearest(0, 0, -1))
      assert.equal(words:format(at + 1, "number has no integer representation"), nearest(0, 0, 1.5))
      assert.equal(words:format(at + 2, "radius must not be negative or nan, got -1"), nearest(0, 0, 1, -1))
      assert.matches("radius must not be negative or nan, got %-?nan", (nearest(0, 0, 1, nan)))
      assert.equal(words:format(at + 3, "integer expected, got string"), nearest(0, 0, 1, 5, "x"))
      assert.equal(words:format(at + 4, "table expected, got number"), nearest(0, 0, 1, 5, 1, 5))
    end)
  end)
end

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
