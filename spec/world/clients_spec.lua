-- What the handlers of clients hear: for each node the very sequence that one space with the accepted commands gives,
-- over processes whose messages are late and whose calls fail before or after they have been served; with a small
-- window it alternates, and is equal when all is quiet. What clients are answered is what that space answers, no own
-- move is lost, and none is refused of an entity that is in the world. Several clients act on the same entities; one
-- dies, and another takes its ids. AOI_STEPS sets the number of actions of each client.
if not string.pack then
  describe("clients of a world", function() pending("needs Lua 5.3 or later: string.pack") end)
  return
end

local aoi = require "aoi"
local life = require "spec.world.life"
local network = require "spec.world.network"
local random_run = require "spec.support.random_run"
local replay = require "spec.world.replay"
local rng = require "spec.support.rng"

local SEED = random_run.seed("world clients")
local ACTIONS = random_run.steps(150)

local function name_of(watcher, node) return watcher .. "/" .. node end

-- What each node has heard, in order; it must alternate.
local function recorder()
  local heard, views = {}, {}
  local function note(kind, watcher, target, node)
    local name = name_of(watcher, node)
    heard[name], views[name] = heard[name] or {}, views[name] or {}
    assert((kind == aoi.ENTER) == not views[name][target], "enter and leave do not alternate")
    views[name][target] = kind == aoi.ENTER or nil
    table.insert(heard[name], { kind, target })
  end
  return {
    enter = function(...) note(aoi.ENTER, ...) end, leave = function(...) note(aoi.LEAVE, ...) end,
  }, heard, views
end

-- The handlers' sequence of each node, cut in epochs by what the reference tells of each.
local function compare(reference, heard, is_dead)
  for name, epochs in pairs(reference) do
    local at, list = 1, heard[name] or {}
    if is_dead(name) then epochs, at = {}, #list + 1 end
    for _, e in ipairs(epochs) do
      for _, kind in ipairs { aoi.LEAVE, aoi.ENTER } do
        local set = e[kind]
        local n = 0
        for _ in pairs(set) do n = n + 1 end
        for _ = 1, n do
          local event = list[at] or error(("node %s heard %d events too few"):format(name, n))
          if event[1] ~= kind or not set[event[2]] then
            error(("node %s heard something else in epoch %d"):format(name, e.number))
          end
          set[event[2]] = nil
          at = at + 1
        end
      end
    end
    assert(at == #list + 1, "node " .. name .. " heard more than there was")
  end
end

-- The order of `nearest` counts; all others are sets.
local function check_answer(space, epoch, name, arguments, answer)
  local list, n = {}, 0
  local node = arguments[2] -- what has been accepted and waits for the next epoch sees nothing
  if name:find "^near" or space:has(arguments[1]) and (name == "viewers" or space:radius(arguments[1], node)) then
    list, n = space[name](space, table.unpack(arguments))
  end
  local function spell(of, count, width)
    local words = {}
    for i = 1, count * width, width do words[#words + 1] = table.concat(of, " ", i, i + width - 1) end
    if name ~= "nearest" then table.sort(words) end
    return table.concat(words, ", ")
  end
  local width = name == "viewers" and 2 or 1
  local expected, got = spell(list, n, width), spell(answer, math.floor(#answer / width), width)
  if expected == got then return end
  error(("%s(%s) in epoch %d answers %s instead of %s"):format(name, tostring(arguments[1]), epoch, got, expected), 0)
end

local function reference_of(lines, plan, dimensions, last, asked)
  local run, nodes, total, answers = replay.new(plan, dimensions), {}, 0, 0
  for _, l in ipairs(lines) do run:take(l[1], l[2]) end
  for number = 1, last do
    local drained, n = run:epoch(number)
    total = total + n
    for i = 1, 4 * n, 4 do
      local name = name_of(drained[i + 1], drained[i + 3])
      local epochs = nodes[name] or {}
      nodes[name] = epochs
      if not epochs[1] or epochs[#epochs].number ~= number then
        epochs[#epochs + 1] = { number = number, [aoi.ENTER] = {}, [aoi.LEAVE] = {} }
      end
      epochs[#epochs][drained[i]][drained[i + 2]] = true
    end
    for _, a in ipairs(asked[number] or {}) do
      check_answer(run.space, number, table.unpack(a))
      answers = answers + 1
    end
  end
  return nodes, total, run.space, answers
end

local scenes = {
  {
    name = "one process, four shards", processes = { 4 }, plan = { size = 60, reach = 10, tile = 4, shards = 4 },
    area = function(random) return random(9) end,
  },
  {
    name = "two processes and a gate, nodes that keep", processes = { 2, 2, 0 }, lose = 0.15,
    plan = { size = 60, reach = 10, tile = 4, shards = 4 },
    area = function(random)
      return { shape = random { "square", "circle" }, radius = random(7), margin = random(4) - 1, mask = random(3) }
    end,
  },
  {
    name = "three processes in three dimensions", processes = { 1, 2, 2 }, lose = 0.3, dimensions = 3,
    plan = { size = 60, reach = 10, tile = 4, shards = 5 }, area = function(random) return random(9) end,
  },
  {
    name = "long ids, a row of eight regions", processes = { 2, 2, 2, 2 }, lose = 0.1,
    plan = { size = { 0, 0, 96, 16 }, reach = 12, tile = 4, shards = { 8, 1 } },
    area = function(random) return { radius = random(10), margin = random(3) - 1 } end,
    id = function(i) return (i % 3 - 1) * 5000000000 + i end,
  },
  {
    name = "a window of two messages", processes = { 2, 2 }, window = 2, lose = 0.1, slow = true,
    plan = { size = 60, reach = 10, tile = 4, shards = 4 },
    area = function(random) return { radius = random(6), margin = random(3) } end,
  },
}

for _, scene in ipairs(scenes) do scene.id = scene.id or function(i) return i end end

local CLIENTS, SHARED = 4, 6

-- A client that does not acknowledge for a while, one or another; or all do again.
local function stop_somebody(net, members)
  local member = members[net.random(#members)]
  local line = net.lines["x" .. member.process .. ">" .. member.address]
  if line then line.to = line.to:find "^z" and member.address or "z9" end
  net.stopped[9] = true
end

local function stop_nobody(net, members)
  for _, member in ipairs(members) do
    local line = net.lines["x" .. member.process .. ">" .. member.address]
    if line then line.to = member.address end
  end
end

-- The world as it is when all clients have done what they do.
local function play(scene, seed)
  local lines, asked, shared, members, dead = {}, {}, {}, {}, {}
  local net = network.new {
    seed = seed, plan = scene.plan, processes = scene.processes, dimensions = scene.dimensions, lose = scene.lose,
    window = scene.window, log = function(_, epoch, line) lines[#lines + 1] = { epoch, line } end,
  }
  local handlers, heard, views = recorder()
  for i = 1, SHARED do shared[i] = scene.id(i) end
  local function join(number, first)
    local member = net:member((number - 1) % #scene.processes + 1)
    members[#members + 1] = member
    member.refusals = {}
    member:on_refused(function(ids)
      for _, id in ipairs(ids) do table.insert(member.refusals, id) end
    end)
    local one = life.new {
      net = net, member = member, number = number, random = rng.new(seed + number), scene = scene, handlers = handlers,
      shared = shared, asked = asked,
    }
    net:spawn(function()
      if first then first(member) end
      one:run(ACTIONS)
      member.finished = true
    end)
    return member
  end
  local begun = false
  join(1, function(member)
    for _, id in ipairs(shared) do
      if net.dimensions == 3 then member:enter(id, 30, 30, 1) else member:enter(id, 30, 30) end
    end
    begun = true
  end)
  net:run_until(function() return begun end)
  for number = 2, CLIENTS do join(number) end
  local dies_at, heir = net.time + 1 + net.random() * 4, nil
  net:run_until(function()
    if scene.slow and net.random(40) == 1 then stop_somebody(net, members) end
    if not heir and net.time > dies_at then -- its ids are free again some epochs later
      local victim = members[CLIENTS]
      if not victim.finished then net.running = net.running - 1 end
      net:kill_client(victim)
      table.remove(members, CLIENTS)
      dead[CLIENTS] = true
      heir = join(CLIENTS + 1, function(member)
        repeat
          net:sleep(0.1)
          local free = true
          for i = 1, 20 do free = free and not member:has(scene.id(100 * CLIENTS + i)) end
        until free
      end)
    end
    return net.running == 0 and heir
  end, 4000)
  stop_nobody(net, members)
  local last = net.shards[1].closed + 30 -- moves that went astray have arrived
  net:run_until(function()
    for _, shard in ipairs(net.shards) do
      if shard.applied < last then return false end
    end
    return true
  end, 4000)
  net:run(3)
  last = net.exchanges[1].epoch
  for _, exchange in ipairs(net.exchanges) do
    assert(exchange.epoch >= last - 1)
    last = math.min(last, exchange.epoch)
  end
  for _, shard in ipairs(net.shards) do shard:check() end
  return { net = net, members = members, heard = heard, views = views, lines = lines, last = last, asked = asked,
           dead = dead, shared = shared }
end

-- Only of the shared ones that leave now and then a move may be refused.
local function check_refusals(scene, run)
  local mortal = {}
  for i = math.floor(SHARED / 2) + 1, SHARED do mortal[run.shared[i]] = true end
  for _, member in ipairs(run.members) do
    for _, id in ipairs(member.refusals) do
      assert(mortal[id], ("%s: a move of entity %d was refused, which is in the world"):format(scene.name, id))
    end
  end
end

-- All is quiet: the shards have what the space has.
local function check_end(run, space)
  local net, count = run.net, 0
  for _, shard in ipairs(net.shards) do
    for id, ent in pairs(shard.ents) do
      count = count + 1
      assert(space:has(id), "an entity too many")
      local x, y, z = shard.core:position(id)
      local ax, ay, az = space:position(id)
      assert(x == ax and y == ay and z == az and shard.core:kind(id) == space:kind(id), "an entity differs")
      local n = 0
      for number, rec in pairs(ent.nodes or {}) do
        n = n + 1
        assert.same((shard.core:area(id, rec.number)), (space:area(id, number)))
      end
      assert(n == select(2, space:nodes(id)), "nodes differ")
    end
  end
  assert(count == space:count(), "entities are lost")
end

describe("clients of a world", function()
  for i, scene in ipairs(scenes) do
    it("hear what one space tells: " .. scene.name, function()
      local run = play(scene, SEED + 10 * i)
      local net, members, heard, views, last = run.net, run.members, run.heard, run.views, run.last
      local nodes, total, space, answers = reference_of(run.lines, net.plan, net.dimensions, last, run.asked)
      local handed, overruns, resyncs = 0, 0, 0
      for _, shard in ipairs(net.shards) do handed = handed + shard.counters.handed end
      for _, member in ipairs(members) do
        assert.same({}, member.logged)
        resyncs = resyncs + member.client.counters.resyncs
      end
      for _, exchange in ipairs(net.exchanges) do overruns = overruns + exchange.counters.overruns end
      local strays = 0
      for _, shard in ipairs(net.shards) do strays = strays + shard.counters.strays end
      local text = "%s: %d epochs, %d events, %d hand-overs, %d answers, %d strays, %d calls failed, %d resyncs"
      print(text:format(scene.name, last, total, handed, answers, strays, net.lost, resyncs))
      check_refusals(scene, run)
      check_end(run, space)
      if scene.slow then
        assert(ACTIONS < 150 or overruns > 0 and resyncs > 0, "nobody fell behind") -- short runs may have none
      else
        compare(nodes, heard, function(name)
          return run.dead[math.floor(tonumber(name:match "/(%d+)$") / 10)]
        end)
      end
      assert(handed > 0 and total > 0)
      assert(ACTIONS < 150 or (handed > ACTIONS / 4 and total > ACTIONS)) -- the first epochs have fewer
      -- All is quiet: what each node has heard is what it sees.
      for _, id in ipairs((space:ids())) do
        for _, node in ipairs((space:nodes(id))) do
          local view = views[name_of(id, node)] or {}
          local list, n = space:view(id, node)
          for k = 1, n do assert(view[list[k]], "a view is not that of the space") end
          for _ in pairs(view) do n = n - 1 end
          assert(n == 0, "a view is not that of the space")
        end
      end
    end)
  end

  it("lose and double nobody in hand-overs, though calls fail before and after they have been served", function()
    local net = network.new {
      seed = SEED, plan = { size = 64, reach = 8, tile = 8, shards = { 4, 1 } }, processes = { 1, 1, 1, 1 }, lose = 0.4,
    }
    local member, random = net:member(1), rng.new(SEED)
    local target = math.max(1000, math.min(10000, 20 * ACTIONS))
    local handed = 0
    net:spawn(function()
      for id = 1, 100 do
        member:enter(id, random() * 64, random() * 64)
        member:add_node(id, 1, 8, {})
      end
      while handed < target do
        for id = 1, 100 do member:move(id, random() * 64, random() * 64) end
        member:flush()
        net:sleep(0.1)
        handed = 0
        for _, shard in ipairs(net.shards) do handed = handed + shard.counters.handed end
      end
    end)
    net:run_until(function() return net.running == 0 end, 10000)
    local last = net.shards[1].closed + 12 -- moves that went astray have arrived (8 hops at most), nobody changes hands
    net:run_until(function()
      for _, shard in ipairs(net.shards) do
        if shard.applied < last then return false end
      end
      return true
    end, 1000)
    local seen, count = {}, 0
    for _, shard in ipairs(net.shards) do
      shard:check()
      for id in pairs(shard.ents) do
        assert(not seen[id], "an entity is real twice")
        seen[id], count = true, count + 1
      end
    end
    assert.equal(100, count)
    assert(net.lost > target / 100)
  end)
end)
