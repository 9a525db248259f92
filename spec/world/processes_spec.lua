-- Processes of a world die, the one that leads as well, and come back; tiles move from one shard to another; while
-- clients in a process that lives go on. What handlers hear alternates, and when all is quiet every shard and every
-- handler has what one space has. Tiles that move change no event at all. AOI_STEPS sets the number of
-- actions of each client.
if not string.pack then
  describe("processes of a world", function() pending("needs Lua 5.3 or later: string.pack") end)
  return
end

local director = require "aoi.skynet.world.director"
local play = require "spec.world.play"
local random_run = require "spec.support.random_run"

local SEED = random_run.seed("world processes")
local ACTIONS = random_run.steps(80)
local RUNS = 4
local GATE = 4 -- the process of all clients, without shards

local function scene_of(lose)
  return {
    processes = { 2, 2, 2, 0 }, nodes = { p1 = 2, p2 = 2, p3 = 2, p4 = 0 }, patience = 1, lose = lose, grace = 60,
    plan = { size = 60, reach = 10, tile = 4, shards = 6 }, process_of = function() return GATE end,
    area = function(random) return random(9) end, id = function(i) return i end,
  }
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
    down = net.exchanges[victim].processes[victim].name
    net:kill_process(victim)
    at = epoch + net.random(50)
  end
end

-- Gives tiles to other shards every second epoch.
local function mover(count)
  local at = 10
  return function(net)
    local epoch = net.exchanges[GATE].epoch
    if epoch < at then return end
    local x, rows, shard, plan = net.exchanges[net.random(4)], {}, net.random(6), net.plan
    for i = 1, 4 do rows[i] = string.pack("<I4I2", net.random(plan.columns * plan.rows) - 1, shard) end
    director.wish(x, { tiles = table.concat(rows) }, function() count.tiles = count.tiles + 4 end)
    at = epoch + 2
  end
end

local function history(seed, lose, disturb)
  local run = play.run(scene_of(lose), seed, ACTIONS, disturb)
  run.asked = {} -- what has died with a shard is in no answer until it has been restored
  local _, total, space = play.reference(run)
  play.check_end(run, space)
  for _, member in ipairs(run.members) do
    assert.same({}, member.logged)
    assert.is_false(member.closed or false)
  end
  return run, total
end

-- What each node has heard is what the space tells, in that order; the nodes of a client that has died hear no more.
local function compare(run)
  local reference = play.reference(run)
  for name, heard in pairs(run.heard) do
    local at, dead = 1, run.dead[tonumber(name:match "%d+$") // 10]
    for _, epoch in ipairs(dead and {} or reference[name] or {}) do
      for _, kind in ipairs { 2, 1 } do
        local n = 0
        for _ in pairs(epoch[kind]) do n = n + 1 end
        for i = at, at + n - 1 do assert(heard[i] and heard[i][1] == kind and epoch[kind][heard[i][2]], name) end
        at = at + n
      end
    end
    assert(dead or #heard == at - 1, name)
  end
end

describe("processes of a world", function()
  it("die one after the other, whoever leads, and come back: nobody else hears of it", function()
    for i = 1, RUNS do
      local run, total = history(SEED + i, 0.05, killer())
      print(("%d epochs, %d shards lost, %d moved, %d events"):format(run.last, run.net.deaths, run.net.moved, total))
      assert(run.net.deaths > 0)
      assert.same({}, run.net.ended)
    end
  end)

  it("and tiles that move change no event", function()
    for i = 1, RUNS do
      local count = { tiles = 0 }
      local run, total = history(SEED + 100 + i, 0.1, mover(count))
      compare(run)
      print(("%d epochs, %d tiles moved, %d events"):format(run.last, count.tiles, total))
      assert(count.tiles > 0 and run.net.deaths == 0)
    end
  end)
end)
