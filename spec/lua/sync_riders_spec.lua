-- aoi.sync with riders: passengers are known with their carriers, and sent by their offset. Histories of all of it with
-- every other option are in sync_histories_spec.
local aoi = require "aoi"
local Sync = require "aoi.sync"
local client = require "spec.support.client_model"

describe("riders of aoi.sync", function()
  local SHIP, CREW, GUEST, WATCHER = 10, 11, 12, 1
  local space, sync, seen

  local function fresh(options)
    options.riders = true
    space = aoi.new()
    sync = Sync.new(space, options)
    seen = client.new(2)
    seen.id = WATCHER
    space:enter(WATCHER, 0, 0)
    space:enter(SHIP, 50, 0)
    for _, id in ipairs { CREW, GUEST } do
      space:enter(id, 0, 0)
      space:attach(id, SHIP, id, -1)
    end
  end

  -- What the watcher is told in a tick, or nil.
  local function tick(of)
    local news, bytes
    sync:tick(function(id, message)
      if id ~= (of or WATCHER) then return end
      bytes = #message
      news = seen:apply(message)
    end)
    assert.is_true(space:check())
    return news, bytes
  end

  it("come behind their carrier, name it, and cost no position while they ride", function()
    fresh { quantum = 0.5 }
    sync:add(WATCHER, 100)
    local news = tick()
    local a = news.appeared
    assert.same({ SHIP, 1, 50, 0 }, { a[1], a[2], a[3], a[4] })
    assert.equal(3, news.appeared.n)
    local riding = {}
    for i = 1, 8, 4 do riding[news.riding[i]] = { news.riding[i + 1], news.riding[i + 2], news.riding[i + 3] } end
    assert.same({ [CREW] = { SHIP, 11, -1 }, [GUEST] = { SHIP, 12, -1 } }, riding)
    space:move(SHIP, 60, 5)
    news = tick()
    assert.same({ 1, 0, SHIP }, { news.moved.n, news.riding.n, news.moved[1] })
    space:attach(GUEST, nil)
    news = tick()
    assert.same({ GUEST, 72, 4, n = 1 }, news.moved)
    assert.same({ GUEST, 0, 0, 0, n = 1 }, news.riding)
    space:attach(GUEST, CREW, 1, 1)
    news = tick()
    assert.same({ GUEST, CREW, 1, 1, n = 1 }, news.riding)
    assert.equal(0, news.moved.n)
  end)

  it("are unknown while their carrier is, whatever is seen of them; explain says so", function()
    fresh {}
    sync:add(WATCHER, 55)
    space:move(SHIP, 100, 0)
    space:attach(CREW, SHIP, -99, 0)
    tick()
    assert.is_true(space:sees(WATCHER, sync:node(WATCHER), CREW))
    assert.is_false(sync:knows(WATCHER, CREW))
    local e = sync:explain(WATCHER, CREW)
    assert.same({ "carrier", true, false }, { e.why, e.seen, e.knows })
    sync:pin(WATCHER, SHIP)
    tick()
    assert.same({ true, true, false }, { sync:knows(WATCHER, SHIP), sync:knows(WATCHER, CREW),
      sync:knows(WATCHER, GUEST) })
    sync:unpin(WATCHER, SHIP)
    assert.equal("goes", sync:explain(WATCHER, CREW).why)
    local news = tick()
    assert.equal(2, news.gone.n)
  end)

  it("of the client's own entity are known; a carrier that leaves takes only those who still ride", function()
    fresh {}
    space:attach(SHIP, WATCHER, 1, 0)
    sync:add(WATCHER, 50)
    local news = tick()
    assert.same({ SHIP, WATCHER, 1, 0 }, { news.riding[1], news.riding[2], news.riding[3], news.riding[4] })
    assert.equal(3, news.riding.n)
    space:leave(SHIP)
    news = tick()
    assert.same({ 1, 2, 2 }, { news.gone.n, news.moved.n, news.riding.n })
    assert.same({ true, true }, { sync:knows(WATCHER, CREW), sync:knows(WATCHER, GUEST) })
  end)

  it("count with their carrier for a limit", function()
    fresh { limit = 1 }
    sync:add(WATCHER, 100)
    tick()
    assert.equal(3, select(2, sync:known(WATCHER)))
    space:enter(2, 1, 0)
    local news = tick()
    assert.same({ 3, 1 }, { news.gone.n, news.appeared.n })
    space:leave(2)
    assert.equal(3, tick().appeared.n)
  end)

  it("go before their carrier where a budget holds not all of them, and appear behind it", function()
    fresh { bytes = 60 }
    for id = 100, 130 do
      space:enter(id * 2 ^ 40, 0, 0)
      space:attach(id * 2 ^ 40, SHIP, id, 0)
    end
    sync:add(WATCHER, 1000)
    local ticks = 0
    repeat ticks = ticks + 1 until not tick() -- the model asserts that carriers are known
    assert.is_true(ticks > 10)
    assert.equal(34, select(2, sync:known(WATCHER)))
    space:move(SHIP, 5000, 0)
    ticks = 0
    repeat
      ticks = ticks + 1
      assert.is_true(sync:knows(WATCHER, SHIP))
    until not tick() or next(seen.known) == nil
    assert.is_true(ticks > 3)
    assert.is_nil(next(seen.known))
  end)

  it("have no carrier whose id is 0, which means none", function()
    fresh {}
    space:enter(0, 0, 0)
    space:attach(CREW, 0, 3, 4)
    sync:add(WATCHER, 100)
    local news = tick()
    assert.equal(1, news.riding.n)
    assert.same({ 3, 4 }, { seen.known[CREW][1], seen.known[CREW][2] })
    assert.is_nil(seen.known[CREW].carrier)
  end)

  for _, options in ipairs { {}, { tiers = { { 9, 2 }, { 100, 3 } } }, { bytes = 70 } } do
    it("go along to another synchroniser, with " .. (next(options) or "no option"), function()
      fresh { quantum = 0.5, tiers = options.tiers, bytes = options.bytes }
      sync:add(WATCHER, 100)
      for _ = 1, 5 do tick() end
      space:attach(GUEST, nil)
      local picture = sync:picture(WATCHER)
      local other = aoi.new()
      other:enter(WATCHER, 0, 0)
      for _, id in ipairs { SHIP, CREW, GUEST } do other:enter(id, space:position(id)) end
      other:attach(GUEST, SHIP, 12, -1)
      space = other
      sync = Sync.new(other, { quantum = 0.5, riders = true, tick = 5, tiers = options.tiers, bytes = options.bytes })
      sync:add(WATCHER, 100)
      sync:adopt(WATCHER, picture, {})
      for _ = 1, 4 do tick() end
      assert.is_nil(seen.known[CREW].carrier) -- it does not ride here
      assert.same({ SHIP, 12, -1 }, { seen.known[GUEST].carrier, seen.known[GUEST][1], seen.known[GUEST][2] })
      assert.is_nil(tick())
    end)
  end
end)
