-- A shard dies every few epochs, in any state, several at a time, and its successor, too: nobody is disconnected. What
-- handlers hear alternates, no pair of a node and a target hears more than one space tells of it, and when all is quiet
-- every shard and every handler has what that space has. No node keeps: where what it saw for a moment is lost with its
-- shard, it does not see it farther out than others either. AOI_STEPS sets the number of actions of each client.
if not string.pack then return pending "successors of shards: needs string.pack of Lua 5.3" end

local aoi = require "aoi"
local director = require "aoi.skynet.world.director"
local directory = require "aoi.skynet.world.directory"
local network = require "spec.world.network"
local play = require "spec.world.play"
local random_run = require "spec.support.random_run"
local recovery = require "aoi.skynet.world.recovery"
local replace = require "spec.support.replace"
local restore = require "aoi.skynet.world.restore"
local rng = require "spec.support.rng"
local scenes = require("spec.world.scenes").of_processes()
local tree = require "spec.support.tree"

local SEED = random_run.seed("world recovery")
local ACTIONS = random_run.steps(150)
local FOUND = ACTIONS > 150 and 3 or 1 -- histories that must find each mistake: three in long runs
local TRIES = 1000 * FOUND             -- the rarest one shows in one history of a hundred

table.insert(scenes, {
  name = "entities that are taken over", processes = { 2, 2 }, lose = 0.1, takes = true, plan = scenes[1].plan,
  area = scenes[1].area, id = scenes[1].id,
})
for _, scene in ipairs(scenes) do scene.grace = 60 end

-- Kills a random shard every few epochs, now and then the same one again before long.
local function killer(every)
  local at, victim = 10, nil
  return function(net)
    local epoch = net.exchanges[1].epoch
    if epoch < at then return end
    victim = victim and net.random(4) == 1 and victim or net.random(net.plan.shards)
    at = epoch + every
    net:kill_shard(victim)
  end
end

-- No pair has more events than the space tells of it; a short visit may be missed.
local function compare(reference, heard, dead, replaced)
  local told = {}
  for name, epochs in pairs(reference) do
    told[name] = {}
    for _, e in ipairs(epochs) do
      for _, kind in ipairs { aoi.LEAVE, aoi.ENTER } do
        for target in pairs(e[kind]) do told[name][target] = (told[name][target] or 0) + 1 end
      end
    end
  end
  for name, events in pairs(heard) do
    local count, lives = {}, {}
    for _, event in ipairs(events) do
      local target = event[2]
      count[target], lives[target] = (count[target] or 0) + 1, lives[target] or {}
      lives[target][event[3]] = true
    end
    for target, n in pairs(count) do
      local most = (told[name] and told[name][target] or 0) + 2 * (replaced[target] or 0)
      local life = next(lives[target])
      -- A shard may die with the command that has removed a node which was added again: the space has one life of it.
      while next(lives[target], life) do
        life, most = next(lives[target], life), most + 2
      end
      if play.is_of_dead(dead, target) then most = n end -- a ghost may outlive it
      if n > most then error(("node %s heard %d events of %d instead of %d"):format(name, n, target, most), 0) end
    end
  end
end

-- One history; raises what is wrong. Returns the run.
local function history(scene, seed, actions)
  local run = play.run(scene, seed, actions, killer(scene.lose and 24 or 8)) -- epochs
  run.asked = {} -- what has died with a shard is in no answer until it has been restored
  local reference, _, space = play.reference(run)
  play.check_end(run, space)
  if not scene.slow then compare(reference, run.heard, run.dead, run.replaced) end
  for _, member in ipairs(run.members) do assert.same({}, member.logged) end
  assert.same({}, run.net.ended)
  return run
end

describe("shards that die have successors:", function()
  for i, scene in ipairs(scenes) do
    it(scene.name, function()
      local run = history(scene, SEED + 10 * i, ACTIONS)
      local restored = 0
      for _, member in ipairs(run.members) do restored = restored + member.counters.restored end
      assert(run.net.deaths > 0 and restored > 0)
    end)
  end

  it("a life that is being restored ends where a later life of its id is restored, too", function()
    history(scenes[4], 5077, 150) -- a history that once went wrong: both were born
  end)

  it("a ghost stays where its shard dies again before it has named it, for the grace of that death", function()
    history(scenes[4], 500065, 38) -- a history that once went wrong: it left with the grace of the first death
  end)

  it("a life that has ended comes back in no shard that begins, whoever hears first that all have died", function()
    for run = 1, 4 do
      local net = network.new { seed = SEED + run, plan = scenes[1].plan, processes = { 4 }, grace = 20, patience = 2 }
      local old, new, owners = net:member(1), net:member(1), 0
      local function hold(member, held) net.lines["x1>" .. member.address].held = held end
      net:finish(function()
        old:enter(7, 10, 10)
        old:tick()
        hold(old, true)
        net:kill_shard((old:where(7)))
        net:sleep(10) -- it is too late for this life
        new:enter(7, 50, 50)
        new:tick()
        hold(new, true)
        for shard = 1, 4 do net:kill_shard(shard) end
        net:sleep(1)
        hold(old, false)
        net:sleep(0.5)
        hold(new, false)
        net:sleep(10)
        assert.same({ 50, 50 }, { new:position(7) })
      end, 100)
      for _, shard in ipairs(net.shards) do
        shard:check()
        owners = owners + (shard.ents[7] and 1 or 0)
      end
      assert.equal(1, owners)
      assert.is_nil(old.outbox:owns(7))
    end
  end)

  it("a node whose entity leaves before it has been restored there ends", function()
    history(scenes[5], 5180, 150) -- a history that once went wrong: its client had it for ever
  end)

  it("a life whose end dies with its shard ends though its client has entered the id again elsewhere", function()
    for run = 0, 7 do
      local net = network.new { seed = SEED + run, plan = scenes[1].plan, processes = { 4 }, grace = 60 }
      local member, died, left = net:member(1), nil, nil
      net:spawn(function()
        local seen = false
        local function on_leave() left = net.exchanges[1].epoch end
        member:enter(1, 33, 10)
        member:add_node(1, 1, 9, { enter = function() seen = true end, leave = on_leave })
        member:enter(2, 28, 10)
        while not seen do net:sleep(0.1) end
        net:sleep(run / 50)
        member:leave(2)
        if run % 2 == 0 then net:kill_shard(1) end
        member:enter(2, 55, 55)
        if run % 2 == 1 then net:kill_shard(1) end
        died = net.exchanges[1].epoch
      end)
      net:run_until(function() return left and died end, 1000)
      assert(left <= died + 8, ("seen for %d epochs more"):format(left - died))
    end
  end)

  it("a client that is late to restore a life, which another client has made leave meanwhile, hears that", function()
    local net = network.new { seed = SEED, plan = scenes[1].plan, processes = { 4 }, grace = 60, patience = 60 }
    local owner, other = net:member(1), net:member(1)
    local exchange = net.exchanges[1]
    net:finish(function()
      owner:enter(7, 10, 10)
      owner:tick()
      local shard, line = owner:where(7), net.lines["x1>" .. owner.address]
      line.held = true
      other:leave(7)
      net:kill_shard(shard)
      net:sleep(1)
      line.held = false
      net:sleep(5)
      assert.equal(exchange.lost_at, exchange.resumed.of, "it restores for ever")
      assert.is_false(owner:has(7))
      other:enter(7, 50, 50)
    end, 100)
  end)

  it("an id whose home and owner die at once is entered by no other client while its own is late", function()
    for run = 1, 8 do
      local net = network.new {
        seed = SEED + run, plan = scenes[1].plan, processes = { 2, 2 }, grace = 100, patience = 2,
      }
      local owner, other = net:member(1), net:member(2)
      net:finish(function()
        local x, id = net.random() * 60, 7
        while directory.home(net.shards[1], id) ~= net.exchanges[1].map:owner(x, 20) do id = id + 1 end
        owner:enter(id, x, 20)
        if run > 2 then owner:tick() end
        local shard, line = owner:where(id), net.lines["x1>" .. owner.address]
        if run > 2 then line.held = true end -- the others go on without this client
        net:kill_shard(shard)
        assert.error_matches(function() other:enter(id, 50, 50) end, ("entity %d is already in the world"):format(id))
        net:sleep(3)
        assert.error_matches(function() other:enter(id, 50, 50) end, ("entity %d is already in the world"):format(id))
        if line then line.held = false end
        net:sleep(1)
        owner:move(id, 1, 1)
        owner:tick()
        assert.same({ 1.0, 1.0 }, { other:position(id) })
        owner:leave(id)
        net:sleep(0.5) -- its home hears of the end
        other:enter(id, 50, 50)
      end, 100)
    end
  end)

  it("a shard that dies behind the order for an R, and before it, is not missed by what waits for that", function()
    for run = 0, 5 do
      local net = network.new {
        seed = SEED + run, plan = scenes[1].plan, processes = { 2, 2 }, grace = 60, patience = 2,
      }
      local one, two, exchange, heard = net:member(1), net:member(2), net.exchanges[1], {}
      local function note(word) return function() heard[#heard + 1] = word end end
      net:finish(function()
        one:enter(1, 28, 10)
        one:add_node(1, 1, 9, { enter = note "enter", leave = note "leave" })
        two:enter(2, 33, 10)
        two:tick()
        one:tick()
        net:kill_shard((one:where(1)))
        while not (exchange.pending[1] and exchange.pending[1].change.resume) do net:sleep(0.01) end
        net:sleep(run / 40)
        net:kill_shard((two:where(2)))
        net:sleep(15)
      end, 100)
      assert.same({ "enter" }, heard)
    end
  end)

  it("what has been restored in a shard goes with it where that moves before its process has an R", function()
    local net = network.new { seed = SEED, plan = scenes[1].plan, processes = { 2, 1, 1 }, grace = 60 }
    local client, first, second, heard = net:member(1), net.exchanges[1], net.exchanges[2], {}
    local function note(word) return function() heard[#heard + 1] = word end end
    local function hold(held, ...)
      for _, line in ipairs { ... } do net.lines[line].held = held end
    end
    local mail = "x1>" .. client.address
    net:spawn(function()
      client:enter(1, 10, 50) -- in shard 3, that of the second process
      client:add_node(1, 1, 9, { enter = note "enter", leave = note "leave" })
      client:enter(2, 12, 50)
      client:tick()
      hold(true, mail)
      net:kill_shard(3)
      net:sleep(2.5) -- the leader may move a shard again
      director.propose(first, { host = { 3, "p1" } })
      hold(false, mail)
    end)
    local function until_true(f) net:run_until(function() return f() end) end
    local at
    until_true(function()
      for _, one in ipairs(first.pending) do at = one.change.resume and one.at or at end
      return at and first.epoch == at - 1
    end)
    hold(true, "s1_1t0>x1") -- the first process is the last one that closes R
    until_true(function()
      return first.batches[2][at] and first.batches[3][at] and not second.lines[1].flying
    end)
    net:kill_shard(4) -- which the third process hears as it applies R, the second one before, the first one behind that
    hold(true, "x1>x2", "x3>x1")
    hold(false, "s1_1t0>x1")
    until_true(function() return second.dead[4] and first.epoch == at end)
    assert(first.pending[1].change.moves[3], "the leader does not move the shard")
    hold(false, "x1>x2")
    until_true(function() return second.epoch == at end)
    assert.equal("blank", net.shards[3].state)
    hold(true, mail)
    hold(false, "x3>x1")
    net:run(2) -- then the former instance is no more
    hold(false, mail)
    net:run(10)
    assert.equal(1, first.hosts[3])
    for id = 1, 2 do assert(net.shards[3].ents[id], "it is in the instance that has retired") end
    for _, shard in ipairs(net.shards) do shard:check() end
    assert.same({ "enter" }, heard)
  end)

  -- Calls f(home) where the holder of a claim for id 7, whose life is 5, has died before the entity entered.
  local function with_lost_claim(f)
    local net = network.new { seed = SEED, plan = scenes[1].plan, processes = { 4 }, grace = 60 }
    local home, holder = net.shards[directory.home(net.shards[1], 7)], nil
    for number, shard in ipairs(net.shards) do holder = shard ~= home and number or holder end
    local claim = { 1, directory.stamp(home, holder) }
    home.life[7], home.holder[7], home.claims[7] = 5, holder, claim
    net:spawn(function()
      net:sleep(0.3)
      net:kill_shard(holder)
    end)
    net:run_until(function() return home.lost_ids[7] end, 60)
    f(home, net)
    home:check()
  end

  it("an entity whose home dies is there, if its client has entered it a second time since that heard of it", function()
    for run = 1, 8 do
      local net = network.new {
        seed = SEED + run, plan = scenes[1].plan, processes = { 4 }, grace = 60, patience = 60,
      }
      local owner, late, exchange, entered = net:member(1), net:member(1), net.exchanges[1], false
      local x, id = net.random() * 60, 7
      local place = exchange.map:owner(x, 20)
      while directory.home(net.shards[1], id) == place do id = id + 1 end
      local home = directory.home(net.shards[1], id)
      net:finish(function()
        owner:enter(1, x, 20)
        late:enter(2, x, 20)
        late:tick()
      end)
      local answers = net.lines[net.addresses[1][place] .. ">" .. owner.address]
      net:spawn(function()
        owner:enter(id, x, 20)
        entered = true
      end)
      answers.held = true
      net:run_until(function() return exchange.entries[id] end)
      net.lines["x1>" .. late.address].held = true -- the R waits for this client
      net:kill_shard(place) -- with the entity, and what it has answered
      net:run_until(function() return entered end)
      net:kill_shard(home)
      net:run(2)
      net.lines["x1>" .. late.address].held = false
      net:run(20)
      local owners = 0
      for _, shard in ipairs(net.shards) do owners = owners + (shard.ents[id] and 1 or 0) end
      assert.equal(1, owners)
      assert.is_truthy((owner.outbox:owns(id)))
    end
  end)

  it("a claim that comes to nothing after a death holds up no request for its id", function()
    with_lost_claim(function(home)
      directory.commands.release(home, 1, { 7 }, { 5 })
      assert.same({ false }, directory.commands.owners_of(home, 1, { 7 }))
    end)
  end)

  it("a life that its client has reclaimed, and could not restore, leaves nothing in its home", function()
    with_lost_claim(function(home, net)
      recovery.commands.reclaim(home, 1, { 7, 5, 9, 9, false }, {})
      directory.end_client(home, 1)
      net:run_until(function() return not home.life[7] end, 60)
      assert.same({ {}, {}, {} }, { home.claims, home.revived, home.lost_ids })
    end)
    with_lost_claim(function(home)
      recovery.commands.reclaim(home, 1, { 7, 5, 9, 9, false }, {})
      directory.end_client(home, 1)
      directory.commands.claim(home, 1, { 7 }, { 9, 9 }, { { life = 5, epoch = home.applied } })
      assert.is_nil(home.revived[7], "it was of the former life")
    end)
  end)

  it("a node that is removed while its client is behind ends, whatever dies meanwhile", function()
    for run = 1, 12 do
      local net = network.new { seed = SEED + run, plan = scenes[1].plan, processes = { 2, 2 }, window = 2, lose = 0.1 }
      local random, one, two = rng.new(SEED + run), net:member(1), net:member(2)
      net:spawn(function()
        one:enter(1, 10, 10)
        one:enter(2, 12, 10)
        two:enter(4, 50, 52)
        two:add_node(1, 7, 5, {})
        net:sleep(0.5)
        local heard = net.lines["x2>" .. two.address]
        heard.held = true
        local steps = {
          { random() * 3, function() net:spawn(function() two:remove_node(1, 7) end) end },
          { random() * 3, function() net:kill_shard(random(3) + 1) end },
          { random() * 3, function() heard.held = false end },
        }
        table.sort(steps, function(a, b) return a[1] < b[1] end)
        local at = 0
        for _, step in ipairs(steps) do
          net:sleep(step[1] - at)
          at = step[1]
          step[2]()
        end
      end)
      net:spawn(function()
        for _ = 1, 60 do
          net:sleep(0.1)
          if one:has(2) then one:move(2, random() * 20, 10) end
          one:flush()
        end
      end)
      net:run(4) -- by then all of it has happened
      net:run_until(function() return not next(two.records) end, 60)
    end
  end)
end)

-- Puts another function in place of the local one of that name, which f calls. Returns what puts it back.
local function replace_local(f, name, new, seen)
  seen = seen or {}
  seen[f] = true
  for i = 1, 255 do
    local upvalue, value = debug.getupvalue(f, i)
    if not upvalue then return nil end
    if upvalue == name then
      debug.setupvalue(f, i, new)
      return function() debug.setupvalue(f, i, value) end
    end
    local back = type(value) == "function" and not seen[value] and replace_local(value, name, new, seen)
    if back then return back end
  end
end

local function nothing() end

local function skip(name) return function() return replace(recovery, name, function() return nothing end) end end

local function without(name, f) return function() return replace_local(restore.renewed, name, f) end end

local mistakes = {
  { "nobody names what is alive", skip "name_all" },
  { "what nobody names is no orphan", skip "refill" },
  { "a claim outlives its holder", function()
    return replace(directory, "is_claimed", function() return function(shard, id) return shard.claims[id] end end)
  end },
  { "what returns does not wait for the others", function()
    return replace(recovery, "change", function(change)
      return function(shard, ...)
        change(shard, ...)
        if shard.state == "waits" then shard.state = "whole" end
        if shard.state == "blank" then shard.state = "filling" end
      end
    end)
  end },
  { "neighbours are told nothing", function()
    return replace_local(recovery.change, "resume", function(shard, renewed)
      if renewed < shard.renewed then return end
      shard.state, shard.full = shard.state == "blank" and "filling" or "whole", shard.applied + 1
    end)
  end },
  { "what has been heard is not brought back", without("heard", function() return "", 4 end) },
  { "a successor takes what it cannot know yet", function()
    return replace(recovery, "sift", function() return function(_, parts) return parts end end)
  end },
  { "nodes on entities of others are not brought back", without("restore_foreign", nothing) },
  { "the last word to nodes that have ended is lost", function()
    return replace(restore, "end_nodes", function() return function() return true end end)
  end },
}

describe("mistakes after the death of a shard are found:", function()
  if not tree.usual or ACTIONS < 150 then return end -- left to runs of the usual length
  for i, mistake in ipairs(mistakes) do
    it(mistake[1], function()
      local put_back, found, tries = assert(mistake[2]()), 0, 0
      while found < FOUND and tries < TRIES do
        tries = tries + 1
        if not pcall(history, scenes[1], SEED + 1000 * i + tries, 150) then found = found + 1 end
      end
      put_back()
      assert(found == FOUND, ("found by %d of %d histories"):format(found, tries))
    end)
  end
end)
