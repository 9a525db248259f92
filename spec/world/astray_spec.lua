-- Moves that take a longer way, as an entity has changed hands or the id has had an earlier life: the last one arrives,
-- and what is asked after it knows of it. And what else may go wrong when shards are in different epochs.
if not string.pack then return pending "moves that go astray: needs string.pack of Lua 5.3" end

local row = require "spec.world.row"
local tiles = require "aoi.skynet.world.tiles"
local wire_reference = require "spec.support.wire_reference"
local world = require "aoi.skynet.native" "world"

-- A row of three shards, each 16 wide; a client's requests are served at once.
local PLAN = tiles.plan { size = { 0, 0, 48, 16 }, reach = 2, tile = 4, shards = { 3, 1 } }
local LEFT, MIDDLE, RIGHT = 4, 24, 44

-- An id whose home is that shard.
local function id_at(home)
  local id = 1
  while world.home(id, PLAN.shards) ~= home do id = id + 1 end
  return id
end

local function new_world() return row.new(PLAN) end

-- A world with two clients, of which the first has entered on the left an entity whose id has that home; and what the
-- first is refused, and the second.
local function begun(home)
  local net, id = new_world(), id_at(home)
  local one, refused = net:client(1)
  local other, refused_other = net:client(2)
  one:enter(id, LEFT, 8)
  net:run()
  return net, id, one, other, refused, refused_other
end

local function go(net, one, id, x, y, epochs)
  one:flush { id, x, y }
  net:run(epochs)
end

-- It goes to the middle shard, of which its client has not heard yet.
local function hand_over(net, one, id, epochs) go(net, one, id, MIDDLE, 8, epochs) end

-- After that its client moves it twice, by the left shard, which sends both on: with the first the entity leaves the
-- middle shard for the one at x, and the second is an epoch behind it.
local function outrun(net, one, id, x)
  hand_over(net, one, id)
  for y = 1, 2 do go(net, one, id, x, y) end
end

-- The second is in the answer all the same, wherever the id's home is.
local function expect_outrun(x, shard)
  for home = 1, PLAN.shards do
    local net, id, one, _, refused = begun(home)
    outrun(net, one, id, x)
    assert.is_true(net.shards[shard].router:owns(id))
    assert.equal(2, (select(2, one:position(id))), "home " .. home)
    assert.same({}, refused)
  end
end

-- It leaves, and its id comes again elsewhere.
local function come_again(net, one, id, x)
  one:leave(id)
  net:run(2)
  one:enter(id, x, 8)
  net:run(2)
end

describe("moves that go astray", function()
  it("arrive while their entity is being born where an earlier life has left", function()
    local net, id, one, _, refused = begun(3)
    hand_over(net, one, id, 2)
    net:post(one)
    one:leave(id)
    net:run(2)
    one:enter(id, LEFT, 1)
    net:close()
    one:flush { id, LEFT, 2 }
    net:apply()
    net:post(one)
    assert.equal(1, one.outbox:where(id))
    assert.equal(2, (select(2, one:position(id))))
    assert.same({}, refused)
  end)

  it("are in the answer of a shard that has sent them on, though their entity has come back before them", function()
    expect_outrun(LEFT, 1)
  end)

  it("are in the answer, though the id's home has heard of the next owner before they reach it", function()
    expect_outrun(RIGHT, 3)
  end)

  it("of an earlier life do not lead a request to where that was", function()
    local net, id, one, other = begun(1)
    hand_over(net, one, id, 2)
    other.outbox:set(id, 1)
    go(net, other, id, MIDDLE, 9) -- the home sends it on to the middle shard
    one:leave(id)
    one:enter(id, RIGHT, 1)
    net:run()
    assert.equal(1, (select(2, other:position(id))))
  end)

  it("do not make a request wait for ever, where they do not come back", function()
    local net, id, one = begun(3)
    outrun(net, one, id, LEFT)
    net.shards[2].forward = {} -- as if it had gone too far
    assert.equal(1, (select(2, one:position(id))))
  end)

  it("are in the answer, though they go by the id's home", function()
    local net, id, one, other = begun(3)
    assert.equal(LEFT, (other:position(id)))
    come_again(net, one, id, MIDDLE)
    other:move(id, MIDDLE, 9) -- to the left shard, which knows nothing of this life
    assert.equal(9, (select(2, other:position(id))))
  end)

  it("wait for their owner where another coroutine has found that it is not known", function()
    local net, id, one, other, _, refused = begun(3)
    assert.equal(LEFT, (other:position(id)))
    come_again(net, one, id, MIDDLE)
    local ask = other.ask_now
    function other.ask_now(shard, after, name, ...)
      if name == "position" and shard == 1 then other:move(id, MIDDLE, 9) end -- meanwhile, for the left shard
      return ask(shard, after, name, ...)
    end
    other:position(id)
    other.ask_now = ask
    other:flush()
    net:run(2)
    assert.equal(9, (select(2, one:position(id))))
    assert.same({}, refused)
  end)

  it("are told as refused where this client itself has made the entity leave", function()
    local net, id, one, _, refused = begun(3)
    one:leave(id)
    net:run(2) -- before that its home may not know it, and a late move would be no news
    one:flush { id, LEFT, 9 }
    assert.same({ id }, refused)
  end)

  it("are told with the whole id, though the shard has never seen so long a one", function()
    local net, id = new_world(), 5000000000
    while world.home(id, PLAN.shards) ~= 2 do id = id + 1 end
    local one, refused = net:client(1)
    one.outbox:set(id, 2)
    hand_over(net, one, id)
    net:post(one)
    assert.same({ id }, refused)
  end)

  it("of who has handed over the control do not come after those of who has taken it", function()
    local net, id, one, other = begun(3)
    hand_over(net, one, id)
    one:flush { id, MIDDLE, 9 } -- to the left shard: it comes an epoch later
    net:post(one)
    one:flush { id, MIDDLE, 10 }
    other.outbox:set(id, 2)
    go(net, other, id, MIDDLE, 11, 3)
    assert.equal(11, (select(2, one:position(id))))
    go(net, other, id, RIGHT, 11, 2) -- that is known after a hand-over, too
    assert.same({ 2, other:batch(), 1, one:batch() }, { net.shards[3].router:mover(id) })
  end)
end)

describe("shards in different epochs", function()
  it("find an entity that came to a shard after that was asked", function()
    local net, id, one, other = begun(3)
    other.outbox:set(id, 2) -- as an earlier life was there
    local ask = other.ask_now
    function other.ask_now(shard, after, name, ...)
      if name == "owners_of" then -- it arrives there before its home is asked
        go(net, one, id, MIDDLE, 8)
        other.ask_now = ask
      end
      return ask(shard, after, name, ...)
    end
    assert.equal(MIDDLE, (other:position(id)))
  end)

  it("tell of the same one in one answer, and so of each entity once", function()
    for _, way in ipairs { { LEFT, MIDDLE }, { MIDDLE, LEFT } } do
      local net = new_world()
      local one = net:client(1)
      local other = net:client(2)
      one:enter(7, way[1], 8)
      one:add_node(7, 1, 2, {})
      one:enter(8, way[2], 9)
      net:run(2)
      for _, what in ipairs { "ids_here", "near_here", "nearest_here", "count_here" } do
        local ask, asked = other.ask_now, 0
        function other.ask_now(shard, after, name, ...)
          asked = asked + (name == what and 1 or 0)
          if asked == 2 then -- one shard has answered
            local x = one:position(7) == way[1] and way[2] or way[1]
            go(net, one, 7, x, 8)
          end
          return ask(shard, after, name, ...)
        end
        if what == "count_here" then
          assert.equal(2, other:count())
        else
          local list, n
          if what == "ids_here" then list, n = other:ids()
          elseif what == "near_here" then list, n = other:near(14, 8, { shape = "square", radius = 30 })
          else list, n = other:nearest(14, 8, 5) end
          list = { table.unpack(list, 1, n) }
          table.sort(list)
          assert.same({ 7, 8 }, list, what)
        end
        assert(asked > 3)
        other.ask_now = ask
      end
    end
  end)

  it("tell of the last epoch, though some leave with the next one", function()
    local net = new_world()
    local one = net:client(1)
    one:enter(7, LEFT, 8)
    one:enter(8, LEFT, 9)
    one:add_node(7, 1, 2, {})
    net:run(2)
    one:remove_node(7, 1)
    one:leave(7)
    assert.same({ 7, 8 }, { table.unpack((one:near(LEFT, 8, { shape = "square", radius = 3 }))) })
    assert.same({ 7, 8 }, { table.unpack((one:nearest(LEFT, 8, 5))) })
    assert.same({ 7, 1 }, { table.unpack((one:viewers(8))) })
    net:run()
    assert.same({ 8 }, { table.unpack((one:nearest(LEFT, 8, 5))) })
    assert.same({}, { table.unpack((one:viewers(8))) })
  end)
end)

it("an id is free again where the client that claimed it died before it entered", function()
  for home = 1, PLAN.shards do
    local net, id = new_world(), id_at(home)
    local claimed
    net.shards[home]:request(1, 0, function(...) claimed = ... end, "claim", { id }, { LEFT, 8 }, { false })
    assert.is_true(claimed)
    local other = net:client(2)
    assert.error_matches(function() other:enter(id, LEFT, 8) end, "already in the world")
    for number = 1, PLAN.shards do net.shards[number]:order("death", 1, net.epoch + 2) end
    net:run(3)
    other:enter(id, LEFT, 8)
    net:run(2)
    for number = 1, PLAN.shards do -- what has entered is no claim any more
      assert.same({}, net.shards[number].claims)
      net.shards[number]:order("death", 1, net.epoch + 1)
    end
    net:run(2)
    assert.is_true(other:has(id))
    assert.error_matches(function() net:client(3):enter(id, LEFT, 8) end, "already in the world")
  end
end)

-- A row of that client, to that shard.
local function send_row(net, client, batch, shard, id, x, y)
  assert(net.shards[shard]:moves(wire_reference.moves(client, batch, 2, { id, x, y }, 1, 8, false)))
end

describe("an entity that three clients move", function()
  it("keeps its place when a late row of one comes that has been forgotten for the others", function()
    for home = 1, PLAN.shards do
      local net, id, one = begun(home)
      hand_over(net, one, id)
      send_row(net, 7, 1, 1, id, MIDDLE, 1) -- to its former owner: it follows the entity
      for client = 7, 9 do send_row(net, client, client == 7 and 2 or 1, 2, id, MIDDLE, client) end
      net:run(4)
      assert.equal(9, (select(2, net.shards[2].core:position(id))))
    end
  end)

  it("is moved by a late row of a client that is new to it, or has been still since", function()
    local net, id, one = begun(1)
    hand_over(net, one, id)
    for client = 7, 8 do send_row(net, client, 1, 2, id, MIDDLE, client) end
    net:run(2)
    send_row(net, 9, 1, 1, id, MIDDLE, 1)
    net:run(3)
    assert.equal(1, (select(2, net.shards[2].core:position(id))))
    send_row(net, 7, 2, 1, id, MIDDLE, 2)
    net:run(2)
    assert.equal(2, (select(2, net.shards[2].core:position(id))))
  end)
end)

it("an id of more than 32 bits is whole in the leaves of a watcher that jumps to a shard that has none such", function()
  local LONG = 1099511627781 -- 2 ^ 40 + 5
  for target, jump in pairs { [LONG] = RIGHT, [-LONG] = MIDDLE } do
    local net, heard = new_world(), {}
    local one = net:client(1)
    one:enter(1, LEFT, 8)
    one:enter(target, LEFT, 9)
    one:add_node(1, 1, 2, { leave = function(...) heard = { ... } end })
    net:run()
    net:post(one)
    go(net, one, 1, jump, 8, 2)
    net:post(one)
    assert.same({ 1, target, 1 }, heard)
  end
end)

it("moves that come faster than they are applied are one row an entity a message, and few messages an epoch", function()
  local net, id, sent, forked, ticks = new_world(), id_at(3), 0, {}, 0
  local one = net:client(1)
  local send = one.send
  function one.send(...)
    sent = sent + 1
    return send(...)
  end
  one.client.fork = function(f) table.insert(forked, f) end
  function one.tick_epoch()
    ticks = ticks + 1
    net:run()
    return net.epoch
  end
  one:enter(id, LEFT, 8)
  net:run()
  for y = 1, 100 do
    one:flush { id, LEFT, y / 10 }
  end
  assert(sent <= 4 and #forked == 1, "messages pile up")
  forked[1]()
  assert.same({ 5, 1 }, { sent, ticks })
  assert.equal(10, (select(2, one:position(id)))) -- the last one
  for y = 1, 100 do
    one:flush { id, LEFT, y / 20 }
  end
  assert.equal(5, (select(2, one:position(id)))) -- a request takes them along
  one:move(id, LEFT, 6)
  one:tick()
  assert.equal(6, (select(2, net.shards[1].core:position(id))))
end)
