-- What a world does with arguments that are wrong, or that their caller goes on to change: as a map does, and never
-- behind the caller's back, in an epoch that others share.
if not string.pack then return pending "arguments of a world: needs string.pack of Lua 5.3" end

local network = require "spec.world.network"
local recovery = require "aoi.skynet.world.recovery"
local Shard = require "aoi.skynet.world.shard"
local tiles = require "aoi.skynet.world.tiles"
local places = require "spec.support.places"
local random_run = require "spec.support.random_run"

local PLAN = { size = 64, reach = 10, extent = 8, tile = 8, shards = { 2, 2 } }

local new_network = network.with { seed = random_run.seed("world arguments"), plan = PLAN, processes = { 2, 2 } }

local function new_world(options)
  local net = new_network(options)
  return net, net:member(1)
end

-- What f raises without its position, which must be in this file; nil: nothing.
local function raised(f, ...)
  local arguments = table.pack(...)
  local ok, err = pcall(function() f(table.unpack(arguments, 1, arguments.n)) end)
  if ok then return nil end
  local text, n = tostring(err):gsub("^[^:]*arguments_spec%.lua:%d+: ", "")
  return n == 1 and text or "no position: " .. tostring(err)
end

-- f(space) in a world and in a map.
local function both(f, options)
  local net, world = new_world(options)
  net:finish(function() f(world, "world") end)
  local here = places.here(options)
  here.run(function(map) f(map, "map") end)
  assert.same({}, here.logged)
  for _, shard in ipairs(net.shards) do shard:check() end
end

-- The same error of the same call in both, or none.
local function same_errors(begin, calls, options)
  local texts = { world = {}, map = {} }
  both(function(space, noun)
    begin(space)
    for i, call in ipairs(calls) do
      local text = raised(space[call[1]], space, table.unpack(call, 2, call.n or #call))
      texts[noun][i] = call[1] .. ": " .. (text or "no error")
    end
  end, options)
  for i, text in ipairs(texts.map) do assert.equal(text, texts.world[i]) end
  return texts.map
end

describe("arguments of a world", function()
  it("an area of a client view that begins is checked as one of a view that is there", function()
    for _, waits in ipairs { true, false } do
      local texts = same_errors(function(space)
        space:enter(5, 10, 10)
        space:add_client(5, 8)
        if not waits then space:tick() end
      end, { { "set_view", 5, 1, { 3, 4 } }, { "set_view", 5, 1, -5 }, { "set_view", 5, 2, 5 },
             { "set_view", 5, "1", 5 }, { "set_view", 5, 1.5, 5 } })
      assert.matches("#3 to 'set_view' (unknown area option '1' of a square)", texts[1], 1, true)
      assert.matches("#2 to 'set_view' (client 5 has no view 2)", texts[3], 1, true)
    end
    both(function(space)
      space:enter(5, 10, 10)
      space:add_client(5, { 4, 8 })
      space:set_view(5, 1.0, 2)
      space:tick()
      space:set_view(5, 2.0, 2)
      space:tick()
    end)
  end)

  it("one view that cannot begin ends alone, and who has asked for it is told", function()
    local net, world = new_world()
    local lost = {}
    world:on_view_lost(function(...) lost[#lost + 1] = { ... } end)
    net:finish(function()
      world:enter(1, 10, 10)
      world:add_client(1, 8)
      for _, shard in ipairs(net.shards) do
        if shard.views[1] then shard.views[1].area = { 3, "x" } end
      end
      world:tick()
      world:tick()
      world:add_client(1, 8)
      world:tick()
    end)
    assert.same({ { 1 } }, lost)
    assert.is_truthy(world.views[1])
  end)

  it("areas and options of client views are the caller's to change when they have been given", function()
    local net, world = new_world()
    local other = net:member(2)
    net:finish(function()
      world:enter_many { 1, 10, 10, 2, 11, 10, 3, 12, 10 }
      local area, areas, options = { radius = 4 }, { 4, { radius = 8 } }, { limit = 2, tiers = { { 3, 1 } } }
      world:add_client(1, area, options)
      other:add_client(2, areas)
      world:join { id = 4, x = 10, y = 10, view = { area } }
      other:set_view(2, 2, area)
      other:set_view(2, 1, 5)
      assert.same({ 4, { radius = 8 } }, areas)
      area.radius, areas[1], options.tiers[1][1] = "x", "y", "z"
      net:kill_shard((world:where(1)))
      net:sleep(20)
      world:tick()
      local found = {}
      for _, shard in ipairs(net.shards) do
        for id, view in pairs(shard.views) do found[id] = view.made and { view.area, view.options } end
      end
      assert.same({ [1] = { { radius = 4 }, { limit = 2, tiers = { { 3, 1 } } } }, [2] = { { 5, { radius = 4 } }, {} },
                    [4] = { { radius = 4 }, {} } }, found)
    end)
    places.here().run(function(map)
      local areas = { 4, 8 }
      map:enter(1, 0, 0)
      map:add_client(1, areas)
      map:set_view(1, 2, 6)
      assert.same({ 4, 8 }, areas)
    end)
  end)

  it("a client view that comes back while its entity waits is checked as one that begins", function()
    local shard = Shard.new { number = 1, plan = tiles.plan { size = 64, reach = 10, shards = 1 } }
    local ent = { life = 3, client = 1, kind = 1, past = true }
    shard.ents[1] = ent
    local function put(area)
      recovery.commands.restore_view(shard, 2, 1, { area = area, options = {}, client = 2, life = 3 })
    end
    assert.error_matches(function() put { 3, "x" } end, "bad argument #2 to 'add_client'")
    assert.error_matches(function() put(11) end, "it reaches 11")
    put(10)
    assert.same({}, shard.viewing)
  end)

  it("what a client view pins before it begins is pinned when it has begun", function()
    for _, waits in ipairs { true, false } do
      same_errors(function(space)
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
      end, { { "pin", 1, 99 }, { "pin", 1, 1 }, { "pin", 1, "2" }, { "unpin", 1, 99 }, { "pin", 2, 1 } })
    end
    same_errors(function(space)
      space:enter(1, 10, 10)
      space:add_client(1, 8)
    end, { { "pin", 1, 99 }, { "pin", 1, 1 }, { "unpin", 1, 99 } })
  end)

  it("radius, facing and mask of a node become those of a map", function()
    local areas = {}
    same_errors(function(space)
      space:enter(1, 5, 5)
      space:add_node(1, 1, 5, {})
      space:add_node(1, 2, { shape = "sector", radius = 3, facing = 1, angle = 1, mask = 5 }, {})
      space:set_radius(1, 1, 6, 7)
      space:set_mask(1, 1, 6)
      space:set_facing(1, 2, 2)
      space:add_node(1, 4, { shape = "box", extents = { 2, 3 } }, {})
      table.insert(areas, { space:area(1, 1), space:area(1, 2), space:radius(1, 1), tostring((space:radius(1, 4))) })
    end, {
      { "set_radius", 1, 1, -1 }, { "set_radius", 1, 1, 5, 4 }, { "set_radius", 1, 2, 5 }, { "set_facing", 1, 1, 0 },
      { "set_mask", 1, 1 }, { "set_mask", 1, 1, "x" }, { "set_radius", 1, 1, 0 / 0 }, { "set_radius", 1, 3, 5 },
    })
    assert.same(areas[1], areas[2])
    assert.equal("nil", areas[1][4]) -- a box has none
  end)

  it("moves are those of a map", function()
    local texts = same_errors(function(space) space:enter(5, 10, 10) end, {
      { "move", 5, 1, 2 }, { "move", 5, 1, 2, 3 }, { "move", 5.5, 1, 2 }, { "move", "5", 1, 2 }, { "move", 5, "1", 2 },
      { "move", 5, 1 }, { "move", 5, 0 / 0, 2 }, { "move", 5, 1, -1 / 0 }, { "flush", {} }, { "flush", { 5, 1 } },
      { "flush", { 5, 1, 2 }, 2 }, { "flush", { 5, 1, "2" } }, { "flush", { "5", 1, 2 } }, { "flush", 5 },
      { "move_many", { 5, 1 } }, { "move_many", { 5, 1, 2 }, -1 }, { "move_many", { 5, 0 / 0, 2 } }, { "move_many" },
    })
    assert.equal("move: bad argument #4 to 'move' (nothing expected, got number)", texts[2])
    assert.equal("flush: bad argument #2 to 'flush' (the array has 1 rows)", texts[11])
  end)

  it("enter takes no more than a map's", function()
    same_errors(function() end, { { "enter", 1, 5, 5, 0, 1 }, { "enter", 1, 5, 5, 1, { nodes = {} } },
                                  { "enter", 1, 5, 5, 1, nil, n = 6 }, { "enter", 3, 5 },
                                  { "enter", 3, 5, 5, "x" }, { "enter", 3, 5, 5, 1, nil, 2 } })
    both(function(space)
      assert.equal(0, select("#", space:enter(1, 5, 5, 5, 2)))
      assert.equal("bad argument #6 to 'enter' (nothing expected in 3 dimensions, got number)",
        raised(space.enter, space, 2, 5, 5, 5, 2, 0))
      space:join { id = 3, x = 1, y = 2, z = 3, kind = 4 }
      space:tick()
      assert.same({ 2, 4 }, { space:kind(1), space:kind(3) })
      assert.same({ 1, 2, 3 }, { space:position(3) })
    end, { dimensions = 3 })
  end)

  it("arrays are checked as a map's, and errors are the caller's", function()
    local texts = same_errors(function(space) space:enter(1, 5, 5) end, {
      { "flush", { "1", 2, 3 } }, { "flush", { 1, 2, 0 / 0 } }, { "flush", { 1.5, 2, 3 } },
      { "move_many", { "1", 2, 3 } }, { "enter_many", { "5", 1, 1 } }, { "enter_many", { 5, 1 } },
      { "enter_many", { 5.5, 1, 1 } }, { "enter_many", { 5, 1, 1 / 0 } }, { "enter_many", { 5, true, 1 } },
      { "near_many", { 1 }, 5 }, { "near_many", {}, "x" }, { "near_many", {}, { radius = -1 } },
      { "near_many", { 1, "2" }, 5 }, { "near_many", { 1, 0 / 0 }, 5 }, { "near_many", { 1, 2 }, 5, "x" },
      { "near_many", { 1, 2 }, 5, 1, 5 }, { "near_many", { 1, 2 }, 5, {}, 5 }, { "near_many", 5, 5 },
      { "near_many", { 1, 2 }, "x" }, { "near_many", {}, 5 },
    })
    assert.matches("row 1: integer expected, got string", texts[1], 1, true)
    local _, world = new_world()
    assert.equal("bad argument #1 to 'where' (integer expected, got string)", raised(world.where, world, "x"))
  end)

  it("what is missing, too much, or of another type has the words of a map", function()
    local texts = same_errors(function(space)
      space:enter(1, 5, 5)
      space:enter(2, 6, 6)
      space:add_node(1, 1, 5)
      space:add_client(1, 5)
      space:wall(9, 0, 9, 9)
    end, {
      { "enter", 3, nil, 5, n = 4 }, { "enter", 3 }, { "enter", 3, 5, 5, "x", 1 }, { "join", {} },
      { "join", { id = 3 } }, { "join", { id = 3, x = 5, y = 5, kind = false } }, { "set_kind", 1 },
      { "near", nil, 5, 1 }, { "near", 5, "x", 1 }, { "near", 5, 0 / 0, 1 }, { "near", 5 }, { "near" },
      { "nearest", nil, 5, 1 }, { "nearest", 5, 5 }, { "nearest", 5, 5, "x" }, { "nearest", 5, 5, 1.5 },
      { "nearest", 5, 5, -1 }, { "nearest", 5, 5, 1, "x" }, { "nearest", 5, 5, 1, 0 / 0 },
      { "nearest", 5, 5, 1, 5, "x" }, { "nearest", 5, 5, 1, 5, 1, "x" }, { "nearest", 5, 5, 1, 5, 1, {}, 7 },
      { "sweep", nil, 0, 9, 9, 1 }, { "sweep", 0, 0, 9 }, { "near_many", { 1 }, 5 }, { "near_many", { 1, 2, 3 }, 5 },
      { "near_many", { 1, 2, 3, {} }, 5 }, { "set_area", 1, 1 }, { "set_view", 1 }, { "set_view", 1, 1, { 99, 2 } },
      { "override", 1, 1, 2, "shown" }, { "override", 1, 1, 2, {} }, { "override", 1, 1, 1, "hide" },
      { "override", 1, 1, 9, "hide" }, { "override", 1, 9, 2, "hide" }, { "ray" }, { "ray", 1, "x" }, { "walls", 5 },
      { "get_wall", 1, 5 }, { "open_wall", 1, 5 }, { "shut_wall", 1, {} }, { "remove_wall", 1, 5 }, { "get_wall", 1 },
    }, { sight = true })
    assert.equal("nearest: bad argument #6 to 'nearest' (table expected, got string)", texts[21])
    assert.matches("#4 to 'override' ('hide', 'show', 'match' or nil expected, got 'shown')", texts[31], 1, true)
    assert.equal("remove_wall: bad argument #2 to 'remove_wall' (nothing expected, got number)", texts[42])
    assert.equal("get_wall: no error", texts[43])
  end)

  it("an id that is taken is named with its row, and nothing enters", function()
    local texts = {}
    both(function(space, noun)
      space:enter(-5, 40, 5)
      local list = { raised(space.enter_many, space, { 1, 5, 5, -5, 6, 6, 3, 40, 40 }),
                     raised(space.enter_many, space, { 1, 5, 5, 2, 6, 6, 1, 40, 40 }) }
      texts[noun] = table.concat(list, "\n"):gsub("in the " .. (noun == "world" and noun or "space"), "there")
      assert.equal(1, space:count())
    end)
    assert.equal(texts.map, texts.world)
    assert.equal("bad argument #1 to 'enter_many' (row 2: entity -5 is already there)\n" ..
      "bad argument #1 to 'enter_many' (row 3: entity 1 is already there)", texts.world)
  end)

  it("the greatest integers are places and radii", function()
    local most, least, found = math.maxinteger, math.mininteger, {}
    both(function(space, noun)
      space:enter_many { 1, 5, 5, 2, 60, 60, 3, least, least, 4, most, most }
      space:tick()
      found[noun] = {}
      for _, list in ipairs {
        (space:near(5, 5, most)), (space:near(5, 5, { radius = most, margin = most })),
        (space:near(5, 5, { shape = "box", extents = { most, most } })), (space:nearest(5, 5, most, most)),
        (space:sweep(least, least, most, most, most)), (space:near_many({ least, least, most, most }, 10)),
        (space:near(5, 5, { shape = "polygon", points = { least, least, most, least, 0, most } })),
      } do
        table.sort(list)
        table.insert(found[noun], list)
      end
    end)
    assert.same(found.map, found.world)
    assert.same({ 1, 2, 3, 4 }, found.map[1])
  end)

  it("a node that is not there has no area and no radius, which are values", function()
    both(function(space)
      space:enter(1, 5, 5)
      assert.same({ 1, 1 }, { select("#", space:area(1, 9)), select("#", space:radius(1, 9)) })
      assert.same({ 2, 2 }, { select("#", space:position(1)), select("#", space:take_over(1)) })
    end)
  end)

  it("a list of ends that was longer ends where it ends", function()
    both(function(space)
      space:enter(1, 5, 5)
      space:tick()
      local ends, buf = {}, {}
      for _, rows in ipairs { { 5, 5, 9, 9, 5, 5 }, { 5, 5 }, {} } do
        local _, n, filled = space:near_many(rows, 2, nil, buf, ends)
        assert.same({ n, rawequal(ends, filled), #rows / 2 }, { #buf, true, #ends })
      end
    end)
  end)

  it("a table to fill is filled past its metatable, as the core does", function()
    local function asked() error("its metatable is asked", 0) end
    local function new_list() return setmetatable({}, { __index = asked, __newindex = asked }) end
    both(function(space)
      space:enter(1, 10, 10)
      space:add_node(1, 1, 5)
      space:tick()
      assert.equal(1, rawget(space:ids(new_list()), 1))
      assert.equal(0, rawlen(space:seen(1, 1, new_list())))
      local list, n, ends = space:near_many({ 10, 10 }, 2, new_list(), new_list())
      assert.same({ 1, 1, 1 }, { rawget(list, 1), n, rawget(ends, 1) })
    end)
  end)

  it("a table to fill is a table, and its error is the caller's", function()
    local texts = same_errors(function(space)
      space:enter(1, 10, 10)
      space:add_node(1, 1, 5)
    end, { { "seen", 1, 1, "x" }, { "seen", 1, 1, false }, { "near_many", { 1, 1 }, 1, 1, false },
           { "near_many", { 1, 1 }, 1, 1, {}, false } })
    local text = "%s: bad argument #%d to '%s' (table expected, got %s)"
    for i, call in ipairs { { "seen", 3, "string" }, { "seen", 3, "boolean" }, { "near_many", 4, "boolean" },
                            { "near_many", 5, "boolean" } } do
      assert.equal(text:format(call[1], call[2], call[1], call[3]), texts[i])
    end
  end)

  it("what is called with more than it has says so, and does nothing", function()
    local kept = {}
    local texts = same_errors(function(space)
      space:enter(1, 10, 10)
      space:add_node(1, 1, 5)
      space:add_client(1, 5)
      kept[#kept + 1] = space
    end, { { "leave", 1, 2 }, { "remove_node", 1, 1, 7 }, { "remove_client", 1, "x" }, { "resend", 1, {} },
           { "count", 5 }, { "ids", 5 }, { "ids", {}, 5 }, { "nodes", 1, "x" }, { "kind", 1, true },
           { "leave", 1, nil, 3 }, { "has", 1, nil, n = 3 } })
    for i, text in ipairs { "#2 to 'leave' (nothing", "#3 to 'remove_node' (nothing", "#2 to 'remove_client' (nothing",
                            "#2 to 'resend' (nothing", "#1 to 'count' (nothing", "#1 to 'ids' (table",
                            "#2 to 'ids' (nothing", "#2 to 'nodes' (table", "#2 to 'kind' (nothing",
                            "#3 to 'leave' (nothing" } do
      assert.matches("bad argument " .. text .. " expected, got ", texts[i], 1, true)
    end
    assert.equal("has: no error", texts[11])
    for _, space in ipairs(kept) do assert.is_truthy(space.mine[1][1]) end
  end)

  it("questions of what is not there are answered as a map does", function()
    same_errors(function(space)
      space:enter(1, 5, 5)
      space:tick()
      assert.equal(0, select("#", space:add_node(1, 1, 5, {})))
    end, {
      { "viewers", 999 }, { "knowers", 999 }, { "broadcast", 999, "x" }, { "viewers", "x" }, { "extent", "x" },
      { "explain", 999, "x", 2 }, { "get", 1 }, { "get", 1, 5 }, { "sweep", 0, 0, 9, 9, "x" }, { "sweep", 0, 0, 9, 9 },
      { "sweep", 0, 0, 9, 9, -1 }, { "sweep", 0, 0, 9, 9, 0 / 0 }, { "sweep", 0, 0, 9, "x", 1 },
    })
    local told = {}
    both(function(space, noun)
      for id = 1, 3 do space:enter(id, 20 * id - 10, 5) end
      space:tick()
      assert.same({ nil, nil, n = 2 }, table.pack(space:extent(999), (space:layers(999))))
      local reason, list = space:explain(999, 1, 2), {}
      for name, value in pairs(reason) do list[name] = value end
      told[noun] = { list, tostring(reason), (space:sweep(0, 5, 60, 5, math.huge)) }
      assert.equal(3, select(2, space:sweep(0, 5, 60, 5, math.huge)))
    end)
    assert.same(told.map, told.world)
    both(function(space)
      space:enter(1, 5, 5)
      local called = false
      raised(space.add_client, space, 1, function() called = true end)
      assert.is_false(called, "a function is no area")
    end)
    assert.equal("no watcher", told.world[1].why)
  end)

  it("the view of join is a table, what hears of a late epoch is a function", function()
    local texts = same_errors(function() end, {
      { "join", { id = 1, x = 5, y = 5, view = 5 } }, { "join", { id = 1, x = 5, y = 5, view = false } },
      { "enter", 1, 5, 5 },
    })
    assert.matches("#1 to 'join' (view: table expected, got number)", texts[1], 1, true)
    local _, world = new_world()
    assert.equal("bad argument #1 to 'on_late' (function expected, got number)", raised(world.on_late, world, 5))
    world:on_late(print)
    assert.equal(print, world.late)
    world:on_late(nil)
    assert.is_nil(world.late)
  end)

  it("a closed world says so where it is asked for its figures", function()
    local _, world = new_world()
    world:close()
    assert.equal("attempt to use a closed world", raised(world.info, world))
  end)

  it("a request is one of those that are listed, and no helper of theirs", function()
    local shard, got = Shard.new { number = 1, plan = tiles.plan(PLAN) }, nil
    for _, name in ipairs { "steal", "bury", "drop_node", "find", "node", "pack", "helpers" } do
      shard:request(1, 0, function(...) got = { ... } end, name, 1, 2, 3)
      assert.same({ false, 0, ("unknown request '%s'"):format(name) }, got)
    end
  end)
end)
