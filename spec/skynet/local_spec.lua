-- A map in the caller's own service and one of the AOI service do what a plain space does: the same tests run on all.
if not string.pack then return pending "a map of either place: needs string.pack of Lua 5.3" end

local CMD = require("aoi.skynet.requests").CMD
local Client = require "aoi.skynet.client"
local methods = require "aoi.skynet.methods"
local listener = require "spec.support.listener"
local places = require "spec.support.places"

local kinds = { here = places.here, service = places.service }

-- Does the same in both places, and in a plain space, and returns what came of it, by place.
local function each(options, f)
  local space = require("aoi").new {
    dimensions = options.dimensions, cell = options.cell, delivery = "deferred",
  }
  local result = {
    plain = f { run = function(g) return g(space) end, tick = function() space:flush() end },
  }
  for name, new in pairs(kinds) do result[name] = f(new(options)) end
  return result
end

-- The position must be the caller's: ours.
local function words(err)
  local text, n = tostring(err):gsub("^.-local_spec%.lua:%d+: ", "")
  return n == 1 and text or "no position: " .. err
end

describe("a space of either place", function()
  it("has the methods of the table, and the service has their requests", function()
    local requests = { tick = true, close = true, join = true }
    methods.each(function(name)
      assert.is_function(Client.Space[name], name)
      assert.is_function(CMD[name], name)
      requests[name] = true
    end)
    for name in pairs(CMD) do assert.is_true(requests[name], name) end
  end)

  it("tells handlers the same at the tick", function()
    local result = each({ dimensions = 2 }, function(place)
      local on, take = listener()
      local function tick()
        place.tick()
        return take()
      end
      local ticks = {}
      place.run(function(space)
        space:enter(1, 0, 0)
        space:enter_many({ 2, 5, 0, 3, 50, 0 }, 2, 2)
        space:add_node(1, 1, 10, on)
        space:add_node(2, 1, { radius = 5, keep = 8, shape = "circle" }, on.enter, on.leave)
        space:add_node(2, 2, 1)
      end)
      ticks[1] = tick()
      place.run(function(space)
        space:move(3, 4, 0)
        space:move(1, -1, 0)
        space:flush()
      end)
      ticks[2] = tick()
      place.run(function(space)
        space:set_radius(1, 1, 2)
        space:set_mask(2, 1, 2)
        space:set_area(2, 1, { shape = "sector", radius = 9, facing = 0, angle = 1, mask = 2 })
        space:override(1, 1, 2, "hide")
        space:set_kind(3, 1)
        space:move_many { 2, 0, 0 }
      end)
      ticks[3] = tick()
      place.run(function(space)
        space:set_facing(2, 1, math.pi)
        space:override(1, 1, 2, nil)
        space:remove_node(1, 1)
        space:leave(3)
        space:leave(2)
        space:enter(2, 0, 0)
      end)
      ticks[4] = tick()
      return ticks
    end)
    assert.same(result.plain, result.here)
    assert.same(result.plain, result.service)
    assert.equal("+1/1>2 +2/1>1", result.here[1])
  end)

  it("answers the same", function()
    local result = each({ dimensions = 3, cell = 16 }, function(place)
      return place.run(function(space)
        space:enter(1, 0, 0, 0, 3)
        space:enter(2, 1, 0, 1)
        space:add_node(1, 5, { radius = 2, keep = 3 })
        space:move(2, 1, 1, 1)
        local answers = {}
        local function add(...)
          local t = table.pack(...)
          if type(t[1]) == "table" then
            local n = 1
            while t[1][n] do n = n + 1 end
            t[1] = table.move(t[1], 1, 6, 1, {}) -- the nil that ends a list is compared, too
            local list = table.move(t[1], 1, n - 1, 1, {})
            table.sort(list, function(a, b) return tostring(a) < tostring(b) end)
            table.move(list, 1, n - 1, 1, t[1])
          end
          answers[#answers + 1] = t
        end
        local buf = { 0, 0, 0, 0, 0, 0 }
        add(space:position(2)) add(space:position(9)) add(space:kind(1)) add(space:kind(9)) add(space:radius(1, 5))
        add(space:radius(1, 6)) add(space:has(1)) add(space:has(9)) add(space:count()) add(#space)
        add(space:sees(1, 5, 2)) add(space:sees(1, 5, 1)) add(space:check())
        add(space:view(1, 5)) add(space:viewers(2)) add(space:viewers(2, buf)) add(space:nodes(1)) add(space:ids())
        add(space:near(0, 0, 0, 5)) add(space:near(0, 0, 0, 5, 2)) add(space:near(0, 0, 0, 5, 2, buf))
        add(space:stats().entities) add(space:stats().nodes)
        space:add_node(2, 1, { shape = "sector", radius = 5, facing = 0, angle = 1, margin = 1 })
        space:override(1, 5, 2, "hide")
        space:override(2, 1, 1, "show")
        add(space:overrides(1, 5)) add(space:overrides(2, 1, buf)) add(space:sees(1, 5, 2)) add(space:sees(2, 1, 1))
        add(space:area(2, 1).facing) add(space:area(2, 1).shape) add(space:area(2, 9)) add(space:area(9, 9))
        add(space:nearest(0, 0, 0, 5)) add(space:nearest(0, 0, 0, 1, 9, 1, buf)) add(space:nearest(5, 5, 5, 2, 1))
        add(space:near(0, 0, 0, { shape = "box", extents = { 1, 1, 1 } }, buf))
        add(space:near(0, 0, 0, { shape = "polygon", points = { -1, -1, 3, -1, 1, 3 } }))
        for _, pair in ipairs { { 1, 5, 2 }, { 2, 1, 1 }, { 1, 9, 2 }, { 9, 1, 2 }, { 1, 5, 9 } } do
          local told = space:explain(pair[1], pair[2], pair[3])
          add(told.sees, told.why, told.node, told.distance, told.shape, tostring(told))
        end
        add(space:explain(1, 5, 2).why, space:explain(1, 5, 2).dx)
        place.tick()
        add((space.seen or space.view)(space, 1, 5))
        return answers
      end)
    end)
    for where, answers in pairs(result) do
      for i, answer in ipairs(result.plain) do assert.same(answer, answers[i], where .. ", answer " .. i) end
    end
    assert.same({ 1, 1, 1, n = 3 }, result.here[1])
  end)

  it("raises the same errors, which change nothing", function()
    local calls = {
      { "enter", 1, 0, 0 }, { "enter", 2, 0 / 0, 0 }, { "enter", "2", 0, 0 }, { "enter", 2.5, 0, 0 }, { "enter", 2, 0 },
      { "leave", 9 }, { "leave", "x" }, { "add_node", 1, 5, 1 }, { "add_node", 9, 5, 1 }, { "add_node", 1, 6, -1 },
      { "add_node", 1, 6, {} }, { "add_node", 1, 6, 1, 5 }, { "add_node", 1, 6, 1, nil, 5 }, { "add_node", 1, "6", 1 },
      { "remove_node", 1, 6 }, { "remove_node", 9, 5 }, { "set_radius", 1, 6, 1 }, { "set_radius", 1, 5, 0 / 0 },
      { "set_radius", 1, 5, 2, 1 }, { "set_mask", 1, 5 }, { "set_kind", 9, 1 }, { "view", 1, 6 }, { "view", 9, 5 },
      { "viewers", 9 }, { "near", 0, 0 }, { "near", 0, 0, -1 }, { "near", 0, 0, 1, "x" }, { "view", 1, 5, 1 },
      { "view", 1 }, { "sees", 1, 5 }, { "viewers" }, { "viewers", 1, 1 }, { "nodes", 1, 1 }, { "ids", 1 },
      { "position", "x" }, { "has", 1.5 }, { "kind", "x" }, { "radius", 1 }, { "sees", 1, 6, 1 },
      { "move_many", { 1, 0 } }, { "move_many", { 9, 0, 0 } },
      { "enter_many", { 2, 0, 0, 1, 0, 0 } }, { "move", 1, 0 / 0, 0 }, { "move", 1, 0, 1 / 0 }, { "move", 1.5, 0, 0 },
      { "move", "1", 0, 0 }, { "move", 1, "0", 0 }, { "set_area", 1, 6, 1 }, { "set_area", 1, 5, { radius = -1 } },
      { "set_area", 1, 5, { shape = "box", radius = 1 } }, { "set_area", 1, 5 }, { "set_facing", 1, 5, 0 },
      { "override", 1, 5, 1, "hide" }, { "override", 1, 5, 9, "hide" }, { "override", 1, 6, 1 },
      { "override", 1, 5, 2, "see" }, { "overrides", 1, 6 }, { "area", "x", 1 }, { "area", 1 },
      { "nearest", 0, 0 }, { "nearest", 0, 0, -1 }, { "nearest", 0, 0, 1, -1 }, { "explain", 1, 5, "x" },
      { "explain", "x", 5, 1 }, { "explain", 1 }, { "near", 0, 0, { shape = "box" } },
      { "enter", 2 }, { "enter" }, { "leave" }, { "enter_many", 5 }, { "enter_many", { 5, 0, 0 }, 2 }, { "near" },
      { "enter_many", { 5, 0, 0 }, -1 }, { "enter_many", { 5, 0, 0 }, 2 ^ 60 }, { "move_many", { 1, 2, 3, 9, 9, 9 } },
      { "add_node", 1, 8, nil, n = 4 }, { "add_node", 1, {}, 5 }, { "add_node", 1, 8, { radius = 1, kep = 1 } },
      { "add_node", 1, 8, 5, print, 12 }, { "remove_node", 1 }, { "set_mask", 1, 8, 1 }, { "set_kind", 1, "x" },
      { "nodes", 2 }, { "move", 1 },
    }
    local result = each({ dimensions = 2 }, function(place)
      return place.run(function(space)
        space:enter(1, 0, 0)
        space:add_node(1, 5, 1)
        space:flush()
        local errors = {}
        for i, call in ipairs(calls) do
          local name = call[1]
          local ok, err = pcall(function() space[name](space, table.unpack(call, 2, call.n or #call)) end)
          errors[i] = name .. ": " .. (ok and "no error" or words(err))
          local _, nodes = space:nodes(1)
          assert.same({ 1, 0, 1, 1 }, { space:count(), (space:position(1)), nodes, space:radius(1, 5) })
        end
        assert.is_true(space:check())
        return errors
      end)
    end)
    for i, err in ipairs(result.here) do
      assert.not_matches("no error", err)
      assert.equal(err, result.service[i])
      -- The methods of a plain space count it, too, where they are called as functions.
      assert.equal(result.plain[i], (err:gsub("#(%d+)", function(n) return "#" .. math.tointeger(n) + 1 end)))
    end
  end)

  it("goes on after a handler that fails", function()
    for name, new in pairs(kinds) do
      local place = new {}
      local heard, caught = 0, {}
      place.run(function(space)
        space:enter(1, 0, 0)
        for id = 2, 4 do space:enter(id, 0, 0) end
        space:add_node(1, 1, 5, function(_, target)
          heard = heard + 1
          if target == 3 then error "oh no" end
        end)
      end)
      place.tick()
      assert.equal(3, heard, name)
      assert.equal(1, #place.logged, name)
      assert.matches("oh no", place.logged[1])
      place.run(function(space)
        space:on_error(function(_, watcher, target, node) caught = { watcher, target, node } end)
        space:move(3, 90, 0)
        space:tick()
        space:move(3, 0, 0)
        space:tick()
      end)
      assert.same({ 1, 3, 1 }, caught, name)
    end
  end)

  it("ticks with the flush of who drives it", function()
    for name, new in pairs(kinds) do
      for _, drive in ipairs { true, false } do
        local place = new { drive = drive }
        local heard = 0
        place.run(function(space)
          space:enter(1, 0, 0)
          space:enter(2, 0, 0)
          space:add_node(1, 1, 5, function() heard = heard + 1 end)
          space:flush()
        end)
        assert.equal(drive and 1 or 0, heard, name)
        local n = place.run(function(space) return space:tick() end)
        assert.equal(drive and 0 or 1, n, name)
        assert.equal(1, heard)
      end
    end
  end)

  it("is of no use when closed", function()
    for _, new in pairs(kinds) do
      local place = new {}
      place.run(function(space)
        space:enter(1, 0, 0)
        space:close()
        space:close()
        assert.is_true(space.closed)
        for _, method in ipairs { "enter", "move", "count", "has", "view", "add_node", "tick" } do
          assert.error_matches(function() space[method](space, 1, 2, 3) end, "closed space")
        end
      end)
    end
  end)

  it("refuses options that it does not know", function()
    for _, new in pairs(kinds) do
      assert.error_matches(function() new { dimension = 3 } end, "unknown option 'dimension'")
    end
  end)
end)
