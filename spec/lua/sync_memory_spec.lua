-- What synchronisation takes: bytes a known pair.
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

  it("is at most 15, 21 and 36.5 bytes a pair that is known", function()
    for name, case in pairs {
      all = { 15, {} }, tiers = { 21, { tiers = TIERS } }, bytes = { 21, { bytes = 200 } },
      limit = { 36.5, { limit = 30 } }, both = { 36.5, { limit = 30, tiers = TIERS } },
    } do
      local most, options = case[1], case[2]
      local bytes, _, known = town(options)
      if options.limit then assert.is_true(known <= 30 * CLIENTS) end
      assert.is_true(bytes <= most, ("%s: %.2f bytes"):format(name, bytes))
    end
  end)

  it("does not hold what waited for a tick when that is over", function()
    local _, given_back = town { limit = 30 }
    assert.is_true(given_back > 0)
  end)
end)
