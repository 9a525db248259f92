-- The viewer's service: HTTP and WebSocket for pages that look at spaces of another service. viewer_host.lua starts it.
--
--   page --"/"--> the page    page --"/stream"--> frames: each asked for at the owner when the last one has gone

local skynet = require "skynet"
local socket = require "skynet.socket"
local httpd = require "http.httpd"
local sockethelper = require "http.sockethelper"
local websocket = require "http.websocket"
local gate = require "aoi.viewer.gate"
local protocol_id = tonumber(skynet.getenv("aoi_view_ptype")) or 66

local owner, address, port, token = ...
owner, port = tonumber(owner), tonumber(port)
local options = { address = address, token = token ~= "-" and token or nil }

local MOST_REQUEST, MOST_MESSAGE, MOST_PAGES = 8192, 4096, 16

skynet.register_protocol { name = "aoi_view", id = protocol_id, pack = skynet.pack, unpack = skynet.unpack }

local pages = {} -- by socket: { session, text: what the page has said last, full: its buffer is }
local count = 0

local function ask(...) return skynet.call(owner, "aoi_view", ...) end

local function stream(id, page)
  local pause = 0.1
  while pages[id] == page do
    if not page.full then
      local text = page.text
      page.text = nil
      local ok, bytes, wait = pcall(ask, "frame", page.session, text)
      if not ok or bytes == nil then break end
      if bytes and pages[id] == page and not pcall(websocket.write, id, bytes, "binary") then break end
      pause = wait
    end
    skynet.sleep(math.max(1, math.floor(pause * 100)))
  end
  if pages[id] == page then pcall(websocket.close, id, 1001) end
end

local handle = {}

function handle.message(id, text)
  local page = pages[id]
  if page and #text <= MOST_MESSAGE then page.text = text end
end

-- Bytes wait in the socket's buffer, in KB; none any more: 0.
function handle.warning(connection, size)
  local page = pages[connection.id]
  if page then page.full = size > 0 end
end

local function leave(id)
  local page = pages[id]
  if not page then return end
  pages[id], count = nil, count - 1
  pcall(ask, "close", page.session)
end

handle.close, handle.error = leave, leave

function handle.handshake(id) skynet.fork(stream, id, pages[id]) end

local function answer(id, status, body, kind)
  local headers = { ["content-type"] = kind or "text/plain; charset=utf-8" }
  for name, value in pairs(gate.HEADERS) do headers[name] = value end
  pcall(httpd.write_response, sockethelper.writefunc(id), status, body, headers)
end

local function one_of(value) return type(value) == "table" and value[1] or value end

local function serve(id, from)
  socket.start(id)
  local ok, code, url, method, headers = pcall(httpd.read_request, sockethelper.readfunc(id), MOST_REQUEST)
  if not ok or not code then return socket.close(id) end
  if code ~= 200 then
    answer(id, code, "bad request\n")
    return socket.close(id)
  end
  local plain = {}
  for name, value in pairs(headers) do plain[name] = one_of(value) end
  local what, text = gate.judge(options, method, url, plain)
  if what ~= "stream" then
    if what == "page" then
      answer(id, 200, gate.page(), "text/html; charset=utf-8")
    else
      answer(id, what, text .. "\n")
    end
    return socket.close(id)
  end
  if count >= MOST_PAGES then
    answer(id, 503, "too many look already\n")
    return socket.close(id)
  end
  local asked, session, why = pcall(ask, "open", text.space)
  if not asked or not session then
    answer(id, 404, tostring(asked and why or "the service is gone") .. "\n")
    return socket.close(id)
  end
  local page = { session = session }
  pages[id], count = page, count + 1
  websocket.accept(id, handle, "ws", from, { upgrade = { header = plain, method = method, url = url } })
  leave(id)
end

skynet.start(function()
  local listener = socket.listen(address, port)
  socket.start(listener, function(id, from) skynet.fork(serve, id, from) end)
  skynet.dispatch("lua", function(_, _, name)
    if name == "close" then
      socket.close(listener)
      for id in pairs(pages) do
        leave(id)
        pcall(websocket.close, id, 1001)
      end
      skynet.ret(skynet.pack(true))
      skynet.exit()
    end
  end)
end)
