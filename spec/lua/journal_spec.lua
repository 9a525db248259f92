-- aoi.journal: what is recorded is played again, on any engine. spec/c/journal.c has the random histories of the C API.
local aoi = require "aoi"
local journal = require "aoi.journal"
local rng = require "spec.support.rng"
local random_run = require "spec.support.random_run"
local tree = require "spec.support.tree"

local seed = random_run.seed("journals")

local function hearing(list)
  local function hear(sign)
    return function(watcher, target, node, reason)
      list[#list + 1] = sign .. watcher .. "/" .. node .. ">" .. target .. (reason and " because " .. reason or "")
    end
  end
  return { enter = hear "+", leave = hear "-" }
end

local function sorted(list)
  table.sort(list)
  return table.concat(list, " ")
end

-- All that a space answers.
local function state(space)
  local lines = {}
  for _, id in ipairs(space:ids()) do
    for _, node in ipairs(space:nodes(id)) do
      lines[#lines + 1] = ("%d/%d r %s sees %s"):format(id, node, tostring(space:radius(id, node)),
        sorted(space:view(id, node)))
    end
    local x, y = space:position(id)
    lines[#lines + 1] = ("%d at %s %s kind %d"):format(id, x, y, space:kind(id))
  end
  return sorted(lines)
end

-- A small town; the first event makes a call of its own.
local function tick(space, random, handlers)
  for _ = 1, 30 do
    local id, x, y = random(20), random(30), random(30)
    if not space:has(id) then
      space:enter(id, x, y)
      space:add_node(id, 1, { radius = random(6), keep = 7 }, handlers)
      space:add_node(id, 2, { shape = "sector", radius = 8, facing = random(6), angle = 2 }, handlers)
    elseif random(12) == 1 then space:leave(id, random(3) - 1)
    elseif random(6) == 1 then space:set_facing(id, 2, random(6))
    elseif random(9) == 1 then space:set_radius(id, 1, random(6), 8)
    elseif random(9) == 1 then space:move_many { id, x, y }
    else space:move(id, x, y) end
  end
  space:flush()
end

local function record(options, sink, made)
  local random = rng.new(seed)
  local space, heard = aoi.new(options), {}
  local told = hearing(heard)
  local handlers = {
    enter = function(watcher, target, node)
      told.enter(watcher, target, node)
      if random(4) == 1 and space:has(target) then space:move(target, random(30), random(30)) end
    end,
    leave = told.leave,
  }
  tick(space, random, handlers)
  for i = #heard, 1, -1 do heard[i] = nil end
  local j = journal.record(space, sink)
  for time = 1, 12 do
    tick(space, random, handlers)
    j:mark(time)
    made[time] = { state = state(space), heard = #heard }
  end
  j:stop()
  return heard, space
end

for _, delivery in ipairs { "immediate", "deferred" } do
  for _, engine in ipairs(tree.engines) do
    describe(("a journal of a %s space, %s,"):format(engine, delivery), function()
      local path, made, heard
      before_each(function()
        path, made = os.tmpname(), {}
        heard = record({ engine = engine, delivery = delivery }, path, made)
      end)
      after_each(function() os.remove(path) end)

      it("makes the same events and the same space on every engine", function()
        for _, other in ipairs(aoi.engines()) do
          local again = {}
          local player = journal.read(path, { engine = other, handlers = function() return hearing(again) end })
          assert.is_nil(player.time)
          local calls, time = 0, nil
          while player:step() do
            calls = calls + 1
            if player.time ~= time then -- the space is as it was at the mark
              time = player.time
              assert.equal(made[time].state, state(player.space))
            end
          end
          assert.equal(12, player.time)
          assert.equal(player.info.calls, calls)
          assert.equal(made[12].state, state(player.space))
          assert.is_true(player.space:check())
          local was, is = {}, {}
          for i, line in ipairs(heard) do was[i] = line end
          for i, line in ipairs(again) do is[i] = line end
          assert.equal(sorted(was), sorted(is))
          if other == engine then assert.same(#heard, #again) end
        end
      end)

      it("goes to any mark, forwards and backwards", function()
        local again = {}
        local player = journal.read(path, { handlers = function() return hearing(again) end })
        assert.equal(5, player:seek(5.5))
        assert.equal(made[5].heard, #again) -- forwards all is heard
        assert.equal(made[5].state, state(player.space))
        player.frame_calls = 1              -- snapshots at every mark from here on
        for _, time in ipairs { 9, 3, 12, 1, 11, 11, 2, 12 } do
          assert.equal(time, player:seek(time))
          assert.equal(time, player.time)
          assert.equal(made[time].state, state(player.space))
        end
        player:seek(4)
        player:step()
        player:step()
        player:seek(4)
        assert.equal(made[4].state, state(player.space))
        assert.is_nil(player:seek(0))
        assert.is_nil(player.time)
        assert.is_string(player:step())
      end)
    end)
  end
end

for _, engine in ipairs(tree.engines) do
  it("a journal of a " .. engine .. " space makes the events in the order they had", function()
    local heard, again, pieces = {}, {}, {}
    local space = aoi.new { engine = engine }
    local j = journal.record(space, function(bytes) pieces[#pieces + 1] = bytes end)
    space:enter(1, 0, 0)
    space:enter(2, 1, 0)
    space:add_node(1, 1, { radius = 5, mask = 1 }, hearing(heard))
    space:add_node(1, 2, { radius = 5, mask = 2 }, hearing(heard))
    space:leave(1) -- the slot of node 2 is free at once, that of node 1 with its last event
    for id = 3, 5 do
      space:enter(id, 0, 0, 2)
      space:add_node(id, 1, { radius = 5, mask = 4 }, hearing(heard))
    end
    space:enter(6, 1, 1, 4)
    space:leave(6)
    j:stop()
    local player = journal.open(table.concat(pieces), { handlers = function() return hearing(again) end })
    while player:step() do end
    assert.equal(8, #again)
    assert.same(heard, again)
  end)
end

describe("a journal", function()
  it("goes to a function in pieces of any length", function()
    local pieces, made = {}, {}
    record({}, function(bytes) pieces[#pieces + 1] = bytes end, made)
    assert.is_true(#pieces > 5)
    local player = journal.open(table.concat(pieces))
    player:seek(12)
    assert.equal(made[12].state, state(player.space))
    assert.is_true(player.info.whole)
  end)

  it("hands long pieces on without a mark", function()
    local space, bytes = aoi.new(), 0
    space:enter(1, 0, 0)
    local j = journal.record(space, function(piece) bytes = bytes + #piece end)
    for i = 1, 20000 do space:move(1, i, 0) end
    assert.is_true(bytes > 20000 * 18 - 2 * 65536)
    j:stop()
    assert.is_true(bytes > 20000 * 18)
  end)

  it("ends with an error of its function, which is raised", function()
    local space, token, fail = aoi.new(), {}, false
    local j = journal.record(space, function() if fail then error(token) end end)
    fail = true
    space:enter(1, 0, 0)
    local ok, err = pcall(j.mark, j, 1)
    assert.is_false(ok)
    assert.equal(token, err)
    space:move(1, 2, 2)
    assert.error_matches(function() j:mark(2) end, "attempt to use a stopped journal")
    journal.record(space, function() end):stop()
  end)

  it("cut off anywhere is good up to there", function()
    local pieces, made = {}, {}
    record({}, function(bytes) pieces[#pieces + 1] = bytes end, made)
    local bytes, last = table.concat(pieces), 0
    for size = 0, #bytes - 1, 97 do
      local ok, player = pcall(journal.open, bytes:sub(1, size))
      if ok then
        assert.is_false(player.info.whole)
        local time = player:seek(1e9) or 0
        assert.is_true(time >= last)
        if time > last then assert.equal(made[time].state, state(player.space)) end
        last = time
      else
        assert.matches("not a journal: ", player)
        assert.equal(0, last)
      end
    end
    assert.is_true(last >= 11)
  end)

  it("is whole with the check behind its end alone, and any other byte of a small one is an error", function()
    local pieces = {}
    local space = aoi.new()
    space:enter(1, 0, 0)
    local j = journal.record(space, function(bytes) pieces[#pieces + 1] = bytes end)
    space:enter(2, 1, 0)
    j:mark(1)
    j:stop()
    local bytes = table.concat(pieces)
    assert.is_true(journal.open(bytes).info.whole)
    for cut = 1, 5 do
      local info = journal.open(bytes:sub(1, -1 - cut)).info
      assert.is_false(info.whole)
      assert.equal(1, info.calls)
    end
    assert.error_matches(function() journal.open(bytes .. "\3") end, "records follow its end")
    for i = 1, #bytes do
      for _, by in ipairs { 1, 128, 255 } do
        local other = bytes:sub(1, i - 1) .. string.char((bytes:byte(i) + by) % 256) .. bytes:sub(i + 1)
        local ok, player = pcall(journal.open, other)
        if ok then assert.is_false(player.info.whole) else assert.matches("not a journal: ", player) end
      end
    end
  end)

  it("tells whoever opens it what is wrong, where that is", function()
    local here = "^[^\n]*journal_spec%.lua:%d+: "
    local function refused(bytes)
      local _, err = pcall(function() journal.open(bytes) end)
      return err
    end
    assert.matches(here .. "not a journal", refused "x")
    assert.matches(here .. "not a journal: it does not begin with a snap", refused "AOIJ\1")
    for _, wrong in ipairs { 5, false } do
      assert.matches(here .. "bad argument #1 to 'open' %(string expected", refused(wrong))
    end
    local space = aoi.new()
    space:enter(1, 0, 0)
    space:add_node(1, 1, 5, function() end)
    local j, problem = journal.record(space, nil, { ring = 5000 }), {}
    local ok, err = pcall(journal.open, j:dump(), { handlers = function() error(problem) end })
    assert.is_false(ok)
    assert.equal(problem, err)
    local player = journal.open(j:dump())
    assert.error_matches(function() player.step() end, "call it with a colon, player:step%(%)")
    assert.error_matches(function() player.seek(1) end, "call it with a colon, player:seek%(time%)")
  end)

  it("of a ring has the last bytes", function()
    local space = aoi.new()
    for id = 1, 50 do space:enter(id, id, 0) end
    local j = journal.record(space, nil, { ring = 20000 })
    for time = 1, 100 do
      for id = 1, 50 do space:move(id, id, time) end
      j:mark(time)
    end
    assert.is_true(j:bytes() <= 25000)
    local bytes = j:dump()
    local player = journal.open(bytes, { engine = "grid" })
    assert.is_true(player.info.first > 50)
    assert.equal(100, player:seek(100))
    assert.equal(100, select(2, player.space:position(7)))
    player:seek(player.info.first)
    assert.equal(player.info.first, select(2, player.space:position(7)))
    j:stop()
    assert.has_error(function() j:dump() end)
  end)

  it("records on when nothing of it is kept, and ends with its space", function()
    local path = os.tmpname()
    local space = aoi.new()
    journal.record(space, path)
    collectgarbage()
    collectgarbage()
    space:enter(1, 2, 3)
    space:close()
    collectgarbage()
    collectgarbage()
    space = nil -- luacheck: ignore
    collectgarbage()
    local player = journal.read(path)
    assert.is_true(player.info.whole)
    player:step()
    assert.equal(3, select(2, player.space:position(1)))
    os.remove(path)
  end)

  it("tells its calls, and events while handlers raise", function()
    local space, bytes = aoi.new(), {}
    local j = journal.record(space, function(piece) bytes[#bytes + 1] = piece end)
    space:enter(1, 0, 0)
    space:add_node(1, 5, 3, function() error "no" end)
    assert.has_error(function() space:enter_many { 2, 1, 1, 3, 1, 2 } end)
    assert.has_error(function() space:flush() end)
    space:leave(2)
    j:stop()
    local told = {}
    local player = journal.open(table.concat(bytes), { handlers = function() return hearing(told) end })
    assert.same({ "enter", 1, 0, 0 }, { player:step() })
    assert.same({ "add_node", 1, 5, 0 }, { player:step() })
    assert.same({ "enter_many", 0, 0, 2 }, { player:step() })
    assert.same({ "+1/5>2", "+1/5>3" }, told)
    assert.equal("leave", (player:step()))
    assert.is_false(player:step())
    assert.is_false(player:step())
    assert.same({ enter = 1, add_node = 1, enter_many = 1, leave = 1 }, player.info.of_call)
  end)

  it("steps from call to call, past the marks before and behind it, and counts the calls", function()
    local pieces, space = {}, aoi.new()
    local j = journal.record(space, function(bytes) pieces[#pieces + 1] = bytes end)
    j:mark(1)
    space:enter(1, 0, 0)
    j:mark(2)
    j:mark(3)
    space:move(1, 1, 1)
    j:stop()
    local player = journal.open(table.concat(pieces))
    for calls, expected in ipairs { "enter", "move" } do
      assert.equal(expected, (player:step()))
      assert.equal(calls, player.calls)
      assert.equal(3, player.time)
    end
    assert.is_false(player:step())
    assert.equal(2, player.calls)
    player:seek(2)
    assert.equal(1, player.calls)
    player:seek(3)
    assert.equal("move", (player:step()))
    assert.equal(2, player.calls)
  end)

  it("says what is wrong", function()
    local space = aoi.new()
    assert.error_matches(function() journal.record(space) end,
      "bad argument #2 to 'record' %(path or function expected, got n")
    assert.error_matches(function() journal.record(space, "/no/such/place/j") end, "cannot open '/no/such/place/j'")
    assert.error_matches(function() journal.record(space, "x", { ring = 5000 }) end, "a ring has no sink")
    assert.error_matches(function() journal.record(space, nil, { rings = 5 }) end, "unknown option 'rings'")
    assert.error_matches(function() journal.record(space, nil, { ring = 0 }) end, "bad value for option 'ring'")
    assert.error_matches(function() journal.record({}, "x") end, "aoi.space expected")
    local j = journal.record(space, function() end)
    assert.error_matches(function() journal.record(space, function() end) end, "the space is recorded already")
    assert.error_matches(function() j:mark(0 / 0) end, "finite number expected, got nan")
    j:mark(5)
    assert.error_matches(function() j:mark(4) end, "the time of a mark must not go back")
    assert.error_matches(function() j:dump() end, "only a ring")
    space:close()
    assert.error_matches(function() j:mark(6) end, "attempt to use a closed space")
    j:stop()
    j:stop()
    assert.error_matches(function() journal.open("x") end, "not a journal: it does not begin as a journal does")
    assert.error_matches(function() journal.open("", { engin = "x" }) end, "unknown option 'engin'")
    assert.error_matches(function() journal.read("/no/such/file") end, "cannot read the journal: /no/such/file")
    assert.same({ nil, "not a journal" }, { nil, (select(2, journal.try "README.md")):match "not a journal" })
  end)
end)

describe("the journal's page", function()
  it("shows what runs", function()
    local file = assert(io.open("docs/journal.md"))
    local snippet = file:read("*a"):match "```lua\n(.-)```"
    file:close()
    local chunk = (loadstring or load)("local print = function() end\n" .. snippet) -- luacheck: ignore
    assert(chunk)()
  end)
end)
