-- crossings.lua: what may be told of a target that goes through an area, by samples of its way. What rounding decides
-- is left open: a place counts as inside, or as outside, if an area a little smaller, or larger, says the same.
--
--   crossings.possible(area, way)   false where the way is surely too far from the area
--   crossings.text(way)             for messages
--   crossings.fault(area, way, t)   what is wrong with a crossing told at t, or with none (t nil); nil: nothing
--
-- A way has w0, t0, w1, t1, the places of watcher and target at both ends as arrays, and the target's extent. The rule
-- decides exactly at the ends: who is inside at one of them crosses nothing.
local shapes = require "spec.support.shapes"

local crossings = {}

local SAMPLES = 30
local ENOUGH = 2 ^ -20 -- of the way

-- The area made smaller or larger.
local function resized(area, by, turned)
  local a = shapes.copy(area)
  for _, name in ipairs { "radius", "half_height" } do a[name] = a[name] and a[name] + by end
  for i, e in ipairs(a.extents or {}) do a.extents[i] = e + by end
  if a.angle and a.angle < 2 * math.pi then
    a.angle = a.angle + turned
    if a.angle < 0 then a.radius = -1.0 end
    a.angle = math.max(0.0, math.min(a.angle, 2 * math.pi))
  end
  a.margin, a.keep, a.offset = 0.0, nil, nil
  return a
end

function crossings.text(way)
  local list = {}
  for i, name in ipairs { "w0", "w1", "t0", "t1" } do list[i] = name .. " " .. table.concat(way[name], ", ") end
  return table.concat(list, "; ") .. ("; extent %.17g"):format(way.extent)
end

-- How near a place comes to the sides of rings; a ring without width has sides and no inside.
local function distance(rings, x, y)
  local best = math.huge
  for _, ring in ipairs(rings) do
    local ax, ay = ring[#ring - 1], ring[#ring]
    for i = 1, #ring, 2 do
      local dx, dy = ring[i] - ax, ring[i + 1] - ay
      local length2 = dx * dx + dy * dy
      local t = length2 > 0 and math.max(0, math.min(1, ((x - ax) * dx + (y - ay) * dy) / length2)) or 0
      best = math.min(best, ((ax + t * dx - x) ^ 2 + (ay + t * dy - y) ^ 2) ^ 0.5)
      ax, ay = ring[i], ring[i + 1]
    end
  end
  return best
end

-- Where the target is, as seen from where the area stands, and the largest number that this was made of.
local function place(area, w, t)
  local at, most = {}, 0
  for axis = 1, #w do
    local offset = area.offset and area.offset[axis] or 0.0
    at[axis] = t[axis] - (w[axis] + offset)
    most = math.max(most, math.abs(t[axis]), math.abs(w[axis]), math.abs(offset))
  end
  return at, most
end

-- How far the area reaches on an axis.
local function reach(area, axis)
  if area.extents then return area.extents[axis] end
  if axis == 3 and area.shape ~= "square" and area.shape ~= "circle" then return area.half_height or math.huge end
  if area.radius then return area.radius end
  local most = 0
  for _, ring in ipairs(area.rings) do
    for i = axis, #ring, 2 do most = math.max(most, math.abs(ring[i])) end
  end
  return most
end

local function ends(area, way)
  local d0, far0 = place(area, way.w0, way.t0)
  local d1, far1 = place(area, way.w1, way.t1)
  return d0, d1, math.max(far0, far1)
end

function crossings.possible(area, way)
  local d0, d1, far = ends(area, way)
  for axis = 1, #d0 do
    local by = reach(area, axis) + math.max(way.extent, 0) + 1e-6 + far * 1e-9
    if math.min(d0[axis], d1[axis]) > by or math.max(d0[axis], d1[axis]) < -by then return false end
  end
  return true
end

function crossings.fault(area, way, t)
  local extent = area.extents_apply == false and 0.0 or way.extent
  for name, w in pairs { w0 = "t0", w1 = "t1" } do
    if shapes.holds(area, way[name], way[w], way.extent) then return t and "inside at one end" or nil end
  end
  if t and not (t > 0 and t < 1) then return "at no place of the way" end
  local d0, d1, far = ends(area, way)
  local origin, length = {}, 0
  for axis = 1, #d0 do
    local by = reach(area, axis)
    origin[axis], length, far = 0.0, length + math.abs(d1[axis] - d0[axis]), math.max(far, by < math.huge and by or 0)
  end
  local slack = 1e-6 + 1e-12 * far
  local turned = area.shape == "sector" and 1e-6 or 0
  local small, large = resized(area, -slack, -turned), resized(area, slack, turned)
  local function surely(s, inside)
    local at = {}
    for axis = 1, #d0 do at[axis] = d0[axis] + s * (d1[axis] - d0[axis]) end
    -- What is told may lie that far from the first place inside.
    local open = inside and slack or slack + ENOUGH * length
    if area.shape == "polygon" and distance(area.rings, at[1], at[2]) < open then return false end
    local near = area.shape == "sector" and math.max(math.abs(at[1]), math.abs(at[2])) < 1e6 * slack
    if near and at[1] ^ 2 + at[2] ^ 2 <= (large.radius + extent) ^ 2 then return false end -- of any angle
    return shapes.holds(inside and small or large, origin, at, extent) == inside
  end
  local last = t and t - ENOUGH or 1
  for i = 1, SAMPLES - 1 do
    local s = i / SAMPLES
    if s < last and surely(s, true) then return ("inside at %.6f already"):format(s) end
  end
  if t and surely(t, false) then return ("outside at %.6f"):format(t) end
end

return crossings
