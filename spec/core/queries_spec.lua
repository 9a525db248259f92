-- Queries: their results; they change nothing and deliver nothing.
local fixture = require "spec.support.fixture"
local dump = require "spec.support.dump"
local garbage_of = require "spec.support.garbage"
local bits = require "spec.support.bits"

local function sorted(list, n)
  local t = {}
  for i = 1, n do t[i] = list[i] end
  table.sort(t)
  return t
end

local function sorted_pairs(list, n)
  local t = {}
  for i = 1, n do t[i] = list[2 * i - 1] .. "/" .. list[2 * i] end
  table.sort(t)
  return t
end

for setup in fixture.all { modes = { "immediate", "drain" } } do
  describe("queries on " .. setup.name, function()
    local w, space
    before_each(function()
      w = setup.new()
      space = w.space
      w:enter(1, w:at(0))
      w:enter(2, w:at(3))
      w:enter(3, w:at(-5), 2)
      w:enter(4, w:at(5, 2), 4)
      w:enter(5, w:at(100), 0)
      w:watch(1, 7, 5)
      w:watch(1, 8, 1)
      w:watch(2, 7, math.huge)
      w:watch(4, -1, { radius = 6, mask = 2, keep = 9 })
    end)

    it("position, kind and radius: the very numbers that were set", function()
      local numbers = { 0.1, 1 / 3, 1e15, -1e-300, 2 ^ -1074, 2 ^ 50, -0.0, 123456789.123456789 }
      for _, x in ipairs(numbers) do
        w:move(1, w:at(x, 1, -x))
        local p = { space:position(1) }
        assert.equal(setup.dimensions, #p)
        assert.equal(x, p[1])
        assert.equal(-x, p[2])
        assert.equal(1 / x, 1 / p[1])
        if setup.dimensions == 3 then assert.equal(-x, p[3]) end
      end
      for _, r in ipairs { 0, 0.1, 2 ^ 50, 2 ^ -1074, math.huge } do
        space:set_radius(1, 7, r)
        assert.equal(r, (space:radius(1, 7)))
      end
      for _, kind in ipairs { 0, 1, 2 ^ 31, 2 ^ 32, 2 ^ 52 } do
        space:set_kind(1, kind)
        assert.equal(kind, space:kind(1))
      end
    end)

    it("position, kind and radius: nil if there is no such thing", function()
      assert.is_nil(space:position(99))
      assert.is_nil(space:kind(99))
      assert.is_nil(space:radius(99, 7))
      assert.is_nil(space:radius(1, 99))
      space:leave(1)
      assert.is_nil(space:position(1))
      assert.is_nil(space:kind(1))
      assert.is_nil(space:radius(1, 7))
    end)

    it("has, count and #", function()
      assert.is_true(space:has(1))
      assert.is_false(space:has(99))
      assert.equal(5, space:count())
      assert.equal(5, #space)
      space:leave(1)
      assert.is_false(space:has(1))
      assert.equal(4, space:count())
      assert.equal(4, #space)
    end)

    it("has_node, dimensions and is_open", function()
      assert.same({ true, false, false }, { space:has_node(1, 7), space:has_node(1, 99), space:has_node(99, 7) })
      assert.equal(setup.dimensions, space:dimensions())
      assert.is_true(space:is_open())
      space:close()
      assert.is_false(space:is_open())
      assert.error_matches(function() space:has_node(1, 7) end, "closed space")
      assert.error_matches(function() space:dimensions() end, "closed space")
      assert.has_error(function() space:is_open(1) end)
    end)

    it("ids and nodes", function()
      assert.same({ 1, 2, 3, 4, 5 }, sorted(space:ids()))
      assert.same({ 7, 8 }, sorted(space:nodes(1)))
      assert.same({ -1 }, sorted(space:nodes(4)))
      assert.same({}, sorted(space:nodes(5)))
      space:leave(3)
      space:remove_node(1, 7)
      assert.same({ 1, 2, 4, 5 }, sorted(space:ids()))
      assert.same({ 8 }, sorted(space:nodes(1)))
    end)

    it("return integers where Lua has them", function()
      if not bits.integers then return end
      local near = w:near(w:at(0), 5)
      for _, list in ipairs { (space:ids()), (space:nodes(1)), (space:view(1, 7)), (space:viewers(3)), near } do
        for _, id in ipairs(list) do assert.equal("integer", math.type(id)) end
      end
      assert.equal("integer", math.type(space:kind(1)))
      assert.equal("integer", math.type(space:count()))
      assert.equal("integer", math.type(select(2, space:ids())))
    end)

    it("fill the table they are given, end the list with nil and leave the rest of it alone", function()
      local buf = { "a", "b", "c", "d", "e", "f", "g", "h", "i" }
      local function filled(n, list, count)
        assert.equal(buf, list)
        assert.equal(n, count)
        for i = 1, n do assert.is_number(buf[i]) end
        return list, count
      end
      assert.same({ 1, 2, 3, 4, 5 }, sorted(filled(5, space:ids(buf))))
      assert.is_nil(buf[6])
      assert.same({ "g", "h", "i" }, { buf[7], buf[8], buf[9] })
      assert.same({ 2, 3, 4 }, sorted(filled(3, space:view(1, 7, buf))))
      assert.same({ 7, 8 }, sorted(filled(2, space:nodes(1, buf))))
      assert.same({ "1/7", "2/7", "4/-1" }, sorted_pairs(filled(3, space:viewers(3, buf))))
      assert.is_nil(buf[7])
      filled(0, space:view(1, 8, buf))
      assert.is_nil(buf[1])
    end)

    it("leave nothing of an earlier, longer list, so that # is right", function()
      space:override(1, 7, 4, "hide")
      space:override(1, 7, 5, "show")
      local unpack = table.unpack or unpack -- luacheck: ignore
      for _, ask in ipairs {
        { "ids" }, { "view", 1, 7 }, { "viewers", 3 }, { "nodes", 1 }, { "overrides", 1, 7 }, { "drain" },
      } do
        local buf = {}
        for i = 1, 100 do buf[i] = i end
        local function filled()
          local args = { ask[2], ask[3] }
          args[#args + 1] = buf
          local _, n = space[ask[1]](space, unpack(args))
          return n * (({ viewers = 2, overrides = 2, drain = 4 })[ask[1]] or 1)
        end
        assert.equal(filled(), #buf, ask[1])
        for i = 1, 100 do assert.equal(i <= #buf, buf[i] ~= nil, ask[1]) end
        if ask[1] == "overrides" then
          space:override(1, 7, 5, nil)
          assert.equal(2, filled())
          assert.same({ 4, "hide" }, buf)
          space:override(1, 7, 5, "show")
          assert.equal(4, filled())
          assert.equal(buf, (space:nodes(5, buf))) -- it has none
          assert.same({}, buf)
        end
      end
    end)

    it("give every caller without a table a new one", function()
      local a, b = space:ids(), space:ids()
      assert.are_not.equal(a, b)
      a[1] = "mine"
      assert.same({ 1, 2, 3, 4, 5 }, sorted(space:ids()))
    end)

    it("stats: numbers", function()
      local stats = space:stats()
      for _, name in ipairs { "entities", "nodes", "events", "pending", "memory", "candidates", "steps" } do
        assert.is_number(stats[name], name)
      end
      for name, value in pairs(stats) do
        assert.is_string(name)
        assert.is_number(value)
      end
      assert.equal(5, stats.entities)
      assert.equal(4, stats.nodes)
      assert.is_true(stats.memory > 0)
      -- what the nodes see now was delivered, or waits
      local n = 0
      for _, id in ipairs(space:ids()) do n = n + select(2, space:viewers(id)) end
      assert.equal(n, stats.events + stats.pending)
      assert.equal(setup.delivery == "deferred" and n or 0, stats.pending)
      w:take()
      assert.equal(n, space:stats().events)
      assert.equal(0, space:stats().pending)
    end)

    it("stats: memory follows the number of entities", function()
      local before = space:stats().memory
      for id = 1001, 3000 do w:enter(id, w:at(id)) end
      assert.is_true(space:stats().memory > before + 2000 * 8)
    end)

    it("check: true", function()
      assert.is_true(space:check())
    end)

    it("change nothing and call nobody", function()
      local before, heard = dump(space), #w.heard
      for _ = 1, 2 do
        space:view(1, 7) space:viewers(3) w:near(w:at(0), 50) space:sees(1, 7, 2)
        space:position(1) space:kind(1) space:radius(1, 7) space:has(1) space:count()
        space:ids() space:nodes(1) space:stats() space:check()
      end
      assert.equal(before, dump(space))
      assert.equal(heard, #w.heard)
    end)

    it("make no garbage with a table of one's own", function()
      local buf, p = {}, w:at(0)
      local function ask()
        space:view(1, 7, buf) space:viewers(3, buf) space:ids(buf) space:nodes(1, buf)
        space:sees(1, 7, 2) space:position(1) space:kind(1) space:has(1) space:count()
        if setup.dimensions == 2 then space:near(p[1], p[2], 50, buf) else space:near(p[1], p[2], p[3], 50, buf) end
      end
      local made = garbage_of(function() for _ = 1, 200 do ask() end end)
      assert.is_true(made < 1, ("%g KB for 200 rounds"):format(made))
    end)

    it("of an empty space are empty", function()
      local empty = setup.new().space
      assert.same({}, sorted(empty:ids()))
      assert.equal(0, empty:count())
      assert.equal(0, #empty)
      assert.is_false(empty:has(1))
      assert.is_true(empty:check())
      assert.equal(0, empty:stats().entities)
      if setup.dimensions == 2 then assert.equal(0, select(2, empty:near(0, 0, math.huge)))
      else assert.equal(0, select(2, empty:near(0, 0, 0, math.huge))) end
    end)
  end)
end
