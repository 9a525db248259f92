-- aoi.new: its options and their errors; the functions and constants of the module.
local aoi = require "aoi"
local bits = require "spec.support.bits"

describe("the module", function()
  it("lists its engines, each once", function()
    local known = {}
    for _, engine in ipairs(aoi.engines()) do
      assert.is_nil(known[engine])
      known[engine] = true
    end
    for _, engine in ipairs { "list", "grid", "tower", "quadtree", "brute" } do
      assert.is_true(known[engine], engine .. " is missing")
    end
  end)

  it("gives every caller its own list of engines", function()
    local list = aoi.engines()
    list[1] = "nonsense"
    assert.are_not.equal("nonsense", aoi.engines()[1])
  end)

  it("has two different numbers for the kinds of events", function()
    assert.is_number(aoi.ENTER)
    assert.is_number(aoi.LEAVE)
    assert.are_not.equal(aoi.ENTER, aoi.LEAVE)
  end)

  it("is the same module when required again", function()
    local loaded = package.loaded["aoi.core"]
    package.loaded["aoi"], package.loaded["aoi.core"] = nil, nil
    local again = require "aoi"
    local space = again.new()
    space:enter(1, 0, 0)
    assert.equal(1, space:count())
    local old = aoi.new()
    old:enter(1, 0, 0)
    assert.is_true(old:check())
    package.loaded["aoi"], package.loaded["aoi.core"] = aoi, loaded
  end)
end)

describe("aoi.new", function()
  it("makes a 2D space without options", function()
    for _, space in ipairs { aoi.new(), aoi.new(nil), aoi.new {} } do
      space:enter(1, 2, 3)
      assert.same({ 2, 3 }, { space:position(1) })
      space:enter(2, 2, 3, 6)
      assert.equal(6, space:kind(2))
    end
  end)

  it("delivers at once without options", function()
    local space, heard = aoi.new(), 0
    space:enter(1, 0, 0)
    space:add_node(1, 1, 5, function() heard = heard + 1 end)
    space:enter(2, 0, 0)
    assert.equal(1, heard)
  end)

  it("keeps spaces apart", function()
    local a, b = aoi.new(), aoi.new()
    a:enter(1, 0, 0)
    assert.is_true(a:has(1))
    assert.is_false(b:has(1))
  end)

  for _, engine in ipairs(aoi.engines()) do
    for _, dimensions in ipairs { 2, 3 } do
      for _, delivery in ipairs { "immediate", "deferred" } do
        it(("takes engine %s, %d dimensions, %s delivery"):format(engine, dimensions, delivery), function()
          local space = aoi.new { engine = engine, dimensions = dimensions, delivery = delivery }
          if dimensions == 2 then space:enter(1, -1, 2) else space:enter(1, -1, 2, 3) end
          assert.same(dimensions == 2 and { -1, 2 } or { -1, 2, 3 }, { space:position(1) })
          space:add_node(1, 1, 1)
          if dimensions == 2 then space:enter(2, -1, 2) else space:enter(2, -1, 2, 3) end
          assert.equal(delivery == "deferred" and 1 or 0, space:stats().pending)
          assert.is_true(space:check())
        end)
      end
    end

    it("takes any cell size as a hint for " .. engine, function()
      for _, cell in ipairs { 1e-3, 1, 1000, 1e15 } do
        local space = aoi.new { engine = engine, cell = cell, delivery = "deferred" }
        space:enter(1, -5, 5)
        space:add_node(1, 1, 10)
        space:enter(2, 5, -5)
        space:enter(3, 6, -5)
        space:move(2, -15, 15)
        space:move(1, 1e9, -1e9)
        local buf, n = space:drain {}
        assert.equal(0, n, "everybody came and went: " .. tostring(buf[1]))
        assert.is_true(space:check())
      end
    end)
  end

  it("does not touch the table of options", function()
    local options = { engine = "brute" }
    aoi.new(options)
    assert.same({ engine = "brute" }, options)
  end)

  if bits.integers then
    it("takes the dimensions as a float with a whole value", function()
      local space = aoi.new { dimensions = 3.0 }
      space:enter(1, 1, 2, 3)
      assert.same({ 1, 2, 3 }, { space:position(1) })
    end)
  end
end)
