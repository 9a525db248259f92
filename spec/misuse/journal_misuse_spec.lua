-- A journal whose space is closed under it, or recorded twice; a player whose `handlers` use what is being played.
local aoi = require "aoi"
local history = require "aoi.history"
local journal = require "aoi.journal"

local function hear() end

-- More than is collected before a method hands it on.
local function fill(space)
  local rows = {}
  for id = 1, 10000 do rows[3 * id - 2], rows[3 * id - 1], rows[3 * id] = id, id, id end
  space:enter_many(rows)
end

local function raises(why, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.truthy(tostring(err):find(why, 1, true), err)
end

-- Calls that ask for the handlers of their nodes: one, one that has seen many, those of a sight.
local function recorded()
  local chunks = {}
  local space = aoi.new()
  local rows, seen = {}, {}
  for id = 1, 300 do rows[3 * id - 2], rows[3 * id - 1], rows[3 * id] = id, id, id end
  for id = 300, 2, -1 do seen[#seen + 1] = id end
  space:enter_many(rows)
  local record = journal.record(space, function(bytes) chunks[#chunks + 1] = bytes end)
  space:add_node(1, 1, { shape = "polygon", points = { -9, -9, 9, -9, 9, 9, -9, 9 } }, hear)
  space:adopt(2, 1, 4, { 3 }, hear)
  space:adopt(3, 1, 4, seen, hear)
  local sight = aoi.sight.new(space)
  sight:add(1, 9, 5, { enter = hear })
  record:mark(1)
  sight:add(2, 9, 5, { enter = hear })
  sight:close()
  record:stop()
  return table.concat(chunks)
end

local function play(bytes, during)
  local player, asked = nil, 0
  player = journal.open(bytes, { handlers = function(id)
    if not player then return end
    asked = asked + 1
    during(player, id)
    return function() end
  end })
  while player:step() do end -- luacheck: ignore
  assert(asked >= 5, asked)
  assert.is_true(player.space:check())
  return player
end

describe("the function for the handlers of a player", function()
  local bytes = recorded()

  it("cannot use the player that asks it", function()
    local busy = "attempt to use a player while it is being used"
    play(bytes, function(player)
      raises(busy, player.step, player)
      raises(busy, player.seek, player, 0)
      raises(busy, player.seek, player, 5)
      raises(busy, player.cursor.info, player.cursor)
      raises(busy, getmetatable(player.cursor).__gc, player.cursor)
    end)
  end)

  it("cannot use the space that is played, nor what stands on it", function()
    local playing = "attempt to use a space while its journal is being played"
    play(bytes, function(player, id)
      local space = player.space
      raises(playing, space.close, space)
      raises(playing, space.leave, space, id)
      raises(playing, space.save, space)
      raises(playing, aoi.sync.new, space)
      assert.truthy(tostring(space):find("aoi.space: ", 1, true))
    end)
    local player, changes, sync, past
    player = journal.open(bytes, { handlers = function(id)
      if not player then return end
      raises(playing, changes.changes, changes)
      raises(playing, changes.close, changes)
      raises(playing, sync.add, sync, id, 5)
      raises(playing, sync.close, sync)
      raises(playing, past.tick, past)
      assert.truthy(tostring(past):find("aoi.History: ", 1, true))
    end })
    changes, sync, past = aoi.observe(player.space), aoi.sync.new(player.space), history.new(player.space, 3)
    while player:step() do end -- luacheck: ignore
    for _, object in ipairs { changes, sync, past, player.space } do object:close() end
  end)

  it("may use other players and spaces, and raise an error", function()
    local count = 0
    play(bytes, function()
      play(bytes, function() count = count + 1 end)
      aoi.new():close()
    end)
    assert(count >= 25, count)
    local player
    player = journal.open(bytes, { handlers = function() if player then error("no handlers", 0) end end })
    raises("no handlers", player.step, player)
    raises("no handlers", player.step, player)
    player.space:close()
    raises("attempt to use a closed space", player.step, player)
  end)
end)

describe("a space that is closed while it is recorded", function()
  it("is closed where bytes wait for the sink, which gets them", function()
    local chunks = {}
    local space = aoi.new()
    journal.record(space, function(bytes) chunks[#chunks + 1] = bytes end)
    fill(space)
    space:close()
    raises("attempt to use a closed space", space.count, space)
    raises("attempt to use a closed space", journal.record, space, hear)
    local player = journal.open(table.concat(chunks))
    assert.is_true(player.info.whole)
    while player:step() do end -- luacheck: ignore
    assert.equal(10000, player.space:count())
  end)

  it("is closed where the sink raises", function()
    local calls = 0
    local space = aoi.new()
    local record = journal.record(space, function()
      calls = calls + 1
      if calls == 2 then error("disk full", 0) end
    end)
    space:enter(1, 0, 0)
    raises("disk full", space.close, space)
    raises("attempt to use a closed space", space.count, space)
    space:close()
    record:stop()
    assert.equal(2, calls)
  end)
end)

describe("a second journal of a space", function()
  it("is refused, and the first goes on", function()
    local got = 0
    local space = aoi.new()
    journal.record(space, function(bytes) got = got + #bytes end) -- the space alone keeps it
    raises("the space is recorded already", journal.record, space, hear)
    raises("the space is recorded already", journal.record, space, "no/such/folder/journal")
    collectgarbage()
    collectgarbage()
    raises("the space is recorded already", journal.record, space, hear)
    local before = got
    fill(space)
    space:count()
    assert(got - before > 65536, got - before)
  end)

  it("may follow the first, also where one between cannot be opened", function()
    local got = 0
    local space = aoi.new()
    journal.record(space, hear):stop()
    raises("cannot open", journal.record, space, "no/such/folder/journal")
    local record = journal.record(space, function(bytes) got = got + #bytes end)
    fill(space)
    space:count()
    assert(got > 65536, got)
    record:stop()
  end)
end)
