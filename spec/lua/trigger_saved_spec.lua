-- Triggers:save and load: the data, in other spaces, refused, damaged. That loaded triggers go on is in
-- trigger_histories_spec.lua.
local aoi = require "aoi"
local neighbors = require "aoi.neighbors"
local sync = require "aoi.sync"
local team = require "aoi.team"
local trigger = require "aoi.trigger"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local SEED = random_run.seed("damaged triggers")

local function odd(_, target) return target % 3 ~= 0 end

-- A table as Lua text.
local function text_of(value)
  if type(value) == "number" then return ("%.17g"):format(value) end
  if type(value) ~= "table" then return type(value) == "string" and ("%q"):format(value) or tostring(value) end
  local fields = {}
  for k, v in pairs(value) do fields[#fields + 1] = ("[%s] = %s"):format(text_of(k), text_of(v)) end
  return "{" .. table.concat(fields, ", ") .. "}"
end

describe("triggers that are saved", function()
  local space, handlers, triggers, heard
  local function note(event) return function(id, target) heard[#heard + 1] = event .. " " .. id .. ">" .. target end end
  local function record(own)
    own.enter, own.leave = note "enter", note "leave"
    return own
  end
  before_each(function()
    heard = {}
    space = aoi.new()
    handlers = { zone = record { radius = 10 } }
    triggers = trigger.new(space, handlers)
    space:enter(1, 0, 0)
    space:enter(2, 5, 0)
    space:enter(3, 50, 0)
  end)
  local function take()
    local text = table.concat(heard, ", ")
    heard = {}
    return text
  end

  it("are plain data: numbers, strings, booleans and tables", function()
    handlers.timed = { radius = math.huge, interval = 2, limit = 1, cooldown = 1, filter = function() return true end }
    triggers:add(1, "zone", { data = { mine = true } })
    triggers:add(1, "timed")
    triggers:region("zone", { shape = "polygon", points = { 0, 0, 9, 0, 0, 9 }, x = 1, y = 2 })
    triggers:update(3.5)
    local function walk(value)
      if type(value) == "table" then
        assert.is_nil(getmetatable(value))
        for k, v in pairs(value) do
          walk(k)
          walk(v)
        end
      else
        assert.is_truthy(({ number = true, string = true, boolean = true })[type(value)])
      end
    end
    local data = triggers:save()
    walk(data)
    assert.same(data, triggers:save())
    assert.equal("shared", data.triggers[2].filter)
    assert.same({ 1, 2 }, { data.triggers[3].region[1], data.triggers[3].region[2] })
  end)

  it("hear what has changed, in a space that was made anew", function()
    triggers:add(1, "zone")
    local region = triggers:region("zone", { x = 50, y = 0 })
    take()
    local data = triggers:save()
    local other = aoi.new { engine = "grid" }
    other:enter(1, 0, 0)
    other:enter(3, 1, 0) -- 2 is gone, 3 elsewhere
    local again = trigger.new(other, handlers, 7)
    assert.equal(2, again:load(data))
    assert.equal(("leave 1>2, enter 1>3, leave %s>3"):format(region.id), take())
    assert.equal(1, again:get(1, "zone"):count())
    assert.equal(3, #other) -- with a region of its own
    other:move(3, 50, 0)
    assert.equal(2, #heard)
  end)

  it("stay sound when a handler raises or removes while they are loaded", function()
    triggers:add(1, "zone")
    triggers:add(3, "zone")
    local data = triggers:save()
    local other = aoi.new()
    for id = 1, 3 do other:enter(id, id == 2 and 50 or 0, 0) end
    local again
    handlers.zone.enter = function(id, target)
      heard[#heard + 1] = "enter " .. id .. ">" .. target
      if id == 1 then
        again:remove(1)
        error("planned", 0)
      end
    end
    again = trigger.new(other, handlers)
    take()
    assert.same({ false, "planned" }, { pcall(again.load, again, data) })
    again:update(1)
    assert.is_nil(again:get(1, "zone"))
    assert.equal(1, again:get(3, "zone"):count())
    assert.equal(0, again:stats().late)
    assert.truthy(take():find("enter 3>1", 1, true))
  end)

  it("are all there before the handler of another node is called", function()
    triggers:add(1, "zone")
    triggers:add(3, "zone")
    local data = triggers:save()
    local function load_beside(handler)
      local other, calls = aoi.new(), 0
      for id = 1, 3 do other:enter(id, ({ 0, 5, 50 })[id], 0) end
      local again = trigger.new(other, handlers)
      other:enter(9, 90, 0)
      other:add_node(9, 1, 1, function()
        calls = calls + 1
        if calls == 1 then error("planned", 0) end
        handler(other)
      end)
      pcall(other.enter_many, other, { 10, 90, 0, 11, 90, 0 }) -- an event of that node waits
      take()
      return other, again, coroutine.create(function() return again:load(data) end)
    end

    local other, again, co = load_beside(function(there)
      there:leave(3)
      error("also planned", 0)
    end)
    assert.same({ false, "also planned" }, { coroutine.resume(co) })
    assert.equal(1, again:stats().triggers)
    other:move(2, 50, 0)
    assert.equal("leave 1>2", take())

    if _VERSION == "Lua 5.1" or _VERSION == "Lua 5.2" then return end -- handlers cannot yield
    other, again, co = load_beside(coroutine.yield)
    assert.is_true(coroutine.resume(co))
    assert.equal("suspended", coroutine.status(co)) -- and others go on
    other:move(3, 1, 0)
    assert.equal("enter 3>1, enter 1>3, enter 3>2", take())
    assert.same({ true, 2 }, { coroutine.resume(co) })
    assert.equal(0, again:stats().late)
  end)

  it("are refused where the function for their filters changes what they need", function()
    triggers:add(1, "zone")
    triggers:add(2, "zone", { filter = odd })
    local data = triggers:save()
    local function load_while(change)
      local copy = aoi.load(space:save())
      local again = trigger.new(copy, handlers)
      local ok, why = pcall(function()
        again:load(data, function()
          change(copy, again)
          return odd
        end)
      end)
      assert.is_false(ok)
      assert.matches("trigger_saved_spec.lua:%d+: ", why)
      return why, again:stats().triggers
    end
    local function leave(copy) copy:leave(1) end
    local function add(_, again) again:add(1, "zone") end
    assert.same({ "no entity 1", 0 }, { load_while(leave):match "no entity 1", (select(2, load_while(leave))) })
    assert.same({ "already has", 1 }, { load_while(add):match "already has", (select(2, load_while(add))) })
    assert.matches("a closed set of triggers", load_while(function(_, again) again:close() end), 1, true)
    assert.matches("a closed space", load_while(function(copy) copy:close() end), 1, true)
  end)

  it("keep overrides and kept targets of their nodes, and tell nothing of them", function()
    local t = triggers:add(1, "zone", { keep = 20 })
    space:override(1, t.node, 3, "show")
    space:move(2, 15, 0)
    take()
    local copy = aoi.load(space:save())
    local again = trigger.new(copy, handlers)
    again:load(triggers:save())
    assert.equal("", take())
    local loaded = again:get(1, "zone")
    assert.equal(2, loaded:count())
    assert.is_true(loaded:has(2) and loaded:has(3))
    copy:override(1, loaded.node, 3, nil)
    copy:move(2, 25, 0)
    assert.equal("leave 1>3, leave 1>2", take())
    assert.equal(1, #copy:nodes(1)) -- that of the saved ones is gone
  end)

  it("lose a target that lingers as soon as it is gone, in a space that was loaded or made anew", function()
    handlers.slow = { radius = 5, linger = 9, leave = handlers.zone.leave }
    local first = aoi.new { delivery = "deferred" }
    for id = 1, 2 do first:enter(id, id, 0) end
    local former = trigger.new(first, handlers)
    former:add(1, "slow")
    first:flush()
    first:move(2, 50, 0)
    first:flush()
    local data, bytes = former:save(), first:save()
    for _, gone in ipairs { "then", "before" } do
      local copy = aoi.load(bytes)
      local again = trigger.new(copy, handlers)
      if gone == "before" then copy:leave(2) end
      again:load(data)
      if gone == "then" then
        assert.equal("lingering", again:get(1, "slow"):explain(2).state)
        copy:leave(2)
      end
      copy:enter(2, 50, 0) -- another entity
      copy:flush()
      assert.equal("leave 1>2", take())
      assert.equal(0, again:get(1, "slow"):count())
    end
  end)

  it("are refused while events wait, or are drained and not dispatched", function()
    local deferred = aoi.new { delivery = "deferred" }
    triggers = trigger.new(deferred, handlers)
    deferred:enter(1, 0, 0)
    deferred:enter(2, 5, 0)
    triggers:add(1, "zone")
    local function refusal()
      local ok, why = pcall(function() triggers:save() end)
      assert.is_false(ok)
      assert.matches("trigger_saved_spec.lua:%d+: 'save': ", why)
      return why
    end
    assert.matches("wait: deliver them first", refusal())
    local buf, n = deferred:drain()
    assert.matches("dispatch them first", refusal())
    triggers:dispatch(buf, n)
    assert.equal(1, #triggers:save().triggers)
  end)

  it("are refused where data is wrong, and then nothing has changed", function()
    handlers.timed = { radius = 10, interval = 1, after = 3, limit = 1, cooldown = 2 }
    handlers.outer = { radius = 10, outside = true }
    space:move(3, 6, 0)
    triggers:add(1, "zone")
    triggers:add(2, "timed", { filter = odd })
    triggers:region("zone", { x = 0, y = 0 })
    triggers:add(1, "outer")
    triggers:update(0.5)
    local text = text_of(triggers:save())
    local copy = aoi.load(space:save())
    local before = copy:save()
    local function refusal(change, filters)
      local data = (loadstring or load)("return " .. text)()
      change(data, data.triggers[1], data.triggers[2], data.triggers[3])
      local again = trigger.new(copy, handlers)
      local ok, why = pcall(function() again:load(data, filters) end)
      assert.is_false(ok)
      assert.equal(before, copy:save())
      assert.equal(0, again:stats().triggers)
      return (why:match "trigger_saved_spec.lua:%d+: bad argument #1 to 'load' (%b())$")
    end
    local function own() return odd end
    assert.matches("'timed' of 2: it has a filter of its own", refusal(function() end))
    assert.equal("(bad 'version')", refusal(function(d) d.version = 2 end, own))
    assert.equal("(bad 'time')", refusal(function(d) d.time = 0 / 0 end, own))
    assert.equal("(no 'triggers')", refusal(function(d) d.triggers = nil end, own))
    local cases = {
      { "no entity 9", function(_, a) a.id = 9 end },
      { "bad 'id'", function(_, a) a.id = 2 ^ 80 end },
      { "no handlers named 'gone'", function(_, a) a.name = "gone" end },
      { "unknown field 'extra'", function(_, a) a.extra = 1 end },
      { "bad 'mask'", function(_, a) a.mask = 2 ^ 80 end },
      { "'area'", function(_, a) a.area = {} end, true },
      { "'area'", function(_, a) a.area.radius = "wide" end, true },
      { "a target stands there twice", function(_, a) a.targets[2] = a.targets[1] end },
      { "bad target", function(_, a) a.targets[1] = 1 end },
      { "bad 'targets'", function(_, a) a.targets = { 2, nil, 3 } end },
      { "'interval' without 'visits'", function(_, a) a.interval = 1 end },
      { "entity 1 already has a trigger 'zone'", function(d, a) d.triggers[2] = a end, 2 },
      { "visit 1: 'stay' is overdue", function(_, _, b) b.visits[1].since, b.visits[1].state = -1e15, "inside" end, 2 },
      { "visit 1: bad 'since' or 'stays'", function(_, _, b) b.visits[1].since = nil end, 2 },
      { "visit 1: bad 'arrival'", function(_, _, b) b.visits[1].arrival = 1 end, 2 },
      { "visit 1: bad 'due'", function(_, _, b) b.visits[1].due = 9 end, 2 },
      { "visit 1: bad 'state'", function(_, _, b) b.visits[1].state = "about" end, 2 },
      { "bad 'region'", function(_, _, _, c) c.region[2] = 1 / 0 end, 3 },
      { "bad 'region'", function(_, _, _, c) c.region[3] = 1 end, 3 },
      { "'area': bad 'outside'", function(d) d.triggers[4].area.outside = 1 end, 4 },
    }
    for _, case in ipairs(cases) do
      local words = refusal(case[2], own)
      local place = type(case[3]) == "number" and case[3] or 1
      if case[3] == true then
        assert.truthy(words:find("trigger 1: 'area'", 1, true), words)
      else
        assert.equal(("(trigger %d: %s)"):format(place, case[1]), words)
      end
    end
    local again = trigger.new(copy, handlers)
    assert.equal(4, again:load((loadstring or load)("return " .. text)(), own))
  end)
end)

describe("data of triggers that is damaged", function()
  it("is refused, and nothing has changed, or is sound", function()
    local random = rng.new(SEED + 7)
    local function noop() end
    local timed = { radius = 6, filter = odd, limit = 2, cooldown = 0.5 }
    local handlers = { zone = { radius = 5, keep = 8 }, timed = timed }
    timed.interval, timed.after, timed.stay, timed.dwell = 1, 3, noop, noop
    local space = aoi.new { engine = "grid" }
    local triggers = trigger.new(space, handlers)
    for id = 1, 12 do space:enter(id, id, 0) end
    for id = 1, 4 do
      triggers:add(id, "zone")
      triggers:add(id + 4, "timed")
    end
    triggers:region("zone", { x = 3, y = 3 })
    triggers:update(1.75)
    local text, bytes = text_of(triggers:save()), space:save()
    local values = { false, true, -1, 0, 0.5, 1, 2, 3, 1e300, 2 ^ 63, 0 / 0, 1 / 0, -1 / 0, "x", "inside", {}, { 1 } }

    -- Some table of the data, and a key of it.
    local function pick(value)
      local keys = {}
      for k in pairs(value) do keys[#keys + 1] = tostring(k) end
      table.sort(keys)
      if #keys == 0 then return value, 1 end
      local key = keys[random(#keys)]
      if value[key] == nil then key = tonumber(key) end
      if type(value[key]) == "table" and random() < 0.8 then return pick(value[key]) end
      return value, key
    end

    local refused, loaded = 0, 0
    for round = 1, 400 do
      local data = (loadstring or load)("return " .. text)()
      for _ = 1, random(2) do
        local at, key = pick(data)
        if random() < 0.2 then at[key] = nil else at[key] = values[random(#values)] end
      end
      local copy = aoi.load(bytes)
      local before, again = copy:save(), trigger.new(copy, handlers, 1.75)
      local ok, why = pcall(function() again:load(data) end)
      if not ok then
        refused = refused + 1
        assert.matches("trigger_saved_spec.lua:%d+: bad argument #1 to 'load' ", why, "round " .. round)
        assert.equal(0, again:stats().triggers)
        assert.is_true(copy:save() == before)
      else
        loaded = loaded + 1
        for id = 1, 12 do
          copy:move(id, id + 4, 1)
          again:update(again.time + 0.25)
        end
        for id = 9, 12 do copy:leave(id) end
        again:update(again.time + 5)
        again:save()
      end
      assert.is_true(copy:check())
      copy:close()
    end
    assert.is_true(refused > 100 and loaded > 5, ("%d refused, %d loaded"):format(refused, loaded))
  end)
end)

describe("the layers in Lua on a space that was loaded", function()
  local function nothing() end

  -- With nodes and a region of layers that are not there any more, and events of theirs that wait.
  local function used(delivery)
    local space = aoi.new { delivery = delivery }
    for id = 1, 4 do space:enter(id, id, 0) end
    local triggers = trigger.new(space, { zone = { radius = 5, enter = nothing } })
    local near, sight = neighbors.new(space), team.new(space, {})
    for id = 1, 4 do
      triggers:add(id, "zone")
      near:add(id, 5)
      sight:add("red", id, 5)
    end
    triggers:region("zone", { x = 1, y = 1 })
    sight:bush { 0, 0, 2, 0, 2, 2 }
    triggers:remove(4)
    return space
  end

  for _, delivery in ipairs { "immediate", "deferred" } do
    it("choose ids that it does not have: " .. delivery, function()
      local space = used(delivery)
      local copy = aoi.load(space:save())
      local taken, entities = {}, {}
      for _, id in ipairs((copy:ids())) do
        entities[id] = true
        for _, node in ipairs((copy:nodes(id))) do taken[node] = true end
      end
      if delivery == "deferred" then -- of nodes that are gone, too
        local events, n = aoi.load(space:save()):drain()
        for i = 1, 4 * n, 4 do taken[events[i + 3]] = true end
      end
      local heard = 0
      local triggers = trigger.new(copy, { zone = { radius = 5, enter = function() heard = heard + 1 end } })
      local near, sight, clients = neighbors.new(copy), team.new(copy, {}), sync.new(copy)
      for id = 1, 4 do
        assert.is_nil(taken[triggers:add(id, "zone").node])
        near:add(id, 5)
        assert.is_nil(taken[near:node(id)])
        sight:add("red", id, 5)
        assert.is_nil(taken[sight:node("red", id)])
        clients:add(id, 5)
        assert.is_nil(taken[clients:node(id)])
      end
      local region = triggers:region("zone", { x = 1, y = 1 })
      assert.is_nil(entities[region.id])
      assert.is_nil(entities[sight:bush { 0, 0, 2, 0, 2, 2 }])
      local events, n = copy:drain()
      triggers:dispatch(events, n) -- those of nodes of the old layers are passed over
      near:dispatch(events, n)
      assert.equal(4 * 3 + 4, heard)
      for id = 1, 4 do assert.equal(3, near:count(id)) end
      assert.is_true(copy:check())
    end)
  end
end)
