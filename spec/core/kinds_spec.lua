-- Kinds and masks: kind(target) & mask(node) ~= 0.
local fixture = require "spec.support.fixture"
local bits = require "spec.support.bits"

for setup in fixture.all() do
  describe("kinds and masks on " .. setup.name, function()
    local w
    before_each(function()
      w = setup.new()
      w:enter(1, w:at(0))
    end)

    it("start as kind 1 and a mask of all bits", function()
      w:watch(1, 1, 5)
      w:watch(1, 2, { radius = 5, mask = 1 })
      w:watch(1, 3, { radius = 5, mask = 2 })
      w:enter(2, w:at(1))
      assert.equal(1, w.space:kind(2))
      assert.same({ "+1/1>2", "+1/2>2" }, w:take())
    end)

    it("may come with layers and an extent: nothing is seen for a moment", function()
      local unpack = table.unpack or unpack
      w:watch(1, 1, 5)
      w:enter(2, w:at(1), { layers = 4 })
      w:enter(3, w:at(7), { kind = 2, extent = 2 })
      w:enter(4, w:at(1), { extent = -5 })
      local rows = w:flat { { 5, w:at(1) }, { 6, w:at(9) } }
      w.space:enter_many(rows, nil, { layers = 3, extent = 4 })
      assert.same({ "+1/1>3", "+1/1>5", "+1/1>6" }, w:take())
      assert.same({ 1, 4, 0 }, { w.space:kind(2), w.space:layers(2), w.space:extent(2) })
      assert.same({ 2, 1, 2 }, { w.space:kind(3), w.space:layers(3), w.space:extent(3) })
      assert.same({ 1, 3, 4 }, { w.space:kind(6), w.space:layers(6), w.space:extent(6) })
      for _, bad in ipairs { { layer = 1 }, { kind = "x" }, { extent = 0 / 0 }, { layers = 1.5 } } do
        local arguments = w:at(1)
        arguments[#arguments + 1] = bad
        assert.error_matches(function() w.space:enter(7, unpack(arguments)) end, "#%d to 'enter' %(")
        assert.is_false(w.space:has(7))
      end
      assert.is_true(w.space:check())
    end)

    it("reach to bit 52 on every Lua", function()
      w:watch(1, 1, { radius = 5, mask = 2 ^ 52 })
      w:watch(1, 2, { radius = 5, mask = 2 ^ 52 - 1 })
      w:enter(2, w:at(1), 2 ^ 52)
      w:enter(3, w:at(1), 2 ^ 51)
      assert.same({ "+1/1>2", "+1/2>3" }, w:take())
      assert.equal(2 ^ 52, w.space:kind(2))
    end)

    if bits.integers then
      it("have 64 bits where Lua has integers", function()
        w:watch(1, 1, { radius = 5, mask = math.mininteger })
        w:watch(1, 2, { radius = 5, mask = math.maxinteger })
        w:watch(1, 3, { radius = 5, mask = -1 })
        w:enter(2, w:at(1), math.mininteger)
        w:enter(3, w:at(1), 2 ^ 62)
        w:enter(4, w:at(1), -1)
        assert.same({ "+1/1>2", "+1/1>4", "+1/2>3", "+1/2>4", "+1/3>2", "+1/3>3", "+1/3>4" }, w:take())
        assert.equal(math.mininteger, w.space:kind(2))
        assert.equal(-1, w.space:kind(4))
      end)
    end
  end)
end

describe("the sentence of explain", function()
  it("has layers where they decide, and the extent of a large target", function()
    local space = require("aoi").new()
    space:enter(1, 0, 0)
    space:enter(2, 3.5, 4)
    space:add_node(1, 1, { radius = 5, layers = 4 })
    space:set_extent(2, 1.5)
    assert.matches(", mask %-1, extent 1%.5, layers 1 of it and 4 of the node%)%.$", tostring(space:explain(1, 1, 2)))
    space:set_layers(2, 4)
    assert.matches(", mask %-1, extent 1%.5%)%.$", tostring(space:explain(1, 1, 2)))
  end)
end)
