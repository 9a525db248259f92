-- Methods of a world that move tiles, shards and processes while it runs: clients ask the exchange (director.move).

local argument = require "aoi.skynet.argument"
local balance = require "aoi.skynet.world.balance"
local methods = require "aoi.skynet.methods"

-- The type of each argument: n: a number, s: a shard, p: the name of a process.
local METHODS = { assign = "nnnns", merge = "ss", split = "sp", host = "sp", drain = "p" }

local CHECKS = {}

function CHECKS.n(_, value, i, name)
  argument.finite(value, i, name)
  return value
end

function CHECKS.s(self, value, i, name)
  local shard = argument.integer(value, i, name, 0)
  if shard < 1 or shard > self.shards then argument.fail(i, name, 0, "the world has %d shards", self.shards) end
  return shard
end

function CHECKS.p(_, value, i, name)
  if value == nil and name == "split" or type(value) == "string" then return value end
  argument.fail(i, name, 0, "name of a process expected, got %s", value == nil and "no value" or type(value))
end

local function start_balance(self, f, seconds)
  if f and type(f) ~= "function" then argument.fail(1, "balance", 0, "function expected, got %s", type(f)) end
  seconds = seconds == nil and balance.INTERVAL or seconds
  argument.finite(seconds, 2, "balance")
  if seconds <= 0 then argument.fail(2, "balance", 0, "seconds above 0 expected, got %s", seconds) end
  if seconds > argument.MOST_SECONDS then
    argument.fail(2, "balance", 0, "at most %d seconds expected, got %s", argument.MOST_SECONDS, seconds)
  end
  if self.closed then error(self:closed_text(), 0) end
  balance.start(self, f, seconds)
end

--- member: the class; requests: as in member.lua. Each method waits until it is done, and returns the epoch.
return function(member, requests)
  --- Every so many seconds f(info) returns a list of what `assign` takes; nil: balance.even; false: no more.
  function member.balance(self, ...) return methods.results(pcall(start_balance, self, ...)) end
  for name, kinds in pairs(METHODS) do
    requests[name] = function(self, ...)
      local list = { ... }
      for i = 1, #kinds do list[i] = CHECKS[kinds:sub(i, i)](self, list[i], i, name) end
      local epoch, reason = self.move_map(name, table.unpack(list, 1, #kinds))
      if not epoch then return false, reason end
      return true, epoch
    end
    member[name] = function(self, ...)
      return methods.results(self:request(name, ...))
    end
    argument.limit(member, { [name] = #kinds })
  end
  argument.limit(member, { balance = 2 })
end
