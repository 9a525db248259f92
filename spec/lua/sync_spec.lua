-- aoi.sync by example: messages, options, pins, ranks, callbacks that do anything, misuse.
local aoi = require "aoi"
local Sync = require "aoi.sync"
local client = require "spec.support.client_model"
local garbage_of = require "spec.support.garbage"
local rng = require "spec.support.rng"

local YIELDS = not (_VERSION == "Lua 5.1" or _VERSION == "Lua 5.2")

local function dump(message)
  local news = assert(Sync.read(message))
  local parts = {}
  for i = 1, news.gone.n do parts[#parts + 1] = "-" .. news.gone[i] end
  for i = 1, news.appeared.n do
    local at = 4 * i - 3
    parts[#parts + 1] = ("+%d(%d,%g,%g)"):format(news.appeared[at], news.appeared[at + 1], news.appeared[at + 2],
      news.appeared[at + 3])
  end
  for i = 1, news.moved.n do
    local at = 3 * i - 2
    parts[#parts + 1] = (">%d(%g,%g)"):format(news.moved[at], news.moved[at + 1], news.moved[at + 2])
  end
  for i = 1, news.touched.n do parts[#parts + 1] = ("!%d(%d)"):format(news.touched[2 * i - 1], news.touched[2 * i]) end
  table.sort(parts)
  return table.concat(parts, " ")
end

describe("aoi.sync", function()
  local space, sync

  local function tick()
    local said = {}
    sync:tick(function(id, message) said[id] = dump(message) end)
    return said
  end

  local function fresh(options, of_space)
    space = aoi.new(of_space)
    sync = Sync.new(space, options)
    for id = 1, 4 do space:enter(id, id * 10, 0) end
  end

  before_each(function() fresh({ quantum = 0.5 }) end)

  it("returns the number of messages and of bytes, and tells nothing to clients without news", function()
    sync:add(1, 15)
    sync:add(4, 15)
    local total = 0
    local n, bytes = sync:tick(function(_, message) total = total + #message end)
    assert.same({ 2, total }, { n, bytes })
    assert.same({ 0, 0 }, { sync:tick(error) })
    space:move(2, 21, 0)
    assert.same({ [1] = ">2(21,0)" }, tick())
    space:move(2, 21.1, 0.1) -- rounded, it has not moved
    assert.same({}, tick())
  end)

  it("says gone and appeared of an id that left and came again, and nothing of one that only came and went", function()
    sync:add(1, 15)
    tick()
    space:leave(2)
    space:enter(2, 20, 0, 3)
    space:enter(9, 11, 0)
    space:leave(9)
    space:move(3, 12, 0)
    space:move(3, 30, 0)
    assert.same({ "+2(3,20,0) -2" }, tick())
  end)

  it("keeps by the margin what was seen at the last tick, not what was seen in between", function()
    sync:add(1, { radius = 15, margin = 10 })
    tick()
    space:move(3, 20, 0)
    space:move(3, 32, 0) -- came within 15 and is within 25 now
    assert.same({}, tick())
    space:move(3, 20, 0)
    tick()
    space:move(3, 32, 0)
    assert.same({ ">3(32,0)" }, tick())
    space:move(3, 36, 0)
    space:move(3, 32, 0)
    assert.same({}, tick())
    space:move(3, 36, 0)
    assert.same({ "-3" }, tick())
  end)

  it("takes no other events away, and gives none of its own to others", function()
    fresh({}, { delivery = "deferred" })
    space:add_node(1, 7, 15)
    sync:add(1, 15)
    space:flush()
    space:move(3, 20, 0)
    assert.same({ "+2(1,20,0) +3(1,20,0)" }, tick())
    local buf, n = space:drain {}
    assert.same({ 1, aoi.ENTER, 1, 3, 7 }, { n, buf[1], buf[2], buf[3], buf[4] })
  end)

  it("tells a client that has reconnected everything again", function()
    sync:add(1, 15)
    tick()
    sync:resend(1)
    assert.is_false(sync:knows(1, 2))
    assert.same({ "+2(1,20,0)" }, tick())
    space:move(2, 500, 0)
    sync:resend(1)
    assert.same({ "" }, tick()) -- what it knew is to be forgotten
  end)

  -- The other end may hold an older picture of the same player, of another space even.
  it("begins anew with the first message of a client, be it empty, and with no other", function()
    local news
    local function hear()
      sync:tick(function(_, message) news = Sync.read(message, news) end)
      return news and news.anew
    end
    sync:add(1, 5)
    assert.is_true(hear())
    news = nil
    assert.is_nil(hear())
    space:move(2, 11, 0)
    assert.is_nil(hear())
    assert.equal(1, news.appeared.n)
    sync:remove(1)
    space:move(2, 500, 0)
    sync:add(1, 5)
    assert.is_true(hear())
    assert.equal(0, news.appeared.n)
    space:move(3, 11, 0)
    space:leave(1)
    space:enter(1, 10, 0)
    sync:add(1, 5)
    assert.is_true(hear())
    assert.equal(1, news.appeared.n)
  end)

  it("says once that it begins anew where messages are short", function()
    fresh { bytes = 40 }
    space:enter(5, 50, 0)
    sync:add(1, 100)
    local anew = {}
    repeat
      local n = sync:tick(function(_, message) anew[#anew + 1] = Sync.read(message).anew or false end)
    until n == 0
    assert.is_true(table.remove(anew, 1))
    assert.is_true(#anew > 0)
    for _, again in ipairs(anew) do assert.is_false(again) end
  end)

  it("knows pinned ones wherever they are, until they are unpinned or leave", function()
    sync:add(1, 15)
    sync:pin(1, 4)
    assert.same({ "+2(1,20,0) +4(1,40,0)" }, tick())
    space:set_kind(4, 0)
    space:move(4, 400, 0)
    assert.same({ "!4(0) >4(400,0)" }, tick())
    sync:unpin(1, 4)
    sync:unpin(1, 4)
    assert.same({ "-4" }, tick())
    sync:pin(1, 4)
    tick()
    space:leave(4)
    space:enter(4, 400, 0)
    assert.same({ "-4" }, tick())
    sync:unpin(1, 99)
  end)

  it("answers what is known to which client, as of the last message", function()
    sync:add(1, 25)
    sync:add(4, 15)
    assert.is_false(sync:knows(1, 2))
    tick()
    local known, n = sync:known(1)
    table.sort(known)
    assert.same({ 2, 2, 3 }, { n, known[1], known[2] })
    local knowers, m = sync:knowers(3, { 9, 9, 9, 9 })
    assert.equal(2, m)
    assert.is_nil(knowers[3])
    space:move(2, 500, 0)
    assert.is_true(sync:knows(1, 2))
    tick()
    assert.is_false(sync:knows(1, 2))
    assert.is_false(sync:knows(1, 99))
    assert.same({ {}, 0 }, { sync:knowers(2) })
  end)

  describe("limit", function()
    before_each(function()
      fresh { limit = 2, quantum = 0.5 }
      for id = 5, 9 do space:enter(id, 10 + id, 0) end
    end)

    it("knows the nearest", function()
      sync:add(1, 100)
      assert.same({ "+5(1,15,0) +6(1,16,0)" }, tick())
    end)

    it("changes for one that is a tenth nearer, no less", function()
      sync:add(1, 100)
      tick()
      space:move(6, 20, 0) -- at 10; then others move to 9.5 and 9
      for id = 7, 9 do space:move(id, 40, 0) end
      tick()
      space:move(7, 19.5, 0)
      assert.is_true(sync:knows(1, 6))
      assert.same({}, tick())
      space:move(7, 19, 0)
      assert.same({ "+7(1,19,0) -6" }, tick())
      space:move(6, 18.5, 0)
      assert.same({}, tick())
    end)

    it("knows those of higher priority first, whatever the distance, and pinned ones besides", function()
      sync:set_priority(4, 2)
      sync:add(1, 100)
      sync:pin(1, 9)
      assert.same({ "+4(1,40,0) +5(1,15,0) +9(1,19,0)" }, tick())
      sync:set_priority(4, 0.5)
      assert.same({ "+6(1,16,0) -4" }, tick())
      sync:set_priority(4, 3)
      space:leave(4)
      space:enter(4, 40, 0)
      assert.same({}, tick())
      sync:unpin(1, 9)
      assert.same({ "-9" }, tick())
    end)

    it("counts the client's own moves", function()
      sync:add(1, 100)
      tick()
      space:move(1, 40, 1)
      assert.same({ "+3(1,30,0) +4(1,40,0) -5 -6" }, tick())
    end)

    -- Squares of distances leave the range of floats at both ends of it.
    it("knows the nearest, however far or near that is, and says so once", function()
      for _, scale in ipairs { 1e-100, 1e-30, 1e-22, 1e9, 1e13 } do
        for _, bytes in ipairs { 1000, false } do
          fresh { limit = 5 }
          space:move(1, -scale, 0)
          for id = 2, 4 do space:leave(id) end
          for id = 11, 39 do space:enter(id, (id - 9) * scale / 3, scale) end
          sync:add(1, math.huge, { bytes = bytes })
          sync:tick(function() end)
          assert.same({}, tick())
          for id = 11, 39 do assert.equal(id <= 15, sync:knows(1, id)) end
          for id = 11, 15 do space:move(id, (id + 20) * scale / 3, scale) end
          tick()
          for id = 11, 39 do assert.equal(id > 15 and id <= 20, sync:knows(1, id)) end
          assert.same({}, tick())
        end
      end
    end)

    it("can be set and taken away", function()
      sync:add(1, 100, { limit = 1 })
      assert.same({ "+5(1,15,0)" }, tick())
      sync:set(1, { limit = 3 })
      assert.same({ "+6(1,16,0) +7(1,17,0)" }, tick())
      sync:set(1, { limit = 1 })
      assert.same({ "-6 -7" }, tick())
      sync:set(1, { limit = false })
      tick()
      assert.equal(8, select(2, sync:known(1)))
    end)
  end)

  it("tells far ones less often, spread over the ticks, and appearances at once", function()
    fresh { quantum = 0.5 }
    for id = 10, 49 do space:enter(id, 40 + id % 7, id) end
    sync:add(1, 100, { tiers = { { 12, 1 }, { 100, 4 } } })
    tick()
    local records, most = 0, 0
    for t = 1, 8 do
      for id = 10, 49 do space:move(id, 40 + id % 7, id + t % 2) end
      space:move(2, 20, t % 2)
      local n = 0
      sync:tick(function(_, message)
        local news = Sync.read(message)
        n = news.moved.n
        local near = false
        for i = 1, 3 * n, 3 do near = near or news.moved[i] == 2 end
        assert.is_true(near)
      end)
      records, most = records + n - 1, math.max(most, n - 1)
    end
    assert.equal(80, records) -- 40 entities, every fourth of eight ticks
    assert.is_true(most < 20)
  end)

  -- A target that walks to and fro over the borders of tiers, whose moves are due in turn: the longest that one waits.
  local function longest_wait(options, ticks, change)
    local random, waits, longest = rng.new(11), 0, 0
    fresh { quantum = 0.5 }
    space:enter(10, 60, 0)
    sync:add(1, math.huge, options)
    tick()
    for t = 1, ticks do
      space:move(10, random(2) == 1 and 40 or 65, t % 7)
      if change then change(t) end
      local told = false
      sync:tick(function(_, message)
        local moved = Sync.read(message).moved
        for i = 1, 3 * moved.n, 3 do told = told or moved[i] == 10 end
      end)
      waits = told and 0 or waits + 1
      longest = math.max(longest, waits)
    end
    return longest
  end

  it("tells no position later than its tier says, whatever the periods", function()
    for _, every in ipairs { 1, 2, 127, 128, 129, 255, 256, 257, 300, 1000 } do
      local longest = longest_wait({ tiers = { { 20, 1 }, { 50, every }, { 100, every + 1 } } }, 6 * every + 20)
      assert.is_true(longest <= every, ("%d ticks of %d"):format(longest, every))
      assert.is_true(longest >= every / 4 - 1, ("%d ticks of %d"):format(longest, every))
    end
  end)

  it("tells no position later than its tier says where tiers are set anew", function()
    local tiers = { { { 100, 200 } }, { { 100, 300 } }, { { 50, 100 }, { 100, 5 } } }
    local longest = longest_wait({ tiers = tiers[1] }, 3000, function(t)
      if t % 70 == 0 then sync:set(1, { tiers = tiers[t / 70 % 3 + 1] }) end
    end)
    assert.is_true(longest < 300)
  end)

  it("tells the longest waiting first, however long that is", function()
    local FAR, STEP, n = 2 ^ 49, 2 ^ 39, 600
    fresh { quantum = 2 ^ -10 } -- places are doubles
    for i = 1, n do space:enter(i * STEP, FAR, 0) end
    sync:add(1, math.huge)
    tick()
    sync:set(1, { bytes = 56, tiers = { { 1, 1 }, { 2, 120 } } }) -- a message has two of these records
    local told, longest = {}, 0
    for t = 1, 3 * n do
      for i = 1, n do space:move(i * STEP, FAR + t, 0) end
      sync:tick(function(_, message)
        local moved = Sync.read(message).moved
        for i = 1, 3 * moved.n, 3 do
          longest = math.max(longest, t - (told[moved[i]] or 0))
          told[moved[i]] = t
        end
      end)
    end
    assert.is_true(longest > 256 and longest <= n / 2, longest)
  end)

  it("tells by the right tier, however far that is", function()
    for _, scale in ipairs { 1e9, 1e13 } do
      fresh()
      space:move(2, 2 * scale, 0)
      space:move(3, 9 * scale, 0)
      sync:add(1, math.huge, { tiers = { { 4 * scale, 1 }, { 16 * scale, 1000 } } })
      tick()
      space:move(2, 2 * scale, 1)
      space:move(3, 9 * scale, 1)
      space:move(2, 3 * scale, 0)
      space:move(3, 8 * scale, 0)
      local moved
      sync:tick(function(_, message) moved = Sync.read(message).moved end)
      assert.same({ 1, 2 }, { moved.n, moved[1] })
    end
  end)

  it("says that all is gone where a client is told of it with a budget, after it was told without", function()
    for _, what in ipairs { "touch", "kind", "far" } do
      fresh()
      for id = 1000, 30000, 1000 do space:enter(id, id / 1000, 0) end
      sync:add(1, 2 ^ 49)
      local c = client.new(2)
      local function hear() return (sync:tick(function(_, message) c:apply(message) end)) end
      hear()
      for id = 1000, 30000, 1000 do
        if what == "touch" then sync:touch(id) elseif what == "kind" then space:set_kind(id, 2)
        else space:move(id, 2 ^ 50, 0) end
      end
      hear()
      assert.is_true(space:check())
      sync:set(1, { bytes = 60 })
      space:set_mask(1, sync:node(1), 4)
      repeat until hear() == 0
      assert.is_nil(next(c.known))
    end
  end)

  it("tells positions as numbers of quanta, as floats, or as doubles", function()
    for _, quantum in ipairs { 0.01, 0.5, 1, 0.3, 1e-9, 0 } do
      fresh(quantum > 0 and { quantum = quantum } or nil)
      space:enter(9, 12.3456789, -1e9 - 1 / 3)
      sync:add(1, math.huge)
      local c = client.new(2)
      sync:tick(function(_, message) c:apply(message) end)
      local told = c.known[9]
      assert.equal(client.rounded(12.3456789, quantum > 0 and quantum), told[1])
      if quantum ~= 1e-9 then assert.equal(client.rounded(-1e9 - 1 / 3, quantum > 0 and quantum), told[2]) end
      space:move(9, 2 ^ 50, 0)
      sync:touch(9)
      sync:tick(function(_, message) c:apply(message) end)
      local far = quantum == 1e-9 and 2 ^ 50 or client.rounded(2 ^ 50, quantum > 0 and quantum)
      assert.same({ far, 0 }, { told[1], told[2] })
      assert.equal(1, c.touches[9])
    end
  end)

  it("refuses what stands beside the views of a list", function()
    fresh {}
    for key, area in pairs {
      mask = { 5, 6, mask = 2 }, ["0.5"] = { 5, [0.5] = 6 }, ["-1"] = { 5, [-1] = 6 }, boolean = { 5, [true] = 6 },
    } do
      assert.has_error(function() sync:add(1, area) end,
        ("bad argument #2 to 'add' (unknown option '%s' of a list of views)"):format(key))
    end
    sync:add(1, { 5, 6 })
  end)

  it("tells a client with several views what any of them sees", function()
    fresh { quantum = 0.5 }
    sync:add(1, { { radius = 12 }, { radius = 25, mask = 4 }, { radius = 5, margin = 20 } })
    assert.same({ "+2(1,20,0)" }, tick())
    space:set_kind(2, 4) -- by another view now
    assert.same({ "!2(4)" }, tick())
    space:set_kind(3, 4)
    assert.same({ "+3(4,30,0)" }, tick())
    space:move(2, 12, 0) -- by all of them
    assert.same({ ">2(12,0)" }, tick())
    space:set_kind(2, 1)
    space:move(2, 33, 0) -- that view holds on to it
    assert.same({ "!2(1) >2(33,0)" }, tick())
    sync:set_view(1, 3, 5)
    assert.same({ "-2" }, tick())
    sync:set_view(1, 1, 100)
    assert.same({ "+2(1,33,0) +4(1,40,0)" }, tick())
    assert.is_true(space:check())
    space:remove_node(1, sync:node(1, 2))
    assert.same({}, tick())
    assert.is_true(space:check())
    assert.has_error(function() sync:node(1, 2) end, "bad argument #2 to 'node' (client 1 has no view 2)")
    assert.has_error(function() sync:node(1, "1") end, "bad argument #2 to 'node' (number expected, got string '1')")
    assert.has_error(function() sync:set_view(1, 9, 5) end, "bad argument #2 to 'set_view' (client 1 has no view 9)")
    sync:remove(1)
    assert.same({ {}, 0 }, { space:nodes(1) })
    sync:add(1, { 5, 12 })
    assert.equal(0, select(2, space:view(1, sync:node(1))))
    space:leave(1)
    assert.is_true(space:check())
    sync:add(2, { 5, 8 })
    sync:close()
    assert.same({ {}, 0 }, { space:nodes(2) })
    assert.is_true(space:check())
  end)

  it("carries any id and kind", function()
    local ids = { 0, -1, 2 ^ 53, -2 ^ 53, 4503599627370497 }
    if math.maxinteger then
      ids[#ids + 1], ids[#ids + 2] = math.maxinteger, math.mininteger
    end
    fresh()
    sync:add(1, math.huge)
    for i, id in ipairs(ids) do
      if math.tointeger then id = math.tointeger(id) end
      space:enter(id, i, i, i == 1 and -1 or 2 ^ i)
      ids[i] = id
    end
    local c = client.new(2)
    sync:tick(function(_, message) c:apply(message) end)
    for i, id in ipairs(ids) do
      assert.equal(i == 1 and -1 or 2 ^ i, c.known[id].kind)
      assert.equal(i, c.known[id][1])
    end
  end)

  describe("a callback", function()
    before_each(function()
      for id = 1, 4 do sync:add(id, 1000) end
    end)

    it("may move: what it moves is news at the next tick", function()
      local said = {}
      sync:tick(function(id, message)
        said[#said + 1] = dump(message)
        space:move(id, id * 10, 5)
      end)
      assert.equal(4, #said)
      assert.is_nil(table.concat(said):find(",5)", 1, true))
      assert.equal(">2(20,5) >3(30,5) >4(40,5)", tick()[1])
    end)

    it("may remove clients, the one being told included, and entities", function()
      local told = {}
      sync:tick(function(id)
        told[#told + 1] = id
        sync:remove(id)
        if id == 2 then space:leave(3) end
      end)
      assert.same({ 1, 2, 4 }, told)
      assert.same({}, tick())
      space:check()
    end)

    it("may close the space, or the sync", function()
      assert.same({ 1 }, { (sync:tick(function() space:close() end)) })
      assert.has_error(function() sync:tick(print) end, "attempt to use a closed space")
      fresh()
      sync:add(1, 50)
      sync:add(2, 50)
      assert.equal(1, (sync:tick(function() sync:close() end)))
      assert.has_error(function() sync:tick(print) end, "attempt to use a closed sync")
      sync:close()
      assert.same({ {}, 0 }, { space:nodes(1) })
      space:check()
    end)

    it("may raise: that message counts as sent, the others are told by the next tick", function()
      local ok, why = pcall(sync.tick, sync, function(id) if id == 2 then error({ "mine" }) end end)
      assert.same({ false, { "mine" } }, { ok, why })
      space:move(1, 10, 2)
      local said = tick()
      assert.equal(">1(10,2)", said[2])
      assert.equal("+1(1,10,2) +2(1,20,0) +4(1,40,0)", said[3])
      assert.truthy(said[4])
      assert.is_nil(said[1])
    end)

    it("may tick", function()
      local told = {}
      sync:tick(function(id)
        told[#told + 1] = id
        if id == 1 then sync:tick(function(other) told[#told + 1] = other end) end
      end)
      assert.same({ 1, 2, 3, 4 }, told)
    end)

    if YIELDS then
      it("may yield; other coroutines may tick meanwhile", function()
        local told = {}
        local co = coroutine.wrap(function()
          local n = sync:tick(function(id)
            told[#told + 1] = id
            coroutine.yield(id)
          end)
          return "done", n
        end)
        assert.equal(1, co())
        assert.equal(2, co())
        assert.equal(2, (sync:tick(function(id) told[#told + 1] = id end)))
        assert.same({ "done", 2 }, { co() })
        assert.same({ 1, 2, 3, 4 }, told)
      end)
    end
  end)

  it("ends a client with its entity, or with its node", function()
    sync:add(1, 50)
    sync:add(2, 50)
    tick()
    space:leave(1)
    assert.same({ [2] = "-1" }, tick())
    assert.has_error(function() sync:known(1) end, "bad argument #1 to 'known' (no entity 1)")
    space:remove_node(2, sync:node(2))
    assert.same({}, tick())
    assert.same({ {}, 0 }, { sync:knowers(3) })
    sync:add(2, 50)
    assert.same({ [2] = "+3(1,30,0) +4(1,40,0)" }, tick())
  end)

  it("serves several syncs of one space", function()
    local other = Sync.new(space)
    sync:add(1, 15)
    other:add(1, 25)
    assert.same({ "+2(1,20,0)" }, tick())
    space:move(2, 21, 0)
    local said
    other:tick(function(_, message) said = dump(message) end)
    assert.equal("+2(1,21,0) +3(1,30,0)", said)
    assert.same({ ">2(21,0)" }, tick())
    other:close()
    space:check()
  end)

  it("is garbage when nothing reaches it, and takes its nodes along", function()
    sync:add(1, 15)
    sync = nil
    collectgarbage()
    collectgarbage()
    assert.same({ {}, 0 }, { space:nodes(1) })
    space:check()
  end)

  it("makes no garbage but messages", function()
    sync:add(1, 50)
    local f = function() end
    local list = {}
    local made = garbage_of(function()
      for _ = 1, 100 do
        sync:tick(f)
        sync:known(1, list)
        sync:knowers(2, list)
      end
    end)
    assert.is_true(made < 1)
  end)

  it("read refuses other bytes, and every beginning of a message", function()
    local message
    sync:add(1, 50)
    sync:tick(function(_, m) message = m end)
    assert.truthy(Sync.read(message))
    for n = 0, #message - 1 do
      local news, why = Sync.read(message:sub(1, n))
      assert.is_nil(news)
      assert.truthy(why:find "^no message of aoi.sync: ")
    end
    assert.is_nil((Sync.read(message .. "\0")))
    assert.is_nil((Sync.read("\1" .. message:sub(2))))
  end)

  it("read fills the same tables again", function()
    local into = { gone = { 7, 8, 9 } }
    local gone = into.gone
    sync:add(1, 50)
    sync:tick(function(_, m)
      assert.equal(into, Sync.read(m, into))
      assert.equal(gone, into.gone)
      assert.same({ n = 0 }, { n = gone.n, gone[1] })
      assert.equal(3, into.appeared.n)
    end)
  end)
end)

describe("a client that comes from another space", function()
  -- Entities 1 to 3 at x = 1 to 3; client 1 has a square of 100.
  local function arrive(options)
    local space = aoi.new {}
    local state = Sync.new(space)
    for id = 1, 3 do space:enter(id, id, 0) end
    state:add(1, 100, options)
    return space, state
  end

  local function told(state)
    local got = {}
    state:tick(function(id, bytes) got[id] = assert(Sync.read(bytes)) end)
    return got
  end

  it("knows what is in its picture already: itself, what is pinned, what another client's views have noted", function()
    for _, case in ipairs { { options = { self = true } }, { pin = 2 }, { other = 3 } } do
      local _, there = arrive(case.options)
      told(there)
      local space, state = arrive(case.options)
      if case.other then state:add(case.other, 100) end
      if case.pin then state:pin(1, case.pin) end
      state:adopt(1, there:picture(1), {})
      space:leave(2)
      local got = told(state)[1]
      assert.same({ 2, n = 1, reasons = { 0 } }, got.gone)
      assert.equal(0, got.appeared.n)
      assert.is_true(space:check())
    end
  end)

  it("goes on with its picture", function()
    local other, there = arrive()
    other:enter(4, 4, 0)
    other:enter(77, 5, 0)
    told(there)
    local space, state = arrive()
    space:enter(4, 4, 0)
    space:move(2, 2.5, 0)
    state:adopt(1, there:picture(1), { 4 }) -- 77 is not here, 4 has another life
    local got
    state:tick(function(_, bytes) got = assert(Sync.read(bytes)) end)
    assert.is_falsy(got.anew)
    table.sort(got.gone)
    assert.same({ 4, 77 }, { got.gone[1], got.gone[2] })
    assert.same({ 1, 4 }, { got.appeared.n, got.appeared[1] })
    assert.same({ 2, 2.5, 0, n = 1 }, got.moved)
    assert.equal(3, select(2, state:known(1)))
    assert.is_true(space:check())
    local picture = there:picture(1)
    assert.error_matches(function() state:adopt(1, picture, {}) end,
      "#1 to 'adopt' %(it has been sent a message already")
    assert.error_matches(function() state:adopt(9, picture, {}) end, "to 'adopt'")
    assert.error_matches(function() state:adopt(1, {}, {}) end, "#2 to 'adopt' %(string expected, got table")
    assert.error_matches(function() state:adopt(1, picture, { "x" }) end, "#3 to 'adopt' %(integers expected")
    space:leave(2)
    state:tick(function(_, bytes) got = assert(Sync.read(bytes)) end)
    assert.same({ 2, n = 1, reasons = { 0 } }, got.gone)
  end)
end)
