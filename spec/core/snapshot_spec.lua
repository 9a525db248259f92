-- Snapshots: space:save and aoi.load. spec/c/snapshot.c has the random histories and the damaged bytes.
local aoi = require "aoi"

local function sorted(list)
  table.sort(list)
  return table.concat(list, " ")
end

-- A space with one of everything; its handlers write into `heard`.
local function world(options, heard)
  local space = aoi.new(options)
  local function hear(sign)
    return function(watcher, target, node) heard[#heard + 1] = sign .. watcher .. "/" .. node .. ">" .. target end
  end
  for id = 1, 6 do space:enter(id, id, 0, id == 6 and 4 or 1) end
  space:add_node(1, 1, { radius = 2.5, keep = 4 }, hear "+", hear "-")
  space:add_node(2, 1, { shape = "box", extents = { 1, 1 }, mask = 5 }, { enter = hear "+", leave = hear "-" })
  space:add_node(3, 7, { shape = "polygon", points = { -2, -2, 2, -2, 0, 2 } }, hear "+")
  space:add_node(4, 1, math.huge)
  space:override(2, 1, 6, "show")
  space:override(4, 1, 1, "hide")
  space:flush()
  space:move(3, 5, 0)   -- 1 keeps it
  return space
end

-- What handlers() returns for a loaded copy.
local function handlers_of(hear)
  local calls = {}
  return function(id, node)
    calls[#calls + 1] = id .. "/" .. node
    if id == 1 then return hear "+", hear "-" end
    if id == 2 then return { enter = hear "+", leave = hear "-" } end
    if id == 3 then return hear "+" end
  end, calls
end

for _, engine in ipairs(aoi.engines()) do
  for _, delivery in ipairs { "immediate", "deferred" } do
    describe(("a snapshot of a %s space, %s,"):format(engine, delivery), function()
      local heard, copied, space, copy, calls, bytes
      before_each(function()
        heard, copied = {}, {}
        space = world({ engine = engine, delivery = delivery }, heard)
        bytes = space:save()
        local handlers
        local function copy_hear(sign)
          return function(watcher, target, node)
            copied[#copied + 1] = sign .. watcher .. "/" .. node .. ">" .. target
          end
        end
        handlers, calls = handlers_of(copy_hear)
        copy = aoi.load(bytes, handlers)
      end)

      it("is the same space, and loading delivers nothing", function()
        assert.same({}, copied)
        assert.equal("1/1 2/1 3/7 4/1", sorted(calls))
        assert.is_true(copy:check())
        assert.equal(sorted(space:ids()), sorted(copy:ids()))
        for id = 1, 6 do
          assert.same({ space:position(id) }, { copy:position(id) })
          assert.equal(space:kind(id), copy:kind(id))
          for _, node in ipairs(space:nodes(id)) do
            assert.same(space:area(id, node), copy:area(id, node))
            assert.equal(sorted(space:view(id, node)), sorted(copy:view(id, node)))
            assert.same(space:overrides(id, node), copy:overrides(id, node))
          end
        end
        assert.is_true(copy:explain(1, 1, 3).why == "kept" or delivery == "deferred")
        assert.equal(space:stats().pending, copy:stats().pending)
        assert.equal(bytes, copy:save())
      end)

      it("hears what the other hears from then on", function()
        for i = #heard, 1, -1 do heard[i] = nil end
        for _, s in ipairs { space, copy } do
          s:move(5, 1, 1)
          s:set_kind(6, 1)
          s:leave(3)
          s:enter(3, 2, 0)
          s:flush()
          s:remove_node(2, 1)
          s:flush()
        end
        assert.is_true(#heard > 5)
        assert.equal(sorted(heard), sorted(copied))
      end)

      it("is of an engine or goes into another", function()
        for _, other in ipairs(aoi.engines()) do
          local there = aoi.load(bytes, nil, { engine = other })
          assert.is_true(there:check())
          for id = 1, 4 do
            for _, node in ipairs(space:nodes(id)) do
              assert.equal(sorted(space:view(id, node)), sorted(there:view(id, node)))
            end
          end
        end
      end)
    end)
  end
end

describe("a snapshot", function()
  it("has events that wait, those of nodes that are gone, too", function()
    local heard = {}
    local space = world({ delivery = "deferred" }, heard)
    space:remove_node(1, 1)
    space:leave(6)
    local before = {}
    for i, line in ipairs(heard) do before[i] = line end
    local copied, asked = {}, {}
    local copy = aoi.load(space:save(), function(id, node)
      asked[#asked + 1] = id .. "/" .. node
      if id == 3 then return function(w, t, n) copied[#copied + 1] = "+" .. w .. "/" .. n .. ">" .. t end end
      return {
        enter = function(w, t, n) copied[#copied + 1] = "+" .. w .. "/" .. n .. ">" .. t end,
        leave = function(w, t, n) copied[#copied + 1] = "-" .. w .. "/" .. n .. ">" .. t end,
      }
    end)
    assert.equal("1/1 2/1 3/7 4/1", sorted(asked)) -- 1/1 is gone
    assert.same({}, copy:nodes(1))
    space:flush()
    copy:flush()
    local after = {}
    for i = #before + 1, #heard do after[#after + 1] = heard[i] end
    local told = {}
    for _, line in ipairs(copied) do
      if not line:match "/1>%d$" or not line:match "^.4/" then told[#told + 1] = line end -- 4 had no handlers before
    end
    assert.is_true(#after > 0)
    assert.equal(sorted(after), sorted(told))
    copy:drain()
    assert.is_true(copy:check())
  end)

  it("may be saved by a handler, with the events that are still to come", function()
    local space, bytes = aoi.new(), nil
    local told = {}
    for id = 1, 3 do space:enter(id, id, 0) end
    space:add_node(1, 1, 10, function(_, target)
      told[#told + 1] = target
      bytes = bytes or space:save()
    end)
    local rest = { told[1] }
    local copy = aoi.load(bytes, function() return function(_, target) rest[#rest + 1] = target end end)
    assert.equal(1, copy:stats().pending)
    copy:flush()
    assert.same(told, rest)
  end)

  it("gives nodes without handlers a voice, and takes it from those that get none", function()
    local space, heard = aoi.new(), {}
    space:enter(1, 0, 0)
    space:enter(2, 1, 0)
    space:add_node(1, 1, 5)                        -- no handlers: its events are dropped
    space:add_node(2, 1, 5, function() heard[#heard + 1] = "old" end)
    heard = {}
    local copy = aoi.load(space:save(), function(id)
      if id == 1 then return function(_, target) heard[#heard + 1] = target end end
    end)
    copy:enter(3, 0, 1)
    assert.same({ 3 }, heard)
    assert.is_true(copy:sees(2, 1, 3))
    assert.equal(0, copy:stats().pending)
  end)

  it("is of any ids and numbers", function()
    for _, id in ipairs { 0, -1, 2 ^ 52, -2 ^ 52, 9007199254740991 } do
      local space = aoi.new { dimensions = 3, cell = 0.25 }
      space:enter(id, -0.0, 2 ^ 50, 5e-324)
      space:add_node(id, id, { shape = "cylinder", radius = 0, half_height = 2 ^ 50, margin = 0.1 })
      local copy = aoi.load(space:save())
      assert.same({ -0.0, 2 ^ 50, 5e-324 }, { copy:position(id) })
      assert.equal(1 / -0.0, 1 / (copy:position(id)))
      assert.same(space:area(id, id), copy:area(id, id))
    end
  end)

  it("of nothing is a space without anything", function()
    local copy = aoi.load(aoi.new { engine = "tower", dimensions = 3 }:save())
    assert.equal(0, #copy)
    copy:enter(1, 2, 3, 4)
    assert.equal(4, select(3, copy:position(1)))
  end)

  it("lets go of handlers whose events are told", function()
    local space = aoi.new { delivery = "deferred" }
    space:enter(1, 0, 0)
    space:add_node(1, 1, 5, function() end)
    space:enter(2, 0, 0)
    space:flush()
    space:remove_node(1, 1)
    local weak = setmetatable({}, { __mode = "v" })
    local copy = aoi.load(space:save(), function()
      weak[1] = function() return weak end
      return weak[1], weak[1]
    end)
    collectgarbage()
    assert.is_function(weak[1])
    copy:flush()
    collectgarbage()
    collectgarbage()
    assert.is_nil(weak[1])
  end)

  it("is refused with a reason where it is none", function()
    local bytes = world({}, {}):save()
    local function refused(value, reason, ...)
      local ok, err = pcall(aoi.load, value, ...)
      assert.is_false(ok)
      assert.matches(reason, err)
    end
    refused(nil, "bad argument #1 to 'load' %(string expected, got n")
    refused(5, "bad argument #1 to 'load' %(string expected, got number%)")
    refused("", "bad argument #1 to 'load' %(not a snapshot: it does not begin as a snapshot does%)")
    refused(bytes:sub(1, -2), "not a snapshot: its checksum is another: it is damaged or cut off")
    refused(bytes .. "x", "not a snapshot: its checksum")
    refused(bytes:sub(1, 4) .. "\2" .. bytes:sub(6), "it is of a version that this library does not read")
    refused(bytes, "bad argument #2 to 'load' %(function expected, got table%)", {})
    refused(bytes, "bad argument #3 to 'load' %(bad value for option 'engine'", nil, { engine = "crystal ball" })
    refused(bytes, "'engine' is the only option", nil, { delivery = "deferred" })
    refused(bytes, "bad result #1 of the function for node 1 of entity 1 %(function or table expected, got number%)",
      function() return 5 end)
    refused(bytes, "bad result #1 of the function for node 1 of .* %(handler 'leave': function expected, got string%)",
      function() return { leave = "attack" } end)
    refused(bytes, "bad result #2 of the function for node 1 of entity 1 %(function expected, got table%)",
      function() return nil, {} end)
    local token = {}
    local ok, err = pcall(aoi.load, bytes, function() error(token) end)
    assert.is_false(ok)
    assert.equal(token, err)
  end)

  it("of a closed space is an error", function()
    local space = aoi.new()
    space:close()
    assert.has_error(function() space:save() end, "attempt to use a closed space")
  end)
end)

describe("the snapshot's page", function()
  it("shows what runs", function()
    local file = assert(io.open("docs/snapshot.md"))
    local text = file:read "*a"
    file:close()
    local count = 0
    for snippet in text:gmatch "```lua\n(.-)```" do
      local chunk = assert((loadstring or load)(snippet)) -- luacheck: ignore
      chunk()
      count = count + 1
    end
    assert.equal(3, count)
  end)
end)
