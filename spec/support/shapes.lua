-- shapes.lua: what each shape of an area is, in plain Lua. The formulas stand as the README has them.
--
--   shapes.copy(area)          an area as add_node takes it, a number or a table -> a table of its own, all in doubles
--   shapes.holds(area, w, t, e)   whether a target of extent e at t is inside the area of a watcher at w
--   shapes.holds_still(...)    whether it is inside the grown one, by margin or keep
--
-- Positions are arrays of 2 or 3 doubles.
local bits = require "spec.support.bits"

local shapes = {}

local huge = math.huge
local unpack = table.unpack or unpack -- luacheck: ignore

local function numbers(list)
  if not list then return nil end
  local copy = {}
  for i, v in ipairs(list) do copy[i] = v * 1.0 end
  return copy
end

function shapes.copy(area)
  if type(area) == "number" then area = { radius = area } end
  local copy = { shape = area.shape or "square", mask = area.mask or bits.all, has_mask = area.mask ~= nil }
  copy.layers, copy.outside = area.layers, area.outside or nil
  if area.extents_apply == false then copy.extents_apply = false end
  for _, name in ipairs { "radius", "keep", "margin", "half_height", "facing", "angle" } do
    copy[name] = area[name] and area[name] * 1.0
  end
  copy.extents, copy.offset = numbers(area.extents), numbers(area.offset)
  if area.points or area.rings then copy.rings = {} end
  for i, ring in ipairs(area.rings or { area.points }) do copy.rings[i] = numbers(ring) end
  copy.margin = copy.margin or 0.0
  return copy
end

local function on_every_axis(w, t, extent)
  for axis = 1, #w do
    local e = extent(axis)
    if not (e >= 0 and w[axis] - e <= t[axis] and t[axis] <= w[axis] + e) then return false end
  end
  return true
end

local function within(w, t, radius, axes)
  local sum = 0.0
  for axis = 1, axes do
    local d = t[axis] - w[axis]
    sum = sum + d * d
  end
  return radius >= 0 and sum <= radius * radius
end

local function in_height(a, w, t, margin, extent)
  if #w == 2 then return true end
  local h = ((a.half_height or huge) + margin) + extent
  return h >= 0 and w[3] - h <= t[3] and t[3] <= w[3] + h
end

-- Of squares and circles the grown radius is given, since `keep` names it.
local holds = {}

function holds.square(_, w, t, _, e, radius) return on_every_axis(w, t, function() return radius + e end) end

function holds.circle(_, w, t, _, e, radius) return within(w, t, radius + e, #w) end

function holds.box(a, w, t, margin, e)
  return on_every_axis(w, t, function(axis) return (a.extents[axis] + margin) + e end)
end

function holds.cylinder(a, w, t, margin, e)
  return within(w, t, (a.radius + margin) + e, 2) and in_height(a, w, t, margin, e)
end

function holds.sector(a, w, t, margin, e)
  if not (within(w, t, (a.radius + margin) + e, 2) and in_height(a, w, t, margin, e)) then return false end
  if a.angle == 2 * math.pi then return true end
  local dx, dy = t[1] - w[1], t[2] - w[2]
  local fx, fy, c = math.cos(a.facing), math.sin(a.facing), math.cos(a.angle / 2)
  return dx * fx + dy * fy >= c * math.sqrt(dx * dx + dy * dy)
end

function holds.polygon(a, w, t)
  local dx, dy, inside = t[1] - w[1], t[2] - w[2], false
  for _, p in ipairs(a.rings) do
    local j = #p - 1
    for i = 1, #p, 2 do
      local xi, yi, xj, yj = p[i], p[i + 1], p[j], p[j + 1]
      if (yi > dy) ~= (yj > dy) and dx < (xj - xi) * (dy - yi) / (yj - yi) + xi then inside = not inside end
      j = i
    end
  end
  return inside and in_height(a, w, t, 0.0, 0.0)
end

local function counted(a, e) return a.extents_apply ~= false and e or 0.0 end

-- Where the area of a watcher at w stands.
local function stand(a, w)
  if not a.offset then return w end
  local at = {}
  for axis = 1, #w do at[axis] = w[axis] + a.offset[axis] end
  return at
end

function shapes.holds(a, w, t, e) return holds[a.shape](a, stand(a, w), t, 0.0, counted(a, e), a.radius) end

function shapes.holds_still(a, w, t, e)
  local grown = a.radius and (a.keep or a.radius + a.margin)
  return holds[a.shape](a, stand(a, w), t, a.margin, counted(a, e), grown)
end

-- An offset of zeros is none.
local function stands_off(a)
  for _, v in ipairs(a.offset or {}) do
    if v ~= 0 then return true end
  end
end

-- Fields of an area as `space:area` tells them, for comparing: one text. Of a square or a circle `margin` comes back as
-- the leave radius that it makes.
function shapes.text(area)
  local a = shapes.copy(area)
  local function show(v)
    if type(v) == "table" then
      local list = {}
      for i, x in ipairs(v) do list[i] = ("%.17g"):format(x) end
      return "{" .. table.concat(list, " ") .. "}"
    end
    return v and ("%.17g"):format(v) or "-"
  end
  local text = {
    a.outside and "outside of" or "", a.extents_apply == false and "fixed" or "",
    a.shape, "mask", bits.id(a.mask), "layers", a.layers and bits.id(a.layers) or "-",
  }
  local named = a.shape == "square" or a.shape == "circle"
  local keep, rings = named and (a.keep or a.radius + a.margin) or nil, {}
  for i, ring in ipairs(a.rings or {}) do rings[i] = { "ring", ring } end
  for _, item in ipairs {
    { "radius", a.radius }, { "keep", keep }, { "margin", not named and a.margin or nil },
    { "extents", a.extents }, { "half_height", a.half_height ~= huge and a.half_height or nil },
    { "facing", a.facing }, { "angle", a.angle }, { "offset", stands_off(a) and a.offset or nil }, unpack(rings),
  } do
    text[#text + 1] = item[1] .. " " .. show(item[2])
  end
  return table.concat(text, ", ")
end

return shapes
