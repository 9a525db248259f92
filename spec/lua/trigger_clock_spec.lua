-- Where the clock of triggers begins, what one update makes up for, and what is no time.
local trigger_fixture = require "spec.support.trigger_fixture"

describe("the clock of triggers", function()
  local f = trigger_fixture "list"
  local space, triggers
  local add, take = f.add, f.take
  before_each(function()
    f.start()
    space, triggers = f.space, f.triggers
  end)
  after_each(function() space:close() end)

  local EPOCH = 1795000000 -- os.time() of a day in 2026
  local ALL = { "enter", "stay", "dwell", "leave" }

  it("begins at the first update where that is another clock", function()
    add({ radius = 10, interval = 1, after = 3, cooldown = 2 }, ALL)
    space:enter(2, 0, 0)
    assert.equal("enter 2", take())
    assert.equal(0, triggers:update(EPOCH))
    assert.equal(EPOCH, triggers.time)
    space:enter(3, 0, 0) -- waits: the cooldown began with the clock
    assert.equal("", take())
    triggers:update(EPOCH + 1.5)
    assert.equal("stay 2", take())
    triggers:update(EPOCH + 3)
    assert.equal("enter 3, stay 2, dwell 2, stay 3, stay 2", take())
  end)

  it("moves timers that are set, of one time in the order they were set", function()
    local order = {}
    for id = 2, 40 do space:enter(id, 0, 0) end
    f.handlers.t = { radius = 10, after = 5, interval = 0.1 + 0.2, limit = 30 }
    function f.handlers.t.dwell(_, target) order[#order + 1] = target end
    triggers:add(1, "t")
    local inside = triggers:get(1, "t"):targets()
    table.sort(inside)
    triggers:update(EPOCH * 2 ^ 20 + 0.3) -- where rounding is coarse
    triggers:update(EPOCH * 2 ^ 20 + 6)
    table.sort(order)
    assert.same(inside, order)
    assert.is_true(triggers:save().time == triggers.time)
    triggers:remove(1)
    f.nothing_left()
  end)

  it("begins at 0 where the first update is near, at the time that is given, or with advance", function()
    add({ radius = 10, after = 3600 }, { "enter", "dwell" })
    space:enter(2, 0, 0)
    triggers:update(3600)
    assert.equal("enter 2, dwell 2", take())
    triggers = f.new_triggers(0)
    add({ radius = 10, after = 1 }, { "enter", "dwell" })
    triggers:update(EPOCH)
    assert.equal("enter 2, dwell 2", take())
    triggers = f.new_triggers()
    add({ radius = 10, after = 1 }, { "enter", "dwell" })
    triggers:advance(5000)
    assert.equal("enter 2, dwell 2", take())
    triggers = f.new_triggers()
    add({ radius = 10, after = 1 }, { "enter", "dwell" })
    triggers:update(0)
    triggers:update(5000)
    assert.equal("enter 2, dwell 2", take())
  end)

  it("makes up for the last 1,000 stays of a visit in one update", function()
    local times = {}
    f.handlers.t = { radius = 10, interval = 0.25, stay = function() times[#times + 1] = triggers.time end }
    triggers:add(1, "t")
    space:enter(2, 0, 0)
    triggers:update(1)
    assert.same({ 0.25, 0.5, 0.75, 1 }, times)
    times = {}
    triggers:update(1e7 + 0.1)
    assert.is_true(#times >= 1000 and #times <= 1002, #times)
    assert.equal(1e7, times[#times])
    assert.equal(1e7 - 0.25, times[#times - 1])
    times = {}
    triggers:update(1e7 + 0.5)
    assert.same({ 1e7 + 0.25, 1e7 + 0.5 }, times)
    triggers:remove(1)
    f.handlers.t.interval = 2 ^ -24
    triggers:add(1, "t")
    times = {}
    triggers:update(1e7 + 1)
    assert.equal(1001, #times)
  end)

  it("refuses the length of a tick for the time", function()
    for _ = 1, 99 do triggers:update(0.05) end
    assert.error_matches(function() triggers:update(0.05) end,
      "bad argument #1 to 'update' %(0.05 for the 100th time: the time expected; "
      .. "for the length of a tick there is 'advance'%)")
    assert.error_matches(function() triggers:update(0.05) end, "101th time")
    triggers:update(0.1) -- a clock after all
    for _ = 1, 200 do triggers:update(0.1) end
    triggers = f.new_triggers()
    triggers:update(0.05)
    assert.error_matches(function() triggers:update(0.04) end,
      "0.04 is before 0.05: the time expected; for the length of a tick there is 'advance'")
    triggers = f.new_triggers()
    for _ = 1, 200 do triggers:update(7) end -- a clock that stands
    for _ = 1, 200 do triggers:advance(0) end
  end)

  it("advance refuses a time that overflows by its own name", function()
    triggers:advance(1.7e308)
    assert.error_matches(function() triggers:advance(1.7e308) end,
      "bad argument #1 to 'advance' %(finite number expected, got inf%)")
    assert.equal(1.7e308, triggers.time)
  end)
end)
