-- A process that dies ends the world for itself alone, and no barrier waits for ever while more than half are left.
-- It may come back (processes_spec.lua). Shards have successors (recovery_spec.lua), but one that dies again and again
-- ends the world. A client that leaves takes along only what it has entered. And a pause is only a pause.
if not string.pack then return pending "the end of a world: needs string.pack of Lua 5.3" end

local director = require "aoi.skynet.world.director"
local network = require "spec.world.network"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local SEED = random_run.seed("world deaths")
local PLAN = { size = 64, reach = 10, tile = 8, shards = { 2, 2 } }
local HEARTBEAT = 1 -- seconds: the patience of the network below

local new_network = network.with { seed = SEED, plan = PLAN, processes = { 2, 2 }, patience = HEARTBEAT }

-- Clients that move what they have for as long as the world lasts; each notes how it ended.
local function busy(net, count)
  local members = {}
  for i = 1, count do
    local member, random = net:member(i % #net.processes + 1), rng.new(SEED + i)
    members[i] = member
    member:on_close(function(reason) member.ended_at, member.ended = net.time, reason end)
    net:spawn(function()
      local ok, err = pcall(function()
        for id = 10 * i, 10 * i + 9 do
          member:enter(id, random() * 64, random() * 64)
          member:add_node(id, 1, 9, {})
        end
        while true do
          for id = 10 * i, 10 * i + 9 do member:move(id, random() * 64, random() * 64) end
          member:flush()
          member:has(random(10 * count))
          member:tick()
        end
      end)
      member.raised = not ok and tostring(err)
    end)
  end
  return members
end

-- `except`: the process that is dead.
local function all_ended(net, members, except)
  for _, member in ipairs(members) do
    if member.process ~= except and not (member.ended and member.raised) then return false end
  end
  for index in ipairs(net.processes) do
    if index ~= except and not net.ended[index] then return false end
  end
  return true
end

-- All others go on, and have what the dead process had.
local function others_go_on(net, members, except, seconds)
  net:run_epochs(3, 4, seconds)
  for _, member in ipairs(members) do
    assert(member.process == except or not (member.ended or member.raised), member.ended or member.raised)
  end
end

describe("the end of a process", function()
  local function three(seed)
    return new_network { seed = seed, processes = { 2, 2, 0 }, nodes = { p1 = 2, p2 = 2, p3 = 0 } }
  end

  it("or of its exchange is none of the others: they have its shards within a heartbeat and a second", function()
    for run = 1, random_run.runs(15) do
      local net, victim = three(SEED + run), run % 2 + 1
      local members = busy(net, 4)
      net:run(2 + run / 7)
      if run % 3 == 0 then net:kill_exchange(victim) else net:kill_process(victim) end
      others_go_on(net, members, victim, HEARTBEAT + 1)
      net:run(1)
      for number, shard in ipairs(net.shards) do
        assert.equal(3 - victim, net.exchanges[3].hosts[number])
        for _, ent in pairs(shard.ents) do assert.not_equal(victim - 1, math.floor(ent.client / 2 ^ 24)) end
      end
      assert.same({}, net.ended)
    end
  end)

  it("is the end of its exchange by an error: in its clock, with the second item of a batch, in an answer", function()
    local breaks = {
      function(net) net.exchanges[2].processes = nil end,
      function(net)
        net.exchanges[1].lines[2]:put { "alive" }
        net.exchanges[1].lines[2]:put { "no such item" }
      end,
      function(net) net.exchanges[2].counters = nil end,
    }
    for run, break_it in ipairs(breaks) do
      local net = three(SEED + run)
      local members = busy(net, 4)
      net:run(2)
      break_it(net)
      others_go_on(net, members, 2, HEARTBEAT + 1)
      assert.same({ [2] = "the exchange of this process has failed" }, net.ended)
    end
  end)

  it("is found when it has stood still for longer than option silence; it ends when it is told", function()
    local net = three(SEED)
    for _, exchange in ipairs(net.exchanges) do
      for _, line in pairs(exchange.lines) do line.silence = 2 end
    end
    local members = busy(net, 3)
    net:run(2)
    net.stopped[2] = true
    others_go_on(net, members, 2, 4)
    net.stopped[2] = nil
    net:run_until(function() return net.ended[2] end, 5)
    assert.matches("taken this process for dead", net.ended[2])
    others_go_on(net, members, 2, 1)
  end)
end)

describe("two processes that do not reach each other,", function()
  it("while all others reach both: the later one ends, and no other", function()
    for run = 1, random_run.runs(10) do
      local net = new_network { seed = SEED + run, processes = { 1, 1, 1, 1 } }
      local pair = ({ { 1, 3 }, { 2, 3 }, { 3, 4 } })[run % 3 + 1]
      local members = busy(net, 4)
      net:run(2 + run / 7)
      net:tear { [pair[1]] = true, [pair[2]] = true }
      net:run_until(function() return net.ended[pair[2]] end, 3 * HEARTBEAT)
      net:run_epochs(pair[1], 11, 3)
      for index = 1, 4 do assert.equal(index == pair[2], net.ended[index] ~= nil) end
      for _, member in ipairs(members) do assert(member.process == pair[2] or not member.ended, member.ended) end
    end
  end)
end)

describe("the end of a world", function()
  it("comes to everybody, in all processes, when a shard and its successors die again and again", function()
    for run = 1, random_run.runs(5) do
      local net = new_network { seed = SEED + run }
      for _, exchange in ipairs(net.exchanges) do exchange.most_deaths = 2 end
      local members = busy(net, 4)
      for death = 1, 3 do
        assert.same({}, net.ended)
        net:run(2 + run / 7)
        net:kill_shard(3)
        if death < 3 then net:run_until(function() return net.deaths == death end, 2 * HEARTBEAT) end
      end
      net:run_until(function() return all_ended(net, members) end, 2 * HEARTBEAT)
      for _, member in ipairs(members) do
        assert(member.ended:find("shard 3 in process 'p2' has died 3 times in a minute", 1, true), member.ended)
      end
    end
  end)

  it("answers what waits for the map or for walls to change, whatever has been done of it", function()
    local closed = 0
    for run = 1, random_run.runs(20) do
      local net = new_network { seed = SEED + run, processes = { 2, 2, 0 }, sight = true }
      for _, call in ipairs {
        { 1, "wall", 1, 1, 2, 2 }, { 2, "wall_many", { 3, 3, 4, 4 } }, { 3, "open_wall", 7 },
        { 2, "assign", 0, 0, 32, 32, 2 }, { 1, "assign", 0, 0, 64, 64, 3 }, { 3, "assign", 32, 32, 64, 64, 2 },
        { 1, "host", 1, "p2" }, { 2, "host", 4, "p1" },
      } do
        local member = net:member(call[1])
        net:spawn(function()
          local ok, reason = pcall(member[call[2]], member, table.unpack(call, 3))
          if ok or call[3] == 7 and tostring(reason):find "no wall 7" then return end
          assert.matches("closed.*over", reason)
          closed = closed + 1
        end)
      end
      net:run(run / 10)
      net.exchanges[1]:finish "over"
      net:run_until(function() return net.running == 0 end, 30)
      local answer
      director.move(net.exchanges[1], "host", function(...) answer = { ... } end, 1, "p2")
      assert.same({ nil, "the world is closed: over" }, answer)
    end
    assert(closed > 0)
  end)

  it("does not come when a successor dies as it begins, unless that happens again and again", function()
    for _, failures in ipairs { 2, 3 } do
      local net, left = new_network(), failures
      local exchange = net.exchanges[2]
      local replace = exchange.replace
      exchange.most_deaths = 3
      function exchange.replace(shard, options, done)
        left = left - 1
        if left >= 0 then return done(false, "no memory") end
        replace(shard, options, done)
      end
      local members = busy(net, 4)
      net:run(2)
      net:kill_shard(3)
      net:run(2)
      if failures == 2 then
        assert.equal(1, net.deaths)
        assert.same({}, net.ended)
      else
        assert.is_true(all_ended(net, members))
        assert.equal("shard 3 cannot be replaced: no memory", members[1].ended)
      end
    end
  end)

  it("does not come with calls that fail for less than a heartbeat, nor with a process that stands still", function()
    local net = new_network { lose = 0.2, patience = 30 }
    local members = busy(net, 2)
    net:run(3)
    net.stopped[2] = true
    local epoch = net.exchanges[1].epoch
    net:run(3)
    -- The other one may have been an epoch ahead, and its parts of both on their way.
    assert(net.exchanges[1].epoch <= epoch + 2, "somebody went on alone")
    assert.same({}, net.ended)
    net.stopped[2] = nil
    net:run(3)
    assert(net.exchanges[1].epoch > epoch + 5)
    assert.same({}, net.ended)
    for _, member in ipairs(members) do
      assert.is_nil(member.ended)
      member:close()
    end
  end)
end)

describe("a shard that loops", function()
  it("has a successor after twelve heartbeats, and one that pauses with its process has none", function()
    local net = new_network { patience = 4 }
    busy(net, 4)
    net:run(2)
    net.time = net.time + 1000 -- all processes have stood still
    net:run(2)
    assert.equal(0, net.deaths)
    net:loop_shard(3)
    net:run_until(function() return net.deaths == 1 end, 60)
    net:run_epochs(1, 10, 10)
    assert.same({}, net.ended)
  end)
end)

describe("a client", function()
  it("that fails to restore what it has ends, and the others go on", function()
    local net = new_network { patience = 8 }
    local members = busy(net, 4)
    net:run(2)
    local first, ask_shard = members[1], members[1].ask_shard
    function first.ask_shard(...)
      if select(3, ...) == "reclaim" then error "broken" end
      return ask_shard(...)
    end
    net:kill_shard(3)
    net:run_until(function() return first.ended end, 8)
    assert.matches("what this client had cannot be restored: .*broken", first.ended)
    net:run_until(function() return net.exchanges[1].resumed.of == net.exchanges[1].lost_at end, 3)
    net:run(1)
    for _, shard in ipairs(net.shards) do
      for id in pairs(shard.ents) do assert(id >= 20) end
    end
  end)

  it("that closes the world for itself only takes along what is its own", function()
    local net = new_network()
    local members = busy(net, 2)
    net:run(4)
    members[1]:close()
    members[1]:close()
    net:run(2)
    local count = 0
    for _, shard in ipairs(net.shards) do
      for id in pairs(shard.ents) do
        assert(id >= 20)
        count = count + 1
      end
    end
    assert(count <= 10)
    assert.error_matches(function() members[1]:move(10, 1, 1) end, "attempt to use a closed world")
    assert.same({}, net.ended)
  end)

  it("that dies with many others is one more order, and no look at those before", function()
    local net = new_network()
    local exchange, members = net.exchanges[1], {}
    for i = 1, 10 do members[i] = net:member(1) end
    exchange:leave(members[1].address)
    local orders = exchange.orders
    for i = 2, 10 do exchange:leave(members[i].address) end
    assert.same({ orders, 10 }, { exchange.orders, #orders })
    net:run(5)
    exchange:order("resend", {})
    assert.equal(1, #exchange.orders, "old ones are not kept")
  end)
end)
