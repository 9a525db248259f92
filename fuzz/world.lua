-- world.lua: messages of a world of shards that are any bytes.
--
--   1  the whole input is one message: every reader takes it or gives a reason; what was read is consistent
--   2  three shards in a row and two clients, whose messages are damaged, lost, doubled or made up before they are
--      read: none of them raises, and shards stay sound
local input = require "input"
local Shard = require "aoi.skynet.world.shard"
local tiles = require "aoi.skynet.world.tiles"
local wire = require "aoi.skynet.wire"
local reference = require "spec.support.wire_reference"
local world_client = require "spec.support.world_client"

local rest, fail = rest, fail -- luacheck: ignore
local choose, damage = input.choose, input.damage

local PLANS = { tiles.plan { size = { 0, 0, 48, 16 }, reach = 8, tile = 4, shards = { 3, 1 } } }

-- ---- readers ----------------------------------------------------------------------------------------------

local function reason_of(result, reason)
  if result == nil and type(reason) ~= "string" then fail "no reason" end
  return result
end

local function check_moves(message)
  local shard = Shard.new { number = 1, plan = PLANS[1], dimensions = (message:byte(3) or 0) & wire.Z ~= 0 and 3 or 2 }
  local good = reason_of(shard:moves(message))
  local rows, list = pcall(reference.read_moves, message)
  if good and not rows then fail("one reader takes what the other refuses: " .. tostring(list)) end
  shard:close(1)
  shard:shutdown()
end

local function read(message)
  local kind = message:byte(2)
  if kind == 2 then check_moves(message) end
  reason_of(wire.read(message, 3))
end

-- ---- a world ----------------------------------------------------------------------------------------------

local shards, clients, mail, number

local function run_epoch()
  number = number + 1
  local inbox = { {}, {}, {} }
  for _, shard in ipairs(shards) do
    for to, part in pairs(shard:close(number)) do table.insert(inbox[to], part) end
  end
  for i, shard in ipairs(shards) do
    local ok, messages = pcall(shard.apply, shard, number, inbox[i])
    if not ok then fail(tostring(messages)) end
    for client, one in pairs(messages) do mail[#mail + 1] = { client, one } end
  end
end

local function new_client(i, dimensions)
  return world_client {
    number = i, shards = PLANS[1].shards, dimensions = dimensions,
    around = function(...) return shards[1].map:around(...) end,
    ask = function(shard, after, ...)
      local got
      shards[shard]:request(i, after, function(...) got = table.pack(...) end, ...)
      while not got and not input.over do run_epoch() end
      if not got then return false, 0, "it is over" end
      return table.unpack(got, 1, got.n)
    end,
    send = function(shard, message)
      local ok, reason = shards[shard]:moves(damage(message))
      if not ok and type(reason) ~= "string" then fail "no reason" end
      return true
    end,
  }
end

local function nothing() end

local function dimensions_of(client, ...)
  if client.dimensions == 3 then return ..., 1 end
  return ...
end

local function use()
  local client = clients[choose(2) + 1]
  local verb, id = choose(12), choose(10) * (choose(8) == 0 and 5000000000 or 1)
  if verb < 3 then
    pcall(client.enter, client, id, choose(48), dimensions_of(client, choose(16)))
  elseif verb < 7 then
    pcall(client.move, client, id, choose(48), dimensions_of(client, choose(16)))
  elseif verb == 7 then
    pcall(client.leave, client, id)
  elseif verb < 10 then
    pcall(client.add_node, client, id, choose(3), choose(8), { enter = nothing, leave = nothing })
  elseif verb == 10 then
    pcall(client.remove_node, client, id, choose(3))
  else
    pcall(client.flush, client)
  end
end

local function post()
  local letter = table.remove(mail, 1)
  local client = letter and clients[letter[1]]
  if not client then return end
  local routes = letter[2].routes and wire.say(wire.ROUTES, letter[1], letter[2].routes)
  for _, message in pairs { routes, letter[2].events } do reason_of(client:receive(damage(message))) end
  if choose(16) == 15 then table.insert(mail, letter) end
end

local function play()
  local dimensions = choose(4) == 3 and 3 or 2
  shards, clients, mail, number, input.over = {}, {}, {}, 0, false
  for i = 1, 3 do shards[i] = Shard.new { number = i, plan = PLANS[1], dimensions = dimensions } end
  for i = 1, 2 do clients[i] = new_client(i, dimensions) end
  while not input.over do
    local verb = choose(8)
    if verb < 4 then use() elseif verb < 6 then run_epoch() else post() end
  end
  for _, shard in ipairs(shards) do
    local ok, reason = pcall(shard.check, shard)
    if not ok then fail(tostring(reason)) end
    shard:shutdown()
  end
end

return function()
  if choose(2) == 0 then return read(rest()) end
  play()
end
