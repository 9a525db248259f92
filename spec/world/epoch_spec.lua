-- What shards tell each other: round trips, and readers that take any bytes.
if not string.pack then return pending "parts of an epoch: needs string.pack of Lua 5.3" end

local aoi = require "aoi"
local epoch = require "aoi.skynet.world.epoch"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local wire = require "aoi.skynet.wire"
local tiles = require "aoi.skynet.world.tiles"
local world = require "aoi.skynet.native" "world"

local SEED = random_run.seed("world epoch")
local MUTATIONS = random_run.steps(60000)

local function router(dimensions, shard)
  local plan = tiles.plan { size = 64, reach = 8, tile = 8, shards = { 2, 1 } }
  local space = aoi.new { delivery = "deferred", dimensions = dimensions }
  return world.router(space, tiles.map(plan), shard or 1), space
end

local function samples(dimensions)
  local r, space = router(dimensions)
  local z = dimensions == 3 and 5.5 or nil
  local list = {}
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
  local area = r:pack({ shape = "polygon", points = { 0, 0, 3, 0, 3, 3 } }, 8)
  local rows = {
    [epoch.HAND] = {
      epoch.hand({
        id = -5, life = 7, kind = -1, client = 3, movers = { 4, 5, 6, 7 }, enters = false, x = 1.5, y = -2, z = z,
        nodes = { { node = 8, client = 3, handle = 9, added = false, positions = true, area = area, width = 4,
                    seen = string.pack("<i4i4", 1, 2), by = 2, sight = true, linger = 3,
                    states = string.pack("<i8i8", 2, 4 + 2 * 256) } },
        view = { area = 5, pins = { [4] = 2 } }, follows = { 2, 1 },
        ghosts = { { id = 4, life = 2, kind = 1, x = 1.0, y = 2.0, z = z } },
      }, dimensions),
      epoch.hand({ id = 6, life = 1, kind = 1, client = 1, movers = { 0, 0, 0, 0 }, enters = true, x = 0, y = 0, z = z,
                   nodes = {} }, dimensions),
    },
    [epoch.HOME] = { epoch.home(9, 8, 2, 5), epoch.home(-9, 8, 0, 0) },
    [epoch.ROWS] = { epoch.row(dimensions, 4, 5, 6, 7, 1.25, 2, z) },
    [epoch.WANT] = { epoch.want(-4, 2, 1, epoch.WANTED) },
    [epoch.WALLS] = { epoch.walls { last = 7, list = { [7] = { 1, 2, 3, 4.5, z, z, open = true } } } },
  }
  list[1] = epoch.part(r:part(2), rows, dimensions)
  list[2] = epoch.part(nil, { [epoch.HOME] = rows[epoch.HOME] }, dimensions)
  list[3] = list[1] -- the most of what may go wrong is in the whole one
  return list, area
end

describe("parts of an epoch", function()
  for dimensions = 2, 3 do
    it(("say the same when they are read, in %d dimensions"):format(dimensions), function()
      local list, area = samples(dimensions)
      local part = assert(epoch.read(list[1], dimensions))
      local hand = part[epoch.HAND][1]
      assert.same({ -5, 7, -1, 3, "4 5 6 7", false, 1.5, -2.0 },
        { hand.id, hand.life, hand.kind, hand.client, table.concat(hand.movers, " "), hand.enters, hand.x, hand.y })
      assert.equal(dimensions == 3 and 5.5 or nil, hand.z)
      assert.same({ node = 8, client = 3, handle = 9, added = false, positions = true, area = area, width = 4,
                    seen = string.pack("<i4i4", 1, 2), by = 2, sight = true, linger = 3,
                    states = string.pack("<i8i8", 2, 516) }, hand.nodes[1])
      assert.same({ { last = 7, list = { [7] = { 1, 2, 3, 4.5, hand.z, hand.z, open = true } } } }, part[epoch.WALLS])
      assert.same({ { id = 4, life = 2, kind = 1, x = 1.0, y = 2.0, z = hand.z } }, hand.ghosts)
      assert.same({ { [4] = 2 }, { 2, 1 } }, { hand.view.pins, hand.follows })
      assert.same({ { id = -4, life = 2, shard = 1, what = epoch.WANTED } }, part[epoch.WANT])
      assert.is_true(part[epoch.HAND][2].enters)
      assert.same({ { id = 9, life = 8, shard = 2, client = 5 }, { id = -9, life = 8, shard = 0, client = 0 } },
        part[epoch.HOME])
      assert.equal(1.25, part[epoch.ROWS][1].x)

      local other, space = router(dimensions, 2)
      assert.equal(1, other:apply(2, list[1])) -- NEAR: entity 5
      assert.same({ 30.0, 4.0, dimensions == 3 and 5.5 or nil }, { space:position(5) })
      assert.equal(6, space:kind(5))
      assert.is_true(other:ghost(5))
      assert.equal(1, other:apply(5, list[1])) -- BORN
      assert.equal(-1, space:kind(77))
      assert.error_matches(function() other:apply(1, list[1]) end, "received that 1 is moved, which is unknown there")
      assert.error_matches(function() other:apply(2, list[1]) end, "received entity 5 twice")
    end)

    it(("are refused with a reason where they are malformed, in %d dimensions"):format(dimensions), function()
      local random, refused = rng.new(SEED + dimensions), 0
      local list = samples(dimensions)
      for _ = 1, MUTATIONS do
        local bytes = random(list)
        local what = random(5)
        if what == 1 then
          bytes = bytes:sub(1, random(#bytes) - 1)
        elseif what == 2 then
          bytes = bytes .. string.char(random(256) - 1)
        else
          for _ = 1, random(3) do
            local at = random(#bytes)
            local byte = random { 0, 1, 2, 127, 128, 255, random(256) - 1 }
            bytes = bytes:sub(1, at - 1) .. string.char(byte) .. bytes:sub(at + 1)
          end
        end
        local part, reason = epoch.read(bytes, dimensions)
        if not part then
          refused = refused + 1
          assert(type(reason) == "string" and not reason:find("attempt to"), reason)
        end
      end
      assert(refused > MUTATIONS / 3)
    end)
  end

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

  it("are one form, of which anything else is refused", function()
    local list = samples(2)
    for _, bytes in ipairs { "", "\1\3\4", "\2\3\4\2", "\1\2\4\2", "\1\3\5\2", "\1\3\4\3", "\1\3\4\2\1",
                             "\1\3\4\2\14" .. ("\0"):rep(8) } do
      local part, reason = epoch.read(bytes, 2)
      assert.is_nil(part)
      assert.equal("string", type(reason))
    end
    local twice = list[2] .. list[2]:sub(5)
    assert.same({ nil, "sections out of order" }, { epoch.read(twice, 2) })
    local nan = epoch.part(nil, { [epoch.ROWS] = { epoch.row(2, 4, 5, 6, 7, 0 / 0, 2) } }, 2)
    assert.same({ nil, "an impossible coordinate" }, { epoch.read(nan, 2) })
  end)
end)

describe("messages of a world", function()
  it("of routes are read or refused, whatever bytes come", function()
    local message = wire.routes(5, 12, { wire.route(-8, 2), wire.route(9, wire.LEFT_WORLD, 7) })
    assert.same({ wire.ROUTES, 0, 5 }, { wire.head(message) })
    local list = {}
    assert.same({ 2, 12 }, { wire.read_routes(message, list) })
    assert.same({ -8, 2, 0, 9, wire.LEFT_WORLD, 7 }, list)
    assert.same({ nil, "wrong length 41" }, { wire.read_routes(message .. "x", {}) })
  end)

  it("of moves are refused by a shard of other dimensions", function()
    local outbox = world.outbox(3, 3, false, 2)
    outbox:set(1, 1)
    outbox:move(1, 5, 6, 7)
    assert.same({ nil, "wrong dimensions" }, { router(2):read(outbox:take(false, 1)) })
  end)
end)
