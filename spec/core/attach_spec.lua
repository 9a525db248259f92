-- Passengers by example: they move with their carrier in the same call and delivery. Random histories attach, too.
local aoi = require "aoi"
local fixture = require "spec.support.fixture"

local unpack = table.unpack or unpack

for setup in fixture.all() do
  describe("passengers on " .. setup.name, function()
    local w, space
    local function position(id) return { space:position(id) } end

    -- 1 is a bus with 2 on board, one unit behind; 9 watches the place from 50 on.
    before_each(function()
      w = setup.new()
      space = w.space
      w:enter(1, w:at(0))
      w:enter(2, w:at(0))
      w:enter(9, w:at(55))
      w:watch(9, 1, 5)
      space:attach(2, 1, unpack(w:at(-1)))
    end)

    it("take its layers, and theirs do, where asked", function()
      w:enter(3, w:at(0))
      space:attach(3, 2)
      space:set_layers(1, 6)
      assert.same({ 6, 1, 1 }, { space:layers(1), space:layers(2), space:layers(3) })
      space:set_layers(1, 4, true)
      assert.same({ 4, 4, 4 }, { space:layers(1), space:layers(2), space:layers(3) })
      assert.error_matches(function() space:set_layers(1, 4, 1) end, "#3 to 'set_layers' %(boolean expected")
    end)

    it("move with it: one call, one delivery", function()
      w:move(1, w:at(50))
      assert.same({ "+9/1>1" }, w:take())
      assert.same(w:at(49), position(2))
      w:move(1, w:at(60))
      assert.same({ "+9/1>2" }, w:take())
      w:move(1, w:at(-100))
      assert.same({ "-9/1>1", "-9/1>2" }, w:take())
      w:move(1, w:at(58))
      w:move(1, w:at(59))
      assert.same({ "+9/1>1", "+9/1>2" }, w:take())
    end)

    it("move in batches, those of their own, too, row by row", function()
      w:enter(3, w:at(7))
      space:attach(3, 2, unpack(w:at(2)))
      assert.same(w:at(1), position(3))
      space:move_many(w:flat { { 1, w:at(-500) }, { 9, w:at(54) }, { 1, w:at(50) } })
      assert.same({ "+9/1>1", "+9/1>2", "+9/1>3" }, w:take())
      assert.same(w:at(51), position(3))
    end)

    it("stay where they are when they are let go, or their carrier leaves", function()
      w:move(1, w:at(10))
      space:attach(2, nil)
      w:move(1, w:at(20))
      assert.same(w:at(9), position(2))
      space:attach(2, nil) -- again: nothing happens
      space:attach(2, 1)
      assert.same(w:at(20), position(2))
      space:leave(1)
      assert.is_nil(space:carrier(2))
      assert.same(w:at(20), position(2))
      w:move(2, w:at(3))
      assert.same({}, w:take())
    end)

    it("are at most 16 in a chain, in no circle, and do not move by themselves", function()
      for id = 11, 24 do
        w:enter(id, w:at(0))
        space:attach(id, id == 11 and 2 or id - 1)
      end
      w:enter(25, w:at(0))
      assert.has_error(function() space:attach(25, 24) end)
      assert.has_error(function() space:attach(1, 24) end)
      assert.has_error(function() space:attach(1, 25) end)
      assert.has_error(function() w:move(24, w:at(0)) end)
      assert.has_error(function() space:move_many(w:flat { { 1, w:at(3) }, { 2, w:at(3) } }) end)
      assert.same(w:at(0), position(1))
      w:move(1, w:at(8))
      assert.same(w:at(7), position(24))
      assert.same({}, w:take())
    end)

    it("are refused with their carrier where one would be beyond 2^50", function()
      space:attach(2, 1, unpack(w:at(1e15)))
      local words, rows, told = "a passenger would be beyond 2^50", w:flat { { 1, w:at(1e15) } }, nil
      for _, move in ipairs { function() w:move(1, w:at(1e15)) end, function() space:move_many(rows) end } do
        assert.error_matches(move, words, 1, true)
      end
      space:move_many(rows, function(_, _, reason) told = reason end)
      assert.equal(words, told)
      assert.same(w:at(0), position(1))
      assert.same({}, w:take())
    end)

    it("are in a snapshot", function()
      local copy = aoi.load(space:save())
      assert.equal(1, copy:carrier(2))
      copy:move(1, 30, 30, setup.dimensions == 3 and 30 or nil)
      assert.equal(29, (copy:position(2)))
      assert.is_true(copy:check())
      space:leave(2)
      assert.is_nil(aoi.load(space:save()):carrier(2))
    end)
  end)
end

describe("layers of a carrier and all that it carries", function()
  it("change as one: no pair of two of them is told of anything that did not change", function()
    for _, engine in ipairs(aoi.engines()) do
      local space, heard = aoi.new { engine = engine }, {}
      local function note(sign) return function(w, t) heard[#heard + 1] = sign .. w .. ">" .. t end end
      for id = 1, 4 do
        space:enter(id, 0, 0)
        if id > 1 and id < 4 then space:attach(id, id - 1) end
      end
      for id = 1, 4 do space:add_node(id, 1, { radius = 5, layers = id == 3 and 2 or nil }, note "+", note "-") end
      space:add_node(1, 2, { radius = 5, layers = 2 }, note "+", note "-")
      heard = {}
      space:set_layers(1, 2, true)
      table.sort(heard)
      assert.same({ "+1>2", "+1>3", "+3>1", "+3>2", "-1>4", "-2>4", "-4>1", "-4>2", "-4>3" }, heard)
      assert.is_true(space:check())
    end
  end)
end)
