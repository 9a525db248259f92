-- A table as handler: its fields `enter` and `leave` are looked up at each delivery.
local fixture = require "spec.support.fixture"

for setup in fixture.all { modes = { "immediate", "flush" } } do
  describe("a table of handlers on " .. setup.name, function()
    local w, space
    before_each(function()
      w = setup.new()
      space = w.space
      w:enter(1, w:at(0))
    end)

    it("is called as two functions would be", function()
      space:add_node(1, 7, 5, { enter = w.on_enter, leave = w.on_leave })
      w:enter(2, w:at(1)) w:deliver()
      w:move(2, w:at(9)) w:deliver()
      assert.same({ "+1/7>2", "-1/7>2" }, w:ordered())
    end)

    it("can be changed at any time", function()
      local handlers, log = {}, {}
      space:add_node(1, 7, 5, handlers)
      w:enter(2, w:at(1)) w:deliver()
      function handlers.leave() log[#log + 1] = "first leave" end
      w:move(2, w:at(9)) w:deliver()
      function handlers.enter() log[#log + 1] = "enter" end
      function handlers.leave() log[#log + 1] = "second leave" end
      w:move(2, w:at(1)) w:deliver()
      w:move(2, w:at(9)) w:deliver()
      handlers.enter = nil
      w:move(2, w:at(1)) w:deliver()
      assert.same({ "first leave", "enter", "second leave" }, log)
    end)

    it("can be changed by a handler for the events behind it", function()
      local handlers, first, second = {}, 0, 0
      function handlers.enter()
        first = first + 1
        handlers.enter = function() second = second + 1 end
      end
      space:add_node(1, 7, 5, handlers)
      space:enter_many(w:flat { { 2, w:at(1) }, { 3, w:at(1) }, { 4, w:at(1) } }) w:deliver()
      assert.same({ 1, 2 }, { first, second })
    end)

    it("can be shared by many nodes", function()
      local handlers = { enter = w.on_enter, leave = w.on_leave }
      for id = 2, 20 do
        w:enter(id, w:at(100 * id))
        space:add_node(id, id, 5, handlers)
      end
      space:add_node(1, 7, 5, handlers)
      w:move(1, w:at(500)) w:deliver()
      assert.same({ "+1/7>5", "+5/5>1" }, w:take())
    end)

    it("may inherit its handlers", function()
      local Class = { enter = w.on_enter }
      space:add_node(1, 7, 5, setmetatable({}, { __index = Class }))
      w:enter(2, w:at(1)) w:deliver()
      Class.leave = w.on_leave
      w:move(2, w:at(9)) w:deliver()
      assert.same({ "+1/7>2", "-1/7>2" }, w:ordered())
    end)

    it("is used for the events of a node that is gone", function()
      space:add_node(1, 7, 5, { leave = w.on_leave })
      w:enter(2, w:at(1)) w:deliver()
      space:remove_node(1, 7) w:deliver()
      assert.same({ "-1/7>2" }, w:take())
    end)

    it("of a node's old life and its new life are told apart", function()
      local old, new = {}, {}
      space:add_node(1, 7, 5, { leave = function() old[#old + 1] = "leave" end, enter = error })
      space:set_mask(1, 7, 0)
      w:enter(2, w:at(1))
      space:remove_node(1, 7)
      space:add_node(1, 7, 5, {
        enter = function() new[#new + 1] = "enter" end, leave = function() new[#new + 1] = "leave" end,
      })
      w:deliver()
      assert.same({ {}, { "enter" } }, { old, new })
      space:remove_node(1, 7)
      space:add_node(1, 7, 5, { enter = function() old[#old + 1] = "another" end })
      w:deliver()
      assert.same({ { "another" }, { "enter", "leave" } }, { old, new })
    end)

    it("raises when what it holds cannot be called, and loses nothing", function()
      local handlers = { enter = print }
      space:add_node(1, 7, 5, handlers)
      handlers.enter = 42
      space:add_node(1, 8, 5, w.on_enter, w.on_leave)
      local ok, err = pcall(function() w:enter(2, w:at(1)) w:deliver() end)
      assert.is_false(ok)
      assert.matches("attempt to call", err)
      space:flush()
      assert.same({ "+1/8>2" }, w:take())
    end)

    it("raises what a broken lookup raises, and loses nothing", function()
      local broken = setmetatable({}, { __index = function(_, name) error("no " .. name, 0) end })
      space:add_node(1, 7, 5, broken)
      space:add_node(1, 8, 5, w.on_enter, w.on_leave)
      local ok, err = pcall(function() w:enter(2, w:at(1)) w:deliver() end)
      assert.is_false(ok)
      assert.equal("no enter", err)
      space:flush()
      assert.same({ "+1/8>2" }, w:take())
      assert.is_true(space:check())
    end)

    it("is called no more where its lookup has closed the space", function()
      local called = 0
      local closing = setmetatable({}, { __index = function()
        space:close()
        return function() called = called + 1 end
      end })
      space:add_node(1, 7, 5, closing)
      w:enter(2, w:at(1))
      w:deliver()
      assert.equal(0, called)
      assert.has_error(function() space:count() end)
    end)

    it("gives on_error what a broken lookup raises, and delivery goes on", function()
      local broken = setmetatable({}, { __index = function(_, name) error("no " .. name, 0) end })
      local noted = {}
      space:on_error(function(err, watcher, target, node_id, traceback)
        noted[#noted + 1] = { err, watcher, target, node_id, type(traceback) }
      end)
      space:add_node(1, 7, 5, broken)
      space:add_node(1, 8, 5, w.on_enter, w.on_leave)
      w:enter(2, w:at(1))
      w:deliver()
      assert.same({ { "no enter", 1, 2, 7, "string" } }, noted)
      assert.same({ "+1/8>2" }, w:take())
      space:leave(2)
      w:deliver()
      assert.same({ "no leave", 1, 2, 7, "string" }, noted[2])
      assert.same({ "-1/8>2" }, w:take())
    end)

    it("raises what a broken lookup raises where the lookup has taken on_error away", function()
      local broken = setmetatable({}, { __index = function()
        space:on_error(nil)
        error("gone", 0)
      end })
      space:on_error(error)
      space:add_node(1, 7, 5, broken)
      local ok, err = pcall(function() w:enter(2, w:at(1)) w:deliver() end)
      assert.same({ false, "gone" }, { ok, err })
      assert.equal(0, space:flush())
    end)
  end)
end
