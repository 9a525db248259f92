-- Checks of arguments that are not passed to a core, with the core's messages.

local got = require "aoi.got"
local wire = require "aoi.skynet.wire"

local argument = {
  MOST_SECONDS = 1e6, -- skynet counts hundredths of a second in 31 bits
}

--- Level 1 is the caller, as with `error`; 0 adds no position.
function argument.fail(n, name, level, text, ...)
  error(("bad argument #%d to '%s' (%s)"):format(n, name, text:format(...)), level == 0 and 0 or level + 1)
end

--- Raises the core's error about an argument that is one too many; `...` are those from argument n on.
function argument.nothing(n, name, level, ...)
  for i = 1, select("#", ...) do
    local kind = type((select(i, ...)))
    if kind ~= "nil" then
      argument.fail(n + i - 1, name, level == 0 and 0 or level + 1, "nothing expected, got %s", kind)
    end
  end
end

--- Makes methods of a class raise that error, unless it is closed. most: name -> how many arguments each takes.
function argument.limit(class, most)
  for name, n in pairs(most) do
    local f = class[name]
    class[name] = function(self, ...)
      if select("#", ...) > n and not self.closed then argument.nothing(n + 1, name, 2, select(n + 1, ...)) end
      return f(self, ...)
    end
  end
end

--- Returns the value as an integer; a float with a whole value is converted.
function argument.integer(value, n, name, level)
  if math.type(value) == "integer" then return value end
  level = level == 0 and 0 or level + 1
  if not math.type(value) then
    argument.fail(n, name, level, "integer expected, got %s", got(value))
  end
  return math.tointeger(value) or argument.fail(n, name, level, "number has no integer representation: %s", value)
end

--- Checks the reason of `leave`.
function argument.reason(value)
  if value == nil then return nil end
  local reason = argument.integer(value, 2, "leave", 0)
  if reason < 0 or reason > 255 then
    argument.fail(2, "leave", 0, "reason must be 0 to 255, got %s", tostring(value))
  end
  return reason
end

-- copies: table -> its copy, since a table may contain itself.
local function copy(value, copies)
  if type(value) ~= "table" then return value end
  if not copies[value] then
    copies[value] = {}
    for key, one in pairs(value) do copies[value][copy(key, copies)] = copy(one, copies) end
  end
  return copies[value]
end

--- A deep copy, for areas and options that are stored while the caller may change its tables.
function argument.copy(value) return copy(value, {}) end

--- Returns the key of a field in which two values differ: "" if they are no tables, nil if they are equal.
function argument.difference(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a ~= b and "" or nil end
  for _, pair in ipairs { { a, b }, { b, a } } do
    for key, value in pairs(pair[1]) do
      if argument.difference(value, pair[2][key]) then return key end
    end
  end
end

--- Returns the table of options, an empty one for nil. level: as for argument.fail, 0 by default.
function argument.options(n, name, options, level)
  if options ~= nil and type(options) ~= "table" then
    argument.fail(n, name, level and level + 1 or 0, "table expected, got %s", type(options))
  end
  return options or {}
end

--- Splits the options of a client view: returns a copy of those of aoi.sync, then `to` and `fd`.
function argument.view_options(n, name, options)
  local given = argument.copy(argument.options(n, name, options))
  local to, fd = given.to, given.fd
  given.to, given.fd = nil, nil
  return given, to, fd ~= nil and argument.integer(fd, n, name, 0) or nil
end

--- Returns the area of a client view, or a copy of the list of its areas, with the ith area replaced by another.
function argument.with_view(area, i, other)
  if type(area) ~= "table" or area[1] == nil then return other end
  local all = table.move(area, 1, #area, 1, {})
  all[math.tointeger(i)] = other
  return all
end

--- Checks a coordinate, or another number. none: the name of a missing value, "no value" by default.
function argument.finite(value, n, name, none)
  if not math.type(value) then
    argument.fail(n, name, 0, "number expected, got %s", value == nil and none or got(value))
  elseif value - value ~= 0 then
    local what = value ~= value and "nan" or value > 0 and "inf" or "-inf"
    argument.fail(n, name, 0, "finite number expected, got %s", what)
  end
end

--- Checks the coordinates of a place; the first is argument n.
function argument.place(dimensions, n, name, ...)
  for axis = 1, dimensions do
    local value = select(axis, ...)
    argument.finite(value, n + axis - 1, name, axis <= select("#", ...) and "nil" or nil)
    if math.abs(value) > 2 ^ 50 then
      argument.fail(n + axis - 1, name, 0, "number of at most 2^50 either way expected, got %.14g", value)
    end
  end
end

--- Checks n rows, nil: all, of an id and coordinates, `values` numbers each. Returns the number of rows, and values.
function argument.rows(rows, n, values, name)
  local ok, count = wire.call_as(wire.check_rows, name, 0, rows, n, values)
  if not ok then error(count, 0) end
  return count, values
end

return argument
