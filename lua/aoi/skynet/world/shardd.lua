-- The service of one shard, started by the exchange of its process (exchanged.lua), which sends it "close" and "apply"
-- in each epoch and gets "parts" and "mail". Clients send requests and moves. The logic is in aoi.skynet.world.shard.

local skynet = require "skynet"
local failures = require "aoi.skynet.failures"
local Shard = require "aoi.skynet.world.shard"
local is_dead = require "aoi.skynet.world.is_dead"
local protocol = require "aoi.skynet.protocol"
local senders = require "aoi.skynet.world.senders"

local shard, exchange
local CMD = {}

-- An error in close or apply leaves the shard in an undefined state: it ends, and the exchange starts a successor.
local function step(f, ...)
  local ok, err = xpcall(f, debug.traceback, ...)
  if ok then return end
  skynet.error(err)
  skynet.send(exchange, "lua", "failed", shard.number, shard.term)
  skynet.exit()
end

function CMD.alive() end

local function watch_exchange(seconds)
  repeat skynet.sleep(math.floor(math.max(1, math.min(seconds, 10) * 100))) until is_dead(exchange)
  CMD.shutdown()
end

function CMD.start(source, options)
  exchange = source
  skynet.fork(watch_exchange, options.heartbeat / 2)
  options.warn = skynet.error
  options.clock = function() return skynet.stat "time" end -- thread time in this message
  if options.journal then
    local file = assert(io.open(("%s.%d"):format(options.journal, options.number), options.term and "ab" or "wb"))
    options.log = function(epoch, line) file:write(string.pack("<I4s4", epoch, line)) end
  end
  shard = Shard.new(options)
  options.plan.owners = nil -- the map has them, shared by all shards of the process
  return true
end

local function report(verb, method, ...)
  skynet.send(exchange, "lua", verb, shard.number, shard.term, method(shard, ...))
end

function CMD.close(_, epoch) step(report, "parts", shard.close, epoch) end

function CMD.apply(_, ...) step(report, "mail", shard.apply, ...) end

function CMD.order(_, ...) shard:order(...) end

function CMD.begin_directory(_, rows) shard:begin_directory(rows) end

local warn = failures.rate_limited(skynet.error, function() return skynet.now() / 100 end)

local function moves(source, message, size)
  local ok, reason = shard:moves(message, size, source ~= exchange and source or nil)
  if not ok then warn("moves", "aoi: bad moves from %s: %s", skynet.address(source), reason) end
end

CMD.moves = moves

function CMD.admit(_, numbers) shard:admit(numbers) end

function CMD.shutdown(_, replaced)
  if shard then shard:shutdown(replaced) end
  skynet.exit()
end

-- Moves are read in place: the pointer is valid until this returns.
protocol(function(_, source, message, size) moves(source, message, size) end,
  function(message, size) return message, size end)

skynet.start(function()
  skynet.dispatch("lua", function(session, source, name, ...)
    if name == "request" and shard and (source == exchange or senders.number(shard, source) == (...)) then
      local response, client, after = skynet.response(), ...
      return shard:request(client, after, function(...) response(true, ...) end, select(3, ...))
    elseif not CMD[name] or exchange and source ~= exchange and name ~= "alive" then
      warn("verb", "aoi: %s may not send '%s' to a shard", skynet.address(source), tostring(name))
      return session ~= 0 and skynet.response()(false)
    end
    local result = CMD[name](source, ...)
    if session ~= 0 then skynet.ret(skynet.pack(result)) end
  end)
  skynet.info_func(function()
    local info = shard and shard:info() or {}
    info.messages_waiting = skynet.mqlen()
    return info
  end)
end)
