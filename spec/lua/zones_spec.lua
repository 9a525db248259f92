-- Zones: the highest one of each entity, and one call a delivery where it changes; random histories against geometry.
-- AOI_SEED replays, AOI_LENGTH makes them longer.
local aoi = require "aoi"
local zones = require "aoi.zones"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local tree = require "spec.support.tree"

local SEED, STEPS = random_run.seed("zones"), random_run.steps(600)
local IDS, MAP = 12, 24

local function each_space(f)
  for _, engine in ipairs(tree.engines) do
    for _, delivery in ipairs { "immediate", "deferred" } do f(engine, delivery) end
  end
end

-- A history expects: zones by name { x, y, radius, circle, priority, order, kinds }, entities { x, y, kind, life }.
local function holds(zone, entity)
  local dx, dy = entity.x - zone.x, entity.y - zone.y
  if entity.kind == 0 or zone.kinds and zone.kinds % (2 * entity.kind) < entity.kind then return false end
  if zone.circle then return dx * dx + dy * dy <= zone.radius * zone.radius end
  return math.abs(dx) <= zone.radius and math.abs(dy) <= zone.radius
end

local function names(model, entity)
  local list = {}
  for name, zone in pairs(entity and model or {}) do
    if holds(zone, entity) then list[#list + 1] = name end
  end
  table.sort(list, function(a, b)
    local one, other = model[a], model[b]
    if one.priority ~= other.priority then return one.priority > other.priority end
    return one.order < other.order
  end)
  return list
end

local function text(id, to, from) return ("%d: %s from %s"):format(id, to or "none", from or "none") end

each_space(function(engine, delivery)
  it(("zones on %s, %s, agree with geometry"):format(engine, delivery), function()
    local random = rng.new(SEED + rng.hash(engine .. delivery))
    local space, heard = aoi.new { engine = engine, delivery = delivery }, {}
    local set = zones.new(space, { change = function(id, to, from)
      heard[#heard + 1] = text(id, to, from)
    end })
    local model, entities, told, lives, orders, total = {}, {}, {}, {}, 0, 0

    local function add(name)
      local zone = { x = random(MAP), y = random(MAP), radius = random(8) - 1, circle = random(2) == 1 }
      zone.priority, zone.kinds = random(3), random(4) == 1 and random(2) or nil
      orders = orders + 1
      zone.order, model[name] = orders, zone
      set:add(name, { shape = zone.circle and "circle" or nil, radius = zone.radius }, zone.x, zone.y,
        { priority = zone.priority, kinds = zone.kinds })
    end
    local function change()
      local id, name, what = random(IDS), "zone " .. random(6), random()
      local entity, zone = entities[id], model[name]
      if what < 0.15 then
        if not zone then
          add(name)
        elseif what < 0.05 then
          model[name] = nil
          set:remove(name)
        else
          zone.priority = random(3)
          set:set_priority(name, zone.priority)
        end
      elseif not entity then
        lives[id] = (lives[id] or 0) + 1
        entities[id] = { x = random(MAP), y = random(MAP), kind = random(3) - 1, life = lives[id] }
        space:enter(id, entities[id].x, entities[id].y, entities[id].kind)
      elseif what < 0.25 then
        entities[id] = nil
        space:leave(id)
      elseif what < 0.3 then
        entity.kind = random(3) - 1
        space:set_kind(id, entity.kind)
      else
        entity.x, entity.y = random(MAP), random(MAP)
        space:move(id, entity.x, entity.y)
      end
    end
    local function compare_questions()
      for id = 1, IDS do
        local list = names(model, entities[id])
        assert.same(list, (set:all(id)))
        assert.equal(list[1], set:at(id))
      end
    end

    for step = 1, STEPS do
      for _ = 1, delivery == "deferred" and random(5) or 1 do change() end
      compare_questions()
      space:flush()
      local expected = {}
      for id = 1, IDS do
        local entity, before = entities[id], told[id] or {}
        local now = { name = names(model, entity)[1], life = entity and entity.life }
        if before.life ~= now.life then
          if before.name then expected[#expected + 1] = text(id, nil, before.name) end
          if now.name then expected[#expected + 1] = text(id, now.name) end
        elseif before.name ~= now.name then
          expected[#expected + 1] = text(id, now.name, before.name)
        end
        told[id] = now
      end
      table.sort(heard)
      table.sort(expected)
      assert.same(expected, heard, "step " .. step)
      total, heard = total + #heard, {}
    end
    assert.is_true(STEPS < 300 or total > 0)
    set:close()
    for id in pairs(entities) do space:leave(id) end
    space:flush()
    assert.same({ 0, 0 }, { #space, space:stats().pending })
    assert.is_true(space:check())
  end)
end)

describe("zones", function()
  local space, set, heard
  local function take()
    local list = table.concat(heard, ", ")
    heard = {}
    return list
  end
  local function start(options)
    space, heard = aoi.new(options), {}
    set = zones.new(space, { change = function(id, to, from) heard[#heard + 1] = text(id, to, from) end })
  end
  before_each(function() start() end)

  it("that touch are left for each other in one call, and parts of one name flicker nowhere", function()
    set:add("a", { shape = "box", extents = { 5, 5 } }, 5, 5)
    set:add("b", { shape = "box", extents = { 5, 5 } }, 15, 5)
    space:enter(1, 1, 1)
    space:move(1, 12, 1)
    space:move(1, 10, 1) -- on the border: the first added
    space:move(1, 30, 1)
    assert.equal("1: a from none, 1: b from a, 1: a from b, 1: none from a", take())
  end)

  it("are attached to a ship, and go with it", function()
    space:enter(9, 0, 0, 0)
    local deck = set:add("deck", 2, 0, 0)
    space:attach(deck.id, 9, 10, 0)
    space:enter(1, 60, 0)
    space:move(9, 50, 0)
    space:move(9, 80, 0)
    assert.equal("1: deck from none, 1: none from deck", take())
  end)

  it("take heights, the complement, and any name", function()
    start { dimensions = 3 }
    set:add(7, { shape = "cylinder", radius = 5, half_height = 1, outside = true }, 0, 0, 3, { priority = 2 })
    space:enter(1, 0, 0, 3)
    space:move(1, 0, 0, 5)
    assert.equal("1: 7 from none", take())
    assert.equal(7, set:at(1))
  end)

  it("are right in a handler, which may change anything", function()
    local nested = 0
    start { delivery = "deferred" }
    set:add("a", 5, 0, 0)
    set:add("b", 5, 100, 0)
    set:add("c", 5, 200, 0)
    local record = set.handlers.change
    function set.handlers.change(id, to, from)
      assert.equal(to, set:at(id))
      record(id, to, from)
      nested = nested + 1
      if to == "b" then space:move(id, 200, 0) end
      if nested == 2 then error("planned", 0) end
    end
    space:enter(1, 0, 0)
    space:enter(2, 0, 0)
    assert.same({ false, "planned" }, { pcall(space.flush, space) })
    space:move(1, 100, 0)
    space:flush()
    space:flush()
    assert.equal("1: a from none, 2: a from none, 1: b from a, 1: c from b", take())
    set:remove("c")
    set:remove("a")
    assert.is_nil(set:at(1))
    space:flush()
    assert.equal("1: none from c, 2: none from a", take())
    set:add("a", 500, 0, 0)
    set:dispatch(space:drain())
    table.sort(heard)
    assert.equal("1: a from none, 2: a from none", take())
    set:add("d", 500, 0, 0, { priority = -1 })
    space:flush()
    set:set_priority("d", 1)
    set:dispatch(space:drain())
    table.sort(heard)
    assert.equal("1: d from a, 2: d from a", take())
    set:close()
    local _, err = pcall(function() set:add("e", 5, 0, 0) end)
    assert.matches("zones_spec.lua:%d+: attempt to use a closed set of zones", err)
    space:close()
    set:close()
  end)
end)
