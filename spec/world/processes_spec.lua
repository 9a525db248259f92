-- Processes of a world die, the one that leads as well, and come back; tiles move from one shard to another, shards
-- from one process to another; processes leave in turn and are started again; clients in a process that lives go on.
-- What handlers hear alternates, and when all is quiet every shard and every handler has what one space has. What moves
-- by order changes no event and no answer at all. Every second history has walls. AOI_STEPS sets the number of actions
-- of each client.
if not string.pack then return pending "processes of a world: needs string.pack of Lua 5.3" end

local director = require "aoi.skynet.world.director"
local network = require "spec.world.network"
local play = require "spec.world.play"
local random_run = require "spec.support.random_run"
local sorted_keys = require "aoi.sorted_keys"

local SEED = random_run.seed("world processes")
local ACTIONS = random_run.steps(80)
local RUNS = random_run.runs(4)
local GATE = 4 -- the process of all clients, without shards

local function scene_of(lose, walls, patience)
  return {
    processes = { 2, 2, 2, 0 }, nodes = { p1 = 2, p2 = 2, p3 = 2, p4 = 0 }, patience = patience or 5, lose = lose,
    grace = 60, walls = walls,
    plan = { size = 60, reach = 10, tile = 4, shards = 6 }, process_of = function() return GATE end,
    area = function(random) return random(9) end, id = function(i) return i end,
  }
end

-- Histories that once went wrong.
local REGULAR = { 627006, 627007, 627033, 627050, 627087 }

-- The processes of the world without that of the clients.
local function others(net)
  local list = {}
  for index in pairs(net.exchanges[GATE].processes) do list[#list + 1] = index ~= GATE and index or nil end
  table.sort(list)
  return list
end

local function name_of(net, index) return net.exchanges[index].processes[index].name end

-- In a coroutine: once a process has ended. Returns why it has.
local function start_again(net, index, f)
  repeat net:sleep(0.05) until net.ended[index]
  local reason = net.ended[index]
  net.ended[index], net.killed[index] = nil, true
  net:start_process(name_of(net, index), f)
  return reason
end

-- Kills one of the processes, and starts it again some epochs later, at once or late.
local function killer()
  local at, alive, down = 10, { 1, 2, 3 }, nil
  return function(net)
    local epoch = net.exchanges[GATE].epoch
    if epoch < at then return end
    if down then
      net:start_process(down, function(index) alive[#alive + 1] = index end)
      at, down = epoch + 60, nil
      return
    end
    local victim = table.remove(alive, net.random(#alive))
    down = name_of(net, victim)
    net:kill_process(victim)
    at = epoch + net.random(50)
  end
end

-- Cuts one or two processes off for five seconds: theirs is the smaller part, or the half without the first process.
-- They stand still, end as they hear of the others again, and are started anew.
local function parter(count)
  local at = 10
  return function(net)
    if net.exchanges[GATE].epoch < at then return end
    at = math.huge
    local list, cut, stood = others(net), {}, {}
    for _ = 1, count do cut[table.remove(list, 1 + net.random(#list - 1))] = true end
    net:spawn(function()
      net:part(cut)
      net:sleep(1) -- what is under way has arrived
      for index in pairs(cut) do stood[index] = net.exchanges[index].epoch end
      net:sleep(4)
      for index in pairs(cut) do assert.equal(stood[index], net.exchanges[index].epoch) end
      net:part {}
      for index in pairs(cut) do start_again(net, index, function() at = net.exchanges[GATE].epoch + 40 end) end
    end)
  end
end

-- Gives tiles to other shards every second epoch.
local function give_tiles(net, done)
  local rows, shard, plan = {}, net.random(6), net.plan
  for i = 1, 4 do rows[i] = string.pack("<I4I2", net.random(plan.columns * plan.rows) - 1, shard) end
  director.propose(net.exchanges[net.random(4)], { tiles = table.concat(rows) }, done)
  return 2
end

-- Moves a shard to another process, one after another.
local function move_shard(net, done)
  director.propose(net.exchanges[net.random(4)], { host = { net.random(6), "p" .. net.random(4) } }, done)
  return math.huge
end

-- Has a process leave, and starts it again, one after another.
local function restart(net, done)
  local list = others(net)
  local index = list[net.random(#list)]
  director.propose(net.exchanges[GATE], { drain = name_of(net, index) })
  net:spawn(function() assert.equal("this process has left it", start_again(net, index, done)) end)
  return math.huge
end

-- Moves a shard to another process, and kills the former instance before or behind its hand-over; while the leader
-- waits until clients have restored what was lost, some more such proposals gather.
local function move_and_kill()
  local at, moving = 10, nil
  return function(net)
    local exchange = net.exchanges[GATE]
    if exchange.epoch < at or not moving and #sorted_keys(exchange.proposed) > 3 then return end
    if moving then
      net:kill_shard(moving)
      at, moving = exchange.epoch + 14, nil
    else
      moving = net.random(6)
      at = exchange.epoch + 2 + net.random(4)
      director.propose(exchange, { host = { moving, "p" .. exchange.hosts[moving] % 3 + 1 } })
    end
  end
end

-- act(net, done) returns the number of epochs until the next one; that may come sooner once this one is done.
local function mover(act, count)
  local at = 10
  return function(net)
    local epoch = net.exchanges[GATE].epoch
    if epoch < at then return end
    at = math.huge
    at = math.min(at, epoch + act(net, function()
      count.done = count.done + 1
      at = math.min(at, net.exchanges[GATE].epoch + 5)
    end))
  end
end

local function check(run, space)
  play.check_end(run, space)
  for _, member in ipairs(run.members) do
    assert.same({}, member.logged)
    assert.is_false(member.closed or false)
  end
  assert.same({}, run.net.ended)
end

local function killed(seed, disturb, walls)
  local run = play.run(scene_of(0.05, walls, 2), seed, ACTIONS, disturb)
  run.asked = {} -- what has died with a shard is in no answer until it has been restored
  check(run, (select(3, play.reference(run))))
  assert(run.net.deaths > 0)
  return run
end

local function moved(seed, act, walls)
  local count = { done = 0 }
  local run = play.run(scene_of(0.1, walls), seed, ACTIONS, mover(act, count))
  local reference, _, space = play.reference(run)
  check(run, space)
  play.check_heard(run, reference)
  assert(count.done > 0 and run.net.deaths == 0)
end

describe("processes of a world", function()
  it("die one after the other, whoever leads, and come back: nobody else hears of it", function()
    for i = 1, RUNS do killed(SEED + i, killer(), i % 2 == 0) end
    for i = 1, random_run.runs(#REGULAR) do killed(REGULAR[i], killer()) end
  end)

  it("may be started again at once, and enter what they had: it replaces what died with them", function()
    local scene = scene_of(0.05, false, 2)
    scene.plan, scene.processes, scene.grace = { size = 60, reach = 10, tile = 4, shards = 4 }, { 2, 2 }, 1000
    scene.seed, scene.nodes = SEED, { p1 = 2, p2 = 2 }
    local net, again = network.new(scene), nil
    local one, watcher, seen, most = net:member(2), net:member(1), {}, 0
    local function note(step)
      return function(_, target)
        seen[target] = (seen[target] or 0) + step
        most = math.max(most, seen[target])
      end
    end
    net:finish(function()
      for id = 1, 24 do one:enter(id, 5 + 2 * id, 30) end
      for x = 1, 7 do
        watcher:enter(100 + x, 8 * x, 30)
        watcher:add_node(100 + x, 1, 4, { enter = note(1), leave = note(-1) })
      end
      one:tick()
      net:sleep(1)
      net:kill_process(2)
      net:start_process("p2", function(index) again = index end)
      repeat net:sleep(0.1) until again
      local two = net:member(again)
      for id = 1, 24 do two:enter(id, 5 + 2 * id, 30) end
      two:tick()
      assert(net.exchanges[1].epoch < 300, "it has waited until the grace was over")
      net:sleep(3)
    end, 100)
    for id = 1, 24 do assert.equal(1, seen[id], "of entity " .. id) end
    for _, shard in ipairs(net.shards) do
      shard:check()
      for _, id in ipairs((shard.core:ids())) do assert(net.exchanges[1].entries[id], "a ghost stays") end
    end
    assert.same(net.exchanges[1].entries, net.exchanges[again].entries)
  end)

  it("that `nodes` does not list are refused, and so not counted in the majority", function()
    local plan = { size = 60, reach = 10, tile = 4, shards = 2 }
    local net = network.new { seed = SEED, plan = plan, processes = { 1, 1 }, nodes = { p1 = 1, p2 = 1 }, patience = 1 }
    for _, name in ipairs { "p8", "p9" } do
      local answered, why
      net:start_process(name, function(...) answered, why = true, select(2, ...) end)
      net:run_until(function() return answered end)
      assert.equal(("process '%s' is none of the world's nodes: list it in option 'nodes' of the first process")
        :format(name), why)
    end
    for _, exchange in ipairs(net.exchanges) do assert.same({ 1, 2 }, sorted_keys(exchange.processes)) end
  end)

  it("that the network cuts off stand still, and come back as newcomers: nobody else hears of it", function()
    for i = 1, math.ceil(RUNS / 2) do killed(SEED + 50 + i, parter(i % 2 + 1)) end
  end)

  it("and a shard may die as it goes to another process: no move is refused", function()
    for i = 1, RUNS do play.check_refusals(killed(SEED + 400 + i, move_and_kill(), i % 2 == 0)) end
  end)

  it("and tiles that move change no event and no answer", function()
    for i = 1, RUNS do moved(SEED + 100 + i, give_tiles, i % 2 == 0) end
  end)

  it("and shards that move change none", function()
    for i = 1, RUNS do moved(SEED + 200 + i, move_shard, i % 2 == 0) end
  end)

  it("and those that leave and are started again change none", function()
    for i = 1, RUNS do moved(SEED + 300 + i, restart, i % 2 == 0) end
  end)
end)
