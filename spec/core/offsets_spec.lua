-- Areas with an offset: they stand beside their owner, go with it, and are not turned. What they hold and who is told
-- of it is compared in random histories.
local aoi = require "aoi"
local Sync = require "aoi.sync"

local function noted(log, sign)
  return function(_, target) log[#log + 1] = sign .. target end
end

for _, engine in ipairs(aoi.engines()) do
  describe("an area with an offset, on " .. engine .. ",", function()
    local space, log
    before_each(function()
      space, log = aoi.new { engine = engine }, {}
      space:enter(1, 10, 0)
      space:enter(2, 40, 0)
    end)

    local function add(area) space:add_node(1, 1, area, noted(log, "+"), noted(log, "-")) end
    local function heard()
      local text = table.concat(log, " ")
      for i in pairs(log) do log[i] = nil end
      return text
    end

    it("is not turned by its facing", function()
      add { shape = "sector", radius = 10, angle = 1, facing = 0, offset = { 25, 0 } }
      assert.equal("+2", heard())
      space:set_facing(1, 1, math.pi)
      assert.equal("-2", heard())
      space:move(2, 30, 0)
      assert.equal("+2", heard())
      assert.same({ 25, 0 }, space:area(1, 1).offset)
    end)

    it("keeps it when its radius or mask is set, and gives it back", function()
      add { radius = 5, offset = { 25, -1 } }
      space:set_radius(1, 1, 6, 7)
      space:set_mask(1, 1, 3)
      local area = space:area(1, 1)
      assert.same({ shape = "square", radius = 6, keep = 7, mask = 3, offset = { 25, -1 } }, area)
      space:set_area(1, 1, { radius = 30 })
      assert.is_nil(space:area(1, 1).offset)
      space:set_area(1, 1, { radius = 30, offset = { -0.0, 0 } })
      assert.is_nil(space:area(1, 1).offset)
      space:set_area(1, 1, area)
      assert.same(area, space:area(1, 1))
    end)

    it("is explained", function()
      add { shape = "circle", radius = 5, offset = { 25, 0.5 } }
      local e = space:explain(1, 1, 2)
      assert.equal(30, e.dx)
      assert.same({ 25, 0.5 }, e.offset)
      assert.truthy(tostring(e):find(("mask -1, offset %s, 0.5)."):format(25.0), 1, true), tostring(e))
    end)
  end)
end

describe("the offset of a view", function()
  it("is a scope: what is around the place and what is far ahead", function()
    local space = aoi.new { delivery = "deferred" }
    local sync = Sync.new(space)
    local function known()
      local ids = sync:known(1)
      table.sort(ids)
      return ids
    end
    for id, x in ipairs { 0, 5, 60, 100 } do space:enter(id, x, 0) end
    sync:add(1, { 10, { shape = "circle", radius = 10, offset = { 100, 0 } } })
    sync:tick(function() end)
    assert.same({ 2, 4 }, known())
    sync:set_view(1, 2, { shape = "circle", radius = 10, offset = { 60, 0 } })
    sync:tick(function() end)
    assert.same({ 2, 3 }, known())
    space:move(1, 40, 0) -- it goes along
    sync:tick(function() end)
    assert.same({ 4 }, known())
  end)

  it("is of triggers and regions", function()
    local space, log = aoi.new(), {}
    local ahead = { enter = function(_, id) log[#log + 1] = id end }
    local triggers = require("aoi.trigger").new(space, { ahead = ahead }, 0)
    space:enter(1, 0, 0)
    triggers:add(1, "ahead", { radius = 2, offset = { 10, 0 } })
    triggers:region("ahead", { x = 0, y = 0, shape = "circle", radius = 2, offset = { 0, 10 } })
    space:enter(2, 10, 0)
    space:enter(3, 0, 10)
    assert.equal(2, #log)
  end)
end)
