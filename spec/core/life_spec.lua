-- Entities and nodes are added and removed: enter, leave, add_node, remove_node, and which ids may be used again.
local fixture = require "spec.support.fixture"
local bits = require "spec.support.bits"

for setup in fixture.all() do
  describe("entities and nodes on " .. setup.name, function()
    local w
    before_each(function() w = setup.new() end)

    it("are where they are, however many stand where one moves far away from", function()
      for n = 62, 66 do
        w = setup.new()
        for id = 1, n do w:enter(id, w:at(id / 8)) end
        for _, far in ipairs { 200, 1e4, 1e9 } do
          w:move(1, w:at(far))
          assert.is_true(w.space:check())
        end
        assert.equal(n, w.space:count())
      end
    end)

    it("take any whole number as id", function()
      local ids = { 0, -1, 2 ^ 31, -2 ^ 31, 2 ^ 32 + 1, 2 ^ 53, -2 ^ 53 }
      if bits.integers then
        for i, id in ipairs(ids) do ids[i] = math.tointeger(id) end
        ids[#ids + 1], ids[#ids + 2] = math.maxinteger, math.mininteger
      end
      w:enter(1, w:at(0))
      w:watch(1, 7, 5)
      for i, id in ipairs(ids) do
        w:enter(id, w:at(i / 4))
        w:watch(id, id, 0)
      end
      local expected = {}
      for i, id in ipairs(ids) do expected[i] = "+1/7>" .. bits.id(id) end
      table.sort(expected)
      assert.same(expected, w:take())
      for i, id in ipairs(ids) do
        assert.equal(i / 4, (w.space:position(id)))
        assert.same({ id }, w.space:nodes(id))
      end
      for _, id in ipairs(ids) do w.space:leave(id) end
      assert.equal(#ids, #w:take())
      assert.equal(1, w.space:count())
    end)

    if bits.integers then
      it("take a float with a whole value for the integer", function()
        w:enter(1.0, w:at(0))
        w:watch(1, 7.0, 5)
        w:enter(2, w:at(1))
        assert.same({ "+1/7>2" }, w:take())
        assert.is_true(w.space:has(1))
        assert.equal("integer", math.type(w.space:ids()[1]))
        assert.equal("integer", math.type(w.space:nodes(1)[1]))
      end)
    end

    it("come and go by the hundred without a trace", function()
      for round = 1, 3 do
        for id = 1, 200 do
          w:enter(id, w:at(id % 20, 1, math.floor(id / 20)))
          w:watch(id, 1, 1)
          w:watch(id, 2, id % 4)
        end
        assert.is_true(w.space:check())
        for id = 200, 1, -1 do w.space:leave(round == 2 and 201 - id or id) end
        assert.is_true(w.space:check())
        assert.equal(0, w.space:count())
        assert.equal(0, w.space:stats().nodes)
        local sum = 0
        for _, e in ipairs(w:take()) do sum = sum + (e:sub(1, 1) == "+" and 1 or -1) end
        assert.equal(0, sum)
      end
    end)

    it("carry any number of nodes", function()
      w:enter(1, w:at(0))
      w:enter(2, w:at(50))
      for node_id = 1, 100 do w:watch(1, node_id, node_id) end
      assert.equal(51, #w:take())
      w:move(2, w:at(30.5))
      assert.equal(19, #w:take())
      w.space:leave(1)
      assert.equal(70, #w:take())
    end)
  end)
end
