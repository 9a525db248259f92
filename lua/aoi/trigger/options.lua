-- Options of triggers: which there are, what each may be, and what a trigger needs.
--
-- An option is looked for among those given to `add` or `region`, then beside the handlers, in `handlers[name]`.
-- Errors name the option and carry the position of the caller of `add` or `region`.

local options = {}

local function positive(v) return type(v) == "number" and v > 0 and v < math.huge end
local function not_negative(v) return type(v) == "number" and v >= 0 end
local function delay(v) return not_negative(v) and v < math.huge end
local function whole(v) return type(v) == "number" and v % 1 == 0 end
local function coordinate(v) return type(v) == "number" and v - v == 0 end
local function boolean(v) return type(v) == "boolean" end

options.is_whole, options.is_finite = whole, coordinate

local KNOWN = {
  radius = { not_negative, "a number >= 0" },
  keep = { not_negative, "a number >= radius" },
  mask = { whole, "kind bits" },
  shape = { function(v) return v == "square" or v == "circle" end, "'square' or 'circle'" },
  filter = { function(v) return type(v) == "function" end, "a function" },
  interval = { positive, "a number > 0" },
  after = { delay, "a number >= 0" },
  cooldown = { delay, "a number >= 0" },
  limit = { function(v) return v == math.huge or (whole(v) and v >= 1) end, "a whole number >= 1" },
  once = { boolean, "a boolean" },
  enabled = { boolean, "a boolean" },
  data = { function() return true end },
  x = { coordinate, "a coordinate" }, y = { coordinate, "a coordinate" }, z = { coordinate, "a coordinate" },
}

--- Raises an error about one option.
-- @param level as for `error`, counted from the caller of this function
function options.fail(name, why, level) error(("bad option '%s' (%s)"):format(name, why), level + 1) end

local fail = options.fail

-- The value of one option, checked; `get` is called by `options.read` alone, which makes the caller's level 4.
local function get(given, own, name)
  local value = given[name]
  if value == nil then value = own[name] end
  local check = KNOWN[name]
  if value ~= nil and not check[1](value) then fail(name, check[2] .. " expected", 4) end
  return value
end

--- Reads and checks all options of a trigger. Called by `Triggers:add` and `Triggers:region` themselves.
-- @param handlers the handlers by name; `handlers[name]` must be there
-- @param name of the trigger
-- @param given the options of this one, or nil
-- @param is_region whether the place, `x`, `y` and `z`, is an option
-- @return a new table: the options by name, `area` as `space:add_node` takes it, and `has_visits`, whether the trigger
--   must remember each target. `filter` is true where it stands beside the handlers, to be looked up at each use.
function options.read(handlers, name, given, is_region)
  local own = handlers[name]
  if type(own) ~= "table" then error(("no handlers named '%s'"):format(tostring(name)), 3) end
  if given ~= nil and type(given) ~= "table" then error("bad options (table expected)", 3) end
  given = given or {}
  for key in pairs(given) do
    if not KNOWN[key] then fail(tostring(key), "unknown", 3) end
  end
  local o = {
    mask = get(given, own, "mask"), data = get(given, own, "data"), enabled = get(given, own, "enabled") ~= false,
    interval = get(given, own, "interval"), after = get(given, own, "after"), once = get(given, own, "once"),
    limit = get(given, own, "limit"), cooldown = get(given, own, "cooldown"), filter = get(given, own, "filter"),
  }
  o.area = {
    radius = get(given, own, "radius"), keep = get(given, own, "keep"), shape = get(given, own, "shape"),
    mask = o.enabled and o.mask or not o.enabled and 0 or nil,
  }
  if not o.area.radius then fail("radius", "required", 3) end
  if o.area.keep and o.area.keep < o.area.radius then fail("keep", "a number >= radius expected", 3) end
  if own.stay and not o.interval then fail("interval", "required by the handler 'stay'", 3) end
  if own.dwell and not o.after then fail("after", "required by the handler 'dwell'", 3) end
  if is_region then
    o.x, o.y, o.z = get(given, own, "x"), get(given, own, "y"), get(given, own, "z")
    if not o.x then fail("x", "required", 3) end
    if not o.y then fail("y", "required", 3) end
  end
  o.filter = o.filter and (given.filter or true)
  o.has_visits = (o.limit or o.cooldown or o.interval or o.after or o.once or o.filter) and true or false
  return o
end

return options
