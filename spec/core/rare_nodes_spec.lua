local aoi = require "aoi"

-- Among boxes of as little depth as they have: an engine must take them as what they are, and propose a pair once.
for _, engine in ipairs(aoi.engines()) do
  it("squares of radius 0 hear of a target once, on " .. engine, function()
    for _, from in ipairs { 2.5, 9, 300 } do
      local space, heard = aoi.new { engine = engine }, {}
      local function enter(watcher, target) if target == 99 then heard[#heard + 1] = watcher end end
      for id = 1, 40 do
        space:enter(id, 2, 2)
        local square = id % 4 > 0
        space:add_node(id, 1, square and { radius = 0 } or { shape = "box", extents = { id / 100, 0 } }, enter)
      end
      space:enter(99, from, 2)
      for _ = 1, 3 do
        heard = {}
        space:move(99, 2, 2)
        space:move(99, from, 3)
        assert.equal(40, #heard)
      end
      space:close()
    end
  end)
end
