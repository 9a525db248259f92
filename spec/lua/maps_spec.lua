-- Maps of other programs: what comes out of GeoJSON and of Tiled, and what is said of what is neither.
local aoi = require "aoi"
local maps = require "aoi.maps"
local tools = require "spec.support.tools"

local function test(title, f)
  it(title, function()
    if not tools.has "lua-cjson" then tools.need "dkjson" end
    f()
  end)
end

-- Whether a place in the world is in a zone.
local function is_in(zone, x, y)
  local space = aoi.new()
  space:enter(1, x, y)
  return select(2, space:near(zone.x, zone.y, { shape = "polygon", rings = zone.rings })) == 1
end

local function feature(geometry, properties, id)
  return ('{"type":"Feature",%s"properties":%s,"geometry":%s}'):format(id and '"id":"' .. id .. '",' or "",
    properties or "null", geometry)
end

local function square(x, y, r)
  return ("[[%g,%g],[%g,%g],[%g,%g],[%g,%g],[%g,%g]]"):format(x - r, y - r, x + r, y - r, x + r, y + r, x - r, y + r,
    x - r, y - r)
end

local function collection(...)
  return '{"type":"FeatureCollection","features":[' .. table.concat({ ... }, ",") .. "]}"
end

local function polygon(...) return '{"type":"Polygon","coordinates":[' .. table.concat({ ... }, ",") .. "]}" end

describe("aoi.maps.geojson", function()
  test("gives each polygon its name, its place, its parts and holes", function()
    local multi = ('{"type":"MultiPolygon","coordinates":[[%s],[%s]]}'):format(square(0, 0, 1), square(10, 0, 2))
    local list = maps.geojson(collection(
      feature(polygon(square(5, 5, 4), square(5, 5, 1)), '{"name":"moat","level":3}'),
      feature('{"type":"Point","coordinates":[1,2]}', '{"name":"a well"}'), feature("null"),
      feature(multi, nil, "islands")))
    assert.equal(2, #list)
    assert.same({ "moat", 3, 5, 5 }, { list[1].name, list[1].properties.level, list[1].x, list[1].y })
    assert.same({ { -4, -4, 4, -4, 4, 4, -4, 4 }, { -1, -1, 1, -1, 1, 1, -1, 1 } }, list[1].rings)
    assert.same({ "islands", 5.5, 0 }, { list[2].name, list[2].x, list[2].y })
    for _, c in ipairs { { 1, 2, 2, true }, { 1, 5, 5, false }, { 1, 0, 0, false }, { 2, 0, 0, true },
      { 2, 11, 1, true }, { 2, 5, 0, false } } do
      assert.equal(c[4], is_in(list[c[1]], c[2], c[3]), table.concat({ c[1], c[2], c[3] }, " "))
    end
  end)

  test("takes a geometry alone, as a database gives it", function()
    local multi = ('{"type":"MultiPolygon","coordinates":[[%s],[%s]]}'):format(square(0, 0, 1), square(10, 0, 2))
    for _, text in ipairs { polygon(square(5, 5, 4)), multi,
      '{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},' .. multi .. "]}" } do
      assert.same(maps.geojson(feature(text)), maps.geojson(text))
      assert.equal(1, #maps.geojson(text))
    end
    assert.same({}, maps.geojson '{"type":"Point","coordinates":[1,2]}')
  end)

  test("turns degrees into metres around an origin, or scales them", function()
    local text = feature(polygon("[[13,60],[15,60],[15,61],[13,61]]"), '{"name":"field"}')
    local zone = maps.geojson(text, { origin = { 13, 60 } })[1]
    assert.near(111195, 2 * zone.y, 1) -- one degree to the north
    assert.near(111195, 2 * zone.x, 1) -- two degrees to the east, half as long there
    zone = maps.geojson(text, { origin = { 13, 60 }, scale = 10 })[1]
    assert.near(5, zone.y, 1e-9)
    zone = maps.geojson(text, { scale = 2 })[1]
    assert.same({ 28, 121 }, { zone.x, zone.y })
    assert.same({ 14, 60.5 }, { maps.geojson(text)[1].x, maps.geojson(text)[1].y })
  end)

  for _, c in ipairs {
    { "no JSON", "nothing" }, { "no JSON", '{"type":' },
    { "the map: a FeatureCollection, a Feature or a geometry of GeoJSON expected", "[1]" },
    { "the map: a FeatureCollection, a Feature or a geometry of GeoJSON expected", '{"type":"Topology"}' },
    { "the map: a FeatureCollection, a Feature or a geometry of GeoJSON expected", "null" },
    { "features: array expected, got an object", '{"type":"FeatureCollection","features":{"1":{}}}' },
    { "coordinates: table expected, got nothing", '{"type":"Polygon"}' },
    { "features[1].geometry: a geometry expected, got type 'Poligon'", collection(feature '{"type":"Poligon"}') },
    { "features[1].geometry.geometries[1]: table expected, got number",
      collection(feature '{"type":"GeometryCollection","geometries":[1]}') },
    { "geometry.coordinates: array expected, got an object",
      feature '{"type":"MultiPolygon","coordinates":{"a":[]}}' },
    { "features: table expected, got nothing", '{"type":"FeatureCollection"}' },
    { "features[2]: type 'Feature' expected, got 'Polygon'", collection(feature "null", polygon(square(0, 0, 1))) },
    { "geometry.coordinates[1]: a ring of 3 or more corners expected, got 2", feature(polygon "[[0,0],[1,1],[0,0]]") },
    { "geometry.coordinates[1][2][1]: number expected, got string", feature(polygon '[[0,0],["1",1],[0,1]]') },
    { "geometry.coordinates[1][3][2]: number expected, got nothing", feature(polygon "[[0,0],[1,1],[0]]") },
    { "geometry.coordinates[1][1][1]: a number of at most 2^50", feature(polygon "[[1e300,0],[1,1],[0,1]]") },
    { "geometry.coordinates: at least one ring", feature(polygon()) },
  } do
    test("says where a text is none: " .. c[1], function()
      local ok, err = pcall(function() return (maps.geojson(c[2])) end)
      assert.is_false(ok)
      assert.matches("maps_spec.lua:%d+: bad argument #1 to 'geojson' %(", err)
      assert.matches(c[1], err, 1, true)
    end)
  end

  it("refuses what are no options, and names the libraries where neither is installed", function()
    local function refused(words, ...)
      local arguments = { ... }
      local ok, err = pcall(function() return (maps.geojson(arguments[1], arguments[2])) end)
      assert.is_false(ok)
      assert.matches(words, err, 1, true)
    end
    refused("#1 to 'geojson' (string expected, got no value)")
    refused("unknown option 'orign': 'origin' or 'scale' expected; did you mean 'origin'?", "{}", { orign = {} })
    refused("'scale': a number > 0", "{}", { scale = 0 })
    refused("'origin': { longitude, latitude }", "{}", { origin = { 13 } })
    refused("'origin': { longitude, latitude }", "{}", { origin = { 13, 90 } })
    local loaded, path, cpath = package.loaded, package.path, package.cpath
    local cjson, dkjson = loaded.cjson, loaded.dkjson
    loaded.cjson, loaded.dkjson, package.path, package.cpath = nil, nil, "", ""
    local ok, err = pcall(maps.geojson, "{}")
    loaded.cjson, loaded.dkjson, package.path, package.cpath = cjson, dkjson, path, cpath
    assert.is_false(ok)
    assert.matches("install lua-cjson or dkjson", err, 1, true)
  end)
end)

describe("aoi.maps.tiled", function()
  local MAP = [[{ "type": "map", "orientation": "orthogonal", "tilewidth": 10, "tileheight": 20, "layers": [
      { "type": "tilelayer", "name": "ground", "width": 4, "height": 3, "data": "eJx..." },
      { "type": "tilelayer", "name": "walls", "width": 4, "height": 3, "offsetx": 100,
        "data": [1,1,0,0, 0,1,0,0, 0,0,0,7] },
      { "type": "group", "name": "all", "offsetx": 1, "offsety": 2, "layers": [
        { "type": "objectgroup", "name": "things", "objects": [
          { "id": 1, "name": "camp", "type": "zone", "x": 10, "y": 20, "width": 30, "height": 40, "rotation": 0,
            "properties": [{ "name": "level", "type": "int", "value": 7 }] },
          { "id": 2, "name": "", "x": 0, "y": 0, "width": 10, "height": 10, "ellipse": true },
          { "id": 3, "name": "spawn", "x": 5, "y": 6, "point": true },
          { "id": 4, "name": "", "x": 50, "y": 0, "polygon": [{"x":0,"y":0},{"x":8,"y":0},{"x":0,"y":8}] },
          { "id": 5, "name": "", "x": 0, "y": 0, "width": 10, "height": 20, "rotation": 90 },
          { "id": 6, "name": "fence", "x": 7, "y": 7, "polyline": [{"x":0,"y":0},{"x":3,"y":0},{"x":3,"y":4}] }
        ] },
        { "type": "objectgroup", "name": "rooms", "class": "walls", "objects": [
          { "id": 7, "name": "", "x": 0, "y": 0, "width": 2, "height": 4 } ] } ] },
      { "type": "imagelayer", "name": "sky" } ] }]]

  local function layer_of(objects)
    return '{"layers":[{"type":"objectgroup","name":"things","objects":' .. objects .. "}]}"
  end

  test("puts a tile on its lower left corner, and turns it there", function()
    local objects = maps.tiled(layer_of [=[[{"gid":7,"x":10,"y":20,"width":4,"height":6},
      {"gid":7,"x":10,"y":20,"width":4,"height":6,"rotation":90}]]=])
    assert.same({ 12, 17, { shape = "box", extents = { 2, 3 } } }, { objects[1].x, objects[1].y, objects[1].area })
    local x, y = objects[2].x, objects[2].y
    local points = objects[2].area.points -- a quarter to the right: from (10, 20) to (16, 24)
    for i, v in ipairs { 16, 20, 16, 24, 10, 24, 10, 20 } do
      assert.near(v, points[i] + (i % 2 == 1 and x or y), 1e-12)
    end
  end)

  local function lines(walls)
    local list = {}
    for i, w in ipairs(walls) do list[i] = ("%g,%g-%g,%g"):format(w[1], w[2], w[3], w[4]) end
    table.sort(list)
    return list
  end

  test("gives objects as areas, and walls", function()
    local objects, walls = maps.tiled(MAP)
    assert.equal(5, #objects)
    assert.same({ id = 1, name = "camp", class = "zone", layer = "things", x = 26, y = 42, properties = { level = 7 },
      area = { shape = "box", extents = { 15, 20 } } }, objects[1])
    assert.same({ 6, 7, { shape = "circle", radius = 5 } }, { objects[2].x, objects[2].y, objects[2].area })
    assert.same({ 6, 8 }, { objects[3].x, objects[3].y })
    assert.is_nil(objects[3].area)
    assert.same({ shape = "polygon", points = { 0, 0, 8, 0, 0, 8 } }, objects[4].area)
    local turned = objects[5].area.points -- a quarter to the right: from (0, 0) to (-20, 10)
    for i, v in ipairs { 0, 0, 0, 10, -20, 10, -20, 0 } do assert.near(v, turned[i], 1e-12) end
    assert.same({
      "1,2-3,2", "1,6-1,2", -- of the room
      "100,0-100,20", "100,0-120,0", "100,20-110,20", "11,9-11,13", "110,20-110,40", "110,40-120,40", "120,0-120,40",
      "130,40-130,60", "130,40-140,40", "130,60-140,60", "140,40-140,60", "3,2-3,6", "3,6-1,6", "8,9-11,9",
    }, lines(walls))
    local space = aoi.new()
    local sight = require("aoi.sight").new(space)
    for _, w in ipairs(walls) do sight:wall(w[1], w[2], w[3], w[4]) end
    for _, o in ipairs(objects) do
      space:enter(o.id, o.x, o.y)
      if o.area then space:add_node(o.id, 1, o.area) end
    end
    assert.is_true(space:sees(4, 1, 4) == false and space:near(26, 42, objects[1].area)[1] == 1)
  end)

  for _, c in ipairs {
    { "the map: a map of Tiled, with layers, expected", '{"type":"Feature"}' },
    { "layers[1]: table expected, got number", '{"layers":[5]}' },
    { "layers: array expected, got an object", '{"layers":{"a":1}}' },
    { "layers[1].objects: array expected, got an object", '{"layers":[{"type":"objectgroup","objects":{"a":1}}]}' },
    { "layers[1].objects[1]: a width and a height of 0 or more",
      '{"layers":[{"type":"objectgroup","objects":[{"x":0,"y":0,"width":-1}]}]}' },
    { "layers[1].objects: table expected, got nothing", '{"layers":[{"type":"objectgroup"}]}' },
    { "layers[1].objects[1].x: number expected, got nothing",
      '{"layers":[{"type":"objectgroup","objects":[{"y":1}]}]}' },
    { "layers[1].data: an array expected", '{"layers":[{"type":"tilelayer","name":"walls","data":"eJx"}]}' },
    { "layers[1].data: 4 tiles expected, got 1",
      '{"layers":[{"type":"tilelayer","name":"walls","data":[1],"width":2,"height":2}]}' },
    { "orientation: walls of tiles are for orthogonal maps only",
      '{"orientation":"isometric","layers":[{"type":"tilelayer","name":"walls","data":[1],"width":1,"height":1}]}' },
    { "layers[1].objects[1].polygon: 3 or more corners expected",
      '{"layers":[{"type":"objectgroup","objects":[{"x":1,"y":1,"polygon":[{"x":1,"y":1}]}]}]}' },
  } do
    test("says where a text is none: " .. c[1], function()
      local ok, err = pcall(function() return (maps.tiled(c[2])) end)
      assert.is_false(ok)
      assert.matches("maps_spec.lua:%d+: bad argument #1 to 'tiled' %(", err)
      assert.matches(c[1], err, 1, true)
    end)
  end
end)
