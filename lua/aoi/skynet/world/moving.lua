-- Moving tiles, shards and processes of a world while it runs, as a client asks its exchange for it: director.lua.

local argument = require "aoi.skynet.argument"
local methods = require "aoi.skynet.methods"

-- Method -> what its arguments are, n: a number, s: a shard, p: the name of a process.
local moving = { METHODS = { assign = "nnnns", merge = "ss", split = "sp", host = "sp", drain = "p" } }

local CHECKS = {}

function CHECKS.n(_, value, i, name)
  argument.finite(value, i, name, 0)
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

--- member, own: as of member.lua. Each method waits until it is done, and returns the epoch.
function moving.add(member, own)
  for name, kinds in pairs(moving.METHODS) do
    own[name] = function(self, ...)
      local list = { ... }
      for i = 1, #kinds do list[i] = CHECKS[kinds:sub(i, i)](self, list[i], i, name) end
      local epoch, reason = self.move_map(name, table.unpack(list, 1, #kinds))
      if not epoch then return false, reason end
      return true, epoch
    end
    member[name] = function(self, ...)
      local epoch = methods.results(self:request(name, ...))
      return epoch
    end
  end
end

return moving
