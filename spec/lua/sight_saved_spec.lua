-- Sights in snapshots: what goes on after `aoi.load` is what goes on in the space that was saved.
local aoi = require "aoi"
local sights = require "aoi.sight"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

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
  if what == 9 and n > 0 then return shut and sight:shut(walls[1]) or sight:open(walls[1]) end
  if what <= 11 then return sight:tick() end
  if dims == 3 then return space:move(id, x, y, z) end
  return space:move(id, x, y)
end

local function state(w)
  local out = { w.space:save() }
  for id = 1, ENTITIES do
    if has_node(w.space, id, 1) then
      local view, n = w.sight:view(id, 1)
      for i = 1, n do out[#out + 1] = ("%d sees %d"):format(id, view[i]) end
    end
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

  it("has its doors, and gives no id of a wall again", function()
    local space = aoi.new()
    local sight = sights.new(space)
    local door, gone = sight:wall(1, 2, 3, 4), sight:wall(0, 0, 0, 1)
    sight:open(door)
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
