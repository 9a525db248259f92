-- The LuaCATS annotations agree with the functions: parsed from the sources and compared with the real ones. Of C
-- functions: each exists, none is missing, each parameter is required where the annotation says so and checked for its
-- type, and each result has its type.
local aoi = require "aoi"
local neighbors = require "aoi.neighbors"
local team = require "aoi.team"
local trigger = require "aoi.trigger"
local zones = require "aoi.zones"
local annotations = require "spec.support.annotations"
local calls = require "spec.support.calls"
local process = require "spec.support.process"

local keys, owned = annotations.keys, annotations.owned

-- By topic: lua/aoi/meta/TOPIC.lua, and the sources that carry annotations themselves.
local files = {}
for _, path in ipairs(process.lines(process.must "ls lua/aoi/meta/*.lua")) do
  files[path:match "([%w_]+)%.lua$"] = annotations.read(path)
end
for _, name in ipairs { "trigger", "zones", "neighbors", "team" } do
  files[name] = annotations.read("lua/aoi/" .. name .. ".lua")
end

-- Samples ------------------------------------------------------------------------------------------------------------

-- A space in 3D, where every parameter is asked for: 1 sees 2 with node 7; its node 9 is a sector.
local function new_space()
  local space = aoi.new { dimensions = 3, delivery = "deferred" }
  space:enter(1, 0, 0, 0)
  space:enter(2, 1, 0, 0)
  space:add_node(1, 7, 5)
  space:add_node(1, 9, { shape = "sector", radius = 5, facing = 0, angle = 1 })
  return space
end

local TOGETHER = { attach = { 3, 4 } } -- what is left out only with what stands before it

local function is(value, annotation)
  if annotation:sub(-1) == "?" then
    if value == nil then return true end
    annotation = annotation:sub(1, -2)
  end
  if annotation == "integer" then return type(value) == "number" and value % 1 == 0 end
  if annotation == "number" or annotation == "boolean" then return type(value) == annotation end
  if annotation == "string" then return type(value) == "string" end
  if annotation:sub(-2) == "[]" then return type(value) == "table" end
  if annotation:match "^table" or annotation == "aoi.Stats" then return type(value) == "table" end
  if annotation:match "^fun" then return type(value) == "function" end
  if annotation == "aoi.Space" then return type(value) == "userdata" end
  if annotation:match "^aoi%." then return type(value) == "table" end
  error("no check for " .. annotation)
end

-- ---------------------------------------------------------------------------------------------------------------------

describe("annotations:", function()
  it("every public function has them", function()
    for name, found in pairs(files) do assert.same({}, found.undocumented, name) end
  end)

  it("parameters are those of the functions, in their order", function()
    for _, found in pairs(files) do
      for key, f in pairs(found.functions) do
        if not f.constant then
          local names = {}
          for i, param in ipairs(f.param) do names[i] = param.name end
          assert.same(f.params, names, key)
        end
      end
    end
  end)

  it("what is optional comes last", function()
    for _, found in pairs(files) do
      for key, f in pairs(found.functions) do
        local optional = false
        for _, param in ipairs(f.param or {}) do
          assert.is_true(param.optional or not optional, key)
          optional = param.optional
        end
      end
    end
  end)

  it("numbers say their unit", function()
    for name, found in pairs(files) do
      local function check(key, list)
        local unit
        for _, item in ipairs(list or {}) do
          if item.type:match "^number%??$" or item.type:match "^number|" then
            unit = item.text:match "world units" or item.text:match "seconds" or item.text:match "radians"
              or (unit == "world units" and item.text:match "^[yz]%f[%W]" and unit) -- the other coordinates
            assert.is_truthy(unit, ("%s: %s %s"):format(name, key, item.name or item.text))
          end
        end
      end
      for key, f in pairs(found.functions) do
        check(key, f.param)
        check(key, f["return"])
      end
      for key, class in pairs(found.classes) do check(key, class.field) end
    end
  end)

  it("every type they name is defined", function()
    local defined = {}
    for _, found in pairs(files) do
      for name, here in pairs(found.names) do defined[name] = defined[name] or here end
    end
    for name, here in pairs(defined) do assert.is_true(here, name) end
  end)

  it("of the module, all and nothing else", function()
    local documented = {}
    for key, f in pairs(files.aoi.functions) do
      if f.owner == "aoi" or f.constant then documented[#documented + 1] = (key:gsub("^aoi%.", "")) end
    end
    table.sort(documented)
    assert.same(keys(aoi), documented)
  end)

  it("of spaces, all and nothing else", function()
    local index = debug.getmetatable(aoi.new()).__index
    assert.same(keys(index, "Space:"), owned(files.space, "Space"))
  end)

  it("of client synchronisation, all and nothing else", function()
    local space = new_space()
    local index = debug.getmetatable(aoi.sync.new(space)).__index
    assert.same(keys(index, "Sync:"), owned(files.sync, "Sync"))
    assert.same(keys(require "aoi.sync", "sync."), owned(files.sync, "sync"))
    assert.same(keys(require "aoi.history", "history."), owned(files.history, "history"))
    local past = debug.getmetatable(require("aoi.history").new(space, 5)).__index
    assert.same(keys(past, "History:"), owned(files.history, "History"))
    local clients = require("aoi.sync").new(space)
    local options = { limit = 3, bytes = 200, tiers = { { 5, 1 } }, self = true, team = 2 }
    clients:add(1, 5)
    for _, field in ipairs(files.sync.classes["aoi.ClientOptions"].field) do
      clients:set(1, { [field.name] = assert(options[field.name]) })
      clients:set(1, { [field.name] = false })
    end
  end)

  it("of sights, all and nothing else", function()
    local index = debug.getmetatable(aoi.sight.new(new_space())).__index
    assert.same(keys(index, "Sight:"), owned(files.sight, "Sight"))
    assert.same(keys(require "aoi.sight", "sight."), owned(files.sight, "sight"))
  end)

  it("of triggers and neighbours, all and nothing else", function()
    local space = new_space()
    local triggers = trigger.new(space, { t = { radius = 1 } })
    local t = triggers:add(1, "t")
    local near = neighbors.new(space)
    local triggers_file, neighbors_file = files.trigger, files.neighbors
    local sight = team.new(space, {})
    assert.same(keys(team, "team."), owned(files.team, "team"))
    assert.same(keys(getmetatable(sight).__index, "Sight:"), owned(files.team, "Sight"))
    assert.same(keys(zones, "zones."), owned(files.zones, "zones"))
    assert.same(keys(getmetatable(zones.new(space, {})).__index, "Zones:"), owned(files.zones, "Zones"))
    assert.same(keys(trigger, "trigger."), owned(triggers_file, "trigger"))
    assert.same(keys(getmetatable(triggers).__index, "Triggers:"), owned(triggers_file, "Triggers"))
    assert.same(keys(getmetatable(t).__index, "Trigger:"), owned(triggers_file, "Trigger"))
    assert.same(keys(neighbors, "neighbors."), owned(neighbors_file, "neighbors"))
    assert.same(keys(getmetatable(near).__index, "Neighbors:"), owned(neighbors_file, "Neighbors"))
    for _, field in ipairs(triggers_file.classes["aoi.Triggers"].field) do assert.not_nil(triggers[field.name]) end
    for _, field in ipairs(triggers_file.classes["aoi.Trigger"].field) do
      if field.name ~= "data" then assert.not_nil(t[field.name]) end
    end
  end)

  for key, f in pairs(calls.functions(3)) do
    if f.owner == "Space" then
      it(key .. " takes what it says, and its results are what it says; what is optional may go", function()
        local w = calls.world(3)
        local list, n = calls.arguments(f, w)
        local results = { calls.call(f, w, list, n) }
        for i, result in ipairs(f["return"]) do assert.is_true(is(results[i], result.type), key .. " " .. i) end
        assert.is_true(#results <= #f["return"])
        while n > 0 and f.param[n].optional and f.param[n].name ~= "z" do
          n = n - 1
          local together = TOGETHER[f.name]
          if together and n >= together[1] and n <= together[2] then n = together[1] - 1 end
          w = calls.world(3)
          calls.call(f, w, calls.arguments(f, w), n)
        end
      end)
    end
  end

  it("in 2D, without a z", function()
    local space = aoi.new()
    space:enter(1, 2, 3, 4)
    assert.equal(4, space:kind(1))
    local _, n = space:near(2, 3, 1, 8)
    assert.equal(0, n)
    _, n = space:near(2, 3, 1, 4, {})
    assert.equal(1, n)
  end)

  it("options and areas are those that are taken", function()
    local values = { engine = "brute", dimensions = 3, cell = 5, delivery = "deferred" }
    local count = 0
    for _, field in ipairs(files.aoi.classes["aoi.Options"].field) do
      aoi.new { [field.name] = assert(values[field.name]) }
      assert.has_error(function() aoi.new { [field.name] = {} } end)
      count = count + 1
    end
    assert.equal(4, count)
    local areas = {
      { shape = "square", radius = 2, keep = 3, mask = 1, layers = 3, label = "a", extents_apply = false,
        offset = { 1, 2, 3 } },
      { shape = "circle", radius = 2, margin = 3, mask = 1, outside = true },
      { shape = "box", extents = { 1, 2, 3 }, margin = 1, mask = 1 },
      { shape = "cylinder", radius = 2, half_height = 3, margin = 1, mask = 1 },
      { shape = "sector", radius = 2, facing = 0, angle = 1, half_height = 3, margin = 1, mask = 1 },
      { shape = "polygon", points = { 0, 0, 1, 0, 0, 1 }, half_height = 3, mask = 1 },
      { shape = "polygon", rings = { { 0, 0, 1, 0, 0, 1 } } },
    }
    local taken = {}
    for _, area in ipairs(areas) do
      new_space():add_node(1, 8, area)
      for name, value in pairs(area) do
        taken[name] = true
        area[name] = print
        assert.has_error(function() new_space():add_node(1, 8, area) end)
        area[name] = value
      end
    end
    local fields = {}
    for _, field in ipairs(files.area.classes["aoi.Area"].field) do fields[field.name] = true end
    assert.same(taken, fields)
    local told, space_told = {}, new_space()
    for _, field in ipairs(files.space.classes["aoi.Explanation"].field) do told[field.name] = true end
    local sector = { shape = "sector", radius = 5, facing = 0, angle = 1, label = "a", offset = { 1, 2, 3 } }
    space_told:set_area(1, 7, sector)
    for name in pairs(space_told:explain(1, 7, 2)) do
      assert.is_true(told[name], name)
      told[name] = nil
    end
    assert.same({}, told)
    local stats, counted = new_space():stats(), {}
    for _, field in ipairs(files.space.classes["aoi.Stats"].field) do counted[field.name] = true end
    for name in pairs(stats) do assert.is_true(counted[name], name) end
    for _, field in ipairs(files.space.classes["aoi.Stats"].field) do assert.is_number(stats[field.name]) end
    local heard = {}
    local space = aoi.new()
    space:enter(1, 0, 0)
    local handlers = {}
    for _, field in ipairs(files.space.classes["aoi.Handlers"].field) do
      handlers[field.name] = function(...) heard[#heard + 1] = select("#", ...) end
    end
    space:add_node(1, 1, 5, handlers)
    space:enter(2, 0, 0)
    space:leave(2)
    assert.same({ 3, 4 }, heard)
  end)

  it("engines are those that there are", function()
    local text
    for line in io.lines "lua/aoi/meta/aoi.lua" do text = text or line:match "^%-%-%-@alias aoi%.Engine (.*)$" end
    local listed = {}
    for name in text:gmatch '"(%w+)"' do listed[name] = true end
    for _, name in ipairs(aoi.engines()) do assert.is_true(listed[name], name) end
  end)

  it("options of triggers are those that are taken", function()
    local values = {
      radius = 2, keep = 3, mask = 1, layers = 2, shape = "circle", filter = function() return true end, interval = 1,
      after = 1, limit = 2, cooldown = 1, linger = 1, enter_after = 1, outside = true, once = true, enabled = false,
      data = {}, x = 1, y = 2, z = 3, extents_apply = false, offset = { 1, 2, 3 },
    }
    local sector = { shape = "sector", radius = 1, facing = 1, angle = 1, margin = 1, half_height = 1 }
    local others = {
      margin = sector, facing = sector, angle = sector, half_height = sector,
      extents = { shape = "box", extents = { 1, 2, 3 } }, points = { shape = "polygon", points = { 0, 0, 1, 0, 0, 1 } },
      rings = { shape = "polygon", rings = { { 0, 0, 1, 0, 0, 1 } } },
    }
    local count = 0
    for _, field in ipairs(files.trigger.classes["aoi.TriggerOptions"].field) do
      local options = { x = 1, y = 1, z = 1 }
      for name, value in pairs(others[field.name] or { radius = 1 }) do options[name] = value end
      if values[field.name] ~= nil then options[field.name] = values[field.name] end
      local space = new_space()
      if field.name == "sight" then options.sight = aoi.sight.new(space) end
      local triggers = trigger.new(space, { t = {} })
      assert.not_nil(options[field.name], field.name)
      assert.is_true(triggers:region("t", options):alive())
      if field.type ~= "any" then
        options[field.name] = field.type == "boolean" and 1 or true
        assert.error_matches(function() triggers:region("t", options) end, "'" .. field.name .. "'")
      end
      values[field.name], others[field.name] = nil, nil
      count = count + 1
    end
    assert.is_nil(next(values) or next(others))
    assert.equal(29, count)
  end)

  it("handlers of triggers are those that are called", function()
    local events, heard = {}, {}
    for _, field in ipairs(files.trigger.classes["aoi.TriggerHandlers"].field) do
      events[#events + 1] = field.name
    end
    local handlers = { t = { radius = 5, interval = 1, after = 1 } }
    for _, event in ipairs(events) do
      handlers.t[event] = function(...)
        assert.equal(event == "cross" and 4 or 3, select("#", ...))
        heard[#heard + 1] = event
      end
    end
    local space = aoi.new()
    local triggers = trigger.new(space, handlers)
    space:enter(1, 0, 0)
    triggers:add(1, "t")
    space:enter(2, 0, 0)
    triggers:update(1)
    space:leave(2)
    space:enter(3, 9, 0)
    space:move(3, -9, 0)
    table.sort(events)
    table.sort(heard)
    assert.same(events, heard)
  end)

  -- Of Lua functions the debug library knows the names of parameters.
  if not rawget(_G, "jit") and _VERSION ~= "Lua 5.1" then
    it("nothing but the annotated parameters", function()
      local space = new_space()
      local triggers = trigger.new(space, { t = { radius = 1 } })
      local owners = {
        trigger = trigger, neighbors = neighbors, Triggers = getmetatable(triggers).__index,
        Trigger = getmetatable(triggers:add(1, "t")).__index, Neighbors = getmetatable(neighbors.new(space)).__index,
        team = team, Sight = getmetatable(team.new(space, {})).__index,
        zones = zones, Zones = getmetatable(zones.new(space, {})).__index,
      }
      for _, name in ipairs { "trigger", "zones", "neighbors", "team" } do
        for key, f in pairs(files[name].functions) do
          local real = owners[f.owner][f.name]
          local info = debug.getinfo(real, "u")
          assert.equal(#f.params + (f.method and 1 or 0), info.nparams, key)
          for i, param in ipairs(f.params) do
            assert.equal(param, debug.getlocal(real, i + (f.method and 1 or 0)), key)
          end
        end
      end
    end)
  end
end)
