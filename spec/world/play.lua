-- play.lua: histories of clients in a world, and what one space with the accepted commands tells of them.
--
--   local run = play.run(scene, seed, actions, disturb)     scene: processes, plan, area, lose, window, dimensions, id;
--                                                           slow: clients stop to acknowledge now and then;
--                                                           process_of(number): where that client is; nodes;
--                                                           walls: nodes do not see past them
--                                                           disturb(net): called all the time; while it returns
--                                                           true the clients go on
--   local nodes, events, space, answers = play.reference(run)    and run.replaced, as of replay.lua
--   play.check_heard(run, nodes)                            what nodes have heard is that
--   play.check_entities(net, space [, check_node])          shards have the entities and the nodes of the space
--   play.check_end(run, space)                              all is quiet: shards and handlers have what the space has
local aoi = require "aoi"
local assert = require "luassert"
local life = require "spec.world.life"
local network = require "spec.world.network"
local replay = require "spec.world.replay"
local rng = require "spec.support.rng"

local play = {}
local CLIENTS, SHARED = 4, 6

local function name_of(watcher, node) return watcher .. "/" .. node end

-- What each node has heard, in order; each life of one must alternate. Returns a function that makes handlers for a
-- life; by name what has been heard, and what all lives together see.
local function recorder()
  local heard, seen = {}, {}
  local function note(view, kind, watcher, target, node)
    local name = name_of(watcher, node)
    heard[name], seen[name] = heard[name] or {}, seen[name] or {}
    assert((kind == aoi.ENTER) == not view[target], "enter and leave do not alternate")
    view[target] = kind == aoi.ENTER or nil
    local count = (seen[name][target] or 0) + (kind == aoi.ENTER and 1 or -1)
    seen[name][target] = count ~= 0 and count or nil
    table.insert(heard[name], { kind, target, view })
  end
  return function()
    local view = {}
    return {
      enter = function(...) note(view, aoi.ENTER, ...) end, leave = function(...) note(view, aoi.LEAVE, ...) end,
    }
  end, heard, seen
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

--- By node, a list of { number =, [ENTER] = set, [LEAVE] = set } by epoch; how many events; the space; how many answers
-- of the clients have been compared.
function play.reference(r)
  local lines, dimensions, last, asked = r.lines, r.net.dimensions, r.last, r.asked
  local run, nodes, total, answers = replay.new(r.net.plan, dimensions), {}, 0, 0
  local seen = run:seen()
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
      check_answer(seen, number, table.unpack(a))
      answers = answers + 1
    end
  end
  r.replaced = run.replaced
  return nodes, total, seen, answers
end

-- While that is held the client does not acknowledge.
local function line_to(net, member) return net.lines["x" .. member.process .. ">" .. member.address] or {} end

local function is_alive(net, index) return net.exchanges[index] and not net.killed[index] and not net.ended[index] end

-- The world as it is when all clients have done what they do.
function play.run(scene, seed, actions, disturb)
  local lines, asked, shared, members, dead = {}, {}, {}, {}, {}
  local walls, goes_on = {}, nil
  local net = network.new {
    seed = seed, plan = scene.plan, processes = scene.processes, dimensions = scene.dimensions, lose = scene.lose,
    window = scene.window, grace = scene.grace, sight = scene.walls, nodes = scene.nodes, patience = scene.patience,
    log = function(_, epoch, line) lines[#lines + 1] = { epoch, line } end,
  }
  local handlers, heard, views = recorder()
  for i = 1, SHARED do shared[i] = scene.id(i) end
  local function join(number, first)
    local member = net:member(scene.process_of and scene.process_of(number) or (number - 1) % #scene.processes + 1)
    members[#members + 1] = member
    member.refusals = {}
    member:on_refused(function(ids)
      for _, id in ipairs(ids) do table.insert(member.refusals, id) end
    end)
    member.life = life.new {
      net = net, member = member, number = number, random = rng.new(seed + number), scene = scene, handlers = handlers,
      shared = shared, asked = asked, walls = walls,
    }
    net:spawn(function()
      if first then first(member) end
      member.life:run(actions, function() return goes_on end)
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
    goes_on = disturb and disturb(net)
    if scene.slow and net.random(40) == 1 then
      local line = line_to(net, members[net.random(#members)])
      line.held = not line.held
    end
    if not heir and net.time > dies_at then -- its ids are free again some epochs later
      local victim = members[CLIENTS]
      if not victim.finished then net.running = net.running - 1 end
      net:kill_client(victim)
      table.remove(members, CLIENTS)
      dead[CLIENTS], dead.client = true, victim
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
  for _, member in ipairs(members) do line_to(net, member).held = false end
  net:run_until(function() -- the leader has decided about all that was proposed
    for index, exchange in pairs(net.exchanges) do
      if is_alive(net, index) and next(exchange.proposed) then return false end
    end
    return true
  end, 4000)
  local last = net.shards[1].closed + 30 + (scene.grace or 0) -- moves that went astray have arrived
  net:run_until(function()
    for _, shard in ipairs(net.shards) do
      if shard.applied < last then return false end
    end
    return true
  end, 4000)
  net:run(3)
  last = net.shards[1].applied
  for index, exchange in pairs(net.exchanges) do
    if is_alive(net, index) then
      assert(exchange.epoch >= last - 1)
      last = math.min(last, exchange.epoch)
    end
  end
  for _, shard in ipairs(net.shards) do shard:check() end
  return { net = net, members = members, heard = heard, views = views, lines = lines, last = last, asked = asked,
           dead = dead, shared = shared }
end

-- Only of the shared ones that leave now and then a move may be refused.
function play.check_refusals(run)
  local mortal = {}
  for i = math.floor(SHARED / 2) + 1, SHARED do mortal[run.shared[i]] = true end
  for _, member in ipairs(run.members) do
    for _, id in ipairs(member.refusals) do
      assert(mortal[id], ("a move of entity %d was refused, which is in the world"):format(id))
    end
  end
end

-- All is quiet: what each node has heard is what it sees.
local function check_views(run, space)
  for _, id in ipairs((space:ids())) do
    for _, node in ipairs((space:nodes(id))) do
      local view = run.views[name_of(id, node)] or {}
      local list, n = space:view(id, node)
      local wrong = "the view of node " .. name_of(id, node) .. " is not that of the space: "
      for k = 1, n do
        local count = view[list[k]] or 0
        if count ~= 1 then error(wrong .. ("%d is there %d times"):format(list[k], count), 0) end
      end
      for target in pairs(view) do
        if not space:sees(id, node, target) then error(wrong .. target .. " is too many", 0) end
      end
    end
  end
end

-- Every node that a client has is in a shard, and no other; it knows its own entities to be where they are.
local function check_clients(run)
  local owner, nodes, records = {}, 0, 0
  for _, shard in ipairs(run.net.shards) do
    for id, ent in pairs(shard.ents) do
      owner[id] = shard
      for node in pairs(ent.nodes or {}) do nodes = nodes + (run.dead[math.floor(node / 10)] and 0 or 1) end
    end
  end
  for _, shard in ipairs(run.net.shards) do
    for _, id in ipairs((shard.core:ids())) do
      if not owner[id] then error(("a ghost of entity %d stays"):format(id), 0) end
    end
  end
  for _, member in ipairs(run.members) do
    for handle, record in pairs(member.records) do
      records = records + 1
      local ent = owner[record.watcher] and owner[record.watcher].ents[record.watcher]
      local rec = ent and ent.nodes and ent.nodes[record.node]
      if not rec or rec.handle ~= handle then
        error(("node %d of entity %d is in no shard"):format(record.node, record.watcher), 0)
      end
    end
    for _, who in ipairs(member.life.mine) do
      local x, y = owner[who.id].core:position(who.id)
      if x ~= who.x or y ~= who.y then error(("entity %d is not where it was moved to"):format(who.id), 0) end
    end
  end
  assert(nodes == records, "there are nodes of nobody")
end

--- What each node has heard is what the space tells, in that order; the nodes of a client that has died hear no more.
function play.check_heard(run, reference)
  for name in pairs(run.heard) do reference[name] = reference[name] or {} end
  for name, epochs in pairs(reference) do
    local at, list = 1, run.heard[name] or {}
    local dead = run.dead[math.floor(tonumber(name:match "/(%d+)$") / 10)]
    for _, e in ipairs(dead and {} or epochs) do
      for _, kind in ipairs { aoi.LEAVE, aoi.ENTER } do
        for _ in pairs(e[kind]) do
          local event = list[at] or error(("node %s heard too little of epoch %d"):format(name, e.number))
          if event[1] ~= kind or not e[kind][event[2]] then
            error(("node %s heard something else in epoch %d"):format(name, e.number))
          end
          at = at + 1
        end
      end
    end
    assert(dead or at == #list + 1, "node " .. name .. " heard more than there was")
  end
end

--- Whether the client that has died had entered it: one that its shard and its home lose, too, is lost.
function play.is_of_dead(dead, id)
  return dead[math.floor(id % 5000000000 / 100)] or dead.client and dead.client.outbox:owns(id) ~= nil
end

--- The entities of all shards are as the space has them. check_node(shard, rec): of each node. Returns how many.
function play.check_entities(net, space, check_node)
  local count = 0
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
        if check_node then check_node(shard, rec) end
      end
      assert(n == select(2, space:nodes(id)), "nodes differ")
    end
  end
  return count
end

--- Shards and handlers have what the space has.
function play.check_end(run, space)
  local net = run.net
  local count = play.check_entities(net, space)
  for _, id in ipairs((space:ids())) do
    local here = false
    for _, shard in ipairs(net.shards) do here = here or shard.ents[id] ~= nil end
    if not here and play.is_of_dead(run.dead, id) then
      space:leave(id) -- lost with its shard, its home and its client
    elseif not here then
      error(("entity %d is lost"):format(id), 0)
    end
  end
  assert(count == space:count(), "entities are doubled")
  check_views(run, space)
  check_clients(run)
end

return play
