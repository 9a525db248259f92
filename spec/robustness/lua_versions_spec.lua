-- What depends on the version of Lua: each test asserts the behaviour of the version that runs it.
local aoi = require "aoi"
local journal = require "aoi.journal"

local compile = loadstring or load -- luacheck: ignore
local is_jit = type(jit) == "table" -- luacheck: ignore
local has_integers = math.type ~= nil and math.type(1) == "integer"
local number = tonumber(_VERSION:match("%d+%.%d+"))
local may_yield = number >= 5.3
local may_be_closed = number >= 5.4

local function space_with(...)
  local space = aoi.new()
  for _, id in ipairs { ... } do space:enter(id, 0, 0) end
  return space
end

describe("errors on " .. _VERSION, function()
  it("have ids to the last digit", function()
    local id = -4503599627370597
    local space = space_with(id)
    local near = require("aoi.neighbors").new(space)
    near:add(id, 5)
    assert.has_error(function() near:add(id, 5) end,
      "bad argument #1 to 'add' (entity -4503599627370597 already has a list)")
    assert.has_error(function() near:add(id - 1, 5) end, "bad argument #1 to 'add' (no entity -4503599627370598)")
  end)
end)

describe("ids on " .. (is_jit and jit.version or _VERSION), function() -- luacheck: ignore
  if has_integers then
    it("are any integers, of 64 bits", function()
      local space = space_with(math.mininteger, math.maxinteger, 9007199254740992, 9007199254740993)
      assert.equal(4, #space)
      assert.is_true(space:has(9007199254740993))
      assert.is_false(space:has(9007199254740994))
      space:add_node(math.mininteger, math.maxinteger, 1)
      local ids, n = space:view(math.mininteger, math.maxinteger)
      assert.equal(3, n)
      for i = 1, n do assert.equal("integer", math.type(ids[i])) end
      local viewers = space:viewers(math.maxinteger)
      assert.same({ math.mininteger, math.maxinteger }, viewers)
    end)

    it("may be floats that are whole, and come back as integers", function()
      local space = space_with(3.0, -2.0 ^ 63)
      assert.is_true(space:has(3))
      assert.is_true(space:has(math.mininteger))
      local ids = space:ids()
      assert.equal("integer", math.type(ids[1]))
      for _, id in ipairs { 2.0 ^ 63, 1e300, 1.5 } do
        assert.error_matches(function() space:enter(id, 0, 0) end,
          "bad argument #1 to 'enter' %(number has no integer representation: ")
      end
    end)

    it("and masks and kinds have all 64 bits", function()
      local space = aoi.new()
      space:enter(1, 0, 0, math.mininteger)
      space:enter(2, 0, 0, math.maxinteger)
      space:add_node(1, 1, { radius = 1, mask = 4611686018427387904 })
      space:add_node(2, 1, { radius = 1, mask = math.mininteger })
      assert.is_true(space:sees(1, 1, 2))
      assert.is_true(space:sees(2, 1, 1))
      assert.equal(math.mininteger, space:kind(1))
    end)

    it("and coordinates stay the floats that they are", function()
      local space = space_with()
      space:enter(1, 3, -0.0)
      local x, y = space:position(1)
      assert.equal("float", math.type(x))
      assert.equal(-math.huge, 1 / y)
    end)
  else
    local most = 2 ^ 53

    it("are whole numbers within 2^53", function()
      local space = space_with(most, -most, 0, 3)
      assert.equal(4, #space)
      assert.is_true(space:has(most))
      assert.is_true(space:has(-most))
      space:add_node(most, -most, 1)
      local ids, n = space:view(most, -most)
      assert.equal(3, n)
      table.sort(ids)
      assert.same({ -most, 0, 3 }, ids)
      for _, id in ipairs { most + 2, -most - 2, 1e300, 1.5, math.huge, -math.huge, 0 / 0 } do
        local ok, err = pcall(space.enter, space, id, 0, 0)
        assert.is_false(ok)
        assert.is_truthy(err:find("number has no integer representation", 1, true), err)
      end
    end)

    it("and masks too; -1 is all bits", function()
      local space = aoi.new()
      space:enter(1, 0, 0, 2 ^ 52)
      space:enter(2, 0, 0, -1)
      space:add_node(1, 1, { radius = 1, mask = 2 ^ 40 })
      space:add_node(2, 1, { radius = 1, mask = -1 })
      assert.is_true(space:sees(1, 1, 2))
      assert.is_true(space:sees(2, 1, 1))
      assert.equal(2 ^ 52, space:kind(1))
    end)
  end

  if is_jit then
    it("are no cdata", function()
      local space = space_with()
      local ok, err = pcall(space.enter, space, compile("return 1LL")(), 0, 0)
      assert.is_false(ok)
      assert.is_truthy(err:find("integer expected, got cdata", 1, true), err)
    end)
  end
end)

describe("integers that were saved on a Lua that has them", function()
  local function bytes(hex) -- "(9)" stands for nine zeros
    hex = hex:gsub("%((%d+)%)", function(n) return ("0"):rep(tonumber(n)) end)
    return (hex:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end))
  end

  local ID, BITS = "an id is beyond 2^53", "a kind, a mask or layers are beyond 2^53"
  local SNAPSHOTS = { -- of an entity, perhaps with a node; what is beyond 2^53
    { "010200046c697374(19)110808080808080802001(32)178080808080808020ffffffffffffff1f08(12)f03f04c76c18e0" },
    { "010200046c697374(19)110828080808080802001(33)4f1a886b4", ID },
    { "010200046c697374(19)110ffffffffffffffffff0101(33)4e1949914", ID },
    { "010200046c697374(19)110feffffffffffffffff0101(33)4fc692c15", ID },
    { "010200046c697374(19)1100201(32)1702828080808080802008(12)f03f04710e413b", ID },
    { "010200046c697374(19)11002ffffffffffffffffff01(32)2202ffffffffffffffffff0117020208(12)f03f04dc62d51d" },
    { "010200046c697374(19)11002818080808080801(34)445b4ac3e", BITS },
    { "010200046c697374(19)1100201(32)2202818080808080801004ef742b3e", BITS },
    { "010200046c697374(19)1100201(32)17020218818080808080801(13)f03f047ee525ca", BITS },
    { "010200046c697374(19)1100201(32)17020288ffffffffffffffefff01(12)f03f04186c6536", BITS },
  }
  local JOURNALS = { -- enter, enter_many; enter, set_kind, add_node, set_mask, set_layers, enter_many
    { "010200046c697374(21)403859c50de10828080808080802001(33)4039b149230", ID },
    { "010200046c697374(21)403859c50de150101828080808080802(34)4035bfa28b8", ID },
    { "010200046c697374(21)403859c50de1002818080808080801(34)4032f08b8ba", BITS },
    { "010200046c697374(21)403859c50de100201(32)130281808080808080100403889b25c0", BITS },
    { "010200046c697374(21)403859c50de100201(32)17020218818080808080801(13)f03f04035153ac7e", BITS },
    { "010200046c697374(21)403859c50de100201(32)17020208(12)f03f1e0202818080808080801004035082f13f", BITS },
    { "010200046c697374(21)403859c50de100201(32)220281808080808080100403540fc129", BITS },
    { "010200046c697374(21)403859c50de1501818080808080801004(33)4036d9836a5", BITS },
  }

  it("are whole, or an error", function()
    for _, case in ipairs(SNAPSHOTS) do
      local ok, why = pcall(aoi.load, bytes("414f495301" .. case[1]))
      assert.equal(has_integers or not case[2], ok, why)
      if not ok then assert.matches("snapshot: " .. case[2] .. ", and this Lua has no integers", why, 1, true) end
    end
    for _, case in ipairs(JOURNALS) do
      local player = journal.open(bytes("414f494a01" .. case[1]))
      local ok, why = pcall(function()
        repeat until not player:step()
      end)
      assert.equal(has_integers, ok, why)
      if not ok then assert.matches("the journal does not fit this Lua: " .. case[2], why, 1, true) end
    end
  end)
end)

describe("a handler that yields on " .. _VERSION, function()
  local function scene()
    local space, heard = space_with(1), {}
    space:add_node(1, 1, 5, function(_, target)
      heard[#heard + 1] = target
      local got = coroutine.yield(target)
      heard[#heard + 1] = got
    end)
    return space, heard
  end

  if may_yield then
    it("goes on where it was", function()
      local space, heard = scene()
      local co = coroutine.wrap(function()
        space:enter(2, 0, 0)
        return "done"
      end)
      assert.equal(2, co())
      assert.equal("done", co("hello"))
      assert.same({ 2, "hello" }, heard)
    end)
  else
    it("raises, and that is an error of the handler like any other", function()
      local space, heard = scene()
      local co = coroutine.create(function() space:enter(2, 0, 0) end)
      local ok, err = coroutine.resume(co)
      assert.is_false(ok)
      assert.is_truthy(tostring(err):find("attempt to yield across", 1, true), err)
      assert.same({ 2 }, heard)
      assert.is_true(space:has(2))
      assert.is_true(space:sees(1, 1, 2))
      assert.equal(0, space:stats().pending)
      assert.is_true(space:check())
      pcall(space.enter, space, 3, 0, 0) -- delivery goes on as ever
      assert.equal(3, heard[2])
    end)
  end
end)

describe("the end of a scope on " .. _VERSION, function()
  if may_be_closed then
    it("closes a to-be-closed space, by return and by error", function()
      local run = compile [[
        local aoi, fails = ...
        local kept
        local ok = pcall(function()
          local space <close> = aoi.new()
          kept = space
          if fails then error "no" end
        end)
        return ok, kept
      ]]
      for _, fails in ipairs { true, false } do
        local ok, space = run(aoi, fails)
        assert.equal(not fails, ok)
        assert.has_error(function() space:count() end, "attempt to use a closed space")
      end
    end)
  else
    it("means nothing: close, or the collector, ends a space", function()
      local meta = getmetatable(aoi.new())
      if type(meta) == "table" then assert.is_nil(meta.__close) end
    end)
  end
end)

describe("on every version", function()
  it("# is the count, and tostring says what it is", function()
    local space = space_with(1, 2)
    assert.equal(2, #space)
    assert.is_truthy(tostring(space):find("^aoi%.space: "))
    space:close()
    assert.equal("aoi.space (closed)", tostring(space))
  end)

  it("a second load of the core makes spaces that the first knows, too", function()
    local loaded = package.loaded["aoi.core"]
    package.loaded["aoi.core"] = nil
    local ok, other = pcall(require, "aoi.core")
    package.loaded["aoi.core"] = loaded
    assert.is_true(ok)
    local space = other.new()
    space:enter(1, 0, 0)
    assert.equal(1, space:count())
    assert.equal(1, aoi.new().count(space))
    aoi.new().close(space)
    assert.has_error(function() space:count() end)
  end)

  it("nothing but aoi becomes known by loading it", function()
    for _, name in ipairs { "aoi", "core", "aoi.core" } do assert.is_nil(rawget(_G, name)) end
  end)
end)
