-- Maps of the editor Tiled (doc.mapeditor.org, "JSON Map Format") as objects with areas, and walls.
local Reader = require "aoi.maps.reader"

-- Tiled 1.8 and older call the class of an object its type, as 1.10 does again.
local function class_of(thing)
  local class = thing.class or thing.type
  return type(class) == "string" and class ~= "" and class or nil
end

local function properties_of(thing)
  local by_name = {}
  for _, property in ipairs(type(thing.properties) == "table" and thing.properties or {}) do
    if type(property) == "table" and property.name ~= nil then by_name[property.name] = property.value end
  end
  return by_name
end

-- Corners of a rectangle or an ellipse around its upper left one, as Tiled turns it, clockwise with y downwards.
local function outline(width, height, rotation, ellipse)
  local points, c, s = {}, math.cos(math.rad(rotation)), math.sin(math.rad(rotation))
  local n = ellipse and 32 or 4
  for i = 0, n - 1 do
    local x, y
    if ellipse then
      local a = 2 * math.pi * i / n
      x, y = width / 2 * (1 + math.cos(a)), height / 2 * (1 + math.sin(a))
    else
      x, y = (i == 1 or i == 2) and width or 0, i >= 2 and height or 0
    end
    points[2 * i + 1], points[2 * i + 2] = x * c - y * s, x * s + y * c
  end
  return points
end

local function read_corners(r, list, place, rotation)
  local points, c, s = {}, math.cos(math.rad(rotation)), math.sin(math.rad(rotation))
  for i, corner in ipairs(r:array(list, place)) do
    local at = ("%s[%d]"):format(place, i)
    r:expect(corner, "table", at)
    local x, y = r:number(corner.x, at .. ".x"), r:number(corner.y, at .. ".y")
    points[2 * i - 1], points[2 * i] = x * c - y * s, x * s + y * c
  end
  return points
end

-- The area of an object, moved so that its place is the middle of a box or circle, else where Tiled has it.
local function area_of(r, o, object, place)
  local width, height = r:number(o.width or 0, place .. ".width"), r:number(o.height or 0, place .. ".height")
  local rotation = r:number(o.rotation or 0, place .. ".rotation")
  if width < 0 or height < 0 then r:fail(place, "a width and a height of 0 or more expected") end
  if o.gid then -- a tile stands on its place, with its lower left corner
    object.x = object.x + height * math.sin(math.rad(rotation))
    object.y = object.y - height * math.cos(math.rad(rotation))
  end
  if o.polyline then
    object.line = read_corners(r, o.polyline, place .. ".polyline", rotation)
  elseif o.polygon then
    object.area = { shape = "polygon", points = read_corners(r, o.polygon, place .. ".polygon", rotation) }
    if #object.area.points < 6 then r:fail(place .. ".polygon", "3 or more corners expected") end
  elseif o.point or width == 0 and height == 0 then
    return
  elseif o.ellipse and width ~= height or rotation ~= 0 and not o.ellipse then
    object.area = { shape = "polygon", points = outline(width, height, rotation, o.ellipse) }
  else
    local middle = outline(width, height, rotation)
    object.x, object.y = object.x + middle[5] / 2, object.y + middle[6] / 2
    object.area = o.ellipse and { shape = "circle", radius = width / 2 }
      or { shape = "box", extents = { width / 2, height / 2 } }
  end
end

local function read_object(r, o, place, layer)
  r:expect(o, "table", place)
  local object = {
    id = o.id, name = type(o.name) == "string" and o.name or "", class = class_of(o), layer = layer.name,
    x = layer.x + r:number(o.x, place .. ".x"), y = layer.y + r:number(o.y, place .. ".y"),
    properties = properties_of(o),
  }
  area_of(r, o, object, place)
  return object
end

local function add_wall(walls, x1, y1, x2, y2) walls[#walls + 1] = { x1, y1, x2, y2 } end

-- The sides of a chain of corners, of a closed one also from the last to the first.
local function add_chain(walls, object, points, closed)
  local n = #points
  for i = closed and 1 or 3, n, 2 do
    local j = i == 1 and n - 1 or i - 2
    add_wall(walls, object.x + points[j], object.y + points[j + 1], object.x + points[i], object.y + points[i + 1])
  end
end

-- The corners of an area around its place.
local function corners_of(area)
  if area.points then return area.points end
  local w, h = area.radius or area.extents[1], area.radius or area.extents[2]
  local points = outline(2 * w, 2 * h, 0, area.shape == "circle")
  for i = 1, #points, 2 do points[i], points[i + 1] = points[i] - w, points[i + 1] - h end
  return points
end

-- The borders between tiles and no tiles, each as long as it is straight. `solid(x, y)` is of the tile to the right of
-- line x and below line y.
local function add_borders(walls, width, height, solid, place)
  for axis = 1, 2 do
    local lines, along = axis == 1 and width or height, axis == 1 and height or width
    for line = 0, lines do
      local from
      for k = 0, along do
        local border
        if k < along then
          if axis == 1 then border = solid(line - 1, k) ~= solid(line, k)
          else border = solid(k, line - 1) ~= solid(k, line) end
        end
        if border and not from then from = k end
        if from and not border then
          local x1, y1 = place(axis == 1 and line or from, axis == 1 and from or line)
          add_wall(walls, x1, y1, place(axis == 1 and line or k, axis == 1 and k or line))
          from = nil
        end
      end
    end
  end
end

local function read_tiles(r, layer, at, map, walls)
  local data = layer.data.data
  if type(data) ~= "table" then
    r:fail(at .. ".data", "an array expected: in Tiled, set the map's tile layer format to CSV, and not to infinite")
  end
  local width, height = r:number(layer.data.width, at .. ".width"), r:number(layer.data.height, at .. ".height")
  if #data ~= width * height then r:fail(at .. ".data", "%.14g tiles expected, got %d", width * height, #data) end
  if map.orientation ~= "orthogonal" then r:fail("orientation", "walls of tiles are for orthogonal maps only") end
  local w, h = r:number(map.tilewidth, "tilewidth"), r:number(map.tileheight, "tileheight")
  for i, tile in ipairs(data) do r:expect(tile, "number", ("%s.data[%d]"):format(at, i)) end
  add_borders(walls, width, height, function(x, y)
    return x >= 0 and x < width and y >= 0 and y < height and data[y * width + x + 1] ~= 0
  end, function(x, y) return layer.x + x * w, layer.y + y * h end)
end

-- A layer and everything in it is walls if its class, or its name, is "walls".
local function read_layers(r, list, place, parent, map, objects, walls)
  for i, l in ipairs(r:array(list, place)) do
    local at = ("%s[%d]"):format(place, i)
    r:expect(l, "table", at)
    local layer = {
      name = type(l.name) == "string" and l.name or "", data = l,
      x = parent.x + r:number(l.offsetx or 0, at .. ".offsetx"),
      y = parent.y + r:number(l.offsety or 0, at .. ".offsety"),
      walls = parent.walls or (class_of(l) == "walls") or l.name == "walls",
    }
    if l.type == "group" then
      read_layers(r, l.layers, at .. ".layers", layer, map, objects, walls)
    elseif l.type == "tilelayer" and layer.walls then
      read_tiles(r, layer, at, map, walls)
    elseif l.type == "objectgroup" then
      for k, o in ipairs(r:array(l.objects, at .. ".objects")) do
        local object = read_object(r, o, ("%s.objects[%d]"):format(at, k), layer)
        if object.line then add_chain(walls, object, object.line)
        elseif layer.walls and object.area then add_chain(walls, object, corners_of(object.area), true)
        else objects[#objects + 1] = object end
      end
    end
  end
end

local function read_tiled(r, map)
  local objects, walls = {}, {}
  if type(map) ~= "table" or type(map.layers) ~= "table" then r:fail("", "a map of Tiled, with layers, expected") end
  read_layers(r, map.layers, "layers", { x = 0, y = 0 }, map, objects, walls)
  return objects, walls
end

---@class aoi.maps.object
---@field id? integer
---@field name string
---@field class? string
---@field layer string its layer's name
---@field x number in the map's pixels, y downwards: the middle of a box or circle, else where Tiled has it
---@field y number
---@field area? table as `add_node` takes it, nil for a point
---@field properties table by name

--- Reads a map of Tiled, saved or exported as JSON, in its pixels. Polylines are walls. So is everything in a layer
--- that is called "walls", or has that class: the outlines of its objects, or the borders of its tiles, joined where
--- they are straight. All other objects are areas and points. Turned boxes and ellipses are polygons, an ellipse of 32
--- corners.
---@param text string
---@return aoi.maps.object[] objects
---@return number[][] walls x1, y1, x2, y2 each, as `sight:wall` takes them
return function(text)
  local r, map = Reader.new("tiled", text)
  local objects, walls = r:run(read_tiled, map)
  return objects, walls
end

