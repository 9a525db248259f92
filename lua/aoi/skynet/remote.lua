-- The relays of other nodes (aoi.skynet.relay), at the side of the AOI service. The address of a client behind a relay
-- consists of the relay's token and the client's handle; for the server it is a subscriber like any other.
--
--   relays[token]    down: pieces to send; response: answers the pending call of the relay; received_at: time of its
--                    last call

local skynet = require "skynet"
local wire = require "aoi.skynet.wire"

local MESSAGE, REQUEST, GONE = wire.PIECE_MESSAGE, wire.PIECE_REQUEST, wire.PIECE_GONE

local Remote = {}
Remote.__index = Remote

--- `server`, of aoi.skynet.server, and its `heartbeat` are set by the caller.
function Remote.new() return setmetatable({ relays = {}, token = 0 }, Remote) end

--- Whether the address is that of a client behind a relay.
function Remote.has(address) return address > 0xffffffff end

local function bring_down(relay)
  relay.flushing = false
  local response, pieces = relay.response, relay.down
  if not response then return end
  relay.response, relay.down = nil, {}
  response(true, table.concat(pieces))
end

local function push(relay, what, client, session, bytes)
  relay.down[#relay.down + 1] = wire.piece(what, client, session, bytes)
  if not relay.flushing then
    relay.flushing = true
    skynet.timeout(0, function() bring_down(relay) end)
  end
end

--- As the server's option `send`.
function Remote:send(address, message)
  local relay = self.relays[address >> 32]
  if not relay then return nil end
  push(relay, MESSAGE, address & 0xffffffff, 0, message)
  return true
end

-- Drops a relay that has ended, and its clients.
local function drop(self, relay)
  self.relays[relay.token] = nil
  if relay.response then relay.response(false) end
  local gone = {}
  for address in pairs(self.server.subscribers) do
    if address >> 32 == relay.token then gone[#gone + 1] = address end
  end
  for _, address in ipairs(gone) do self.server:drop(address) end
end

local function take(self, relay, pieces)
  wire.each_piece(pieces, function(what, client, session, bytes)
    local address = relay.token << 32 | client
    if what == MESSAGE then
      self.server:receive(address, bytes)
    elseif what == GONE then
      self.server:drop(address)
    else
      push(relay, REQUEST, client, session, skynet.packstring(self.server:call(address, skynet.unpack(bytes))))
    end
  end)
end

local CMD = {}

function CMD.relay_hello(self, id)
  for _, relay in pairs(self.relays) do
    if relay.id == id then drop(self, relay) end -- it connects again
  end
  self.token = self.token + 1
  self.relays[self.token] = { token = self.token, id = id, down = {}, received_at = skynet.now() }
  skynet.ret(skynet.pack(self.token, self.heartbeat))
end

function CMD.relay_up(self, token, pieces)
  local relay = assert(self.relays[token], "unknown relay")
  relay.received_at = skynet.now()
  take(self, relay, pieces)
  skynet.ret(skynet.pack(true))
end

function CMD.relay_down(self, token)
  local relay = assert(self.relays[token], "unknown relay")
  relay.received_at = skynet.now()
  relay.response = skynet.response()
  if relay.down[1] then bring_down(relay) end
end

--- Executes a command of a relay; returns false for other commands.
function Remote:command(name, ...)
  if not CMD[name] then return false end
  CMD[name](self, ...)
  return true
end

--- To be called about every second: answers calls that have waited for half a heartbeat, and drops silent relays.
function Remote:beat()
  local now = skynet.now()
  for _, relay in pairs(self.relays) do
    local silent = (now - relay.received_at) / 100
    if silent > 3 * self.heartbeat then
      drop(self, relay)
    elseif relay.response and silent >= self.heartbeat / 2 then
      bring_down(relay)
    end
  end
end

--- Fails the pending calls when the service is closed.
function Remote:close()
  for _, relay in pairs(self.relays) do
    if relay.response then pcall(relay.response, false) end
  end
end

return Remote
