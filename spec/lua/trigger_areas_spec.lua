-- Triggers of every shape, regions included; which fields they and the tables of handlers refuse; Trigger:explain.
local aoi = require "aoi"
local trigger = require "aoi.trigger"
local tree = require "spec.support.tree"

local pi = math.pi

local function new(options, dimensions)
  local heard = {}
  local function hear(what)
    return function(_, target) heard[#heard + 1] = what .. target end
  end
  local own = { enter = hear "+", leave = hear "-" }
  for name, value in pairs(options or {}) do own[name] = value end
  local space = aoi.new { dimensions = dimensions or 2 }
  local triggers = trigger.new(space, { t = own })
  local function take()
    local list = heard
    heard = {}
    table.sort(list)
    return list
  end
  return space, triggers, take, own
end

describe("triggers", function()
  it("take every shape", function()
    local areas = {
      { { shape = "circle", radius = 5 }, { 3, 4 }, { 3, 5 } },
      { { shape = "circle", radius = 4, margin = 1 }, { 4, 0 }, { 4, 4 } },
      { { shape = "box", extents = { 100, 2 } }, { 99, 2 }, { 0, 3 } },
      { { shape = "sector", radius = 10, facing = pi, angle = pi / 2 }, { -5, 0 }, { 5, 0 } },
      { { shape = "polygon", points = { -4, -4, 4, -4, 0, 4 } }, { 0, 3 }, { 3, 3 } },
    }
    for _, case in ipairs(areas) do
      local area, inside, outside = case[1], case[2], case[3]
      local space, triggers, take = new()
      space:enter(1, 0, 0)
      space:enter(2, 500, 500)
      local on_entity = triggers:add(1, "t", area)
      space:move(2, inside[1], inside[2])
      assert.same({ "+2" }, take(), area.shape)
      assert.is_true(on_entity:has(2))
      space:move(2, outside[1], outside[2])
      assert.same({ "-2" }, take(), area.shape)
      assert.is_true(on_entity:alive())
      on_entity:remove()

      local place = { x = 100, y = 100 }
      for name, value in pairs(area) do place[name] = value end
      local region = triggers:region("t", place)
      space:move(2, 100 + inside[1], 100 + inside[2])
      assert.same({ "+2" }, take(), area.shape)
      space:move(2, 100 + outside[1], 100 + outside[2])
      assert.same({ "-2" }, take(), area.shape)
      triggers:update(1000)
      assert.is_true(region:alive(), "the sweep")
      region:remove()
      assert.is_false(region:alive())
      assert.equal(0, triggers:stats().triggers)
    end
  end)

  it("take heights in 3D", function()
    local space, triggers, take = new(nil, 3)
    space:enter(1, 0, 0, 0)
    space:enter(2, 1, 1, 9)
    triggers:add(1, "t", { shape = "cylinder", radius = 5, half_height = 2 })
    triggers:region("t", { x = 1, y = 1, z = 9, shape = "box", extents = { 1, 1, 0 } })
    assert.same({ "+2" }, take())
    space:move(2, 1, 1, 2)
    assert.same({ "+2", "-2" }, take())
  end)

  it("die with their entity whatever their shape", function()
    local space, triggers = new { shape = "box", extents = { 1, 1 } }
    space:enter(1, 0, 0)
    local t = triggers:add(1, "t")
    assert.equal(t, triggers:get(1, "t"))
    space:leave(1)
    assert.is_false(t:alive())
    assert.is_nil(triggers:get(1, "t"))
    space:enter(1, 0, 0)
    assert.is_true(triggers:add(1, "t"):alive())
  end)

  it("take the area of handlers, or a whole one of their own", function()
    local space, triggers = new { shape = "box", extents = { 1, 1 }, margin = 2 }
    space:enter(1, 0, 0)
    local t = triggers:add(1, "t", { margin = 3 })
    assert.equal(3, space:area(1, t.node).margin)
    t:remove()
    t = triggers:add(1, "t", { shape = "circle", radius = 3 })
    assert.same({ shape = "circle", radius = 3, mask = -1, label = "t" }, space:area(1, t.node))
  end)

  it("change their area and turn", function()
    local space, triggers, take = new { mask = 2 }
    space:enter(1, 0, 0)
    space:enter(2, 5, 0, 2)
    local t = triggers:add(1, "t", { shape = "sector", radius = 9, facing = 0, angle = 1 })
    assert.same({ "+2" }, take())
    t:set_facing(pi)
    assert.same({ "-2" }, take())
    t:set_area { shape = "box", extents = { 5, 1 } }
    assert.same({ "+2" }, take())
    assert.equal(2, space:area(1, t.node).mask)
    t:disable()
    t:set_area { radius = 9, mask = 3 }
    assert.same({ "-2" }, take())
    t:enable()
    assert.same({ "+2" }, take())
    assert.equal(3, space:area(1, t.node).mask)
    assert.has_error(function() t:set_facing(1) end)
    assert.has_error(function() t:set_area { radius = -1 } end)
  end)

  it("change area and mask at once where outside counts", function()
    local space, triggers, take = new { outside = true }
    space:enter(1, 0, 0)
    space:enter(2, 5, 0, 1)
    space:enter(3, 50, 0, 3)
    local t = triggers:add(1, "t", { radius = 9, mask = 1 })
    assert.same({ "+3" }, take())
    t:set_area { radius = 2, mask = 2 } -- 2 is out of the area now, and does not count any more
    assert.same({}, take())
    assert.has_error(function() t:set_area { radius = -1 } end)
    assert.has_error(function() t:set_area { radius = 1, mask = 0.5 } end)
    t:set_area { radius = 60, mask = 1 }
    assert.same({ "-3" }, take())
  end)
end)

describe("layers of triggers", function()
  -- Entities 2 and 3 are on the layers that count, 4 and 5 are not; the even ones are where the trigger looks for them.
  local function start(options)
    local space, triggers, take, own = new(options)
    local x = own.outside and 100 or 1
    space:enter(1, 0, 0)
    for id = 2, 5 do
      space:enter(id, id % 2 == 0 and x or 50, 0)
      space:set_layers(id, id % 4 < 2 and 4 or 2)
    end
    return space, triggers, take, x
  end

  local kinds = { plain = {}, visits = { interval = 1 }, linger = { linger = 1 }, outside = { outside = true } }
  for name, options in pairs(kinds) do
    it("say what counts, " .. name, function()
      options.radius, options.layers = 10, 2
      local space, triggers, take, x = start(options)
      local t = triggers:add(1, "t")
      assert.same(options.outside and { "+2", "+3" } or { "+2" }, take())
      space:move(4, 51 - x, 0)
      space:move(4, x, 0)
      assert.same({}, take())
      space:set_layers(4, 6)
      assert.same({ "+4" }, take())
      space:set_layers(4, 4)
      triggers:advance(9)
      assert.same({ "-4" }, take())
      t:set_area { shape = "circle", radius = 20 } -- the layers stay
      assert.same({}, take())
      t:disable()
      take()
      t:set_area { radius = 10, layers = 4 }
      assert.same({}, take())
      t:enable()
      assert.same(options.outside and { "+4", "+5" } or { "+4" }, take())
      t:set_area { radius = 10, layers = 2 }
      triggers:advance(9)
      assert.same(options.outside and { "+2", "+3", "-4", "-5" } or { "+2", "-4" }, take())
      t:set_mask(1)
      assert.same({}, take())
      assert.has_error(function() t:set_area { radius = 10, layers = 2.5 } end)
      assert.is_true(t:has(2))
    end)

    it("are saved, " .. name, function()
      options.radius, options.layers = 10, 2
      local space, triggers = start(options)
      triggers:add(1, "t")
      local data = triggers:save()
      local copy = aoi.load(space:save())
      local own, n = triggers.handlers.t, 0
      own.enter = function() n = n + 1 end
      own.leave = own.enter
      local loaded = trigger.new(copy, { t = own })
      loaded:load(data)
      assert.equal(0, n)
      assert.equal(2, loaded:save().triggers[1].layers)
      copy:move(4, 50, 0)
      copy:move(4, 200, 0)
      assert.equal(0, n)
      loaded:get(1, "t"):set_area(30)
      assert.equal(0, n)
      data.triggers[1].layers = 2 ^ 80
      assert.has_error(function() trigger.new(copy, { t = own }):load(data) end)
    end)
  end

  it("are of the handlers beside a shape of its own, as the mask is", function()
    local space, triggers = start { radius = 10, layers = 2 }
    local t = triggers:add(1, "t", { shape = "circle", radius = 3 })
    assert.equal(2, space:area(1, t.node).layers)
  end)
end)

describe("areas that triggers refuse", function()
  local function refused(words, options, own)
    local space, triggers, _, handlers = new(own)
    space:enter(1, 0, 0)
    for i, call in ipairs {
      function() triggers:add(1, "t", options) end,
      function()
        local place = { x = 1, y = 1 }
        for name, value in pairs(options or {}) do place[name] = value end
        triggers:region("t", place)
      end,
    } do
      local ok, err = pcall(call)
      assert.is_false(ok, words)
      assert.equal(words, (err:gsub("^[^\n]-:%d+: ", "")))
      assert.matches("^spec/lua/trigger_areas_spec.lua:", (err:gsub("^%./", "")), "the caller's line, " .. i)
    end
    assert.equal(1, space:count())
    assert.same({}, { (space:nodes(1)[1]) })
    assert.equal(0, triggers:stats().triggers)
    return handlers
  end

  it("are told as the space tells them", function()
    refused("bad option 'radius' (required, among the options or the handlers)", {})
    refused("bad options (a box has no 'radius')", { shape = "box", radius = 5 })
    refused("bad options (table expected for 'extents' of a box, got nil)", { shape = "box" })
    refused("bad options ('extents' must have 2 numbers)", { shape = "box", extents = { 1 } })
    refused("bad options (a square has no 'points')", { radius = 1, points = { 1, 2, 3, 4, 5, 6 } })
    refused("bad options (bad value for 'shape': a cylinder needs 3 dimensions)",
      { shape = "cylinder", radius = 1, half_height = 1 })
    refused("bad options (angle must be greater than 0 and at most 2 pi radians, got 7)",
      { shape = "sector", radius = 1, facing = 0, angle = 7 })
    refused("bad options ('keep' and 'margin' exclude each other)", { radius = 1, keep = 2, margin = 1 })
    refused("bad option 'shape' ('square', 'circle', 'box', 'cylinder', 'sector' or 'polygon' expected, got string)",
      { shape = "cone", radius = 1 })
    refused("bad option 'points' (a table expected, got 5)", { shape = "polygon", points = 5 })
  end)

  it("are refused beside the handlers, too, with the name of those", function()
    refused("bad option 'raduis' in handlers 't' (unknown)", { radius = 1 }, { raduis = 5 })
    refused("bad option '1' in handlers 't' (unknown)", { radius = 1 }, { 5 })
    refused("bad option 'onEnter' in handlers 't' (unknown)", { radius = 1 }, { onEnter = print })
    refused("bad option 'radius' in handlers 't' (a number >= 0 expected, got -5)", nil, { radius = -5 })
    refused("bad option 'layers' (bits expected, got 1.5)", { radius = 1, layers = 1.5 })
    refused("bad option 'limit' in handlers 't' (a whole number >= 1 expected, got 0)", { radius = 1 }, { limit = 0 })
    refused("bad option 'raduis' (unknown)", { raduis = 5 }, { radius = 1 })
    refused("bad option 'enter' (unknown)", { radius = 5, enter = print })
  end)
end)

describe("Trigger:explain", function()
  local function told(t, target) return t:explain(target).state end

  it("tells what the space tells, and the state", function()
    local space, triggers = new { radius = 5 }
    space:enter(1, 0, 0)
    space:enter(2, 3, 4)
    space:enter(3, 9, 0)
    local t = triggers:add(1, "t")
    local e = t:explain(2)
    assert.same({ true, "inside", "inside", 5, "square" }, { e.sees, e.why, e.state, e.distance, e.shape })
    assert.matches("state inside%.$", tostring(e))
    e = t:explain(3)
    assert.same({ false, "outside" }, { e.sees, e.why, e.state })
    t:disable()
    assert.same({ "mask", "disabled" }, { t:explain(2).why, told(t, 2) })
    t:remove()
    assert.same({ "no node" }, { t:explain(2).why, told(t, 2) })
  end)

  it("knows of limits, filters and once", function()
    local space, triggers = new { radius = 5, limit = 1, filter = function(_, target) return target ~= 4 end }
    space:enter(1, 0, 0)
    for id = 2, 4 do space:enter(id, 1, 1) end
    local t = triggers:add(1, "t")
    local states = { told(t, 2), told(t, 3), told(t, 4) }
    table.sort(states)
    assert.same({ "inside", "refused", "waiting" }, states)
    assert.equal("refused", told(t, 4))
    t:remove()

    t = triggers:add(1, "t", { once = true, limit = 9 })
    local inside = told(t, 2) == "inside" and 2 or 3
    assert.equal("inside", told(t, inside))
    assert.equal("spent", told(t, 5 - inside))
    space:enter(9, 50, 0)
    assert.is_nil(told(t, 9))
  end)

  it("knows whose enter was skipped", function()
    for _, engine in ipairs(tree.engines) do
      local space, states, gone = aoi.new { engine = engine }, {}, nil
      local triggers
      triggers = trigger.new(space, { t = {
        radius = 5,
        first = function(_, target)
          gone = target -- its `enter` is skipped, its leave event waits behind the other's enter
          space:leave(target)
        end,
        enter = function() states[#states + 1] = told(triggers:get(1, "t"), gone) end,
      } })
      space:enter(1, 0, 0)
      triggers:add(1, "t")
      space:enter_many { 7, 1, 1, 8, 1, 1 }
      assert.same({ "muted" }, states, engine)
    end
  end)
end)
