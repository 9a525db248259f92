-- Observers: random histories on every engine. What an observer tells is applied to a picture, which must be the space;
-- and the parts of the engine's index must hold what they say.
local aoi = require "aoi"
local observed = require "spec.support.observed"
local random_area = require "spec.support.random_area"
local random_run = require "spec.support.random_run"
local sights = require "aoi.sight"
local rng = require "spec.support.rng"

local SEED = random_run.seed("observer")
local STEPS = math.max(200, random_run.steps(400)) -- so that there are events
local READS = string.unpack ~= nil
local HUGE = math.huge
local SCENARIO = {
  coordinate = function(random) return random(2) == 1 and random(200) - 100 or (random() - 0.5) * 5000 end,
  radius = function(random) return random { 0, 1, 10, 10, 25, 300, HUGE } end,
}

-- The area that was told, as Space:area gives it.
local function same_area(space, id, node, told)
  local area, what = space:area(id, node), id .. ":" .. node
  assert.equal(area.shape, told.shape, what)
  assert.equal(area.mask, told.mask, what)
  assert.equal(area.layers, told.layers, what)
  assert.same(area.offset, told.offset, what)
  for _, name in ipairs { "radius", "facing", "angle" } do
    if area[name] then assert.equal(area[name], told[name], what .. name) end
  end
  if told.keep then assert.equal(area.keep or area.radius, told.keep, what) end
  if told.margin then assert.equal(area.margin or 0, told.margin, what) end
  if told.half_height then assert.equal(area.half_height or HUGE, told.half_height, what) end
  if area.facing then assert.near(math.cos(area.facing), told.fx, 1e-12) end
  for i, e in ipairs(area.extents or {}) do assert.equal(e, told["e" .. ("xyz"):sub(i, i)], what) end
  assert.same(area.points, told.points, what)
  assert.same(area.rings, told.rings, what)
  assert.equal(area.label, told.label, what)
  local overrides, n = space:overrides(id, node)
  local count = 0
  for i = 1, 2 * n, 2 do assert.equal(overrides[i + 1], told.overrides[overrides[i]], what) end
  for _ in pairs(told.overrides) do count = count + 1 end
  assert.equal(n, count, what)
end

local function same_space(space, picture, rounded)
  local ids, n = space:ids()
  local count, nodes = 0, 0
  for _ in pairs(picture.entities) do count = count + 1 end
  assert.equal(n, count)
  for _, id in ipairs(ids) do
    local e, at = picture.entities[id], { space:position(id) }
    assert.equal(space:kind(id), e.kind)
    assert.equal(space:layers(id), e.layers or 1)
    assert.equal(space:extent(id), e.extent or 0)
    assert.equal(space:carrier(id), e.carrier)
    for k, v in ipairs(at) do assert.equal(rounded(v), e[k]) end
    for _, node in ipairs((space:nodes(id))) do
      same_area(space, id, node, assert(picture.nodes[id .. ":" .. node]))
      nodes = nodes + 1
    end
  end
  for _ in pairs(picture.nodes) do nodes = nodes - 1 end
  assert.equal(0, nodes, "nodes that are gone")
end

-- But for rounding: a cell's number is a product.
local function touches(part, x, y, rx, ry)
  local e = 1e-9
  return part.x0 - e <= x + rx and x - rx <= part.x1 + e and part.y0 - e <= y + ry and y - ry <= part.y1 + e
end

local function box_of(space, id, node)
  local area = space:area(id, node)
  local r = area.keep or area.radius and area.radius + (area.margin or 0)
  local x, y = space:position(id)
  if area.offset then return x, y, nil, nil end -- the index has a larger box around its owner
  return x, y, area.extents and area.extents[1] + (area.margin or 0) or r,
    area.extents and area.extents[2] + (area.margin or 0) or r
end

-- In a sorted list each entry's coordinate is at least that of the one before; keys are floats.
local function check_list(space, part, axis, list)
  local last, base = -HUGE, axis == 1 and part.x0 or axis == 2 and part.y0 or 0
  if base == -HUGE then base = 0 end
  for _, entry in ipairs(list) do
    local at = { space:position(entry.id) }
    local v = at[axis]
    if entry.kind ~= "entity" then
      local area = space:area(entry.id, entry.node)
      local r = area.radius or area.extents[axis]
      v = entry.kind == "low" and v - r or v + r
    end
    assert.is_true(v - base >= last - math.abs(v - base) * 1e-6 - 1e-300, "a list is out of order")
    last = math.max(last, v - base)
  end
end

-- Every entity stands in one part of those that file entities, and in the rectangle of that part.
local function check_structure(space, picture)
  local filed, seen = { cell = true, leaf = true, all = true }, {}
  for _, part in ipairs(picture.structure) do
    local entities, nodes = 0, 0
    for axis, list in ipairs(part.lists) do
      if part.kind == "tile" then check_list(space, part, axis, list) end
      for _, entry in ipairs(list) do
        if entry.kind == "entity" then
          entities = entities + 1
          local x, y = space:position(entry.id)
          assert.is_true(touches(part, x, y, 0, 0), "an entity stands elsewhere")
          if filed[part.kind] then
            assert.is_nil(seen[entry.id], "an entity stands in two parts")
            seen[entry.id] = true
          end
        else
          nodes = nodes + 1
          local x, y, rx, ry = box_of(space, entry.id, entry.node)
          if rx then assert.is_true(touches(part, x, y, rx, ry), "a node does not reach its part") end
          if entry.kind == "cover" then
            local e = 1e-9
            assert.is_true(x - rx <= part.x0 + e and part.x1 <= x + rx + e)
            assert.is_true(y - ry <= part.y0 + e and part.y1 <= y + ry + e)
          end
        end
      end
    end
    assert.equal(part.entities, entities)
    assert.equal(part.nodes, nodes)
  end
  for _, id in ipairs((space:ids())) do assert.is_true(seen[id], "an entity stands in no part") end
end

local function history(engine, dimensions, delivery, random, options, rounded)
  local cell = random { 3, 40, HUGE, nil } -- sometimes none
  local space = aoi.new { engine = engine, dimensions = dimensions, delivery = delivery, cell = cell }
  local observer, picture = aoi.observe(space, options), observed.new()
  local live, heard, told = {}, {}, {}
  local function place()
    local x, y, z = SCENARIO.coordinate(random), SCENARIO.coordinate(random), SCENARIO.coordinate(random)
    if dimensions == 2 then return x, y end
    return x, y, z
  end
  local on = {
    enter = function(...) heard[#heard + 1] = table.concat({ aoi.ENTER, ... }, " ") end,
    leave = function(...) heard[#heard + 1] = table.concat({ aoi.LEAVE, ... }, " ", 1, 4) end, -- without the reason
  }
  local function node_of(id) return random((space:nodes(id))) end
  local calls = {
    function() -- enter
      local id, at = random(60) - 5, { place() }
      if space:has(id) then return end
      at[#at + 1] = random { 1, 2, 0, -1 }
      space:enter(id, (table.unpack or unpack)(at))
      live[#live + 1] = id
    end,
    function() space:leave(table.remove(live, random(#live))) end,
    function(id) space:set_kind(id, random(4)) end,
    function(id)
      local node = random(4)
      local has = node_of(id)
      if has and random(2) == 1 then space:remove_node(id, has) return end
      for _, other in ipairs((space:nodes(id))) do
        if other == node then return end
      end
      local area = random_area.of_node(random, SCENARIO, dimensions, { 1, 2, 3 })
      if type(area) == "table" then area.layers = random { 1, 3, false } or nil end
      space:add_node(id, node, area, on)
    end,
    function(id)
      if node_of(id) then
        space:set_area(id, node_of(id), random_area.of_node(random, SCENARIO, dimensions, { 1, 3 }))
      end
    end,
    function(id)
      local target = random(live)
      if node_of(id) and target ~= id then
        space:override(id, node_of(id), target, random { "hide", "show", "match", nil })
      end
    end,
    function(id) space:set_layers(id, random { 1, 2, -1 }) end,
    function(id) space:set_extent(id, random { 0, 5, 100 }) end,
    function(id) -- not in a circle
      local carrier = random { random(live), false } or nil
      if carrier then pcall(space.attach, space, id, carrier, 1, 2) else space:attach(id, nil) end
    end,
  }
  for step = 1, STEPS do
    local call, id = random(15), random(live)
    if #live < 3 then calls[1]() elseif calls[call] then calls[call](id) elseif not space:carrier(id) then
      space:move(id, place())
    end
    if random(5) == 1 then space:flush() end
    if random(4) == 1 then
      if random(30) == 1 then observer:restart() end
      observed.apply(picture, observer:changes())
      same_space(space, picture, rounded)
      for _, e in ipairs(picture.events) do told[#told + 1] = ("%d %d %d %d"):format(e[1], e[2], e[3], e[4]) end
      assert.is_nil(observer:changes())
    end
    if step % 20 == 0 then
      space:flush()
      observed.apply(picture, observer:structure(-HUGE, -HUGE, HUGE, HUGE))
      check_structure(space, picture)
    end
  end
  space:flush()
  observed.apply(picture, observer:changes())
  for _, e in ipairs(picture.events) do told[#told + 1] = ("%d %d %d %d"):format(e[1], e[2], e[3], e[4]) end
  assert.same(heard, told)
  assert.is_true(space:check())
  space:close()
  assert.error_matches(function() observer:changes() end, "attempt to use a closed space")
  observer:close()
  return #told
end

describe("an observer", function()
  local function same(v) return v end

  for _, engine in ipairs(aoi.engines()) do
    it("tells the whole space and how it changes: " .. engine, function()
      if not READS then return pending "this Lua has no string.unpack" end
      local random = rng.new(SEED + rng.hash(engine))
      local events = 0
      for dimensions = 2, 3 do
        for _, delivery in ipairs { "immediate", "deferred" } do
          events = events + history(engine, dimensions, delivery, random, { exact = true, events = 100000 }, same)
        end
      end
      events = events + history(engine, 2, "immediate", random, { events = 100000, exact = true, quantum = 0.25 }, same)
      events = events + history(engine, 2, "deferred", random, { events = 100000, quantum = 0.25 },
        function(v) return 0.25 * math.floor(v / 0.25 + 0.5) end)
      events = events + history(engine, 2, "immediate", random, { events = 100000 },
        function(v) return (string.unpack("<f", string.pack("<f", v))) end)
      assert.is_true(events > 0) -- one history alone may have none
    end)
  end

  it("changes nothing that the space answers", function()
    local space = aoi.new()
    local observer = aoi.observe(space, { events = 10 })
    space:enter(1, 0, 0, 0)
    assert.is_string(observer:changes())
    assert.equal(1, #space)
    assert.same({ 1 }, (space:ids()))
    assert.same({}, (space:viewers(1)))
    assert.is_true(space:check())
  end)

  it("tells walls and doors, of each sight, and whose walls a node sees past", function()
    if not READS then return pending "this Lua has no string.unpack" end
    for dimensions = 2, 3 do
      local random = rng.new(SEED + dimensions)
      local space = aoi.new { dimensions = dimensions }
      local observer, picture, list = aoi.observe(space), observed.new(), {}
      local function reopen(i) -- the third shares the walls of the second
        list[i] = sights.new(space, i == 3 and { walls = list[2] } or nil)
        list[i]:add(1, i, 9, nil, { linger = i })
      end
      space:enter(1, 0, 0, dimensions == 3 and 0 or nil)
      for i = 1, 3 do reopen(i) end
      for step = 1, 200 do
        local sight = list[random(2)]
        local ids, n = sight:walls()
        local id = n > 0 and ids[random(n)]
        if not id or random(3) == 1 then
          local heights = dimensions == 3 and { 1, 1 + random(3) } or {}
          sight:wall(random(9), random(9), random(9), random(9), heights[1], heights[2])
        elseif random(3) == 1 then sight:remove_wall(id)
        else sight[random { "open_wall", "shut_wall" }](sight, id)
        end
        if step % 50 == 0 then
          list[1]:close()
          reopen(1)
        end
        observed.apply(picture, observer:changes())
        local count = 0
        for i = 1, 2 do
          local of = picture.nodes["1:" .. i].walls
          for _, wall in ipairs((list[i]:walls())) do
            local told, x1, y1, x2, y2, open, z0, z1 = picture.walls[of .. ":" .. wall], list[i]:get_wall(wall)
            assert.same({ x1, y1, x2, y2, z0, z1, open = open }, told)
            count = count + 1
          end
        end
        for _ in pairs(picture.walls) do count = count - 1 end
        assert.equal(0, count)
        assert.equal(picture.nodes["1:2"].walls, picture.nodes["1:3"].walls)
        assert.equal(3, picture.nodes["1:3"].linger)
      end
      assert.is_nil(observer:changes())
    end
  end)

  it("counts the events beyond its option, and looks at nodes in turn", function()
    if not READS then return pending "this Lua has no string.unpack" end
    local space = aoi.new()
    local observer, picture = aoi.observe(space, { events = 3, share = 4 }), observed.new()
    for id = 1, 8 do space:enter(id, id, 0) end
    observed.apply(picture, observer:changes())
    for id = 1, 8 do space:add_node(id, 1, 100, { enter = function() end }) end
    local nodes = 0
    for call = 1, 4 do
      observed.apply(picture, observer:changes())
      assert.equal(call == 1 and 3 or 0, #picture.events)
      if call == 1 then assert.equal(8 * 7 - 3, picture.events.dropped) end
      local now = 0
      for _ in pairs(picture.nodes) do now = now + 1 end
      assert.equal(nodes + 2, now)
      nodes = now
    end
  end)

  it("tells the parts in a rectangle, the entries around a place, and how many it leaves out", function()
    if not READS then return pending "this Lua has no string.unpack" end
    local space = aoi.new { engine = "grid", cell = 10 }
    for id = 1, 100 do space:enter(id, 10 * id + 5, 5) end
    local observer, picture = aoi.observe(space), observed.new()
    observed.apply(picture, observer:structure(100, 0, 205, 9))
    assert.equal(12, #picture.structure) -- both borders are included
    observed.apply(picture, observer:structure(0, 0, 1e9, 9, 5, 15, 5))
    assert.equal(5, #picture.structure)
    assert.equal(95, picture.structure.left_out)
    for _, part in ipairs(picture.structure) do
      assert.equal(part.x0 == 10, part.wanted)
      assert.equal(part.wanted and 1 or 0, #part.lists[1])
    end
  end)

  it("refuses what it cannot use", function()
    local space = aoi.new()
    local observer = aoi.observe(space)
    local function fails(text, f, ...)
      local ok, err = pcall(f, ...)
      assert.is_false(ok)
      assert.matches(text, err, 1, true)
    end
    fails("bad argument #1 to 'observe' (aoi.space expected, got nil)", aoi.observe, nil)
    fails("unknown option 'event'", aoi.observe, space, { event = 1 })
    fails("bad value for option 'events' (a whole number of 0 or more expected, got -1)", aoi.observe, space,
      { events = -1 })
    fails("bad value for option 'share' (a whole number of 1 or more expected, got 0)", aoi.observe, space,
      { share = 0 })
    fails("bad value for option 'share' (a whole number of 1 or more expected, got 4", aoi.observe, space,
      { share = 2 ^ 32 })
    fails("bad value for option 'exact' (a boolean expected, got 1)", aoi.observe, space, { exact = 1 })
    fails("bad value for option 'quantum' (a positive, finite number expected, got 0)", aoi.observe, space,
      { quantum = 0 })
    fails("got nan", observer.structure, observer, 0 / 0, 0, 1, 1)
    fails("number must not be negative", observer.structure, observer, 0, 0, 1, 1, -1)
    fails("aoi.Observer expected", observer.changes, space)
    observer:close()
    observer:close()
    fails("attempt to use a closed observer", observer.changes, observer)
    space:close()
    fails("attempt to use a closed space", aoi.observe, space)
  end)

  it("and its space may be garbage, in any order", function()
    for _ = 1, 20 do
      local space = aoi.new()
      space:enter(1, 0, 0)
      local observer = aoi.observe(space)
      observer:changes()
      space = nil -- luacheck: ignore
      collectgarbage()
      assert.is_nil(observer:changes())
      observer = nil -- luacheck: ignore
      collectgarbage()
    end
  end)
end)
