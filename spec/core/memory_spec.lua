-- Memory follows the number of entities, not the extent of their positions.
local aoi = require "aoi"
local rng = require "spec.support.rng"

-- Bytes held for 1,000 entities with a node each, spread over a square (a cube) of that size, after they walked a bit.
local function memory(engine, dimensions, size)
  local space = aoi.new { engine = engine, dimensions = dimensions }
  local random = rng.new(7)
  local function coordinate() return (random() - 0.5) * size end
  for id = 1, 1000 do
    if dimensions == 2 then space:enter(id, coordinate(), coordinate())
    else space:enter(id, coordinate(), coordinate(), coordinate()) end
    space:add_node(id, 1, 5 + id % 7)
  end
  for id = 1, 1000 do
    if dimensions == 2 then space:move(id, coordinate(), coordinate())
    else space:move(id, coordinate(), coordinate(), coordinate()) end
  end
  local bytes = space:stats().memory
  assert(space:check() == true)
  space:close()
  return bytes
end

-- People on a small and flat map; one in so many carries an area.
local function town(engine, dimensions, people, every, radius)
  local space, random = aoi.new { engine = engine, dimensions = dimensions }, rng.new(7)
  for id = 1, people do
    if dimensions == 2 then space:enter(id, random() * 400, random() * 400)
    else space:enter(id, random() * 400, random() * 400, random() * 10) end
    if id % every == 0 then space:add_node(id, 1, radius) end
  end
  return space
end

for _, engine in ipairs(aoi.engines()) do
  for _, dimensions in ipairs { 2, 3 } do
    describe(("memory on %s %dD"):format(engine, dimensions), function()
      it("is the same in a world of any size, within a factor of two", function()
        local small = memory(engine, dimensions, 1e3)
        for _, size in ipairs { 1e9, 1e15 } do
          local bytes = memory(engine, dimensions, size)
          local text = ("%d bytes for size %g, %d for size 1000"):format(bytes, size, small)
          assert.is_true(bytes <= 2 * small, text)
        end
      end)

      it("does not explode where one of many has a much smaller area", function()
        local space = town(engine, dimensions, 2000, 1, 10)
        local before = space:stats().memory
        for id = 1, 2000, 100 do space:set_radius(id, 1, 0.5) end
        local after = space:stats().memory
        assert.is_true(after <= 1.5 * before, ("%d bytes, then %d"):format(before, after))
        assert.is_true(space:check())
        space:close()
      end)

      it("pays for small areas in a crowd of large ones no more than for the crowd", function()
        local space = town(engine, dimensions, 5000, 50, 1000)
        local before = space:stats().memory
        for id = 1, 5000, 50 do space:add_node(id, 1, 1) end
        local after = space:stats().memory
        assert.is_true(after <= 1.6 * before, ("%d bytes, then %d"):format(before, after))
        space:close()
      end)

      it("holds no more than 64 bytes for each that has moved in a tick", function()
        local space = aoi.new { engine = engine, dimensions = dimensions, delivery = "deferred" }
        local rows, height = {}, dimensions == 3 and 5 or nil
        for id = 1, 3000 do
          space:enter(id, id, 4, height)
          for _, v in ipairs { id, id + 1, 4, height } do rows[#rows + 1] = v end
        end
        local before = space:stats().memory
        space:move_many(rows)
        local bytes = (space:stats().memory - before) / 3000
        assert.is_true(bytes <= 64, bytes .. " bytes")
        space:close()
      end)

      it("keeps no room for a crowd's events a few ticks after it", function()
        local space, people = aoi.new { engine = engine, dimensions = dimensions, delivery = "deferred" }, 150
        local function tick(apart)
          local rows, events = {}, {}
          for id = 1, people do
            for _, v in ipairs { id, id * apart, 4, dimensions == 3 and 5 or nil } do rows[#rows + 1] = v end
          end
          space:move_many(rows)
          return select(2, space:drain(events))
        end
        for id = 1, people do
          space:enter(id, id * 20, 4, dimensions == 3 and 5 or nil)
          space:add_node(id, 1, 30)
        end
        space:flush()
        for _ = 1, 3 do tick(20) end
        local events = tick(0.1)
        assert.is_true(events > 20000)
        local before = space:stats().memory
        tick(20)
        for k = 1, 6 do tick(20 + k / 100) end
        local after = space:stats().memory
        assert.is_true(before - after >= 40 * events, ("%d bytes, then %d"):format(before, after))
        space:close()
      end)

      it("does not grow with the time a space is used", function()
        local space = aoi.new { engine = engine, dimensions = dimensions }
        local random = rng.new(11)
        local function round()
          for id = 1, 200 do
            local p = { (random() - 0.5) * 2000, (random() - 0.5) * 2000, random() * 10 }
            if space:has(id) and random(3) == 1 then space:leave(id) end
            if not space:has(id) then
              if dimensions == 2 then space:enter(id, p[1], p[2]) else space:enter(id, p[1], p[2], p[3]) end
              space:add_node(id, 1, random(60))
              space:add_node(id, 2, { radius = random(60), keep = 90, shape = "circle" })
            elseif dimensions == 2 then space:move(id, p[1], p[2])
            else space:move(id, p[1], p[2], p[3]) end
          end
        end
        for _ = 1, 30 do round() end
        local before = space:stats().memory
        for _ = 1, 100 do round() end
        local after = space:stats().memory
        assert.is_true(after <= 1.5 * before, ("%d bytes, then %d"):format(before, after))
        space:close()
      end)
    end)
  end
end
