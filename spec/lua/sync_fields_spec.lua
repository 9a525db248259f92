-- aoi.sync, state: fields, what is told of them to whom, and how texts fit budgets.
local aoi = require "aoi"
local Sync = require "aoi.sync"
local client = require "spec.support.client_model"

describe("state of aoi.sync", function()
  local space, sync, pictures, bytes

  local FIELDS = {
    { "hp", "u16" }, { "dir", "angle8" }, { "name", "string" }, { "bag", "bytes", own = true }, { "alive", "bool" },
    { "x", "i8" }, { "f", "f32" },
  }

  local function fresh(options)
    options = options or {}
    options.fields = options.fields or FIELDS
    space = aoi.new()
    sync = Sync.new(space, options)
    pictures = {}
    for id = 1, 4 do
      space:enter(id, id, 0)
      pictures[id] = client.new(2)
    end
  end

  -- What each client is told of state in one tick: { [client] = { [id] = values } }.
  local function tick()
    local said = {}
    bytes = 0
    sync:tick(function(id, message)
      local fields = pictures[id]:apply(message).fields
      bytes = math.max(bytes, #message)
      for i = 1, 2 * fields.n, 2 do
        said[id] = said[id] or {}
        said[id][fields[i]] = fields[i + 1]
      end
    end)
    return said
  end

  before_each(function() fresh() end)

  it("is false, 0 or empty until it is put, and ends with the entity", function()
    for _, field in ipairs(FIELDS) do
      local text = field[2] == "string" or field[2] == "bytes"
      local default = text and "" or 0
      if field[2] == "bool" then default = false end
      assert.equal(default, sync:get(1, field[1]))
    end
    sync:put(1, "name", "Ann")
    sync:put(1, "alive", true)
    assert.same({ "Ann", true }, { sync:get(1, "name"), sync:get(1, "alive") })
    space:leave(1)
    space:enter(1, 1, 0)
    assert.same({ "", false }, { sync:get(1, "name"), sync:get(1, "alive") })
    assert.is_true(space:check())
  end)

  it("is told to the end: what is put in the tick in which an entity leaves, and why that left", function()
    for _, options in ipairs { {}, { bytes = 300 }, { tiers = { { 50, 3 } } }, { limit = 2 } } do
      fresh()
      for id = 1, 3 do sync:add(id, 50, options) end
      sync:put(4, "hp", 7)
      for _ = 1, 5 do tick() end
      space:move(1, 999, 0)
      sync:put(4, "hp", 0)
      sync:put(4, "name", "Ann")
      sync:put(4, "bag", "own")
      space:leave(4, 9)
      sync:tick(function(id, message)
        local news = pictures[id]:apply(message)
        for i = 1, news.gone.n do
          local is_it = news.gone[i] == 4
          assert.equal(is_it and 9 or 0, news.gone.reasons[i])
        end
        if news.gone.n > 0 and pictures[id].known[4] == nil and id ~= 1 and options.limit == nil then
          assert.same({ 4, { hp = 0, name = "Ann" }, n = 1 }, news.fields)
        end
      end)
      for id = 1, 3 do assert.is_nil(pictures[id].known[4]) end
      assert.is_true(space:check())
      space:enter(4, 4, 0)
      sync:put(4, "hp", 1)
      tick()
      sync:put(4, "hp", 2)
      space:leave(4, 255)
      space:enter(4, 4, 0) -- a new entity: it is told nothing of the former one
      tick() tick()
      assert.equal(0, sync:get(4, "hp"))
      if not options.limit then assert.same({}, pictures[2].known[4].fields) end
      assert.is_true(space:check())
    end
  end)

  it("is told with what appears as far as it differs from that, then as it changes", function()
    sync:put(2, "hp", 7)
    sync:put(2, "name", "Ann")
    sync:put(2, "x", 5)
    sync:put(2, "x", 0)
    sync:add(1, 50)
    assert.same({ { [2] = { hp = 7, name = "Ann" } } }, tick())
    assert.same({}, tick())
    sync:put(2, "hp", 7) -- as it is
    assert.equal(0, (sync:tick(error)))
    sync:put(2, "hp", 0)
    sync:put(3, "alive", true)
    assert.same({ { [2] = { hp = 0 }, [3] = { alive = true } } }, tick())
    sync:resend(1)
    assert.same({ { [2] = { name = "Ann" }, [3] = { alive = true } } }, tick())
    space:leave(2)
    space:enter(2, 2, 0)
    assert.same({}, tick())
    assert.same({}, pictures[1].known[2].fields)
  end)

  it("tells fields of its own to the entity's own client alone, if that hears of itself", function()
    sync:add(1, 50, { self = true })
    sync:add(2, 50)
    sync:put(1, "bag", "gold")
    sync:put(2, "bag", "iron")
    assert.same({ { [1] = { bag = "gold" } } }, tick())
    assert.is_true(sync:knows(1, 1))
    assert.is_false(sync:knows(2, 2))
    sync:put(1, "bag", "lead")
    sync:put(2, "bag", "zinc")
    assert.equal(1, (sync:tick(function(id, message)
      assert.equal(1, id)
      pictures[id]:apply(message)
    end)))
    assert.equal("lead", pictures[1].known[1].fields.bag)
    space:move(1, 1.5, 0)
    tick()
    assert.equal(1.5, pictures[1].known[1][1])
    sync:set(1, { self = false })
    tick()
    assert.is_nil(pictures[1].known[1])
    sync:unpin(1, 1)
    sync:set(1, { self = true, limit = 1 })
    tick()
    assert.same({ 1, 2 }, (function()
      local list = sync:known(1)
      table.sort(list)
      return list
    end)())
  end)

  it("rounds angles to steps of a turn, and floats", function()
    sync:put(1, "dir", -math.pi / 2)
    assert.equal(192 * math.pi / 128, sync:get(1, "dir"))
    sync:put(1, "dir", 2 * math.pi * 12.9999)
    assert.equal(0, sync:get(1, "dir"))
    sync:put(1, "f", 0.1)
    assert.equal(client.rounded(0.1), sync:get(1, "f"))
  end)

  it("has the period of its tier", function()
    fresh { tiers = { { 2, 1 }, { 100, 4 } } }
    space:move(3, 60, 0)
    sync:add(1, 1000)
    tick()
    local told, waits = 0, 0
    for t = 1, 40 do
      sync:put(3, "hp", t)
      sync:put(2, "hp", t)
      local said = tick()[1]
      assert.equal(t, said[2].hp)
      waits = said[3] and 0 or waits + 1
      told = told + (said[3] and 1 or 0)
      assert.is_true(waits < 4)
    end
    assert.is_true(told >= 10 and told <= 14)
  end)

  it("fits any budget, in parts; positions go on meanwhile, and changes do not hold a text up", function()
    for _, budget in ipairs { 60, 100, 1000 } do
      fresh { bytes = budget }
      sync:add(1, math.huge)
      tick()
      local text, length = nil, 65535
      local ticks = math.ceil(2.5 * length / (budget - 45))
      local last, versions, seen = 0, 0, nil
      for t = 1, ticks + 3 do
        if t % 97 == 1 then -- it changes long before it can be told
          text = ("%05d"):format(t) .. ("x"):rep(length - 5)
          sync:put(2, "name", text)
        end
        space:move(3, 3, t)
        sync:put(4, "hp", t % 65536)
        tick()
        assert.is_true(bytes <= budget)
        if pictures[1].known[3][2] == t then last = t end
        assert.is_true(t - last <= 4)
        local name = pictures[1].known[2].fields.name
        if name ~= seen then seen, versions = name, versions + 1 end
      end
      assert.is_true(versions >= 1)
      assert.equal(length, #seen)
      assert.truthy(seen:find "^%d%d%d%d%dx+$")
      assert.is_true(space:check())
      sync:set(1, { bytes = false })
      tick()
      assert.equal(text, pictures[1].known[2].fields.name)
      assert.equal(0, (sync:tick(error)))
    end
  end)

  it("tells 64 fields of any size within the smallest budget", function()
    local fields, value = {}, {}
    for k = 1, 64 do
      fields[k] = { ("a name of some length %d"):format(k), k % 3 == 0 and "string" or k % 3 == 1 and "f64" or "u32" }
      value[fields[k][1]] = k % 3 == 0 and ("y"):rep(5 * k) or k
    end
    fresh { fields = fields }
    local _, why = pcall(sync.add, sync, 1, 50, { bytes = 41 })
    local least = tonumber(why:match "%((%d+) or more expected")
    for name, v in pairs(value) do sync:put(2, name, v) end
    sync:add(1, 50, { bytes = least })
    for _ = 1, 2000 do
      tick()
      assert.is_true(bytes <= least)
    end
    assert.same(value, pictures[1].known[2].fields)
    assert.equal(0, (sync:tick(error)))
  end)

  it("refuses what a type does not hold, and fields that are not there", function()
    local function refused(message, f, ...)
      local ok, why = pcall(f, ...)
      assert.is_false(ok)
      assert.equal(message, (why:gsub("^[^ ]*:%d+: ", ""):gsub("('mana'): .*", "%1)")))
    end
    for _, v in ipairs { 65536, 0.5 } do
      refused("bad argument #4 to 'put' (field 'hp' (u16) holds whole numbers from 0 to 65535, got " .. v .. ")",
        sync.put, sync, 1, "hp", v)
    end
    refused("bad argument #4 to 'put' (number expected for field 'hp' (u16), got string '7')",
      sync.put, sync, 1, "hp", "7")
    refused("bad argument #4 to 'put' (boolean expected for field 'alive' (bool), got nil)", sync.put, sync, 1, "alive",
      nil)
    refused("bad argument #4 to 'put' (field 'name' (string) holds up to 65535 bytes)", sync.put, sync, 1, "name",
      ("x"):rep(65536))
    refused("bad argument #3 to 'put' (no field 'mana')", sync.put, sync, 1, "mana", 1)
    refused("bad argument #3 to 'get' (no field 'mana')", sync.get, sync, 1, "mana")
    refused("bad argument #2 to 'put' (no entity 9)", sync.put, sync, 9, "hp", 1)
    assert.is_false((pcall(sync.put, sync, 1, "f", 1e300)))
    assert.is_false((pcall(sync.put, sync, 1, "dir", 0 / 0)))
    assert.equal(0, sync:get(1, "hp"))
    local function fields(list, message)
      refused("bad argument #2 to 'new' (bad value for option 'fields' (" .. message .. "))", Sync.new, space,
        { fields = list })
    end
    fields(7, "a table of {name, type} expected")
    fields({ "hp" }, "{name, type} expected, at 1")
    fields({ { "hp", "u16" }, { "hp", "u8" } }, "two fields have the same name, at 2")
    fields({ { "hp", "u16", owned = true } }, "{name, type, to = 'own' or 'team'} expected, at 1")
    fields({ { "hp", "u16", to = "all" } }, "to must be 'own' or 'team', at 1")
    fields({ { "hp", "u16", to = "team", own = true } }, "own = true is to = 'own', at 1")
    fields({ { "hp", "u16", own = 1 } }, "own must be a boolean, at 1")
    fields({ { "", "u16" } }, "a name of 1 to 64 bytes expected, at 1")
    local many = {}
    for k = 1, 65 do many[k] = { "f" .. k, "u8" } end
    fields(many, "at most 64 fields")
    many[65] = nil
    assert.truthy(Sync.new(space, { fields = many }))
  end)

  it("may be for a team: nobody else is sent a byte of it, and whoever changes sides gets it, or loses it", function()
    local world = aoi.new()
    for id = 1, 4 do world:enter(id, id, 0) end
    local clients = Sync.new(world, { fields = { { "plan", "string", to = "team" }, { "secret", "u8", to = "own" } } })
    clients:put(4, "plan", "flank left")
    clients:put(4, "secret", 7)
    clients:set_team(4, 5)
    clients:add(1, 10, { team = 5 })
    clients:add(2, 10)
    clients:add(3, 10, { team = 6 })
    clients:add(4, 10, { self = true })
    local function said()
      local by = {}
      clients:tick(function(id, message)
        local news = Sync.read(message)
        assert.equal(news.fields.n > 0, message:find("plan", 1, true) ~= nil)
        for i = 1, 2 * news.fields.n, 2 do by[id] = news.fields[i] .. ":" .. news.fields[i + 1].plan end
      end)
      return by
    end
    assert.same({ "4:flank left", [4] = "4:flank left" }, said())
    clients:set(3, { team = 5 })
    assert.same({ [3] = "4:flank left" }, said())
    clients:put(4, "plan", "retreat")
    assert.same({ "4:retreat", [3] = "4:retreat", [4] = "4:retreat" }, said())
    clients:set_team(4, 6)
    assert.same({ "4:", [3] = "4:" }, said())
    clients:put(4, "plan", "hold")
    clients:set(1, { team = 6 })
    clients:set(3, { team = false })
    assert.same({ "4:hold", [4] = "4:hold" }, said())
    clients:set_team(4, nil)
    clients:set_team(4, 6) -- nothing has changed between the ticks
    assert.same({}, said())
    world:leave(4)
    world:enter(4, 4, 0) -- another one, without a team
    clients:put(4, "plan", "wait")
    assert.same({}, said())
  end)

  it("takes at most 2 bytes more a pair that is known", function()
    local function town(fields)
      local world, n = aoi.new { engine = "grid" }, 1000
      for id = 1, n do world:enter(id, id % 32 * 10, math.floor(id / 32) * 10) end
      local clients = Sync.new(world, { fields = fields })
      for id = 1, n do
        for k, field in ipairs(fields or {}) do clients:put(id, field[1], k) end
        clients:add(id, 35)
      end
      clients:tick(function() end)
      local known = 0
      for id = 1, n do known = known + select(2, clients:known(id)) end
      return world:stats().memory / known
    end
    local list = {}
    for k, type in ipairs { "u16", "u16", "angle8", "u8", "u32", "u8" } do list[k] = { "f" .. k, type } end
    local without, with = town(), town(list)
    assert.is_true(with - without <= 2, ("%.2f bytes"):format(with - without))
  end)
end)

describe("several views of a client", function()
  local function new(sight)
    local space = aoi.new()
    for id = 1, 5 do space:enter(id, 3 * id, 0) end
    local s = Sync.new(space, { sight = sight and require("aoi.sight").new(space) or nil })
    s:add(1, { 4, 7, { shape = "circle", radius = 10 } })
    return space, s
  end

  for _, sight in ipairs { false, true } do
    it("end with its first node, whoever removes it" .. (sight and ", past walls" or ""), function()
      local space, s = new(sight)
      s:tick(function() end)
      assert.equal(3, #space:nodes(1))
      space:remove_node(1, s:node(1))
      assert.equal("no client", s:explain(1, 2).why)
      s:tick(function() end)
      assert.same({}, (space:nodes(1)))
      s:add(1, { 4, 7 })
      space:remove_node(1, s:node(1))
      s:add(1, { 4, 7, 9 }) -- before a tick
      assert.equal(3, #space:nodes(1))
      local known
      s:tick(function(_, message) known = Sync.read(message).appeared.n end)
      assert.equal(3, known)
      s:remove(1)
      assert.same({}, (space:nodes(1)))
      space:check()
    end)
  end
end)

describe("entering with fields", function()
  it("puts them in every synchroniser that has them, before anybody is told; what fits none is refused", function()
    local space = aoi.new()
    local one = Sync.new(space, { fields = { { "hp", "u8" }, { "name", "string" } } })
    local other = Sync.new(space, { fields = { { "hp", "u16" } } })
    local hp = {}
    space:enter(1, 0, 0)
    space:add_node(1, 1, 5, function(_, id) hp[#hp + 1] = one:get(id, "hp") end)
    space:enter(2, 1, 1, { fields = { hp = 7, name = "bob" } })
    space:enter_many({ 3, 1, 1, 4, 2, 2 }, nil, { fields = { hp = 9 } })
    assert.same({ 7, 9, 9 }, hp)
    assert.same({ 7, "bob", 7, 9 }, { one:get(2, "hp"), one:get(2, "name"), other:get(2, "hp"), other:get(4, "hp") })
    for words, fields in pairs {
      ["field 'hp' (u8) holds whole numbers from 0 to 255, got 300"] = { hp = 300 },
      ["holds up to 65535 bytes, got 1"] = { name = 1 },
      ["no synchroniser of the space has a field 'foo'"] = { foo = 1 },
      ["bad value for option 'fields' (a table { name = value } expected, got 1)"] = 1,
    } do
      assert.error_matches(function() space:enter(9, 0, 0, { fields = fields }) end, words, 1, true)
      assert.error_matches(function() space:enter_many({ 9, 0, 0 }, nil, { fields = fields }) end, words, 1, true)
    end
    assert.is_false(space:has(9))
    assert.is_true(space:check())
  end)
end)
