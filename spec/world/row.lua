-- row.lua: a row of shards without processes: requests are served at once, and an epoch comes when a spec says so.
--
--   local net = row.new(plan [, options])      plan: of tiles.plan; options of its shards
--   local member, refused = net:client(1)      refused: ids of moves that were
--   net:run(n)                                 epochs; net:close() and net:apply() are the halves of one
--   net:post(member)                           what has been written for the client arrives; returns its packets
local Shard = require "aoi.skynet.world.shard"
local tiles = require "aoi.skynet.world.tiles"
local world_client = require "spec.support.world_client"

local row = {}
local Row = {}
Row.__index = Row

function row.new(plan, options)
  local self = setmetatable({ plan = plan, shards = {}, epoch = 0, mail = {} }, Row)
  for number = 1, plan.shards do
    local given = { number = number, plan = plan }
    for name, value in pairs(options or {}) do given[name] = value end
    self.shards[number] = Shard.new(given)
  end
  return self
end

function Row:close()
  self.epoch, self.parts = self.epoch + 1, {}
  for number in ipairs(self.shards) do self.parts[number] = {} end
  for _, shard in ipairs(self.shards) do
    for to, part in pairs(shard:close(self.epoch)) do table.insert(self.parts[to], part) end
  end
end

function Row:apply()
  for number, shard in ipairs(self.shards) do
    for client, mail in pairs((shard:apply(self.epoch, self.parts[number]))) do
      table.insert(self.mail, { client, mail })
    end
  end
end

function Row:run(n)
  for _ = 1, n or 1 do
    self:close()
    self:apply()
  end
end

-- Requests that wait for an epoch get the next one.
function Row:client(number)
  local refused = {}
  local member = world_client {
    number = number, shards = self.plan.shards, dimensions = 2,
    around = function(...) return tiles.map(self.plan):around(...) end,
    ask = function(shard, after, ...)
      local got
      self.shards[shard]:request(number, after, function(...) got = table.pack(...) end, ...)
      if not got then self:run() end
      return table.unpack(got, 1, got.n)
    end,
    send = function(shard, message) return assert(self.shards[shard]:moves(message)) end,
  }
  member:on_refused(function(ids) for _, id in ipairs(ids) do table.insert(refused, id) end end)
  return member, refused
end

function Row:post(member)
  local packets = {}
  for _, letter in ipairs(self.mail) do
    local mail = letter[2]
    if letter[1] == member.number then
      member:take_mail(mail)
      for i = 1, #(mail.messages and mail.messages.packets or {}), 2 do
        packets[#packets + 1] = (select(4, string.unpack("<I4i8i8s4", mail.messages.packets[i + 1])))
      end
    end
  end
  self.mail = {}
  return packets
end

return row
