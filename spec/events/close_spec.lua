-- close: called, by the garbage collector, at the end of a scope.
local aoi = require "aoi"
local fixture = require "spec.support.fixture"

local compile = loadstring or load -- luacheck: ignore

for setup in fixture.all() do
  describe("close on " .. setup.name, function()
    local w, space
    before_each(function()
      w = setup.new()
      space = w.space
      w:enter(1, w:at(0))
      w:watch(1, 7, 5)
      w:enter(2, w:at(1))
    end)

    it("ends everything without events", function()
      w:take()
      space:close()
      assert.same({}, w.heard)
    end)

    it("ends what waits, too", function()
      local before = #w.heard
      space:close()
      assert.equal(before, #w.heard)
    end)

    it("may be called again", function()
      space:close()
      space:close()
      space:close()
    end)

    it("makes every other call an error", function()
      local p = w:at(0)
      space:close()
      local calls = {
        enter = function() w:enter(3, p) end,
        move = function() w:move(1, p) end,
        leave = function() space:leave(1) end,
        add_node = function() space:add_node(1, 8, 5) end,
        remove_node = function() space:remove_node(1, 7) end,
        set_radius = function() space:set_radius(1, 7, 3) end,
        set_mask = function() space:set_mask(1, 7, 3) end,
        set_kind = function() space:set_kind(1, 3) end,
        move_many = function() space:move_many {} end,
        enter_many = function() space:enter_many {} end,
        flush = function() space:flush() end,
        drain = function() space:drain {} end,
        on_error = function() space:on_error(print) end,
        view = function() space:view(1, 7) end,
        viewers = function() space:viewers(1) end,
        near = function() w:near(p, 5) end,
        sees = function() space:sees(1, 7, 2) end,
        position = function() space:position(1) end,
        kind = function() space:kind(1) end,
        radius = function() space:radius(1, 7) end,
        has = function() space:has(1) end,
        count = function() space:count() end,
        ["#"] = function() return #space + 0 end,
        ids = function() space:ids() end,
        nodes = function() space:nodes(1) end,
        stats = function() space:stats() end,
        check = function() space:check() end,
      }
      for name, call in pairs(calls) do
        local ok, err = pcall(call)
        assert.is_false(ok, name)
        assert.is_truthy(err:find("attempt to use a closed space", 1, true), name .. ": " .. err)
      end
    end)

    it("is harmless with __gc, in any order and number", function()
      local gc = getmetatable(space)
      gc = type(gc) == "table" and gc.__gc
      if not gc then return end
      gc(space)
      gc(space)
      space:close()
      assert.has_error(function() space:count() end, "attempt to use a closed space")
    end)
  end)
end

describe("a space", function()
  local to_be_closed = compile [[
    local aoi = ...
    local kept
    do
      local space <close> = aoi.new()
      space:enter(1, 0, 0)
      kept = space
    end
    return kept
  ]]

  if to_be_closed then
    it("may be a to-be-closed variable", function()
      local space = to_be_closed(aoi)
      assert.has_error(function() space:count() end, "attempt to use a closed space")
      space:close()
    end)
  end

  it("may be closed by a handler, and the call that delivers returns as usual", function()
    local space = aoi.new()
    space:enter(1, 0, 0)
    space:add_node(1, 1, 5, function() space:close() end)
    space:enter(2, 0, 0)
    assert.has_error(function() space:flush() end, "attempt to use a closed space")
  end)
end)
