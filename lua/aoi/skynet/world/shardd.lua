-- The service of one shard; the exchange of its process starts it. All its logic is in aoi.skynet.world.shard.

local skynet = require "skynet"
local Shard = require "aoi.skynet.world.shard"
local is_dead = require "aoi.skynet.world.is_dead"
local protocol = require "aoi.skynet.protocol"

local shard, exchange
local CMD = {}

-- An error in here leaves the shard in no state to go on: it ends, and the exchange sees to a successor.
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
  options.clock = function() return skynet.stat "time" end -- that of the thread, in this message
  if options.journal then
    local file = assert(io.open(("%s.%d"):format(options.journal, options.number), options.term and "ab" or "wb"))
    options.log = function(epoch, line) file:write(string.pack("<I4s4", epoch, line)) end
  end
  shard = Shard.new(options)
  options.plan.owners = nil -- the map has them, one for all shards of the process
  return true
end

function CMD.close(_, epoch)
  step(function() skynet.send(exchange, "lua", "parts", shard.number, shard.term, shard:close(epoch)) end)
end

function CMD.apply(_, ...)
  step(function(...)
    local mail, events = shard:apply(...)
    skynet.send(exchange, "lua", "mail", shard.number, shard.term, mail, events)
  end, ...)
end

function CMD.order(_, ...) shard:order(...) end

local function moves(message, size)
  local ok, reason = shard:moves(message, size)
  if not ok then skynet.error(("aoi: bad moves: %s"):format(reason)) end
end

function CMD.moves(_, message) step(moves, message) end

function CMD.shutdown(_, replaced)
  if shard then shard:shutdown(replaced) end
  skynet.exit()
end

-- Moves are read where they lie: the pointer is good until this returns.
protocol(function(_, _, message, size) step(moves, message, size) end, function(message, size) return message, size end)

skynet.start(function()
  skynet.dispatch("lua", function(session, source, name, ...)
    if name == "request" then
      local response = skynet.response()
      return step(function(client, after, ...)
        shard:request(client, after, function(...) response(true, ...) end, ...)
      end, ...)
    end
    local result = CMD[name](source, ...)
    if session ~= 0 then skynet.ret(skynet.pack(result)) end
  end)
  skynet.info_func(function() return shard and shard:info() end)
end)
