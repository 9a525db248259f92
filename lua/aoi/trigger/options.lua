-- Options of triggers: their names, their types, and the required ones.
--
-- An option is looked up among those given to `add` or `region`, then beside the handlers, in `handlers[name]`.
-- Errors name the option and where it is given, and carry the position of the caller of `add` or `region`.

local checks = require "aoi.checks"
local sights = require "aoi.sight"

local options = {}

local function positive(v) return type(v) == "number" and v > 0 and v < math.huge end
local function not_negative(v) return type(v) == "number" and v >= 0 end
local function delay(v) return not_negative(v) and v < math.huge end
local function whole(v) return type(v) == "number" and v % 1 == 0 end
local function coordinate(v) return type(v) == "number" and v - v == 0 end
local function boolean(v) return type(v) == "boolean" end

options.is_whole, options.is_finite, options.is_positive, options.is_delay = whole, coordinate, positive, delay

local function list(v) return type(v) == "table" end

local SHAPES = { square = true, circle = true, box = true, cylinder = true, sector = true, polygon = true }

-- Options of the area; the space itself checks which of them a shape takes, and their limits.
local AREA = {
  shape = { function(v) return SHAPES[v] end, "'square', 'circle', 'box', 'cylinder', 'sector' or 'polygon'" },
  radius = { not_negative, "a number >= 0" },
  keep = { not_negative, "a number >= radius" },
  margin = { not_negative, "a number >= 0" },
  extents = { list, "a table" },
  half_height = { not_negative, "a number >= 0" },
  facing = { coordinate, "a finite number" },
  angle = { positive, "a number > 0 and at most 2 pi" },
  points = { list, "a table" },
  extents_apply = { boolean, "a boolean" },
}

local KNOWN = {
  mask = { checks.is_integer, "kind bits" },
  layers = { checks.is_integer, "bits" },
  filter = { function(v) return type(v) == "function" end, "a function" },
  interval = { positive, "a number > 0" },
  after = { delay, "a number >= 0" },
  cooldown = { delay, "a number >= 0" },
  linger = { delay, "a number >= 0" },
  enter_after = { delay, "a number >= 0" },
  outside = { boolean, "a boolean" },
  limit = { function(v) return v == math.huge or (whole(v) and v >= 1) end, "a whole number >= 1" },
  once = { boolean, "a boolean" },
  enabled = { boolean, "a boolean" },
  data = { function() return true end },
  sight = { function(v) return type(v) == "userdata" end, "an open sight of the space" },
  x = { coordinate, "a coordinate" }, y = { coordinate, "a coordinate" }, z = { coordinate, "a coordinate" },
}
for name, check in pairs(AREA) do KNOWN[name] = check end

local HANDLERS = { enter = true, leave = true, first = true, last = true, stay = true, dwell = true }

--- Raises an error about one option.
-- @param level as for `error`, counted from the caller of this function
-- @param name of the handlers beside which it is given, nil if it was given to the call
function options.fail(option, why, level, name)
  local where = name and (" in handlers '%s'"):format(tostring(name)) or ""
  error(("bad option '%s'%s (%s)"):format(option, where, why), level + 1)
end

local fail = options.fail

-- Returns the checked value of one option. Called by functions that `options.read` calls: its caller is level 5.
local function get(from, option)
  local value, name = from.given[option], nil
  if value == nil then value, name = from.own[option], from.name end
  local check = KNOWN[option]
  if value ~= nil and not check[1](value) then
    local got = type(value) == "number" and ("%.14g"):format(value) or type(value)
    fail(option, ("%s expected, got %s"):format(check[2], got), 5, name)
  end
  return value
end

local function check_names(from)
  for key in pairs(from.given) do
    if not KNOWN[key] then fail(tostring(key), "unknown", 4) end
  end
  for key, value in pairs(from.own) do
    if not KNOWN[key] and not HANDLERS[key] then fail(tostring(key), "unknown", 4, from.name) end
    if HANDLERS[key] and not checks.is_callable(value) then
      error(("bad handler '%s' in handlers '%s' (function expected, got %s)"):format(key, from.name, type(value)), 4)
    end
  end
end

-- Areas are not merged: if a shape is given to the call, the area beside the handlers is ignored.
local function read_values(from)
  local o, of_area = { area = {} }, from
  if from.given.shape ~= nil then of_area = { given = from.given, own = {} } end
  for option in pairs(KNOWN) do
    if AREA[option] then o.area[option] = get(of_area, option) else o[option] = get(from, option) end
  end
  return o
end

local REQUIRED = "required, among the options or the handlers"

local function is_plain(area)
  for option in pairs(area) do
    if option ~= "radius" and option ~= "keep" and option ~= "shape" then return false end
  end
  return area.shape == nil or area.shape == "square" or area.shape == "circle"
end

-- Raises the error of the space for an area, if there is one.
local function check_area(space, area)
  if is_plain(area) then
    if not area.radius then fail("radius", REQUIRED, 4) end
    if area.keep and area.keep < area.radius then fail("keep", "a number >= radius expected", 4) end
    return
  end
  local fault = checks.area_fault(space, area)
  if fault then error(("bad options (%s)"):format(fault), 4) end
end

--- Reads and checks all options of a trigger. Called by `Triggers:add` and `Triggers:region` themselves.
-- @param set of triggers; `set.handlers[name]` must be there
-- @param name of the trigger
-- @param given the options of this one, or nil
-- @param is_region whether the place, `x`, `y` and `z`, is an option
-- @return a new table: the options by name, `area` as `space:add_node` takes it, and `has_visits`, whether the trigger
--   needs a record for each target. `filter` is true if it is given beside the handlers, to be looked up at each use.
function options.read(set, name, given, is_region)
  local own = set.handlers[name]
  if type(own) ~= "table" then
    local why = ("no handlers named '%s'"):format(tostring(name))
    checks.fail(is_region and 1 or 2, is_region and "region" or "add", why, 3)
  end
  if given ~= nil and type(given) ~= "table" then
    error(("bad options (table expected, got %s)"):format(type(given)), 3)
  end
  local from = { given = given or {}, own = own, name = name }
  check_names(from)
  local o = read_values(from)
  o.area.layers = o.layers
  check_area(set.space, o.area)
  o.area.outside = o.outside
  if o.sight and (o.outside or o.linger) then fail("sight", "not beside 'outside' or 'linger'", 3) end
  if o.sight then
    local ok, probe = pcall(sights.new, set.space, { walls = o.sight })
    if not ok then fail("sight", KNOWN.sight[2] .. " expected", 3) end
    probe:close()
  end
  o.enabled = o.enabled ~= false
  o.area.mask = o.enabled and o.mask or not o.enabled and 0 or nil
  if own.stay and not o.interval then fail("interval", "required by the handler 'stay'", 3) end
  if own.dwell and not o.after then fail("after", "required by the handler 'dwell'", 3) end
  if not is_region then
    for _, option in ipairs { "x", "y", "z" } do
      if o[option] then fail(option, "only regions have a place: a trigger is where its entity is", 3) end
    end
  else
    if not o.x then fail("x", REQUIRED, 3) end
    if not o.y then fail("y", REQUIRED, 3) end
  end
  o.filter = o.filter and (from.given.filter or true)
  if o.linger == 0 then o.linger = nil end
  if o.enter_after == 0 then o.enter_after = nil end
  o.has_visits = (o.limit or o.cooldown or o.interval or o.after or o.once or o.filter or o.linger or o.enter_after)
    and true or false
  return o
end

return options
