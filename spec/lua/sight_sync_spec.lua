-- Clients with walls: random histories; after every tick a picture is what the client's area sees and no shut wall
-- hides.
local aoi = require "aoi"
local rng = require "spec.support.rng"
local sights = require "aoi.sight"
local syncs = require "aoi.sync"
local tree = require "spec.support.tree"

local IDS, SIDE, STEPS = 30, 20, 4000

local function apply(pic, news)
  for k = 1, news.gone.n do
    assert(pic[news.gone[k]])
    pic[news.gone[k]] = nil
  end
  for k = 1, news.appeared.n do
    local t = news.appeared[4 * k - 3]
    assert(not pic[t])
    pic[t] = { news.appeared[4 * k - 1], news.appeared[4 * k] }
  end
  for k = 1, news.moved.n do
    local t = news.moved[3 * k - 2]
    assert(pic[t])
    pic[t] = { news.moved[3 * k - 1], news.moved[3 * k] }
  end
end

describe("clients that see past walls:", function()
  for _, engine in ipairs(tree.engines) do
    it("pictures on " .. engine .. " are what a loop over all walls says", function()
      local r = rng.new(5)
      local space = aoi.new { engine = engine, delivery = r(2) == 1 and "deferred" or "immediate" }
      local sight = sights.new(space)
      local sync = syncs.new(space, { quantum = 1, sight = sight })
      local x, y, pics, walls, told = {}, {}, {}, {}, 0

      local function tick()
        sync:tick(function(id, message)
          local news = syncs.read(message)
          if news.anew then pics[id] = {} end
          apply(pics[id], news)
          told = told + news.appeared.n
        end)
        for id, pic in pairs(pics) do
          for t = 1, IDS do
            local sees = x[t] and t ~= id and space:sees(id, sync:node(id), t)
              and not sight:ray(x[id], y[id], x[t], y[t])
            assert.equal(not not sees, pic[t] ~= nil)
            if sees then assert.same({ x[t], y[t] }, pic[t]) end
          end
        end
      end

      local function change()
        local id, what = r(IDS), r(100)
        if not x[id] then
          x[id], y[id] = r(SIDE), r(SIDE)
          space:enter(id, x[id], y[id])
          if r(2) == 1 then
            sync:add(id, { shape = "circle", radius = 8, margin = r(3) - 1 })
            pics[id] = {}
          end
        elseif what < 70 then
          x[id], y[id] = r(SIDE), r(SIDE)
          space:move(id, x[id], y[id])
        elseif what < 73 then
          space:leave(id)
          x[id], pics[id] = nil, nil
        elseif what < 80 and #walls < 25 then
          walls[#walls + 1] = sight:wall(r(SIDE), r(SIDE), r(SIDE), r(SIDE))
        elseif what < 82 and walls[1] then
          sight:remove_wall(table.remove(walls, r(#walls)))
        elseif what < 88 and walls[1] then
          sight[r(2) == 1 and "open_wall" or "shut_wall"](sight, walls[r(#walls)])
        elseif what < 89 and pics[id] then
          sync:remove(id)
          pics[id] = nil
        elseif what < 90 and pics[id] then
          sync:resend(id)
        elseif what > 96 then
          tick()
          if r(20) == 1 then assert.is_true(space:check()) end
        end
      end

      for _ = 1, STEPS do change() end
      assert.is_true(told > 100)
      sight:close() -- the walls stay with the clients
      change()
      sync:close()
      assert.is_true(space:check())
    end)
  end

  it("teams and triggers see past walls, too", function()
    local space = aoi.new()
    local sight = sights.new(space)
    local door = sight:wall(5, -3, 5, 3)
    local heard = {}
    local function hear(event)
      return function(_, target) heard[#heard + 1] = event .. target end
    end
    for id, x in ipairs { 0, 10, 1 } do space:enter(id, x, 0) end
    local teams = require("aoi.team").new(space, { enter = hear "+", leave = hear "-", sight = sight })
    teams:add("red", 1, 30)
    local triggers = require("aoi.trigger").new(space, { aggro = { enter = hear "aggro", leave = hear "calm" } })
    local t = triggers:add(1, "aggro", { radius = 30, sight = sight })
    local function tick()
      teams:tick()
      sight:tick()
      table.sort(heard)
      local said = table.concat(heard, " ")
      heard = {}
      return said
    end
    assert.equal("+3 aggro3", tick())
    sight:add(3, 7, 30, nil, { linger = 1 })
    assert.same({ { 3, 7 }, 1 }, { sight:viewers(1) })
    assert.same({ {}, 0 }, { sight:viewers(3) }) -- not the node of the trigger
    sight:remove(3, 7)
    assert.is_false(t:has(2))
    assert.equal("wall", t:explain(2).why)
    assert.is_true(t:has(3))
    sight:open_wall(door)
    assert.equal("+2 aggro2", tick())
    assert.is_true(teams:knows("red", 2))
    sight:shut_wall(door)
    assert.equal("-2 calm2", tick())
    assert.same({ { 3 }, 1 }, { t:targets() })
    assert.has_error(function() triggers:save() end)
    t:remove()
    assert.equal("", tick())
    space:leave(1)
    assert.equal("-3", tick())
    assert.is_true(space:check())
    assert.has_error(function() triggers:add(3, "aggro", { radius = 3, sight = sights.new(aoi.new()) }) end)
    assert.has_error(function() require("aoi.team").new(space, { sight = 5 }) end)
  end)

  it("take an open sight of their space", function()
    local space = aoi.new()
    local sight = sights.new(space)
    assert.has_error(function() syncs.new(space, { sight = 5 }) end)
    assert.has_error(function() syncs.new(aoi.new(), { sight = sight }) end)
    sight:close()
    assert.has_error(function() syncs.new(space, { sight = sight }) end)
  end)

  it("what leaves in the callback of a tick is in no message packed after it", function()
    for _, views in ipairs { 50, { 50, 60 } } do
      local space = aoi.new()
      local sync = syncs.new(space, { sight = sights.new(space), fields = { { "hp", "u8" } } })
      local heard, left = {}, nil
      for id = 1, 40 do space:enter(id, id, 0) end
      for id = 1, 3 do sync:add(id, views) end
      space:enter(99, 0, 0)
      sync:put(99, "hp", 7)
      local function tick(out)
        heard = {}
        sync:tick(function(id, message)
          local news = syncs.read(message)
          heard[#heard + 1] = news
          for k = 1, 4 * news.appeared.n, 4 do assert.is_true(space:has(news.appeared[k])) end
          if out and not left then
            left = id
            for target = out, 99 do
              if space:has(target) then space:leave(target) end
            end
          end
        end)
        assert.is_true(space:check())
        return heard
      end
      assert.equal(3, #tick(10))
      assert.same({ 40, 8, 8 }, { heard[1].appeared.n, heard[2].appeared.n, heard[3].appeared.n })
      tick()
      assert.equal(1, #heard) -- the first client alone knew what has left
      assert.equal(32, heard[1].gone.n)
    end
  end)
end)
