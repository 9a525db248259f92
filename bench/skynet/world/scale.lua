-- What an epoch costs in which all walkers move once: thread time of the shards, and the clock from the beginning of
-- the epoch to its end. The interval is so long that whoever moves them has done so when an epoch begins.
local PARTS = { "read", "close", "apply", "drain" }
local WARM_UP = 20 -- epochs; the first ones hold the events of everybody's entering

local function counters(world, shards)
  local info, list = world:info(), {}
  for shard = 1, shards do list[shard] = info["shard " .. shard] end
  return list
end

local function median(list)
  table.sort(list)
  return list[#list // 2 + 1]
end

local function wait_until(world, epoch)
  while world:epoch() < epoch do world:tick() end
end

-- Milliseconds an epoch of each part, in all shards, and of the busiest shard and of all; moves an epoch.
local function thread_times(before, after)
  local of, busiest, all, moves = {}, 0, 0, 0
  for shard, now in ipairs(after) do
    local was, busy = before[shard], 0
    local epochs = now.epoch - was.epoch
    for _, part in ipairs(PARTS) do
      local ms = 1000 * (now[part .. "_seconds"] - was[part .. "_seconds"]) / epochs
      of[part] = (of[part] or 0) + ms
      busy = busy + ms
    end
    busiest, all, moves = math.max(busiest, busy), all + busy, moves + (now.moves - was.moves) / epochs
  end
  return of, busiest, all, moves
end

--- Runs the world up to that epoch, and writes to `file` what it took.
return function(world, shards, epochs, file)
  wait_until(world, world:epoch() + WARM_UP)
  world.measured()
  local before = counters(world, shards)
  wait_until(world, math.max(epochs, world:epoch() + 1))
  local of, busiest, all, moves = thread_times(before, counters(world, shards))
  local lengths, closing = {}, {}
  for i, epoch in ipairs(world.measured()) do lengths[i], closing[i] = 1000 * epoch[2], 1000 * epoch[4] end
  local words = "%d shards, %.0f moves an epoch: thread time of the busiest %.1f ms, of all %.1f ("
  file:write(words:format(shards, moves, busiest, all))
  for i, part in ipairs(PARTS) do file:write(("%s%s %.1f"):format(i > 1 and ", " or "", part, of[part])) end
  words = "); an epoch lasts %.1f ms, of which closing %.1f (median of %d)\n"
  file:write(words:format(median(lengths), median(closing), #lengths))
end
