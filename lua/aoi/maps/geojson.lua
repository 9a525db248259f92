-- Polygons of GeoJSON (RFC 7946) as zones: each has its place, and rings of corners relative to it.
local checks = require "aoi.checks"
local Reader = require "aoi.maps.reader"

-- Metres per degree of latitude: the circumference of a sphere with the Earth's mean radius, 6,371,008.8 m, over 360.
local METRES_PER_DEGREE = 6371008.8 * math.pi / 180

local GEOMETRIES = { -- those without area, and zones without any, are left out
  Point = true, MultiPoint = true, LineString = true, MultiLineString = true, Polygon = true, MultiPolygon = true,
  GeometryCollection = true,
}

local function inside(place, field) return place == "" and field or place .. "." .. field end

-- Reads a ring, without its last corner, which is the first once more. Grows the box { left, bottom, right, top }.
local function read_ring(r, ring, place, project, box)
  local flat = {}
  r:array(ring, place)
  local n = #ring
  local first, last = ring[1], ring[n]
  if n > 1 and type(first) == "table" and type(last) == "table" and first[1] == last[1] and first[2] == last[2] then
    n = n - 1
  end
  if n < 3 then r:fail(place, "a ring of 3 or more corners expected, got %d", n) end
  for i = 1, n do
    local at = ("%s[%d]"):format(place, i)
    local corner = r:expect(ring[i], "table", at)
    local x, y = project(r:number(corner[1], at .. "[1]"), r:number(corner[2], at .. "[2]"))
    flat[2 * i - 1], flat[2 * i] = r:number(x, at), r:number(y, at)
    box[1], box[2] = math.min(box[1], x), math.min(box[2], y)
    box[3], box[4] = math.max(box[3], x), math.max(box[4], y)
  end
  return flat
end

local function read_polygon(r, polygon, place, project, box, rings)
  if #r:array(polygon, place) == 0 then r:fail(place, "at least one ring expected") end
  for k, ring in ipairs(polygon) do
    rings[#rings + 1] = read_ring(r, ring, ("%s[%d]"):format(place, k), project, box)
  end
end

local function read_geometry(r, geometry, place, project, box, rings)
  local kind = r:expect(geometry, "table", place).type
  local whole = kind == "GeometryCollection"
  local at = inside(place, whole and "geometries" or "coordinates")
  if not GEOMETRIES[kind] then r:fail(place, "a geometry expected, got type '%s'", tostring(kind)) end
  local parts = r:array(geometry[whole and "geometries" or "coordinates"], at)
  if kind == "Polygon" then read_polygon(r, parts, at, project, box, rings) end
  for k, part in ipairs((whole or kind == "MultiPolygon") and parts or {}) do
    (whole and read_geometry or read_polygon)(r, part, ("%s[%d]"):format(at, k), project, box, rings)
  end
end

-- Corners relative to the middle of their box, where the entity that carries the area stands.
local function zone_of(rings, box, properties, id)
  local x, y = (box[1] + box[3]) / 2, (box[2] + box[4]) / 2
  for _, ring in ipairs(rings) do
    for i = 1, #ring, 2 do ring[i], ring[i + 1] = ring[i] - x, ring[i + 1] - y end
  end
  local name = properties.name
  if type(name) ~= "string" then name = (type(id) == "string" or type(id) == "number") and tostring(id) or nil end
  return { name = name, properties = properties, rings = rings, x = x, y = y }
end

local function add_zone(r, geometry, place, project, list, feature)
  local rings, box = {}, { math.huge, math.huge, -math.huge, -math.huge }
  read_geometry(r, geometry, place, project, box, rings)
  if #rings == 0 then return end
  local properties = type(feature.properties) == "table" and feature.properties or {}
  list[#list + 1] = zone_of(rings, box, properties, feature.id)
end

local function read_feature(r, feature, place, project, list)
  r:expect(feature, "table", place)
  if feature.type ~= "Feature" then r:fail(place, "type 'Feature' expected, got '%s'", tostring(feature.type)) end
  if type(feature.geometry) ~= "table" then return end -- RFC 7946: null where it has no place
  add_zone(r, feature.geometry, inside(place, "geometry"), project, list, feature)
end

local function read_geojson(r, document, project)
  local list, kind = {}, type(document) == "table" and document.type
  if kind == "FeatureCollection" then
    for i, feature in ipairs(r:array(document.features, "features")) do
      read_feature(r, feature, ("features[%d]"):format(i), project, list)
    end
  elseif kind == "Feature" then read_feature(r, document, "", project, list)
  elseif GEOMETRIES[kind] then add_zone(r, document, "", project, list, {})
  else r:fail("", "a FeatureCollection, a Feature or a geometry of GeoJSON expected") end
  return list
end

local function projection(options)
  options = checks.options(options, { origin = "table", scale = "number" }, 2, "geojson", 3)
  local origin, scale = options.origin, options.scale or options.origin and METRES_PER_DEGREE or 1
  if not (scale > 0 and scale < math.huge) then
    checks.fail(2, "geojson", "bad value for option 'scale': a number > 0 expected", 3)
  end
  if not origin then return function(x, y) return x * scale, y * scale end end
  local lon, lat = origin[1], origin[2]
  if type(lon) ~= "number" or type(lat) ~= "number" or not (lat > -90 and lat < 90) then
    checks.fail(2, "geojson", "bad value for option 'origin': { longitude, latitude } in degrees expected", 3)
  end
  local along = scale * math.cos(math.rad(lat))
  return function(x, y) return (x - lon) * along, (y - lat) * scale end
end

---@class aoi.maps.zone
---@field name? string `properties.name`, else the feature's id
---@field properties table as the file has them
---@field rings number[][] parts and holes: corners x1, y1, x2, y2, ... relative to the place
---@field x number the middle of the box around all corners
---@field y number

--- Reads the polygons of GeoJSON: each feature with a Polygon or MultiPolygon is a zone, other features are left out. A
--- geometry alone, as PostGIS gives it, is one zone without a name. A zone is an area
--- `{ shape = "polygon", rings = zone.rings }` at `zone.x, zone.y`.
---
--- `origin`, { longitude, latitude }, becomes (0, 0), and degrees of longitude are shortened by the cosine of its
--- latitude (at 60 degrees right to 1 % within 35 km). `scale` is world units per degree of latitude: 111,195, metres,
--- with an origin, 1 without.
---@param text string
---@param options? { origin?: number[], scale?: number }
---@return aoi.maps.zone[]
return function(text, options)
  local project = projection(options)
  local r, document = Reader.new("geojson", text)
  local list = r:run(read_geojson, document, project)
  return list
end

