-- Fields of `aoi.sync` in snapshots, journals, observers and the program `aoi`: values, stand-ins, taking over.
local aoi = require "aoi"
local command = require "spec.support.command"
local journal = require "aoi.journal"
local sync = require "aoi.sync"
local tools = require "spec.support.tools"

local FIELDS = {
  { "hp", "u16" }, { "dir", "angle8" }, { "name", "string" }, { "bag", "bytes", to = "own" }, { "alive", "bool" },
  { "far", "f64" }, { "debt", "i32" }, { "near", "f32" },
}
local DEFAULTS = { hp = 0, dir = 0, name = "", bag = "", alive = false, far = 0, debt = 0, near = 0 }

local function new(options)
  local space = aoi.new(options)
  for id = 1, 5 do space:enter(id, id, 0) end
  local s = sync.new(space, { fields = FIELDS })
  return space, s
end

local function with(values)
  local t = {}
  for name, value in pairs(DEFAULTS) do t[name] = value end
  for name, value in pairs(values) do t[name] = value end
  return t
end

local function same_state(expected, space)
  local ids, other = expected:ids(), space:ids()
  table.sort(ids)
  table.sort(other)
  assert.same(ids, other)
  for _, id in ipairs(ids) do assert.same(sync.state(expected, id), sync.state(space, id)) end
end

describe("the state of an entity", function()
  it("is that of all synchronisers, and nil without the entity", function()
    local space, s = new()
    s:put(2, "hp", 7)
    s:put(2, "name", "Bob")
    assert.same(with { hp = 7, name = "Bob" }, sync.state(space, 2))
    assert.same(DEFAULTS, sync.state(space, 3))
    assert.is_nil(sync.state(space, 9))
    local other = sync.new(space, { fields = { { "mood", "i8" } } })
    other:put(2, "mood", -3)
    assert.same(with { hp = 7, name = "Bob", mood = -3 }, sync.state(space, 2))
    s:close()
    assert.same({ mood = -3 }, sync.state(space, 2))
    assert.same({}, sync.state(aoi.load((function()
      local bare = aoi.new()
      bare:enter(1, 0, 0)
      return bare:save()
    end)()), 1))
  end)
end)

describe("a snapshot", function()
  it("has the fields, which the next synchroniser takes over", function()
    local space, s = new()
    s:put(2, "hp", 7)
    s:put(2, "dir", 1)
    s:put(4, "name", ("x"):rep(65535))
    s:put(4, "bag", "\0\1")
    local bytes = space:save()
    local copy = aoi.load(bytes)
    same_state(space, copy)
    assert.equal(bytes, copy:save())
    copy:leave(4)
    copy:enter(4, 0, 0)
    assert.same(DEFAULTS, sync.state(copy, 4)) -- another entity
    copy = aoi.load(bytes)
    local kept = { { "name", "string" }, { "hp", "u16" }, { "dir", "u8" }, { "new", "bool" } }
    local again = sync.new(copy, { fields = kept })
    assert.equal(7, again:get(2, "hp"))
    assert.equal(0, again:get(2, "dir")) -- of another type
    assert.equal(("x"):rep(65535), again:get(4, "name"))
    assert.is_nil(sync.state(copy, 4).bag)
    copy:add_node(1, 1, 9)
    again:add(1, 9)
    local told = {}
    again:tick(function(_, message) sync.read(message, told) end)
    assert.equal(7, told.fields[2].hp or told.fields[4].hp)
    copy:check()
  end)

  it("of several synchronisers has them all, in their order", function()
    local space, first = new()
    local second = sync.new(space, { fields = { { "mood", "i8" } } })
    first:put(1, "hp", 1)
    second:put(1, "mood", 2)
    local copy = aoi.load(space:save())
    assert.equal(space:save(), copy:save())
    local a = sync.new(copy, { fields = FIELDS })
    local b = sync.new(copy, { fields = { { "mood", "i8" } } })
    assert.equal(1, a:get(1, "hp"))
    assert.equal(2, b:get(1, "mood"))
    same_state(space, copy)
    copy = aoi.load(space:save())
    sync.new(copy, { fields = FIELDS }):put(1, "hp", 3) -- and nobody takes over the second one
    copy = aoi.load(copy:save())
    assert.equal(3, sync.new(copy, { fields = FIELDS }):get(1, "hp"))
    assert.equal(2, sync.new(copy, { fields = { { "mood", "i8" } } }):get(1, "mood"))
    first:close()
    copy = aoi.load(space:save())
    assert.same({ mood = 2 }, sync.state(copy, 1))
  end)

  it("with other fields than save writes is refused", function()
    local space, s = new()
    s:put(2, "hp", 7)
    s:put(3, "name", "Bob")
    local bytes, refused = space:save(), 0
    for at = 1, #bytes do
      for _, byte in ipairs { 0, 1, 255, (bytes:byte(at) + 1) % 256 } do
        local ok, loaded = pcall(aoi.load, bytes:sub(1, at - 1) .. string.char(byte) .. bytes:sub(at + 1))
        if ok then assert.equal(bytes, loaded:save()) else refused = refused + 1 end
      end
    end
    assert.is_true(refused > 3 * #bytes)
  end)
end)

describe("a journal", function()
  it("has every put, and plays it forwards and backwards", function()
    local pieces = {}
    local space, s = new()
    s:put(1, "hp", 100)
    local j = journal.record(space, function(bytes) pieces[#pieces + 1] = bytes end)
    for tick = 1, 20 do
      s:put(1, "hp", 100 - tick)
      s:put(2, "name", "tick " .. tick)
      s:put(3, "name", "always") -- once, then it is no change
      if tick == 10 then space:leave(3) space:enter(3, 0, 0) end
      space:move(2, tick, 0)
      s:tick(function() end)
      j:mark(tick)
    end
    local other = sync.new(space, { fields = { { "mood", "i8" } } })
    other:put(5, "mood", 3)
    j:mark(21)
    other:close()
    j:mark(22)
    j:stop()
    local player = journal.open(table.concat(pieces), { engine = "grid" })
    assert.equal(100, sync.state(player.space, 1).hp)
    for _, tick in ipairs { 5, 19, 3, 20, 10, 9, 1 } do
      player:seek(tick)
      assert.equal(100 - tick, sync.state(player.space, 1).hp)
      assert.equal("tick " .. tick, sync.state(player.space, 2).name)
      assert.equal(tick >= 10 and tick < 11 and "" or "always", sync.state(player.space, 3).name)
    end
    player:seek(21)
    assert.equal(3, sync.state(player.space, 5).mood)
    player:seek(22)
    assert.is_nil(sync.state(player.space, 5).mood)
    same_state(space, player.space)
    player:seek(0)
    local name, id = player:step()
    assert.same({ "put", 1 }, { name, id })
    assert.equal(20 + 20 + 2 + 3, player.info.of_call.put)
  end)

  it("of a loaded space has what is taken over, and a ring begins with it", function()
    local space, s = new()
    s:put(2, "hp", 7)
    local copy = aoi.load(space:save())
    local ring = journal.record(copy, nil, { ring = 8192 })
    local again = sync.new(copy, { fields = FIELDS })
    again:put(2, "debt", -9)
    for i = 1, 500 do
      again:put(1 + i % 5, "name", ("y"):rep(i % 90))
      copy:move(1, i, 0)
    end
    same_state(copy, (function()
      local player = journal.open(ring:dump())
      while player:step() do end
      return player.space
    end)())
  end)

  it("of a text longer than its buffer", function()
    local pieces = {}
    local space, s = new()
    local j = journal.record(space, function(bytes) pieces[#pieces + 1] = bytes end)
    s:put(2, "name", ("long"):rep(16383))
    j:stop()
    local player = journal.open(table.concat(pieces))
    while player:step() do end
    same_state(space, player.space)
  end)
end)

describe("an observer", function()
  it("tells fields as they change", function()
    local space, s = new()
    s:put(2, "hp", 7)
    local observer = aoi.observe(space)
    local function told()
      local changes, found = observer:changes() or "", {}
      local at = 1
      while at <= #changes do
        local size = changes:byte(at + 1) + 256 * changes:byte(at + 2)
        local news = changes:sub(at, at) == "S" and sync.read(changes:sub(at + 5, at + 4 + size))
        for i = 1, news and 2 * news.fields.n or 0, 2 do found[news.fields[i]] = news.fields[i + 1] end
        at = at + 5 + size
      end
      return found
    end
    assert.same({ [2] = { hp = 7 } }, told())
    assert.same({}, told())
    s:put(2, "name", "Bob")
    s:put(3, "alive", true)
    assert.same({ [2] = { hp = 7, name = "Bob" }, [3] = { alive = true } }, told())
    s:put(3, "alive", false)
    assert.same({ [3] = { alive = false } }, told())
    observer:restart()
    assert.same({ [2] = { hp = 7, name = "Bob" }, [3] = { alive = false } }, told())
  end)
end)

describe("the program aoi", function()
  if tools.lacks "argparse" then return pending(tools.lacks "argparse") end
  it("lists the fields of an entity at a time", function()
    local path = os.tmpname()
    local space, s = new()
    local j = journal.record(space, path)
    s:put(2, "name", "Bob")
    j:mark(1)
    s:put(2, "hp", 5)
    j:mark(2)
    j:stop()
    local status, text = command("explain", path, "--at", "1", "2")
    os.remove(path)
    assert.equal(0, status)
    assert.matches('\n  field hp: 0\n  field name: "Bob"', text)
  end)
end)
