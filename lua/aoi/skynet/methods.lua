-- The methods of a map that are those of a space, in one table. From it are built the methods of the client library
-- (aoi.skynet.client), of a map in the caller's own service (aoi.skynet.local), and the requests (aoi.skynet.requests).
--
--   name        of the method, of the request and of the core's method
--   arguments   their names in a string; "name?" may be left out, and "z" is there in three dimensions only
--   fills       may be followed by a table to fill, with so many values for each result; it stays with the client
--   client      "request": the arguments go to the service; "own": written out in client.lua
--   server      "space": the core takes the arguments as they are
--               "node": the first two name a node as clients do, the core knows it by its handle
--               "own": written out in requests.lua
--
--   here        "own": written out in local.lua
--
-- In the caller's own service all others go to the core. `move`, `flush`, `tick`, `seen`, `listen`, `close`, `on_...`
-- are no methods of a space, or other ones: each place has its own.

local methods = {
  -- These change the space.
  { name = "enter", arguments = "id x y z kind?", client = "request", server = "own" },
  { name = "enter_many", arguments = "rows n? kind?", client = "request", server = "own" },
  { name = "leave", arguments = "id", client = "request", server = "own" },
  { name = "move_many", arguments = "rows n?", client = "request", server = "space" },
  {
    name = "add_node", arguments = "id node area on_enter? on_leave? options?", client = "own",
    server = "own", here = "own",
  },
  { name = "remove_node", arguments = "id node", client = "request", server = "own" },
  { name = "set_radius", arguments = "id node radius keep?", client = "request", server = "node" },
  { name = "set_area", arguments = "id node area", client = "request", server = "node" },
  { name = "set_facing", arguments = "id node facing", client = "request", server = "node" },
  { name = "set_mask", arguments = "id node mask", client = "request", server = "node" },
  { name = "override", arguments = "id node target how?", client = "request", server = "node" },
  { name = "set_kind", arguments = "id kind", client = "request", server = "space" },
  -- These do not.
  { name = "view", arguments = "id node", fills = 1, client = "request", server = "node" },
  { name = "viewers", arguments = "id", fills = 2, client = "request", server = "own" },
  { name = "near", arguments = "x y z area mask?", fills = 1, client = "request", server = "space" },
  { name = "nearest", arguments = "x y z n radius? mask?", fills = 1, client = "request", server = "space" },
  { name = "overrides", arguments = "id node", fills = 2, client = "request", server = "node" },
  { name = "area", arguments = "id node", client = "request", server = "own" },
  { name = "explain", arguments = "id node target", client = "own", server = "own" },
  { name = "sees", arguments = "id node target", client = "request", server = "node" },
  { name = "position", arguments = "id", client = "request", server = "space" },
  { name = "kind", arguments = "id", client = "request", server = "space" },
  { name = "radius", arguments = "id node", client = "request", server = "own" },
  { name = "has", arguments = "id", client = "request", server = "space" },
  { name = "count", arguments = "", client = "request", server = "space" },
  { name = "ids", arguments = "", fills = 1, client = "request", server = "space" },
  { name = "nodes", arguments = "id", fills = 1, client = "request", server = "own" },
  { name = "stats", arguments = "", client = "request", server = "space" },
  { name = "check", arguments = "", client = "request", server = "space" },
  -- These are of client views, and of services.
  { name = "add_client", arguments = "id area options?", client = "request", server = "own", here = "own" },
  { name = "remove_client", arguments = "id", client = "request", server = "own", here = "own" },
  { name = "resend", arguments = "id", client = "request", server = "own", here = "own" },
  { name = "pin", arguments = "id target", client = "request", server = "own", here = "own" },
  { name = "unpin", arguments = "id target", client = "request", server = "own", here = "own" },
  { name = "touch", arguments = "id", client = "request", server = "own", here = "own" },
  { name = "set_priority", arguments = "id p", client = "request", server = "own", here = "own" },
  { name = "known", arguments = "id", fills = 1, client = "request", server = "own", here = "own" },
  { name = "knowers", arguments = "id", fills = 1, client = "request", server = "own", here = "own" },
  { name = "broadcast", arguments = "id bytes", client = "request", server = "own", here = "own" },
  { name = "take_over", arguments = "id", client = "request", server = "own", here = "own" },
}

-- How many arguments a method must have.
local function required(method, dimensions)
  local n = 0
  for argument in method.arguments:gmatch "%S+" do
    if argument:sub(-1) ~= "?" and (argument ~= "z" or dimensions == 3) then n = n + 1 end
  end
  return n
end

--- Takes the table to fill from the end of a call's arguments: that table or nil, then the others.
function methods.split(method, dimensions, ...)
  local n = select("#", ...)
  local buf = n > required(method, dimensions) and select(n, ...)
  if type(buf) ~= "table" then return nil, ... end
  local arguments = { ... }
  return buf, table.unpack(arguments, 1, n - 1)
end

--- What follows `true`; what follows `false` is raised. A method returns this call, so that level 2 is its caller.
function methods.results(ok, ...)
  if ok then return ... end
  error((...), 2)
end

local function without_self(ok, ...)
  if ok then return true, ... end
  local err = (...)
  if type(err) == "string" then
    err = err:gsub("^bad argument #(%d+)", function(n) return ("bad argument #%d"):format(n - 1) end)
  end
  return false, err
end

--- Calls the method of that name on a core: true and its results; or false and the error, which counts the arguments as
-- the caller of a method does, without the space itself.
function methods.invoke(core, name, ...) return without_self(pcall(core[name], core, ...)) end

return methods
