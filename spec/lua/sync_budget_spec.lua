-- aoi.sync, promise 5: with a budget of bytes every change reaches the client within a bounded number of ticks.
--
-- One client sees everything.  A record here takes 11 bytes at most (tag and id 2, kind 1, two floats 8), the head of
-- a message 4: so `k` records fit into every message.  The W of the bound is what is known or waits when a change
-- happens, and what enters until it is told.
local aoi = require "aoi"
local Sync = require "aoi.sync"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local SEED = random_run.seed("budgets of clients")
local TICKS = math.max(20, random_run.steps(150)) -- the first 8 tell what is there
local BYTES, RECORD, HEAD = 100, 11, 4
local k = math.floor((BYTES - HEAD) / RECORD)
local CLIENT, FIRST, LAST = 0, 1, 60

local function new_world(random)
  local self = { random = random, now = 1, entered = 0, lives = 0, waits = {}, known = {}, inside = {}, longest = 0 }
  self.space = aoi.new()
  self.sync = Sync.new(self.space, { bytes = BYTES })
  self.space:enter(CLIENT, 0, 0)
  self.sync:add(CLIENT, math.huge)
  return self
end

-- Something is new about an entity, unless something is new already.
local function change(world, id, what)
  local waits = world.waits[id]
  if waits and waits.what == what then return end
  world.waits[id] = { what = what, since = world.now, lives = world.lives, entered = world.entered }
end

local function told(world, id, bound)
  local waits = world.waits[id]
  if not waits then return end
  local ticks = world.now - waits.since + 1
  local most = bound(waits.lives + world.entered - waits.entered)
  world.longest = math.max(world.longest, ticks / most)
  assert.message(("entity %d: %s waited for %d ticks, %d are promised"):format(id, waits.what, ticks, most))
    .is_true(ticks <= most)
  world.waits[id] = nil
end

local function enter(world, id)
  world.space:enter(id, world.random() * 100, world.random() * 100)
  world.inside[id], world.entered, world.lives = true, world.entered + 1, world.lives + 1
  change(world, id, "appeared")
end

local function leave(world, id) -- of one that is known
  world.space:leave(id)
  world.inside[id] = nil
  change(world, id, "gone")
end

local function move(world, id)
  world.space:move(id, world.random() * 100, world.random() * 100)
  if world.known[id] then change(world, id, "moved") end
end

local function tick(world, bound)
  world.sync:tick(function(_, message)
    assert.is_true(#message <= BYTES)
    local news = Sync.read(message)
    for i = 1, news.gone.n do
      local id = news.gone[i]
      told(world, id, bound)
      world.known[id], world.lives = nil, world.lives - 1
    end
    for i = 1, news.appeared.n do
      told(world, news.appeared[4 * i - 3], bound)
      world.known[news.appeared[4 * i - 3]] = true
    end
    for i = 1, news.moved.n do told(world, news.moved[3 * i - 2], bound) end
  end)
  for id, waits in pairs(world.waits) do -- what is not told yet has not waited for too long either
    local ticks, most = world.now - waits.since + 1, bound(waits.lives + world.entered - waits.entered)
    assert.message(("entity %d: %s waits for %d ticks, %d are promised"):format(id, waits.what, ticks, most))
      .is_true(ticks < most)
  end
  world.now = world.now + 1
end

local function equal(w) return math.ceil(w / k) end

describe("budgets of bytes", function()
  it("tell all that appears within W / k ticks", function()
    local world = new_world(rng.new(SEED))
    for id = FIRST, LAST do enter(world, id) end
    for _, waits in pairs(world.waits) do waits.lives, waits.entered = world.lives, world.entered end
    for _ = 1, equal(world.lives) do tick(world, equal) end
    assert.is_nil(next(world.waits))
    assert.same(LAST, #world.sync:known(CLIENT))
  end)

  it("tell every move within W / k ticks while everything moves", function()
    local world = new_world(rng.new(SEED + 1))
    for id = FIRST, LAST do enter(world, id) end
    for _, waits in pairs(world.waits) do waits.lives = world.lives end
    for _ = 1, TICKS do
      for id = FIRST, LAST do move(world, id) end
      tick(world, equal)
    end
    assert.is_true(world.longest > 0.5) -- the budget was felt
  end)

  it("tell every change within W / k ticks while some move, come and go", function()
    local world = new_world(rng.new(SEED + 2))
    for id = FIRST, LAST do enter(world, id) end
    for _, waits in pairs(world.waits) do waits.lives = world.lives end
    for _ = 1, TICKS do
      local share, id = world.random(), world.random(LAST)
      if world.inside[id] and world.known[id] then leave(world, id)
      elseif not world.inside[id] and not world.known[id] then enter(world, id) end
      for other = FIRST, LAST do
        if world.inside[other] and world.random() < share then move(world, other) end
      end
      tick(world, equal)
    end
    assert.is_true(world.longest > 0.5)
  end)

  it("tell state within W / (k - 1) ticks though it did not fit behind its entity's move", function()
    local space, count, most, fits = aoi.new(), 60, 0, math.huge
    local sync = Sync.new(space, { bytes = 120, fields = { { "hp", "u16" } } })
    for id = 0, count do space:enter(id, 0, 0) end
    sync:add(0, math.huge)
    local since = {}
    for now = 1, 100 do
      for id = 1, count do
        space:move(id, now, id)
        if (now + 3 * id) % 10 == 0 then
          sync:put(id, "hp", now)
          since[id] = since[id] or now
        end
      end
      sync:tick(function(_, message)
        local news = Sync.read(message)
        if news.appeared.n == 0 then fits = math.min(fits, news.moved.n + news.fields.n) end
        for i = 1, 2 * news.fields.n, 2 do
          local id = news.fields[i]
          if since[id] and since[id] > 20 then most = math.max(most, now - since[id] + 1) end -- all have appeared
          since[id] = nil
        end
      end)
    end
    local promised = math.ceil(2 * count / (fits - 1))
    assert.is_true(most > 5 and most <= promised, ("%d ticks, %d are promised"):format(most, promised))
  end)

  it("let no priority starve another: 2 W (1 + P / p) / k ticks", function()
    local world = new_world(rng.new(SEED + 3))
    local P = 8
    for id = FIRST, LAST do
      enter(world, id)
      if id % 3 == 0 then world.sync:set_priority(id, id % 2 == 0 and P or 2) end
    end
    for _, waits in pairs(world.waits) do waits.lives = world.lives end
    local function ranked(w) return math.ceil(2 * w * (1 + P) / k) end
    for _ = 1, 2 * TICKS do
      for id = FIRST, LAST do move(world, id) end
      tick(world, ranked)
    end
    assert.is_true(world.longest > 0 and world.longest <= 1)
  end)

  it("let no priority starve another where ticks times priority are beyond a double", function()
    local space = aoi.new()
    local state = Sync.new(space, { bytes = BYTES })
    space:enter(CLIENT, 0, 0)
    state:add(CLIENT, math.huge)
    for id = 1, 40 do
      space:enter(id, id, 0)
      state:set_priority(id, 1.7e308)
    end
    local last = {}
    for now = 1, 60 do
      for id = 1, 40 do space:move(id, id, now) end
      state:tick(function(_, bytes)
        local news = assert(Sync.read(bytes))
        for i = 1, 3 * news.moved.n, 3 do last[news.moved[i]] = now end
        for i = 1, 4 * news.appeared.n, 4 do last[news.appeared[i]] = now end
      end)
    end
    for id = 1, 40 do assert.is_true((last[id] or 0) > 50) end
  end)

  -- Ids and priorities decide how the core sorts; the order is the same: by falling priority times ticks, then by id.
  for name, case in pairs {
    ["of small ids"] = { base = 0, priority = 1 },
    ["of large ids"] = { base = 2 ^ 40, priority = 1 },
    ["of negative ids"] = { base = -2 ^ 31 - 30, priority = 1 },
    ["with priorities"] = { base = 0, priority = 3 },
  } do
    it("tell the most urgent first, " .. name, function()
      local random = rng.new(SEED + 4)
      local space = aoi.new()
      local sync = Sync.new(space, { bytes = BYTES })
      local told_at, priority = {}, {}
      space:enter(CLIENT, 0, 0)
      sync:add(CLIENT, math.huge)
      for i = FIRST, LAST do
        space:enter(case.base + i, random() * 100, random() * 100)
        priority[i] = i % 4 == 0 and case.priority or 1
        sync:set_priority(case.base + i, priority[i])
      end
      local news, moved
      for now = 1, 60 do
        local due = {}
        for i = FIRST, LAST do
          if told_at[i] and random() < 0.8 then
            space:move(case.base + i, random() * 100, random() * 100)
            moved = moved or {}
            moved[i] = true
          end
          if moved and moved[i] then due[#due + 1] = i end
        end
        table.sort(due, function(a, b)
          local first, second = priority[a] * (now - told_at[a]), priority[b] * (now - told_at[b])
          if first ~= second then return first > second end
          return a < b
        end)
        sync:tick(function(_, message) news = assert(Sync.read(message)) end)
        for i = 1, news.moved.n do
          local id = news.moved[3 * i - 2] - case.base
          assert.same(due[i], id)
          told_at[id], moved[id] = now, nil
        end
        for i = 1, news.appeared.n do told_at[news.appeared[4 * i - 3] - case.base] = now end
      end
      assert.is_true(news.moved.n >= 5)
    end)
  end
end)
