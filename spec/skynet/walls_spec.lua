-- Walls of a map of the AOI service and of a world: nodes and client views that do not see past them. The wall of most
-- tests stands where two shards of the world meet.
if not string.pack then return pending "walls of a map and a world: needs string.pack of Lua 5.3" end

local listener = require "spec.support.listener"
local places = require "spec.support.places"

local function sorted(list)
  table.sort(list)
  return list
end

for where, new in pairs { service = places.service, world = places.world } do
  describe(("walls of a map and a world (%s)"):format(where), function()
    local place, run, handlers, take

    local function events()
      place.tick()
      return take()
    end

    local function raises(pattern, f)
      run(function(map) assert.error_matches(function() f(map) end, pattern) end)
    end

    local function begin(options)
      place = new(options)
      run, handlers, take = place.run, listener()
    end

    before_each(function()
      begin { sight = true }
      run(function(map) map:enter_many { 1, 27, 10, 2, 37, 10, 3, 27, 20 } end)
    end)

    it("hide from a node with `sight`, and from no other, and doors open in all shards", function()
      local door
      run(function(map, other)
        door = map:wall(32, 8, 32, 12)
        map:add_node(1, 1, 12, handlers, { sight = true })
        other:add_node(1, 2, 12, handlers)
      end)
      assert.equal("+1/1>3 +1/2>2 +1/2>3", events())
      run(function(map, other)
        assert.same({ { 3 }, 1 }, { map:view(1, 1) })
        assert.is_false(map:sees(1, 1, 2))
        local why = map:explain(1, 1, 2)
        assert.same({ "wall", door, 32, 10 }, { why.why, why.wall, why.x, why.y })
        assert.same({ 1, 2 }, (other:viewers(2)))
        assert.same({ door, 32, 10 }, { other:ray(0, 10, 64, 10) })
        assert.same({ 32, 8, 32, 12, false }, { map:get_wall(door) })
        map:open_wall(door)
      end)
      assert.equal("+1/1>2", events())
      run(function(map, other)
        assert.is_true(map:sees(1, 1, 2))
        assert.same({ 1, 1, 1, 2 }, sorted(other:viewers(2)))
        other:shut_wall(door)
      end)
      assert.equal("-1/1>2", events())
      run(function(map)
        assert.same({ 3 }, (map:seen(1, 1)))
        map:move(1, 37, 12) -- another shard has it now
        map:flush()
      end)
      assert.equal("+1/1>2", events())
      run(function(map, other)
        other:remove_wall(door)
        assert.is_nil(map:get_wall(door))
        assert.same({ {}, 0 }, { map:walls() })
      end)
      assert.equal("", events())
      run(function(map) map:remove_node(1, 1) end)
      assert.equal("-1/1>2 -1/1>3", events())
    end)

    it("come in rows, of which all or none are there", function()
      run(function(map, other)
        assert.same({ { 1, 2, 3 }, 3 }, { map:wall_many { 0, 0, 0, 4, 1, 1, 2, 2, 60, 60, 64, 64 } })
        assert.same({ 1, 1, 2, 2, false }, { other:get_wall(2) })
        assert.same({ 1, 0, 0.75 }, { map:ray(-1, 1, 1, 0.5) })
        pcall(map.wall_many, map, { 0, 0, 1, 1, 2, 2, 3, 0 / 0 })
        other:remove_wall(2)
        local buf = { 8, 8, 8, 8, 8 }
        assert.same({ 1, 3 }, sorted(table.move(map:walls(buf), 1, 2, 1, {})))
        assert.is_nil(buf[3])
      end)
    end)

    it("outlive who put them there", function()
      local door
      run(function(_, other) door = other:wall(5, -2, 5, 2) end)
      place.kill(2)
      run(function(map)
        assert.equal(5, (map:get_wall(door)))
        map:remove_wall(door)
        assert.is_nil(map:get_wall(door))
      end)
    end)

    it("have heights in three dimensions", function()
      begin { sight = true, dimensions = 3 }
      run(function(map)
        local low, high = map:wall(32, 8, 32, 12, 0, 3), map:wall(32, 28, 32, 32)
        assert.same({ 32, 8, 32, 12, false, 0, 3 }, { map:get_wall(low) })
        assert.same({ -math.huge, math.huge }, { select(6, map:get_wall(high)) })
        assert.same({ low, 32, 10, 2 }, { map:ray(27, 10, 2, 37, 10, 2) })
        assert.is_nil((map:ray(27, 10, 4, 37, 10, 4)))
        assert.same({ high, 32, 30, 4 }, { map:ray(27, 30, 4, 37, 30, 4) })
        map:enter_many { 1, 27, 10, 0, 2, 37, 10, 0, 3, 37, 10, 10 }
        map:add_node(1, 1, 15, handlers, { sight = true })
      end)
      raises("#6 to 'wall' %(z1 must not be less than z0", function(map) map:wall(0, 5, 10, 5, 3, 0) end)
      assert.equal("+1/1>3", events())
    end)

    it("need a map that was opened with them", function()
      begin()
      run(function(map) map:enter(1, 5, 5) end)
      for name, arguments in pairs {
        wall = { 1, 2, 3, 4 }, wall_many = { { 1, 2, 3, 4 } }, open_wall = { 1 }, ray = { 1, 2, 3, 4 }, walls = {},
      } do
        raises(("attempt to call '%s' where there are no walls: open it with sight = true"):format(name),
          function(map) map[name](map, table.unpack(arguments)) end)
      end
      raises("option 'sight' needs walls: open it with sight = true", function(map)
        map:add_node(1, 1, 12, {}, { sight = true })
      end)
      run(function(map) map:add_node(1, 1, 5, {}) end)
    end)
  end)
end
