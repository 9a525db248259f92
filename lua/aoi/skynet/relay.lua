-- The local proxy of an AOI service of another node of the cluster: clients send to the relay and call it as if it were
-- the AOI service itself. skynet.newservice("aoi/skynet/relay", node, name)
--
--   client --message, request--> [ up ] ==cluster.call==> aoi.skynet.remote --as the client--> the AOI service
--   client <--message, answer--  <==answer of a cluster.call that waits there==  [ down ]
--
-- There is one call up at a time, and the next one contains everything that arrives meanwhile; one call down waits at
-- the other end until there are messages, at most a heartbeat. So order is kept, and no loss is undetected: a failed
-- call, or three heartbeats of silence, end the connection, and with it the maps of all clients here. If a client ends,
-- the AOI service drops it; the next request after a failure connects again.

local skynet = require "skynet"
local core = require "skynet.core"
local cluster = require "skynet.cluster"
local at_exit = require "aoi.skynet.at_exit"
local protocol = require "aoi.skynet.protocol"
local wire = require "aoi.skynet.wire"

local node, name = ...
local PTYPE_LUA, PTYPE_RESPONSE, PTYPE_ERROR = skynet.PTYPE_LUA, skynet.PTYPE_RESPONSE, skynet.PTYPE_ERROR
local MESSAGE, REQUEST, GONE = wire.PIECE_MESSAGE, wire.PIECE_REQUEST, wire.PIECE_GONE
local SELF = ("%d %d %d"):format(skynet.self(), os.time(), skynet.hpc())

local CONNECT_TIMEOUT = 1500 -- 1/100 s; the other node may hang

local ptype = protocol(function() end)
local connection -- token, heartbeat, up, sending, received_at; nil: there is none
local connecting
local clients = {}  -- handle -> whether the AOI service may have something of it: one of its requests has succeeded
local requests = {} -- handle -> { session = true }

local function call(command, ...) return cluster.call(node, "@" .. name, command, ...) end

-- Answers a request of a client, with the client as the sender: if that is killed with the answer in its queue, skynet
-- sends an error of this session to the sender, which in the relay would be the session of another call.
local function answer(client, kind, session, bytes) return core.redirect(client, client, kind, session, bytes) end

-- Sends BYE to all clients, which closes their maps, and then fails their requests.
local function end_all()
  local lost, failed = clients, requests
  clients, requests = {}, {}
  for handle in pairs(lost) do core.send(handle, ptype, 0, wire.bye(0)) end
  for handle, sessions in pairs(failed) do
    for session in pairs(sessions) do answer(handle, PTYPE_ERROR, session, "") end
  end
end

local function lose(broken, reason)
  if connection ~= broken then return end
  connection = nil
  skynet.error(("aoi: the connection to %s@%s is lost: %s"):format(node, name, tostring(reason)))
  end_all()
end

local function upload(c)
  while connection == c and c.up[1] do
    local pieces = table.concat(c.up)
    c.up = {}
    local ok, err = pcall(call, "relay_up", c.token, pieces)
    if not ok then lose(c, err) end
  end
  c.sending = false
end

local function push(c, what, client, session, bytes)
  c.up[#c.up + 1] = wire.piece(what, client, session, bytes)
  if not c.sending then
    c.sending = true
    skynet.timeout(0, function() upload(c) end)
  end
end

-- Sets whether the AOI service may have something of the client. If not, and if no request waits, the client sends no
-- GONE at its end.
local function note_kept(client, kept)
  clients[client] = kept
  if not kept and next(requests[client] or {}) == nil then clients[client], requests[client] = nil, nil end
end

-- The AOI service has answered a request of the client.
local function settle(client, session, bytes)
  local sessions = requests[client]
  if not sessions then return end
  sessions[session] = nil
  note_kept(client, clients[client] or skynet.unpack(bytes))
end

local function forget(c, client)
  if clients[client] == nil then return end
  clients[client], requests[client] = nil, nil
  push(c, GONE, client, 0, "")
end

-- Passes on pieces of the AOI service: messages for clients, and answers to their requests.
local function take(c, pieces)
  wire.each_piece(pieces, function(what, client, session, bytes)
    local sent
    if what == MESSAGE then
      local kind, _, link = wire.head(bytes)
      if kind == wire.BYE and link == 0 and clients[client] then note_kept(client, false) end
      sent = core.send(client, ptype, 0, bytes)
    else
      settle(client, session, bytes)
      sent = answer(client, PTYPE_RESPONSE, session, bytes)
    end
    if sent == nil then forget(c, client) end
  end)
end

local function download(c)
  while connection == c do
    local ok, pieces = pcall(call, "relay_down", c.token)
    if connection ~= c then return end
    if not ok then return lose(c, pieces) end
    c.received_at = skynet.now()
    take(c, pieces)
  end
end

local function watch(c)
  while connection == c do
    skynet.sleep(100)
    if skynet.now() - c.received_at > 300 * c.heartbeat then lose(c, "silence") end
  end
end

local function connect()
  local ok, token, heartbeat = pcall(call, "relay_hello", SELF)
  if ok then
    connection = { token = token, heartbeat = heartbeat, up = {}, sending = false, received_at = skynet.now() }
    skynet.fork(download, connection)
    skynet.fork(watch, connection)
  end
  connecting = false
end

local function note(client, session)
  clients[client], requests[client] = clients[client] or false, requests[client] or {}
  requests[client][session] = true
end

-- Passes on a request of a client; the first one connects.
local function request(client, session, bytes)
  note(client, session)
  if connection then return push(connection, REQUEST, client, session, bytes) end
  skynet.timeout(0, function()
    if not connection and not connecting then
      connecting = true
      skynet.fork(connect)
    end
    local till = skynet.now() + CONNECT_TIMEOUT
    while connecting and skynet.now() < till do skynet.sleep(1) end
    if connection then
      note(client, session)
      return push(connection, REQUEST, client, session, bytes)
    end
    settle(client, session, skynet.packstring(false))
    answer(client, PTYPE_ERROR, session, "")
  end)
end

local function message(client, bytes)
  if not connection or clients[client] == nil then
    if wire.head(bytes) ~= wire.GONE then core.send(client, ptype, 0, wire.bye(0)) end
  elseif wire.head(bytes) == wire.GONE then
    forget(connection, client)
  else
    push(connection, MESSAGE, client, 0, bytes)
  end
end

skynet.start(function()
  skynet.info_func(function()
    local n = 0
    for _ in pairs(clients) do n = n + 1 end
    return { clients = n, connected = connection and 1 or 0, waiting = connection and #connection.up or 0 }
  end)
  local dispatch, tostring = skynet.dispatch_message, skynet.tostring
  -- Requests and messages are passed on unread.
  core.callback(function(kind, bytes, size, session, source)
    if kind == PTYPE_LUA then
      request(source, session, bytes and tostring(bytes, size) or "")
    elseif kind == ptype then
      message(source, tostring(bytes, size))
    else
      dispatch(kind, bytes, size, session, source)
    end
  end)
  at_exit(end_all)
end)
