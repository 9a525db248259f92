-- move_many and enter_many: one batch is one change.
local aoi = require "aoi"
local fixture = require "spec.support.fixture"
local rng = require "spec.support.rng"

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
                     "5 two: integer expected, got string 'two'" }
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

-- The order of events shows what a grid remembers. A journal does not repeat refused calls, but has their order.
for setup in fixture.all { modes = { "immediate", "flush" } } do
  it("a batch that is refused for an id that stands in it twice leaves no trace, on " .. setup.name, function()
    local random = rng.new(7)
    local plain, tried = setup.new(), setup.new()
    local function both(f) for _, w in ipairs { plain, tried } do f(w) end end
    for id = 1, 12 do
      local x, r = random(40), 4 + random(20)
      both(function(w)
        w:enter(id, w:at(x))
        w:watch(id, 1, r)
      end)
    end
    for _ = 1, 60 do
      local rows = {}
      for k = 1, 7 do rows[k] = { 100 + k % 6, tried:at(random(60)) } end
      assert.error_matches(function() tried.space:enter_many(tried:flat(rows)) end, "row 7: entity 101 is already")
      local id, x = random(12), random(40)
      both(function(w)
        w:move(id, w:at(x))
        w:deliver()
      end)
    end
    assert.is_true(#plain.heard > 100)
    assert.same(plain.heard, tried.heard)
    both(function(w) assert.is_true(w.space:check()) end)
  end)
end

-- 51 away the target is between the borders of an area to which no extent applies, and inside one that grows by its 50.
for _, engine in ipairs(aoi.engines()) do
  it("a batch judges areas without extents by where both were without extents, on " .. engine, function()
    for _, delivery in ipairs { "immediate", "deferred" } do
      local space, heard = aoi.new { engine = engine, delivery = delivery }, 0
      space:enter(1, 0, 0)
      space:enter(2, 51, 0)
      space:set_extent(2, 50)
      space:add_node(1, 1, { shape = "circle", radius = 50, keep = 100, extents_apply = false },
        function() heard = heard + 1 end)
      local rows = { 2, 49, 0, 1, 0, 1 }
      for id = 3, 40 do -- so many that the batch is judged as a whole
        space:enter(id, 1000 + id, 0)
        for _, v in ipairs { id, 1000 + id, 1 } do rows[#rows + 1] = v end
      end
      space:move_many(rows)
      space:flush()
      assert.equal(1, heard)
      assert.is_true(space:check())
    end
  end)
end
