-- Handlers see the state after the change is complete, and may call anything on the space.
local aoi = require "aoi"
local fixture = require "spec.support.fixture"
local Model = require "spec.support.model"

for setup in fixture.all { modes = { "immediate", "flush" } } do
  describe("a handler on " .. setup.name, function()
    local w, space
    before_each(function()
      w = setup.new()
      space = w.space
    end)

    -- A node whose events are recorded, and then handed to react(event, watcher, target, node_id).
    local function react(id, node_id, area, reaction)
      local function handler(kind)
        return function(watcher, target, node)
          w:record(kind, watcher, target, node)
          reaction(kind, watcher, target, node)
        end
      end
      space:add_node(id, node_id, area, handler "enter", handler "leave")
    end

    it("finds the new state in every query", function()
      local calls = 0
      w:enter(1, w:at(0))
      react(1, 7, 5, function(kind, watcher, target, node_id)
        calls = calls + 1
        assert.equal(1, watcher)
        assert.equal(7, node_id)
        local _, n = space:view(1, 7)
        local near, m = w:near({ space:position(1) }, (space:radius(1, 7)))
        assert.equal(n, m - 1)
        for i = 1, m do
          assert.is_true(near[i] == 1 or space:sees(1, 7, near[i]))
        end
        if space:has(target) then
          assert.equal(kind == "enter", space:sees(1, 7, target))
          assert.equal(kind == "enter" and 1 or 0, select(2, space:viewers(target)))
        end
        assert.is_true(space:check())
      end)
      for id = 2, 6 do w:enter(id, w:at(id - 6)) w:deliver() end
      w:move(1, w:at(4)) w:deliver()
      space:move_many(w:flat { { 2, w:at(9) }, { 3, w:at(5) }, { 4, w:at(30) }, { 1, w:at(6) } }) w:deliver()
      space:leave(3) w:deliver()
      space:set_radius(1, 7, 1) w:deliver()
      space:set_radius(1, 7, math.huge) w:deliver()
      assert.is_true(calls > 10)
    end)

    it("finds an entity that left gone, as target and as watcher", function()
      w:enter(1, w:at(0))
      local found
      react(1, 7, 5, function(kind, watcher, target)
        if kind == "leave" then
          found = { space:has(watcher), space:has(target), space:count() }
          if space:has(1) then assert.same({}, (space:view(1, 7))) end
        end
      end)
      w:enter(2, w:at(1)) w:deliver()
      space:leave(2) w:deliver()
      assert.same({ true, false, 1 }, found)
      w:enter(2, w:at(1)) w:deliver()
      space:leave(1) w:deliver()
      assert.same({ false, true, 1 }, found)
    end)

    it("may move the target", function()
      w:enter(1, w:at(0))
      react(1, 7, 5, function(kind, _, target)
        if kind == "enter" then w:move(target, w:at(100)) end
      end)
      w:enter(2, w:at(1)) w:deliver()
      w:move(2, w:at(2)) w:deliver()
      assert.same({ "+1/7>2", "-1/7>2", "+1/7>2", "-1/7>2" }, w:ordered())
      assert.equal(100, (space:position(2)))
      assert.is_true(space:check())
    end)

    it("may move the watcher", function()
      w:enter(1, w:at(0))
      w:enter(2, w:at(20))
      w:enter(3, w:at(40))
      react(1, 7, 5, function(kind, watcher, target)
        if kind == "enter" then w:move(watcher, w:at(target == 2 and 40 or -40)) end
      end)
      w:move(1, w:at(20)) w:deliver()
      assert.same({ "+1/7>2", "-1/7>2", "+1/7>3", "-1/7>3" }, w:ordered())
      assert.equal(-40, (space:position(1)))
    end)

    it("may remove its own node: the rest of its events are the leaves it still owes", function()
      w:enter(1, w:at(0))
      for id = 2, 5 do w:enter(id, w:at(1)) end
      react(1, 7, 5, function(kind)
        if kind == "enter" then space:remove_node(1, 7) end
      end)
      w:deliver()
      local list = w:ordered()
      -- one enter was heard, and so its leave; the others cancelled each other
      assert.equal(2, #list)
      assert.equal("+", list[1]:sub(1, 1))
      assert.equal("-" .. list[1]:sub(2), list[2])
      assert.is_nil(space:radius(1, 7))
    end)

    it("may let its own watcher leave", function()
      w:enter(1, w:at(0))
      for id = 2, 5 do w:enter(id, w:at(1)) w:watch(id, 1, 5) end
      w:take()
      react(1, 7, 5, function(kind, watcher)
        if kind == "enter" then space:leave(watcher) end
      end)
      w:deliver()
      local list = w:take()
      assert.equal(2 + 4, #list)
      for id = 2, 5 do assert.equal(("-%d/1>1"):format(id), list[id + 1]) end
      assert.is_false(space:has(1))
    end)

    it("may let the target leave", function()
      w:enter(1, w:at(0))
      w:enter(2, w:at(0))
      w:watch(2, 1, 5)
      react(1, 7, 5, function(kind, _, target)
        if kind == "enter" and target ~= 2 then space:leave(target) end
      end)
      w:take()
      w:enter(3, w:at(1)) w:deliver()
      assert.is_false(space:has(3))
      -- 2's enter may have been heard before 3 was taken away, or not; but never one without the other
      local list = w:take()
      local text = table.concat(list, " ")
      assert.is_true(text == "+1/7>3 -1/7>3" or text == "+1/7>3 +2/1>3 -1/7>3 -2/1>3", text)
    end)

    it("hears no enter of somebody who was taken away before", function()
      w:enter(1, w:at(0))
      local enters = 0
      react(1, 7, 5, function(kind)
        if kind == "enter" then
          enters = enters + 1
          for id = 2, 9 do if space:has(id) then space:leave(id) end end
        end
      end)
      local rows = {}
      for id = 2, 9 do rows[#rows + 1] = { id, w:at(1) } end
      space:enter_many(w:flat(rows)) w:deliver()
      assert.equal(1, enters)
      assert.equal(2, #w:ordered())
      assert.equal(1, space:count())
    end)

    it("hears no leave of somebody who came back before", function()
      w:enter(1, w:at(0))
      for id = 2, 9 do w:enter(id, w:at(1)) end
      local leaves = 0
      react(1, 7, 5, function(kind)
        if kind == "leave" then
          leaves = leaves + 1
          if leaves == 1 then w:move(1, w:at(0)) end
        end
      end)
      w:take()
      w:move(1, w:at(1000)) w:deliver()
      local list = w:ordered()
      assert.equal(2, #list, "one leave was heard, and so its enter")
      assert.equal("-", list[1]:sub(1, 1))
      assert.equal("+" .. list[1]:sub(2), list[2])
    end)

    it("may replace an entity by another of the same id", function()
      w:enter(1, w:at(0))
      local done
      react(1, 7, 5, function(_, _, target)
        if target == 3 and not done then
          done = true
          space:leave(2)
          w:enter(2, w:at(2), 3)
        end
      end)
      w:enter(2, w:at(1))
      w:take()
      w:enter(3, w:at(1)) w:deliver()
      assert.same({ "+1/7>3", "-1/7>2", "+1/7>2" }, w:ordered())
      assert.equal(3, space:kind(2))
    end)

    it("may add entities and nodes", function()
      w:enter(1, w:at(0))
      local function grow(kind, watcher)
        if kind == "enter" and watcher < 5 then
          local id = watcher + 100
          w:enter(id, w:at(0), 0)
          react(id, 1, 5, function() end)
          react(watcher, 8, 1, function() end)
        end
      end
      react(1, 7, 5, grow)
      w:enter(2, w:at(0)) w:deliver()
      local list = w:take()
      assert.same({ "+1/7>2", "+1/8>2", "+101/1>1", "+101/1>2" }, list)
    end)

    it("may change radius, mask and kind", function()
      w:enter(1, w:at(0))
      w:enter(2, w:at(20))
      react(1, 7, 5, function(_, _, target)
        if target == 3 then space:set_radius(1, 7, 30)
        elseif target == 2 then
          space:set_mask(1, 7, 2)
          space:set_kind(2, 6)
        end
      end)
      w:enter(3, w:at(1)) w:deliver()
      -- 2 is lost for a moment, when the mask is set and its kind is not yet
      assert.same({ "+1/7>2", "+1/7>3", "-1/7>3" }, w:take())
      assert.same({ 2 }, (space:view(1, 7)))
    end)

    it("may flush: what waits comes when its turn comes", function()
      w:enter(1, w:at(0))
      local depth, deepest = 0, 0
      react(1, 7, 5, function()
        depth = depth + 1
        deepest = math.max(deepest, depth)
        space:flush()
        depth = depth - 1
      end)
      for id = 2, 5 do w:enter(id, w:at(1)) end
      w:deliver()
      assert.same({ "+1/7>2", "+1/7>3", "+1/7>4", "+1/7>5" }, w:take())
      assert.equal(1, deepest)
    end)

    it("may drain: what it takes as data nobody hears", function()
      w:enter(1, w:at(0))
      local taken = {}
      react(1, 7, 5, function()
        local buf, n = space:drain {}
        for i = 1, 4 * n, 4 do
          taken[#taken + 1] = Model.text {
            kind = buf[i] == aoi.ENTER and "enter" or "leave",
            watcher = buf[i + 1], target = buf[i + 2], node_id = buf[i + 3],
          }
        end
      end)
      local rows = {}
      for id = 2, 5 do rows[#rows + 1] = { id, w:at(1) } end
      space:enter_many(w:flat(rows)) w:deliver()
      local list = w:ordered()
      assert.equal(1, #list)
      assert.equal(3, #taken)
      taken[4] = list[1]
      table.sort(taken)
      assert.same({ "+1/7>2", "+1/7>3", "+1/7>4", "+1/7>5" }, taken)
    end)

    it("may close the space: nobody hears anything more", function()
      w:enter(1, w:at(0))
      local calls = 0
      local function close()
        calls = calls + 1
        space:close()
      end
      for id = 2, 5 do w:enter(id, w:at(1)) end
      space:add_node(1, 7, 5, close, close)
      w:deliver()
      assert.equal(1, calls)
      assert.has_error(function() space:count() end, "attempt to use a closed space")
    end)

    it("may make the events of its calls join the end of the queue", function()
      w:enter(1, w:at(0))
      for id = 2, 4 do w:enter(id, w:at(100 + id)) end
      w:enter(9, w:at(500))
      local first = true
      react(1, 7, 50, function()
        if first then
          first = false
          w:move(9, w:at(105))
        end
      end)
      w:move(1, w:at(100)) w:deliver()
      local list = w:ordered()
      assert.equal(4, #list)
      assert.equal("+1/7>9", list[4])
      -- a nested call's leave comes behind the outer call's enters
      local away = false
      react(1, 8, 50, function()
        if away then
          away = false
          w:move(9, w:at(9999))
        end
      end)
      w:ordered()
      away = true
      space:enter_many(w:flat { { 21, w:at(101) }, { 22, w:at(101) }, { 23, w:at(101) } }) w:deliver()
      local last_enter, first_leave = 0, 1e9
      for i, e in ipairs(w:ordered()) do
        if e:sub(1, 1) == "+" then last_enter = math.max(last_enter, i) else first_leave = math.min(first_leave, i) end
      end
      assert.is_true(last_enter > 0 and first_leave < 1e9 and last_enter < first_leave)
    end)

    it("may make several calls: their events come call by call", function()
      w:enter(1, w:at(0))
      w:enter(2, w:at(1))
      local done
      react(1, 7, 5, function(_, _, target)
        if target == 3 and not done then
          done = true
          w:enter(4, w:at(1))
          space:leave(2)
          w:enter(5, w:at(1))
          w:move(3, w:at(100))
        end
      end)
      w:ordered()
      w:enter(3, w:at(1)) w:deliver()
      assert.same({ "+1/7>3", "+1/7>4", "-1/7>2", "+1/7>5", "-1/7>3" }, w:ordered())
    end)

    it("delivers before the outermost call returns, and not inside the nested call", function()
      w:enter(1, w:at(0))
      local inside, log = false, {}
      react(1, 7, 5, function(_, _, target)
        log[#log + 1] = (inside and "nested " or "") .. target
        if target == 2 then
          inside = true
          w:enter(3, w:at(2))
          inside = false
        end
      end)
      w:enter(2, w:at(1)) w:deliver()
      assert.same({ "2", "3" }, log)
    end)

    it("gets nothing from an event that concerns others", function()
      w:enter(1, w:at(0))
      w:watch(1, 7, 5)
      w:enter(2, w:at(100))
      w:watch(2, 7, 5)
      w:enter(3, w:at(101)) w:deliver()
      assert.same({ "+2/7>3" }, w:take())
    end)

    it("may be missing: enter alone, leave alone, none", function()
      w:enter(1, w:at(0))
      space:add_node(1, 1, 5, w.on_enter)
      space:add_node(1, 2, 5, nil, w.on_leave)
      space:add_node(1, 3, 5)
      space:add_node(1, 4, 5, nil, nil)
      w:enter(2, w:at(1)) w:deliver()
      assert.same({ "+1/1>2" }, w:take())
      space:leave(2) w:deliver()
      assert.same({ "-1/2>2" }, w:take())
    end)
  end)
end

describe("a chain of handlers", function()
  for setup in fixture.all { modes = { "immediate", "flush" }, dimensions = { 2 } } do
    it("may be 10,000 links long on " .. setup.name, function()
      local w = setup.new()
      local space, links = w.space, 10000
      local depth, deepest, last = 0, 0, 0
      local function on_enter(watcher, target)
        depth = depth + 1
        deepest = math.max(deepest, depth)
        last = math.max(last, target)
        if target == watcher + 1 and target < links then
          space:add_node(target, 1, 1, on_enter)
          w:enter(target + 1, w:at(target + 1))
        end
        depth = depth - 1
      end
      w:enter(1, w:at(1))
      space:add_node(1, 1, 1, on_enter)
      w:enter(2, w:at(2))
      w:deliver()
      assert.equal(1, deepest)
      assert.equal(links, last)
      assert.equal(links, space:count())
      assert.equal(0, space:stats().pending)
      space:close()
    end)
  end
end)
