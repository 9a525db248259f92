-- What is under way to a shard as that dies or moves: the last move of an entity, a node that is being added, a leave.
-- Short histories, many of them, each with one such moment.
if not string.pack then return pending "what is under way: needs string.pack of Lua 5.3" end

local director = require "aoi.skynet.world.director"
local network = require "spec.world.network"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local SEED = random_run.seed("world under way")
local GATE = 3 -- the process of the client
local PLAN = { size = 64, reach = 10, tile = 8, shards = { 2, 2 } }

local IDS = { 1, 2, 3, 4, 5, 6, 7, 8 }

-- Six of them, at the usual length: the client enters all entities and acts, in a coroutine; meanwhile something
-- happens to a shard, again and again, each time so many epochs later as disturb returns; then all is quiet, and what
-- act has returned is judged.
local function histories(seed, act, disturb, judge)
  for run = 1, random_run.runs(6) do
    local net = network.new {
      seed = seed + run, plan = PLAN, processes = { 2, 2, 0 }, patience = 5, grace = 60, lose = 0.05,
    }
    local member, random, outcome = net:member(GATE), rng.new(seed + run), nil
    net:spawn(function()
      for _, id in ipairs(IDS) do member:enter(id, random() * 64, random() * 64) end
      outcome = act(net, member, random) or {}
    end)
    local at = net.exchanges[GATE].epoch + 3
    net:run_until(function()
      if net.exchanges[GATE].epoch >= at then at = net.exchanges[GATE].epoch + disturb(net, random) end
      return outcome
    end, 200)
    net:run_epochs(GATE, 40)
    for _, shard in ipairs(net.shards) do shard:check() end
    judge(net, outcome, member)
  end
end

local function owner_of(net, id)
  local found
  for _, shard in ipairs(net.shards) do
    if shard.ents[id] then
      assert(not found, "an entity is doubled")
      found = shard
    end
  end
  return found
end

-- Moves entities until so many epochs are over; returns where they are to be.
local function walk(epochs, net, member, random)
  local at, last = {}, net.exchanges[GATE].epoch + epochs
  repeat
    local id = IDS[random(#IDS)]
    at[id] = { random() * 64, random() * 64 }
    member:flush { id, at[id][1], at[id][2] }
    net:sleep(random() * 0.05)
  until net.exchanges[GATE].epoch >= last
  return at
end

local function check_places(net, places)
  for id, at in pairs(places) do
    local x, y = owner_of(net, id).core:position(id)
    assert(x == at[1] and y == at[2], "the last move of an entity is lost")
  end
end

local function kill_one(net, random)
  net:kill_shard(random(4))
  return 12
end

local function move_one(net, random)
  local shard = random(4)
  local to = net.exchanges[GATE].hosts[shard] == 1 and "p2" or "p1"
  director.wish(net.exchanges[GATE], { host = { shard, to } })
  return 14
end

-- The former instance dies before it has handed over what it has, or behind that.
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
    director.wish(net.exchanges[GATE], { host = { moving, to } })
    return 2 + random(4)
  end
end

describe("what is under way", function()
  it("to a shard that goes to another process: moves arrive", function()
    histories(SEED, function(...) return walk(70, ...) end, move_one, function(net, places)
      assert(net.moved > 2)
      check_places(net, places)
    end)
  end)

  it("to a shard that dies as it goes to another process: no move is refused", function()
    local refused = 0
    histories(SEED + 400, function(net, member, random)
      member:on_refused(function(_, n) refused = refused + n end)
      return walk(70, net, member, random)
    end, move_and_kill(), function(net, places)
      net:run_epochs(GATE, 60) -- shards that move wait until clients have restored what is lost
      check_places(net, places)
      assert.equal(0, refused)
    end)
  end)

  it("to a shard that dies: the last moves are made again, whoever has handed over the entity", function()
    histories(SEED + 100, function(net, member, random)
      local places = walk(30, net, member, random)
      net:kill_shard(random(4))
      return places
    end, kill_one, check_places)
  end)

  it("to a shard that dies: a node that is being added is the client's", function()
    histories(SEED + 200, function(net, member, random)
      local nodes = {}
      for _ = 1, 120 do
        local id, node = IDS[random(#IDS)], random(3)
        local name = id * 10 + node
        if nodes[name] then member:remove_node(id, node) else member:add_node(id, node, 9, {}) end
        nodes[name] = not nodes[name]
        net:sleep(random() * 0.1)
      end
      return nodes
    end, kill_one, function(net, nodes, member)
      for _, id in ipairs(IDS) do
        local shard = owner_of(net, id)
        for node = 1, 3 do
          local rec = (shard.ents[id].nodes or {})[node]
          assert.equal(nodes[id * 10 + node] or false, rec ~= nil)
          if rec then
            local list, n = shard.core:view(id, rec.number)
            local seen, count = member:seen(id, node)
            table.sort(list)
            table.sort(seen)
            assert.equal(table.concat(list, " ", 1, n), table.concat(seen, " ", 1, count))
          end
        end
      end
    end)
  end)

  it("to a shard that dies: who has left and come again is there once", function()
    histories(SEED + 300, function(net, member, random)
      for _ = 1, 120 do
        local id = IDS[random(#IDS)]
        member:leave(id)
        if random(2) == 1 then net:sleep(random() * 0.1) end
        member:enter(id, random() * 64, random() * 64)
      end
    end, kill_one, function(net, _, member)
      for _, id in ipairs(IDS) do
        assert(owner_of(net, id), "an entity is lost")
        assert.is_true(member.outbox:owns(id) == owner_of(net, id).ents[id].life)
      end
    end)
  end)
end)
