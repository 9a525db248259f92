-- Handlers of a map of the AOI service that fail, wait, never return, or close the map.
if not string.pack then return pending "handlers of the AOI service: needs string.pack of Lua 5.3" end

local room = require "spec.skynet.room"

local SERVICE = room.SERVICE

describe("handlers of a map", function()
  local the_room, net, server, ann, map, same_map

  local function begin()
    the_room = room.new { window = 8 }
    net, server, ann, map, same_map = the_room.net, the_room.server, the_room.ann, the_room.map, the_room.same_map
  end

  before_each(begin)

  local function move(...) the_room:move(...) end

  local function step(...) the_room:step(...) end

  it("may be replaced while the service runs", function()
    local on = { enter = function() error "the old code" end }
    net:run(function() map:add_node(3, 6, 5, on) end)
    local news = {}
    on.enter = function(_, target) news[#news + 1] = "+" .. target end
    on.leave = function(_, target) news[#news + 1] = "-" .. target end
    step(same_map, 2, 50)
    assert.same({ "+2" }, news)
    on.leave = nil
    step(same_map, 2, 0)
    assert.same({ "+2" }, news)
    assert.same({}, ann.logged)
  end)

  it("may be found by a metatable, which may raise and wait as they may", function()
    for i, watched in ipairs { false, true } do
      local eve, told, held = net:client(4 + i, SERVICE, watched), {}, nil
      local find = function(_, name) return function(_, target) told[#told + 1] = name .. target end end
      local found = setmetatable({}, { __index = function(...) return find(...) end })
      local third = net:run(function()
        local opened = eve:open("map " .. i)
        opened:enter_many { 1, 0, 0, 2, 1, 0, 3, 2, 0 }
        opened:add_node(1, 6, 5, found)
        opened:add_node(2, 6, 5, function(_, target) told[#told + 1] = "2 enter" .. target end)
        return opened
      end)
      net:tick(server)
      net:run(function() third:enter_many { 4, 0, 0, 5, 0, 0 } end)
      local works, n = find, 0
      find = function(...)
        n = n + 1
        if n == 1 then error "not loaded" end
        return works(...)
      end
      told = {}
      net:tick(server)
      assert.equal(3, #told, "one event of four has failed")
      assert.matches("not loaded", eve.logged[1])
      find = function(...)
        held = coroutine.running()
        coroutine.yield()
        return works(...)
      end
      move(third, 4, 50)
      told = {}
      net:run(function() third:enter(7, 0, 0) end)
      net:tick(server)
      assert.same({ "2 enter7" }, told)
      find = works
      assert(coroutine.resume(held))
      assert.same({ "2 enter7", "leave4", "enter7" }, told)
      assert.equal(1, #eve.logged)
    end
  end)

  it("may raise anything: nil, and what cannot be told as text", function()
    local odd = setmetatable({}, { __tostring = function() error "odder" end })
    local told
    local function raise() error(told) end
    net:run(function() map:add_node(3, 6, 5, raise) end)
    local function fail_with(value)
      told = value
      step(same_map, 2, 50)
      step(same_map, 2, 0)
    end
    net:tick(server)
    local logged = #ann.logged
    fail_with(odd)
    assert.matches("error object is a table value", ann.logged[logged + 1])
    fail_with(nil)
    assert.matches("^nil", ann.logged[logged + 2])
    local caught
    map:on_error(function(...) caught = table.pack(...) end)
    fail_with(odd)
    assert.is_true(rawequal(odd, caught[1]))
    fail_with(nil)
    assert.is_nil(caught[1])
    assert.same({ 3, 2, 6 }, { caught[2], caught[3], caught[4] })
    map:on_error(nil)
    map:on_close(function() error(odd) end)
    net:kill(SERVICE)
    net:run(function() pcall(map.has, map, 1) end)
    assert.is_true(map.closed)
    assert.matches("error object is a table value", ann.logged[#ann.logged])
  end)

  -- Handlers of which those of enter wait until `go` is called with their text.
  local function waiting_handlers(order)
    local waits = {}
    return {
      enter = function(watcher, target)
        order[#order + 1] = ("begin %d+%d"):format(watcher, target)
        waits[("%d+%d"):format(watcher, target)] = coroutine.running()
        coroutine.yield()
        order[#order + 1] = ("end %d+%d"):format(watcher, target)
      end,
      leave = function(watcher, target) order[#order + 1] = ("%d-%d"):format(watcher, target) end,
    }, function(text) assert(coroutine.resume(waits[text])) end
  end

  it("may wait: when the map is closed, nothing is told of a node that has ended behind it", function()
    local order = {}
    local on, go = waiting_handlers(order)
    net:run(function() map:add_node(3, 7, 100, on) end)
    net:tick(server)
    net:run(function() map:remove_node(3, 7) end)
    net:tick(server)
    net:run(function() map:close() end)
    assert.equal(1, #order)
    local one = order[1]:sub(7)
    go(one)
    assert.same({ "begin " .. one, "end " .. one }, order)
    assert.equal(0, ann.parked)
  end)

  it("may wait freely: what came with their event is told before what comes later", function()
    for i, watched in ipairs { false, true } do
      for _, positions in ipairs { false, true } do
        local order = {}
        local function sorted(from, to)
          local list = table.move(order, from, to, 1, {})
          table.sort(list)
          return list
        end
        local on, go = waiting_handlers(order)
        local eve = net:client(4 + i, SERVICE, watched)
        local third
        net:run(function()
          third = eve:open("map " .. i .. tostring(positions))
          third:handlers_wait "free"
          third:enter_many { 1, 0, 0, 2, 1, 0, 3, 1, 0, 4, 1, 0, 5, -99, 0, 6, -99, 0 }
          third:add_node(1, 6, 5, on, { positions = positions })
          third:add_node(5, 6, 5, function() end) -- a second group: others go on, with and without a fork
        end)
        net:tick(server)
        assert.same({ "begin 1+2", "begin 1+3", "begin 1+4" }, sorted(1, #order))
        for id = 2, 4 do move(third, id, 50) end
        net:tick(server)
        assert.same({ "1-2", "1-3", "1-4" }, sorted(4, 6))
        for _, text in ipairs { "1+2", "1+3", "1+4" } do go(text) end
        move(third, 2, 0)
        move(third, 3, 0)
        move(third, 6, -50)
        net:tick(server) -- these C has called
        assert.same({ "begin 1+2", "begin 1+3" }, sorted(10, 11))
        move(third, 2, 50)
        step(third, 3, 50)
        assert.same({ "1-2", "1-3" }, sorted(12, #order))
        for _, text in ipairs { "1+2", "1+3" } do go(text) end
        assert.equal(0, eve:info().queued)
        assert.equal(0, eve:info().parked)
        assert.is_nil(next(eve.walks))
      end
    end
  end)

  local waiting_co

  -- The handler of a node waits with its first event; rounds of a crowd that comes and goes follow.
  local function hang(positions, rounds)
    local known, wrong, first = {}, 0, true
    local function enter(_, target, _, kind, x)
      if known[target] then wrong = wrong + 1 end
      known[target] = { kind, x }
      if first then
        first = false
        waiting_co = coroutine.running()
        coroutine.yield()
      end
    end
    local function leave(_, target)
      if not known[target] then wrong = wrong + 1 end
      known[target] = nil
    end
    net:run(function()
      local rows = {}
      for i = 1, 3000 do rows[3 * i - 2], rows[3 * i - 1], rows[3 * i] = 1000 + i, 50, 0 end
      same_map:enter_many(rows)
      map:add_node(3, 6, 5, enter, leave, { positions = positions })
      map:add_node(3, 7, 5, {}) -- one that comes and goes while the handler waits
    end)
    net:tick(server)
    for i = 1, rounds do
      net:run(function()
        if i == 3 then map:remove_node(3, 7) end
        for id = 1001, 4000 do same_map:move(id, i % 3 == 0 and 50 + id % 7 or i % 3 == 1 and 90 or 50, 0) end
        same_map:flush()
      end)
      net:tick(server)
    end
    return known, function() return wrong end
  end

  for _, positions in ipairs { false, true } do
    it(("that never return hold up their own watcher alone, in bounded memory (positions: %s)"):format(positions),
      function()
        local known, wrong = hang(positions, 41)
        assert.is_false(the_room:is_behind())
        assert.is_true(select(2, the_room:state()) < 8, "messages are acknowledged")
        assert.equal(2, ann:info().parked)
        for _, change in ipairs(map.busy[3].changes) do assert.is_true(#change.leaves <= 3000) end
        assert.equal(1, #ann.logged)
        assert.matches("a handler of entity 3 in space 'map' has not returned", ann.logged[1])
        step(same_map, 2, 100)
        assert.equal("-2", the_room:take "ann", "others hear")
        assert(coroutine.resume(waiting_co))
        assert.equal(0, wrong())
        local seen, n = map:seen(3, 6)
        assert.is_true(n > 1000)
        for i = 1, n do
          local target = seen[i]
          assert.same(positions and { 1, (the_room:core():position(target)) } or {}, known[target])
          known[target] = nil
        end
        assert.is_nil(next(known))
        assert.equal(0, ann:info().parked)
        assert.is_nil(next(map.busy))
      end)
  end

  it("may close the space: nothing comes after", function()
    local calls = 0
    local function close()
      calls = calls + 1
      map:close()
    end
    net:run(function()
      map:add_node(3, 6, 100, close)
      map:add_node(3, 7, 100, close)
    end)
    net:tick(server)
    assert.equal(1, calls)
    assert.is_true(map.closed)
    net:tick(server)
    assert.is_nil(next(ann.records))
  end)
end)
