-- Walls of a map of the AOI service: nodes and client views that do not see past them.
if not string.pack then return pending "walls of the AOI service: needs string.pack of Lua 5.3" end

local sync = require "aoi.sync"
local transport = require "spec.support.transport"

local SERVICE, SCENE, ANN = 1, 2, 3

local function sorted(list)
  table.sort(list)
  return list
end

describe("walls of the AOI service:", function()
  local net, server, map, of_ann, heard

  local function run(f) return net:run(f) end

  local function note(what)
    return function(watcher, target, node) heard[#heard + 1] = { what, watcher, target, node } end
  end

  local function events()
    net:tick(server)
    local list = heard
    heard = {}
    return list
  end

  local function raises(pattern, f)
    local ok, err = run(function() return pcall(f) end)
    assert.is_false(ok)
    assert.matches(pattern, err)
  end

  before_each(function()
    net, heard = transport.new(1), {}
    server = net:serve(SERVICE, { window = 4 })
    local scene, ann = net:client(SCENE, SERVICE), net:client(ANN, SERVICE)
    run(function()
      map, of_ann = scene:open("town", { sight = true }), ann:open("town")
      map:enter_many { 1, 0, 0, 2, 10, 0, 3, 0, 10 }
    end)
  end)

  it("hide from a node with `sight`, and from no other", function()
    local door
    run(function()
      door = map:wall(5, -2, 5, 2)
      map:add_node(1, 1, 20, note "enter", note "leave", { sight = true })
      of_ann:add_node(1, 2, 20, note "enter", note "leave")
    end)
    local list = events()
    table.sort(list, function(a, b) return 10 * a[4] + a[3] < 10 * b[4] + b[3] end)
    assert.same({ { "enter", 1, 3, 1 }, { "enter", 1, 2, 2 }, { "enter", 1, 3, 2 } }, list)
    run(function()
      assert.same({ { 3 }, 1 }, { map:view(1, 1) })
      assert.is_false(map:sees(1, 1, 2))
      local why = map:explain(1, 1, 2)
      assert.equal("wall", why.why)
      assert.equal(door, why.wall)
      assert.same({ 1, 2 }, (map:viewers(2)))
      map:open_wall(door)
      assert.is_true(map:sees(1, 1, 2))
      assert.equal(2, select(2, map:viewers(2)))
    end)
    assert.same({ { "enter", 1, 2, 1 } }, events())
    assert.same({ 2, 3 }, sorted((map:seen(1, 1))))
    run(function() map:shut_wall(door) end)
    assert.same({ { "leave", 1, 2, 1 } }, events())
    run(function() map:remove_node(1, 1) end)
    assert.same({ { "leave", 1, 3, 1 } }, events())
    assert.same({}, events())
  end)

  it("count for a whole view after a resync", function()
    run(function()
      map:wall(5, -2, 5, 2)
      map:add_node(1, 1, 20, note "enter", note "leave", { sight = true, positions = true })
    end)
    events()
    server.post:ack(server.subscribers[SCENE].slot, 0, true)
    run(function() map:move(2, 0, 11) map:flush() end)
    assert.same({ { "enter", 1, 2, 1 } }, events())
    assert.same({ 2, 3 }, sorted((map:seen(1, 1))))
  end)

  it("are held on to for `linger` ticks", function()
    local door
    run(function()
      door = map:wall(5, -2, 5, 2)
      map:open_wall(door)
      map:add_node(1, 1, 20, note "enter", note "leave", { sight = true, linger = 2 })
    end)
    assert.equal(2, #events())
    run(function() map:shut_wall(door) end)
    assert.same({}, events())
    assert.same({}, events())
    assert.same({ { "leave", 1, 2, 1 } }, events())
  end)

  it("hide from client views", function()
    local known, door = {}, nil
    map:on_client(function(_, bytes)
      local news = assert(sync.read(bytes))
      for i = 1, news.gone.n do known[news.gone[i]] = nil end
      for i = 0, news.appeared.n - 1 do known[news.appeared[4 * i + 1]] = true end
    end)
    run(function()
      door = map:wall(5, -2, 5, 2)
      map:add_client(1, 20)
    end)
    net:tick(server)
    assert.same({ [3] = true }, known)
    run(function() map:open_wall(door) end)
    net:tick(server)
    assert.same({ [2] = true, [3] = true }, known)
    run(function() map:shut_wall(door) end)
    net:tick(server)
    assert.same({ [3] = true }, known)
    run(function() assert.same({ 3 }, (map:known(1))) end)
  end)

  it("come in rows, all or none", function()
    run(function()
      assert.same({ { 1, 2 }, 2 }, { map:wall_many { 0, 0, 0, 4, 1, 1, 2, 2 } })
      local list = map:walls({ 9, 9, 9 })
      table.sort(list)
      assert.same({ 1, 2 }, list)
      assert.same({ 1, 1, 2, 2, false }, { map:get_wall(2) })
      local wall, x, y = map:ray(-1, 1, 1, 0.5)
      assert.same({ 1, 0, 0.75 }, { wall, x, y })
    end)
    raises("#1 to 'wall_many' %(row 2: .*number expected", function() map:wall_many { 0, 0, 1, 1, 2, 2, "x", 3 } end)
    raises("#1 to 'wall_many' %(3 values: each row has 4", function() map:wall_many { 0, 0, 1 } end)
    raises("#1 to 'wall_many' %(table expected, got number", function() map:wall_many(3) end)
    run(function() assert.equal(2, select(2, map:walls())) end)
  end)

  it("outlive who put them there, and end with the map", function()
    local door
    run(function() door = of_ann:wall(5, -2, 5, 2) end)
    net:kill(ANN)
    server:drop(ANN)
    run(function()
      assert.equal(5, (map:get_wall(door)))
      map:remove_wall(door)
      assert.is_nil(map:get_wall(door))
    end)
  end)

  it("have heights in three dimensions", function()
    local high
    run(function()
      high = net:client(9, SERVICE):open("tower", { dimensions = 3, sight = true })
      high:enter_many { 1, 0, 0, 0, 2, 10, 0, 0, 3, 10, 0, 20 }
      high:wall(5, -2, 5, 2, 0, 3)
      high:add_node(1, 1, 50, note "enter", note "leave", { sight = true })
    end)
    assert.same({ { "enter", 1, 3, 1 } }, events())
  end)

  it("are refused in words that say the cure", function()
    raises("#5 to 'add_node' %(bad value for option 'linger'", function()
      map:add_node(1, 1, 20, {}, { sight = true, linger = 1.5 })
    end)
    raises("option 'linger' is of nodes with sight = true", function() map:add_node(1, 1, 20, {}, { linger = 3 }) end)
    raises("#5 to 'add_node' %(bad value for option 'sight' %(a boolean expected", function()
      map:add_node(1, 1, 20, {}, { sight = 1 })
    end)
    raises("#1 to 'open_wall' %(no wall 7", function() map:open_wall(7) end)
    raises("#1 to 'open_wall' %(integer expected", function() map:open_wall("x") end)
    raises("#3 to 'wall' %(", function() map:wall(1, 2, 0 / 0, 3) end)
    local plain
    run(function() plain = net:client(9, SERVICE):open("plain") end)
    run(function() plain:enter(1, 0, 0) end)
    raises("attempt to call 'wall' where there are no walls: open it with sight = true", function()
      plain:wall(0, 0, 1, 1)
    end)
    raises("option 'sight' needs walls: open it with sight = true", function()
      plain:add_node(1, 1, 20, {}, { sight = true })
    end)
    raises("space 'town' was opened with sight", function() net:client(9, SERVICE):open("town", { sight = false }) end)
    raises("space 'plain' was opened without sight", function()
      net:client(8, SERVICE):open("plain", { sight = true })
    end)
    raises("bad value for option 'sight' %(a boolean expected", function()
      net:client(8, SERVICE):open("x", { sight = 3 })
    end)
    run(function() assert.same({ {}, 0 }, { map:nodes(1) }) end)
  end)
end)
