-- Options of triggers: their names, their types, and the required ones.
--
-- An option is looked up among those given to `add` or `region`, then beside the handlers, in `handlers[name]`.
-- Errors name the option and where it is given, and carry the position of the caller of `add` or `region`.

local checks = require "aoi.checks"
local core = require "aoi.core.helpers"
local got = require "aoi.got"
local sorted_keys = require "aoi.sorted_keys"

local options = {}

local function positive(v) return type(v) == "number" and v > 0 and v < math.huge end
local function not_negative(v) return type(v) == "number" and v >= 0 end
local function delay(v) return not_negative(v) and v < math.huge end
local function whole(v) return type(v) == "number" and v % 1 == 0 end
local function finite(v) return type(v) == "number" and v - v == 0 end
local function coordinate(v) return finite(v) and math.abs(v) <= checks.FARTHEST end
local function boolean(v) return type(v) == "boolean" end

options.is_whole, options.is_finite, options.is_positive, options.is_delay = whole, finite, positive, delay

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
  facing = { finite, "a finite number" },
  angle = { positive, "a number > 0 and at most 2 pi" },
  points = { list, "a table" },
  rings = { list, "a table" },
  offset = { list, "a table" },
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
}
for _, axis in ipairs { "x", "y", "z" } do KNOWN[axis] = { coordinate, "a number of at most 2^50 either way" } end
for name, check in pairs(AREA) do KNOWN[name] = check end

local HANDLERS = { enter = true, leave = true, cross = true, first = true, last = true, stay = true, dwell = true }

--- Raises an error about one option, nil: about them all.
-- @param name of the trigger
-- @param level as for `error`, counted from the caller of this function
-- @param beside whether the option stands beside the handlers of that name; else it was given to the call
function options.fail(name, option, why, level, beside)
  local where = (beside and "in handlers '%s'" or "of trigger '%s'"):format(tostring(name))
  error(("bad option%s %s (%s)"):format(option and (" '%s'"):format(option) or "s", where, why), level + 1)
end

local fail = options.fail

-- Returns the checked value of one option. Called by functions that `options.read` calls: its caller is level 5.
local function get(from, option)
  local value, beside = from.given[option], false
  if value == nil then value, beside = from.own[option], true end
  local check = KNOWN[option]
  if value ~= nil and not check[1](value) then
    local text = type(value) == "number" and ("%.14g"):format(value) or got(value)
    fail(from.name, option, ("%s expected, got %s"):format(check[2], text), 5, beside)
  end
  return value
end

-- The words about a name that is in none of these tables: what is in them, and the nearest of that.
local function expected(word, ...)
  local names = {}
  for _, known in ipairs { ... } do
    for name in pairs(known) do
      if type(name) == "string" then names[name] = true end
    end
  end
  return next(names) and ": " .. core.expected(tostring(word), (sorted_keys(names))) or ""
end

local function check_names(from)
  for key in pairs(from.given) do
    if not KNOWN[key] then fail(from.name, tostring(key), "unknown" .. expected(key, KNOWN), 4) end
  end
  for key, value in pairs(from.own) do
    if not KNOWN[key] and not HANDLERS[key] then
      fail(from.name, tostring(key), "unknown" .. expected(key, KNOWN, HANDLERS), 4, true)
    end
    if HANDLERS[key] and not checks.is_callable(value) then
      error(("bad handler '%s' in handlers '%s' (function expected, got %s)"):format(key, from.name, type(value)), 4)
    end
  end
end

-- Areas are not merged: if a shape is given to the call, the area beside the handlers is ignored.
local function read_values(from)
  local o, of_area = { area = {} }, from
  if from.given.shape ~= nil then of_area = { given = from.given, own = {}, name = from.name } end
  for option in pairs(KNOWN) do
    if AREA[option] then o.area[option] = get(of_area, option) else o[option] = get(from, option) end
  end
  return o
end

local REQUIRED = "required, among the options or the handlers"

local function is_plain(area)
  for option, value in pairs(area) do
    if option ~= "radius" and option ~= "keep" and option ~= "shape" then return false end
    if type(value) == "number" and value > checks.FARTHEST then return false end
  end
  return area.shape == nil or area.shape == "square" or area.shape == "circle"
end

-- Raises the error of the space for an area, if there is one.
local function check_area(space, area, name)
  if is_plain(area) then
    if not area.radius then fail(name, "radius", REQUIRED, 4) end
    if area.keep and area.keep < area.radius then fail(name, "keep", "a number >= radius expected", 4) end
    return
  end
  local fault = checks.area_fault(space, area)
  if fault then fail(name, nil, fault, 4) end
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
    local why = ("no handlers named '%s'%s"):format(tostring(name), expected(name, set.handlers))
    checks.fail(is_region and 1 or 2, is_region and "region" or "add", why, 3)
  end
  if given ~= nil and type(given) ~= "table" then
    fail(name, nil, "table expected, got " .. got(given), 3)
  end
  local from = { given = given or {}, own = own, name = name }
  check_names(from)
  local o = read_values(from)
  o.area.layers = o.layers
  check_area(set.space, o.area, name)
  o.area.outside = o.outside
  if o.sight and (o.outside or o.linger) then fail(name, "sight", "not beside 'outside' or 'linger'", 3) end
  local barred = own.cross and (o.outside and "outside" or o.sight and "sight")
  if barred then fail(name, barred, "not beside the handler 'cross'", 3) end
  if o.sight and not checks.is_sight(set.space, o.sight) then fail(name, "sight", KNOWN.sight[2] .. " expected", 3) end
  o.enabled = o.enabled ~= false
  o.area.mask = o.enabled and o.mask or not o.enabled and 0 or nil
  if own.stay and not o.interval then fail(name, "interval", "required by the handler 'stay'", 3) end
  if own.dwell and not o.after then fail(name, "after", "required by the handler 'dwell'", 3) end
  if not is_region then
    for _, option in ipairs { "x", "y", "z" } do
      if o[option] then fail(name, option, "only regions have a place: a trigger is where its entity is", 3) end
    end
  else
    if not o.x then fail(name, "x", REQUIRED, 3) end
    if not o.y then fail(name, "y", REQUIRED, 3) end
  end
  o.filter = o.filter and (from.given.filter or true)
  if o.linger == 0 then o.linger = nil end
  if o.enter_after == 0 then o.enter_after = nil end
  o.has_visits = (o.limit or o.cooldown or o.interval or o.after or o.once or o.filter or o.linger or o.enter_after)
    and true or false
  return o
end

return options
