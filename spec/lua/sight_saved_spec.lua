-- Sights in snapshots and journals: what goes on after `aoi.load` is what goes on in the space that was saved, and what
-- is played is what was recorded.
local aoi = require "aoi"
local journal = require "aoi.journal"
local sights = require "aoi.sight"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local syncs = require "aoi.sync"

local ENTITIES = 12
local seed = random_run.seed("sight_saved")

-- A space with a sight, and what its events were.
local function world(space, sight)
  local w = { space = space, sight = sight, log = {} }
  w.handlers = {
    enter = function(id, target, node) w.log[#w.log + 1] = ("%d.%d+%d"):format(id, node, target) end,
    leave = function(id, target, node) w.log[#w.log + 1] = ("%d.%d-%d"):format(id, node, target) end,
  }
  return w
end

local function has_node(space, id, node)
  if not space:has(id) then return false end
  for _, n in ipairs((space:nodes(id))) do
    if n == node then return true end
  end
  return false
end

-- One after the other, the same in every world that goes along.
local function step(random, w, dims)
  local id, other, what = random(ENTITIES), random(ENTITIES), random(14)
  local x, y, z = random(20) - 10, random(20) - 10, dims == 3 and random(5) or nil
  local radius, grown, linger = random(12), random(3) - 1, random(4) - 1
  local from, to, shut = random(20) - 10, random(20) - 10, random(2) == 1
  local space, sight = w.space, w.sight
  local there, has = space:has(id), has_node(space, id, 1)
  if what == 1 and there then return space:leave(id) end
  if not there then
    if dims == 3 then return space:enter(id, x, y, z, random(3)) end
    return space:enter(id, x, y, random(3))
  end
  if what == 2 and has then return sight:remove(id, 1) end
  if what <= 4 and not has then
    local area = { radius = radius, keep = radius + grown }
    return sight:add(id, 1, area, w.handlers, { linger = linger })
  end
  if what == 5 and has then return space:set_radius(id, 1, radius, radius + grown) end
  if what == 6 and has and space:has(other) and other ~= id then
    return space:override(id, 1, other, ({ "hide", "show", "match" })[random(4)])
  end
  if what == 7 then
    if dims == 3 then return sight:wall(from, y, to, x, 0, random(3)) end
    return sight:wall(from, y, to, x)
  end
  local walls, n = sight:walls()
  if what == 8 and n > 8 then return sight:remove_wall(walls[from % n + 1]) end
  if what == 9 and n > 0 then return shut and sight:shut_wall(walls[1]) or sight:open_wall(walls[1]) end
  if what <= 11 then return sight:tick() end
  if dims == 3 then return space:move(id, x, y, z) end
  return space:move(id, x, y)
end

local function texts(...)
  local list = { ... }
  for i = 1, #list do list[i] = tostring(list[i]) end
  return list
end

local function state(w, views_only)
  local out = { views_only and "" or w.space:save() }
  for id = 1, ENTITIES do
    if has_node(w.space, id, 1) then
      local view, n = w.sight:view(id, 1)
      for i = 1, n do out[#out + 1] = ("%d sees %d"):format(id, view[i]) end
    end
  end
  local walls, count = w.sight:walls()
  for i = 1, count do
    out[#out + 1] = ("%d: %s"):format(walls[i], table.concat(texts(w.sight:get_wall(walls[i])), " "))
  end
  table.sort(out)
  return out
end

local function loaded(w)
  local copy = world()
  copy.space = aoi.load(w.space:save(), function() return copy.handlers end)
  copy.sight = sights.new(copy.space)
  return copy
end

-- Clients of the same walls, from step 10 on.
local function serve(w, i, random)
  local id, target = random(ENTITIES), random(ENTITIES)
  if i == 10 then w.sync = syncs.new(w.space, { sight = w.sight }) end
  if not w.sync or not w.space:has(id) then return end
  if pcall(w.sync.add, w.sync, id, 8) then return w.sync end
  if i % 7 == 0 then w.sync:remove(id)
  elseif i % 11 == 0 and id ~= target and w.space:has(target) then w.sync:pin(id, target) end
  if i % 5 == 0 then w.sync:tick(w.send or function() end) end
end

for _, delivery in ipairs { "immediate", "deferred" } do
  describe("a journal of a sight, " .. delivery .. ",", function()
    it("makes the same events, views and walls, from any mark", function()
      for round = 1, 8 do
        local space = aoi.new { delivery = delivery }
        local w, again, made, pieces, j = world(space, sights.new(space)), world(), {}, {}, nil
        local steps = random_run.steps(160)
        for i = 1, steps do
          if i == math.min(round * 5, steps - 10) then -- with clients, or before there are any
            j, w.log = journal.record(space, function(bytes) pieces[#pieces + 1] = bytes end), {}
          end
          local random = rng.new(seed * 10007 + round * 1009 + i)
          step(random, w, 2)
          serve(w, i, random)
          if i % 9 == 0 then space:flush() end
          if j and i % 10 == 0 then
            j:mark(i)
            table.sort(w.log)
            made[i], w.log = { log = w.log, state = state(w, true) }, {}
          end
        end
        local info = ("%s, round %d"):format(random_run.again(seed), round)
        j:stop()
        local player = journal.open(table.concat(pieces), { handlers = function() return again.handlers end })
        player.frame_calls = 1
        local function compare(time, heard)
          if again.space ~= player.space then again.sight = sights.new(player.space) end
          again.space = player.space
          assert.is_true(player.space:check())
          table.sort(again.log)
          if heard then assert.same(made[time].log, again.log, info) end
          again.log = {}
          assert.same(made[time].state, state(again, true), info)
        end
        for time = 10, steps, 10 do
          if made[time] then
            player:seek(time)
            compare(time, true)
          end
        end
        for time = steps - steps % 10, 10, -30 do
          if made[time] then
            player:seek(time)
            compare(time, false)
          end
        end
      end
    end)
  end)
end

describe("a saved sight", function()
  for _, dims in ipairs { 2, 3 } do
    for _, delivery in ipairs { "immediate", "deferred" } do
      it(("goes on as the one that was saved, %dD, %s"):format(dims, delivery), function()
        for round = 1, 12 do
          local space = aoi.new { dimensions = dims, delivery = delivery }
          local w, copy = world(space, sights.new(space)), nil
          for i = 1, random_run.steps(160) do
            if i == 20 + round * 5 then copy = loaded(w) end
            local number = seed * 10007 + round * 1009 + i
            w.log = {}
            step(rng.new(number), w, dims)
            if copy then
              copy.log = {}
              step(rng.new(number), copy, dims)
              table.sort(w.log)
              table.sort(copy.log)
              assert.same(w.log, copy.log, ("%s, step %d"):format(random_run.again(seed), i))
            end
            if copy and i % 10 == 0 then
              assert.is_true(copy.space:check())
              assert.same(state(w), state(copy), ("%s, step %d"):format(random_run.again(seed), i))
            end
          end
        end
      end)
    end
  end

  -- Between two ticks something goes and comes again by the same id: both are reported, also after saving there.
  local AGAIN = {
    target = function(w) w.space:leave(2) w.space:enter(2, 1, 0) end,
    ["target, behind another entity,"] = function(w)
      w.space:leave(2)
      w.space:enter(3, 100, 0) -- in the slot of the former 2
      w.space:enter(2, 1, 0)
    end,
    node = function(w) w.sight:remove(1, 7) w.sight:add(1, 7, 5, w.handlers) end,
    watcher = function(w)
      w.space:leave(1)
      w.space:enter(1, 0, 0)
      w.sight:add(1, 7, 5, w.handlers)
    end,
  }

  for name, again in pairs(AGAIN) do
    it(("reports a %s that has gone and come again before it was saved, or recorded"):format(name), function()
      for _, linger in ipairs { 0, 3 } do
        local space = aoi.new()
        local w = world(space, sights.new(space))
        space:enter(1, 0, 0)
        space:enter(2, 1, 0)
        w.sight:add(1, 7, 5, w.handlers, { linger = linger })
        w.sight:tick()
        w.log = {}
        again(w)
        local copy = aoi.load(space:save(), function() return w.handlers.enter, w.handlers.leave end)
        sights.new(copy):tick()
        assert.same({ "1.7-2", "1.7+2" }, w.log)
        local pieces = {}
        local recording = journal.record(space, function(bytes) pieces[#pieces + 1] = bytes end)
        w.sight:tick()
        recording:stop()
        local player = journal.open(table.concat(pieces))
        while player:step() do end
        assert.is_true(player.space:check())
      end
    end)
  end

  it("owes leaves of a node whose id another sight, or the space, has now", function()
    for _, to in ipairs { 1, 2, 3, "space" } do
      for from = 1, 3 do
        local space, log = aoi.new(), {}
        local handlers = { leave = function(id, target) log[#log + 1] = id .. "-" .. target end }
        local first = sights.new(space)
        local all = { first, sights.new(space, { walls = first }), sights.new(space) }
        space:enter(1, 0, 0)
        space:enter(2, 1, 0)
        all[from]:add(1, 7, 5, handlers)
        all[from]:tick()
        space:remove_node(1, 7)
        if to == "space" then space:add_node(1, 7, 5, handlers) else all[to]:add(1, 7, 5, handlers) end
        local copy = aoi.load(space:save(), function() return handlers end)
        assert.equal(copy:save(), aoi.load(copy:save(), function() return handlers end):save())
        for _ = 1, 2 do sights.new(copy):tick() end
        assert.same(from ~= 2 and { "1-2" } or {}, log) -- the second one is not saved
        assert.is_true(copy:check())
        local pieces = {}
        journal.record(space, function(bytes) pieces[#pieces + 1] = bytes end):stop()
        assert.is_true(journal.open(table.concat(pieces)).space:check())
      end
    end
  end)

  it("can be loaded where one target has gone and another has come again", function()
    local space = aoi.new()
    local w = world(space, sights.new(space))
    for id = 1, 4 do space:enter(id, 0, 0) end
    w.sight:add(1, 7, 5, w.handlers)
    w.sight:tick()
    for _, id in ipairs { 2, 3, 4 } do
      space:leave(id)
      if id ~= 2 then space:enter(id, 0, 0) end
      local copy = aoi.load(space:save(), function() return w.handlers.enter, w.handlers.leave end)
      assert.is_true(copy:check())
    end
  end)

  for _, delivery in ipairs { "immediate", "deferred" } do
    it("keeps leaves of what has gone for the next tick, whatever the space delivers, " .. delivery, function()
      local space = aoi.new { delivery = delivery }
      local w = world(space, sights.new(space))
      for id = 1, 3 do space:enter(id, id, 0) end
      space:add_node(1, 0, 5, w.handlers)
      w.sight:add(1, 7, 5, w.handlers)
      w.sight:add(2, 7, 5, w.handlers)
      space:flush()
      w.sight:tick()
      space:leave(3)
      w.sight:remove(2, 7)
      local copy = loaded(w)
      local again = loaded(copy)
      assert.equal(space:save(), again.space:save())
      for _, it in ipairs { w, copy, again } do
        it.log = {}
        it.space:enter(4, 0, 0)
        it.space:flush()
        table.sort(it.log)
        local heard = delivery == "deferred" and { "1.0+4", "1.0-3" } or { "1.0+4" }
        assert.same(heard, it.log)
        it.log = {}
        assert.equal(4, it.sight:tick())
        assert.equal("1.7+4", table.remove(it.log)) -- behind all leaves
        table.sort(it.log)
        assert.same({ "1.7-3", "2.7-1", "2.7-3" }, it.log)
        assert.is_true(it.space:check())
      end
    end)
  end

  it("may owe leaves when a recording begins: others are delivered before them", function()
    local space = aoi.new()
    local w = world(space, sights.new(space))
    space:enter(1, 0, 0)
    space:add_node(1, 8, 5, w.handlers)
    w.sight:add(1, 7, 5, w.handlers)
    space:enter(2, 1, 0)
    w.sight:tick()
    space:leave(2)
    local pieces = {}
    local recording = journal.record(space, function(bytes) pieces[#pieces + 1] = bytes end)
    w.log = {}
    space:enter(3, 1, 0)
    w.sight:tick()
    recording:stop()
    assert.same({ "1.8+3", "1.7-2", "1.7+3" }, w.log)
    local played = {}
    local player = journal.open(table.concat(pieces), { handlers = function()
      return function(id, target, node) played[#played + 1] = ("%d.%d+%d"):format(id, node, target) end,
        function(id, target, node) played[#played + 1] = ("%d.%d-%d"):format(id, node, target) end
    end })
    while player:step() do end -- luacheck: ignore
    assert.same(w.log, played)
  end)

  it("has its doors, and gives no id of a wall again", function()
    local space = aoi.new()
    local sight = sights.new(space)
    local door, gone = sight:wall(1, 2, 3, 4), sight:wall(0, 0, 0, 1)
    sight:open_wall(door)
    sight:remove_wall(gone)
    local copy = sights.new(aoi.load(space:save()))
    assert.same({ sight:get_wall(door) }, { copy:get_wall(door) })
    assert.equal(gone + 1, copy:wall(5, 5, 6, 6))
    assert.equal(0, select(2, sights.new(aoi.load(aoi.new():save())):walls()))
  end)

  it("that shares another's walls is not saved, nor are clients", function()
    local space = aoi.new()
    space:enter(1, 0, 0)
    local sight = sights.new(space)
    local other = sights.new(space, { walls = sight })
    sight:wall(1, 2, 3, 4)
    other:add(1, 7, { radius = 5 })
    local copy = aoi.load(space:save())
    assert.is_false(has_node(copy, 1, 7))
    assert.equal(1, select(2, sights.new(copy):walls()))
    assert.equal(0, select(2, sights.new(copy):walls())) -- it has been taken over
  end)
end)
