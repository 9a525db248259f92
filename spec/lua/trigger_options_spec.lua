-- Triggers: limit, cooldown, once, enabled, where options come from; regions; handlers replaced while running.
local trigger_fixture = require "spec.support.trigger_fixture"
local tree = require "spec.support.tree"

local PLAYER, MONSTER = 1, 2

for _, engine in ipairs(tree.engines) do
  describe("trigger options on " .. engine .. ":", function()
    local f = trigger_fixture(engine)
    local recorder, take, note, crowd, come, go, add, nothing_left =
      f.recorder, f.take, f.note, f.crowd, f.come, f.go, f.add, f.nothing_left
    local space, handlers, triggers
    before_each(function() space, handlers, triggers = f.start() end)

    -- Gates --------------------------------------------------------------------------------------------------------

    it("limit: what goes together with what is inside is not let in", function()
      local t = add({ radius = 10, limit = 1 }, { "enter", "leave" })
      crowd(3)
      come(2) come(3)
      space:move(1, 900, 900)
      assert.equal("enter 2, leave 2", take())
      space:move(1, 0, 0)
      assert.equal(1, t:count())
      take()
      t:disable()
      assert.is_truthy(take():find "^leave %d$")
      t:enable()
      take()
      space:move_many { 2, 900, 0, 3, 900, 0 }
      assert.is_truthy(take():find "^leave %d$")
    end)

    it("limit: what a handler brings back before its leave is delivered is let in by the next update", function()
      crowd(2)
      for _, before in ipairs { false, true } do -- the engine decides which node is first
        local function bring_back(_, target)
          if target == 2 then come(3) end
        end
        if before then space:add_node(1, 1, 10, nil, bring_back) end
        local t = add({ radius = 10, limit = 1 }, { "enter" })
        if not before then space:add_node(1, 1, 10, nil, bring_back) end
        come(2) come(3)
        space:move_many { 2, 900, 0, 3, 900, 0 }
        triggers:update(1)
        assert.equal("enter 2, enter 3", take())
        assert.equal(1, t:count())
        t:remove()
        space:remove_node(1, 1)
        go(3)
      end
    end)

    it("options come from beside the handlers, and add overrides them", function()
      handlers.t = recorder(false, { "enter", "stay" })
      handlers.t.radius, handlers.t.interval, handlers.t.mask, handlers.t.data = 10, 1, PLAYER, "shared"
      local near = triggers:add(1, "t")
      space:enter(2, 500, 0, MONSTER)
      local far = triggers:add(2, "t", { radius = 100, interval = 5, data = "own" })
      assert.equal("shared", near.data)
      assert.equal("own", far.data)
      assert.equal(10, space:radius(1, near.node))
      assert.equal(100, space:radius(2, far.node))
      space:enter(3, 450, 0)
      space:enter(4, 1, 0)
      triggers:update(4)
      assert.equal("enter 3, enter 4, stay 4, stay 4, stay 4, stay 4", take())
    end)

    -- Regions ------------------------------------------------------------------------------------------------------

    it("a region needs no visible entity", function()
      handlers.market = recorder(true, { "enter", "leave" })
      local everything = { enter = function(_, target) note("saw " .. target) end }
      space:add_node(1, 1, math.huge, everything)
      local market = triggers:region("market", { x = 500, y = -500, radius = 20 })
      assert.equal("", take())
      local list, n = space:near(500, -500, 100, -1)
      for i = 1, n do assert.not_equal(market.id, list[i]) end
      assert.is_true(market.id <= -2 ^ 52)
      space:enter(2, 510, -490)
      assert.equal("enter " .. market.id .. ">2", take():gsub("saw 2", ""):gsub(", ", ""), nil)
      local second = triggers:region("market", { x = 510, y = -490, radius = 1 })
      assert.not_equal(market.id, second.id)
      assert.equal("enter " .. second.id .. ">2", take())
      market:remove()
      assert.is_false(space:has(market.id))
      space:move(2, 0, 0)
      assert.equal("leave " .. second.id .. ">2", take())
      second:remove()
      nothing_left()
      assert.equal(2, space:count())
    end)

    it("a region can move and carry more triggers", function()
      handlers.t, handlers.u = recorder(false, { "enter", "leave" }), recorder(false, { "enter", "leave" })
      handlers.t.radius, handlers.u.radius = 10, 10
      handlers.t.x, handlers.t.y = 5000, 5000
      local storm = triggers:region("t")
      triggers:add(storm.id, "u")
      space:move(storm.id, 0, 0)
      assert.equal("enter 1, enter 1", take())
      storm:remove()
      space:enter(2, 0, 0)
      assert.equal("", take())
      nothing_left()
    end)

    it("regions in three dimensions", function()
      space, triggers = f.open { dimensions = 3 }
      handlers.t = recorder(false, { "enter" })
      local t = triggers:region("t", { x = 1, y = 2, z = 3, radius = 10 })
      assert.same({ 1, 2, 3 }, { space:position(t.id) })
      assert.equal(0, space:kind(t.id))
      space:enter(2, 0, 0, 0)
      space:enter(3, 0, 0, 14)
      assert.equal("enter 2", take())
      local before = space:count()
      assert.error_matches(function() triggers:region("t", { x = 1, y = 2, radius = 10 }) end, "'z'")
      assert.equal(before, space:count())
    end)

    -- Hot reload ---------------------------------------------------------------------------------------------------

    it("handlers are looked up at each call", function()
      handlers.t = recorder(false, { "enter" })
      triggers:add(1, "t", { radius = 10, after = 1 })
      crowd(3)
      come(2)
      handlers.t = { enter = function(_, target) note("new enter " .. target) end,
        dwell = function(_, target) note("new dwell " .. target) end }
      come(3)
      triggers:update(1)
      assert.equal("enter 2, new enter 3, new dwell 2, new dwell 3", take())
      handlers.t = nil
      come(4)
      go(2)
      triggers:update(9)
      triggers.handlers = { t = { leave = function(_, target) note("other leave " .. target) end } }
      go(3)
      assert.equal("other leave 3", take())
    end)
  end)
end
