-- The outbox of a world's client against a table of what it must hold: random moves, owners that become known, change
-- and are forgotten, own entities, and messages taken in between.
if not string.pack then return pending "the outbox of a world: needs string.pack of Lua 5.3" end

local random_run = require "spec.support.random_run"
local reference = require "spec.support.wire_reference"
local rng = require "spec.support.rng"
local world = require "aoi.skynet.native" "world"

local SEED = random_run.seed("world outbox")
local STEPS = random_run.steps(4000)
local SHARDS, IDS, NUMBER = 3, 40, 7

local step = {}
local batches -- messages taken

-- An entity of the model: shard, waits (the place of its row), sent, own (life, kind, place), moved (the least
-- number of the message with its last move).
local function of(model, id)
  model[id] = model[id] or { shard = 0, sent = 0 }
  return model[id]
end

local function put(e, ...)
  e.waits = { ... }
  if e.shard > 0 then e.sent = e.shard end
  if e.own then e.own.place, e.moved = { ... }, batches + 1 end
end

local function set(e, shard)
  if e.waits and shard ~= e.shard and shard > 0 then e.sent = shard end
  e.shard = shard
  if shard == 0 then e.sent = 0 end
end

function step.move(outbox, e, id, random)
  local x, y = random(100), random()
  outbox:move(id, x, y)
  put(e, x, y)
end

function step.rows(outbox, _, _, random, model)
  local rows, n = {}, random(20) - 1
  for i = 1, n do
    local id, x, y = random(IDS), random(100), random()
    rows[3 * i - 2], rows[3 * i - 1], rows[3 * i] = id, x, y
    put(of(model, id), x, y)
  end
  outbox:rows(rows)
end

function step.set(outbox, e, id, random)
  local shard = random(SHARDS + 1) - 1
  outbox:set(id, shard)
  set(e, shard)
end

function step.keep(outbox, e, id, random)
  local shard, life, x, y = random(SHARDS), random(1000), random(), random()
  outbox:keep(id, shard, life, 3, x, y)
  if e.shard > 0 and e.shard ~= shard then e.waits = nil end
  set(e, shard)
  e.own, e.moved = { life = life, kind = 3, place = { x, y } }, nil
end

function step.forget(outbox, _, id, _, model)
  outbox:forget(id)
  model[id] = nil
end

function step.disown(outbox, e, id)
  outbox:disown(id)
  e.own = nil
end

function step.settle(outbox, e, id)
  outbox:settle(id)
  if not e.waits then e.sent = 0 end
end

function step.drop(outbox, e, id)
  assert.equal(e.waits ~= nil and e.shard == 0, outbox:drop(id))
  if e.shard == 0 then e.waits = nil end
end

local function waiting(model, shard)
  local rows, n = {}, 0
  for id, e in pairs(model) do
    if e.waits and e.shard == shard then rows[id], n = e.waits, n + 1 end
  end
  return rows, n
end

function step.take(outbox, _, _, random, model)
  local shard = random(SHARDS + 1) - 1
  local wanted, n = waiting(model, shard)
  local rows, count, _, _, link = reference.read_moves(outbox:take(false, shard))
  batches = batches + 1
  assert.same({ n, NUMBER }, { count, link })
  for i = 1, 3 * count, 3 do
    assert.same({ wanted[rows[i]][1], wanted[rows[i]][2] }, { rows[i + 1], rows[i + 2] })
    wanted[rows[i]], model[rows[i]].waits = nil, nil
  end
  assert.is_nil(next(wanted))
end

local function check(outbox, model)
  local lost, shards = {}, {}
  local rows, n = waiting(model, 0)
  assert.equal(n, outbox:lost(lost))
  assert.equal(n, (outbox:count()))
  for i = 1, n do assert.is_table(rows[lost[i]]) end
  for shard = 1, SHARDS do
    if select(2, waiting(model, shard)) > 0 then shards[#shards + 1] = shard end
  end
  assert.same(shards, (outbox:pending()))
  local own = 0
  for id = 1, IDS do
    local e = of(model, id)
    local shard, sent = outbox:where(id)
    assert.same({ e.shard, e.sent }, { shard or 0, sent or 0 })
    local life, kind, x, y = outbox:owns(id)
    own = own + (life and 1 or 0)
    assert.equal(e.own and e.own.life, life)
    if life then assert.same({ e.own.kind, e.own.place[1], e.own.place[2] }, { kind, x, y }) end
    assert.equal(not e.waits and e.own and e.moved or nil, (outbox:sent(id)))
  end
  assert.equal(own, (select(2, outbox:owned())))
end

describe("the outbox of a world", function()
  it("has the last move of each entity, for the shard that owns it", function()
    local names = {}
    for name in pairs(step) do names[#names + 1] = name end
    table.sort(names)
    for i = 1, 20 do names[#names + 1] = i % 2 == 0 and "move" or "set" end
    local random, model, outbox = rng.new(SEED), {}, world.outbox(2, NUMBER, false, SHARDS)
    batches = 0
    for i = 1, STEPS do
      local name, id = names[random(#names)], random(IDS)
      step[name](outbox, of(model, id), id, random, model)
      if i % 7 == 0 then check(outbox, model) end
    end
    check(outbox, model)
  end)

  it("keeps own entities and rows that are under way, and not the owner of each entity that was asked for", function()
    local outbox = world.outbox(2, NUMBER, false, SHARDS)
    for id = 1, 1000 do outbox:keep(id, 2, id, 1, id, 0) end
    for id = 1001, 1002 do
      outbox:set(id, 2)
      outbox:move(id, 5, 6)
      if id == 1001 then outbox:take(false, 2) end
    end
    local before, known = collectgarbage "count", 0
    for id = 2001, 1e5 do outbox:set(id, 1) end
    assert.is_true(collectgarbage "count" - before < 1000)
    assert.equal(1, (outbox:where(1e5)))
    for id = 2001, 1e5 do known = known + (outbox:where(id) and 1 or 0) end
    assert.is_true(known < 4096)
    for id = 1, 1000 do assert.same({ id, 1, id, 0 }, { outbox:owns(id) }) end
    for id = 1001, 1002 do assert.same({ 2, 2 }, { outbox:where(id) }) end
    for _ = 1, 70000 do outbox:take(false, 1) end -- so that the row of 1001 has arrived long ago
    for id = 2001, 1e5 do outbox:set(id, 1) end
    assert.is_nil((outbox:where(1001)))
    assert.same({ 1002, 5, 6 }, (reference.read_moves(outbox:take(false, 2))))
  end)

  it("refuses shards that there are not", function()
    local outbox = world.outbox(2, NUMBER, false, SHARDS)
    assert.error_matches(function() outbox:set(1, 4) end, "bad argument #2 to 'set' %(no shard 4%)")
    assert.error_matches(function() outbox:keep(1, 0, 1, 1, 0, 0) end, "bad argument #2 to 'keep' %(no shard 0%)")
    assert.error_matches(function() outbox:take(false, -1) end, "bad argument #2 to 'take' %(no shard %-1%)")
    assert.error_matches(function() world.outbox(2, 1, false, 65536) end, "bad argument #4 to 'outbox'")
    assert.error_matches(function() world.outbox(4) end, "bad argument #1 to 'outbox'")
    outbox:mover()(nil, 1, 2, 3)
    local move = outbox:mover()
    outbox:close()
    assert.error_matches(function() move(nil, 1, 2, 3) end, "attempt to use a closed world")
    assert.equal(0, (outbox:count()))
  end)
end)
