-- Handlers as arguments: of nodes, and of other events of a map. They are checked when they are given, because a wrong
-- field would cause no error later.

local argument = require "aoi.skynet.argument"

local handlers = {}

local function callable(value)
  return value == nil or type(value) == "function" or (getmetatable(value) or {}).__call ~= nil
end

--- Expects a table of handlers: empty (its fields may be set later), or with `enter`, `leave` or `cross`.
function handlers.check_table(t, n, name, level)
  level = level + 1
  if type(t) ~= "table" then argument.fail(n, name, level, "table expected, got %s", type(t)) end
  local looked_up = getmetatable(t) -- __index may provide the handlers
  if not looked_up and t.enter == nil and t.leave == nil and t.cross == nil and next(t) ~= nil then
    argument.fail(n, name, level, "a table of handlers has 'enter', 'leave' or 'cross', and not '%s'",
      tostring((next(t))))
  end
  for _, field in ipairs { "enter", "leave", "cross" } do
    local f = rawget(t, field)
    if f and not callable(f) then
      argument.fail(n, name, level, "function expected for '%s', got %s", field, type(f))
    end
  end
end

local OPTIONS = { positions = "boolean", to = "number", sight = "boolean", linger = "number" }

local function check_options(options, n, level)
  level = level or 4
  for key, value in pairs(argument.options(n, "add_node", options, level)) do
    if not OPTIONS[key] then argument.fail(n, "add_node", level, "unknown option '%s'", tostring(key)) end
    if type(value) ~= OPTIONS[key] then
      argument.fail(n, "add_node", level, "bad value for option '%s' (a %s expected)", key, OPTIONS[key])
    end
  end
  return options
end

local MOST_HEIRS = 16

-- Whether the table has a handler of crossings as it is added, or inherits one from tables, as the core has it.
local function has_cross(t)
  for _ = 1, MOST_HEIRS do
    if rawget(t, "cross") ~= nil then return true end
    t = (getmetatable(t) or {}).__index
    if type(t) ~= "table" then return false end
  end
end

-- The options of a node with that table of handlers: those given, and `crosses`.
local function options_of(t, options, n)
  check_options(options, n, 5)
  if not has_cross(t) then return options end
  local all = { crosses = true }
  for key, value in pairs(options or {}) do all[key] = value end
  if not all.to then return all end
  argument.fail(4, "add_node", 4, "handler 'cross': crossings are told to no other service, as 'to' names one")
end

-- on_enter -> the last table made of it and an on_leave. Nodes that are added with the same two functions share it, so
-- that it is more often in the cache.
local tables = setmetatable({}, { __mode = "v" })

local function table_of(on_enter, on_leave)
  local key = on_enter or on_leave or handlers
  local t = tables[key]
  if not t or t.enter ~= on_enter or t.leave ~= on_leave then
    t = { enter = on_enter, leave = on_leave }
    tables[key] = t
  end
  return t
end

--- Checks the arguments of add_node behind the area. Returns a table of handlers, and the options or nil. Errors carry
-- the position of the caller of the function that calls this.
function handlers.arguments(on_enter, on_leave, options, ...)
  argument.nothing(7, "add_node", 3, ...)
  if type(on_enter) == "table" and not callable(on_enter) then
    handlers.check_table(on_enter, 4, "add_node", 3)
    if on_leave == nil then return on_enter, options_of(on_enter, options, 6) end
    argument.nothing(6, "add_node", 3, options)
    return on_enter, options_of(on_enter, on_leave, 5)
  elseif not callable(on_enter) then
    argument.fail(4, "add_node", 3, "function or table expected, got %s", type(on_enter))
  elseif not callable(on_leave) then
    argument.fail(5, "add_node", 3, "function expected, got %s", type(on_leave))
  end
  return table_of(on_enter, on_leave), check_options(options, 6)
end

--- Adds on_error and so on to a class, which store the function in `error_handler` and so on.
function handlers.setters(class, names)
  for _, name in ipairs(names) do
    local setter = "on_" .. name
    class[setter] = function(self, f, ...)
      argument.nothing(2, setter, 2, ...)
      if not callable(f) then argument.fail(1, setter, 2, "function expected, got %s", type(f)) end
      self[name .. "_handler"] = f
    end
  end
end

return handlers
