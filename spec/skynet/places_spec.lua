-- What a map does in the caller's own service, in the AOI service, and as a world of four shards: what a plain space
-- does, and what games carry, fields and logins; and what several services have of one map, in the latter two.
if not string.pack then return pending "a map and a world: needs string.pack of Lua 5.3" end

local aoi = require "aoi"
local Client = require "aoi.skynet.client"
local client_model = require "spec.support.client_model"
local CMD = require("aoi.skynet.requests").CMD
local instead = require "spec.support.instead"
local listener = require "spec.support.listener"
local methods = require "aoi.skynet.methods"
local places = require "spec.support.places"
local sync = require "aoi.sync"

local FIELDS = { { "hp", "u16" }, { "name", "string" } }

local function sorted(list, n)
  local copy = table.move(list, 1, n, 1, {})
  table.sort(copy)
  return copy
end

local function raises(text, f, ...)
  local arguments = table.pack(...)
  assert.error_matches(function() f(table.unpack(arguments, 1, arguments.n)) end, text)
end

it("a map has the methods of the table, and the service has their requests", function()
  local requests = { tick = true, close = true, join = true }
  methods.each(function(name)
    assert.is_function(Client.Space[name], name)
    assert.is_function(CMD[name], name)
    requests[name] = true
  end)
  for name in pairs(CMD) do assert.is_true(requests[name], name) end
end)

-- A plain space, with the methods that maps have instead.
local function plain(options)
  local space = aoi.new { dimensions = options.dimensions, delivery = "deferred" }
  local as_map = instead(space, {
    tick = function() space:flush() end, flush = function() end, seen = function(_, ...) return space:view(...) end,
  })
  return { run = function(f) return f(as_map) end, tick = as_map.tick }
end

-- What handlers hear at four ticks.
local function tell(place)
  local on, take = listener()
  local ticks = {}
  for _, step in ipairs {
    function(space)
      space:enter(1, 0, 0)
      space:enter_many({ 2, 5, 0, 3, 50, 0 }, 2, 2)
      space:add_node(1, 1, 10, on)
      space:add_node(2, 1, { radius = 5, keep = 8, shape = "circle" }, on.enter, on.leave)
      space:add_node(2, 2, 1)
    end,
    function(space)
      space:move(3, 4, 0)
      space:move(1, -1, 0)
      space:flush()
    end,
    function(space)
      space:set_radius(1, 1, 2)
      space:set_mask(2, 1, 2)
      space:set_area(2, 1, { shape = "sector", radius = 9, facing = 0, angle = 1, mask = 2 })
      space:override(1, 1, 2, "hide")
      space:set_kind(3, 1)
      space:move_many { 2, 0, 0 }
    end,
    function(space)
      space:set_facing(2, 1, math.pi)
      space:override(1, 1, 2, nil)
      space:remove_node(1, 1)
      space:leave(3)
      space:leave(2)
      space:enter(2, 0, 0)
    end,
  } do
    place.run(function(space) step(space) end)
    place.tick()
    table.insert(ticks, take())
  end
  return ticks
end

-- A list is compared as a set, with the nil that ends it.
local function answer(list, ...)
  if type(list) ~= "table" then return table.pack(list, ...) end
  local copy = table.move(list, 1, 6, 1, {})
  table.sort(copy, function(a, b) return tostring(a) < tostring(b) end)
  return table.pack(copy, ...)
end

-- Questions in a space of three dimensions: method, arguments.
local QUESTIONS = {
  { "position", 2 }, { "position", 9 }, { "kind", 1 }, { "kind", 9 }, { "radius", 1, 5 }, { "radius", 1, 8 },
  { "radius", 2, 2 }, { "has", 1 }, { "has", 9 }, { "count" }, { "sees", 1, 5, 2 }, { "sees", 1, 5, 1 },
  { "view", 1, 5 },
  { "seen", 1, 5 }, { "viewers", 2 }, { "nodes", 1 }, { "ids" }, { "near", 0, 0, 0, 5 }, { "near", 0, 0, 0, 5, 2 },
  { "overrides", 1, 6 }, { "overrides", 2, 1 }, { "sees", 1, 6, 2 }, { "sees", 2, 1, 1 }, { "nearest", 0, 0, 0, 5 },
  { "nearest", 5, 5, 5, 2, 1 }, { "nearest", 0, 0, 0, 5, { except = 1 } }, { "nearest", 0, 0, 0, 5, { least = 1 } },
  { "nearest", 0, 0, 0, 5, 9, { least = 0, except = 2 } }, { "nearest", 0, 0, 0, 1, 9, 3, { except = 1 } },
  { "nearest", 0, 0, 0, 5, { 7, 7, 7 }, { except = 1 } }, { "nearest", 0, 0, 0, 5, 9, -1, { 7, 7, 7 }, {} },
  { "near", 0, 0, 0, { shape = "box", extents = { 1, 1, 1 } } },
  { "near", 0, 0, 0, { shape = "polygon", rings = { { -1, -1, 3, -1, 1, 3 } } } }, { "area", 1, 5 }, { "area", 2, 1 },
  { "area", 2, 9 }, { "area", 9, 9 }, { "extent", 1 }, { "extent", 999 }, { "layers", 999 },
  { "sweep", 0, 0, 0, 9, 9, 9, math.huge }, { "sweep", 0, 0, 0, 9, 9, 9, 1 },
}
-- Those that fill a table.
local LISTS = {
  { "viewers", 2 }, { "overrides", 2, 1 }, { "near", 0, 0, 0, 5, 2 }, { "nearest", 0, 0, 0, 1, 9, 1 }, { "ids" },
}

local function ask(place)
  local answers = {}
  local function add(space, call, list)
    local arguments = table.move(call, 2, #call, 1, {})
    arguments[#arguments + 1] = list
    answers[#answers + 1] = answer(space[call[1]](space, table.unpack(arguments)))
  end
  place.run(function(space)
    space:enter(1, 0, 0, 0, 3)
    space:enter(2, 1, 0, 1)
    space:add_node(1, 5, { radius = 2, keep = 3 })
    space:add_node(1, 6, 5)
    space:add_node(2, 1, { shape = "sector", radius = 5, facing = 0, angle = 1, margin = 1 })
    space:add_node(2, 2, { shape = "box", extents = { 2, 3, 1 } })
    space:set_radius(1, 6, 6, 7)
    space:set_mask(1, 6, 6)
    space:set_facing(2, 1, 2)
    space:move(2, 1, 1, 1)
    space:override(1, 6, 2, "hide")
    space:override(2, 1, 1, "show")
    space:tick()
    assert.is_true(space:check())
    for _, call in ipairs(QUESTIONS) do add(space, call) end
    for _, call in ipairs(LISTS) do add(space, call, { 0, 0, 0, 0, 0, 0 }) end
    for _, triple in ipairs { { 1, 5, 2 }, { 1, 6, 2 }, { 2, 1, 1 }, { 1, 9, 2 }, { 9, 1, 2 }, { 1, 5, 9 } } do
      local told = space:explain(table.unpack(triple))
      answers[#answers + 1] = { told.sees, told.why, told.node, told.distance, told.dx, told.shape, tostring(told) }
    end
  end)
  return answers
end

for where, new in pairs(places) do
  describe(("a map and a world (%s)"):format(where), function()
    local run, handlers, events

    before_each(function()
      run = new({ fields = FIELDS }).run
      handlers, events = listener()
    end)

    it("tell handlers what a plain space tells", function()
      local told = tell(new {})
      assert.same(tell(plain {}), told)
      assert.equal("+1/1>2 +2/1>1", told[1])
    end)

    it("answer what a plain space answers", function()
      local answers = ask(new { dimensions = 3 })
      for i, expected in ipairs(ask(plain { dimensions = 3 })) do assert.same(expected, answers[i], "answer " .. i) end
    end)

    it("go on after a handler that fails", function()
      local place, heard, caught = new {}, 0, {}
      place.run(function(space)
        for id = 1, 4 do space:enter(id, 0, 0) end
        space:add_node(1, 1, 5, function(_, target)
          heard = heard + 1
          if target == 3 then error "oh no" end
        end)
      end)
      place.tick()
      assert.same({ 3, 1 }, { heard, #place.logged })
      assert.matches("oh no.*traceback", place.logged[1])
      local function catch(...) caught = { select(2, ...) } end
      local function fail() error "worse" end
      for _, on_error in ipairs { catch, fail } do
        place.run(function(space)
          space:on_error(on_error)
          for _, x in ipairs { 90, 0 } do
            space:move(3, x, 0)
            space:tick()
          end
        end)
      end
      assert.same({ { 1, 3, 1 }, 5, 2 }, { caught, heard, #place.logged })
      assert.matches("worse", place.logged[2])
    end)

    it("are of no use when closed", function()
      run(function(space)
        space:enter(1, 0, 0)
        space:close()
        space:close()
        assert.is_true(space.closed)
        for _, method in ipairs { "enter", "move", "count", "has", "view", "add_node", "tick" } do
          raises("attempt to use a closed ", space[method], space, 1, 2, 3)
        end
      end)
    end)

    it("fill tables past their metatables, as the core does, and end them", function()
      local function asked() error("its metatable is asked", 0) end
      local function new_list() return setmetatable({}, { __index = asked, __newindex = asked }) end
      run(function(space)
        space:enter(1, 5, 5)
        space:add_node(1, 1, 5)
        space:tick()
        assert.equal(1, rawget(space:ids(new_list()), 1))
        assert.equal(0, rawlen(space:seen(1, 1, new_list())))
        local list, n, ends = space:near_many({ 5, 5 }, 2, new_list(), new_list())
        assert.same({ 1, 1, 1 }, { rawget(list, 1), n, rawget(ends, 1) })
        list, ends = {}, {}
        for _, rows in ipairs { { 5, 5, 9, 9, 5, 5 }, { 5, 5 }, {} } do
          n = select(2, space:near_many(rows, 2, nil, list, ends))
          assert.same({ n, #rows / 2 }, { #list, #ends })
        end
      end)
    end)

    it("leave the areas of a client view to the caller", function()
      run(function(space)
        local areas = { 4, 8 }
        space:enter(1, 0, 0)
        space:add_client(1, areas)
        space:set_view(1, 2.0, 6)
        space:tick()
        space:set_view(1, 1.0, 2)
        assert.same({ 4, 8 }, areas)
      end)
    end)

    it("pin what is to be pinned before a client view begins", function()
      for _, waits in ipairs { true, false } do
        new({}).run(function(space)
          for id = 1, 4 do space:enter(id, id == 1 and 10 or 30, 10) end
          space:add_client(1, 8)
          if not waits then space:tick() end
          space:pin(1, 2)
          space:pin(1, 3)
          space:unpin(1, 3)
          space:pin(1, 4)
          space:leave(4)
          assert.is_nil((space:resend(1)))
          space:tick()
          space:tick()
          assert.same({ 2 }, (space:known(1)))
        end)
      end
    end)

    it("take a z, and no more, in three dimensions", function()
      new({ dimensions = 3 }).run(function(space)
        space:enter(1, 5, 5, 5, 2)
        raises("#6 to 'enter' %(nothing expected in 3 dimensions, got number", space.enter, space, 2, 5, 5, 5, 2, 0)
        space:join { id = 3, x = 1, y = 2, z = 3, kind = 4 }
        assert.same({ 2, 4 }, { space:kind(1), space:kind(3) })
        assert.same({ 1, 2, 3 }, { space:position(3) })
      end)
      run(function(space)
        raises("#1 to 'join' %(unknown field 'z'", space.join, space, { id = 3, x = 1, y = 2, z = 3 })
      end)
    end)

    it("return nothing where there is nothing to return", function()
      run(function(space)
        assert.equal(0, select("#", space:enter(1, 5, 5)))
        assert.equal(0, select("#", space:add_node(1, 1, 5, {})))
        assert.same({ 2, 1, 1 }, { select("#", space:position(1)), select("#", space:area(1, 9)),
                                   select("#", space:radius(1, 9)) })
      end)
    end)

    it("answer what is met on a way and many questions at once, at the greatest distances, too", function()
      local most = math.tointeger(2 ^ 50)
      local least = -most
      local function found(space)
        space:enter_many { 1, 5, 5, 2, 60, 60, 3, least, least, 4, most, most, 5, 31, 33, 6, 33, 33 } -- at a border
        space:tick()
        return {
          answer(space:near(5, 5, most)), answer(space:near(5, 5, { radius = most, margin = most })),
          answer(space:near(5, 5, { shape = "box", extents = { most, most } })),
          answer(space:near(5, 5, { shape = "polygon", points = { least, least, most, least, 0, most } })),
          answer(space:nearest(5, 5, most, most)), answer(space:sweep(least, least, most, most, most)),
          answer(space:sweep(63, 63, 0, 0, 2)), answer(space:near_many({ 15, 15, 12, 12 }, 25)),
          answer(space:near_many({ least, least, most, most, 31, 31 }, 10)),
        }
      end
      assert.same(plain({}).run(found), run(found))
    end)

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
        assert.equal("+1/1>2", events())
        assert.same({ 2 }, sorted(space:near(62, 30, 2)))
        space:set_layers(2, 6)
        assert.equal(6, space:layers(2))
        space:tick()
        assert.equal("-1/1>2", events())
        space:set_area(1, 1, { radius = 10, layers = 4 })
        space:move(2, 30, 51) -- another region
        space:tick()
        assert.equal("+1/1>2", events())
        assert.equal(11, space:extent(2))
        assert.equal(6, space:layers(2))
      end)
    end)

    it("have an entity enter whole: no node sees for a moment what it should not", function()
      run(function(space)
        local players = client_model.watch(space, function() end)
        local kind = { kind = 2, layers = 6, extent = 11, fields = { hp = 9 } }
        space:enter(1, 30, 30)
        space:add_node(1, 1, 10, handlers)
        space:add_node(1, 2, { radius = 10, layers = 4 }, handlers)
        space:add_client(1, { radius = 10, layers = 2 })
        space:tick()
        space:enter(2, 50, 30, kind)
        space:enter_many({ 3, 50, 31, 4, 50, 32 }, 2, { layers = 4, extent = 11 })
        space:join { id = 5, x = 50, y = 33, kind = kind }
        kind.layers, kind.fields.hp = 1, 10 -- it is the caller's
        for id = 2, 5, 3 do
          assert.same({ 2, 6, 11, 9 }, { space:kind(id), space:layers(id), space:extent(id), space:get(id, "hp") })
        end
        space:tick()
        assert.equal("+1/2>2 +1/2>3 +1/2>4 +1/2>5", events())
        assert.same({ 9, 9 }, { players[1].known[2].fields.hp, players[1].known[5].fields.hp })
        assert.is_nil(players[1].known[3])
        assert.same({ 4, 11, 0 }, { space:layers(4), space:extent(4), space:get(4, "hp") })
        space:leave(2)
        space:enter(2, 50, 30, {})
        space:tick()
        assert.equal("-1/2>2", events())
        assert.same({ 1, 1, 0, 0 }, { space:kind(2), space:layers(2), space:extent(2), space:get(2, "hp") })
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
        assert.equal("+2/7>1", events())
        assert.same({ 7, 8 }, sorted(space:nodes(2)))
        assert.same({ 1 }, sorted(space:seen(2, 7)))
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
        space:remove_client(1)
        raises("entity 1 is no client", space.resend, space, 1)
      end)
    end)

    it(where == "world" and "refuse crossings, and jump" or "tell crossings, and what jumps crosses nothing", function()
      local crossed = {}
      local function cross(...) crossed[#crossed + 1] = { ... } end
      run(function(space)
        local inherits = setmetatable({}, { __index = { cross = cross } })
        space:enter_many { 1, 30, 30, 2, 20, 30, 3, 20, 31 }
        if where == "world" then
          raises("#4 to 'add_node' %(handler 'cross': .* maps alone", space.add_node, space, 1, 1, 5, { cross = cross })
          local login = { id = 4, x = 1, y = 1, nodes = { { 1, 5, { cross = cross } } } }
          raises("#4 to 'add_node' %(handler 'cross': .* maps alone", space.join, space, login)
          space:jump(2, 40, 30)
          return assert.equal(40, (space:position(2)))
        end
        space:add_node(1, 1, 5, { enter = handlers.enter, leave = handlers.leave, cross = cross })
        space:add_node(1, 2, 6, inherits)
        space:add_node(1, 3, 5, handlers)
        space:join { id = 4, x = 60, y = 30, nodes = { { 9, 2, { cross = cross } } } }
        space:tick()
        local function told(...)
          crossed = {}
          space:flush { ... }
          space:tick()
          table.sort(crossed, function(a, b) return a[3] < b[3] end)
          assert.equal("", events())
          return crossed
        end
        assert.same({ { 1, 2, 1, 0.25 }, { 1, 2, 2, 0.2 } }, told(2, 40, 30))
        space:jump(2, 20, 30)
        assert.same({}, told(3, 20, 40))
        assert.same({ { 4, 2, 9, 0.475 } }, told(1, 90, 90, 2, 100, 30))
        assert.equal(2, inherits.cross and #told(2, 40, 30, 1, 30, 30) > 0 and 2)
        local wrong = {}
        space:on_error(function(...) wrong[#wrong + 1] = { ... } end)
        getmetatable(inherits).__index.cross = function() error("oh", 0) end
        assert.same({ { 1, 3, 1, 0.25 } }, told(3, 40, 20))
        assert.same({ "oh", 1, 3, 2 }, { table.unpack(wrong[1], 1, 4) })
      end)
    end)

    it("tell fields of a team to its clients, whichever shard has them", function()
      run = new({ fields = { { "mana", "u8", to = "team" } } }).run
      run(function(space)
        local players = client_model.watch(space)
        space:enter_many { 1, 30, 30, 2, 33, 30, 3, 30, 34 }
        space:add_client(1, 10, { team = 7 })
        for id = 2, 3 do
          space:put(id, "mana", 5)
          space:set_team(id, id + 5)
        end
        local function known()
          space:tick()
          return { players[1].known[2].fields.mana or 0, players[1].known[3].fields.mana or 0 }
        end
        assert.same({ 5, 0 }, known())
        space:set_client(1, { team = 8 })
        assert.same({ 0, 5 }, known())
        space:set_team(2, 8)
        space:set_team(3, nil)
        assert.same({ 5, 0 }, known())
        space:move(2, 10, 10) -- another shard
        space:move(1, 10, 14)
        assert.same({ 5 }, { (space:tick() or true) and players[1].known[2].fields.mana })
      end)
    end)

    it("have priorities of one client", function()
      run(function(space)
        local players = client_model.watch(space)
        space:enter_many { 1, 30, 30, 2, 31, 30, 3, 35, 30, 4, 30, 31 }
        space:add_client(1, 10, { limit = 1 })
        space:add_client(4, 10, { limit = 1 })
        space:set_priority(3, 2, 1)
        space:tick()
        assert.is_truthy(players[1].known[3])
        assert.is_nil(players[4].known[3])
        space:set_priority(3, nil, 1)
        space:tick()
        assert.is_nil(players[1].known[3])
        raises("#3 to 'set_priority' %(entity 2 is no client", space.set_priority, space, 3, 2, 2)
        raises("#2 to 'set_priority' %(priority must be positive", space.set_priority, space, 3, 0, 1)
        raises("#3 to 'set_priority' %(no entity 9", space.set_priority, space, 3, 2, 9)
        raises("#1 to 'set_priority' %(no entity 9", space.set_priority, space, 9, 2, 1)
        space:set_priority(3, 2, 1)
        space:move(3, 35, 36) -- another shard, as the client before long
        space:tick()
        assert.is_truthy(players[1].known[3])
        space:move(1, 28, 36)
        space:tick()
        assert.is_truthy(players[1].known[3])
        space:leave(3)
        space:tick()
        space:enter(3, 35, 36) -- another life
        space:tick()
        assert.is_nil(players[1].known[3])
      end)
    end)

    if where ~= "world" then
      it("have riders", function()
        for _, fields in ipairs { false, FIELDS } do
          run = new({ riders = true, fields = fields or nil }).run
          run(function(space)
            local players = client_model.watch(space)
            space:enter_many { 1, 30, 30, 2, 50, 30, 3, 0, 0 }
            space:attach(3, 2, -15, 0)
            space:add_client(1, 10)
            space:tick()
            assert.is_nil(next(players[1].known)) -- it is near, and its carrier is not
            space:set_view(1, 1, 30)
            space:tick()
            assert.equal(2, players[1].known[3].carrier)
          end)
        end
      end)
    end

    it(where == "world" and "refuse to attach" or "attach", function()
      run(function(space)
        space:enter(1, 30, 30)
        space:enter(2, 10, 10)
        space:set_layers(2, 1, true) -- that has no passengers
        if where == "world" then return raises("in maps alone", space.attach, space, 2, 1, 1, 1) end
        space:attach(2, 1, 1, 0)
        space:set_layers(1, 2)
        space:set_layers(1, 4, true)
        assert.same({ 4, 4 }, { space:layers(1), space:layers(2) })
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

for where, new in pairs { service = places.service, world = places.world } do
  describe(("services that share a map or a world (%s)"):format(where), function()
    local place, run, heard

    local function write(sign)
      return function(...) heard[#heard + 1] = sign .. " " .. table.concat({ ... }, " ") end
    end

    local function told()
      place.tick()
      local list = heard
      heard = {}
      table.sort(list)
      return table.concat(list, ", ")
    end

    before_each(function()
      place, heard = new(), {}
      run = place.run
      run(function(map) map:enter_many { 1, 30, 10, 2, 35, 10, 3, 10, 60 } end)
    end)

    it("hear kind and position where a node asks for them", function()
      run(function(map)
        map:set_kind(2, 7)
        map:add_node(1, 1, 8, { enter = write "+", leave = write "-" }, { positions = true })
        map:add_node(1, 2, 8, write "+", nil, { positions = false })
      end)
      assert.equal("+ 1 2 1 7 35.0 10.0, + 1 2 2", told())
      run(function(map) map:flush { 1, 60, 60, 2, 5, 5 } end)
      assert.equal("- 1 2 1", told())
      run(function(map) map:flush { 2, 58, 60.5 } end)
      assert.equal("+ 1 2 1 7 58.0 60.5, + 1 2 2", told())
    end)

    it("flush rows that are there already", function()
      run(function(map) map:flush({ 1, 60, 5, 2, 9, 9 }, 1) end)
      place.tick()
      run(function(map)
        assert.same({ 60, 5 }, { map:position(1) })
        assert.same({ 35, 10 }, { map:position(2) })
      end)
    end)

    it("hear of nodes and views that name them, until either ends, of which who has asked is told", function()
      local lost = {}
      run(function(map, _, other, third)
        other:listen { enter = write "+" }
        third:on_view_lost(function(id, node) lost[#lost + 1] = { id, node } end)
        map:add_node(1, 7, 8, {}, { to = place.services[3] })
        map:add_node(3, 7, 8, {}, { to = place.services[3] })
        third:add_node(2, 8, 8, {}, { to = place.services[3] })
        third:add_client(2, 8, { to = place.services[3] })
        third:add_node(3, 8, 8, {})
      end)
      assert.equal("+ 1 2 7, + 2 1 8", told())
      run(function(map, _, other)
        assert.is_nil(next(map.records))
        raises("no node 7 here", map.seen, map, 1, 7)
        raises("has not opened", map.add_node, map, 1, 9, 8, {}, { to = 77 })
        raises("has not opened", map.add_client, map, 1, 8, { to = 77 })
        other:listen { leave = write "-" }
        map:move(2, 60, 60) -- to a shard of the other process
        map:flush()
      end)
      assert.equal("- 1 2 7, - 2 1 8", told())
      run(function(map) map:remove_node(1, 7) end)
      place.tick()
      run(function(_, _, other) assert.equal(1, other.client:info().nodes) end) -- of which it has heard
      place.kill(3)
      table.sort(lost, function(a, b) return (a[2] or 0) < (b[2] or 0) end)
      assert.same({ { 2 }, { 2, 8 } }, lost)
      assert.matches("1 nodes and views of %a+ 'earth' have ended.*one of entity 3", place.logged[1])
      run(function(map, _, _, third)
        assert.same({ {}, 0 }, { map:nodes(1) })
        assert.same({ {}, 0 }, { map:nodes(2) })
        assert.is_true(map:has(1))
        third:add_client(2, 8, { to = place.services[1] })
      end)
    end)

    it("give their own handlers to a node that names themselves", function()
      run(function(map, _, other)
        other:listen { enter = write "listener" }
        other:add_node(1, 7, 8, { enter = write "+" }, { to = place.services[3] })
        map:add_node(2, 7, 8, {}, { to = place.services[3] })
      end)
      assert.equal("+ 1 2 7, listener 2 1 7", told())
      run(function(_, _, other) assert.same({ 2 }, (other:seen(1, 7))) end)
    end)

    it("get the bytes of a broadcast where they know the entity, each watcher once", function()
      local function hear(name)
        return function(bytes, target, ids, n)
          for i = 1, n do heard[#heard + 1] = ("%s %s of %d to %d"):format(name, bytes, target, ids[i]) end
        end
      end
      run(function(map, far, other, third)
        far:on_broadcast(hear "far")
        other:on_broadcast(hear "other")
        third:on_broadcast(hear "third")
        far:add_node(2, 9, 8, {})
        other:add_node(1, 7, 8, {})
        other:add_node(1, 8, 8, {})
        other:add_client(2, 8)
        third:add_node(3, 7, 8, {})
        map:enter(4, 31, 11)
        map:broadcast(4, "too early")
      end)
      assert.equal("", told())
      run(function(map)
        assert.equal(2, map:broadcast(4, "hello"))
        assert.same({ { place.addresses[3] }, 1 }, { map:knowers(2) })
        assert.same({ {}, 0 }, { map:knowers(3) })
        assert.equal(0, map:broadcast(3, ""))
        assert.equal(1, map:broadcast(2, ""))
      end)
      assert.equal("far hello of 4 to 2, other  of 2 to 1, other hello of 4 to 1, other hello of 4 to 2", told())
    end)

    it("take an entity over: it stays, and is no more its former client's", function()
      local refused, taken, lost = {}, {}, {}
      run(function(map, _, third)
        map:on_refused(function(ids) refused[#refused + 1] = ids[1] end)
        third:on_view_lost(function(...) lost[#lost + 1] = { ... } end)
        third:add_node(1, 3, 8, {}, { to = place.services[1] })
        map:on_taken(function(id) taken[#taken + 1] = id end)
        map:add_node(1, 1, 8, { leave = write "-" })
        map:add_node(1, 2, 8, {}, { to = place.services[3] })
        map:add_client(1, 8)
        third:add_node(2, 1, 8, { leave = write "flicker" })
      end)
      place.tick()
      run(function(_, other) assert.same({ 30, 10 }, { other:take_over(1) }) end)
      assert.equal("- 1 2 1", told())
      assert.same({ 1 }, taken)
      assert.same({ { 1, 3 } }, lost)
      run(function(map, other)
        assert.same({ {}, 0 }, { other:nodes(1) })
                map:flush { 1, 60, 60, 3, 12, 60 }
        other:add_node(1, 1, 8, {})
        other:add_client(1, 8)
      end)
      place.tick()
      run(function(_, other)
        assert.same({ 30, 10, 12 }, { other:position(1), select(2, other:position(1)), (other:position(3)) })
        other:flush { 1, 60, 60 } -- it is barred in the next shard, too
      end)
      place.tick()
      run(function(map) map:flush { 1, 5, 5 } end)
      place.tick()
      run(function(_, other)
        assert.same({ 60, 60 }, { other:take_over(1) })
      end)
      assert.same({ 1, 1 }, refused)
      place.kill(1)
      run(function(_, other) assert.same({ true, false }, { other:has(1), other:has(3) }) end)
    end)

    it("log a player in that may be there already, in one request, or change nothing", function()
      local taken, fds = {}, {}
      local function login(nodes, more)
        local it = { id = 5, x = 30, y = 11, nodes = nodes, view = { 8 }, take_over = true }
        for key, value in pairs(more or {}) do it[key] = value end
        return it
      end
      run(function(map, far, other, third)
        map:on_taken(function(id) taken[#taken + 1] = id end)
        other:on_client(function(_, _, fd) fds[#fds + 1] = fd end)
        assert.same({ 30, 11 }, { map:join(login { { 1, 8, { leave = write "-" } }, { 4, 8, {} } }) })
        far:add_node(5, 3, 8, { leave = write "far" })
        map:tick()
        for text, wrong in pairs {
          ["#3 to 'add_node' %(radius must not be negative"] = login { { 6, 8, {} }, { 1, -1, {} } },
          ["#2 to 'add_node' %(entity 5 already has node 3"] = login { { 1, 8, {} }, { 3, 8, {} } },
          ["#2 to 'add_node' %(entity 5 already has node 6"] = login { { 6, 8, {} }, { 6, 8, {} } },
          ["#3 to 'add_client' %(unknown option 'limmit'"] = login({ { 1, 8, {} } }, { view = { 8, { limmit = 1 } } }),
          ["#1 to 'join' %(take_over: boolean expected, got number"] = login({}, { take_over = 1 }),
          ["#1 to 'enter' %(entity 5 is already in the %a+%)"] = login({}, { take_over = false }),
        } do raises(text, third.join, third, wrong) end
        assert.same({ 1, 3, 4 }, sorted(map:nodes(5)))
        map:set_kind(5, 3)
        map:tick()
        assert.is_nil(next(third.records))
        assert.same({}, taken)
        heard = {}
        map:flush { 5, 31, 11 }
        map:tick()
        local nodes = { { 1, 8, { enter = write "+" } }, { 2, 1, {} } }
        local again = login(nodes, { x = 9, y = 9, view = { 8, { fd = 7 } } })
        assert.same({ 31, 11 }, { other:join(again) })
        other:tick()
        assert.same({ 1, 2, 3 }, sorted(other:nodes(5)))
        assert.same({ { 5 }, 3 }, { taken, other:kind(5) })
        raises("taken over by", map.set_kind, map, 5, 1)
      end)
      assert.equal("+ 5 1 1, + 5 2 1, - 5 1 1, - 5 2 1", told())
      assert.equal(7, fds[#fds])
      run(function(_, _, other) -- it replaces what it has itself
        other:join(login({ { 4, 8, { enter = write "again" } } }, { view = { 8, { fd = 8 } } }))
        other:tick()
        assert.same({ 3, 4 }, sorted(other:nodes(5)))
      end)
      assert.equal("again 5 1 4, again 5 2 4", told())
      assert.equal(8, fds[#fds])
      run(function(_, _, other)
        other:leave(5)
        assert.same({ 30, 11 }, { other:join(login {}) })
      end)
    end)

    it("change nothing of an entity that was taken over from them, by any method, and may ask about it", function()
      -- The arguments behind the entity, of each method that changes one; move_many has a spec of its own.
      local changes = {
        leave = {}, jump = { 1, 1 }, set_kind = { 2 }, set_extent = { 1 }, set_layers = { 0 }, put = { "hp", 1 },
        touch = {}, set_priority = { 3 }, set_team = { 3 }, attach = { 2 }, broadcast = { "away" },
        add_node = { 9, 8, {} }, remove_node = { 1 }, set_radius = { 1, 1 }, set_area = { 1, 1 }, set_facing = { 2, 1 },
        set_mask = { 1, 2 }, override = { 1, 2, "hide" }, add_client = { 8 }, set_view = { 1, 1 },
        set_client = { { limit = 1 } },
        remove_client = {}, resend = {}, pin = { 3 }, unpin = { 3 },
      }
      local questions = " enter take_over view overrides area explain sees position kind radius has nodes extent "
        .. "layers carrier passengers get known knowers viewers "
      place = new { fields = FIELDS }
      run = place.run
      local function state(map)
        return { map:kind(1), map:extent(1), map:layers(1), map:get(1, "hp"), map:nodes(1), map:area(1, 1),
                 map:area(1, 2), map:overrides(1, 1), map:view(1, 1), map:known(1), map:position(1) }
      end
      run(function(map, _, other)
        map:enter_many { 1, 30, 10, 2, 35, 10, 3, 10, 60 }
        map:add_node(1, 1, 8, {})
        map:add_client(1, 8)
        map:tick()
        other:take_over(1)
        other:add_node(1, 1, 8, {})
        other:add_node(1, 2, { shape = "sector", radius = 8, facing = 0, angle = 1 }, {})
        other:add_client(1, 8)
        map:enter(4, 0, 0)
      end)
      place.tick()
      run(function(map, _, other)
        local before = state(other)
        methods.each(function(name, arguments)
          local is_question = questions:find(" " .. name .. " ", 1, true) or not arguments:find "^id"
          assert.equal(not is_question, methods.changes[name], name)
          if is_question then return end
          local ok, err = pcall(map[name], map, 1, table.unpack((assert(changes[name], name))))
          assert.is_false(ok, name)
          if name ~= "attach" or where == "service" then
            assert.matches(("#1 to '%s' %%(entity 1 has been taken over by %%a+ "):format(name), err)
          end
        end)
        other:tick()
        assert.same(before, state(other))
        assert.same(before, state(map))
        other:remove_client(1)
        map:take_over(1)
        map:set_layers(1, 2)
        assert.equal(2, other:layers(1))
      end)
    end)
  end)
end
