-- What synchronisation takes: bytes a known pair, and numbers of more than 16 bits, which take more.
local aoi = require "aoi"
local Sync = require "aoi.sync"
local rng = require "spec.support.rng"

describe("memory of a synchroniser", function()
  local CLIENTS, SEEN, RADIUS = 2000, 100, 50
  local TIERS = { { 20, 1 }, { 35, 3 }, { 50, 6 } }
  local side = math.sqrt(CLIENTS * (2 * RADIUS) ^ 2 / SEEN)

  -- All walk; bytes that the clients and their views take, and pairs that are known.
  local function town(options)
    local space, random, x, y = aoi.new { engine = "grid" }, rng.new(3), {}, {}
    for id = 1, CLIENTS do
      x[id], y[id] = random() * side, random() * side
      space:enter(id, x[id], y[id])
    end
    local sync, before = Sync.new(space, options), space:stats().memory
    for id = 1, CLIENTS do sync:add(id, RADIUS) end
    local held
    for _ = 1, 6 do
      for id = 1, CLIENTS do
        x[id], y[id] = x[id] + random() * 5 - 2.5, y[id] + random() * 5 - 2.5
        space:move(id, x[id], y[id])
      end
      held = space:stats().memory
      sync:tick(function() end)
    end
    local after, known = space:stats().memory, 0
    for id = 1, CLIENTS do known = known + select(2, sync:known(id)) end
    space:close()
    return (after - before) / known, held - after, known
  end

  it("is at most 24.5 bytes a pair that is known", function()
    for name, options in pairs {
      all = {}, tiers = { tiers = TIERS }, bytes = { bytes = 200 }, limit = { limit = 30 },
      both = { limit = 30, tiers = TIERS },
    } do
      local bytes, _, known = town(options)
      if options.limit then assert.is_true(known <= 30 * CLIENTS) end
      assert.is_true(bytes <= 24.5, ("%s: %.2f bytes"):format(name, bytes))
    end
  end)

  it("does not hold what waited for a tick when that is over", function()
    local _, given_back = town { limit = 30 }
    assert.is_true(given_back > 0)
  end)
end)

describe("more than 65,536 entities that are known", function()
  local MOST = 66000

  local function numbers_of(list, n)
    local is = {}
    for i = 1, n do is[list[i]] = true end
    return is
  end

  it("are found, and forgotten", function()
    local space = aoi.new { engine = "grid" }
    local sync = Sync.new(space, { quantum = 1 })
    local rows = {}
    for id = 1, MOST do
      rows[#rows + 1] = id
      rows[#rows + 1] = (id - 1) % 300
      rows[#rows + 1] = math.floor((id - 1) / 300)
    end
    space:enter_many(rows)
    sync:add(1, math.huge)
    sync:tick(function() end)
    local last = MOST
    sync:add(last, { radius = 3 })
    sync:add(2, { radius = 3 })
    sync:tick(function() end)
    local list, n = sync:known(1)
    assert.equal(MOST - 1, n)
    local known = numbers_of(list, n)
    for id = 2, MOST do assert.is_true(known[id]) end
    for _, id in ipairs { 2, 3, 65535, 65536, 65537, last - 1, last } do
      assert.is_true(sync:knows(1, id))
      assert.is_true(numbers_of(sync:knowers(id))[1])
    end
    assert.is_true(sync:knows(last, last - 1))
    assert.is_false(sync:knows(last, 2))
    assert.is_true(sync:knows(2, 3))
    assert.is_false(sync:knows(2, last - 1))
    for id = 2, MOST - 1 do
      if id % 600 ~= 0 then space:leave(id) end
    end
    local gone = 0
    sync:tick(function(id, message)
      if id == 1 then gone = Sync.read(message).gone.n end
    end)
    list, n = sync:known(1)
    assert.equal(MOST - 1 - gone, n)
    known = numbers_of(list, n)
    for id = 2, MOST do assert.equal(space:has(id), known[id] or false) end
    assert.is_true(space:check())
    space:close()
  end)
end)
