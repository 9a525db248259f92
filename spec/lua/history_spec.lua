-- aoi.history, by example. The random histories of spec/core compare it with a copy of each tick.
local aoi = require "aoi"
local history = require "aoi.history"
local fixture = require "spec.support.fixture"

local unpack = table.unpack or unpack

local function sorted(list)
  table.sort(list)
  return list
end

for setup in fixture.all { modes = { "immediate", "drain" } } do
  describe("a history on " .. setup.name, function()
    local w, space, past
    local function position(ago, id) return { past:position(ago, id) } end
    local function near(ago, p, ...)
      local arguments = { unpack(p) }
      for i = 1, select("#", ...) do arguments[#p + i] = select(i, ...) end
      return past:near(ago, unpack(arguments, 1, #p + select("#", ...)))
    end

    -- 1 walks a unit a tick; 2 stands; three ticks are noted after the first.
    before_each(function()
      w = setup.new()
      space = w.space
      w:enter(1, w:at(0))
      w:enter(2, w:at(10))
      past = history.new(space, 4)
      for x = 1, 3 do
        w:move(1, w:at(x))
        past:tick()
      end
    end)

    it("tells where everything was, 0 being the last tick", function()
      for ago = 0, 3 do
        assert.same(w:at(3 - ago), position(ago, 1))
        assert.same(w:at(10), position(ago, 2))
        assert.same({ 1 }, near(ago, w:at(3 - ago), 0))
        assert.same({ 1, 2 }, sorted(near(ago, w:at(5), 5)))
      end
    end)

    it("knows nothing of what has not been noted yet, nor of what was before it", function()
      w:move(1, w:at(50))
      w:enter(3, w:at(7))
      assert.same(w:at(3), position(0, 1))
      assert.same({}, position(0, 3))
      assert.same({ 1 }, near(0, w:at(3), 1))
      assert.same({}, position(4, 1))
      assert.same({}, near(4, w:at(0), 100))
      past:tick()
      assert.same(w:at(50), position(0, 1))
      assert.same(w:at(0), position(4, 1))
      past:tick()
      assert.same(w:at(1), position(4, 1))
    end)

    it("has those that have left since, and the lives of an id apart", function()
      space:leave(1)
      assert.same(w:at(3), position(0, 1))
      past:tick()
      assert.same({}, position(0, 1))
      assert.same(w:at(3), position(1, 1))
      assert.same({ 1 }, near(1, w:at(3), 1))
      w:enter(1, w:at(80))
      past:tick()
      assert.same(w:at(80), position(0, 1))
      assert.same({}, position(1, 1))
      assert.same(w:at(3), position(2, 1))
      w:enter(5, w:at(4))
      space:leave(5) -- between two ticks: it was never there
      past:tick()
      for ago = 0, 4 do assert.same({}, position(ago, 5)) end
      for _ = 1, 9 do past:tick() end
      for ago = 0, 4 do assert.same(w:at(80), position(ago, 1)) end
    end)

    it("asks for kinds as they were", function()
      space:set_kind(2, 4)
      past:tick()
      assert.same({ 2 }, near(0, w:at(10), 1, 4))
      assert.same({}, near(1, w:at(10), 1, 4))
      assert.same({ 2 }, near(1, w:at(10), 1, 1))
      assert.same({}, near(1, w:at(10), 1, 0))
      space:set_kind(2, 0)
      past:tick()
      assert.same({ 2 }, near(0, w:at(10), 1))
      assert.same({ 2 }, near(2, w:at(10), { radius = 1, mask = 1 }))
      assert.same(w:at(10), position(3, 2))
    end)

    it("finds what is as large as may be, from the other end of the plane", function()
      local far, corner = { shape = "circle", radius = 2 ^ 49 }, w:at(2 ^ 50, 1, 1)
      w:enter(3, w:at(-2 ^ 49, 1, 1))
      space:set_extent(3, 2 ^ 50)
      past:tick()
      assert.same({ 3 }, w:near(corner, far))
      assert.same({ 3 }, near(0, corner, far))
      assert.same({}, near(1, corner, far))
    end)

    it("takes passengers and batches as they move", function()
      space:attach(2, 1)
      past:tick()
      space:move_many(w:flat { { 1, w:at(20) } })
      past:tick()
      assert.same(w:at(20), position(0, 2))
      assert.same(w:at(3), position(1, 2))
      assert.same(w:at(10), position(2, 2))
    end)

    it("fills the table that it is given, and is sound", function()
      local buf = { 9, 9, 9, 9 }
      local list, n = near(0, w:at(5), 5, buf)
      assert.equal(buf, list)
      assert.equal(2, n)
      assert.is_nil(buf[3])
      assert.is_true(space:check())
    end)

    it("ends with its space, or when it is closed", function()
      past:close()
      past:close()
      assert.has_error(function() past:tick() end, "attempt to use a closed history")
      local other = history.new(space, 1)
      other:tick()
      space:close()
      assert.has_error(function() other:tick() end, "attempt to use a closed space")
      assert.equal("aoi.History (closed)", tostring(other))
      other:close()
    end)
  end)
end

describe("a history", function()
  it("holds memory for what has moved within its ticks alone", function()
    local space = aoi.new { engine = "grid" }
    for id = 1, 2000 do space:enter(id, id, 0) end
    local before = space:stats().memory
    local past = history.new(space, 100)
    for _ = 1, 100 do past:tick() end
    assert.is_true(space:stats().memory - before < 2000 * 200)
    for x = 1, 5 do
      for id = 1, 2000 do space:move(id, id, x) end
      past:tick()
    end
    assert.is_true(space:stats().memory - before > 2000 * 100 * 16)
    for x = 6, 106 do
      for id = 199, 2000, 200 do space:move(id, id, x) end
      past:tick()
    end
    assert.is_true(space:stats().memory - before < 2000 * 200)
    for ago = 0, 100 do
      assert.equal(5, select(2, past:position(ago, 7)))
      for id = 199, 2000, 200 do assert.equal(106 - ago, select(2, past:position(ago, id))) end
    end
    assert.is_true(space:check())
    for _ = 1, 101 do past:tick() end
    for ago = 0, 100 do assert.equal(106, select(2, past:position(ago, 199))) end
  end)
end)
