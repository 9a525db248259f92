-- The requests of live pages and the access control of their servers, for LuaSocket and skynet.
--
--   GET /                                        the page
--   GET /stream?key=K [&space=NAME]              server-sent events: the blocks of a frame in base64 each
--   GET /look?key=K [&watcher=ID] [&target=ID] [&structure=X0,Y0,X1,Y1]     sets the selection of that stream's page
--
-- The server exposes the state of a game: it is read only, and it checks each request.
--
--   address   127.0.0.1 by default; any other address requires a token
--   Host      must name the loopback if the server listens there: against DNS rebinding by a web site
--   Origin    must be that of the page if it is given: no other web site can open a stream from a visitor's browser

local aoi = require "aoi"
local assets = require "aoi.viewer.assets"
local base64 = require("aoi.core.helpers").base64
local checks = require "aoi.checks"

local gate = {}

local LOOPBACK = { ["127.0.0.1"] = true, ["localhost"] = true, ["[::1]"] = true, ["::1"] = true }

--- Whether an address is reachable from this machine only.
function gate.is_loopback(address) return LOOPBACK[address] or address:find("^127%.%d+%.%d+%.%d+$") ~= nil end

-- Compares two strings in a time that does not depend on the position of the first difference.
local function same(a, b)
  local wrong = #a == #b and 0 or 1
  for i = 1, #b do
    if a:byte(i) ~= b:byte(i) then wrong = wrong + 1 end
  end
  return wrong == 0
end

local function name_of(host) return (host:gsub(":%d+$", ""):lower()) end

local OPTIONS = { port = "number", address = "string", token = "string", interval = "number", title = "string" }

local function refuse(option, words)
  checks.fail(2, "serve", ("bad value for option '%s': %s expected"):format(option, words), 4)
end

--- Checks the options of `serve`, which calls this. Errors carry the position of its caller.
-- @param least the lowest allowed port; 0 stands for any free port
-- @return address, port, interval
function gate.check(options, least)
  checks.options(options, OPTIONS, 2, "serve", 3)
  local port, interval = options.port or 8642, options.interval or 0.1
  local address, token = options.address or "127.0.0.1", options.token
  if not (port >= least and port <= 65535 and port % 1 == 0) then refuse("port", ("%d to 65535"):format(least)) end
  if not (interval >= 0 and interval < math.huge) then refuse("interval", "seconds, 0 or more,") end
  if token and (not token:find("^[%w%-_]+$") or #token < 8) then refuse("token", "8 or more letters, digits, -, _") end
  if not gate.is_loopback(address) and not token then
    checks.fail(2, "serve", ("address '%s' is open to others: option 'token' is needed"):format(address), 3)
  end
  return address, port, interval
end

--- Checks the space of `serve` in the same way, before the server listens.
function gate.check_space(space)
  local fault, observer = checks.fault(aoi.observe, space)
  if fault then checks.fail(1, "serve", fault, 3) end
  observer:close()
end

--- The address of the page.
function gate.url(address, port, token)
  local host = address:find(":", 1, true) and "[" .. address .. "]" or address
  return ("http://%s:%d/%s"):format(host, port, token and "?token=" .. token or "")
end

-- "/stream?token=abc&space=map" -> "/stream", { token = "abc", space = "map" }
local function split(target)
  local path, query = target:match("^([^?]*)%??(.*)$")
  local values = {}
  for name, value in query:gmatch("([%w_]+)=([^&]*)") do
    values[name] = value:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
  end
  return path, values
end

--- Checks a request; `headers` by lower-case name. Returns "page", "stream" or "look" and the query's values; or the
-- status and the text of an error.
function gate.judge(options, method, target, headers)
  local path, query = split(target)
  local host, origin = headers.host or "", headers.origin
  if method ~= "GET" then return 405, "only GET" end
  if gate.is_loopback(options.address or "127.0.0.1") and not gate.is_loopback(name_of(host)) then
    return 403, "this server is for its own machine"
  end
  if options.token and not same(query.token or "", options.token) then return 403, "the token is missing or wrong" end
  if path == "/" then return "page", query end
  if path ~= "/stream" and path ~= "/look" then return 404, "there is /, /stream and /look" end
  if origin and origin:lower():gsub("^https?://", "") ~= host:lower() then return 403, "another site's page" end
  if not query.key then return 400, "a stream has a key" end
  return path:sub(2), query
end

--- The page without data, which opens a stream.
function gate.page()
  local head, tail = assets.page()
  return head .. tail
end

--- Converts a frame to an event of a stream.
function gate.event(frame) return "data:" .. base64(frame) .. "\n\n" end

--- Headers of every response.
gate.HEADERS = {
  ["cache-control"] = "no-store", ["x-content-type-options"] = "nosniff", ["referrer-policy"] = "no-referrer",
  ["x-frame-options"] = "DENY", connection = "close",
}

return gate
