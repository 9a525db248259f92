-- A client's picture as bytes: one that goes from a synchroniser to another and one that stays are sent the same.
-- spec/world/exact_spec.lua has random histories of that.
local Client = require "spec.support.client_model"
local Sight = require "aoi.sight"
local Sync = require "aoi.sync"
local aoi = require "aoi"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local FIELDS = { { "hp", "u16" }, { "name", "string" }, { "bag", "u8", to = "own" } }

local function fresh(tick, ...)
  local space = aoi.new { delivery = "deferred" }
  for _, row in ipairs { ... } do space:enter(row[1], row[2], row[3], row[4]) end
  return space, Sync.new(space, { quantum = 1 / 8, fields = FIELDS, tick = tick })
end

local function tick(sync, player)
  local news
  sync:tick(function(_, bytes) news = player:apply(bytes) end)
  return news
end

-- Client 1 is sent its first messages by one synchroniser, then goes on elsewhere, with these entities there.
local function go_on(area, options, before, ...)
  local space, sync = fresh(0, { 1, 0, 0 }, { 2, 4, 0 }, { 3, 6, 0 })
  local player = Client.new(2)
  sync:add(1, area, options)
  tick(sync, player)
  if before then before(space, sync, player) end
  local bytes, ids, n = sync:picture(1)
  local there, other = fresh(10, ...)
  return there, other, player, bytes, ids, n
end

describe("a client's picture", function()
  it("lists the entities in it", function()
    local _, _, _, bytes, ids, n = go_on(10)
    table.sort(ids)
    assert.equal("string", type(bytes))
    assert.same({ 2, 3 }, ids)
    assert.equal(2, n)
  end)

  -- The same on every machine, whatever its order of bytes.
  it("is little-endian: places as quanta or floats, or as doubles where these cannot hold them", function()
    for _, case in ipairs {
      { quantum = 0.5, x = 1.5, y = -2, flags = "03", "0300000000000000", "fcffffffffffffff" },
      { x = 1.5, y = -2, flags = "03", "0000c03f00000000", "000000c000000000" },
      { quantum = 2 ^ -10, x = 2 ^ 45, y = -2, flags = "23", "000000000000c042", "00000000000000c0" },
    } do
      local space = aoi.new()
      space:enter(1, case.x, case.y)
      space:enter(0x0102, case.x, case.y, 5)
      local sync = Sync.new(space, { quantum = case.quantum })
      sync:add(1, 10)
      sync:tick(function() end)
      local hex = sync:picture(1):gsub(".", function(c) return ("%02x"):format(c:byte()) end)
      assert.equal("0200" .. "01000000" .. "0201000000000000" .. case.flags .. "01" .. "0500000000000000"
        .. case[1] .. case[2] .. ("0"):rep(16) .. "00000000" .. "00" .. "00" .. ("0"):rep(16 + 56), hex)
    end
  end)

  it("says nothing of what has not changed", function()
    local there, other, player, bytes = go_on(10, nil, nil, { 1, 0, 0 }, { 2, 4, 0 }, { 3, 6, 0 })
    other:add(1, 10)
    other:adopt(1, bytes, {})
    assert.is_nil(tick(other, player))
    there:move(3, 7, 0)
    assert.equal(1, tick(other, player).moved.n)
    assert.equal(7, player.known[3][1])
  end)

  it("holds on to what the views' margins held", function()
    for _, area in ipairs { { radius = 5, margin = 3 }, { { radius = 5, margin = 3 }, { radius = 1 } } } do
      local there, other, player, bytes = go_on(area, nil, function(space, sync, player)
        space:move(3, 4.5, 0)
        tick(sync, player)
        space:move(3, 6, 0)
        tick(sync, player)
      end, { 1, 0, 0 }, { 2, 4, 0 }, { 3, 7, 0 })
      other:add(1, area)
      other:adopt(1, bytes, {})
      assert.equal(0, tick(other, player).gone.n)
      assert.equal(7, player.known[3][1])
      there:move(3, 9, 0)
      assert.same({ 3, n = 1, reasons = { 0 } }, tick(other, player).gone)
    end
  end)

  it("lists what walls hide from a view that holds on to it, which may have another life elsewhere", function()
    local area = { { radius = 5, margin = 4 }, { radius = 1 } }
    local function with_wall(tick_of, x, is_shut)
      local space = aoi.new { delivery = "deferred" }
      space:enter(1, 0, 0)
      space:enter(2, x, 0)
      local sight = Sight.new(space)
      if is_shut then sight:wall(2, -5, 2, 5) end
      return Sync.new(space, { sight = sight, tick = tick_of })
    end
    local sync, player = with_wall(0, 4, true), Client.new(2)
    sync:add(1, area)
    tick(sync, player)
    local bytes, ids, n = sync:picture(1)
    assert.same({ { 2 }, 1 }, { ids, n })
    for _, gone in ipairs { {}, { 2 } } do
      local other = with_wall(1, 7, false)
      other:add(1, area)
      other:adopt(1, bytes, gone)
      local news = tick(other, player)
      assert.equal(gone[1] and 0 or 1, news and news.appeared.n or 0)
    end
  end)

  -- Entity 3 is at x and of that kind in the other synchroniser, as client 9 knows; late(space): as it learns then.
  local function meet_one_that_knows(options, x, kind, late)
    local there, other, player, bytes = go_on(10, options, nil, { 1, 0, 0 }, { 2, 4, 0 }, { 3, x, 0, kind },
      { 9, 12, 0 })
    local stays, sent = Client.new(2), {}
    other:add(9, 10, options)
    tick(other, stays)
    if late then late(there) end
    other:add(1, 10, options)
    other:adopt(1, bytes, {})
    other:tick(function(id, message) sent[id] = (id == 1 and player or stays):apply(message) end)
    return player.known[3], stays.known[3], sent
  end

  local ALL_OPTIONS = { {}, { tiers = { { 20, 1 } } }, { bytes = 90 } }

  it("is of the places and kinds here, though others know them already", function()
    for _, options in ipairs(ALL_OPTIONS) do
      local its, _, sent = meet_one_that_knows(options, 7, 5)
      assert.same({ 7, 5 }, { its[1], its.kind })
      assert.is_nil(sent[9])
    end
  end)

  it("is not sent a place or a kind that it has, though others are", function()
    for _, options in ipairs(ALL_OPTIONS) do
      local _, its, sent = meet_one_that_knows(options, 7, 5, function(space)
        space:move(3, 6, 0)
        space:set_kind(3, 1)
      end)
      assert.same({ 6, 1 }, { its[1], its.kind })
      assert.is_nil(sent[1])
    end
  end)

  it("finds kinds and places that have changed on the way, and lives that have ended", function()
    local _, other, player, bytes = go_on(10, nil, nil, { 1, 0, 0 }, { 2, 4, 0, 5 }, { 3, 6, 1 })
    other:add(1, 10)
    other:adopt(1, bytes, {})
    local news = tick(other, player)
    assert.same({ 2, 5, n = 1 }, news.touched)
    assert.same({ 3, 6, 1, n = 1 }, news.moved)
    _, other, player, bytes = go_on(10, nil, nil, { 1, 0, 0 }, { 2, 4, 0 })
    other:add(1, 10)
    other:adopt(1, bytes, { 2 })
    news = tick(other, player)
    table.sort(news.gone)
    assert.same({ 2, 3, n = 2, reasons = { 0, 0 } }, news.gone)
    assert.equal(2, news.appeared[1])
  end)

  it("begins anew where the next message was to", function()
    local _, other, player, bytes = go_on(10, nil, function(_, sync) sync:resend(1) end, { 1, 0, 0 }, { 2, 4, 0 })
    other:add(1, 10)
    other:adopt(1, bytes, {})
    assert.is_true(tick(other, player).anew)
    assert.is_nil(player.known[3])
  end)

  it("keeps what waits, and pins", function()
    local options = { tiers = { { 1, 1 }, { 10, 60 } } }
    local _, other, player, bytes = go_on(10, options, function(space, sync, player)
      space:enter(4, 50, 0)
      space:move(2, 5, 0)
      sync:put(3, "hp", 7)
      sync:pin(1, 4)
      tick(sync, player)
    end, { 1, 0, 0 }, { 2, 5, 0 }, { 3, 6, 0 }, { 4, 50, 0 })
    other:put(3, "hp", 7, 1)
    other:add(1, 10, options)
    other:adopt(1, bytes, {})
    for _ = 1, 61 do tick(other, player) end
    assert.equal(5, player.known[2][1])
    assert.equal(7, player.known[3].fields.hp)
    assert.is_truthy(player.known[4])
  end)

  it("goes on with a text that is sent in pieces", function()
    local text, stays = ("abcdefgh"):rep(40), nil
    local function messages(sync, player)
      local n = 0
      while tick(sync, player) do n = n + 1 end
      return n
    end
    local _, other, player, bytes = go_on(10, { bytes = 90 }, function(_, sync, player)
      sync:put(2, "name", text)
      for _ = 1, 2 do tick(sync, player) end
      stays = sync
    end, { 1, 0, 0 }, { 2, 4, 0 }, { 3, 6, 0 })
    other:put(2, "name", text, 2)
    other:add(1, 10, { bytes = 90 })
    other:adopt(1, bytes, {})
    local n = messages(other, player)
    assert.equal(text, player.known[2].fields.name)
    player.into = {} -- the pieces that have come before
    assert.equal(n, messages(stays, player))
  end)

  it("of any other bytes is an error, and changes nothing", function()
    local _, other, player, bytes = go_on({ { radius = 5, margin = 3 }, 9 }, { bytes = 90, tiers = { { 3, 4 } } },
      function(space, sync, player)
        sync:put(2, "name", ("x"):rep(300))
        space:move(3, 7, 0)
        for _ = 1, 2 do tick(sync, player) end
      end, { 1, 0, 0 }, { 2, 4, 0 }, { 3, 6, 0 })
    local seed = random_run.seed("pictures")
    local random = rng.new(seed)
    other:add(1, 10, { bytes = 90 })
    for cut = 0, #bytes - 1 do
      assert.error_matches(function() other:adopt(1, bytes:sub(1, cut), {}) end, "#2 to 'adopt' %(a picture")
    end
    assert.error_matches(function() other:adopt(1, bytes .. "x", {}) end, "#2 to 'adopt' %(a picture of another length")
    for _ = 1, random_run.steps(2000) do
      local at = random(#bytes)
      local other_bytes = bytes:sub(1, at - 1) .. string.char(random(256) - 1) .. bytes:sub(at + 1)
      other:remove(1)
      other:add(1, { 10, { radius = 5, margin = 3 } }, random(2) == 1 and { bytes = 90, tiers = { { 3, 4 } } } or nil)
      if pcall(other.adopt, other, 1, other_bytes, {}) then
        for _ = 1, 3 do other:tick(function() end) end
      end
    end
    other:tick(function() end) -- what the last of them was refused for may have left it without a message
    assert.error_matches(function() other:adopt(1, bytes, {}) end, "#1 to 'adopt' %(it has been sent a message already")
    assert.is_truthy(player)
  end)
end)

describe("what waits with tiers", function()
  it("of the client's own fields does so until the tick that is due, and not longer", function()
    local space, sync = fresh(0, { 1, 0, 0 })
    local player = Client.new(2)
    sync:add(1, 10, { tiers = { { 5, 3 } } })
    for _ = 1, 3 do tick(sync, player) end
    sync:set(1, { self = true })
    sync:put(1, "bag", 1)
    assert.equal(1, tick(sync, player).appeared.n)
    for _ = 1, 4 do assert.is_nil(tick(sync, player)) end -- it came with the appearance
    sync:put(1, "bag", 2)
    local n = 0
    repeat n = n + 1 until tick(sync, player)
    assert(n <= 3)
    assert.equal(2, player.known[1].fields.bag)
    assert.is_true(space:check())
  end)

  it("has the whole message where the record that is sent in pieces goes", function()
    local space, sync = fresh(0, { 1, 0, 0 }, { 2, 4, 0 }, { 30, 3, 0 }, { 31, 3, 1 }, { 32, 3, 2 }, { 33, 3, 3 })
    for id = 34, 40 do space:enter(id, 3, -id / 8) end
    local player = Client.new(2)
    sync:add(1, 10, { bytes = 90 })
    repeat until not tick(sync, player)
    sync:put(2, "name", ("n"):rep(400))
    tick(sync, player)
    space:move(2, 90, 0)
    for id = 30, 40 do space:move(id, 4, -id / 8) end
    local news = tick(sync, player)
    assert.same({ 2, n = 1, reasons = { 0 } }, news.gone)
    assert(news.moved.n > 10, news.moved.n .. " of 11 in a message of 90 bytes")
  end)

  it("has the phase of the ids of client and target, in whatever order they came", function()
    local function due(first, second)
      local space, sync = fresh(0, { first, 0, 0 }, { second, 0, 0 }, { 30, 3, 0 }, { 40, 3, 0 })
      local player, sent = Client.new(2), {}
      sync:add(first, 10, { tiers = { { 50, 16 } } })
      sync:add(second, 10, { tiers = { { 50, 16 } } })
      for n = 1, 40 do
        space:move(30, 3, n)
        sync:tick(function(id, bytes)
          if id == 10 and player:apply(bytes).moved.n > 0 then sent[#sent + 1] = n end
        end)
      end
      return sent
    end
    assert.same(due(10, 20), due(20, 10))
  end)
end)
