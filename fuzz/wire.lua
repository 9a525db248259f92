-- wire.lua: messages of the AOI service that are any bytes.
--
--   1  the whole input is one message: every reader takes it or gives a reason; what was read is consistent
--   2  the input is a conversation between a server and a client, in which messages are damaged, lost, doubled or made
--      up: receiving never raises, and whoever is asked properly still answers
local aoi = require "aoi"
local input = require "input"
local inbox_reader = require "spec.support.inbox_reader"
local wire = require "aoi.skynet.wire"
local Server = require "aoi.skynet.server"
local Client = require "aoi.skynet.client"

local rest, fail = rest, fail -- luacheck: ignore
local choose, damage = input.choose, input.damage

-- ---- readers ----------------------------------------------------------------------------------------------

-- EVENTS: what is refused changes nothing; of what is taken a view hears of each target in turn.
local function check_events(message)
  local reader, seen = inbox_reader(1, 2), {}
  for _ = 1, 2 do
    for _, entry in ipairs(reader:read(message) or {}) do
      local sign, key = entry[1], ("%s %s"):format(entry[2], entry[3])
      if sign == "+" or sign == "-" then
        if (seen[key] or false) == (sign == "+") then fail "a target is not heard of in turn" end
        seen[key] = sign == "+" or nil
      end
    end
  end
end

local function check_moves(message)
  local space, refused = aoi.new { delivery = "deferred", dimensions = message:byte(3) & 2 ~= 0 and 3 or 2 }, {}
  for id = 0, 3 do space:enter(id, 0, 0, message:byte(3) & 2 ~= 0 and 0 or nil) end
  local good, bad = wire.apply(space, message, refused)
  if good then
    if bad ~= #refused then fail "ids of refused rows are missing" end
  elseif type(bad) ~= "string" then
    fail "no reason"
  end
  if space:check() ~= true then fail "the space is broken" end
  space:close()
end

local function check_table(message)
  local said, reason = wire.read(message, 1)
  if not said and type(reason) ~= "string" then fail "no reason" end
  if said and #wire.read(wire.say(wire.ROUTES, 1, said), 1) ~= #said then fail "written and read again, it differs" end
end

local function read(message)
  local kind, flags = wire.head(message)
  if not kind then
    if type(flags) ~= "string" then fail "no reason" end
  elseif kind == wire.EVENTS then
    check_events(message)
  elseif kind == wire.MOVES then
    check_moves(message)
  elseif kind == wire.PACKETS then
    wire.read_packets(message, {})
  elseif kind == wire.BROADCAST then
    wire.read_broadcast(message)
  elseif kind == wire.CROSSED then
    wire.read_crossed(message)
  else
    check_table(message)
  end
end

-- ---- a conversation ---------------------------------------------------------------------------------------

local server, client, to_server, to_client, time, spaces

local function begin()
  to_server, to_client, time, spaces, input.over = {}, {}, 0, {}, false
  server = Server.new {
    send = function(_, message) -- nobody there, or a message that cannot be sent, at times
      local b = choose(64)
      if b == 63 then return nil end
      if b == 62 then return false end
      to_client[#to_client + 1] = message
      return true
    end,
    now = function() return time end, clock = function() return 0 end,
    window = 3, max_message = 200, heartbeat = 2,
  }
  client = Client.new {
    send = function(message)
      to_server[#to_server + 1] = message
      return true
    end,
    call = function(...) return server:call(1, ...) end,
  }
end

local function made_up()
  local t = { string.char(2, choose(12), choose(4), ({ 0, 2, 4, 8 })[choose(4) + 1]) }
  for i = 1, choose(40) do t[i + 1] = string.char(choose(256)) end
  return table.concat(t)
end

local function nothing() end
local function dimensions(space, ...)
  if space.dimensions == 3 then return ..., 1 end
  return ...
end

-- Proper use; refusals are Lua errors.
local function use()
  local space = spaces[choose(2) + 1]
  local verb, id, node_id = choose(12), choose(10), choose(3)
  if not space or space.closed then
    local k = choose(2) + 1
    local ok, opened = pcall(client.open, client, "map" .. k, { dimensions = k + 1, drive = choose(2) == 0 })
    if ok then spaces[k] = opened end
  elseif verb < 3 then
    pcall(space.enter, space, id, choose(8), dimensions(space, choose(8)))
  elseif verb < 6 then
    pcall(space.move, space, id, choose(8), dimensions(space, choose(8)))
  elseif verb == 6 then
    pcall(space.leave, space, id)
  elseif verb < 9 then
    pcall(space.add_node, space, id, node_id, choose(6), nothing, nothing)
  elseif verb == 9 then
    pcall(space.remove_node, space, id, node_id)
  elseif verb == 10 then
    pcall(space.flush, space)
  elseif choose(8) == 0 then
    space:close()
  end
end

local function step()
  local verb = choose(16)
  if verb < 6 then
    use()
  elseif verb < 8 then
    server:tick()
  elseif verb == 8 then
    time = time + 1
    server:probe_all()
  elseif verb < 11 then
    local message = table.remove(to_server, 1)
    if message then server:receive(1, damage(message)) end
  elseif verb < 14 then
    local message = table.remove(to_client, 1)
    if message then client:receive(damage(message)) end
  elseif verb == 14 then
    local list = choose(2) == 0 and to_client or to_server
    if list[1] and choose(2) == 0 then table.remove(list, 1) elseif list[1] then table.insert(list, 1, list[1]) end
  elseif choose(2) == 0 then
    server:receive(choose(2) + 1, made_up())
  else
    client:receive(made_up())
  end
end

-- In the end the server still serves: somebody new sees what somebody new enters.
local function finish()
  local heard
  local other = Client.new {
    send = function(message) return server:receive(2, message) end,
    call = function(...) return server:call(2, ...) end,
  }
  server.send = function(address, message)
    if address == 2 then return other:receive(message) end
    return true
  end
  local space = other:open("fresh", { drive = true })
  space:enter(1, 0, 0)
  space:add_node(1, 1, 5, function(_, target) heard = target end)
  space:enter(2, 1, 1)
  space:flush()
  server:tick()
  if heard ~= 2 then fail "the server does not serve any more" end
end

return function()
  if choose(2) == 0 then return read(rest()) end
  begin()
  while not input.over do step() end
  finish()
end
