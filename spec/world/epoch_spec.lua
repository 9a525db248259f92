-- What shards tell each other: round trips.
if not string.pack then return pending "parts of an epoch: needs string.pack of Lua 5.3" end

local aoi = require "aoi"
local epoch = require "aoi.skynet.world.epoch"
local plain = require "aoi.skynet.plain"
local tiles = require "aoi.skynet.world.tiles"
local world = require "aoi.skynet.native" "world"

local function router(dimensions, shard)
  local plan = tiles.plan { size = 64, reach = 8, tile = 8, shards = { 2, 1 } }
  local space = aoi.new { delivery = "deferred", dimensions = dimensions }
  return world.router(space, tiles.map(plan), shard or 1), space
end

-- The router's part for shard 2.
local function sample(dimensions)
  local r, space = router(dimensions)
  local z = dimensions == 3 and 5.5 or nil
  local function enter(id, x)
    if z then space:enter(id, x, 3, z, 6) else space:enter(id, x, 3, 6) end
    r:note(id, id + 100, true)
  end
  for id = 1, 4 do enter(id, 28) end
  enter(5, 4)
  for id = 1, 3 do r:move(id, 9, 1, 0, 29.25, 4, z) end
  r:move(4, 9, 1, 0, 3, 4, z) -- FAR
  r:move(5, 9, 1, 0, 30, 4, z) -- NEAR
  r:close()
  r:gone(1)
  r:rekind(2, -7, 1)
  r:enter(77, 3, -1, 30, 2, z)
  return r:part(2)
end

describe("parts of an epoch", function()
  for dimensions = 2, 3 do
    it(("say the same when they are read, in %d dimensions"):format(dimensions), function()
      local rows = {
        [epoch.HAND] = {
          { id = -5, life = 7, kind = -1, client = 3, movers = { 4, 5, 6, 7 }, enters = false, x = 1.5, y = -2.0,
            nodes = { { node = 8, added = false, area = "\0\255}", seen = "", width = 8, by = 2, unusual = true } },
            view = { area = { radius = 5, [3] = 0.5 }, pins = { [4] = 2, [-4] = false } }, traits = {} },
        },
        [epoch.HOME] = { string.pack(epoch.ENTRY, -9, 8, 0, 0) },
        [epoch.WANT] = { { id = math.mininteger, life = 0xffffffff, shard = 1, what = epoch.WANTED } },
      }
      local part = epoch.read(epoch.part(sample(dimensions), rows))
      local other, space = router(dimensions, 2)
      assert.equal(1, other:apply(2, part.bytes)) -- NEAR: entity 5
      assert.same({ 30.0, 4.0, dimensions == 3 and 5.5 or nil }, { space:position(5) })
      assert.equal(6, space:kind(5))
      assert.is_true(other:ghost(5))
      assert.equal(1, other:apply(5, part.bytes)) -- ENTER
      assert.equal(-1, space:kind(77))
      local unknown = "received that 1 is moved, which is unknown there"
      assert.error_matches(function() other:apply(1, part.bytes) end, unknown)
      assert.error_matches(function() other:apply(2, part.bytes) end, "received entity 5 twice")
      part.bytes = nil
      assert.same(rows, part)
    end)
  end

  it("are nothing where there is nothing to tell, and either half alone", function()
    assert.is_nil(epoch.part(nil, nil))
    local rows = { [epoch.LOST] = { { id = 1, life = 2, what = epoch.ENDS } } }
    assert.same({ bytes = "", [epoch.LOST] = rows[epoch.LOST] }, epoch.read(epoch.part(nil, rows)))
    assert.same({ bytes = "x" }, epoch.read(epoch.part("x", nil)))
    local r = router(2)
    for tag = 1, 6 do assert.is_nil((r:apply(tag, ""))) end
  end)

  it("have values that are plain, and no others", function()
    assert.error(function() plain.write { {}, print } end, "a function has no bytes")
  end)

  it("skip the kind of what is unknown, where a part may be missing, and no more", function()
    local r, space = router(2)
    for id = 1, 2 do
      space:enter(id, 28, 3)
      r:note(id, id + 100, true)
      r:rekind(id, id + 4, 1)
    end
    local other, its = router(2, 2)
    its:enter(2, 28, 3, 9)
    other:note(2, 102, false)
    assert.equal(2, other:apply(6, r:part(2), true))
    assert.equal(6, its:kind(2))
  end)
end)

describe("messages of a world", function()
  it("of moves are refused by a shard of other dimensions", function()
    local outbox = world.outbox(3, 3, false, 2)
    outbox:set(1, 1)
    outbox:move(1, 5, 6, 7)
    assert.same({ nil, "wrong dimensions" }, { router(2):read(outbox:take(false, 1)) })
  end)
end)
