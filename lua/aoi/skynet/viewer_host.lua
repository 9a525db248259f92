-- Shows spaces in a browser, live: the part that runs in the service with the spaces.
--
--   local view = require("aoi.skynet.viewer_host").serve(space, { port = 8642 })     in the service that has the space
--
--   page <--HTTP--> aoi/skynet/viewer_service <--calls--> this service: sessions, one for each page
--
-- The viewer's service requests a frame when the last one is sent. Without a page, nothing runs here.

local skynet = require "skynet"
local gate = require "aoi.viewer.gate"
local Session = require "aoi.viewer.session"

local host = {}

local SILENCE = 30 -- seconds without a request after which a page counts as closed

local served = {} -- address of a viewer's service -> its view: `find`, the options, the sessions
local registered = false

local CMD = {}

local function forget_silent(view)
  while next(view.sessions) do
    skynet.sleep(100 * SILENCE / 2)
    for number, it in pairs(view.sessions) do
      if skynet.now() - it.asked > 100 * SILENCE then CMD.close(view, number) end
    end
  end
  view.watched = false
end

function CMD.open(view, name)
  local space = view.find(name)
  if not space then return nil, ("there is no space '%s'"):format(name or "") end
  view.number = view.number + 1
  local options = { title = view.options.title or name }
  view.sessions[view.number] = { session = Session.new(space, options), asked = skynet.now() }
  if not view.watched then
    view.watched = true
    skynet.fork(forget_silent, view)
  end
  return view.number
end

-- Returns blocks, false if there is no change, nil if the session has ended; and the time until the next frame. Raises
-- an error if the space is closed; the viewer's service then closes the session.
function CMD.frame(view, number, query)
  local it = view.sessions[number]
  if not it then return nil end
  it.asked = skynet.now()
  if query then it.session:receive(query) end
  local start = skynet.hpc()
  local bytes = it.session:frame(skynet.now() / 100)
  view.seconds, view.frames = view.seconds + (skynet.hpc() - start) / 1e9, view.frames + 1
  return bytes or false, it.session:pause(view.interval)
end

function CMD.close(view, number)
  local it = view.sessions[number]
  view.sessions[number] = nil
  if it then it.session:close() end
end

-- An error is an answer: nil and the reason.
local function reply(ok, ...)
  if ok then return skynet.pack(...) end
  return skynet.pack(nil, tostring((...)))
end

local function register()
  if registered then return end
  registered = true
  require "aoi.skynet.protocol"(function(_, source, name, ...)
    local view = served[source]
    if view then
      skynet.ret(reply(pcall(CMD[name], view, ...)))
    else
      skynet.ret(skynet.pack(nil, "nothing is shown"))
    end
  end, skynet.unpack, "aoi_view", skynet.pack)
end

local View = {}
View.__index = View

--- The cost for this service: a table with the number of open `pages`, `frames` made, and the `seconds` spent on them.
function View:stats()
  local pages = 0
  for _ in pairs(self.sessions) do pages = pages + 1 end
  return { pages = pages, frames = self.frames, seconds = self.seconds }
end

--- Ends the viewer's service. Closing twice is harmless.
function View:close()
  if not served[self.service] then return end
  served[self.service] = nil
  for number in pairs(self.sessions) do CMD.close(self, number) end
  pcall(skynet.call, self.service, "lua", "close")
end

--- Shows one or more spaces.
-- @param space an aoi space of this service; or `function(name)` that returns one: the name is that of `?space=NAME` in
--   the page's address, nil without it
-- @param options as for `aoi.viewer.serve`, except for a `port` of 0
-- @return a table: `url`, `service` (its address), `stats()`, `close()`; an error if the port is in use
function host.serve(space, options)
  options = options or {}
  local address, port, interval = gate.check(options, 1)
  local find = type(space) == "function" and space or function() return space end
  if type(space) ~= "function" then gate.check_space(space) end
  register()
  local started, service = pcall(skynet.newservice, "aoi/skynet/viewer_service", skynet.self(), address, port,
    options.token or "-")
  if not started then error(("the viewer cannot listen on %s:%d"):format(address, port), 2) end
  served[service] = setmetatable({
    find = find, options = options, interval = interval, sessions = {}, number = 0, seconds = 0, frames = 0,
    service = service, url = gate.url(address, port, options.token),
  }, View)
  return served[service]
end

return host
