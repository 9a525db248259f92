-- Neighbour lists: view and viewers of an entity, what has changed since the last tick, and messages for clients.
local aoi = require "aoi"
local neighbors = require "aoi.neighbors"
local garbage_of = require "spec.support.garbage"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local PLAYER, NPC = 1, 2
local SEED = random_run.seed("neighbour lists")

local function sorted(list, n)
  local copy = {}
  for i = 1, n do copy[i] = list[i] end
  table.sort(copy)
  return copy
end

local function walk(iterator, list, first)
  local found = {}
  for i, id in iterator, list, first do
    assert(type(i) == "number")
    found[#found + 1] = id
  end
  table.sort(found)
  return found
end

for _, engine in ipairs(aoi.engines()) do
  describe("neighbours on " .. engine .. ":", function()
    local space, near

    before_each(function()
      space = aoi.new { engine = engine }
      near = neighbors.new(space)
      for id = 1, 4 do space:enter(id, id * 10, 0, id <= 2 and PLAYER or NPC) end
    end)

    -- What the last sync said, as text by watcher: "-gone +appeared(kind,x,y) >moved(x,y)".
    local function sync(dimensions)
      local said = {}
      local n = near:sync(function(watcher, message, size)
        assert.equal(size, #message)
        assert.is_nil(said[watcher])
        local parts = {}
        local function point(x, y, z) return x .. "," .. y .. (z and "," .. z or "") end
        neighbors.read(message, dimensions or 2, {
          disappeared = function(id) parts[#parts + 1] = "-" .. id end,
          appeared = function(id, kind, x, y, z)
            parts[#parts + 1] = ("+%d(%d,%s)"):format(id, kind, point(x, y, z))
          end,
          moved = function(id, x, y, z) parts[#parts + 1] = (">%d(%s)"):format(id, point(x, y, z)) end,
        })
        said[watcher] = table.concat(parts, " "):gsub("%.0", "")
      end)
      local count = 0
      for _ in pairs(said) do count = count + 1 end
      assert.equal(n, count)
      return said
    end

    local function nothing_left()
      collectgarbage()
      collectgarbage()
      assert.same({ watchers = 0, neighbors = 0, targets = 0, changes = 0 }, near:stats())
      for name, list in pairs(near) do
        if type(list) == "table" and name ~= "spare" and name ~= "message" then assert.is_nil(next(list), name) end
      end
    end

    it("lists, counts and viewers", function()
      near:add(1, 15)
      near:add(2, { radius = 15, mask = NPC })
      assert.same({ 2 }, walk(near:each(1)))
      assert.same({ 3 }, walk(near:each(2)))
      assert.same({ 2 }, sorted(near:list(1)))
      assert.equal(1, near:count(1))
      assert.equal(1, near:viewer_count(2))
      assert.same({ 1 }, walk(near:each_viewer(2)))
      assert.same({ 1 }, sorted(near:viewers(2)))
      assert.is_true(near:has(1, 2))
      assert.is_false(near:has(2, 1))
      space:move(3, 20, 0)
      assert.same({ 2, 3 }, walk(near:each(1)))
      assert.same({ 1, 2 }, walk(near:each_viewer(3)))
      space:set_radius(1, near:node(1), 5)
      assert.equal(0, near:count(1))
      assert.same({ 2 }, walk(near:each_viewer(3)))
    end)

    it("strangers have empty lists", function()
      for _, id in ipairs { 1, 99 } do
        assert.same({}, walk(near:each(id)))
        assert.same({}, walk(near:each_viewer(id)))
        assert.equal(0, near:count(id))
        assert.equal(0, near:viewer_count(id))
        assert.is_false(near:has(id, 2))
        assert.is_nil(near:node(id))
        assert.is_false(near:remove(id))
        local _, n = near:joined(id)
        assert.equal(0, n)
      end
      assert.has_error(function() near:add(99, 10) end)
      near:add(1, 10)
      assert.error_matches(function() near:add(1, 10) end, "already")
    end)

    it("anything may happen to the one that a walk is at", function()
      near:add(1, 1000)
      for id = 5, 50 do space:enter(id, id, id) end
      local met = {}
      for _, id in near:each(1) do
        met[#met + 1] = id
        space:leave(id)
      end
      assert.equal(49, #met)
      assert.equal(0, near:count(1))
    end)

    it("a walk ends, whatever happens to the list", function()
      near:add(1, 1000)
      for id = 5, 50 do space:enter(id, id, id) end
      local n = 0
      for _ in near:each(1) do
        n = n + 1
        if n == 3 then
          for id = 2, 48 do space:leave(id) end
        end
      end
      assert.is_true(n <= 5)
    end)

    it("joined and left since the last tick, as net change", function()
      near:add(1, 15)
      assert.same({ 2 }, sorted(near:joined(1)))
      near:tick()
      assert.same({}, sorted(near:joined(1)))
      space:move(3, 15, 0)
      space:move(4, 15, 0)
      space:move(4, 500, 0) -- came and went
      space:move(2, 500, 0)
      assert.same({ 3 }, sorted(near:joined(1)))
      assert.same({ 2 }, sorted(near:left(1)))
      space:move(2, 20, 0) -- went and came
      assert.same({ 2, 3 }, sorted(near:joined(1)))
      assert.same({ 2 }, sorted(near:left(1)))
      space:move(2, 500, 0)
      assert.same({ 3 }, sorted(near:joined(1)))
      assert.same({ 2 }, sorted(near:left(1, {})))
      space:move(4, 15, 0)
      assert.same({ 3, 4 }, sorted(near:joined(1)))
      near:tick()
      assert.same({}, sorted(near:joined(1)))
      assert.same({}, sorted(near:left(1)))
      assert.same({ 3, 4 }, walk(near:each(1)))
    end)

    it("sync: appeared, moved, disappeared, grouped by watcher", function()
      near:add(1, 15)
      near:add(2, 15)
      assert.same({ [1] = "+2(1,20,0)", [2] = "+1(1,10,0) +3(2,30,0)" }, (function()
        local said = sync()
        if said[2] == "+3(2,30,0) +1(1,10,0)" then said[2] = "+1(1,10,0) +3(2,30,0)" end -- any order
        return said
      end)())
      assert.same({}, sync())
      near:move(1, 11, 0)
      near:move(1, 12, 1)
      near:move(4, 50, 0)
      assert.same({ [2] = ">1(12,1)" }, sync())
      near:move(3, 20, 5)
      assert.same({ [1] = "+3(2,20,5)", [2] = ">3(20,5)" }, sync())
      space:leave(3)
      assert.same({ [1] = "-3", [2] = "-3" }, sync())
      assert.same({}, sync())
    end)

    it("sync: a new entity of an old id disappears and appears", function()
      near:add(1, 15)
      sync()
      space:leave(2)
      space:enter(2, 12, 3, NPC)
      near:moved(2)
      assert.same({ [1] = "-2 +2(2,12,3)" }, sync())
      space:enter(9, 11, 0)
      space:leave(9)
      assert.same({}, sync())
    end)

    it("sync: moves marked by hand and in batches, in 2D and 3D", function()
      for dimensions = 2, 3 do
        space = aoi.new { engine = engine, dimensions = dimensions }
        near = neighbors.new(space)
        space:enter(1, 0, 0, 0)
        if dimensions == 2 then space:set_kind(1, 1) end
        local rows = dimensions == 2 and { 2, 1, 1, 3, 2, 2 } or { 2, 1, 1, 1, 3, 2, 2, 2 }
        space:enter_many(rows)
        near:add(1, 10)
        sync(dimensions)
        for i, v in ipairs(rows) do
          if v > 1 then rows[i] = v end
        end
        rows[2] = 5
        near:move_many(rows, 1)
        assert.same({ [1] = dimensions == 2 and ">2(5,1)" or ">2(5,1,1)" }, sync(dimensions))
        rows[2] = 6
        near:move_many(rows)
        local both = sync(dimensions)[1]
        assert.matches(dimensions == 2 and ">2(6,1)" or ">2(6,1,1)", both, 1, true)
        assert.matches(dimensions == 2 and ">3(2,2)" or ">3(2,2,2)", both, 1, true)
        if dimensions == 3 then near:move(2, 7, 7, 7) else near:move(2, 7, 7) end
        near:moved(2)
        assert.same({ [1] = dimensions == 2 and ">2(7,7)" or ">2(7,7,7)" }, sync(dimensions))
        near:move_many({})
        near:moved(77) -- nobody
        assert.same({}, sync(dimensions))
      end
    end)

    it("sync: the message is exact, and the table is used again", function()
      near:add(1, 100)
      local tables = {}
      local function keep(_, message, n)
        tables[message] = n
        for i = 1, n do assert.is_number(message[i]) end
      end
      near:sync(keep)
      space:leave(2)
      near:sync(function(_, message, n)
        keep(_, message, n)
        assert.same({ 1, 2, 0, 0 }, message)
      end)
      local count = 0
      for _ in pairs(tables) do count = count + 1 end
      assert.equal(1, count)
    end)

    it("sync: an error in send is raised, the other messages follow next time", function()
      for id = 1, 4 do near:add(id, 1000) end
      local sent = {}
      local ok, err = pcall(near.sync, near, function(watcher)
        sent[#sent + 1] = watcher
        if #sent == 2 then error("line down", 0) end
      end)
      assert.is_false(ok)
      assert.equal("line down", err)
      near:move(sent[1], 11, 11)
      local said = sync()
      local was_sent = { [sent[1]] = true, [sent[2]] = true }
      for id = 1, 4 do
        if id == sent[1] then
          assert.is_nil(said[id])
        elseif was_sent[id] then
          assert.equal((">%d(11,11)"):format(sent[1]), said[id])
        else
          assert.matches(("+%d("):format(sent[1]), said[id], 1, true)
          assert.not_matches(">", said[id])
        end
      end
      assert.same({}, sync())
    end)

    it("sync: send may change the world", function()
      for id = 1, 4 do near:add(id, 1000) end
      local told = 0
      near:sync(function(watcher)
        told = told + 1
        space:leave(watcher)
      end)
      assert.equal(3, told) -- whoever was near the last one is gone before he heard of it
      space:leave((space:ids())[1])
      sync()
      nothing_left()
    end)

    it("watchers and targets that go leave nothing", function()
      for id = 1, 4 do near:add(id, 1000) end
      near:moved(1)
      sync()
      space:leave(1)
      assert.same({}, walk(near:each(1)))
      assert.same({ [2] = "-1", [3] = "-1", [4] = "-1" }, sync())
      assert.is_true(near:remove(2))
      assert.same({}, walk(near:each(2)))
      assert.same({ 3 }, walk(near:each_viewer(4)))
      near:add(2, 5)
      space:enter(1, 10, 0)
      near:add(1, 1000)
      sync()
      for id = 1, 4 do space:leave(id) end
      near:tick()
      nothing_left()
    end)

    it("a watcher that sees nobody leaves nothing either", function()
      near:add(1, 0)
      near:tick()
      space:leave(1)
      nothing_left()
    end)

    it("counts what there is, and forgets who has gone", function()
      near:add(1, 15)
      near:add(2, { radius = 25, mask = NPC })
      assert.same({ watchers = 2, neighbors = 3, targets = 3, changes = 3 }, near:stats())
      near:tick()
      assert.same({ watchers = 2, neighbors = 3, targets = 3, changes = 0 }, near:stats())
      space:leave(1)
      near:tick()
      assert.same({ watchers = 1, neighbors = 2, targets = 2, changes = 0 }, near:stats())
      space:leave(2)
      near:tick()
      nothing_left()
    end)

    it("dropped lists are garbage", function()
      local weak = setmetatable({}, { __mode = "k" })
      for _ = 1, 5 do
        local s = aoi.new { engine = engine }
        local lists = neighbors.new(s)
        s:enter(1, 0, 0)
        s:enter(2, 0, 0)
        lists:add(1, 10)
        weak[lists] = true
      end
      collectgarbage()
      collectgarbage()
      assert.is_nil(next(weak))
    end)

    it("two sets on one space do not mix", function()
      local wide = neighbors.new(space)
      near:add(1, 5)
      wide:add(1, 500)
      assert.equal(0, near:count(1))
      assert.equal(3, wide:count(1))
      near:remove(1)
      assert.equal(3, wide:count(1))
    end)

    it("deferred spaces: flush, or drain and dispatch", function()
      space = aoi.new { engine = engine, delivery = "deferred" }
      near = neighbors.new(space)
      for id = 1, 4 do space:enter(id, id, 0) end
      near:add(1, 10)
      assert.equal(0, near:count(1))
      space:flush()
      assert.equal(3, near:count(1))
      space:leave(2)
      near:dispatch(space:drain())
      assert.equal(2, near:count(1))
      near:tick()
      space:leave(1)
      space:enter(1, 0, 0)
      near:add(1, 10)
      collectgarbage()
      local buf, n = space:drain()
      collectgarbage()
      near:dispatch(buf, n)
      assert.same({ 3, 4 }, walk(near:each(1)))
      assert.same({ 1 }, walk(near:each_viewer(3)))
      for id in pairs { true, [3] = true, [4] = true } do space:leave(id) end
      near:dispatch(space:drain())
      near:tick()
      nothing_left()
    end)

    it("random histories agree with what the space says", function()
      local random = rng.new(SEED + rng.hash(engine))
      local client = {} -- what each watcher has been told
      local function compare()
        near:sync(function(watcher, message, n)
          assert.equal(n, #message)
          local world = client[watcher]
          neighbors.read(message, 2, {
            disappeared = function(id)
              assert.is_truthy(world[id])
              world[id] = nil
            end,
            appeared = function(id, kind, x, y)
              assert.is_nil(world[id])
              world[id] = { kind, x, y }
            end,
            moved = function(id, x, y)
              world[id][2], world[id][3] = x, y
            end,
          })
        end)
        local viewers = {}
        for watcher, world in pairs(client) do
          local expected = {}
          local list, n = space:view(watcher, near:node(watcher))
          for i = 1, n do
            local id = list[i]
            local x, y = space:position(id)
            expected[id] = { space:kind(id), x, y }
            viewers[id] = viewers[id] or {}
            table.insert(viewers[id], watcher)
          end
          assert.same(expected, world)
          assert.same(sorted(list, n), walk(near:each(watcher)))
          assert.equal(n, near:count(watcher))
        end
        for id = 1, 20 do
          local expected = viewers[id] or {}
          table.sort(expected)
          assert.same(expected, walk(near:each_viewer(id)))
        end
      end
      for id = 1, 4 do space:leave(id) end
      for _ = 1, random_run.steps(1500) * 4 / 15 do
        for _ = 1, random(6) do
          local id, what = random(20), random()
          if not space:has(id) then
            space:enter(id, random(60), random(60), random(3))
            if id <= 8 then
              near:add(id, { radius = random(20), mask = random(3) })
              client[id] = {}
            end
          elseif what < 0.1 then
            space:leave(id)
            client[id] = nil
          elseif what < 0.2 and client[id] then
            space:set_radius(id, near:node(id), random(20))
          elseif what < 0.25 and client[id] then
            -- A kind is only told with an appearance: let it go blind first.
            space:set_mask(id, near:node(id), 0)
            space:set_mask(id, near:node(id), random(3))
          else
            near:move(id, random(60), random(60))
          end
        end
        compare()
      end
      for id = 1, 20 do
        if space:has(id) then space:leave(id) end
      end
      near:tick()
      nothing_left()
    end)
  end)
end

describe("neighbours:", function()
  it("no garbage in a steady state", function()
    local space = aoi.new()
    local near = neighbors.new(space)
    for id = 1, 40 do
      space:enter(id, id * 7, 0)
      near:add(id, 20)
    end
    local random, seen = rng.new(7), 0
    local function send(_, _, n) seen = seen + n end
    local function round()
      for _ = 1, 100 do
        for id = 1, 40 do near:move(id, random(300), 0) end
        for _ in near:each(1) do seen = seen + 1 end
        for _ in near:each_viewer(1) do seen = seen + 1 end
        near:sync(send)
      end
    end
    for _ = 1, 5 do round() end
    local made = garbage_of(round)
    assert.is_true(seen > 0)
    assert.is_true(made < 8, ("%.1f KB of garbage in 4,000 moves"):format(made))
  end)
end)
