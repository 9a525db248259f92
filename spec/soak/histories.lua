-- histories.lua SEED STEPS [ENGINE]: one long random history per scenario, without busted: for spec/soak/hunt.sh.
-- Says nothing but its last line; a difference is an error that names how to see it again.
local aoi = require "aoi"
local history = require "spec.support.history"

local seed, steps, engine = tonumber(arg[1]) or 1, tonumber(arg[2]) or 20000, arg[3]
local modes, events = { "immediate", "flush", "drain" }, 0
local engines = engine and { engine } or aoi.engines()

for i, scenario in ipairs(history.scenarios) do
  events = events + history.run {
    engine = engines[(seed + i) % #engines + 1], dimensions = 2 + (seed + i) % 2, mode = modes[(seed + i) % 3 + 1],
    scenario = scenario, seed = seed, steps = math.ceil(steps / (scenario.slow or 1)), name = scenario.name,
    unruly = i % 2 == 0 and modes[(seed + i) % 3 + 1] ~= "drain",
  }
end
print(("%d histories, %d events"):format(#history.scenarios, events))
