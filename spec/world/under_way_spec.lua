-- Moves that are under way to a shard as that dies on its way to another process. What dies, or moves, without the
-- other is in the histories of recovery_spec.lua and processes_spec.lua.
if not string.pack then return pending "what is under way: needs string.pack of Lua 5.3" end

local director = require "aoi.skynet.world.director"
local network = require "spec.world.network"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local SEED = random_run.seed("world under way")
local GATE = 3 -- the process of the client
local IDS = 8

-- Moves entities until so many epochs are over; returns where they are to be.
local function walk(net, member, random, epochs)
  local at, last = {}, net.exchanges[GATE].epoch + epochs
  for id = 1, IDS do member:enter(id, random() * 64, random() * 64) end
  repeat
    local id = random(IDS)
    at[id] = { random() * 64, random() * 64 }
    member:flush { id, at[id][1], at[id][2] }
    net:sleep(random() * 0.05)
  until net.exchanges[GATE].epoch >= last
  return at
end

-- The former instance dies before it has handed over what it has, or behind that. Called in each of them, it returns
-- the number of epochs until the next time.
local function move_and_kill()
  local moving
  return function(net, random)
    if moving then
      net:kill_shard(moving)
      moving = nil
      return 14
    end
    moving = random(4)
    local to = net.exchanges[GATE].hosts[moving] == 1 and "p2" or "p1"
    director.propose(net.exchanges[GATE], { host = { moving, to } })
    return 2 + random(4)
  end
end

describe("moves to a shard that dies as it goes to another process", function()
  it("arrive, and none is refused", function()
    for run = 1, random_run.runs(6) do
      local net = network.new {
        seed = SEED + run, plan = { size = 64, reach = 10, tile = 8, shards = { 2, 2 } }, processes = { 2, 2, 0 },
        patience = 5, grace = 60, lose = 0.05,
      }
      local member, random, disturb, places = net:member(GATE), rng.new(SEED + run), move_and_kill(), nil
      member:on_refused(function() error "a move is refused" end)
      net:spawn(function() places = walk(net, member, random, 70) end)
      local at = net.exchanges[GATE].epoch + 3
      net:run_until(function()
        if net.exchanges[GATE].epoch >= at then at = net.exchanges[GATE].epoch + disturb(net, random) end
        return places
      end, 200)
      net:run_epochs(GATE, 100) -- shards that move wait until clients have restored what is lost
      local owners = {}
      for _, shard in ipairs(net.shards) do
        shard:check()
        for id in pairs(shard.ents) do
          assert.is_nil(owners[id], "an entity is doubled")
          owners[id] = shard
        end
      end
      for id, place in pairs(places) do assert.same(place, { owners[id].core:position(id) }) end
    end
  end)
end)
