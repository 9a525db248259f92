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

  it("take the area of handlers, or a whole one of their own", function()
    local space, triggers = new { shape = "box", extents = { 1, 1 }, margin = 2 }
    space:enter(1, 0, 0)
    local t = triggers:add(1, "t", { margin = 3 })
    assert.equal(3, space:area(1, t.node).margin)
    t:remove()
    t = triggers:add(1, "t", { shape = "circle", radius = 3 })
    assert.same({ shape = "circle", radius = 3, mask = -1, label = "t" }, space:area(1, t.node))
  end)

  it("keep mask and layers that an area had, while they are disabled, too", function()
    local space, triggers = new()
    space:enter(1, 0, 0)
    local t = triggers:add(1, "t", { radius = 9, layers = 2 })
    t:disable()
    t:set_area { radius = 5, layers = 4, mask = 6 }
    t:set_area(7)
    t:enable()
    local area = space:area(1, t.node)
    assert.same({ 7, 4, 6, 4 }, { area.radius, area.layers, area.mask, triggers:save().triggers[1].layers })
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
end)

describe("Trigger:explain", function()
  local function told(t, target) return t:explain(target).state end

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

describe("triggers that are crossed", function()
  local function crossed(options, delivery)
    local heard, space = {}, aoi.new { delivery = delivery }
    local own = { radius = 2, enter = function(_, target) heard[#heard + 1] = "+" .. target end }
    function own.cross(id, target, t, at)
      heard[#heard + 1] = ("%d>%d %s %g"):format(id, target, t.name, at)
    end
    for name, value in pairs(options or {}) do own[name] = value end
    local triggers = trigger.new(space, { gate = own })
    space:enter(1, 0, 0)
    space:enter(2, -10, 0)
    space:flush()
    return space, triggers, heard, own
  end

  it("hear of it, those of entities and regions, plain ones and others", function()
    for _, options in ipairs { {}, { linger = 5, limit = 1 } } do
      local space, triggers, heard = crossed(options)
      triggers:add(1, "gate")
      local region = triggers:region("gate", { x = 5, y = 0 })
      space:move(2, 10, 0)
      assert.same({ "1>2 gate 0.4", region.id .. ">2 gate 0.65" }, heard)
      local data = triggers:save()
      local loaded = trigger.new(aoi.load(space:save()), triggers.handlers, 0)
      loaded:load(data)
      loaded.space:move(2, -10, 0)
      assert.equal(4, #heard)
    end
  end)

  it("do not while they are disabled or spent, for whom the filter refuses, and for whom lingers", function()
    local space, triggers, heard = crossed { linger = 5, filter = function(_, target) return target ~= 3 end }
    local t = triggers:add(1, "gate")
    space:enter(3, -10, 0)
    space:move_many { 2, 10, 0, 3, 10, 0 }
    assert.same({ "1>2 gate 0.4" }, heard)
    t:disable()
    space:move(2, -10, 0)
    t:enable()
    assert.equal(1, #heard)
    space:move(2, 0, 0)
    space:move(2, 10, 0)
    space:move(2, -10, 0) -- it is still inside
    assert.same({ "1>2 gate 0.4", "+2" }, heard)
    triggers:update(10)
    space:move(2, 10, 0)
    assert.equal(3, #heard)
  end)

  it("hear of it behind what still waits, and by dispatch with its place", function()
    local space, triggers, heard, own = crossed({}, "deferred")
    triggers:region("gate", { x = 0, y = 0 })
    space:flush()
    for _ = 1, #heard do table.remove(heard) end
    space:move(2, 10, 0)
    triggers:dispatch(aoi.drain_reasons(space))
    assert.equal("gate 0.4", (heard[1]:gsub("^.*>2 ", "")))
    local cross = own.cross
    function own.enter() error("once", 0) end
    space:enter(3, 1, 1)
    space:move(2, -10, 0)
    assert.is_false(pcall(space.flush, space))
    own.cross = cross
    space:flush()
    assert.equal(2, #heard)
    assert.error_matches(function() triggers:dispatch({}, 0, 1) end, "#3 to 'dispatch' %(table expected")
  end)

  it("are neither `outside` nor past walls", function()
    local space, triggers = crossed()
    for option, value in pairs { outside = true, sight = require("aoi.sight").new(space) } do
      assert.error_matches(function() triggers:add(1, "gate", { [option] = value }) end,
        ("bad option '%s' of trigger 'gate' (not beside the handler 'cross')"):format(option), 1, true)
    end
  end)
end)
