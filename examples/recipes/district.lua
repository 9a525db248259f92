-- A city district with a lake in it: 400 corners along the river, and a hole. Taxis pay a toll while they are in it.
local aoi = require "aoi"

-- What aoi.maps.geojson(text) returns for a Polygon: rings around its place; here they are drawn, in metres.
local function ring(corners, radius, waves)
  local points = {}
  for i = 0, corners - 1 do
    local a = 2 * math.pi * i / corners
    local r = radius * (1 + 0.1 * math.sin(waves * a))
    points[2 * i + 1], points[2 * i + 2] = r * math.cos(a), r * math.sin(a)
  end
  return points
end
local zone = { name = "Old Town", x = 5000, y = 2000, rings = { ring(400, 1000, 31), ring(90, 300, 7) } }

local space = aoi.new()
local handlers = { district = { shape = "polygon", rings = zone.rings } }
local triggers = require("aoi.trigger").new(space, handlers, 0)
function handlers.district.enter(_, taxi, district) print(("taxi %d is in %s"):format(taxi, district.data)) end
function handlers.district.leave(_, taxi, district) print(("taxi %d is out of %s"):format(taxi, district.data)) end
triggers:region("district", { x = zone.x, y = zone.y, data = zone.name })

space:enter(7, 3500, 2000)
for _, x in ipairs { 4500, 5000, 5600, 6500 } do -- across the bridge: over the lake it pays nothing
  print("at", x)
  space:move(7, x, 2000)
end

--> at	4500
--> taxi 7 is in Old Town
--> at	5000
--> taxi 7 is out of Old Town
--> at	5600
--> taxi 7 is in Old Town
--> at	6500
--> taxi 7 is out of Old Town
