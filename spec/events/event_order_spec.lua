-- Enter and leave alternate for each pair, a call's leaves precede its enters, a batch brings its net change, and
-- questions change no order.
local aoi = require "aoi"
local journal = require "aoi.journal"
local bits = require "spec.support.bits"
local fixture = require "spec.support.fixture"
local random_area = require "spec.support.random_area"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local unpack = table.unpack or unpack -- luacheck: ignore

for setup in fixture.all() do
  describe("events on " .. setup.name, function()
    local w
    before_each(function() w = setup.new() end)

    it("alternate, beginning with enter, one leave for every enter", function()
      local state = {}
      local function listen()
        for _, e in ipairs(w:ordered()) do
          local sign, pair = e:sub(1, 1), e:sub(2)
          assert.are_not.equal(sign == "+", state[pair] or false, "twice: " .. e)
          state[pair] = sign == "+"
        end
      end
      for id = 1, 6 do w:enter(id, w:at(id)) w:watch(id, 1, id) listen() end
      for step = 1, 40 do
        local id = step % 6 + 1
        if step % 7 == 0 then w.space:set_kind(id, step % 2)
        elseif step % 5 == 0 then w.space:set_radius(id, 1, step % 9)
        elseif step % 11 == 0 then w.space:set_mask(id, 1, step % 4)
        else w:move(id, w:at(step * 5 % 13, step % 2 + 1)) end
        if setup.mode == "immediate" or step % 3 == 0 then listen() end
      end
      listen()
      local seen = 0
      for id = 1, 6 do seen = seen + select(2, w.space:view(id, 1)) end
      for _, sees in pairs(state) do seen = seen - (sees and 1 or 0) end
      assert.equal(0, seen)
      for id = 1, 6 do w.space:leave(id) listen() end
      for pair, sees in pairs(state) do assert.is_false(sees, "no leave for " .. pair) end
    end)

    it("of one call are leaves first, then enters", function()
      w:enter(1, w:at(0))
      w:watch(1, 1, 10)
      w:watch(1, 2, 5)
      for i = 1, 8 do
        w:enter(10 + i, w:at(i * 4 - 18))
        w:watch(10 + i, 1, 6)
      end
      w:ordered()
      local both = 0
      local function listen()
        local entered, left
        for _, e in ipairs(w:ordered()) do
          if e:sub(1, 1) == "+" then entered = true
          else
            left = true
            assert.is_nil(entered, "an enter before " .. e)
          end
        end
        if entered and left then both = both + 1 end
      end
      for step = 1, 12 do w:move(1, w:at(step % 2 == 0 and step or -step)) listen() end
      w.space:move_many(w:flat { { 11, w:at(2) }, { 18, w:at(40) }, { 1, w:at(9) }, { 14, w:at(-30) } })
      listen()
      assert.is_true(both > 3, "the test has nothing to look at")
    end)

    it("come in the same order for the same calls", function()
      local function play()
        local v, list = setup.new(), {}
        local function note() for _, e in ipairs(v:ordered()) do list[#list + 1] = e end end
        for i = 1, 30 do
          v:enter(i * 37 % 101, v:at(i % 7, 1, i % 3))
          v:watch(i * 37 % 101, 1, i % 5)
          if i % 4 == 0 then v:watch(i * 37 % 101, 2, { radius = i % 5, keep = 9 }) end
          note()
        end
        for i = 1, 30 do v:move(i * 37 % 101, v:at(i * 5 % 9, 2, i % 2)) note() end
        for i = 1, 30, 2 do v.space:leave(i * 37 % 101) note() end
        return list
      end
      local first = play()
      assert.is_true(#first > 100)
      assert.same(first, play())
    end)

    it("have integers for arguments", function()
      if not bits.integers then return end
      local types = {}
      local reasons = {}
      local function note(...)
        for i = 1, 3 do types[math.type((select(i, ...)))] = true end
        reasons[#reasons + 1] = select("#", ...) - 3 .. ":" .. tostring((select(4, ...)))
      end
      w:enter(1, w:at(0))
      w.space:add_node(1, 7, 5, note, note)
      w:enter(2.0, w:at(0))
      w:deliver()
      w:move(2, w:at(99))
      w:deliver()
      w:move(2, w:at(0))
      w:deliver()
      w.space:leave(2)
      w:deliver()
      assert.same(setup.mode == "drain" and {} or { integer = true }, types)
      assert.same(setup.mode == "drain" and {} or { "0:nil", "0:nil", "0:nil", "1:0" }, reasons)
    end)

    it("of a new life follow those of the old one", function()
      w:enter(1, w:at(0))
      w:watch(1, 7, 5)
      w:enter(2, w:at(1))
      assert.same({ "+1/7>2" }, w:ordered())
      w.space:leave(2)
      w:enter(2, w:at(1))
      assert.same({ "-1/7>2", "+1/7>2" }, w:ordered())
    end)

    it("of a node's new life follow those of the old one", function()
      w:enter(1, w:at(0))
      w:watch(1, 7, 5)
      w:enter(2, w:at(1))
      assert.same({ "+1/7>2" }, w:ordered())
      w.space:remove_node(1, 7)
      w:watch(1, 7, 5)
      assert.same({ "-1/7>2", "+1/7>2" }, w:ordered())
    end)

    it("of a watcher's new life follow those of the old one", function()
      w:enter(1, w:at(0))
      w:watch(1, 7, 5)
      w:enter(2, w:at(1))
      assert.same({ "+1/7>2" }, w:ordered())
      w.space:leave(1)
      w:enter(1, w:at(0))
      w:watch(1, 7, 5)
      assert.same({ "-1/7>2", "+1/7>2" }, w:ordered())
    end)
  end)
end

for setup in fixture.all { modes = { "flush", "drain" } } do
  describe("the net change on " .. setup.name, function()
    local w
    before_each(function()
      w = setup.new()
      w:enter(1, w:at(0))
      w:watch(1, 7, 5)
    end)

    it("has nothing of a target that came and went", function()
      w:enter(2, w:at(1))
      w:move(2, w:at(9))
      w:enter(3, w:at(1))
      w.space:leave(3)
      w:enter(4, w:at(1))
      w.space:set_kind(4, 0)
      assert.equal(0, w.space:stats().pending)
      assert.same({}, w:take())
    end)

    it("has nothing of a target that went and came back", function()
      w:enter(2, w:at(1))
      assert.same({ "+1/7>2" }, w:take())
      w:move(2, w:at(9))
      w:move(2, w:at(2))
      w.space:set_radius(1, 7, 1)
      w.space:set_radius(1, 7, 5)
      w.space:set_mask(1, 7, 2)
      w.space:set_mask(1, 7, 1)
      assert.equal(0, w.space:stats().pending)
      assert.same({}, w:take())
    end)

    it("has one event, however often the target crossed", function()
      for i = 1, 9 do
        w:enter(2, w:at(1))
        if i < 9 then w.space:leave(2) end
      end
      for i = 1, 8 do w:move(2, w:at(i % 2 == 0 and 4 or 40)) end
      w.space:view(1, 7) -- has the moves judged
      assert.equal(1, w.space:stats().pending)
      assert.same({ "+1/7>2" }, w:take())
    end)

    it("has nothing of a node that came and went", function()
      w:enter(2, w:at(1))
      assert.same({ "+1/7>2" }, w:take())
      w:watch(1, 8, 5)
      w.space:remove_node(1, 8)
      w:enter(3, w:at(1))
      w:watch(3, 1, 5)
      w.space:leave(3)
      assert.same({}, w:take())
    end)

    it("has the old life's leave and the new life's enter, each once", function()
      w:enter(2, w:at(1))
      assert.same({ "+1/7>2" }, w:take())
      for _ = 1, 4 do
        w.space:leave(2)
        w:enter(2, w:at(2))
      end
      assert.equal(2, w.space:stats().pending)
      assert.same({ "-1/7>2", "+1/7>2" }, w:ordered())
    end)

    it("has the old life's leave alone, if the new one is out of sight or gone", function()
      w:enter(2, w:at(1))
      assert.same({ "+1/7>2" }, w:take())
      w.space:leave(2)
      w:enter(2, w:at(50))
      w:enter(3, w:at(1))
      w.space:leave(3)
      assert.same({ "-1/7>2" }, w:ordered())
    end)

    it("has only the new life's enter, if nobody heard of the old one", function()
      w:enter(2, w:at(1))
      w.space:leave(2)
      w:enter(2, w:at(1))
      assert.same({ "+1/7>2" }, w:ordered())
    end)

    it("has the leaves of a watcher that is gone", function()
      w:enter(2, w:at(1))
      assert.same({ "+1/7>2" }, w:take())
      w.space:leave(1)
      w.space:leave(2)
      assert.same({ "-1/7>2" }, w:take())
    end)

    it("comes call by call, leaves first within a call", function()
      w:enter(2, w:at(1))
      w:enter(3, w:at(50))
      w:enter(4, w:at(1))
      w:ordered()
      w:move(3, w:at(2))
      w:move(2, w:at(60))
      w:move(1, w:at(60))
      -- 3 came, 2 went; then 1 jumped: 2 is seen again, 3 never was, 4 is lost
      assert.same({ "-1/7>4" }, w:take())
    end)
  end)
end

-- Random calls, as { verb, arguments }. Some spaces have many entities and questions before their first node; some are
-- emptied on the way.
local function random_calls(random)
  local most, span, first = random { 8, 60, 60 }, random { 20, 100, 1000 }, random { 0, 0, 60 }
  local scenario = { radius = function() return random { 5, 10, 50, 200, 1000 } end }
  function scenario.coordinate() return (random(2 * span) - span) * (span > 20 and random() or 1) end
  local calls, here, place = {}, {}, scenario.coordinate
  local function call(...) calls[#calls + 1] = { ... } end
  for step = 1, 60 + random(140) do
    local id, node, what = random(most), random(3), random(20)
    if step == 100 and random(3) == 1 then
      for other in pairs(here) do call("leave", other) end
      here = {}
    end
    local nodes = here[id]
    if not nodes then
      call("enter", id, place(), place())
      here[id] = {}
    elseif what == 1 then
      call("leave", id)
      here[id] = nil
    elseif what == 2 then call("set_kind", id, random(4) - 1)
    elseif what == 3 then call("set_extent", id, random { 0, 0, 1, 50 })
    elseif what == 4 then call "flush"
    elseif what < 7 then
      local rows = {}
      for other in pairs(here) do
        for _, value in ipairs { other, place(), place() } do rows[#rows + 1] = value end
      end
      call("move_many", rows)
    elseif what < 12 or step < first then call("move", id, place(), place())
    elseif not nodes[node] then
      call("add_node", id, node, random_area.of_node(random, scenario, 2, { 1, 2, 3 }))
      nodes[node] = true
    elseif what < 15 then
      call("remove_node", id, node)
      nodes[node] = nil
    else call("set_mask", id, node, random(3)) end
  end
  return calls
end

local function ask(space, random)
  local ids, n = space:ids()
  local id, x, y = ids[random(math.max(n, 1))], random(200) - 100, random(200) - 100
  for _ = 1, random { 1, 10, 100 } do
    local what = random(9)
    if what == 1 then space:near(x, y, random { 1, 10, 100, 1000 })
    elseif what == 2 then space:nearest(x, y, random(5))
    elseif what == 3 then space:near_many({ x, y, y, x }, random { 10, 100 })
    elseif what == 4 then space:sweep(x, y, y, x, 5)
    elseif what == 5 then space:save()
    elseif what == 6 and n > 0 then space:viewers(id)
    elseif n > 0 then
      for _, node in ipairs((space:nodes(id))) do
        if what == 7 then space:view(id, node)
        elseif what == 8 then space:sees(id, node, ids[1])
        else space:explain(id, node, ids[1]) end
      end
    end
  end
  if random(20) == 1 then space:check() end
end

local function hearing(log)
  local function hear(what)
    return function(watcher, target, node) log[#log + 1] = ("%s%d/%d>%d"):format(what, watcher, node, target) end
  end
  return hear "+", hear "-"
end

-- The events as one text, and the space saved; `random`: questions are asked between the calls; `sink`: of a journal.
local function played(options, calls, random, sink)
  local space, log = aoi.new(options), {}
  local record = sink and journal.record(space, sink)
  local enter, leave = hearing(log)
  for _, call in ipairs(calls) do
    if call[1] == "add_node" then space:add_node(call[2], call[3], call[4], enter, leave)
    else space[call[1]](space, unpack(call, 2)) end
    if random and random(2) == 1 then ask(space, random) end
  end
  local saved = space:save()
  if record then record:stop() end
  return table.concat(log, " "), saved
end

describe("questions", function()
  local seed = random_run.seed "questions"

  for _, engine in ipairs(aoi.engines()) do
    for _, delivery in ipairs { "immediate", "deferred" } do
      it(("of a space %s on %s change no order, and a replay has it"):format(delivery, engine), function()
        local options = { engine = engine, delivery = delivery }
        for run = 1, random_run.runs(30) do
          local name = ("run %d of %s"):format(run, random_run.again(seed))
          local calls = random_calls(rng.new(seed + run))
          local pieces, log = {}, {}
          local asked, saved = played(options, calls, rng.new(seed - run), function(b) pieces[#pieces + 1] = b end)
          if delivery == "immediate" then assert.equal(played(options, calls), asked, name) end
          local player = journal.open(table.concat(pieces), { handlers = function() return hearing(log) end })
          while player:step() do end
          assert.equal(asked, table.concat(log, " "), name)
          assert.is_true(saved == player.space:save(), name)
        end
      end)
    end
  end
end)
