--- A running space in a browser: the page of `aoi view`, live.
---
---     local server = require("aoi.viewer").serve(space, { port = 8642 })
---     while running do
---       tick()
---       server:poll()      -- does not block; costs nothing while no page is open
---     end
---
--- The server is read only and listens on 127.0.0.1. It needs LuaSocket; in skynet use `aoi.skynet.viewer_host`. The
--- manual is docs/viewer.md.
--- @module aoi.viewer

local gate = require "aoi.viewer.gate"
local Session = require "aoi.viewer.session"

local viewer = {}

local Server = {}
Server.__index = Server

local MOST_REQUEST = 8192   -- bytes in the head of a request
local REQUEST_TIMEOUT = 10  -- seconds until the request must be complete
local MOST_CLIENTS = 16
local ACCEPT_EVERY = 0.02   -- seconds between two calls of accept; other polls without clients only read the clock

-- ---- connections --------------------------------------------------------------------------------------------------
--
--   client   input: received bytes                out, sent: bytes to send, and the number of those that are sent
--            key, session: of a stream            ends: the connection is closed when `out` is sent

local function send(client, bytes)
  client.out, client.sent = client.out:sub(client.sent + 1) .. bytes, 0
end

local REASONS = { [200] = "OK", [204] = "No Content", [400] = "Bad Request", [403] = "Forbidden", [404] = "Not Found",
  [405] = "Method Not Allowed", [503] = "Service Unavailable" }

-- Without a body the response is a stream: it has no length, and the connection stays open.
local function respond(client, status, kind, body)
  local lines = { ("HTTP/1.1 %d %s"):format(status, REASONS[status]), "content-type: " .. kind .. "; charset=utf-8" }
  if body then lines[3] = "content-length: " .. #body end
  for name, value in pairs(gate.HEADERS) do lines[#lines + 1] = name .. ": " .. value end
  send(client, table.concat(lines, "\r\n") .. "\r\n\r\n" .. (body or ""))
  client.ends = body ~= nil
end

local function open_stream(self, client, query)
  if self.watchers >= MOST_CLIENTS then return respond(client, 503, "text/plain", "too many pages are open\n") end
  client.key, client.session, client.due = query.key, Session.new(self.space, self.options), -math.huge
  self.watchers = self.watchers + 1
  respond(client, 200, "text/event-stream")
end

local function look(self, query)
  for _, client in ipairs(self.clients) do
    if client.key == query.key then client.session:receive(query) end
  end
end

local function on_request(self, client)
  local stop = select(2, client.input:find("\r\n\r\n", 1, true))
  if not stop then
    if #client.input > MOST_REQUEST then respond(client, 400, "text/plain", "the request is too long\n") end
    return
  end
  local method, target = client.input:match("^(%u+) (%S+) HTTP/1%.%d\r\n")
  if not method then return respond(client, 400, "text/plain", "no request of HTTP/1.1\n") end
  local headers = {}
  for name, value in client.input:sub(1, stop):gmatch("\r\n([^:%s]+):[ \t]*([^\r\n]*)") do
    headers[name:lower()] = value
  end
  local what, text = gate.judge(self.options, method, target, headers)
  if what == "page" then
    respond(client, 200, "text/html", gate.page())
  elseif what == "stream" then
    open_stream(self, client, text)
  elseif what == "look" then
    look(self, text)
    respond(client, 204, "text/plain", "")
  else
    respond(client, what, "text/plain", text .. "\n")
  end
end

-- ---- poll ---------------------------------------------------------------------------------------------------------

local function receive(self, client)
  local bytes, why, part = client.socket:receive(16384)
  bytes = bytes or part
  if bytes and #bytes > 0 and not client.ends and not client.session then
    client.input = client.input .. bytes
    on_request(self, client)
  end
  return why ~= "closed"
end

-- Appends a frame if one is due and the last one has been sent.
local function show(self, client, now)
  if client.ends or client.sent < #client.out or now < client.due then return end
  local bytes = client.session:frame(now - self.started)
  client.due = now + client.session:pause(self.interval)
  if bytes then send(client, gate.event(bytes)) end
end

local function transmit(client)
  if client.sent == #client.out then return not client.ends end
  local last, why, part = client.socket:send(client.out, client.sent + 1)
  client.sent = last or part or client.sent
  if client.sent == #client.out then
    client.out, client.sent = "", 0
    if client.ends then return false end
  end
  return why ~= "closed"
end

local function drop(self, i)
  local client = table.remove(self.clients, i)
  client.socket:close()
  if client.session then
    client.session:close()
    self.watchers = self.watchers - 1
  end
end

local function converse(self, client, now)
  if not receive(self, client) then return false end
  if client.session then
    show(self, client, now)
  elseif now > client.deadline then
    return false
  end
  return transmit(client)
end

-- Whether the connection stays. An error here is not the host's to mend (the space is closed, a file of the page is
-- missing): who has asked for something is told, and a stream ends.
local function serve_client(self, client, now)
  local ok, result = pcall(converse, self, client, now)
  if ok then return result end
  if client.session or client.ends then return false end
  return (pcall(respond, client, 503, "text/plain", tostring(result) .. "\n"))
end

local function accept_all(self, now)
  while #self.clients < 4 * MOST_CLIENTS do
    local socket = self.listener:accept()
    if not socket then return end
    socket:settimeout(0)
    socket:setoption("tcp-nodelay", true)
    local client = { socket = socket, input = "", out = "", sent = 0, deadline = now + REQUEST_TIMEOUT }
    self.clients[#self.clients + 1] = client
  end
end

--- Accepts, reads and writes without blocking. To be called once in each iteration of the host's loop.
-- It raises an error for a server that is closed, and for nothing else: a page of a closed space is told 503.
-- @return the number of open pages
function Server:poll()
  if not self.listener then error("attempt to use a closed server", 2) end
  local now = self.now()
  if now >= self.accept_due then
    self.accept_due = now + ACCEPT_EVERY
    accept_all(self, now)
  end
  for i = #self.clients, 1, -1 do
    if not serve_client(self, self.clients[i], now) then drop(self, i) end
  end
  return self.watchers
end

--- Closes the server and its connections. The space is not changed; closing twice is harmless.
function Server:close()
  if not self.listener then return end
  for i = #self.clients, 1, -1 do drop(self, i) end
  self.listener:close()
  self.listener = nil
end

Server.__gc = Server.close
Server.__close = Server.close

--- Shows a space in a browser, live.
-- @param space an aoi space
-- @param options all optional: `port` (8642; 0: any free one), `address` (127.0.0.1), `token` (8 or more letters,
--   digits, `-`, `_`, given in the page's address as `?token=`; required with an address other than the loopback's),
--   `interval` (minimal seconds between two frames, 0.1; with more than 3,000 entities longer, in proportion), `title`
-- @return a server: `server:poll()` once in each loop, `server.url`, `server:close()`; or nil and the reason if it
--   cannot listen on the port
function viewer.serve(space, options)
  if space == viewer then error("calling 'serve' on bad self (call viewer.serve(space) with a dot)", 2) end
  options = options or {}
  local address, port, interval = gate.check(options, 0)
  gate.check_space(space)
  local socket = require "socket"
  local listener, why = socket.bind(address, port)
  if not listener then return nil, ("%s:%d: %s"):format(address, port, why) end
  listener:settimeout(0)
  port = tonumber((select(2, listener:getsockname())))
  return setmetatable({
    space = space, options = options, interval = interval, listener = listener, clients = {}, watchers = 0,
    accept_due = 0, now = socket.gettime, started = socket.gettime(), port = port,
    url = gate.url(address, port, options.token),
  }, Server)
end

return viewer
