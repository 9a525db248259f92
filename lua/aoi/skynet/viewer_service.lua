-- The viewer's service: HTTP for pages that show spaces of another service, the owner. viewer_host.lua starts it.
--
--   page --/--> the page    --/stream--> frames: each requested from the owner when the last one is sent
--        --/look--> the selection, which is passed to the owner with the next request

local skynet = require "skynet"
local socket = require "skynet.socket"
local httpd = require "http.httpd"
local sockethelper = require "http.sockethelper"
local gate = require "aoi.viewer.gate"

local owner, address, port, token = ...
owner, port = tonumber(owner), tonumber(port)
local options = { address = address, token = token ~= "-" and token or nil }

local MOST_REQUEST, MOST_PAGES = 8192, 16

require "aoi.skynet.protocol"(nil, skynet.unpack, "aoi_view", skynet.pack)

-- key -> { session; pause: 1/100 seconds to the next frame; query: the last selection; full: the socket has bytes to
-- send }
local pages = {}
local count = 0

local function ask(...) return skynet.call(owner, "aoi_view", ...) end

-- Returns the next event of a page's stream, or nil at its end.
local function next_event(key, page)
  while pages[key] == page do
    skynet.sleep(page.pause)
    if not page.full then
      local query = page.query
      page.query = nil
      local ok, bytes, wait = pcall(ask, "frame", page.session, query)
      if not ok or bytes == nil then return nil end
      page.pause = math.max(1, math.floor(wait * 100))
      if bytes then return gate.event(bytes) end
    end
  end
end

local function answer(id, status, body, kind)
  local headers = { ["content-type"] = kind or "text/plain; charset=utf-8" }
  for name, value in pairs(gate.HEADERS) do headers[name] = value end
  httpd.write_response(sockethelper.writefunc(id), status, body, headers)
end

local function stream(id, query)
  if count >= MOST_PAGES then return answer(id, 503, "too many pages are open\n") end
  local asked, session, why = pcall(ask, "open", query.space)
  if not asked or not session then
    return answer(id, 404, tostring(asked and why or "the service is gone") .. "\n")
  end
  local page = { session = session, pause = 0 }
  pages[query.key], count = page, count + 1
  socket.warning(id, function(_, size) page.full = size > 0 end)
  answer(id, 200, function() return next_event(query.key, page) end, "text/event-stream")
  if pages[query.key] == page then pages[query.key] = nil end
  count = count - 1
  pcall(ask, "close", session)
end

local function one_of(value) return type(value) == "table" and value[1] or value end

local function serve(id)
  socket.start(id)
  local ok, code, url, method, headers = pcall(httpd.read_request, sockethelper.readfunc(id), MOST_REQUEST)
  if not ok or not code then return end
  if code ~= 200 then return answer(id, code, "bad request\n") end
  local plain = {}
  for name, value in pairs(headers) do plain[name] = one_of(value) end
  local what, text = gate.judge(options, method, url, plain)
  if what == "page" then
    answer(id, 200, gate.page(), "text/html; charset=utf-8")
  elseif what == "stream" then
    stream(id, text)
  elseif what == "look" then
    if pages[text.key] then pages[text.key].query = text end
    answer(id, 204, "")
  else
    answer(id, what, text .. "\n")
  end
end

skynet.start(function()
  local listener = socket.listen(address, port)
  socket.start(listener, function(id)
    skynet.fork(function()
      pcall(serve, id)
      socket.close(id)
    end)
  end)
  skynet.dispatch("lua", function(_, _, name)
    if name == "close" then
      socket.close(listener)
      for _, page in pairs(pages) do pcall(ask, "close", page.session) end
      pages = {}
      skynet.ret(skynet.pack(true))
      skynet.exit()
    end
  end)
end)
