-- Random histories: every engine against the model, call by call.
-- AOI_SEED replays, AOI_LENGTH makes them longer; AOI_STEPS is the number of operations per engine and dimension.
local aoi = require "aoi"
local history = require "spec.support.history"
local bits = require "spec.support.bits"
local random_run = require "spec.support.random_run"

local seed, steps = random_run.seed("random histories"), random_run.steps(3000)

-- { scenario, mode, unruly, raises, yields }
local plays = {}
for _, scenario in ipairs(history.scenarios) do
  for _, mode in ipairs { "immediate", "flush", "drain" } do
    plays[#plays + 1] = { scenario = scenario, mode = mode, name = scenario.name }
  end
end
for _, i in ipairs { 1, 2, 3, 6 } do
  for _, mode in ipairs { "immediate", "flush" } do
    local scenario = history.scenarios[i]
    plays[#plays + 1] = { scenario = scenario, mode = mode, unruly = true, name = scenario.name .. ", nested calls" }
    plays[#plays + 1] = {
      scenario = scenario, mode = mode, unruly = true, raises = true, name = scenario.name .. ", nested calls, errors",
    }
    if bits.integers then      -- where handlers may yield
      plays[#plays + 1] = {
        scenario = scenario, mode = mode, unruly = true, raises = true, yields = true,
        name = scenario.name .. ", nested calls, errors, yields",
      }
    end
  end
end

local share = math.max(10, math.ceil(steps / #plays))

for _, engine in ipairs(aoi.engines()) do
  for _, dimensions in ipairs { 2, 3 } do
    describe(("random history on %s %dD:"):format(engine, dimensions), function()
      for _, play in ipairs(plays) do
        it(("%s (%s)"):format(play.name, play.mode), function()
          local o = { engine = engine, dimensions = dimensions, seed = seed }
          for key, value in pairs(play) do o[key] = value end
          o.steps = math.ceil(share / (play.scenario.slow or 1))
          o.name = ("%s %dD: %s (%s)"):format(engine, dimensions, play.name, play.mode)
          history.run(o)
        end)
      end
    end)
  end
end
