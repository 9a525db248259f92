-- Each annotated function is called wrongly in every way that its annotation knows: an argument of another type, one
-- that is missing, one too many, an entity or a node that there is not, a number that is none, a dot for a colon and a
-- colon for a dot, after the space is closed. The error names argument, function and value, its place is the caller's,
-- and nothing has changed. The same for each field of the tables of options.
local aoi = require "aoi"
local annotations = require "spec.support.annotations"
local calls = require "spec.support.calls"
local dump = require "spec.support.dump"

local nan, huge = 0 / 0, math.huge

-- What there is instead, by the pattern of a type: { value, what is said of it }.
local STRING, BOOLEAN, EMPTY = { "x", "got string" }, { true, "got boolean" }, { {}, "got table" }
local WRONG = {
  { "^number|aoi%.Area", { "5", "got string" }, BOOLEAN, { -1, "negative or nan, got -1" },
    { nan, "negative or nan" }, { 1e16, "radius must be at most 2^50 or infinite, got 1e+16" } },
  { "%[%]$", { 5, "got number" }, STRING, BOOLEAN },
  { "^table", { 5, "got number" }, STRING, BOOLEAN },
  { "^integer", STRING, { 1.5, "no integer representation" }, BOOLEAN, EMPTY },
  { "^number$", { "1", "got string" }, EMPTY, BOOLEAN, { nan, "nan" } },
  { "^string$", EMPTY, BOOLEAN, { 5, "got number" } },
  { "^fun", { 5, "got number" }, STRING },
  { "^aoi%.Handler$", { 5, "got number" }, STRING },
  { "^aoi%.How", { 5, "got 5" }, { "x", "got 'x'" } },
  { "^aoi%.Message", EMPTY, BOOLEAN },
  { "^aoi%.", { 5, "got number" }, STRING },
  { "^nil$", { 1, "nothing expected, got number" } },
  { "^boolean$" }, { "^{" }, { "^string|" }, { "^boolean|" }, { "^any" },
}

-- And by the name of a parameter.
local BEYOND = { { huge, "got inf" }, { -huge, "got -inf" }, { 1e16, "got 1e+16" }, { -2 ^ 50 * (1 + 2 ^ -52), "^50" } }
local NAMES = { extent = BEYOND, keep = { { 1e16, "keep must be at most 2^50 or infinite, got 1e+16" } } }
for name in ("x y z x0 y0 z0 x1 y1 z1 dx dy dz"):gmatch "%S+" do NAMES[name] = BEYOND end
for name in ("id target carrier client"):gmatch "%S+" do NAMES[name] = { { 99, "entity 99" } } end
for name in ("node_id wall"):gmatch "%S+" do NAMES[name] = { { 99, "99" } } end

-- What is said instead by some functions of an argument, or of one value of it; false: it is taken.
local OTHERWISE = {
  ["Space:adopt n"] = false, -- what is no number is a handler
  ["Space:adopt n 1.5"] = "no integer representation",
  ["Space:enter kind {}"] = false, ["Space:enter_many kind {}"] = false, -- looks
  ["Space:set_radius keep nan"] = "keep must not be less than radius",
  ["Trigger:set_radius keep nan"] = "keep must not be less than radius",
  ["Sync:node i 1.5"] = "client 1 has no view 1.5",
  ["Sync:set_view i 1.5"] = "client 1 has no view 1.5",
  ["Trigger:set_mask mask"] = "kind bits expected, got",
  ["Triggers:add name"] = "no handlers named", ["Triggers:region name"] = "no handlers named",
  ["Triggers:add options"] = "bad options of trigger",
  ["Triggers:region options"] = "bad options of trigger",
  ["Triggers:dispatch n 1.5"] = "1.5 events of four values",
  ["Neighbors:dispatch n 1.5"] = "1.5 events of four values",
  ["Zones:dispatch n 1.5"] = "1.5 events of four values",
  ["Triggers:get name"] = false,
  ["Triggers:get name nil"] = "the name of a trigger expected, got no value",
  ["Triggers:remove name"] = false,
}

-- Questions about anything, and what makes what is named: an entity, a node or a wall that there is not is no mistake.
local ANY = [[
  Neighbors: count-id each-id each_viewer-id has-id has-target joined-id left-id list-id node-id remove-id
  viewer_count-id Neighbors: viewers-id Sight: add-node_id explain-id explain-node_id explain-target get_wall-wall
  knows-target node-id remove-id sees-target Space: add_node-node_id adopt-node_id area-id area-node_id carrier-id
  enter-id explain-id explain-node_id explain-target Space: extent-id has-id has_node-id has_node-node_id kind-id
  layers-id position-id radius-id radius-node_id sees-target Sync: explain-id explain-target knows-target
  unpin-target Trigger: explain-target has-target Triggers: get-id refresh-target remove-id History: position-id
  Zones: all-id at-id sync. state-id ]]
do
  local owner
  for word in ANY:gmatch "%S+" do
    local name, param = word:match "^(.*)%-(.*)$"
    if name then OTHERWISE[("%s%s %s 99"):format(owner, name, param)] = false else owner = word end
  end
end

-- What may be called after its space was closed, and is not an error that says so; the rest is.
local ALIVE = [[
  Journal:dump Journal:stop Journal:bytes Player:step Player:seek Space:close Space:is_open Observer:close
  Observer:restart Sight:close Sync:close History:close Zones:close Zones:dispatch Neighbors:dispatch Neighbors:has
  Neighbors:viewer_count Neighbors:left Neighbors:joined Neighbors:each Neighbors:viewers Neighbors:each_viewer
  Neighbors:count Neighbors:list Neighbors:tick Sight:knows Sight:known Triggers:stats Triggers:close
  Triggers:remove Triggers:dispatch Triggers:update Triggers:advance Triggers:get Trigger:waiting Trigger:count
  Trigger:enabled Trigger:targets Trigger:remove Trigger:has Trigger:alive ]]

local function spell(value) return type(value) == "table" and "{}" or value ~= value and "nan" or tostring(value) end

-- { value, what is said } for a parameter, by its type and its name.
local function mistakes(f, param)
  local list, kind = {}, param.type:gsub("%?$", "")
  for _, row in ipairs(WRONG) do
    if kind:match(row[1]) then
      for i = 2, #row do list[i - 1] = row[i] end
      break
    end
    assert(row ~= WRONG[#WRONG], "no wrong values for " .. param.type)
  end
  if f.owner ~= "Observer" and f.key ~= "Sight:wall" then -- windows and walls are as large as one likes
    for _, row in ipairs(NAMES[param.name] or {}) do list[#list + 1] = row end
  end
  local needed = not param.optional and kind == param.type and kind ~= "nil" and kind ~= "any"
  if needed then list[#list + 1] = { nil, "got n" } end
  local found = {}
  for _, row in ipairs(list) do
    local key, said = f.key .. " " .. param.name, row[2]
    -- A table in the place of an optional number is the next argument: it was left out.
    local taken = row == EMPTY and param.optional and (kind:match "^integer" or kind == "number")
    for _, name in ipairs { key, key .. " " .. spell(row[1]) } do
      if OTHERWISE[name] ~= nil then said = OTHERWISE[name] end
    end
    if said and not taken then found[#found + 1] = { row[1], said } end
  end
  return found
end

-- All that can be seen of a world.
local function state(w)
  local lines = { dump(w.space) }
  for _, name in ipairs { "triggers", "near", "walls" } do
    for key, value in pairs(w[name]:stats()) do lines[#lines + 1] = ("%s.%s %s"):format(name, key, value) end
  end
  table.sort(lines)
  return table.concat(lines, "\n")
end

local function raises(words, f, ...)
  local ok, err = pcall(calls.call, f, ...)
  assert.is_false(ok, f.key .. ": no error that says " .. table.concat(words, " ... "))
  for _, said in ipairs(words) do assert.is_truthy(err:find(said, 1, true), err .. "\n does not say\n" .. said) end
  assert.is_truthy(err:find("^caller:3: "), "not about the caller's line: " .. err)
end

local function check(f, dimensions)
  local w = calls.world(dimensions)
  local before, list, n = state(w), calls.arguments(f, w)
  local function refused(i, value, last, ...)
    local args = calls.arguments(f, w)
    args[i] = value
    raises({ (...):match "^bad" or ("bad argument #%d to '%s'"):format(i, f.name), ... }, f, w, args, last)
  end
  for i, param in ipairs(f.param) do
    for _, row in ipairs(mistakes(f, param)) do
      refused(i, row[1], n, row[2])
      local last = i == n or f.param[i + 1].optional
      if f.native and row[1] == nil and last then refused(i, nil, i - 1, row[2]) end -- no value
    end
  end
  if f.native and f.key ~= "Space:nearest" then refused(n + 1, 1, n + 1, "nothing expected") end
  if not f.method then raises({ f.owner == "journal" and ", got table" or "bad self" }, f, w, list, n, ":")
  elseif f.native then raises({ "bad argument #1 to '" .. f.name, "expected, got" }, f, w, list, n, ".")
  else raises({ "bad self (call it with a colon, " }, f, w, list, n, ".") end
  assert.equal(before, state(w), f.key .. " has changed something")
end

for dimensions = 2, 3 do
  for key, f in pairs(calls.functions(dimensions)) do
    local title = ("misuse of %s in %dD is told, and changes nothing"):format(key, dimensions)
    it(title, function() check(f, dimensions) end)
  end
end

for _, f in pairs(calls.functions(2)) do
  if f.method and not ALIVE:find((" %s%%s"):format(f.key)) then
    it(f.key .. " says that its space is closed", function()
      local w = calls.world(2)
      local list, n = calls.arguments(f, w)
      w.space:close()
      local ok, err = pcall(calls.call, f, w, list, n)
      assert.is_false(ok)
      assert.matches("^caller:3: .*" .. (f.owner == "Trigger" and f.name ~= "explain" and "removed" or "closed"), err)
    end)
  end
end

-- Options: each field is refused if it has no value of its type, and by the name that nobody gave.
local OPTIONS = {
  ["aoi.Options"] = function(o) aoi.new(o) end,
  ["aoi.LoadOptions"] = function(o, w) aoi.load(w.space:save(), nil, o) end,
  ["aoi.Area"] = function(o, w)
    o.radius, o.shape = o.radius or 5, o.shape
    w.space:add_node(1, 8, o)
  end,
  ["aoi.Handlers"] = function(o, w) w.space:add_node(1, 8, 5, o) end,
  ["aoi.Looks"] = function(o, w) w.space:enter(50, 0, 0, o) end,
  ["aoi.SightOptions"] = function(o, w) aoi.sight.new(w.space, o) end,
  ["aoi.SightNodeOptions"] = function(o, w) w.walls:add(1, 8, 5, nil, o) end,
  ["aoi.SyncOptions"] = function(o, w) aoi.sync.new(w.space, o) end,
  ["aoi.ClientOptions"] = function(o, w) w.clients:set(1, o) end,
  ["aoi.ObserverOptions"] = function(o, w) aoi.observe(w.space, o) end,
  ["aoi.PlayOptions"] = function(o) require("aoi.journal").open("", o) end,
  ["aoi.RecordOptions"] = function(o) require("aoi.journal").record(aoi.new(), nil, o) end,
  ["aoi.ViewerOptions"] = function(o, w) require("aoi.viewer").serve(w.space, o) end,
  ["aoi.TriggerOptions"] = function(o, w)
    o.radius = o.radius or 5
    w.triggers:add(1, "alert", o)
  end,
  ["aoi.ZoneOptions"] = function(o, w) w.zones:add("hall", 5, 0, 0, o) end,
  ["aoi.TeamHandlers"] = function(o, w) require("aoi.team").new(w.space, o) end,
  ["aoi.ZoneHandlers"] = function(o, w) require("aoi.zones").new(w.space, o) end,
}

for _, path in pairs(calls.sources) do
  for class, block in pairs(annotations.read(path).classes) do
    local take = OPTIONS[class]
    for _, field in ipairs(take and block.field or {}) do
      if field.type ~= "any" then it(("a wrong %s of %s is told"):format(field.name, class), function()
        local w = calls.world(2)
        local before = state(w)
        local value = field.type:match "boolean" and print or coroutine.create(function() end)
        local ok, err = pcall(take, { [field.name] = value }, w)
        assert.is_false(ok, "taken")
        assert.is_truthy(tostring(err):find("'" .. field.name .. "'", 1, true), err)
        assert.equal(before, state(w))
      end) end
    end
    if take then
      it("an unknown option of " .. class .. " is told", function()
        for _, name in ipairs { "nobody", 1 } do
          local ok, err = pcall(take, { [name] = 1 }, calls.world(2))
          assert.is_false(ok, "taken")
          assert.is_truthy(tostring(err):find("'" .. name .. "'", 1, true), err)
        end
      end)
    end
  end
end
