-- Errors in handlers: raised from the delivering call; the other events stay queued in order. on_error takes them.
local fixture = require "spec.support.fixture"
local tree = require "spec.support.tree"

for setup in fixture.all { modes = { "immediate", "flush" } } do
  describe("an error in a handler on " .. setup.name, function()
    local single = setup.engine == tree.engines[1] and setup.dimensions == 2
    local w, space, fail, seen
    -- Entity 1 watches; its handler raises what `fail` says about a target.
    before_each(function()
      w = setup.new()
      space = w.space
      fail, seen = {}, {}
      local function handler(kind)
        return function(watcher, target, node_id)
          w:record(kind, watcher, target, node_id)
          seen[#seen + 1] = target
          if fail[target] then error(fail[target], 0) end
        end
      end
      w:enter(1, w:at(0))
      space:add_node(1, 7, 5, handler "enter", handler "leave")
    end)

    local function batch(from, to)
      local rows = {}
      for id = from, to do rows[#rows + 1] = { id, w:at(1) } end
      return w:flat(rows)
    end

    -- The call and, where events wait, the flush: as one delivering call.
    local function attempt(f)
      return pcall(function()
        f()
        w:deliver()
      end)
    end

    local function enter_all(from, to)
      return attempt(function() space:enter_many(batch(from, to)) end)
    end

    it("comes out of the call that was delivering, unchanged", function()
      for _, value in ipairs { "boom", {}, 42, true, function() end, setmetatable({}, { __tostring = error }) } do
        fail[2] = value
        local ok, err = attempt(function() w:enter(2, w:at(1)) end)
        assert.is_false(ok)
        assert.is_true(rawequal(value, err))
        fail[2] = nil
        space:leave(2)
        w:deliver()
      end
      assert.is_true(space:check())
    end)

    it("keeps its position when it is a message with one", function()
      space:add_node(1, 8, 5, function() error "with a place" end)
      local ok, err = attempt(function() w:enter(2, w:at(1)) end)
      assert.is_false(ok)
      assert.matches("^.*handler_errors_spec%.lua:%d+: with a place$", err)
    end)

    it("counts as delivered; the others stay, in order, for the next flush", function()
      local reference = setup.new()
      reference:enter(1, w:at(0))
      reference:watch(1, 7, 5)
      reference.space:enter_many(batch(2, 9))
      local order = reference:ordered()

      for id = 2, 9 do fail[id] = "raised by " .. id end
      local errors = {}
      local ok, err = enter_all(2, 9)
      while not ok do
        errors[#errors + 1] = err
        assert.equal(8 - #errors, space:stats().pending)
        ok, err = pcall(space.flush, space)
      end
      assert.equal(8, #errors)
      for i, id in ipairs(seen) do assert.equal("raised by " .. id, errors[i]) end
      assert.same(order, w:ordered())
    end)

    it("stops the delivery until the next call that delivers", function()
      fail[2], fail[3], fail[4] = "a", "b", "c"
      assert.is_false(enter_all(2, 6))
      assert.equal(1, #seen)
      fail = {}
      local before = #seen
      assert.is_true(attempt(function() w:enter(20, w:at(1)) end))
      assert.equal(before + 5, #seen)
      assert.equal(20, seen[#seen], "what waited comes first")
      assert.same({ "+1/7>2", "+1/7>20", "+1/7>3", "+1/7>4", "+1/7>5", "+1/7>6" }, w:take())
    end)

    it("leaves the rest in order, also when a batch touches them and changes nothing", function()
      for id = 2, 5 do fail[id] = "no" end
      assert.is_false(enter_all(2, 5))
      fail = {}
      local reference = setup.new()
      reference:enter(1, w:at(0))
      reference:watch(1, 7, 5)
      reference.space:enter_many(batch(2, 5))
      local order = reference:ordered()
      local second = tonumber(order[2]:match ">(%d+)")
      space:move_many(w:flat { { second, w:at(50) }, { second, w:at(2) } })
      w:deliver()
      assert.same(order, w:ordered())
    end)

    it("leaves the rest to a flush, which says how many there were", function()
      fail[2], fail[3], fail[4], fail[5] = 1, 1, 1, 1
      assert.is_false(enter_all(2, 5))
      fail = {}
      assert.equal(3, space:flush())
      assert.equal(0, space:flush())
      assert.equal(4, #w:take())
    end)

    it("leaves the rest alone when somebody only asks", function()
      for id = 2, 5 do fail[id] = "no" end
      assert.is_false(enter_all(2, 5))
      space:view(1, 7) space:viewers(2) space:ids() space:nodes(1) space:check() space:count() space:has(2)
      space:position(2) space:kind(2) space:radius(1, 7) space:sees(1, 7, 2) w:near(w:at(0), 9)
      assert.equal(1, #seen)
      assert.equal(3, space:stats().pending)
    end)

    it("leaves the rest to a drain", function()
      fail[2], fail[3], fail[4], fail[5] = 1, 1, 1, 1
      assert.is_false(enter_all(2, 5))
      local buf, n = space:drain {}
      assert.equal(3, n)
      for i = 0, n - 1 do assert.are_not.equal(seen[1], buf[4 * i + 3]) end
      assert.equal(0, space:flush())
    end)

    it("lets what waits be cancelled", function()
      for id = 2, 6 do fail[id] = "no" end
      assert.is_false(enter_all(2, 6))
      fail = {}
      local first = seen[1]
      space:set_radius(1, 7, 0)
      w:deliver()
      assert.same({ "+1/7>" .. first, "-1/7>" .. first }, w:take(), "only the one that raised was heard of")
    end)

    it("leaves the change made and the space intact", function()
      fail[2] = "no"
      assert.is_false(attempt(function() w:enter(2, w:at(1)) end))
      assert.is_true(space:has(2))
      assert.is_true(space:sees(1, 7, 2))
      assert.is_true(space:check())
      assert.is_false(attempt(function() w:move(2, w:at(100)) end))
      assert.equal(100, (space:position(2)))
      assert.same({ "+1/7>2", "-1/7>2" }, w:take())
    end)

    it("in a call made by a handler is an ordinary error there", function()
      local caught
      space:add_node(1, 8, 5, function()
        caught = { pcall(function() space:move(99, 0, 0, 0) end) }
      end)
      w:enter(2, w:at(1)) w:deliver()
      assert.is_false(caught[1])
      assert.matches("no entity 99", caught[2], 1, true)
      assert.same({ "+1/7>2" }, w:take())
    end)

    it("keeps the events of calls that the handler made before it raised", function()
      local once = true
      space:add_node(1, 8, 5, function(_, target)
        if once and target == 2 then
          once = false
          w:enter(3, w:at(1))
          error "after a nested call"
        end
      end)
      assert.is_false(attempt(function() w:enter(2, w:at(1)) end))
      space:flush()
      assert.same({ "+1/7>2", "+1/7>3" }, w:take())
    end)

    it("does not make later deliveries believe that one is still going on", function()
      fail[2] = "no"
      for _ = 1, 5 do
        assert.is_false(attempt(function() w:enter(2, w:at(1)) end))
        assert.is_false(attempt(function() space:leave(2) end))
      end
      w:enter(3, w:at(1)) w:deliver()
      assert.equal(3, seen[#seen])
    end)

    it("goes to on_error, and delivery goes on", function()
      local errors = {}
      space:on_error(function(...) errors[#errors + 1] = { n = select("#", ...), ... } end)
      local value = {}
      fail[3], fail[5] = value, "five"
      assert.is_true(enter_all(2, 6))
      assert.same({ "+1/7>2", "+1/7>3", "+1/7>4", "+1/7>5", "+1/7>6" }, w:take())
      assert.equal(2, #errors)
      table.sort(errors, function(a, b) return a[3] < b[3] end)
      assert.is_true(rawequal(value, errors[1][1]))
      assert.same({ 1, 3, 7 }, { errors[1][2], errors[1][3], errors[1][4] })
      assert.equal("string", type(errors[2][5])) -- the traceback
      errors[2][5] = nil
      assert.same({ n = 5, "five", 1, 5, 7 }, errors[2])
    end)

    it("finds a consistent space in on_error, which may call anything", function()
      space:on_error(function(_, _, target)
        assert.is_true(space:check())
        if space:has(target) then space:leave(target) end
      end)
      fail[2], fail[3] = "no", "no"
      assert.is_true(enter_all(2, 4))
      fail = {}
      assert.same({ "+1/7>2", "+1/7>3", "+1/7>4", "-1/7>2", "-1/7>3" }, w:take())
      assert.equal(2, space:count())
    end)

    it("is raised again when on_error is taken away", function()
      space:on_error(function() end)
      fail[2] = "no"
      assert.is_true(enter_all(2, 2))
      space:on_error(nil)
      local ok, err = attempt(function() space:leave(2) end)
      assert.is_false(ok)
      assert.equal("no", err)
    end)

    it("comes out of the call where the handler took on_error away before it", function()
      space:on_error(function() error "nobody asked" end)
      space:add_node(1, 8, 5, function()
        space:on_error(nil)
        error("mine", 0)
      end)
      local ok, err = attempt(function() w:enter(2, w:at(1)) end)
      assert.is_false(ok)
      assert.equal("mine", err)
      space:flush()
      assert.same({ "+1/7>2" }, w:take())
      assert.is_true(space:check())
    end)

    it("goes to on_error also where the handler has closed the space", function()
      local taken
      space:on_error(function(...) taken = { ... } end)
      space:remove_node(1, 7)
      space:add_node(1, 8, 5, function()
        space:close()
        error("mine", 0)
      end)
      assert.is_true(attempt(function() w:enter(2, w:at(1)) end))
      assert.same({ "mine", 1, 2, 8 }, { taken[1], taken[2], taken[3], taken[4] })
      assert.is_false(pcall(space.count, space))
    end)

    it("in on_error itself comes out of the call; nothing is lost", function()
      space:on_error(function(err) error("handled " .. err, 0) end)
      fail[2], fail[3], fail[4] = "2", "3", "4"
      local errors = {}
      local ok, err = enter_all(2, 4)
      while not ok do
        errors[#errors + 1] = err
        ok, err = pcall(space.flush, space)
      end
      table.sort(errors)
      assert.same({ "handled 2", "handled 3", "handled 4" }, errors)
      assert.same({ "+1/7>2", "+1/7>3", "+1/7>4" }, w:take())
    end)

    it("comes to on_error with a traceback of where it was raised", function()
      local traceback
      space:on_error(function(err, _, _, _, text)
        assert.equal("mine", err)
        traceback = text
      end)
      space:remove_node(1, 7)
      local function deep_inside() error("mine", 0) end
      space:add_node(1, 8, 5, function() deep_inside() end)
      assert.is_true(attempt(function() w:enter(2, w:at(1)) end))
      assert.truthy(traceback:find("traceback", 1, true))
      assert.truthy(traceback:find("deep_inside", 1, true) or traceback:find("handler_errors_spec", 1, true))
    end)

    it("has the right company, whatever a metamethod does to on_error while the handler is looked up", function()
      if not single then return pending "once is enough" end
      local calls, count = {}, 0
      local function note(...) calls[#calls + 1] = { ... } end
      local clearing = setmetatable({}, { __index = function()
        space:on_error(nil)
        return function() space:on_error(note) end
      end })
      local setting = setmetatable({}, { __index = function()
        space:on_error(note)
        return function() count = count + 1 error("mine", 0) end
      end })
      space:remove_node(1, 7)
      space:on_error(note)
      space:add_node(1, 8, 5, clearing)
      for id = 2, 400 do w:enter(id, w:at(1)) end -- were slots left on the stack, they would overflow it
      space:flush()
      assert.same({}, calls)
      space:remove_node(1, 8)
      space:flush()
      space:on_error(nil)
      space:add_node(1, 9, 5, setting)
      space:flush()
      assert.equal(399, count)
      assert.equal(399, #calls)
      for _, call in ipairs(calls) do
        assert.equal("mine", call[1])
        assert.same({ 1, 9 }, { call[2], call[4] })
      end
    end)
  end)
end
