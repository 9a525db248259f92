-- What a moving ball touches, by example; random sweeps are compared with the model in every random history, and here
-- with the formula where numbers are large or very small.
local aoi = require "aoi"
local Model = require "spec.support.model"
local bits = require "spec.support.bits"
local fixture = require "spec.support.fixture"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local unpack = table.unpack or unpack

local function sweep(space, from, to, ...)
  local arguments = {}
  for _, p in ipairs { from, to } do
    for axis = 1, #p do arguments[#arguments + 1] = p[axis] end
  end
  local n = #arguments
  for i = 1, select("#", ...) do arguments[n + i] = select(i, ...) end
  return space:sweep(unpack(arguments, 1, n + select("#", ...)))
end

for setup in fixture.immediate() do
  describe("a sweep on " .. setup.name, function()
    local w, space
    before_each(function()
      w = setup.new()
      space = w.space
    end)

    it("touches in order of time, then of id, and only what is ahead", function()
      w:enter(9, w:at(5))
      w:enter(4, w:at(5))
      w:enter(3, w:at(2))
      w:enter(2, w:at(-3))
      w:enter(1, w:at(12))
      local list, n = sweep(space, w:at(0), w:at(10), 1)
      assert.same({ 3, 0.1, 4, 0.4, 9, 0.4 }, list)
      assert.equal(3, n)
    end)

    it("touches at the start with time 0, whatever the direction, and at the very end", function()
      w:enter(1, w:at(-1))
      w:enter(2, w:at(11))
      w:enter(3, w:at(11.5))
      assert.same({ 1, 0, 2, 1 }, (sweep(space, w:at(0), w:at(10), 1)))
    end)

    it("grazes at the radius exactly, on every axis", function()
      for axis = 2, setup.dimensions do
        local p = w:at(5)
        p[axis] = 2
        w:enter(1, p)
        assert.same({ 1, 0.5 }, (sweep(space, w:at(0), w:at(10), 2)))
        assert.same({}, (sweep(space, w:at(0), w:at(10), 1.9999999)))
        space:leave(1)
      end
    end)

    it("that goes nowhere touches what is within the radius", function()
      w:enter(1, w:at(2))
      w:enter(2, w:at(3))
      assert.same({ 1, 0 }, (sweep(space, w:at(0), w:at(0), 2)))
    end)

    it("looks for kinds, 0 included, and fills the table it is given", function()
      w:enter(1, w:at(1), 0)
      w:enter(2, w:at(2), 2)
      local buf = { 7, 7, 7, 7, 7, 7, 7, 7 }
      local list, n = sweep(space, w:at(0), w:at(4), 0, buf)
      assert.equal(buf, list)
      assert.equal(2, n)
      assert.same({ 1, 0.25, 2, 0.5 }, list)
      assert.same({ 2, 0.5 }, (sweep(space, w:at(0), w:at(4), 0, 2, buf)))
      assert.same({}, (sweep(space, w:at(0), w:at(4), 0, 0)))
    end)
  end)
end

describe("random sweeps:", function()
  local seed, steps = random_run.seed("random sweeps"), random_run.steps(4000)
  local scales = { 1, 1, 1, 1e-3, 1e9, 1e13, 1e14, 1e-100, 1e-154, 1e-162, 1e-170, 2 ^ -1074 }

  it("of all magnitudes follow the formula, on every engine", function()
    for _, engine in ipairs(aoi.engines()) do
      for dimensions = 2, 3 do
        local random = rng.new(rng.hash(seed .. dimensions))
        local function number()
          return (random(9) - 5) * random(scales) * random { 1, 1, 1 + 2 ^ -52, 0.1, 1.7 }
        end
        local function place()
          local p = {}
          for axis = 1, dimensions do p[axis] = number() end
          return p
        end
        for _ = 1, math.ceil(steps / 200) do
          local model = Model.new { dimensions = dimensions }
          local space = aoi.new { engine = engine, dimensions = dimensions }
          for id = 1, 12 do
            local p = place()
            model:enter(id, p)
            if dimensions == 2 then space:enter(id, p[1], p[2]) else space:enter(id, p[1], p[2], p[3]) end
          end
          for _ = 1, 20 do
            local from, to, radius, got = place(), place(), math.abs(number()), {}
            if random(3) == 1 then
              to = {}
              for axis = 1, dimensions do to[axis] = from[axis] + number() end
            end
            local good = true
            for axis = 1, dimensions do good = good and math.abs(to[axis]) <= 2 ^ 50 end
            if good then
              local list, n = sweep(space, from, to, radius)
              for i = 1, n do got[i] = ("%s %.17g"):format(bits.id(list[2 * i - 1]), list[2 * i]) end
              assert.same(model:sweep(from, to, radius), got, random_run.again(seed))
            end
          end
          space:close()
        end
      end
    end
  end)
end)
