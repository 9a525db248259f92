-- A snapshot in the middle of a history, while entities move, change hands, enter and leave: it is what one space has
-- at the end of that epoch, with what nodes keep; and so is a new world, of other shards and processes, that is opened
-- with it. That world goes on as the space does. AOI_STEPS sets the number of actions of each client.
if not string.pack then return pending "snapshots of worlds: needs string.pack of Lua 5.3" end

local director = require "aoi.skynet.world.director"
local network = require "spec.world.network"
local play = require "spec.world.play"
local random_run = require "spec.support.random_run"
local replace = require "spec.support.replace"
local replay = require "spec.world.replay"
local rng = require "spec.support.rng"
local of_processes = require("spec.world.scenes").of_processes(true)
local snapshot = require "aoi.skynet.world.snapshot"
local walls = require "aoi.skynet.walls"

local SEED = random_run.seed("world snapshot")
local ACTIONS = random_run.steps(60) -- or more, until both snapshots are taken

local AGAIN = { false, { 1, 2 }, { 4 }, { 1, 1 }, false, { 1, 2 } } -- shards of the processes of the new world

local scenes = {}
for i, scene in ipairs(of_processes) do
  scene.again, scenes[#scenes + 1] = AGAIN[i], AGAIN[i] and scene or nil
end
table.insert(scenes, {
  name = "nodes that keep far more than they find", processes = { 2, 2 }, interval = 0.02,
  plan = { size = 40, reach = 10, tile = 4, shards = 4 }, again = { 1, 1, 1 },
  area = function(random) return { radius = 1 + random(3), margin = 6 } end, id = function(i) return i end,
})

-- A history with two snapshots, some epochs apart: { epoch =, [shard] = bytes }; and the lines of all its epochs.
local function record(scene, seed)
  local taken, at = {}, 30
  local history = play.run(scene, seed, ACTIONS, function(net)
    if taken[2] then return end
    if net.exchanges[1].epoch < at then return true end
    at = at + 5
    local client, one = net:member(net.random(#scene.processes)), {}
    net:spawn(function()
      local last = 0
      one.epoch = client:snapshot(function(shard, epoch, bytes)
        assert(shard == last + 1 and epoch == (one.epoch or epoch))
        last, one.epoch, one[shard] = shard, epoch, bytes
      end)
      assert.equal(net.plan.shards, last)
      taken[#taken + 1] = one
    end)
    return true
  end)
  history.taken = taken
  return history
end

-- What the space of the history has at the end of that epoch.
local function space_at(history, epoch)
  local one = replay.new(history.net.plan, history.net.dimensions)
  for _, l in ipairs(history.lines) do
    if l[1] <= epoch then one:take(l[1], l[2]) end
  end
  for number = 1, epoch do one:epoch(number) end
  return one
end

local function spell(list, n)
  local words = { table.unpack(list, 1, n) }
  table.sort(words)
  return table.concat(words, " ")
end

-- Every entity is in one shard, as the space has it; nodes see what they see there, and handlers have heard that.
local function compare(net, space, member)
  for _, shard in ipairs(net.shards) do shard:check() end
  local count = play.check_entities(net, space, function(shard, rec)
    local expected = spell(space:view(rec.id, rec.node))
    local seen = spell(walls.seer(shard, rec):view(rec.id, rec.number))
    if seen ~= expected then error("a node sees something else") end
    if spell(member:seen(rec.id, rec.node)) ~= expected then error("a handler has heard something else") end
  end)
  if count ~= space:count() then error("entities are lost") end
end

-- Opens a world with the bytes, and compares it with the space then and after some epochs with moves of everything.
local function again(scene, seed, bytes, reference, edit)
  local plan, lines = { size = scene.plan.size, reach = scene.plan.reach, tile = 4, shards = 0 }, {}
  for _, n in ipairs(scene.again) do plan.shards = plan.shards + n end
  local net = network.new {
    seed = seed, plan = plan, processes = scene.again, dimensions = scene.dimensions, interval = scene.interval,
    sight = scene.walls,
    log = function(_, epoch, line) lines[#lines + 1] = { epoch, line } end,
  }
  local list = snapshot.load(function(shard) return bytes[shard] end,
    { plan = net.plan, dimensions = net.dimensions, sight = scene.walls })
  if edit then edit(list) end
  local random, member, space = rng.new(seed), net:member(1), reference:seen()
  net:finish(function() snapshot.bring(member, list) end)
  compare(net, space, member)
  assert.equal(space:count(), member.counters.restored)
  local heard = 0
  local function count() heard = heard + 1 end
  member:listen { enter = count, leave = count }
  local begun = net.shards[1].applied
  net:finish(function()
    for _ = 1, 10 do
      for _, hand in ipairs(list) do
        local x, y = member:position(hand.id)
        member:move(hand.id, x + random() * 8 - 4, y + random() * 8 - 4, hand.z)
      end
      member:tick()
    end
  end)
  local events = 0
  for _, l in ipairs(lines) do
    if l[1] > begun then reference:take(l[1], l[2]) end
  end
  for number = begun + 1, net.shards[1].applied do events = events + select(2, reference:epoch(number)) end
  compare(net, space, member)
  assert.equal(events, heard)
end

describe("a snapshot of a world, and a world that is opened with it, are one space at that epoch:", function()
  for i, scene in ipairs(scenes) do
    it(scene.name, function()
      local history = record(scene, SEED + 10 * i)
      for _, one in ipairs(history.taken) do again(scene, SEED + i, one, space_at(history, one.epoch)) end
    end)
  end
end)

-- Each: the bytes, what is done to the entities, and what puts everything back.
local mistakes = {
  { "the shards' bytes are of two epochs", function(history)
    local first = history.taken[1]
    local second = history.taken[2]
    local mixed = { epoch = second.epoch, first[1]:sub(1, 10) .. second[1]:sub(11, 14) .. first[1]:sub(15) }
    return table.move(second, 2, #second, 2, mixed)
  end },
  { "what nodes see is not brought back", function(history)
    return history.taken[1], function(list)
      for _, hand in ipairs(list) do
        for _, node in ipairs(hand.nodes) do node.seen = "" end
      end
    end
  end },
  { "handlers do not hear what their nodes have seen", function(history)
    return history.taken[1], nil, replace(director, "learn", function(learn)
      return function(exchange, ...)
        learn(exchange, ...)
        exchange.anew = nil
      end
    end)
  end },
}

describe("mistakes in a snapshot are found:", function()
  local histories = {}
  for _, mistake in ipairs(mistakes) do
    it(mistake[1], function()
      local found, tries = false, 0
      while not found and tries < 20 do
        tries = tries + 1
        histories[tries] = histories[tries] or record(scenes[#scenes], SEED + 1000 + tries)
        local bytes, edit, put_back = mistake[2](histories[tries])
        found = not pcall(again, scenes[#scenes], SEED, bytes, space_at(histories[tries], bytes.epoch), edit)
        if put_back then put_back() end
      end
      assert(found, "it was not found")
    end)
  end
end)

describe("a world that is opened with a snapshot", function()
  local PLAN = { size = 64, reach = 10, extent = 4, tile = 8, shards = { 2, 2 } }
  local FIELDS = { { "hp", "u16" } }

  local new_network = network.with { seed = SEED, plan = PLAN, processes = { 2, 2 }, fields = FIELDS, sight = true,
                                     grace = 60 }

  local function load(bytes, options)
    local given = { plan = new_network(options).plan, fields = FIELDS, sight = true }
    for name, value in pairs(options or {}) do given[name] = value and given[name] or value end
    if options and options.no_fields then given.fields = nil end
    return snapshot.load(function(shard) return bytes[shard] end, given)
  end

  -- Of two clients: entities 1 to 8 in a row, of which 2 sees 3 with its place and not 1; walls 2 and 3, far away.
  local function save(net, before)
    local one, other, bytes = net:member(1), net:member(2), {}
    net:finish(function()
      for id = 1, 8 do one:enter(id, 8 * id - 4, 31, id) end
      other:add_node(2, 5, 9, {}, { positions = true })
      other:override(2, 5, 1, "hide")
      other:add_node(7, 1, 1, {}, { sight = true, linger = 2 })
      one:wall_many { 0, 0, 9, 9, 5, 5, 5, 9, 60, 60, 64, 64 }
      one:remove_wall(1)
      one:open_wall(3)
      one:set_extent(8, 4)
      one:set_layers(8, 3)
      one:put(8, "hp", 77)
      one:add_client(4, 9)
      if before then before(net, one) end
      other:snapshot(function(shard, _, its) bytes[shard] = its end)
    end)
    return bytes
  end

  it("has what entities and nodes have, for the client that opens it and those that take them over", function()
    local bytes = save(new_network())
    local net, heard, refused = new_network { processes = { 4 } }, {}, nil
    local one, other = net:member(1), net:member(1)
    net:finish(function()
      other:enter(6, 60, 60) -- another life is there already
      snapshot.bring(one, load(bytes))
      one:listen { enter = function(...) heard[#heard + 1] = table.concat({ ... }, " ") end }
      for _ = 1, 4 do one:tick() end
      assert.same({ 4, 3, 77 }, { one:extent(8), one:layers(8), one:get(8, "hp") })
      assert.same({ 1, "hide" }, (one:overrides(2, 5)))
      assert.same({ 60, 60 }, { one:position(6) })
      local walls_left = one:walls()
      table.sort(walls_left)
      assert.same({ { 2, 3 }, { 60, 60, 64, 64, true } }, { walls_left, { one:get_wall(3) } })
      assert.equal(4, one:wall(1, 1, 2, 2))
      local node = net.shards[one:where(7)].ents[7].nodes[1]
      assert.same({ true, 2 }, { node.sight, node.linger })
      refused = select(2, pcall(other.enter, other, 1, 5, 5))
      other:take_over(1)
      other:leave(1)
      other:tick()
      other:enter(1, 12, 30) -- a later life: the override has ended
      other:add_client(4, 9) -- of which there is none
      for _ = 1, 2 do other:tick() end
      assert.equal(8, one:count())
    end)
    assert.matches("entity 1 is already in the world", refused)
    assert.same({ "2 3 5 3 20.0 31.0", "2 1 5 1 12.0 30.0" }, heard)
  end)

  it("has all of it though shards die while that is brought back", function()
    local list = load(save(new_network()))
    local net, done, deaths = new_network { interval = 0.03 }, false, 0
    local one = net:member(2)
    net:spawn(function()
      snapshot.bring(one, list)
      done = true
    end)
    local at = net.time + net.random() * 0.3
    net:run_until(function()
      if net.time > at and deaths < 2 then
        net:kill_shard(net.random(4))
        deaths, at = deaths + 1, net.time + net.random() * 0.4
      end
      return done and deaths == 2
    end, 300)
    net:finish(function()
      net:sleep(15)
      one:tick()
      for _, hand in ipairs(list) do assert.same({ hand.x, hand.y }, { one:position(hand.id) }) end
      assert.same({ 3 }, (one:seen(2, 5)))
      assert.same({ 3 }, (one:view(2, 5)))
    end)
    assert.equal(8, #list)
  end)

  it("waits until what has died with a shard is there again", function()
    local bytes = save(new_network(), function(net, one)
      one:tick()
      net:kill_shard((one:where(3)))
      net:sleep(0.5)
    end)
    assert.equal(8, #load(bytes))
  end)

  it("is refused bytes that are none, or of another world", function()
    local bytes = save(new_network())
    local function refused(text, edit, options)
      local edited = table.move(bytes, 1, 4, 1, {})
      if edit then edit(edited) end
      assert.error_matches(function() load(edited, options) end, "^bad value for option 'restore' %(" .. text)
    end
    refused("shard 1: no bytes of a world's snapshot", function(b) b[1] = "AOI" end)
    refused("the bytes of shard 4 expected, got nil", function(b) b[4] = nil end)
    refused("shard 2: the bytes are damaged", function(b) b[2] = b[2]:sub(1, -2) end)
    refused("shard 1: version 9, this release reads 1", function(b) b[1] = "AOIW\9" .. b[1]:sub(6) end)
    refused("shard 1: these are the bytes of shard 2", function(b) b[1] = b[2] end)
    refused("shard 2 is of 4 in epoch 9, shard 1 of 4 in epoch %d", function(b)
      b[2] = b[2]:sub(1, 10) .. "\9\0\0\0" .. b[2]:sub(15)
    end)
    refused("shard 1: it has 2 dimensions, this world 3", nil, { dimensions = 3 })
    local small = { size = 64, reach = 8, tile = 8, shards = { 2, 2 } }
    refused("entity 2 of shard %d: .*it reaches 9", nil, { plan = small })
    small.reach = 9
    refused("entity 8 of shard %d: .*'set_extent' %(4 is more than the world's option 'extent', 0",
      nil, { plan = small })
    refused("entity 8 of shard %d: .*hp", nil, { no_fields = true })
    refused("it has walls: open the world with sight = true", nil, { sight = false })
  end)

  it("needs a function", function()
    local net = new_network()
    local one = net:member(1)
    net:finish(function()
      assert.error_matches(function() one:snapshot() end, "bad argument #1 to 'snapshot' %(function expected, got nil")
      assert.error_matches(function() one:snapshot(function() error "no room" end) end, "no room")
    end)
    assert.is_nil(load {}) -- there is none yet
  end)
end)
