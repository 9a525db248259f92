-- Neighbour lists: view and viewers of an entity, what has changed since the last tick.
local aoi = require "aoi"
local neighbors = require "aoi.neighbors"
local Sync = require "aoi.sync"
local garbage_of = require "spec.support.garbage"
local rng = require "spec.support.rng"
local tree = require "spec.support.tree"

local PLAYER, NPC = 1, 2

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

for _, engine in ipairs(tree.engines) do
  describe("neighbours on " .. engine .. ":", function()
    local space, near

    before_each(function()
      space = aoi.new { engine = engine }
      near = neighbors.new(space)
      for id = 1, 4 do space:enter(id, id * 10, 0, id <= 2 and PLAYER or NPC) end
    end)

    local function nothing_left()
      collectgarbage()
      collectgarbage()
      assert.same({ watchers = 0, neighbors = 0, targets = 0, changes = 0 }, near:stats())
      for name, list in pairs(near) do
        if type(list) == "table" and name ~= "spare" then assert.is_nil(next(list), name) end
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

    it("sync hands over to aoi.sync: watchers are clients", function()
      near:add(1, 15)
      local said = {}
      local function sync()
        said = {}
        return near:sync(function(watcher, message) said[watcher] = Sync.read(message) end)
      end
      assert.equal(1, (sync()))
      assert.same({ 1, 2 }, { said[1].appeared.n, said[1].appeared[1] })
      near:add(2, 15)
      space:move(2, 22, 0)
      assert.equal(2, (sync()))
      assert.same({ 1, 2, 22 }, { said[1].moved.n, said[1].moved[1], said[1].moved[2] })
      assert.equal(2, said[2].appeared.n)
      assert.same({}, sorted(near:joined(2)))
      near:remove(1)
      space:leave(2)
      assert.equal(0, (sync()))
      near:add(1, 15)
      assert.equal(1, (sync())) -- what it knew in its former life is to be forgotten
      assert.same({ true, 0 }, { said[1].anew, said[1].appeared.n })
      near.clients:set(1, { limit = 1 })
      space:leave(1)
      assert.equal(0, (sync()))
    end)

    it("watchers and targets that go leave nothing", function()
      for id = 1, 4 do near:add(id, 1000) end
      space:leave(1)
      assert.same({}, walk(near:each(1)))
      assert.is_true(near:remove(2))
      assert.same({}, walk(near:each(2)))
      assert.same({ 3 }, walk(near:each_viewer(4)))
      near:add(2, 5)
      space:enter(1, 10, 0)
      near:add(1, 1000)
      near:tick()
      for id = 1, 4 do space:leave(id) end
      near:tick()
      nothing_left()
    end)

    it("moves are the space's", function()
      near:add(1, 10)
      near:move(2, 500, 500)
      assert.same({ 500, 500 }, { space:position(2) })
      near:move_many({ 2, 400, 400, 3, 401, 401 }, 1)
      assert.same({ 400, 400 }, { space:position(2) })
      assert.is_false(near:has(1, 2))
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

    it("events that are dispatched twice are refused", function()
      space = aoi.new { engine = engine, delivery = "deferred" }
      near = neighbors.new(space)
      for id = 1, 3 do space:enter(id, id, 0) end
      near:add(1, 10)
      local buf, n = space:drain()
      near:dispatch(buf, n)
      local function refused(words)
        local ok, why = pcall(function() near:dispatch(buf, n) end)
        assert.is_false(ok)
        assert.matches("neighbors_spec.lua:%d+: bad argument #1 to 'dispatch' %(entity %d " .. words, why)
      end
      refused "is already in the list of 1: each event is dispatched once"
      assert.same({ 2, 3 }, walk(near:each(1)))
      space:leave(2)
      buf, n = space:drain()
      near:dispatch(buf, n)
      refused "is not in the list of 1: each event is dispatched once"
      assert.same({ 3 }, walk(near:each(1)))
      assert.equal(0, near:viewer_count(2))
    end)
  end)
end

-- Lists with clients, of n entities in a row; and the ids of clients that `send` has been called for.
local function synced(n)
  local space = aoi.new()
  local near, heard = neighbors.new(space), {}
  local function send(id) heard[#heard + 1] = id end
  for id = 1, n do space:enter(id, id, 0) end
  near:sync(send)
  return space, near, heard, send
end

describe("neighbours:", function()
  it("a client that the host has added or removed by itself is left as it is", function()
    local _, near, heard, send = synced(4)
    near.clients:add(1, 9)
    near:add(1, 5)
    near:add(2, 5)
    near.clients:remove(2)
    assert.is_true(near:remove(2))
    assert.same({ 1, nil }, { near.clients:node(1) ~= nil and 1, near:node(2) })
    near:sync(send)
    assert.same({ 1 }, heard)
  end)

  it("one whose list was added while a handler raised is a client, too", function()
    local space, near, heard, send = synced(3)
    local function add_node() space:add_node(3, 1, 5, function() error("an event that waits", 0) end) end
    assert.has_error(add_node, "an event that waits")
    assert.has_error(function() near:add(1, 5) end, "an event that waits")
    space:flush()
    assert.equal(2, near:count(1))
    near:sync(send)
    assert.same({ 1 }, heard)
    near:sync(send)
    assert.same({ 1 }, heard)
  end)

  it("sync takes a table that can be called, as Sync:tick does", function()
    local _, near, heard = synced(3)
    near:add(1, 5)
    near:sync(setmetatable({}, { __call = function(_, id) heard[#heard + 1] = id end }))
    assert.same({ 1 }, heard)
    assert.has_error(function() near:sync({}) end, "bad argument #1 to 'sync' (function expected, got table)")
  end)

  it("no garbage in a steady state", function()
    local space = aoi.new()
    local near = neighbors.new(space)
    for id = 1, 40 do
      space:enter(id, id * 7, 0)
      near:add(id, 20)
    end
    local random, seen = rng.new(7), 0
    local function round()
      for _ = 1, 100 do
        for id = 1, 40 do space:move(id, random(300), 0) end
        for _ in near:each(1) do seen = seen + 1 end
        for _ in near:each_viewer(1) do seen = seen + 1 end
        near:tick()
      end
    end
    for _ = 1, 5 do round() end
    local made = garbage_of(round)
    assert.is_true(seen > 0)
    assert.is_true(made < 8, ("%.1f KB of garbage in 4,000 moves"):format(made))
  end)
end)
