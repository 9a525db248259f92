-- The list of the methods of a space that a map has, too. The methods of the client library (aoi.skynet.map, also for a
-- world) and the requests (aoi.skynet.requests) are made from it; methods that differ are written out there.
--
--   name [/values] arguments     "name?" is optional; "z" exists in three dimensions only. With values the call may end
--                                with a table to fill, with so many values for each result; it is not sent
--   id!                          the call changes the entity, or what is on it
--
-- In requests, methods of `id node` are given the client's number of the node; the core's number is the record's.

local argument = require "aoi.skynet.argument"
local call_as = require("aoi.skynet.wire").call_as

local methods = {}

local LIST = [[

enter id x y z kind?
enter_many rows n? kind?
leave id! reason?
jump id! x y z
move_many rows n? bad?
add_node id! node area on_enter? on_leave? options?
remove_node id! node
set_radius id! node radius keep?
set_area id! node area
set_facing id! node facing
set_mask id! node mask
override id! node target how?
set_kind id! kind
view/1 id node
viewers/2 id
near/1 x y z area mask?
nearest/1 x y z n radius? mask? options?
overrides/2 id node
area id node
explain id node target
sees id node target
position id
kind id
radius id node
has id
count
ids/1
nodes/1 id
stats
check
set_extent id! extent
extent id
set_layers id! layers all?
layers id
attach id! carrier? dx? dy? z?
carrier id
passengers/1 id
sweep/2 x y z x y z radius mask?
near_many rows area mask?
add_client id! area options?
set_view id! i area
set_client id! options
put id! name value ago?
get id name
remove_client id!
resend id!
pin id! target
unpin id! target
touch id!
set_priority id! p client?
set_team id! team?
known/1 id
knowers/1 id
broadcast id! bytes
take_over id
wall x y x y z? z?
wall_many/1 rows
open_wall wall
shut_wall wall
remove_wall wall
get_wall wall
walls/1
ray x y z x y z
]]

--- Calls f(name, arguments, values) for each method.
function methods.each(f)
  for name, values, arguments in LIST:gsub("!", ""):gmatch "([%w_]+)/?(%d?) ?([^\n]*)\n" do
    f(name, arguments, tonumber(values))
  end
end

--- The arguments of a method and its values; nil if there is no such method.
function methods.find(name)
  local values, arguments = LIST:match("\n" .. name .. "/?(%d?) ?([^\n]*)\n")
  return arguments and (arguments:gsub("!", "")), tonumber(values)
end

--- Method -> whether it changes the entity that is its first argument.
methods.changes = setmetatable({}, { __index = function(changes, name)
  changes[name] = LIST:find("\n" .. tostring(name) .. "/?%d? id!") ~= nil
  return changes[name]
end })

-- Method -> the number of leading arguments that are integers: ids, numbers of nodes, kinds.
local INTEGERS = setmetatable({ where = 1 }, { __index = function(integers, name)
  local n = 0
  for word in (methods.find(name) or ""):gmatch "%S+" do
    if not (word == "id" or word == "node" or word == "target" or word == "wall" or word == "kind") then break end
    n = n + 1
  end
  integers[name] = n
  return n
end })

local function checked(name, n, i, first, ...)
  if i <= n then first = argument.integer(first, i, name, 0) end
  if i >= n then return first, ... end
  return first, checked(name, n, i + 1, ...)
end

-- Method -> the most arguments, without a table to fill. With z their number depends on the dimensions and is checked
-- by the core.
local MOST = setmetatable({}, { __index = function(most, name)
  local arguments = methods.find(name) or "z"
  local _, n = arguments:gsub("%S+", "")
  most[name] = arguments:find "%f[%w]z%f[%W]" and math.huge or n
  return most[name]
end })

-- Not all methods are passed to the core, which checks their number.
local function check_surplus(name, ...)
  local n, buf = MOST[name] + 1, (select(MOST[name] + 1, ...))
  if buf ~= nil and select(2, methods.find(name)) then
    if type(buf) ~= "table" then argument.fail(n, name, 0, "table expected, got %s", type(buf)) end
    n = n + 1
  end
  argument.nothing(n, name, 0, select(n, ...))
end

--- Returns the arguments of a method, ids as integers. Raises errors, also for surplus arguments, without a position.
function methods.checked(name, ...)
  local n = INTEGERS[name]
  if select("#", ...) > MOST[name] then check_surplus(name, ...) end
  if n == 0 then return ... end
  return checked(name, n, 1, ...)
end

-- The number of required arguments of a method.
local function required(arguments, dimensions)
  local n = 0
  for word in arguments:gmatch "%S+" do
    if word:sub(-1) ~= "?" and (word ~= "z" or dimensions == 3) then n = n + 1 end
  end
  return n
end

--- Splits the arguments of a call: returns the table to fill at their end, or nil, then the other arguments. A nil
-- behind the table is no argument.
function methods.split(arguments, dimensions, ...)
  local n = select("#", ...)
  while n > 0 and select(n, ...) == nil do n = n - 1 end
  local buf = n > required(arguments, dimensions) and select(n, ...)
  if type(buf) ~= "table" then return nil, ... end
  local all = { ... }
  if arguments:find "options%?$" then -- of nearest: behind the table to fill, or known by what they contain
    local before = all[n - 1]
    if type(before) == "table" then
      all[n - 1] = {}
      return before, table.unpack(all, 1, n)
    elseif rawget(buf, "least") ~= nil or rawget(buf, "except") ~= nil then return nil, ... end
  end
  return buf, table.unpack(all, 1, n - 1)
end

--- Returns the values after `true`, or raises the one after `false`. A method returns this call, so that level 2 is its
-- caller.
function methods.results(ok, ...)
  if ok then return ... end
  error((...), 2)
end

--- The same without a position.
function methods.answered(ok, ...)
  if ok then return ... end
  error((...), 0)
end

--- What a request of a client without results returns: true alone, or false and the error.
function methods.done(ok, reason)
  if ok then return true end
  return false, reason
end

--- Calls a method of a core: returns true and its results; or false and the error, with arguments counted without self.
-- as: the name of the method in errors, if it is another.
function methods.invoke(core, name, ...) return call_as(core[name], name, 1, core, ...) end

function methods.invoke_as(core, name, as, ...) return call_as(core[name], as, 1, core, ...) end

return methods
