-- The comparison has teeth: deliberate mistakes in the protocol, each of which must be found, by a difference of events
-- or by an assertion.
if not string.pack then return pending "mistakes in the protocol of a world: needs string.pack of Lua 5.3" end

local exact = require "spec.world.exact"
local instead = require "spec.support.instead"
local random_run = require "spec.support.random_run"
local scenes = require "spec.world.scenes"
local tree = require "spec.support.tree"
local tiles = require "aoi.skynet.world.tiles"
local world = require "aoi.skynet.native" "world"

local SEED = random_run.seed("world mutations")
local MOST_EPOCHS = 400

-- In each shard the router, core or post, has that method in place of its own: f(object, ...).
local function each(what, name, f)
  return function(run)
    for _, shard in ipairs(run.shards) do
      local object = shard[what]
      shard[what] = instead(object, { [name] = function(_, ...) return f(object, ...) end })
    end
  end
end

local function nothing() end

local MOVE, NEAR, FAR, GONE, KIND = 1, 2, 3, 4, 6

-- With another map than the plan has.
local function other_map(change)
  return function(run)
    for number, shard in ipairs(run.shards) do
      local plan = {}
      for name, value in pairs(run.plan) do plan[name] = value end
      change(plan)
      shard.map = tiles.map(plan)
      shard.router = world.router(shard.core, shard.map, number)
    end
  end
end

local function skip(tag)
  return each("router", "apply", function(router, t, ...) if t ~= tag then return router:apply(t, ...) end end)
end

local plain, keeping = scenes.named["two by two"], scenes.named["nodes that keep"]
local all_shapes = scenes.named["all shapes, ids that come again"]

-- Its halo has no room to spare.
local tight = {}
for name, value in pairs(plain) do tight[name] = value end
tight.plan = { size = 64, reach = 7.5, tile = 8, shards = { 2, 2 }, hysteresis = 0 }
tight.area = function(random) return random(7) + 0.5 end

local mistakes = {
  { "a halo one tile short", keeping, other_map(function(plan) plan.halo = plan.halo - 1 end) },
  { "a hand-over that comes late", tight, other_map(function(plan) plan.hysteresis = plan.tile / 2 end) },
  { "a hand-over that forgets what was seen", plain, each("router", "seen", function() return "", 4 end) },
  { "a hand-over with an old position", plain, each("core", "move", nothing) },
  { "nodes that are not silent when they are given away", plain, function(run)
    each("post", "drop", nothing)(run)
    each("router", "drop", function(router, id, number) router.space:remove_node(id, number) end)(run)
  end },
  { "a ghost that stays when it goes far", plain, skip(FAR) },
  { "an entity that is told as gone too late", all_shapes, skip(GONE) },
  { "a kind that is told to nobody else", all_shapes, skip(KIND) },
  { "a ghost that does not move", plain, skip(MOVE) },
  { "what comes near is not told", plain, skip(NEAR) },
  { "an area that is changed is lost", plain, each("router", "set", nothing) },
  { "a barrier that does not wait", plain, function(run)
    for _, shard in ipairs(run.shards) do
      local apply, late = shard.apply, {}
      function shard:apply(number, list)
        list, late = late, list
        return apply(self, number, list)
      end
    end
  end },
}

describe("mistakes in the protocol of a world are found", function()
  if not tree.usual then return end
  for i, mistake in ipairs(mistakes) do
    it(mistake[1], function()
      local right = exact.new(mistake[2], "list", SEED + i)
      for _ = 1, 20 do assert.equal(0, (select(2, right:step()))) end
      local run = exact.new(mistake[2], "list", SEED + i)
      mistake[3](run)
      for _ = 1, MOST_EPOCHS do
        local ok, _, bad = pcall(run.step, run)
        if not ok or bad > 0 then return end
      end
      error("not found in " .. MOST_EPOCHS .. " epochs")
    end)
  end
end)
