-- Handlers that yield; other coroutines use the space meanwhile.
local fixture = require "spec.support.fixture"
local bits = require "spec.support.bits"

-- Without it a yield is an error in a handler like any other, "attempt to yield across a C-call boundary".
if not bits.integers then
  describe("a handler that yields", function()
    for setup in fixture.immediate() do
      it("loses nothing on this Lua either: " .. setup.name, function()
        local w = setup.new()
        w:enter(1, w:at(0))
        w.space:add_node(1, 7, 5, function(...)
          w.on_enter(...)
          coroutine.yield "inside"
        end)
        local co = coroutine.create(function() w:enter(2, w:at(1)) w:enter(3, w:at(1)) end)
        local ok, value = coroutine.resume(co)
        if not ok then                          -- the error came out of enter(2): enter(3) was not called
          assert.matches("yield", value)
          assert.same({ "+1/7>2" }, w:take())
          assert.is_false(w.space:has(3))
        else
          while coroutine.status(co) == "suspended" do assert.is_true(coroutine.resume(co)) end
          assert.same({ "+1/7>2", "+1/7>3" }, w:take())
        end
      end)
    end
  end)
  return
end

for setup in fixture.all { modes = { "immediate", "flush" } } do
  describe("a handler that yields on " .. setup.name, function()
    local w, space
    before_each(function()
      w = setup.new()
      space = w.space
      w:enter(1, w:at(0))
    end)

    local function watch_and_yield(id, node_id, radius)
      space:add_node(id, node_id, radius,
        function(...) w.on_enter(...) coroutine.yield("enter", ...) end,
        function(...) w.on_leave(...) coroutine.yield("leave", ...) end)
    end

    local function start(f)
      return coroutine.create(function()
        f()
        w:deliver()
        return "done"
      end)
    end

    local function step(co, ...)
      local result = { coroutine.resume(co, ...) }
      assert.is_true(result[1], result[2])
      return (table.unpack or unpack)(result, 2) -- luacheck: ignore
    end

    local function rows(from, to, x)
      local t = {}
      for id = from, to do t[#t + 1] = { id, w:at(x or 1) } end
      return w:flat(t)
    end

    it("is continued, and all events come in order", function()
      watch_and_yield(1, 7, 5)
      local co = start(function() space:enter_many(rows(2, 6)) end)
      local yields = 0
      while step(co) ~= "done" do
        yields = yields + 1
        assert.equal(yields, #w.heard)
        assert.is_true(space:check())
      end
      assert.equal(5, yields)
      assert.same({ "+1/7>2", "+1/7>3", "+1/7>4", "+1/7>5", "+1/7>6" }, w:take())
    end)

    it("gets the values it is resumed with", function()
      local got = {}
      space:add_node(1, 7, 5, function(_, target) got[target] = coroutine.yield(target) end)
      local co = start(function() space:enter_many(rows(2, 3)) end)
      local first = step(co)
      local second = step(co, "for " .. first)
      assert.equal("done", step(co, "for " .. second))
      assert.same({ [2] = "for 2", [3] = "for 3" }, got)
    end)

    it("lets other coroutines use the space meanwhile, and they hear their events", function()
      watch_and_yield(1, 7, 5)
      local co = start(function() w:enter(2, w:at(1)) end)
      step(co)
      w:enter(10, w:at(500))
      w:watch(10, 1, 5)
      w:enter(11, w:at(501)) w:deliver()
      w:move(11, w:at(600)) w:deliver()
      local list = table.concat(w.heard, " ")
      assert.matches("+10/1>11 -10/1>11", list, 1, true)
      assert.equal("done", step(co))
      assert.is_true(space:check())
    end)

    it("lets others take its target away", function()
      watch_and_yield(1, 7, 5)
      local co = start(function() space:enter_many(rows(2, 4)) end)
      step(co)
      local other = start(function() for id = 2, 4 do space:leave(id) end end)
      while step(other) ~= "done" do end
      while step(co) ~= "done" do end
      space:flush()
      local balance = {}
      for _, e in ipairs(w:take()) do
        balance[e:sub(2)] = (balance[e:sub(2)] or 0) + (e:sub(1, 1) == "+" and 1 or -1)
      end
      for pair, sum in pairs(balance) do assert.equal(0, sum, pair) end
      assert.equal(1, space:count())
    end)

    it("may be followed by another that yields: both finish, nothing is lost or heard twice", function()
      watch_and_yield(1, 7, 5)
      w:enter(20, w:at(100))
      watch_and_yield(20, 7, 5)
      local a = start(function() space:enter_many(rows(2, 5)) end)
      local b = start(function() space:enter_many(rows(22, 25, 101)) end)
      step(a)
      step(b)
      local alive = { a, b }
      while #alive > 0 do
        for i = #alive, 1, -1 do
          if step(alive[i]) == "done" then table.remove(alive, i) end
        end
      end
      space:flush()
      assert.same({ "+1/7>2", "+1/7>3", "+1/7>4", "+1/7>5", "+20/7>22", "+20/7>23", "+20/7>24", "+20/7>25" }, w:take())
    end)

    it("may be given up: others still deliver", function()
      watch_and_yield(1, 7, 5)
      local co = start(function() space:enter_many(rows(2, 3)) end)
      step(co)
      co = nil -- luacheck: ignore
      collectgarbage() collectgarbage()
      local other = start(function()
        w:enter(10, w:at(500))
        w:watch(10, 1, 5)
        w:enter(11, w:at(501))
      end)
      while step(other) ~= "done" do end
      space:flush()
      assert.same({ "+1/7>2", "+1/7>3", "+10/1>11" }, w:take())
      assert.is_true(space:check())
    end)

    it("may find the space closed when it goes on", function()
      watch_and_yield(1, 7, 5)
      local co = start(function() space:enter_many(rows(2, 5)) end)
      step(co)
      space:close()
      coroutine.resume(co)      -- deliver() in the coroutine may raise "closed space" or not have been reached
      assert.equal("dead", coroutine.status(co))
      assert.equal(1, #w.heard)
    end)

    it("may raise after it was continued", function()
      space:add_node(1, 7, 5, function(...)
        w.on_enter(...)
        coroutine.yield()
        error("late", 0)
      end)
      local co = start(function() space:enter_many(rows(2, 4)) end)
      step(co)
      local ok, err = coroutine.resume(co)
      assert.is_false(ok)
      assert.equal("late", err)
      assert.equal(1, #w.heard)
      assert.equal(2, space:stats().pending)
      local finish = start(function() pcall(space.flush, space) pcall(space.flush, space) end)
      while step(finish) ~= "done" do end
      assert.same({ "+1/7>2", "+1/7>3", "+1/7>4" }, w:take())
    end)

    it("hears of what it does after another delivery has ended, before its own call returns", function()
      space:add_node(1, 7, 5, function(...)
        w.on_enter(...)
        if #w.heard > 1 then return end
        coroutine.yield()
        w:enter(4, w:at(1))
      end)
      local co = start(function() w:enter(2, w:at(1)) end)
      step(co)
      w:enter(3, w:at(1)) w:deliver()
      assert.equal("done", (step(co)))
      assert.equal(3, #w.heard)
      assert.same({ "+1/7>2", "+1/7>3", "+1/7>4" }, w:take())
    end)

    it("may yield with on_error set, and its error still goes there", function()
      local errors = {}
      space:on_error(function(err, _, target) errors[target] = err end)
      space:add_node(1, 7, 5, function(...)
        w.on_enter(...)
        coroutine.yield()
        error("late", 0)
      end)
      local co = start(function() space:enter_many(rows(2, 4)) end)
      while step(co) ~= "done" do end
      assert.same({ [2] = "late", [3] = "late", [4] = "late" }, errors)
      assert.equal(3, #w:take())
    end)

    it("may be killed with its coroutine while the space goes on", function()
      if not coroutine.close then return end
      watch_and_yield(1, 7, 5)
      local co = start(function() space:enter_many(rows(2, 3)) end)
      step(co)
      assert.is_true(coroutine.close(co))
      local other = start(function() space:leave(1) end)
      while step(other) ~= "done" do end
      space:flush()
      local heard = w:take()
      assert.equal(0, #heard % 2)
      assert.is_true(space:check())
    end)

    it("may call the space from a coroutine of its own", function()
      space:add_node(1, 7, 5, function(_, target, node_id)
        w.on_enter(1, target, node_id)
        if target < 5 then coroutine.wrap(function() w:enter(target + 1, w:at(1)) end)() end
      end)
      w:enter(2, w:at(1)) w:deliver()
      space:flush()
      assert.same({ "+1/7>2", "+1/7>3", "+1/7>4", "+1/7>5" }, w:take())
    end)
  end)
end
