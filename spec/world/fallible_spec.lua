-- Handlers of a world that fail, are found by a metatable, or are none.
if not string.pack then
  describe("handlers of a world", function() pending("needs Lua 5.3 or later: string.pack") end)
  return
end

local Shard = require "aoi.skynet.world.shard"
local tiles = require "aoi.skynet.world.tiles"
local world_client = require "spec.support.world_client"

local PLAN = tiles.plan { size = { 0, 0, 16, 16 }, reach = 8, tile = 4, shards = 1 }

-- One shard and one client: a request is served at once, what is told arrives with `tick`.
local function new_world()
  local shard, epoch, mail, logged = Shard.new { number = 1, plan = PLAN }, 0, {}, {}
  local function run()
    epoch = epoch + 1
    local parts = {}
    for _, part in pairs(shard:close(epoch)) do parts[#parts + 1] = part end
    for _, one in pairs((shard:apply(epoch, parts))) do mail[#mail + 1] = one end
  end
  local member = world_client {
    number = 1, shards = PLAN.shards, logged = logged, dimensions = 2, around = function() return { 1 } end,
    ask = function(_, after, ...)
      local got
      shard:request(1, after, function(...) got = table.pack(...) end, ...)
      if not got then run() end
      return table.unpack(got, 1, got.n)
    end,
    send = function(_, message) return assert(shard:moves(message)) end,
  }
  return member, logged, function()
    run()
    local list = mail
    mail = {}
    for _, one in ipairs(list) do member:take_mail(one) end
  end
end

describe("handlers of a world", function()
  it("may raise anything, where they are looked up, too; the other events go on", function()
    local world, logged, tick = new_world()
    local odd = setmetatable({}, { __tostring = function() error "odder" end })
    local heard = {}
    world:enter(1, 8, 8)
    world:add_node(1, 1, 2, function(_, target)
      if target == 2 then error(odd) elseif target == 3 then error() end
      heard[#heard + 1] = target
    end)
    local failing = true
    world:add_node(1, 2, 2, setmetatable({}, { __index = function()
      if failing then error "not loaded" end
      return function(_, target) heard[#heard + 1] = -target end
    end }))
    for id = 2, 4 do world:enter(id, 8, 9) end
    tick()
    assert.same({ 4 }, heard)
    assert.equal(5, #logged)
    local text = table.concat(logged, "\n")
    assert.matches("error object is a table value", text)
    assert.equal(3, select(2, text:gsub("not loaded", "")))

    local caught = {}
    world:on_error(function(...) table.insert(caught, table.pack(...)) end)
    failing = false
    for id = 2, 4 do world:move(id, 1, 1) end
    world:flush()
    tick()
    for id = 2, 4 do world:move(id, 8, 8) end
    world:flush()
    tick()
    assert.equal(5, #logged)
    assert.equal(2, #caught)
    table.sort(caught, function(a, b) return a[3] < b[3] end)
    assert.is_true(rawequal(odd, caught[1][1]))
    assert.same({ 1, 2, 1 }, { caught[1][2], caught[1][3], caught[1][4] })
    assert.is_nil(caught[2][1])
    assert.same({ 1, 3, 1 }, { caught[2][2], caught[2][3], caught[2][4] })
    table.sort(heard)
    assert.same({ -4, -4, -3, -3, -2, -2, 4, 4 }, heard)
  end)

  it("are functions: anything else is an error where it is given", function()
    local world = new_world()
    for _, name in ipairs { "on_error", "on_refused", "on_resync", "on_close" } do
      local words = "bad argument #1 to '" .. name .. "' %(function expected, got number"
      assert.error_matches(function() world[name](world, 5) end, words)
      world[name](world, function() end)
      world[name](world, nil)
    end
  end)
end)

describe("a request of a client", function()
  it("is one of those that are listed, and no helper of theirs", function()
    local shard, got = Shard.new { number = 1, plan = PLAN }, nil
    for _, name in ipairs { "steal", "bury", "drop_node", "find", "node", "pack", "helpers" } do
      shard:request(1, 0, function(...) got = { ... } end, name, 1, 2, 3)
      assert.same({ false, 0, ("unknown request '%s'"):format(name) }, got)
    end
  end)
end)
