-- Handlers, entities and spaces are garbage as soon as nothing references them, and moves allocate nothing.
local aoi = require "aoi"
local garbage_of = require "spec.support.garbage"
local fixture = require "spec.support.fixture"

local function collect()
  collectgarbage() collectgarbage()
end

local function survivors(weak)
  collect()
  local n = 0
  for _ in pairs(weak) do n = n + 1 end
  return n
end

for setup in fixture.all { modes = { "immediate", "flush" }, dimensions = { 2 } } do
  describe("garbage on " .. setup.name, function()
    -- A space full of handlers that capture it, in every way there is.
    local function entangled()
      local w = setup.new()
      local space = w.space
      local function handler() return space end
      for id = 1, 5 do
        w:enter(id, w:at(id))
        space:add_node(id, 1, 3, handler, function() return w, space end)
        space:add_node(id, 2, 3, { enter = handler, space = space })
      end
      space:on_error(function() return space end)
      return w
    end

    it("takes spaces whose handlers capture them", function()
      local weak = setmetatable({}, { __mode = "k" })
      for _ = 1, 20 do weak[entangled().space] = true end
      assert.equal(0, survivors(weak))
    end)

    it("takes spaces with events that nobody heard", function()
      local weak = setmetatable({}, { __mode = "k" })
      for _ = 1, 20 do
        local w = entangled()
        w.space:add_node(1, 9, 5, function() error { w.space } end)
        pcall(function() w:move(3, w:at(-50)) w:move(3, w:at(1)) w:deliver() end)
        weak[w.space] = true
      end
      assert.equal(0, survivors(weak))
    end)

    it("takes spaces that were closed", function()
      local weak = setmetatable({}, { __mode = "k" })
      for _ = 1, 20 do
        local w = entangled()
        weak[w.space] = true
        w.space:close()
      end
      assert.equal(0, survivors(weak))
    end)

    it("keeps a space's handlers while it lives", function()
      local w = setup.new()
      local heard = 0
      w:enter(1, w:at(0))
      w.space:add_node(1, 1, 5, function() heard = heard + 1 end)
      w.space:add_node(1, 2, 5, { enter = function() heard = heard + 1 end })
      collect()
      w:enter(2, w:at(1)) w:deliver()
      assert.equal(2, heard)
    end)

    -- A weak table of the handlers that f hands to note().
    local function handlers_of(f)
      local weak = setmetatable({}, { __mode = "k" })
      local function note(handler)
        weak[handler] = true
        return handler
      end
      f(note)
      return weak
    end

    it("takes the handlers of nodes that are gone", function()
      local w = setup.new()
      w:enter(1, w:at(0))
      w:enter(2, w:at(1))
      local weak = handlers_of(function(note)
        for i = 1, 10 do
          w.space:add_node(1, i, 5, note(function() return i end), note(function() return w, i end))
          w.space:add_node(2, i, 5, note { enter = function() return i end })
        end
        w:deliver()
      end)
      assert.equal(30, survivors(weak))
      for i = 1, 10 do w.space:remove_node(1, i) end
      w:deliver()
      assert.equal(10, survivors(weak))
      w.space:leave(2)
      w:deliver()
      assert.equal(0, survivors(weak))
      assert.equal(1, w.space:count())
    end)

    it("takes handlers of a node that never had an event", function()
      local w = setup.new()
      local weak = handlers_of(function(note)
        for id = 1, 10 do
          w:enter(id, w:at(100 * id))
          w.space:add_node(id, 1, 5, note(function() return id end))
        end
        for id = 1, 10 do w.space:leave(id) end
      end)
      assert.equal(0, survivors(weak))
    end)

    it("takes all handlers when a space is closed", function()
      local w = setup.new()
      local weak = handlers_of(function(note)
        w:enter(1, w:at(0))
        w:enter(2, w:at(1))
        w.space:add_node(1, 1, 5, note(function() return w end), note(function() return 1 end))
        w.space:add_node(1, 2, 5, note { enter = nil, leave = function() return w end })
        w.space:on_error(note(function() return w end))
      end)
      w.space:close()
      assert.equal(0, survivors(weak))
      assert.is_userdata(w.space)
    end)

    it("takes a handler of on_error that was replaced", function()
      local w = setup.new()
      local weak = handlers_of(function(note)
        w.space:on_error(note(function() return 1 end))
        w.space:on_error(note(function() return 2 end))
      end)
      assert.equal(1, survivors(weak))
      w.space:on_error(nil)
      assert.equal(0, survivors(weak))
    end)

    it("keeps the handlers of leaves that nobody heard yet", function()
      if setup.mode ~= "flush" then return end
      local w = setup.new()
      local weak = handlers_of(function(note)
        w:enter(1, w:at(0))
        w:enter(2, w:at(1))
        w.space:add_node(1, 1, 5, nil, note(function(...) w.on_leave(...) end))
        w:deliver()
        w.space:leave(1)
      end)
      assert.equal(1, survivors(weak))
      w:deliver()
      assert.same({ "-1/1>2" }, w:take())
      assert.equal(0, survivors(weak))
    end)

    it("can be collected inside every handler", function()
      local w = setup.new()
      local heard = 0
      local function handler()
        collectgarbage()
        heard = heard + 1
      end
      for id = 1, 4 do
        w:enter(id, w:at(0))
        w.space:add_node(id, 1, 5, function() handler() end, function() handler() end)
      end
      w:deliver()
      for id = 1, 4 do w.space:leave(id) w:deliver() end
      assert.equal(24, heard)
    end)

    it("can be collected while a handler takes away the nodes that are being served", function()
      local w = setup.new()
      local heard = 0
      for id = 1, 8 do
        w:enter(id, w:at(100 * id))
        w.space:add_node(id, 1, 5, function(watcher)
          heard = heard + 1
          w.space:leave(watcher)
          collect()
          return watcher
        end)
      end
      local rows = {}
      for id = 1, 8 do rows[id] = { id, w:at(0) } end
      w.space:move_many(w:flat(rows)) w:deliver()
      assert.equal(7, heard, "each takes itself away with all that is about it; the last has nobody to hear of")
      assert.equal(1, w.space:count())
      assert.is_true(w.space:check())
    end)
  end)
end

describe("memory", function()
  it("of spaces comes back to the allocator of the host", function()
    local function round()
      for _ = 1, 10 do
        local space = aoi.new()
        for id = 1, 200 do
          space:enter(id, id, -id)
          space:add_node(id, 1, 10, function() return space end)
        end
      end
      collect()
      return collectgarbage "count"
    end
    round()
    local before = round()
    local after
    for _ = 1, 5 do after = round() end
    assert.is_true(after - before < 50, ("%g KB more after five rounds"):format(after - before))
  end)

  for setup in fixture.immediate() do
    it("of moves is none: " .. setup.name, function()
      local w = setup.new()
      local function handler() end
      for id = 1, 50 do
        w:enter(id, w:at(id))
        w.space:add_node(id, 1, 5, handler, handler)
      end
      local move, dimensions = w.space.move, setup.dimensions
      local function round(shift)
        for id = 1, 50 do
          if dimensions == 2 then move(w.space, id, id + shift, 0) else move(w.space, id, id + shift, 0, 0) end
        end
      end
      local made = garbage_of(function() for shift = 1, 100 do round(shift % 7) end end)
      assert.is_true(made < 1, ("%g KB for 5000 moves"):format(made))
    end)
  end
end)
