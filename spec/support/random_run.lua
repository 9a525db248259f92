-- random_run.lua: seed and length of random histories, in one place for all specs.
--
--   AOI_SEED=n      replays: every random choice follows from the seed. Without it each run has a new one.
--   AOI_LENGTH=f    every history is f times as long as usual, 0.2 or 7: a step of one spec costs fifty times that of
--                   another, and so only the factor is the same for all. `make test-long` sets it.
--   AOI_STEPS=n     steps of each history, whatever is usual: for one spec.
local random_run = {}

-- The seed; printed, so that a run that fails can be replayed.
function random_run.seed(topic)
  local seed = tonumber(os.getenv("AOI_SEED")) or os.time() % 1000000
  print(("%s: AOI_SEED=%d"):format(topic, seed))
  return seed
end

function random_run.steps(default)
  return tonumber(os.getenv("AOI_STEPS")) or math.max(1, math.ceil(default * (tonumber(os.getenv("AOI_LENGTH")) or 1)))
end

-- How many histories, of each another seed: where they are shorter there are fewer, too.
function random_run.runs(usual)
  return math.max(1, math.ceil(usual * math.min(1, tonumber(os.getenv("AOI_LENGTH")) or 1)))
end

-- What to set to see the same once more.
function random_run.again(seed)
  local text = ("AOI_SEED=%d"):format(seed)
  for _, name in ipairs { "AOI_STEPS", "AOI_LENGTH" } do
    if os.getenv(name) then text = text .. " " .. name .. "=" .. os.getenv(name) end
  end
  return text
end

return random_run
