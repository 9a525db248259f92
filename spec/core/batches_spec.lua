-- move_many and enter_many: one batch is one change.
local aoi = require "aoi"
local fixture = require "spec.support.fixture"

for setup in fixture.all() do
  describe("batches on " .. setup.name, function()
    local w
    before_each(function()
      w = setup.new()
      for id = 1, 3 do
        w:enter(id, w:at(100 * id))
        w:watch(id, 1, 5)
      end
      assert.same({}, w:take())
    end)

    it("move everybody in the array", function()
      w.space:move_many(w:flat { { 1, w:at(0) }, { 3, w:at(4) }, { 2, w:at(-4) } })
      assert.same({ "+1/1>2", "+1/1>3", "+2/1>1", "+3/1>1" }, w:take())
      assert.equal(-4, (w.space:position(2)))
      assert.equal(4, (w.space:position(3)))
    end)

    it("give the net change only: passing each other is no event", function()
      w.space:move_many(w:flat { { 1, w:at(200) }, { 2, w:at(100) } })
      w.space:move_many(w:flat { { 1, w:at(300) }, { 3, w:at(1) } })
      assert.same({}, w:take())
    end)

    it("give no event for a pair that walks together", function()
      w:move(2, w:at(101))
      assert.same({ "+1/1>2", "+2/1>1" }, w:take())
      w.space:move_many(w:flat { { 1, w:at(-5000) }, { 2, w:at(-5001) } })
      assert.same({}, w:take())
    end)

    it("count the last row of an entity that is named twice", function()
      w.space:move_many(w:flat { { 2, w:at(101) }, { 3, w:at(50) }, { 2, w:at(600) } })
      assert.same({}, w:take())
      assert.equal(600, (w.space:position(2)))
      w.space:move_many(w:flat { { 2, w:at(800) }, { 2, w:at(99) }, { 2, w:at(102) } })
      assert.same({ "+1/1>2", "+2/1>1" }, w:take())
    end)

    it("have everybody in place before the first event", function()
      local wrong = {}
      local function look(watcher, target)
        for id = 1, 3 do
          if w.space:position(id) ~= id then wrong[#wrong + 1] = watcher .. ">" .. target end
        end
      end
      w.space:add_node(1, 2, 5, look, look)
      w.space:move_many(w:flat { { 1, w:at(1) }, { 2, w:at(2) }, { 3, w:at(3) } })
      w:take()
      assert.same({}, wrong)
    end)

    it("take the number of rows, or all of the array", function()
      local rows = w:flat { { 1, w:at(0) }, { 2, w:at(1) }, { 3, w:at(2) } }
      w.space:move_many(rows, 2)
      assert.same({ "+1/1>2", "+2/1>1" }, w:take())
      assert.equal(300, (w.space:position(3)))
      w.space:move_many(rows, 0)
      assert.same({}, w:take())
      w.space:move_many(rows)
      assert.equal(4, #w:take())
    end)

    it("leave out bad rows, and tell of each when all is delivered", function()
      local rows = w:flat { { 1, w:at(0) }, { 2, w:at(0 / 0) }, { 99, w:at(1) }, { 3, w:at(1) }, { 2, w:at(1) } }
      local stride = #rows / 5
      rows[4 * stride + 1] = "two"
      assert.error_matches(function() w.space:move_many(rows) end, "row 2: finite number expected, got nan")
      local told, events = {}, nil
      local function bad(row, id, reason)
        events = events or w:take() -- an immediate space has delivered them before
        told[#told + 1] = row .. " " .. tostring(id) .. ": " .. reason
      end
      w.space:move_many(rows, 5, bad)
      assert.same({ "+1/1>3", "+3/1>1" }, events)
      local want = { "2 2: finite number expected, got nan", "3 99: no entity 99",
                     "5 two: integer expected, got string" }
      assert.same(want, told)
      assert.equal(200, (w.space:position(2)))
      told = {}
      w.space:attach(3, 1)
      w.space:move_many(rows, 2, bad)
      w.space:move_many(w:flat { { 3, w:at(7) }, { 1, w:at(300) } }, bad)
      assert.same({ want[1], "1 3: entity 3 is attached: it moves with its carrier" }, told)
      assert.equal(300, (w.space:position(3)))
      assert.error_matches(function() w.space:move_many(rows, 2, 5) end,
        "#3 to 'move_many' %(function expected, got number")
      assert.error_matches(function() w.space:move_many(rows, bad, 5) end, "#3 to 'move_many' %(nothing expected")
      assert.error_matches(function()
        w.space:move_many({ 99, 0, 0, 0, 0, 0 }, 1, function() error "oh" end)
      end, "oh")
    end)

    it("ignore what lies in the array behind the rows", function()
      local rows = w:flat { { 1, w:at(0) }, { 2, w:at(1) } }
      rows[#rows + 1] = "left over from a longer batch"
      w.space:move_many(rows, 2)
      assert.same({ "+1/1>2", "+2/1>1" }, w:take())
    end)

    it("may be empty", function()
      w.space:move_many {}
      w.space:enter_many {}
      assert.same({}, w:take())
      assert.equal(3, w.space:count())
    end)

    it("enter everybody in the array, as kind 1 or the kind that is named", function()
      w.space:enter_many(w:flat { { 11, w:at(101) }, { 12, w:at(199) } })
      assert.same({ "+1/1>11", "+2/1>12" }, w:take())
      assert.equal(1, w.space:kind(11))
      w.space:enter_many(w:flat { { 13, w:at(101) }, { 14, w:at(202) }, { 15, w:at(0) } }, 2, 6)
      assert.same({ "+1/1>13", "+2/1>14" }, w:take())
      assert.equal(6, w.space:kind(14))
      assert.is_false(w.space:has(15))
      w.space:enter_many(w:flat { { 16, w:at(103) } }, nil, 0)
      assert.same({}, w:take())
      assert.equal(0, w.space:kind(16))
      assert.equal(8, w.space:count())
    end)

    it("leave the array as it was", function()
      local rows = w:flat { { 1, w:at(0) }, { 2, w:at(1) } }
      local copy = w:flat { { 1, w:at(0) }, { 2, w:at(1) } }
      w.space:move_many(rows)
      assert.same(copy, rows)
    end)

    it("read an array that has a metatable", function()
      local odd = { __index = error, __newindex = error }
      w.space:move_many(setmetatable(w:flat { { 1, w:at(0) }, { 2, w:at(1) } }, odd))
      assert.same({ "+1/1>2", "+2/1>1" }, w:take())
      local missing = setmetatable(w:flat { { 1, w:at(0) }, { 2, w:at(1) } }, { __index = function() return 7 end })
      missing[3] = false
      assert.has_error(function() w.space:move_many(missing, 2) end,
        "bad argument #1 to 'move_many' (row 1: number expected, got boolean)")
    end)

    it("judge hysteresis where the batch ends", function()
      w.space:add_node(1, 2, { radius = 5, keep = 20 })
      w:take()
      w:watch(1, 3, { radius = 5, keep = 20 })
      w.space:move_many(w:flat { { 2, w:at(101) }, { 2, w:at(110) } })
      assert.same({}, w:take())
      assert.is_false(w.space:sees(1, 3, 2))
      w.space:move_many(w:flat { { 1, w:at(1000) }, { 2, w:at(1005) } })
      w:take()
      assert.is_true(w.space:sees(1, 3, 2))
      w.space:move_many(w:flat { { 1, w:at(0) }, { 2, w:at(20) } })
      assert.is_true(w.space:sees(1, 3, 2), "seen before, and at the end inside the leave radius")
    end)

    it("may be large", function()
      local rows = {}
      for id = 1, 300 do rows[id] = { 1000 + id, w:at(id, 1, 5000) } end
      w.space:enter_many(w:flat(rows))
      for id = 1, 300, 10 do w:watch(1000 + id, 1, 2) end
      assert.equal(30 * 4 - 2, #w:take())
      for i, row in ipairs(rows) do row[2] = w:at(-i, 1, 5000) end
      w.space:move_many(w:flat(rows))
      assert.same({}, w:take())
      for i, row in ipairs(rows) do row[2] = w:at(3 * i, 1, 5000) end
      w.space:move_many(w:flat(rows))
      assert.equal(30 * 4 - 2, #w:take())
    end)
  end)
end

-- 80 away the target is between the borders of an area to which no extent applies, and inside one that grows by its 50.
for _, engine in ipairs(aoi.engines()) do
  it("a batch judges areas without extents by where both were without extents, on " .. engine, function()
    for _, delivery in ipairs { "immediate", "deferred" } do
      local space, heard = aoi.new { engine = engine, delivery = delivery }, 0
      space:enter(1, 0, 0)
      space:enter(2, 80, 0)
      space:set_extent(2, 50)
      space:add_node(1, 1, { shape = "circle", radius = 50, keep = 100, extents_apply = false },
        function() heard = heard + 1 end)
      space:move_many { 2, 20, 0, 1, 0, 1 }
      space:flush()
      assert.equal(1, heard)
      assert.is_true(space:check())
    end
  end)
end
