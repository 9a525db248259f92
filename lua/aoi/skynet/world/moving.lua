-- Methods of a world that move tiles, shards and processes while it runs: clients ask the exchange (director.move).

local argument = require "aoi.skynet.argument"
local methods = require "aoi.skynet.methods"

-- The type of each argument: n: a number, s: a shard, p: the name of a process.
local METHODS = { assign = "nnnns", host = "sp", drain = "p" }

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
  if type(value) == "string" then return value end
  argument.fail(i, name, 0, "name of a process expected, got %s", value == nil and "no value" or type(value))
end

--- member: the class; requests: as in member.lua. Each method waits until it is done, and returns the epoch.
return function(member, requests)
  --- The grid of tiles: side, column and row of the first tile, how many columns and rows, and `owners`, the shard of
  -- each tile, row by row.
  function member.tiles(self)
    self:check_open()
    local plan, owners = self.map_info(), {}
    for i = 1, plan.columns * plan.rows do owners[i] = string.unpack("<I2", plan.owners, 2 * i - 1) end
    return { tile = plan.tile, column = plan.column, row = plan.row, columns = plan.columns, rows = plan.rows,
             owners = owners }
  end

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
  argument.limit(member, { tiles = 0 })
end
