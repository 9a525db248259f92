-- random_run.lua: seed and length of random histories, in one place for all specs.
--
--   AOI_SEED=n     replays: every random choice follows from the seed. Without it each run has a new one.
--   AOI_STEPS=n    steps of each history, in place of the default of its spec; `make test-long` sets it.
local random_run = {}

-- The seed; printed, so that a run that fails can be replayed.
function random_run.seed(topic)
  local seed = tonumber(os.getenv("AOI_SEED")) or os.time() % 1000000
  print(("%s: AOI_SEED=%d"):format(topic, seed))
  return seed
end

function random_run.steps(default) return tonumber(os.getenv("AOI_STEPS")) or default end

return random_run
