-- What games carry, fields and logins: the same of a local space, of a space in the AOI service, and of a world of four
-- shards.
if not string.pack then return pending "a map and a world: needs string.pack of Lua 5.3" end

local aoi = require "aoi"
local client_model = require "spec.support.client_model"
local places = require "spec.support.places"
local sync = require "aoi.sync"

local FIELDS = { { "hp", "u16" }, { "name", "string" } }

local function sorted(list, n)
  local copy = table.move(list, 1, n, 1, {})
  table.sort(copy)
  return copy
end

local function raises(text, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, text)
  assert.matches(text, err)
end

for where, new in pairs(places) do
  describe(("a map and a world (%s)"):format(where), function()
    local run, heard
    local handlers = {
      enter = function(watcher, target) heard[#heard + 1] = ("+%d>%d"):format(watcher, target) end,
      leave = function(watcher, target) heard[#heard + 1] = ("-%d>%d"):format(watcher, target) end,
    }
    local function events()
      table.sort(heard)
      local text = table.concat(heard, " ")
      heard = {}
      return text
    end

    before_each(function() run, heard = new({ fields = FIELDS }).run, {} end)

    it("have extents and layers", function()
      run(function(space)
        space:enter(1, 30, 30)
        space:enter(2, 50, 30)
        space:add_node(1, 1, 10, handlers)
        assert.same({ 0, 1 }, { space:extent(2), space:layers(2) })
        space:tick()
        assert.equal("", events())
        space:set_extent(2, 11)
        assert.equal(11, space:extent(2))
        space:tick()
        assert.equal("+1>2", events())
        assert.same({ 2 }, sorted(space:near(62, 30, 2)))
        space:set_layers(2, 6)
        assert.equal(6, space:layers(2))
        space:tick()
        assert.equal("-1>2", events())
        space:set_area(1, 1, { radius = 10, layers = 4 })
        space:move(2, 30, 51) -- another region
        space:tick()
        assert.equal("+1>2", events())
        assert.equal(11, space:extent(2))
        assert.equal(6, space:layers(2))
        raises("bad argument #2 to 'set_extent'", space.set_extent, space, 2, -1)
        raises("bad argument #2 to 'set_layers'", space.set_layers, space, 2, 1.5)
        raises("no entity 9", space.set_extent, space, 9, 1)
      end)
    end)

    it("answer what is met on a way, and many questions at once", function()
      run(function(space)
        local model = aoi.new()
        local rows = { 1, 2, 2, 2, 31, 33, 3, 60, 61, 4, 30.5, 30, 5, 33, 33 }
        space:enter_many(rows)
        model:enter_many(rows)
        space:tick()
        local hits, n = space:sweep(0, 0, 63, 63, 2)
        local expected, count = model:sweep(0, 0, 63, 63, 2)
        assert.equal(count, n)
        assert.same(table.move(expected, 1, 2 * count, 1, {}), table.move(hits, 1, 2 * n, 1, {}))
        local ids, total, ends = space:near_many({ 31, 31, 0, 0, 60, 60 }, 4)
        local same, _, stops = model:near_many({ 31, 31, 0, 0, 60, 60 }, 4)
        local first = 1
        for row = 1, 3 do
          assert.equal(stops[row], ends[row])
          assert.same(sorted(table.move(same, first, stops[row], 1, {}), stops[row] - first + 1),
            sorted(table.move(ids, first, ends[row], 1, {}), ends[row] - first + 1))
          first = stops[row] + 1
        end
        assert.equal(ends[3], total)
        local buf, into = {}, {}
        assert.same({ buf, total, into }, { space:near_many({ 31, 31, 0, 0, 60, 60 }, 4, buf, into) })
        assert.equal(total, #buf)
        model:close()
      end)
    end)

    it("let a player log in with all that it has, or with nothing", function()
      local packets = {}
      run(function(space)
        space:on_client(function(id, bytes, fd) packets[#packets + 1] = { id, sync.read(bytes), fd } end)
        space:enter(1, 30, 30)
        space:put(1, "name", "ann")
        space:join {
          id = 2, x = 33, y = 33, kind = 2, nodes = { { 7, 5, handlers }, { 8, 1, handlers.enter } },
          view = { 6, { fd = 40 } },
        }
        assert.same({ 33, 33 }, { space:position(2) })
        assert.equal(2, space:kind(2))
        space:tick()
        assert.equal("+2>1", events())
        assert.same({ 7, 8 }, sorted(space:nodes(2)))
        assert.same({ 1 }, sorted(space:seen(2, 7)))
        raises("already", space.join, space, { id = 2, x = 1, y = 1 })
        raises("unknown field 'viw'", space.join, space, { id = 3, x = 1, y = 1, viw = 1 })
        raises("bad argument #3 to 'add_node'", space.join, space, { id = 3, x = 1, y = 1, nodes = { { 1, -1 } } })
        raises("bad argument", space.join, space, { id = 3, x = 1, y = 1, view = { 5, { limmit = 1 } } })
        assert.is_false(space:has(3))
        space:join { id = 3, x = 1, y = 1 }
        space:tick()
        assert.is_true(space:has(3))
      end)
      assert.equal(1, #packets)
      assert.same({ 2, 40 }, { packets[1][1], packets[1][3] })
      assert.same({ 1, { name = "ann" } }, { packets[1][2].fields[1], packets[1][2].fields[2] })
    end)

    it("change live views and their fields", function()
      local fds = {}
      run(function(space)
        local players = client_model.watch(space, function(_, _, fd) fds[#fds + 1] = fd end)
        local function known()
          local list = {}
          for id, it in pairs(players[1].known) do list[id] = it.fields.hp or 0 end
          return list
        end
        for id = 1, 5 do space:enter(id, 20 + 5 * id, 30) end
        space:add_client(1, { 1, 11 }, { fd = 1 })
        space:tick()
        assert.same({ [2] = 0, [3] = 0 }, known())
        space:put(2, "hp", 500)
        assert.equal(500, space:get(2, "hp"))
        assert.equal("", space:get(2, "name"))
        space:tick()
        assert.same({ [2] = 500, [3] = 0 }, known())
        space:set_view(1, 2, 6)
        space:set_client(1, { fd = 2 })
        space:tick()
        assert.same({ [2] = 500 }, known())
        space:set_view(1, 2, 16)
        space:set_client(1, { limit = 2 })
        space:set_priority(4, 3)
        space:tick()
        assert.same({ [2] = 500, [4] = 0 }, known())
        assert.same({ 1, 1, 2, 2 }, fds)
        raises("entity 2 is no client", space.set_view, space, 2, 1, 5)
        raises("'set_view'", space.set_view, space, 1, 3, 5)
        raises("unknown option 'limmit'", space.set_client, space, 1, { limmit = 3 })
        raises("'put'", space.put, space, 1, "hp", -1)
        raises("'put'", space.put, space, 1, "mana", 1)
      end)
    end)

    it(where == "world" and "refuse to attach" or "attach", function()
      run(function(space)
        space:enter(1, 30, 30)
        space:enter(2, 10, 10)
        if where == "world" then return raises("in maps alone", space.attach, space, 2, 1, 1, 1) end
        space:attach(2, 1, 1, 0)
        assert.equal(1, space:carrier(2))
        assert.same({ 2 }, sorted(space:passengers(1)))
        space:move(1, 40, 40)
        space:tick()
        assert.same({ 41, 40 }, { space:position(2) })
        local refused = {}
        space:on_refused(function(ids, n) refused = sorted(ids, n) end)
        space:move(2, 0, 0)
        space:tick()
        assert.same({ 2 }, refused)
        space:attach(2, nil)
        assert.is_nil(space:carrier(2))
      end)
    end)
  end)
end
