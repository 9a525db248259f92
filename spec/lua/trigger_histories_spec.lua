-- Random histories of triggers. While handlers only record, they are compared with a model, and so are triggers that
-- were saved and loaded, on a space that was saved and loaded, into any engine; with handlers that move, remove and
-- raise, the invariants are checked instead. AOI_SEED replays, AOI_LENGTH makes it longer.
local aoi = require "aoi"
local trigger = require "aoi.trigger"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local Model = require "spec.support.trigger_model"

local SEED, STEPS = random_run.seed("trigger histories"), random_run.steps(750)
local EVENTS = { "first", "enter", "stay", "dwell", "leave", "last" }
local IDS, MAP = 9, 12
local NAMES = { "timed", "shared", "plain", "bare" } -- timed: with handlers for stay and dwell; shared: with a filter

local banned = {} -- targets that the filters refuse
local function filter(_, target) return not banned[target] end

-- Mostly few are outside.
local function radius_of(random, outside) return outside and 5 + random(4) or random(5) end

-- Times are multiples of 1/4, so that equal ones are frequent and exact.
local function random_options(random)
  local function maybe(chance, value) if random() < chance then return value end end
  local outside = maybe(0.2, true)
  local radius = radius_of(random, outside)
  return {
    outside = outside, linger = maybe(0.3, (random(9) - 1) / 4), enter_after = maybe(0.2, (random(9) - 1) / 4),
    radius = radius, keep = maybe(0.3, radius + random(4)), shape = maybe(0.3, "circle"),
    mask = maybe(0.2, random(3)), layers = maybe(0.1, random(3)), filter = maybe(0.2, filter),
    interval = maybe(0.4, random(4) / 2), after = maybe(0.5, (random(6) - 1) / 4),
    limit = maybe(0.25, random(2)), cooldown = maybe(0.2, random(6) / 4), once = maybe(0.2, true),
    enabled = maybe(0.2, random() < 0.5),
  }
end

-- The targets inside, in order; `count` says the same, and `has` of one of them all.
local function inside(t, target)
  local list, n = t:targets()
  assert.equal(n, t:count())
  table.sort(list)
  local found = false
  for i = 1, n do found = found or list[i] == target end
  assert.equal(found, t:has(target))
  return list
end

local function nothing_left(space, triggers)
  for id = 1, IDS do
    if space:has(id) then space:leave(id) end
  end
  space:flush()
  triggers:update(triggers.time + 100)
  collectgarbage()
  collectgarbage()
  for name, n in pairs(triggers:stats()) do assert.equal(0, n, name) end
  for name, list in pairs(triggers) do
    if type(list) == "table" and not ("handlers timers spare_maps steps crossing"):find(name) then
      assert.is_nil(next(list), name)
    end
  end
end

local function each_space(engines, f)
  for _, engine in ipairs(engines) do
    for _, delivery in ipairs { "immediate", "deferred" } do f(engine, delivery) end
  end
end

-- A world is a space and its triggers; `heard` is what they have called since the last comparison, by "id name". Its
-- clock is `ahead` of the model's.
local function hear(world)
  local handlers = {}
  for _, name in ipairs(NAMES) do
    local own = { filter = name == "shared" and filter or nil }
    for _, event in ipairs(EVENTS) do
      if name == "timed" or event ~= "stay" and event ~= "dwell" then
        own[event] = function(id, target, t)
          assert(t.id == id and t.data == "data of " .. id)
          local key = id .. " " .. name
          world.heard[key] = world.heard[key] or {}
          table.insert(world.heard[key], ("%s %d @%.14g"):format(event, target, world.triggers.time - world.ahead))
        end
      end
    end
    handlers[name] = own
  end
  return handlers
end

local function saved_and_loaded(world, engine, ahead)
  local copy = { heard = {}, ahead = world.ahead + ahead }
  local data = world.triggers:save()
  copy.space = aoi.load(world.space:save(), nil, { engine = engine })
  copy.triggers = trigger.new(copy.space, hear(copy), world.triggers.time + ahead)
  assert.equal(#data.triggers, copy.triggers:load(data, function() return filter end))
  copy.space:flush()
  assert.is_nil(next(copy.heard))
  assert.equal(world.triggers:stats().timers, copy.triggers:stats().timers)
  return copy
end

-- What the model's triggers have heard, by "id name", without what has no handlers.
local function heard_by_model(game)
  local heard = {}
  for key, m in pairs(game.by_key) do
    for _, event in ipairs(m.heard) do
      if key:find "timed" or not event:find "^stay" and not event:find "^dwell" then
        heard[key] = heard[key] or {}
        table.insert(heard[key], event)
      end
    end
    m.heard = {}
  end
  return heard
end

-- game: random, model, worlds (the first, and one that was saved and loaded), by_key ("id name" -> model's trigger).
local function each(game, f)
  for _, w in ipairs(game.worlds) do f(w.space, w.triggers) end
end

-- Changes an entity in the model, and then in the worlds.
local function place(game, id, new, call)
  if not game.model:place(id, new) then return false end
  each(game, call)
  return true
end

-- A trigger that lives, often the last one: its change in the model, and then in the worlds.
local function change(game, fields, call)
  local random = game.random
  local id, name = random(IDS), random(NAMES)
  if game.last and random() < 0.6 then id, name = game.last[1], game.last[2] end
  local m = game.by_key[id .. " " .. name]
  if not m or m.dead then return false end
  fields = fields(m)
  if not game.model:change(m, fields) then return false end
  each(game, function(_, triggers) call(triggers:get(id, name), fields) end)
  game.last = { id, name }
  return true
end

local function look(entity, fields)
  local new = { x = entity.x, y = entity.y, kind = entity.kind, layers = entity.layers }
  for name, value in pairs(fields) do new[name] = value end
  return new
end

local function enter(game, id, e)
  return place(game, id, e, function(s) s:enter(id, e.x, e.y, { kind = e.kind, layers = e.layers }) end)
end

-- { weight, what it does with an entity that is there; true if that is done: the model refuses what lets a trigger
-- gain or lose two }
local VERBS = {
  { 4, function(game, id, entity)
    assert(game.model:place(id, nil))
    each(game, function(s) s:leave(id) end)
    local what = game.random()
    if what < 0.3 then enter(game, id, entity) end -- it comes again before the next delivery
    if what > 0.8 then enter(game, id, look(entity, { x = game.random(MAP), y = game.random(MAP) })) end
    return true
  end },
  { 20, function(game, id)
    local options, name = random_options(game.random), game.random(NAMES)
    local key = id .. " " .. name
    if game.by_key[key] and not game.by_key[key].dead then return false end
    if name == "shared" then options.filter = filter end
    if name == "timed" then -- its handlers need them
      options.interval, options.after = options.interval or 1, options.after or game.random(6) / 4
    end
    local m = game.model:add(id, options)
    if not m then return false end
    game.by_key[key] = m
    local given = { data = "data of " .. id }
    for option, value in pairs(options) do given[option] = value end
    if name == "shared" then given.filter = nil end -- the one beside the handlers
    each(game, function(_, triggers) triggers:add(id, name, given) end)
    return true
  end },
  { 4, function(game)
    local random = game.random
    return change(game, function(m)
      local radius = radius_of(random, m.options.outside)
      return { radius = radius, keep = random() < 0.3 and radius + random(4) or false }
    end, function(t, fields) t:set_radius(fields.radius, fields.keep or nil) end)
  end },
  { 3, function(game)
    local random = game.random
    return change(game, function(m)
      local radius = radius_of(random, m.options.outside)
      local mask, layers = random() < 0.3 and random(3) or nil, random() < 0.3 and random(3) or nil
      return { radius = radius, keep = false, shape = random { "square", "circle" }, mask = mask, layers = layers }
    end, function(t, f) t:set_area { radius = f.radius, shape = f.shape, mask = f.mask, layers = f.layers } end)
  end },
  { 5, function(game)
    local enabled = game.random() < 0.6
    return change(game, function() return { enabled = enabled } end, function(t)
      if enabled then t:enable() else t:disable() end
      assert.equal(enabled, t:enabled())
    end)
  end },
  { 2, function(game, id)
    local name = game.random(NAMES)
    local m = game.by_key[id .. " " .. name]
    if not m or m.dead then return false end
    m.dead = true
    each(game, function(_, triggers) triggers:get(id, name):remove() end)
    return true
  end },
  { 3, function(game)
    local fields = { mask = game.random(3) }
    return change(game, function() return fields end, function(t) t:set_mask(fields.mask) end)
  end },
  { 4, function(game, id, entity)
    local new = look(entity, { kind = game.random(4) - 1 })
    return place(game, id, new, function(s) s:set_kind(id, new.kind) end)
  end },
  { 3, function(game, id, entity)
    local new = look(entity, { layers = game.random(3) })
    return place(game, id, new, function(s) s:set_layers(id, new.layers) end)
  end },
  { 4, function(game, id)
    banned[id] = game.random() < 0.3
    game.model:refresh(id)
    each(game, function(s, triggers)
      s:flush()
      triggers:refresh(id)
    end)
    return true
  end },
  { 55, function(game, id, entity)
    local random = game.random
    local far = random() < 0.1
    local new = look(entity, {
      x = far and random(MAP) or entity.x + random(5) - 3, y = far and random(MAP) or entity.y + random(5) - 3,
    })
    return place(game, id, new, function(s) s:move(id, new.x, new.y) end)
  end },
}

local function try_something(game)
  local random = game.random
  local id = random(IDS)
  local entity, at = game.model.entities[id], 0
  if not entity then
    return enter(game, id, { x = random(MAP), y = random(MAP), kind = random(3), layers = 3 })
  end
  for _, verb in ipairs(VERBS) do at = at + verb[1] end
  at = random(at)
  for _, verb in ipairs(VERBS) do
    at = at - verb[1]
    if at <= 0 then return verb[2](game, id, entity) end
  end
end

local function do_something(game)
  for _ = 1, 8 do
    if try_something(game) then return end
  end
end

-- Of every trigger: it lives, how many are inside and wait, the state of one target.
local function compare(game, step)
  local heard, target = heard_by_model(game), game.random(IDS)
  for i, w in ipairs(game.worlds) do
    local place_of = ("step %d, world %d"):format(step, i)
    assert.same(heard, w.heard, place_of)
    if next(w.heard) then w.heard = {} end
    for key, m in pairs(game.by_key) do
      local id, name = key:match "^(%d+) (.*)$"
      local t = w.triggers:get(tonumber(id), name)
      assert.equal(not m.dead, t ~= nil, place_of)
      if t and game.random() < 0.3 then
        local inside_now, waiting = Model.numbers(m)
        assert.equal(inside_now, #inside(t, target), place_of)
        assert.equal(waiting, t:waiting(), place_of)
        local state, told = Model.state(m, target), t:explain(target).state
        if m.enabled and not m.spent and (state or told ~= "refused") then assert.equal(state, told, place_of) end
      end
    end
  end
  for key, m in pairs(game.by_key) do
    if m.dead then game.by_key[key] = nil end
  end
  return next(heard) ~= nil
end

-- What the model says does not depend on the engine: the first two, and copies on any.
each_space({ "list", "grid" }, function(engine, delivery)
  describe("random triggers on " .. engine .. ", " .. delivery .. ":", function()
    it("agree with the model, those that were saved and loaded, too", function()
      banned = {}
      local random = rng.new(SEED + rng.hash(engine .. delivery))
      local first = { heard = {}, ahead = 0, space = aoi.new { engine = engine, delivery = delivery } }
      first.triggers = trigger.new(first.space, hear(first))
      local game = { random = random, model = Model.new(), worlds = { first }, by_key = {} }
      local model, calls = game.model, 0
      for step = 1, 5 * STEPS do
        do_something(game)
        each(game, function(space, triggers)
          local waits, target = {}, random(IDS)
          for key, m in pairs(delivery == "deferred" and game.by_key or {}) do
            local id, name = key:match "^(%d+) (.*)$"
            local t = not m.options.filter and triggers:get(tonumber(id), name)
            if t then waits[t] = inside(t, target) end
          end
          if random() < 0.3 then triggers:dispatch(aoi.drain_reasons(space)) else space:flush() end
          for t, list in pairs(waits) do
            if t:alive() then assert.same(list, inside(t, target), "before and after a flush, step " .. step) end
          end
        end)
        if random() < 0.3 then
          local now = model.time + (random(9) - 1) / 4
          model:update(now)
          for _, w in ipairs(game.worlds) do w.triggers:update(now + w.ahead) end
        end
        if step % 20 == 0 then -- to be saved: what update has ended is delivered
          for _, w in ipairs(game.worlds) do w.space:flush() end
        end
        if compare(game, step) then calls = calls + 1 end
        for i = #model.triggers, 1, -1 do
          if model.triggers[i].dead then table.remove(model.triggers, i) end
        end
        if step % 20 == 0 then -- a copy of a copy of a copy, beside the first for ever
          local last, others = game.worlds[#game.worlds], aoi.engines()
          game.worlds[2] = saved_and_loaded(last, others[random(#others)], random(2) * 64 - 64)
          if last ~= first then last.space:close() end
        end
      end
      assert.is_true(STEPS < 500 or calls > 0)
      for _, w in ipairs(game.worlds) do
        assert.is_true(w.space:check())
        nothing_left(w.space, w.triggers)
      end
    end)

  end)
end)

each_space(aoi.engines(), function(engine, delivery)
  describe("random triggers on " .. engine .. ", " .. delivery .. ":", function()
    it("keep their promises when handlers do anything, errors included", function()
      local random = rng.new(SEED + rng.hash(engine .. delivery) + 1)
      local space, handlers = aoi.new { engine = engine, delivery = delivery }, {}
      local triggers = trigger.new(space, handlers)
      local lives, live = {}, 0 -- id -> which life of that id, for entities that are there
      local now, calls, depth, budget = 0, 0, 0, 0
      local act

      local function heard(event, id, target, t)
        calls = calls + 1
        local notes = t.data
        assert(not notes.removed, "a removed trigger was heard")
        assert(lives[id] == notes.life, "the carrier is gone")
        if event == "enter" then
          assert(not notes.inside[target], "enter twice")
          assert(lives[target], "enter about nobody")
          assert(notes.occupied, "enter before first")
          notes.inside[target] = true
          notes.count = notes.count + 1
        elseif event == "leave" then
          assert(notes.inside[target], "leave without enter")
          notes.inside[target] = nil
          notes.count = notes.count - 1
        elseif event == "first" then
          assert(not notes.occupied and notes.count == 0, "first, but not empty")
          assert(lives[target], "first about nobody")
          notes.occupied = true
        elseif event == "last" then
          assert(notes.occupied and notes.count == 0, "last, but not empty")
          notes.occupied = false
        else
          assert(notes.inside[target], event .. " outside")
          assert(lives[target], event .. " about nobody")
        end
        if notes.limit then assert(notes.count <= notes.limit, "over the limit") end
        depth = depth + 1
        while budget > 0 and random() < 0.4 do
          budget = budget - 1
          act(t)
        end
        depth = depth - 1
        if random() < 0.05 then error("planned", 0) end
      end
      for i = 1, 3 do
        handlers[i] = {}
        for _, event in ipairs(EVENTS) do
          handlers[i][event] = function(id, target, t) return heard(event, id, target, t) end
        end
      end
      handlers[1].filter = function(_, target)
        if budget > 0 and random() < 0.1 then
          budget = budget - 1
          act()
        end
        return target % 4 ~= 0
      end

      local function remove(t)
        t.data.removed = true
        t:remove()
      end
      function act(current)
        local id, what = random(IDS), random()
        if not space:has(id) then
          live = live + 1
          lives[id] = live
          space:enter(id, random(MAP), random(MAP), random(4) - 1)
        elseif what < 0.12 then
          lives[id] = nil
          space:leave(id)
        elseif what < 0.30 then
          local name = random(3)
          if not triggers:get(id, name) then
            local options = random_options(random)
            options.interval, options.after = options.interval or 1, options.after or 2
            options.data = { inside = {}, count = 0, life = lives[id], limit = options.limit }
            triggers:add(id, name, options)
          end
        elseif what < 0.34 then
          local t = triggers:get(id, random(3)) or current
          if t then remove(t) end
        elseif what < 0.40 then
          local t = triggers:get(id, random(3))
          if t then
            if random() < 0.4 then t:disable() else t:enable() end
          end
        elseif what < 0.44 then
          triggers:refresh(id)
        elseif what < 0.5 then
          now = math.max(now, triggers.time) + random(4) / 4
          triggers:update(now)
        else
          space:move(id, random(MAP), random(MAP))
        end
      end

      for _ = 1, STEPS do
        budget = 8
        local ok, err = pcall(act)
        depth = 0
        if not ok and err ~= "planned" then error(err, 0) end
        if random() < 0.5 then
          ok, err = pcall(space.flush, space)
          if not ok and err ~= "planned" then error(err, 0) end
        end
        if random() < 0.2 then
          now = math.max(now, triggers.time) + random(4) / 4
          ok, err = pcall(triggers.update, triggers, now)
          if not ok and err ~= "planned" then error(err, 0) end
        end
      end
      -- Let everything be delivered, then what each trigger told must be what it says.
      local last = random
      random = function() return 1 end
      for _ = 1, 1000 do
        if pcall(space.flush, space) and pcall(triggers.update, triggers, math.max(now, triggers.time)) then break end
      end
      for id = 1, IDS do
        for name = 1, 3 do
          local t = triggers:get(id, name)
          if t then
            assert.equal(t.data.count, t:count())
            assert.equal(t.data.count > 0, t.data.occupied or false)
            local list, n = t:targets()
            for i = 1, n do assert.is_true(t.data.inside[list[i]]) end
          end
        end
      end
      random = last
      assert.is_true(STEPS < 500 or calls > 0)
      handlers[1], handlers[2], handlers[3] = nil, nil, nil
      nothing_left(space, triggers)
    end)
  end)
end)
