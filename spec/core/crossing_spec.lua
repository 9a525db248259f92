-- Crossings: what goes through an area between two deliveries, by example. The random histories have them, too.
local aoi = require "aoi"

local unpack = table.unpack or unpack -- luacheck: ignore

local function text(w, t, n, at) return ("%d/%d>%d at %.6f"):format(w, n, t, at) end

-- A space whose nodes note what they hear.
local function new(options)
  local it = { heard = {} }
  local function note(sign)
    return function(w, t, n) it.heard[#it.heard + 1] = ("%s%d/%d>%d"):format(sign, w, n, t) end
  end
  it.hears = { enter = note "+", leave = note "-", cross = function(...) it.heard[#it.heard + 1] = text(...) end }
  it.space = aoi.new(options)
  function it.take()
    it.space:flush()
    local heard = it.heard
    it.heard = {}
    return heard
  end
  return it
end

for _, delivery in ipairs { "immediate", "deferred" } do
  describe("crossings in a space with " .. delivery .. " delivery", function()
    local it_is, space, hears

    local function heard(...)
      assert.same({ ... }, it_is.take())
      assert.is_true(space:check())
    end

    before_each(function()
      it_is = new { delivery = delivery }
      space, hears = it_is.space, it_is.hears
      space:enter(1, 0, 0)
      space:enter(2, -10, 0)
    end)

    local function gate(area)
      space:add_node(1, 1, area, hears)
      heard()
    end

    it("of a circle near the end of a long slanting way, among many nodes", function()
      for id = 11, 60 do
        space:enter(id, 1000 + 50 * id, 1000)
        space:add_node(id, 1, 5, hears)
      end
      gate { shape = "circle", radius = 5 }
      space:jump(2, 3, 4.02)
      heard()
      space:move(2, 43, -35.98)
      heard "1/1>2 at 0.002146"
    end)

    it("of a square, a box, a circle, with the place where the target comes in", function()
      gate(2)
      space:add_node(1, 2, { shape = "box", extents = { 1, 0 } }, hears)
      space:add_node(1, 3, { shape = "circle", radius = 5 }, hears)
      heard()
      space:move(2, 10, 0)
      heard("1/3>2 at 0.250000", "1/1>2 at 0.400000", "1/2>2 at 0.450000")
      space:move(2, 10, 5)
      space:flush()
      space:move(2, -10, 5) -- touches the circle
      heard("1/3>2 at 0.500000")
    end)

    it("of a sector and a polygon, of which the way may pass by", function()
      gate { shape = "sector", radius = 8, facing = 0, angle = math.pi / 2 }
      space:add_node(1, 2, { shape = "polygon", points = { -4, -4, 4, -4, 4, 4, 0, 4, 0, 0, -4, 0 } }, hears)
      heard()
      space:move(2, 3, 20)
      heard()
      space:move(2, 3, -20)
      heard("1/2>2 at 0.400000", "1/1>2 at 0.425000")
      space:move(2, -2, -20)
      heard()
      space:move(2, -2, 20)
      heard("1/2>2 at 0.400000")
    end)

    it("of a sector by its apex alone, and of a side that lies along the way", function()
      gate { shape = "sector", radius = 5, facing = 2, angle = 1e-9 }
      space:add_node(1, 2, { shape = "polygon", points = { 2, 0, 6, 0, 6, 4, 2, 4 } }, hears)
      space:add_node(1, 3, { shape = "polygon", points = { 6, 0, 2, 0, 2, -4 } }, hears)
      heard()
      space:move(2, 10, 0)
      heard("1/1>2 at 0.500000", "1/2>2 at 0.600000")
    end)

    it("where the watcher moves, or both", function()
      gate(2)
      space:move(1, -20, 0)
      heard("1/1>2 at 0.400000")
      space:move_many { 1, 0, 0, 2, -30, 0 }
      heard("1/1>2 at 0.200000")
      space:move_many { 1, 100, 0, 2, 70, 0 } -- side by side
      heard()
    end)

    it("are told with the enters, in the order of the way, and not beside an enter or a leave", function()
      for x = 1, 40 do -- more than are looked through one by one
        space:enter(100 + x, 10 * x, 0)
        space:add_node(100 + x, 1, 1, hears)
      end
      heard()
      space:move(2, 35, 0)
      heard("101/1>2 at 0.422222", "102/1>2 at 0.644444", "103/1>2 at 0.866667")
      space:move(2, 40, 0)
      heard("+104/1>2")
      space:move(2, 20, 0)
      heard("-104/1>2", "+102/1>2", "103/1>2 at 0.450000")
      space:move(101, 10, 30)
      space:move(101, 10, -30)
      heard(unpack(delivery == "immediate" and { "+101/1>2", "-101/1>2" } or {}, 1, 0))
    end)

    it("of no area that a margin still holds, and of the inner border", function()
      gate { shape = "circle", radius = 2, margin = 3 }
      space:move(2, 10, 0)
      heard("1/1>2 at 0.400000")
      space:move(2, 10, 3)
      space:flush()
      space:move(2, -10, 3)
      heard()
      space:move(2, 0, 0)
      heard("+1/1>2")
      space:move(2, 4, 0)
      heard()
      space:move(2, -20, 0)
      heard("-1/1>2")
    end)

    it("count the extent of the target, unless it does not apply", function()
      space:set_extent(2, 3)
      gate(2)
      space:add_node(1, 2, { radius = 2, extents_apply = false }, hears)
      heard()
      space:move(2, 10, 0)
      heard("1/1>2 at 0.250000", "1/2>2 at 0.400000")
      space:set_extent(2, -3)
      space:move(2, -10, 0)
      heard("1/2>2 at 0.400000")
    end)

    it("are none of a jump, with its passengers, until the next delivery", function()
      gate(2)
      space:enter(3, 0, 5)
      space:attach(3, 2, 0, 1)
      heard()
      space:jump(2, 10, 0)
      heard()
      space:move(2, -10, 0)
      heard("1/1>2 at 0.400000", "1/1>3 at 0.400000")
      space:jump(1, -20, 0)
      space:move(2, -40, 0)
      heard(unpack(delivery == "immediate" and { "1/1>2 at 0.266667", "1/1>3 at 0.266667" } or {}))
      assert.same({ -20, 0 }, { space:position(1) })
    end)

    it("are none of what kind, mask, layers or an exception hide", function()
      gate { radius = 2, mask = 1 }
      local function back_and_forth(...)
        space:move(2, -(space:position(2)), 0)
        heard(...)
      end
      back_and_forth "1/1>2 at 0.400000"
      space:override(1, 1, 2, "hide")
      back_and_forth()
      space:override(1, 1, 2, nil)
      space:set_kind(2, 2)
      back_and_forth()
      space:override(1, 1, 2, "match")
      back_and_forth "1/1>2 at 0.400000"
      space:set_layers(2, 2)
      back_and_forth()
      space:set_layers(1, 6)
      back_and_forth "1/1>2 at 0.400000"
    end)

    it("are dropped with a node or target that goes before they are told", function()
      space:on_error(error)
      hears.cross = function(w, t)
        it_is.heard[#it_is.heard + 1] = w .. ">" .. t
        if w == 1 then
          space:leave(3)
          space:remove_node(4, 1)
          space:flush()
        end
      end
      gate(2)
      for id, x in pairs { [3] = 3, [4] = 6, [5] = 9 } do
        space:enter(id, x, 0)
        space:add_node(id, 1, 0, hears)
      end
      heard()
      space:move(2, 10, 0)
      heard("1>2", "5>2")
      space:move(2, 10, 1)
      space:leave(2)
      heard()
    end)

    it("by what a handler moves are told by the same call", function()
      gate(2)
      function hears.enter() space:move(3, 10, 0) end
      space:enter(3, -10, 1)
      heard()
      space:move(2, 1, 0)
      heard("1/1>3 at 0.400000")
    end)

    it("are drained with their place", function()
      if delivery == "immediate" then return end
      gate(2)
      space:move(2, 10, 0)
      local buf, n, reasons = aoi.drain_reasons(space)
      assert.same({ aoi.CROSS, 1, 2, 1 }, buf)
      assert.same({ 1, 0.4 }, { n, reasons[1] })
    end)

    it("go with a table of handlers that has, or inherits, `cross`; others hear nothing of it", function()
      space:add_node(1, 1, 2, setmetatable({}, { __index = hears }))
      space:add_node(1, 2, 2, { enter = hears.enter, on = true })
      space:add_node(1, 3, 2, hears.enter, hears.leave)
      heard()
      space:move(2, 10, 0)
      heard("1/1>2 at 0.400000")
      for words, handlers in pairs {
        ["handler 'cross': function expected, got number"] = { cross = 1 },
        ["unknown handler 'on_cross': 'enter', 'leave' or 'cross' expected"] = { on_cross = print },
      } do
        assert.error_matches(function() space:add_node(1, 4, 2, handlers) end, words, 1, true)
      end
      assert.error_matches(function() space:add_node(1, 4, { radius = 2, outside = true }, hears) end,
        "#4 to 'add_node' (handler 'cross': not for an area that is 'outside')", 1, true)
      local sight = require("aoi.sight").new(space)
      assert.error_matches(function() sight:add(1, 4, 2, hears) end, "'cross': nodes of a sight have none", 1, true)
      assert.error_matches(function() space:jump(9, 0, 0) end, "#1 to 'jump' %(no entity 9")
      assert.error_matches(function() space:jump(1, 0) end, "#3 to 'jump' %(number expected")
    end)
  end)
end

describe("crossings of a tick", function()
  local it_is, space

  before_each(function()
    it_is = new { delivery = "deferred" }
    space = it_is.space
    space:enter(1, 0, 0)
    space:enter(2, -10, 0)
    space:add_node(1, 1, 2, it_is.hears)
    space:flush()
  end)

  it("are those of the way from the last delivery, whatever has been asked meanwhile", function()
    space:move(2, -10, 50)
    space:near(0, 0, 1)
    space:move(2, 10, 50)
    space:view(1, 1)
    space:move(2, 10, 0)
    assert.equal(1, space:stats().pending)
    assert.same({ "1/1>2 at 0.400000" }, it_is.take())
    assert.equal(0, space:stats().pending)
  end)

  it("are none of who has entered, and of nodes that were added, since the last delivery", function()
    space:enter(3, -10, 1)
    space:add_node(1, 2, 2, it_is.hears)
    space:move(3, 10, 1)
    space:move(2, 10, 0)
    assert.same({ "1/1>2 at 0.400000" }, it_is.take())
    space:move_many { 2, -10, 0, 3, -10, 1 }
    assert.same({ "1/1>2 at 0.400000", "1/1>3 at 0.400000", "1/2>2 at 0.400000", "1/2>3 at 0.400000" }, it_is.take())
  end)

  it("are told of a node that a handler has added, from the next delivery on", function()
    local function enter() space:add_node(1, 2, 2, it_is.hears) end
    space:add_node(1, 3, { radius = 1, mask = 2 }, { enter = enter })
    space:enter(3, 0, 0, 2)
    assert.same({ "+1/1>3", "+1/2>3" }, it_is.take())
    space:move(2, 10, 0)
    assert.same({ "1/1>2 at 0.400000", "1/2>2 at 0.400000" }, it_is.take())
  end)

  it("are saved half way, and told as they wait", function()
    space:enter(3, 10, 0)
    space:add_node(3, 1, 2, it_is.hears)
    space:move(2, 10, 3)
    space:near(0, 0, 1)
    local function handlers() return it_is.hears end
    local loaded = aoi.load(space:save(), handlers)
    assert.equal(space:save(), loaded:save())
    it_is.space = loaded
    loaded:move(2, 10, 0)
    assert.same({ "+3/1>2", "1/1>2 at 0.400000" }, it_is.take())
    loaded:move(2, -10, 0)
    local failing = loaded:on_error(nil)
    assert.is_nil(failing)
    local enter = it_is.hears.leave
    it_is.hears.leave = error
    assert.is_false(pcall(loaded.flush, loaded))
    it_is.hears.leave = enter
    it_is.space = aoi.load(loaded:save(), handlers)
    assert.equal(1, it_is.space:stats().pending)
    assert.same({ "1/1>2 at 0.400000" }, it_is.take())
  end)

  it("are played from a journal", function()
    local journal = require "aoi.journal"
    local bytes = {}
    local record = journal.record(space, function(piece) bytes[#bytes + 1] = piece end)
    space:move(2, 10, 0)
    space:flush()
    space:jump(2, -10, 0)
    space:flush()
    space:move(2, 10, 0)
    space:flush()
    record:stop()
    local first = it_is.take()
    assert.same({ "1/1>2 at 0.400000", "1/1>2 at 0.400000" }, first)
    local player = journal.open(table.concat(bytes), { handlers = function() return it_is.hears end })
    repeat until not player:step()
    assert.same(first, it_is.heard)
  end)
end)
