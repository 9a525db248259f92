-- Checks of arguments for the modules in Lua; errors are worded as in the standard library.
--
-- `n` counts the arguments as the caller writes them, without self. Errors carry the position of the caller of the
-- function that calls the check: level 3 here.

local aoi = require "aoi"
local core = require "aoi.core.helpers"
local got = require "aoi.got"
local sorted_keys = require "aoi.sorted_keys"

local checks = { FARTHEST = 2 ^ 50 } -- of places and lengths, as in a space

--- Raises "bad argument #n to 'name' (words)".
-- @param level as for `error`, counted from the caller of this function; 2 without it
function checks.fail(n, name, words, level)
  error(("bad argument #%d to '%s' (%s)"):format(n, name, words), (level or 2) + 1)
end

local fail = checks.fail

--- Expects a value of that type.
-- @param level as for `error`, counted from the caller of this function; 2 without it
function checks.type(value, expected, n, name, level)
  if type(value) ~= expected then
    fail(n, name, ("%s expected, got %s"):format(expected, got(value)), (level or 2) + 1)
  end
end

-- Ids and bits are what the space takes: 64 bits, or within 2^53 where Lua has no integers and this is no larger.
local LAST = 9007199254740993 > 2 ^ 53 and 2 ^ 63 or 2 ^ 53

--- Whether a value is an id, or bits, to the space.
function checks.is_integer(value)
  return type(value) == "number" and value % 1 == 0 and value >= -LAST and (value < LAST or value == 2 ^ 53)
end

--- Expects an id; the entity may have left the space.
-- @param level as for `error`, counted from the caller of this function; 3 without it
function checks.id(id, n, name, level)
  if type(id) ~= "number" then fail(n, name, ("integer expected, got %s"):format(got(id)), level or 3) end
  if checks.is_integer(id) then return end
  fail(n, name, ("number has no integer representation: %.14g"):format(id), level or 3)
end

--- An id as exact text: `tostring` rounds large ones where Lua has no integers.
checks.spell = core.spell

--- Expects the id of an entity that is in the space.
function checks.entity(space, id, n, name)
  checks.id(id, n, name, 4)
  checks.open(space, 3)
  if not space:has(id) then fail(n, name, ("no entity %s"):format(checks.spell(id)), 3) end
end

--- The words about a key that is none of the keys of `known`: "unknown option 'colour': 'cell' or 'engine' expected".
function checks.unknown(what, key, known)
  return ("unknown %s '%s': %s"):format(what, tostring(key), core.expected(tostring(key), (sorted_keys(known))))
end

--- Expects nil or a table of options whose names are in `types` and whose values have the types given there.
-- @param level as for `error`, counted from the caller of this function
-- @return the options, a new table for nil
function checks.options(options, types, n, name, level)
  if options == nil then return {} end
  checks.type(options, "table", n, name, level + 1)
  for key, value in pairs(options) do
    if not types[key] then
      fail(n, name, checks.unknown("option", key, types), level + 1)
    elseif type(value) ~= types[key] then
      fail(n, name, ("bad value for option '%s': %s expected, got %s"):format(key, types[key], got(value)), level + 1)
    end
  end
  return options
end

--- Expects the name of an engine, or nil.
-- @param level as for `error`, counted from the caller of this function
function checks.engine(engine, n, name, level)
  local engines = aoi.engines()
  for _, known in ipairs(engines) do
    if engine == nil or engine == known then return end
  end
  local expected = core.expected(tostring(engine), engines, true)
  fail(n, name, ("bad value for option 'engine': %s"):format(expected), level + 1)
end

--- Expects a finite number.
function checks.finite(value, n, name)
  if type(value) == "number" and value - value == 0 then return end
  local what = value ~= value and "nan" or type(value) == "number" and tostring(value) or got(value)
  fail(n, name, "finite number expected, got " .. what, 3)
end

--- Expects no argument at this place. `cure`: what follows in the error, nil for nothing.
-- @param level as for `error`, counted from the caller of this function; 2 without it
function checks.nothing(value, n, name, level, cure)
  if value ~= nil then fail(n, name, "nothing expected, got " .. type(value) .. (cure or ""), (level or 2) + 1) end
end

--- Expects an open space.
-- @param level as for `error`, counted from the caller of this function; 2 without it
function checks.open(space, level)
  if not space:is_open() then error("attempt to use a closed space", (level or 2) + 1) end
end

--- Expects a space, or an object with its methods, as the first argument of a module's `new`.
-- @param module the module itself, which a call with a colon passes by mistake
function checks.space(space, module, name)
  if space == module then error("calling 'new' on bad self (call " .. name .. ".new(space) with a dot)", 3) end
  local ok, method = pcall(function() return space.add_node end)
  if not ok or method == nil then fail(1, "new", ("aoi.space expected, got %s"):format(got(space)), 3) end
  if not space:is_open() then fail(1, "new", "the space is closed", 3) end
end

--- Calls a method of a space. An error about one of its arguments is raised as one about the argument of `name` that is
-- passed there; others, as those of handlers, unchanged.
-- @param name the public function that calls this
-- @param places index of an argument of `method`, self included -> index of the argument of `name`
function checks.call(name, places, method, ...)
  local ok, err, argument = core.call_as(method, nil, 0, ...)
  if ok then return end
  if places[argument] then fail(places[argument], name, err, 3) end
  error(err, 0)
end

--- as_one(space, f, ...): calls f(...), and delivers the events of its calls on the space when it has returned.
function checks.as_one(space, f, ...)
  if type(space) == "userdata" then return core.as_one(space, f, ...) end
  return f(...)
end

--- Calls a function of the core. Returns the error as text, nil and the index of the argument that it is about, if it
--- is about one; or nil and the first result.
function checks.fault(f, ...)
  local ok, result, argument = core.call_as(f, nil, 0, ...)
  if ok then return nil, result end
  return tostring(result), nil, argument
end

--- Whether a value can be called.
function checks.is_callable(value)
  local meta = type(value) ~= "function" and getmetatable(value)
  return type(value) == "function" or type(meta) == "table" and meta.__call ~= nil
end

--- Expects self of a method to be an object of that class: it is not where a dot stands in place of the colon.
-- @param example a correct call, for the message
-- @param level as for `error`, counted from the caller of this function; 2 without it
function checks.self(self, class, name, example, level)
  if type(self) ~= "table" or getmetatable(self) ~= class then
    error(("calling '%s' on bad self (call it with a colon, %s)"):format(name, example), (level or 2) + 1)
  end
end

--- Expects a table to fill, or nil.
function checks.buffer(buf, n, name)
  if buf ~= nil and type(buf) ~= "table" then fail(n, name, "table expected, got " .. type(buf), 3) end
end

--- Calls f(kind, watcher, target, node, i) for each of the n events that `space:drain` returned in a flat array.
function checks.each_event(buf, n, name, f)
  if type(buf) ~= "table" then fail(1, name, "table expected, got " .. got(buf), 3) end
  if type(n) ~= "number" then fail(2, name, "number expected, got " .. got(n), 3) end
  local whole = n % 1 == 0 and n >= 0 and (n == 0 or rawget(buf, 4 * n) ~= nil)
  for i = 1, whole and 4 * n or 0 do whole = whole and type(buf[i]) == "number" end
  if not whole then fail(2, name, ("%.14g events of four values expected in the array"):format(n), 3) end
  for i = 1, 4 * n, 4 do f(buf[i], buf[i + 1], buf[i + 2], buf[i + 3], (i + 3) / 4) end
end

--- end_list(list, n): sets the item behind the nth to nil. A table that is filled again may hold items of an earlier,
--- longer list there: they are removed, so that # is n. Other values in the table stay.
checks.end_list = core.end_list

--- A number that differs between two entities that have the same id one after the other; nil without such an entity.
--- For objects that only have the methods of a space it is `true`.
function checks.life(space, id)
  if type(space) == "userdata" then return core.life(space, id) end
  return space:has(id) or nil
end

--- Whether a value is an open sight of the space.
function checks.is_sight(space, value) return type(space) == "userdata" and core.is_sight(space, value) end

--- The error of `near` for this area at a place, by default the origin; nil if there is none.
function checks.near_fault(space, area, x, y, z)
  if space:dimensions() == 2 then return checks.fault(space.near, space, x or 0, y or 0, area) end
  return checks.fault(space.near, space, x or 0, y or 0, z or 0, area)
end

--- The same for an area with its mask replaced by 0, so that nothing is searched.
function checks.area_fault(space, area)
  local copy = {}
  for name, value in pairs(area) do copy[name] = value end
  copy.mask, copy.outside = 0, nil -- questions take no `outside`
  return checks.near_fault(space, copy)
end

return checks
