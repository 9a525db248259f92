-- sync:explain: why a client knows a target or not, and what it lacks.
local aoi = require "aoi"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local sync = require "aoi.sync"

local FIELDS = { { "hp", "u16" }, { "name", "string" }, { "bag", "bytes", to = "own" } }

local function new(options)
  local space = aoi.new()
  for id = 1, 9 do space:enter(id, id, 0) end
  local s = sync.new(space, { fields = FIELDS })
  s:add(1, { radius = 5, label = "near" }, options)
  return space, s
end

local function tick(s) s:tick(function() end) end

describe("sync:explain", function()
  it("says why", function()
    local space, s = new()
    local function why(id, target) return s:explain(id, target).why end
    assert.equal("no client", why(2, 3))
    assert.equal("no client", why(99, 3))
    assert.equal("no target", why(1, 99))
    assert.equal("self", why(1, 1))
    assert.equal("next tick", why(1, 2))
    assert.equal("unseen", why(1, 9))
    tick(s)
    assert.equal("known", why(1, 2))
    space:move(2, 50, 0)
    assert.equal("goes", why(1, 2))
    tick(s)
    assert.equal("unseen", why(1, 2))
    s:pin(1, 2)
    assert.equal("next tick", why(1, 2))
    tick(s)
    assert.equal("known", why(1, 2))
    assert.is_true(s:explain(1, 2).pinned)
    s:set(1, { self = true })
    assert.equal("next tick", why(1, 1))
    tick(s)
    assert.equal("known", why(1, 1))
    s:set(1, { limit = 2 })
    tick(s)
    assert.equal("limit", why(1, 6))
    assert.equal(2, s:explain(1, 6).limit)
  end)

  it("says what each view says of what none sees, past walls too", function()
    local space, s = new()
    s:add(2, { { radius = 1, label = "body" }, { shape = "circle", radius = 2 } })
    local told = s:explain(2, 9)
    assert.equal(2, #told.views)
    assert.equal("outside", told.views[1].why)
    assert.matches("^Client 2 does not know entity 9: unseen%. Node %-%d+ 'body' of entity 2 does not see entity 9: "
      .. "outside.*Node %-%d+ of entity 2 does not see", tostring(told))
    local sight = require("aoi.sight").new(space)
    local wall = sight:wall(1.5, -9, 1.5, 9)
    local past = sync.new(space, { sight = sight })
    past:add(1, 5)
    tick(past)
    told = past:explain(1, 2)
    assert.equal("wall", told.views[1].why)
    assert.equal(wall, told.views[1].wall)
    assert.same({ 1.5, 0 }, { told.views[1].x, told.views[1].y })
    assert.matches(", by wall 1 at 1.5, %-?0", tostring(told))
  end)

  it("says which fields are lacked, with tiers and budgets", function()
    local space, s = new({ tiers = { { 0.5, 1 }, { 50, 1000 } }, self = true })
    tick(s)
    s:put(2, "hp", 5)
    s:put(2, "bag", "not for 1")
    s:put(1, "bag", "x")
    space:move(2, 2.5, 0)
    assert.same({ "hp" }, s:explain(1, 2).lacks)
    assert.same({ "bag" }, s:explain(1, 1).lacks)
    for _ = 1, 3 do tick(s) end
    local told = s:explain(1, 2)
    if #told.lacks > 0 then -- in none of these ticks its turn has come
      assert.is_true(told.moved)
      assert.matches("^Client 1 knows entity 2: known; it lacks hp; where it is waits%.$", tostring(told))
    end
    s:set(1, { tiers = false, bytes = 60 })
    s:put(3, "name", ("x"):rep(500))
    tick(s)
    tick(s)
    assert.same({ "name" }, s:explain(1, 3).lacks)
    for _ = 1, 60 do tick(s) end
    assert.same({}, s:explain(1, 3).lacks)
  end)

  it("agrees with pictures, in any history", function()
    local random = rng.new(random_run.seed "explained clients")
    for _ = 1, random_run.steps(20) do
      local space, s = new { limit = random { 3, false }, bytes = random { 70, false }, self = random(2) == 1 }
      for _ = 1, 30 do
        local id = 1 + random(8)
        local does = random(6)
        if not space:has(id) then space:enter(id, random(9), 0)
        elseif does == 1 then space:leave(id)
        elseif does == 2 then s:put(id, "hp", random(100))
        elseif does == 3 then s:put(id, "name", ("y"):rep(random(60)))
        else space:move(id, random(9), random(3)) end
        if random(3) == 1 then tick(s) end
        for target = 1, 9 do
          local told = s:explain(1, target)
          assert.equal(space:has(target) and s:knows(1, target), told.knows)
          assert.is_true(not told.knows or told.why == "known" or told.why == "goes")
          assert.is_true(told.knows or #told.lacks == 0)
          if told.why == "unseen" or told.why == "goes" then assert.equal(1, #told.views) end
        end
      end
      s:set(1, { limit = false, bytes = false })
      tick(s)
      tick(s)
      for target = 2, 9 do
        local told = s:explain(1, target)
        assert.same({}, told.lacks)
        local sees = space:sees(1, s:node(1), target)
        assert.equal(not space:has(target) and "no target" or sees and "known" or "unseen", told.why)
      end
    end
  end)
end)
