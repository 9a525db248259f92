-- The methods of a map that are those of a space, in one list. From it are built the methods of the client library
-- (aoi.skynet.map, also for a world) and the requests (aoi.skynet.requests). What is done in another way than the list
-- says is written out there.
--
--   name [/values] arguments     "name?" may be left out; "z" is there in three dimensions only. With values, the call
--                                may end with a table to fill, with so many values for each result; it stays with the
-- client
--
-- In requests, methods of `id node` take the node as clients number it, the core's know it by its handle.

local argument = require "aoi.skynet.argument"
local call_as = require("aoi.skynet.wire").call_as

local methods = {}

local LIST = [[

enter id x y z kind?
enter_many rows n? kind?
leave id
move_many rows n?
add_node id node area on_enter? on_leave? options?
remove_node id node
set_radius id node radius keep?
set_area id node area
set_facing id node facing
set_mask id node mask
override id node target how?
set_kind id kind
view/1 id node
viewers/2 id
near/1 x y z area mask?
nearest/1 x y z n radius? mask?
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
set_extent id extent
extent id
set_layers id layers
layers id
attach id carrier? dx? dy? z?
carrier id
passengers/1 id
sweep/2 x y z x y z radius mask?
near_many rows area mask?
add_client id area options?
set_view id i area
set_client id options
put id name value ago?
get id name
remove_client id
resend id
pin id target
unpin id target
touch id
set_priority id p
known/1 id
knowers/1 id
broadcast id bytes
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

--- Calls f(name, arguments, values) for each.
function methods.each(f)
  for name, values, arguments in LIST:gmatch "([%w_]+)/?(%d?) ?([^\n]*)\n" do f(name, arguments, tonumber(values)) end
end

--- The arguments of a method and its values; nil: there is none of that name.
function methods.find(name)
  local values, arguments = LIST:match("\n" .. name .. "/?(%d?) ?([^\n]*)\n")
  return arguments, tonumber(values)
end

-- Method -> how many of its first arguments are integers: ids, numbers of nodes, kinds.
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

-- Method -> how many arguments it may have, without a table to fill. Where z is among them, what reads them counts
-- them; of walls, where there are none is said first.
local MOST = setmetatable({}, { __index = function(most, name)
  local arguments = methods.find(name) or "z"
  local _, n = arguments:gsub("%S+", "")
  most[name] = arguments:find "%f[%w]z%f[%W]" and math.huge or n
  return most[name]
end })

--- As the core does where it is asked: not all methods ask it.
function methods.no_more(name, ...)
  local most = MOST[name]
  for i = most + 1, select("#", ...) do
    local kind = type((select(i, ...)))
    local expected = i == most + 1 and select(2, methods.find(name)) and "table" or "nothing"
    if kind ~= "nil" and kind ~= expected then argument.fail(i, name, 0, "%s expected, got %s", expected, kind) end
  end
end

--- The arguments of a method, its first ones as integers. Raises an error without a position, also where there are more
-- than it has.
function methods.checked(name, ...)
  local n = INTEGERS[name]
  if select("#", ...) > MOST[name] and not name:find "wall" then methods.no_more(name, ...) end
  if n == 0 then return ... end
  return checked(name, n, 1, ...)
end

-- How many arguments a method must have.
local function required(arguments, dimensions)
  local n = 0
  for word in arguments:gmatch "%S+" do
    if word:sub(-1) ~= "?" and (word ~= "z" or dimensions == 3) then n = n + 1 end
  end
  return n
end

--- Takes the table to fill from the end of a call's arguments: that table or nil, then the others.
function methods.split(arguments, dimensions, ...)
  local n = select("#", ...)
  local buf = n > required(arguments, dimensions) and select(n, ...)
  if type(buf) ~= "table" then return nil, ... end
  local all = { ... }
  return buf, table.unpack(all, 1, n - 1)
end

--- What follows `true`; what follows `false` is raised. A method returns this call, so that level 2 is its caller.
function methods.results(ok, ...)
  if ok then return ... end
  error((...), 2)
end

--- The same without a position.
function methods.answered(ok, ...)
  if ok then return ... end
  error((...), 0)
end

--- Calls the method of that name on a core: true and its results; or false and the error, which counts the arguments as
-- the caller of a method does, without the space itself. as: the name of the caller's method, where it is another.
function methods.invoke(core, name, ...) return call_as(core[name], name, 1, core, ...) end

function methods.invoke_as(core, name, as, ...) return call_as(core[name], as, 1, core, ...) end

return methods
