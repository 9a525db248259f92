-- The rule: w - r <= t and t <= w + r on every axis, in doubles, bounds included.
local fixture = require "spec.support.fixture"

local huge = math.huge
local tiny = 2 ^ -1074                         -- the smallest denormal
local big = 2 ^ 50                             -- the largest coordinate

local function after(x) return x * (1 + 2 ^ -52) end    -- the next double for an x in [1, 2), beyond it for others

-- { watcher, radius, target, seen, why }
local cases = {
  { 0, 5, 5, true, "on the high edge" },
  { 0, 5, -5, true, "on the low edge" },
  { 0, 5, after(5), false, "just outside the high edge" },
  { 0, 5, -after(5), false, "just outside the low edge" },
  { -10, 2.5, -12.5, true, "negative coordinates, low edge" },
  { -10, 2.5, -7.5, true, "negative coordinates, high edge" },
  { -10, 2.5, -12.500001, false, "negative coordinates, outside" },
  { 0.1, 0.2, 0.3, true, "0.1 + 0.2 rounds up, beyond 0.3" },
  { 0.1, 0.2, 0.1 + 0.2, true, "the rounded edge itself" },
  { 0.7, 0.1, 0.8, false, "0.7 + 0.1 rounds down, before 0.8" },
  { 0.8, 0.1, 0.7, false, "0.8 - 0.1 rounds up, beyond 0.7" },
  { 0.3, 0.1, 0.2, true, "0.3 - 0.1 rounds down, before 0.2" },
  { 1e15, 1 / 16, 1e15 + 1 / 8, false, "an edge that rounds back onto the watcher" },
  { 1e15 + 1 / 8, 1 / 16, 1e15, true, "an edge that rounds away from the watcher" },
  { 1e15 + 1 / 8, 1 / 16, 1e15 + 1 / 4, true, "the other edge, rounded away" },
  { 3, 0, 3, true, "radius zero, same spot" },
  { 3, 0, after(3), false, "radius zero, next double" },
  { 0.0, 0, -0.0, true, "radius zero, the two zeros" },
  { -0.0, 0, 0.0, true, "radius zero, the two zeros, the other way" },
  { 0, 0, tiny, false, "radius zero, smallest denormal" },
  { 0, tiny, tiny, true, "radius is the smallest denormal" },
  { 0, tiny, -tiny, true, "radius is the smallest denormal, low edge" },
  { tiny, tiny, 3 * tiny, false, "three denormals apart from zero" },
  { 1, tiny, 1, true, "a radius that vanishes in the sum" },
  { 1, tiny, after(1), false, "a radius that vanishes in the sum, next double" },
  { 1e15, 1, 1e15 + 1, true, "1e15, high edge" },
  { 1e15, 1, 1e15 + 1.125, false, "1e15, outside" },
  { -1e15, 0.5, -1e15 - 0.5, true, "-1e15, low edge" },
  { big / 2, big / 2, big, true, "high edge at the largest coordinate" },
  { big, big, 0, true, "a high edge beyond the largest coordinate, low edge at zero" },
  { big, big, -tiny, false, "a high edge beyond the largest coordinate, outside the low edge" },
  { big, big, big, true, "the largest coordinate" },
  { -big, big, 0, true, "a low edge beyond the lowest coordinate" },
  { -big, big, big, false, "the two ends of the line" },
  { 0, huge, big, true, "infinite radius, largest coordinate" },
  { 0, huge, -big, true, "infinite radius, lowest coordinate" },
  { big, huge, -big, true, "infinite radius, the two ends of the line" },
  { 7, huge, 7, true, "infinite radius, same spot" },
}

local function rule(w, r, t) return w - r <= t and t <= w + r end

-- Somewhere the watcher does not look, if there is such a place.
local function elsewhere(w, r)
  for _, t in ipairs { 0, 1000, -1000, 1e14, -1e14, big, -big } do
    if not rule(w, r, t) then return t end
  end
end

-- Each of the ways in which a pair can come about; `axis` carries the case, on the others both are at `rest`.
local ways = {
  ["the target enters"] = function(w, case, axis, rest)
    w:enter(1, w:at(case[1], axis, rest))
    w:watch(1, 7, case[2])
    w:enter(2, w:at(case[3], axis, rest))
  end,
  ["the watcher enters"] = function(w, case, axis, rest)
    w:enter(2, w:at(case[3], axis, rest))
    w:enter(1, w:at(case[1], axis, rest))
    w:watch(1, 7, case[2])
  end,
  ["the target moves"] = function(w, case, axis, rest)
    w:enter(1, w:at(case[1], axis, rest))
    w:watch(1, 7, case[2])
    w:enter(2, w:at(elsewhere(case[1], case[2]) or case[3], axis, rest))
    w:move(2, w:at(case[3], axis, rest))
  end,
  ["the watcher moves"] = function(w, case, axis, rest)
    w:enter(1, w:at(elsewhere(case[3], case[2]) or case[1], axis, rest))
    w:watch(1, 7, case[2])
    w:enter(2, w:at(case[3], axis, rest))
    w:move(1, w:at(case[1], axis, rest))
  end,
  ["the target moves on another axis"] = function(w, case, axis, rest)
    w:enter(1, w:at(case[1], axis, rest))
    w:watch(1, 7, case[2])
    local p = w:at(case[3], axis, rest)
    local other = axis % w.dimensions + 1
    p[other] = elsewhere(rest, case[2]) or rest
    w:enter(2, p)
    w:move(2, w:at(case[3], axis, rest))
  end,
  ["the radius is set"] = function(w, case, axis, rest)
    w:enter(1, w:at(case[1], axis, rest))
    w:enter(2, w:at(case[3], axis, rest))
    w:watch(1, 7, 0)
    w.space:set_radius(1, 7, case[2])
  end,
  ["the radius is set from infinite"] = function(w, case, axis, rest)
    w:enter(1, w:at(case[1], axis, rest))
    w:enter(2, w:at(case[3], axis, rest))
    w:watch(1, 7, huge)
    w.space:set_radius(1, 7, case[2])
  end,
  ["both move in one batch"] = function(w, case, axis, rest)
    w:enter(1, w:at(1, axis, rest))
    w:watch(1, 7, case[2])
    w:enter(2, w:at(-1, axis, rest))
    w.space:move_many(w:flat { { 2, w:at(case[3], axis, rest) }, { 1, w:at(case[1], axis, rest) } })
  end,
}

-- The sum of a pair's events, whatever happened before it came to rest: 1 seen, 0 not seen.
local function balance(events)
  local sum = 0
  for _, e in ipairs(events) do
    assert.is_true(e == "+1/7>2" or e == "-1/7>2", "an event nobody expects: " .. e)
    sum = sum + (e == "+1/7>2" and 1 or -1)
  end
  return sum
end

for setup in fixture.all() do
  describe("visibility on " .. setup.name, function()
    for way, arrange in pairs(ways) do
      it("follows the rule to the last bit when " .. way, function()
        for _, case in ipairs(cases) do
          assert.equal(case[4], rule(case[1], case[2], case[3]), "the table is wrong: " .. case[5])
          for axis = 1, setup.dimensions do
            for _, rest in ipairs { 0, -17.25 } do
              local w = setup.new()
              arrange(w, case, axis, rest)
              local why = ("%s (axis %d, rest %g)"):format(case[5], axis, rest)
              assert.equal(case[4], w.space:sees(1, 7, 2), why)
              assert.equal(case[4] and 1 or 0, balance(w:take()), why)
              w.space:close()
            end
          end
        end
      end)
    end

    it("gets ties right however many stand on the same spot", function()
      local w = setup.new()
      for id = 1, 12 do
        w:enter(id, w:at(3))
        w:watch(id, 1, id % 3)
      end
      assert.equal(12 * 11, #w:take())
      for id = 1, 12 do w:move(id, w:at(4)) end
      -- All end on one spot: a node of radius 0 loses the others and finds them again, one by one.
      assert.is_true(w.space:check())
      local balance_of = {}
      for _, e in ipairs(w:take()) do
        local pair = e:sub(2)
        balance_of[pair] = (balance_of[pair] or 0) + (e:sub(1, 1) == "+" and 1 or -1)
      end
      for pair, sum in pairs(balance_of) do assert.equal(0, sum, pair) end
      for id = 1, 12 do assert.equal(11, select(2, w.space:view(id, 1))) end
    end)

    it("does not lose an edge that rounding moved while the watcher walks", function()
      -- steps of 0.1 past a target: seen exactly while the rule says so
      local w = setup.new()
      for axis = 1, setup.dimensions do
        w:enter(1, w:at(-2, axis))
        w:watch(1, 7, 0.3)
        w:enter(2, w:at(0.7, axis))
        local x, seen = -2, false
        for _ = 1, 60 do
          x = x + 0.1
          w:move(1, w:at(x, axis))
          local sees = rule(x, 0.3, 0.7)
          assert.same(sees == seen and {} or { sees and "+1/7>2" or "-1/7>2" }, w:take())
          seen = sees
        end
        w.space:leave(1)
        w.space:leave(2)
      end
    end)
  end)
end
