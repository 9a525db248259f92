-- What is peculiar to the arguments of a world: they are used in an epoch that others share, behind the call that has
-- brought them. What is said of mistakes: spec/skynet/arguments_spec.lua.
if not string.pack then return pending "arguments of a world: needs string.pack of Lua 5.3" end

local network = require "spec.world.network"
local recovery = require "aoi.skynet.world.recovery"
local Shard = require "aoi.skynet.world.shard"
local tiles = require "aoi.skynet.world.tiles"

local PLAN = { size = 64, reach = 10, extent = 8, tile = 8, shards = { 2, 2 } }

local function new_world()
  local net = network.new { seed = 1, plan = PLAN, processes = { 2, 2 } }
  return net, net:member(1)
end

describe("arguments of a world", function()
  it("one view that cannot begin ends alone, and who has asked for it is told", function()
    local net, world = new_world()
    local lost = {}
    world:on_view_lost(function(...) lost[#lost + 1] = { ... } end)
    net:finish(function()
      world:enter(1, 10, 10)
      world:add_client(1, 8)
      for _, shard in ipairs(net.shards) do
        if shard.views[1] then shard.views[1].area = { 3, "x" } end
      end
      world:tick()
      world:tick()
      world:add_client(1, 8)
      world:tick()
    end)
    assert.same({ { 1 } }, lost)
    assert.is_truthy(world.views[1])
  end)

  it("areas and options of client views are the caller's to change when they have been given", function()
    local net, world = new_world()
    local other = net:member(2)
    net:finish(function()
      world:enter_many { 1, 10, 10, 2, 11, 10, 3, 12, 10 }
      local area, areas, options = { radius = 4 }, { 4, { radius = 8 } }, { limit = 2, tiers = { { 3, 1 } } }
      world:add_client(1, area, options)
      other:add_client(2, areas)
      world:join { id = 4, x = 10, y = 10, view = { area } }
      other:set_view(2, 2, area)
      other:set_view(2, 1, 5)
      assert.same({ 4, { radius = 8 } }, areas)
      area.radius, areas[1], options.tiers[1][1] = "x", "y", "z"
      net:kill_shard((world:where(1)))
      net:sleep(20)
      world:tick()
      local found = {}
      for _, shard in ipairs(net.shards) do
        for id, view in pairs(shard.views) do found[id] = view.made and { view.area, view.options } end
      end
      assert.same({ [1] = { { radius = 4 }, { limit = 2, tiers = { { 3, 1 } } } }, [2] = { { 5, { radius = 4 } }, {} },
                    [4] = { { radius = 4 }, {} } }, found)
    end)
  end)

  it("a client view that comes back while its entity waits is checked as one that begins", function()
    local shard = Shard.new { number = 1, plan = tiles.plan { size = 64, reach = 10, shards = 1 } }
    local ent = { life = 3, client = 1, kind = 1, restored = true }
    shard.ents[1] = ent
    local function put(area)
      recovery.commands.restore_view(shard, 2, 1, { area = area, options = {}, client = 2, life = 3 })
    end
    assert.error_matches(function() put { 3, "x" } end, "bad argument #2 to 'add_client'")
    assert.error_matches(function() put(11) end, "it reaches 11")
    put(10)
    assert.same({}, shard.viewing)
  end)

  it("a closed world says so where it is asked for its figures", function()
    local _, world = new_world()
    world:close()
    local _, err = pcall(function() world:info() end)
    assert.matches("arguments_spec.lua:%d+: attempt to use a closed world", err)
  end)

  it("a request is one of those that are listed, and no helper of theirs", function()
    local shard, got = Shard.new { number = 1, plan = tiles.plan(PLAN) }, nil
    for _, name in ipairs { "steal", "end_client", "drop_node", "find", "node", "pack", "helpers" } do
      shard:request(1, 0, function(...) got = { ... } end, name, 1, 2, 3)
      assert.same({ false, 0, ("unknown request '%s'"):format(name) }, got)
    end
  end)

  it("what hears of a late epoch is a function, what is asked for is an entity", function()
    local _, world = new_world()
    assert.error_matches(function() world:on_late(5) end, "#1 to 'on_late' %(function expected, got number%)")
    assert.error_matches(function() world:where "x" end, "#1 to 'where' %(integer expected, got string%)")
    world:on_late(print)
    assert.equal(print, world.late_handler)
    world:on_late(nil)
    assert.is_nil(world.late_handler)
  end)
end)
