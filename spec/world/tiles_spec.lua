-- The map of a world against brute force over doubles: who owns a place, who must hear of what stands there, and that
-- this is enough for everything that a node can see.
if not string.pack then return pending "the map of a world: needs string.pack of Lua 5.3" end

local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local tiles = require "aoi.skynet.world.tiles"

local SEED = random_run.seed("world tiles")
local MAPS = random_run.steps(600)

local function random_plan(random)
  local tile = 2.0 ^ (random(9) - 5)
  local x0, y0 = (random(20) - 10) * tile * random(), (random(20) - 10) * tile
  local columns, rows = random(12), random(12)
  local n = random(4)
  local shards = function(column, row) return (column * 31 + row * 17 + column * row * n) % n + 1 end
  if random(2) == 1 then shards = { random(columns), random(rows) } end
  return tiles.plan {
    size = { x0, y0, x0 + columns * tile, y0 + rows * tile }, reach = random(40) / 10 * tile, tile = tile,
    shards = shards, hysteresis = (random(5) - 1) / 8 * tile,
  }
end

local function clamp(v, low, high) return math.max(low, math.min(high, v)) end

local function tile_of(plan, x, y)
  return clamp(math.floor(x / plan.tile) - plan.column, 0, plan.columns - 1),
    clamp(math.floor(y / plan.tile) - plan.row, 0, plan.rows - 1)
end

local function owner_of(plan, column, row)
  return (string.unpack("<I2", plan.owners, 2 * (row * plan.columns + column) + 1))
end

-- On a corner of a tile, just beside one, or anywhere; inside the grid or out of it.
local function random_place(random, plan)
  local v = (plan.column + random(plan.columns + 8) - 4) * plan.tile
  local w = (plan.row + random(plan.rows + 8) - 4) * plan.tile
  local what = random(4)
  if what == 1 then return v, w end
  if what == 2 then return v - plan.tile * 2.0 ^ -40, w + plan.tile * 2.0 ^ -40 end
  return v + random() * plan.tile, w + random() * plan.tile
end

describe("the map of a world", function()
  local function check_place(plan, map, x, y)
    local column, row = tile_of(plan, x, y)
    local owner = owner_of(plan, column, row)
    assert.equal(owner, map:owner(x, y))
    local near, h = {}, plan.hysteresis
    for y1 = math.max(0, row - plan.halo), math.min(plan.rows - 1, row + plan.halo) do
      for x1 = math.max(0, column - plan.halo), math.min(plan.columns - 1, column + plan.halo) do
        near[owner_of(plan, x1, y1)] = true
      end
    end
    local audience, last = map:audience(x, y), 0
    for _, shard in ipairs(audience) do
      assert(shard > last and near[shard])
      last, near[shard] = shard, nil
    end
    assert(next(near) == nil)
    local touched = {}
    for _, corner in ipairs { { 0, 0 }, { -h, -h }, { h, -h }, { -h, h }, { h, h } } do
      touched[owner_of(plan, tile_of(plan, x + corner[1], y + corner[2]))] = true
    end
    for shard = 1, plan.shards do assert(map:stays(shard, x, y) == (touched[shard] or false)) end
  end

  it("of other options differs in the one that was given", function()
    local usual = { size = 64, reach = 10, shards = 2 }
    local function differs(name, value)
      local other = {}
      for key, its in pairs(usual) do other[key] = its end
      other[name] = value
      return tiles.difference(tiles.plan(other), tiles.plan(usual))
    end
    for name, value in pairs { size = 32, reach = 20, shards = { 1, 2 }, extent = 5, tile = 8, hysteresis = 0.25 } do
      assert.equal(name, differs(name, value))
    end
    assert.equal("reach", tiles.difference(nil, tiles.plan(usual)))
  end)

  it("has the owners and audiences of a search through all tiles", function()
    local random = rng.new(SEED)
    for _ = 1, MAPS do
      local plan = random_plan(random)
      local map = tiles.map(plan)
      for _ = 1, 20 do check_place(plan, map, random_place(random, plan)) end
    end
  end)

  -- Some tiles of other owners: the rows for `assign`, and the plan as it is then.
  local function change(random, plan)
    local rows, other, n = {}, {}, plan.columns * plan.rows
    for name, value in pairs(plan) do other[name] = value end
    for i = 1, random(6) do
      local tile, shard = random(n) - 1, random(plan.shards)
      rows[i] = string.pack("<I4I2", tile, shard)
      other.owners = other.owners:sub(1, 2 * tile) .. string.pack("<I2", shard) .. other.owners:sub(2 * tile + 3)
    end
    return table.concat(rows), other
  end

  it("has them when tiles change owners, and so has each that is changed alike; another stays as it was", function()
    local random = rng.new(SEED + 2)
    for _ = 1, MAPS / 2 do
      local plan = random_plan(random)
      local before, first, second = tiles.map(plan), tiles.map(plan), tiles.map(plan)
      local now = plan
      for _ = 1, random(4) do
        local rows
        rows, now = change(random, now)
        first:assign(rows)
        second:assign(rows)
        assert.equal(now.owners, first:owners())
        for _ = 1, 10 do
          local x, y = random_place(random, now)
          check_place(now, first, x, y)
          check_place(now, second, x, y)
          check_place(now, tiles.map(now), x, y)
          check_place(plan, before, x, y)
        end
      end
      assert.has_error(function() first:assign "12345" end,
        "bad argument #1 to 'assign' (tiles and shards of the map expected)")
      assert.equal(now.owners, first:owners())
    end
  end)

  it("has a halo that holds all that a node may see, however far from the origin", function()
    local random = rng.new(SEED + 1)
    for _ = 1, 20 * MAPS do
      local plan = random_plan(random)
      local far = 2.0 ^ random(41) / 2
      local r = plan.reach * (random(3) == 1 and 1 or random())
      local w = (random() - 0.5) * far
      if random(3) == 1 then w = math.floor(w / plan.tile) * plan.tile end
      local t = w + (random(2) == 1 and 1 or -1) * r * (random(2) == 1 and 1 or random())
      if random(4) == 1 then t = random(2) == 1 and w + r or w - r end
      if w - r <= t and t <= w + r then
        -- A watcher may stand outside its region, as far as the hysteresis.
        local home = w + (random(3) - 2) * plan.hysteresis
        local distance = math.abs(math.floor(t / plan.tile) - math.floor(home / plan.tile))
        if math.abs(home - w) <= plan.hysteresis * 1.0000001 and distance > plan.halo then
          error(("w = %a, r = %a, t = %a: %d tiles of %g, halo %d"):format(w, r, t, distance, plan.tile, plan.halo))
        end
      end
    end
  end)

  it("cuts the square in regions of nearly equal size, on borders of tiles", function()
    for shards = 1, 70 do
      local plan = tiles.plan { size = 1024, reach = 14, shards = shards }
      assert.equal(8.0, plan.tile)
      assert.equal(shards, plan.shards)
      local count = {}
      for i = 1, #plan.owners, 2 do
        local owner = string.unpack("<I2", plan.owners, i)
        count[owner] = (count[owner] or 0) + 1
      end
      assert.equal(shards, #count)
      local mean = plan.columns * plan.rows / shards
      for _, n in ipairs(count) do assert(n > 0.75 * mean and n < 1.3 * mean, shards .. ": " .. n / mean) end
    end
  end)

  it("finds the shards whose own may stand in a box", function()
    local plan = tiles.plan { size = 64, reach = 6, tile = 4, shards = { 4, 4 }, hysteresis = 1 }
    local map = tiles.map(plan)
    assert.same({ 1 }, map:around(8, 8, 2, 2))
    assert.same({ 1, 2 }, map:around(8, 8, 7, 2))
    assert.equal(16, #map:around(32, 32, math.huge, math.huge))
    assert.same({ 16 }, map:around(1e300, 1e300, 5, 5))
  end)

  it("refuses options that make no map, by name", function()
    for name, values in pairs {
      size = { "big", 0, 1 / 0, { 0, 0, 1 } }, reach = { -1, 0 / 0, "far" }, tile = { 3, 2.0 ^ -20 },
      hysteresis = { 3 }, shards = { 0, 1.5, { 1000, 1 }, function() return 0 end },
    } do
      for _, value in ipairs(values) do
        local options = { size = 100, reach = 10 }
        options[name] = value
        assert.error_matches(function() tiles.plan(options) end, ("bad value for option '%s' ("):format(name), 1, true)
      end
    end
    assert.error_matches(function() tiles.plan { size = 0, reach = 10 } end, "it is empty")
    assert.error_matches(function() tiles.plan { size = 100, reach = 10, tile = 3 } end, "a power of two")
  end)
end)
