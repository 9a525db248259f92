-- What a client view is sent where it is handed over in the epoch in which something else happens: as in one space.
if not string.pack then return pending "hand-overs: needs string.pack of Lua 5.3" end

local row = require "spec.world.row"
local Sync = require "aoi.sync"
local tiles = require "aoi.skynet.world.tiles"

local REACH = 8

describe("a view that is handed over", function()
  local net, one

  local function enter(id, x) one:enter(id, x, 4) end

  local function move(id, x) one:move(id, x, 4) end

  -- Returns what view 1 is sent in the next epoch, if anything.
  local function step()
    one:flush()
    net:run()
    local packets = net:post(one)
    return packets[1] and assert(Sync.read(packets[#packets]))
  end

  before_each(function()
    -- A row of three shards, each 32 wide.
    net = row.new(tiles.plan { size = { 0, 0, 96, 8 }, reach = REACH, tile = 8, shards = { 3, 1 }, hysteresis = 0 },
      { fields = { { "hp", "u16" }, { "name", "string" } } })
    one = net:client(1)
    enter(1, 28)
    enter(2, 30)
  end)

  it("is not sent a value again that it has, because it has been put again", function()
    one:add_client(1, REACH, { tiers = { { 20, 6 } } })
    one:put(2, "name", "n")
    assert.same({ 2, { name = "n" }, n = 1 }, step().fields)
    for hp = 1, 6 do -- for one or another a record waits
      one:put(2, "hp", hp)
      step()
      one:put(2, "name", "n")
      step()
      move(1, hp % 2 == 1 and 34 or 28)
      move(2, hp % 2 == 1 and 41 or 20)
      for _ = 1, 8 do
        local news = step()
        for i = 2, news and 2 * news.fields.n or 0, 2 do assert.same({ hp = hp }, news.fields[i]) end
      end
    end
  end)

  it("pins the life that is named, though its new shard has a former one yet", function()
    one:add_client(1, REACH)
    enter(3, 90)
    step()
    one:pin(1, 3)
    for _ = 1, 4 do step() end
    move(1, 34)
    one:leave(3)
    enter(3, 91)
    step()
    assert.is_true(net.shards[2].core:has(3))
    one:pin(1, 3)
    local appeared
    for _ = 1, 8 do
      local news = step()
      if news and news.appeared.n > 0 then appeared = { news.appeared[1], news.appeared[3] } end
    end
    assert.same({ 3, 91 }, appeared)
  end)
end)
