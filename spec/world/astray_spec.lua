-- Moves that take a longer way, as an entity has changed hands or the id has had an earlier life: the last one arrives.
if not string.pack then
  describe("moves that go astray", function() pending("needs Lua 5.3 or later: string.pack") end)
  return
end

local Member = require "aoi.skynet.world.member"
local Shard = require "aoi.skynet.world.shard"
local tiles = require "aoi.skynet.world.tiles"
local world = require "aoi.skynet.world.native"

-- A row of three shards, each 16 wide; a client's requests are served at once.
local PLAN = tiles.plan { size = { 0, 0, 48, 16 }, reach = 2, tile = 4, shards = { 3, 1 } }
local LEFT, MIDDLE, RIGHT = 4, 24, 44

-- An id whose home is that shard.
local function id_at(home)
  local id = 1
  while world.home(id, PLAN.shards) ~= home do id = id + 1 end
  return id
end

local function new_world()
  local net = { shards = {}, epoch = 0, mail = {} }
  for number = 1, PLAN.shards do net.shards[number] = Shard.new { number = number, plan = PLAN } end

  function net:close()
    self.epoch, self.parts = self.epoch + 1, {}
    for number = 1, PLAN.shards do self.parts[number] = {} end
    for number = 1, PLAN.shards do
      for to, part in pairs(self.shards[number]:close(self.epoch)) do table.insert(self.parts[to], part) end
    end
  end

  function net:apply()
    for number = 1, PLAN.shards do
      for client, message in pairs((self.shards[number]:apply(self.epoch, self.parts[number]))) do
        table.insert(self.mail, { client, message })
      end
    end
  end

  function net:run(n)
    for _ = 1, n or 1 do
      self:close()
      self:apply()
    end
  end

  -- Requests that wait for an epoch get the next one.
  function net:client(number)
    local refused = {}
    local member = Member.new {
      number = number, plan = PLAN, dimensions = 2,
      ask = function(shard, after, ...)
        local got
        self.shards[shard]:request(number, after, function(...) got = table.pack(...) end, ...)
        if not got then self:run() end
        return table.unpack(got, 1, got.n)
      end,
      send = function(shard, message) return assert(self.shards[shard]:moves(message)) end,
    }
    member:on_refused(function(ids) for _, id in ipairs(ids) do table.insert(refused, id) end end)
    return member, refused
  end

  -- What has been sent to the client arrives.
  function net:post(member)
    for _, letter in ipairs(self.mail) do
      if letter[1] == member.number then assert(member:receive(letter[2])) end
    end
    self.mail = {}
    member:deliver()
  end

  return net
end

describe("moves that go astray", function()
  it("arrive when the id's home remembers where an earlier life went", function()
    for home = 1, PLAN.shards do
      local net, id = new_world(), id_at(home)
      local one = net:client(1)
      local other = net:client(2)
      one:enter(id, LEFT, 8)
      net:run()
      assert.equal(LEFT, (other:position(id))) -- it knows the way to the left
      one:move(id, MIDDLE, 8)
      one:flush()
      net:run(2)
      one:leave(id)
      net:run(2)
      one:enter(id, RIGHT, 8)
      net:run(2)
      other:move(id, RIGHT, 9)
      other:flush()
      net:run(4)
      local x, y = one:position(id)
      assert.same({ RIGHT, 9 }, { x, y }, "home " .. home)
    end
  end)

  it("do not replace a later one, though the owner was not known then", function()
    local net, id = new_world(), id_at(1)
    local one = net:client(1)
    local other = net:client(2)
    one:enter(id, LEFT, 8)
    net:run()
    other:move(id, LEFT, 1)
    assert.equal(1, other.lost_count)
    other.outbox:set(id, 1) -- as an answer to another request would do
    other:move(id, LEFT, 2)
    assert.equal(0, other.lost_count)
    other:flush()
    net:run()
    assert.equal(2, (select(2, one:position(id))))
  end)

  it("are in the answer to a request that comes after them", function()
    local net, id = new_world(), id_at(1)
    local one = net:client(1)
    local other = net:client(2)
    one:enter(id, LEFT, 8)
    net:run()
    other:move(id, LEFT, 3) -- the owner is not known
    assert.equal(3, (select(2, other:position(id))))
    one:move(id, MIDDLE, 8)
    one:flush()
    net:run()
    assert.equal(LEFT // 16 + 1, one.outbox:where(id)) -- it has not heard of the hand-over
    one:move(id, MIDDLE, 9)
    assert.equal(9, (select(2, one:position(id))))
  end)

  it("of an earlier life are not for the next one", function()
    local net, id = new_world(), id_at(3)
    local one = net:client(1)
    one:enter(id, LEFT, 8)
    net:run()
    one:move(id, MIDDLE, 8)
    one:flush()
    net:run()
    one:move(id, MIDDLE, 9) -- to the left shard, which sends it on in the next epoch
    one:flush()
    net:post(one)
    one:leave(id)
    one:enter(id, MIDDLE, 1)
    net:run(3)
    assert.equal(1, (select(2, one:position(id))))
    one:move(id, MIDDLE, 2)
    assert.equal(2, (select(2, one:position(id))))
  end)

  it("arrive while their entity is being born where an earlier life has left", function()
    local net, id = new_world(), id_at(3)
    local one, refused = net:client(1)
    one:enter(id, LEFT, 8)
    net:run()
    one:move(id, MIDDLE, 8)
    one:flush()
    net:run(2)
    net:post(one)
    one:leave(id)
    net:run(2)
    one:enter(id, LEFT, 1)
    net:close()
    one:move(id, LEFT, 2)
    one:flush()
    net:apply()
    net:post(one)
    assert.equal(1, one.outbox:where(id))
    assert.equal(2, (select(2, one:position(id))))
    assert.same({}, refused)
  end)
end)
