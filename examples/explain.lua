-- Why is a map slow? Plays a scene of the benchmark on every engine and shows the work that space:stats() counts:
-- a map is expensive because much happens on it (events), or because the engine looks at much in vain (candidates:
-- pairs examined; steps: entries of lists and cells walked past).
--
--   lua5.4 examples/explain.lua [SCENE] [ENTITIES]         crowd and 1000, if not given

-- The checkout comes last on the path, so that whatever the environment names wins.
local root = arg[0]:match("^(.*)examples[/\\]") or "../"
package.path = package.path .. ";" .. root .. "?.lua;" .. root .. "lua/?.lua;" .. root .. "lua/?/init.lua"
package.cpath = package.cpath .. ";" .. root .. "?.so"

local aoi = require "aoi"
local scenes = require "bench.scenes"

local TICKS = 5
local scene = scenes.named[arg[1] or "crowd"]
local entities = tonumber(arg[2] or 1000)
if not scene or scene.only or not entities or entities < 1 then
  local names = {}
  for _, known in ipairs(scenes.list) do names[#names + 1] = not known.only and known.name or nil end
  io.stderr:write("use: explain.lua [", table.concat(names, "|"), "] [ENTITIES]\n")
  os.exit(2)
end

local function play(engine)
  local world = scenes.world(scene, { n = entities, neighbours = scene.points[1].neighbours })
  local space = aoi.new { engine = engine }
  local handlers = { enter = function() end, leave = function() end }
  for id = 1, world.n do
    space:enter(id, world.x[id], world.y[id])
    for node, area in ipairs(scene.nodes) do
      if id % (area.every or 1) == 0 then space:add_node(id, node, area.radius, handlers) end
    end
  end
  local before = space:stats()
  for _ = 1, TICKS do
    world:step()
    for id = 1, world.m do space:move(id, world.x[id], world.y[id]) end
  end
  local after, moves = space:stats(), TICKS * world.m
  print(("%-10s %10.2f %12.1f %10.1f %14.0f"):format(engine, (after.events - before.events) / moves,
    (after.candidates - before.candidates) / moves, (after.steps - before.steps) / moves, after.memory / world.n))
  space:close()
end

print(("%s: %s; %d entities"):format(scene.name, scene.title, entities))
print("for a move     events   candidates      steps   bytes/entity")
for _, engine in ipairs(aoi.engines()) do play(engine) end
