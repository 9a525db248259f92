-- Handlers that call each other for ever: an error names the pair, and the queue stays whole.
local aoi = require "aoi"

describe("handlers that move a target in and out for ever", function()
  local space, calls

  local function push_out(_, target)
    calls = calls + 1
    space:move(target, 100, 0)
  end
  local function pull_in(_, target)
    calls = calls + 1
    space:move(target, 1, 0)
  end

  for _, delivery in ipairs { "immediate", "deferred" } do
    describe(delivery, function()
      local function deliver(f)
        f()
        space:flush()
      end
      before_each(function()
        calls = 0
        space = aoi.new { delivery = delivery }
        space:enter(1, 0, 0)
        space:enter(2, 50, 0)
      end)
      after_each(function() space:close() end)

      local function refused(f, label)
        local ok, why = pcall(deliver, f)
        assert.is_false(ok)
        assert.equal(("100000 events of node 7%s of entity 1 about entity 2 in one call: "
          .. "handlers move it in and out for ever"):format(label or ""), why)
      end

      it("are named with the label of the node", function()
        space:add_node(1, 7, { radius = 5, label = "pad" }, push_out, pull_in)
        refused(function() space:move(2, 1, 0) end, " 'pad'")
      end)

      it("are stopped by an error after 100,000 events of the pair", function()
        space:add_node(1, 7, 5, push_out, pull_in)
        refused(function() space:move(2, 1, 0) end)
        assert.is_true(calls >= 100000 and calls < 110000, calls)
        assert.is_true(space:check())
        local before = calls
        refused(function() space:flush() end) -- what waits is still there
        assert.is_true(calls > before)
        space:set_area(1, 7, { radius = 5, mask = 0 })
      end)

      it("are found among others, and after many", function()
        local far = 0
        space:add_node(1, 7, 5, push_out, pull_in)
        space:enter(3, 1000, 0)
        space:add_node(3, 7, 2000, function() far = far + 1 end)
        local rows = {}
        for id = 10, 20009 do
          local n = #rows
          rows[n + 1], rows[n + 2], rows[n + 3] = id, 500 + id % 1000, id % 700
        end
        local told = 0
        space:on_error(function() told = told + 1 end) -- of handlers; none of them has failed
        refused(function()
          space:move(2, 1, 0)
          space:enter_many(rows)
          space:move(2, 2, 0)
        end)
        assert.equal(0, told)
        assert.is_true(far >= (delivery == "deferred" and 20000 or 1))
        assert.is_true(space:check())
      end)

      it("are found where an entity dies and is born again", function()
        space:add_node(1, 7, 5, function(_, target) space:leave(target) end,
          function(_, target) space:enter(target, 1, 0) end)
        refused(function() space:move(2, 1, 0) end)
      end)

      it("are found where targets take turns", function()
        for id = 3, 12 do space:enter(id, 50, 0) end
        space:add_node(1, 8, 5, function(_, target)
          space:move(target, 100, 0)
          space:move(target < 12 and target + 1 or 3, 1, 0)
        end, function() end)
        local ok, why = pcall(deliver, function() space:move(3, 1, 0) end)
        assert.is_false(ok)
        assert.matches("^100000 events of node 8 of entity 1 about entity %d+ in one call", why)
      end)

      it("are let alone where they come to an end", function()
        space:add_node(1, 7, 5, function(_, target)
          calls = calls + 1
          if calls < 40000 then space:move(target, 100, 0) end
        end, function(_, target)
          if calls < 40000 then space:move(target, 1, 0) end
        end)
        deliver(function() space:move(2, 1, 0) end)
        assert.equal(40000, calls)
        local rows = {} -- a long delivery of many pairs
        for id = 10, 20009 do
          local n = #rows
          rows[n + 1], rows[n + 2], rows[n + 3] = id, 3, 0
        end
        calls = 50000
        deliver(function() space:enter_many(rows) end)
        assert.equal(70000, calls)
      end)
    end)
  end
end)
