-- Random histories of triggers: compared with a model while handlers only record; with handlers that move, remove and
-- raise, the invariants are checked instead. AOI_SEED replays, AOI_LENGTH makes it longer.
local aoi = require "aoi"
local trigger = require "aoi.trigger"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local Model = require "spec.support.trigger_model"

local SEED, STEPS = random_run.seed("trigger histories"), random_run.steps(750)
local EVENTS = { "first", "enter", "stay", "dwell", "leave", "last" }
local IDS, MAP = 24, 40

local function odd(_, target) return target % 3 ~= 0 end

-- Times are multiples of 1/4, so that equal ones are frequent and exact.
local function random_options(random)
  local function maybe(chance, value) if random() < chance then return value end end
  local radius, outside = random(8), maybe(0.2, true)
  if outside then radius = 22 + random(18) end -- mostly few are outside
  return {
    outside = outside, linger = maybe(0.3, (random(9) - 1) / 4), enter_after = maybe(0.2, (random(9) - 1) / 4),
    radius = radius, keep = maybe(0.3, radius + random(4)), mask = maybe(0.5, random(3)),
    shape = maybe(0.3, "circle"), filter = maybe(0.3, odd),
    interval = maybe(0.4, random(8) / 4), after = maybe(0.4, (random(8) - 1) / 4),
    limit = maybe(0.3, random(2)), cooldown = maybe(0.3, random(12) / 4), once = maybe(0.15, true),
    enabled = maybe(0.2, random() < 0.5),
  }
end

-- The targets inside, in order: what the three questions say is the same.
local function inside(t)
  local list, n = t:targets()
  assert.equal(n, t:count())
  table.sort(list)
  local found = {}
  for id = 1, IDS do
    if t:has(id) then found[#found + 1] = id end
  end
  assert.same(found, list)
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
    if type(list) == "table" and not ("handlers timers spare_maps steps"):find(name) then
      assert.is_nil(next(list), name)
    end
  end
end

local function each_space(f)
  for _, engine in ipairs(aoi.engines()) do
    for _, delivery in ipairs { "immediate", "deferred" } do f(engine, delivery) end
  end
end

each_space(function(engine, delivery)
  describe("random triggers on " .. engine .. ", " .. delivery .. ":", function()
    it("agree with the model", function()
      local random = rng.new(SEED + rng.hash(engine .. delivery))
      local space, model, handlers = aoi.new { engine = engine, delivery = delivery }, Model.new(), {}
      local triggers = trigger.new(space, handlers)
      for i = 1, 3 do
        handlers[i] = {}
        for _, event in ipairs(EVENTS) do
          handlers[i][event] = function(id, target, t)
            local heard = t.data.heard
            assert(id == t.id)
            heard[#heard + 1] = ("%s %d @%.14g"):format(event, target, triggers.time)
          end
        end
      end
      -- Without an interval or a delay those handlers would be a mistake.
      for i = 4, 6 do handlers[i] = { first = handlers[1].first, enter = handlers[1].enter } end
      for i = 4, 6 do handlers[i].leave, handlers[i].last = handlers[1].leave, handlers[1].last end

      local pairs_of, total, done = {}, 0, 0 -- { model's trigger, real one, heard }
      local function compare(step)
        for _, p in ipairs(pairs_of) do
          local expected, real = p.model.heard, p.heard
          if #expected > 0 or #real > 0 then
            assert.same(expected, real, ("step %d, trigger of %d"):format(step, p.model.id))
            total = total + #expected
            p.model.heard, p.data.heard = {}, {}
            p.heard = p.data.heard
          end
          assert.equal(not p.model.dead, p.real:alive())
        end
      end

      for step = 1, STEPS do
        local id, what = random(IDS), random()
        local entity = model.entities[id]
        if not entity then
          local new = { x = random(MAP), y = random(MAP), kind = random(4) - 1 }
          if model:place(id, new) then space:enter(id, new.x, new.y, new.kind) end
        elseif what < 0.1 then
          assert(model:place(id, nil))
          space:leave(id)
          if what < 0.04 and model:place(id, entity) then -- it comes again before the next delivery
            space:enter(id, entity.x, entity.y, entity.kind)
          end
        elseif what < 0.22 then
          local options = random_options(random)
          local name = options.interval and options.after and random(3) or random(3) + 3
          if not triggers:get(id, name) then
            local m = model:add(id, options)
            if m then
              local data = { heard = {} }
              options.data = data
              local p = { model = m, data = data, heard = data.heard }
              p.real = triggers:add(id, name, options)
              p.silent = name > 3 -- has no handlers for stay and dwell
              pairs_of[#pairs_of + 1] = p
            end
          end
        elseif what < 0.26 and #pairs_of > 0 then
          local p = pairs_of[random(#pairs_of)]
          if p.real:alive() then
            local radius = p.model.options.outside and 22 + random(18) or random(8)
            local keep = random() < 0.3 and radius + random(4) or nil
            if model:resize(p.model, radius, keep) then p.real:set_radius(radius, keep) end
          end
        elseif what < 0.30 and #pairs_of > 0 then
          local p = pairs_of[random(#pairs_of)]
          local enabled = random() < 0.6
          if p.real:alive() and model:change(p.model, "enabled", enabled) then
            if enabled then p.real:enable() else p.real:disable() end
          end
        elseif what < 0.32 and #pairs_of > 0 then
          local p = pairs_of[random(#pairs_of)]
          p.model.dead = true
          p.real:remove()
        elseif what < 0.35 and #pairs_of > 0 then
          local p, mask = pairs_of[random(#pairs_of)], random(3)
          if p.real:alive() and model:change(p.model, "mask", mask) then p.real:set_mask(mask) end
        elseif what < 0.39 then
          local new = { x = entity.x, y = entity.y, kind = random(4) - 1 }
          if model:place(id, new) then space:set_kind(id, new.kind) end
        else
          local far = random() < 0.1
          local new = {
            x = far and random(MAP) or entity.x + random(7) - 4,
            y = far and random(MAP) or entity.y + random(7) - 4, kind = entity.kind,
          }
          if model:place(id, new) then space:move(id, new.x, new.y) end
        end
        local waits = {}
        for _, p in ipairs(pairs_of) do
          if not p.model.options.filter then waits[p] = inside(p.real) end
        end
        space:flush()
        for p, list in pairs(waits) do
          if p.real:alive() then assert.same(list, inside(p.real), "before and after a flush, step " .. step) end
        end
        if random() < 0.3 then
          local now = model.time + (random(9) - 1) / 4
          model:update(now)
          triggers:update(now)
        end
        for _, p in ipairs(pairs_of) do
          if p.silent then
            for i = #p.model.heard, 1, -1 do
              if p.model.heard[i]:match("^stay") or p.model.heard[i]:match("^dwell") then
                table.remove(p.model.heard, i)
              end
            end
          end
        end
        compare(step)
        if step % 50 == 0 then
          for i = #pairs_of, 1, -1 do
            if pairs_of[i].model.dead then table.remove(pairs_of, i) end
          end
          for i = #model.triggers, 1, -1 do
            if model.triggers[i].dead then table.remove(model.triggers, i) end
          end
        end
        done = step
      end
      assert.equal(STEPS, done)
      assert.is_true(STEPS < 500 or total > 0)
      pairs_of = nil
      nothing_left(space, triggers)
    end)

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
