-- Fences from a CSV file, and vans whose GPS jumps: a visit begins after 30 seconds within and ends after 60 outside.
local aoi = require "aoi"

local CSV = [[
name,lat,lon,metres
depot,52.5200,13.4050,150
customer,52.5300,13.4200,80
]]
local LAT, LON, VAN = 52.52, 13.405, 1

-- Degrees to metres east and north of a place in the middle; good to a metre within some ten kilometres.
local function metres(lat, lon)
  return (lon - LON) * 111320 * math.cos(math.rad(LAT)), (lat - LAT) * 110574
end

local space = aoi.new()
local handlers = { fence = { shape = "circle", enter_after = 30, linger = 60, mask = VAN } }
local triggers = require("aoi.trigger").new(space, handlers, 0)
local function say(van, did, fence) print(("%d s: van %d %s %s"):format(triggers.time, van, did, fence.data)) end
function handlers.fence.enter(_, van, fence) say(van, "is at", fence) end
function handlers.fence.leave(_, van, fence) say(van, "has left", fence) end

for name, lat, lon, radius in CSV:gmatch "([^,\n]+),([%d.]+),([%d.]+),(%d+)" do
  local x, y = metres(tonumber(lat), tonumber(lon))
  triggers:region("fence", { x = x, y = y, radius = tonumber(radius), data = name })
end

local function report(second, lat, lon)
  triggers:update(second)
  local x, y = metres(lat, lon)
  if space:has(7) then space:move(7, x, y) else space:enter(7, x, y, VAN) end
end
report(0, 52.5201, 13.4051)
report(40, 52.5230, 13.4051) -- a jump
report(50, 52.5202, 13.4051)
report(200, 52.5300, 13.4199) -- it drives past the customer, and stops on the way back
report(220, 52.5330, 13.4260)
report(300, 52.5301, 13.4201)
report(400, 52.5400, 13.4400)
triggers:update(500)

--> 30 s: van 7 is at depot
--> 260 s: van 7 has left depot
--> 330 s: van 7 is at customer
--> 460 s: van 7 has left customer
