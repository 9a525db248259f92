-- Entering where a crowd stands already costs what entering costs: counted in steps of the engine and in pairs that are
-- judged, never in time.
local aoi = require "aoi"

-- Steps and judged pairs for n that enter on one spot beside watchers; enter(space, n) makes them enter.
local function cost(engine, dimensions, n, watchers, enter)
  local space = aoi.new { engine = engine, dimensions = dimensions }
  local function put(id, x)
    if dimensions == 2 then space:enter(id, x, 0) else space:enter(id, x, 0, 0) end
  end
  for id = 1, watchers do
    put(-id, 1000 * (id - 1)) -- the first stands beside the spot
    space:add_node(-id, 1, 50)
  end
  local before = space:stats()
  enter(space, n, put)
  local after = space:stats()
  local seen = #space:view(-1, 1)
  assert(space:check() == true)
  space:close()
  return after.steps - before.steps + after.candidates - before.candidates, seen
end

local function one_by_one(_, n, put)
  for id = 1, n do put(id, 1) end
end

local function at_once(dimensions)
  return function(space, n)
    local rows, width = {}, dimensions + 1
    for id = 1, n do
      rows[(id - 1) * width + 1], rows[(id - 1) * width + 2] = id, 1
      for a = 3, width do rows[(id - 1) * width + a] = 0 end
    end
    space:enter_many(rows)
  end
end

for _, engine in ipairs(aoi.engines()) do
  for dimensions = 2, 3 do
    describe(("a crowd that enters on one spot on %s %dD"):format(engine, dimensions), function()
      local function expect_linear(watchers, enter)
        local few, seen = cost(engine, dimensions, 500, watchers, enter)
        assert.equal(500, seen)
        local many
        many, seen = cost(engine, dimensions, 4000, watchers, enter)
        assert.equal(4000, seen)
        assert.is_true(many <= 12 * few, ("%d steps for 500, %d for eight times as many"):format(few, many))
      end

      it("costs what its number is, one by one", function() expect_linear(1, one_by_one) end)
      it("costs what its number is, at once", function() expect_linear(1, at_once(dimensions)) end)
      it("costs what its number is, at once, where many watch", function() expect_linear(300, at_once(dimensions)) end)
    end)
  end
end
