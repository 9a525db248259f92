-- cost.lua [EPOCHS | scale | border | alone WALKERS]: what it costs a shard to be one of many, without skynet:
-- thread time of an epoch of the middle shard of nine, each with n walkers of its own, all of which move, beside that
-- of a shard that is the whole world with as many.
--
--   read     rows of moves from clients          close   routing, packing, hand-overs
--   apply    own moves, ghosts, hand-overs       drain   judging, events, messages
--
-- border: 5,000 walkers crowd in 100 x 100 around the place where two and four shards meet, beside one shard.
-- alone: a shard that is the whole world, for some seconds. Two of them at once, each on its core, tell what the
-- machine gives to two that have nothing to do with each other.
package.path = "./?.lua;" .. package.path
local Shard = require "aoi.skynet.world.shard"
local tiles = require "aoi.skynet.world.tiles"
local world = require "aoi.skynet.native" "world"

local EPOCHS = tonumber(arg[1]) or 20
local REACH, HYSTERESIS = 50, 4
local STEP = arg[1] == "border" and 6 or 1.4 -- at most, on each axis

local state = 1
local function random()
  state = state * 16807 % 2147483647
  return state / 2147483647
end

-- A world of columns * rows shards, each with n walkers; watched: one node in so many walkers, of the reach; crowd: all
-- in a square of that side in the middle, else all over it.
local function new_world(columns, rows, n, neighbours, watched, crowd)
  local region = math.floor(2 * REACH * math.sqrt(n / neighbours) / 32 + 0.5) * 32
  local plan = tiles.plan {
    size = { 0, 0, columns * region, rows * region }, reach = REACH, tile = 32, hysteresis = HYSTERESIS,
    shards = { columns, rows },
  }
  local w = { plan = plan, map = tiles.map(plan), shards = {}, x = {}, y = {},
              outbox = world.outbox(2, 1, false, plan.shards),
              n = columns * rows * n, region = region, epoch = 0, handle = 0 }
  local half_x, half_y = columns * region / 2, rows * region / 2
  local x, y = crowd and crowd / 2 or half_x, crowd and crowd / 2 or half_y
  w.box = { half_x - x, half_y - y, half_x + x, half_y + y }
  for number = 1, plan.shards do
    w.shards[number] = Shard.new { number = number, plan = plan, engine = "grid", clock = os.clock }
  end
  local lives = 0
  for id = 1, w.n do
    w.x[id], w.y[id] = w.box[1] + random() * 2 * x, w.box[2] + random() * 2 * y
    local owner = w.map:owner(w.x[id], w.y[id])
    local shard = w.shards[owner]
    local function done(status, _, reason) assert(status == true, reason) end
    lives = lives + 1
    shard:request(1, 0, done, "enter", { lives }, 1, 0, { 0 }, { id, w.x[id], w.y[id] })
    if id % watched == 0 then
      w.handle = w.handle + 1
      shard:request(1, 0, done, "add_node", id, 1, REACH, w.handle)
    end
    w.outbox:keep(id, owner, lives, 1, w.x[id], w.y[id]) -- as a client has what it has entered
  end
  return w
end

local function routes(w, list)
  for i = 1, #list, 3 do w.outbox:set(list[i], list[i + 1]) end
end

local function step(w)
  w.epoch = w.epoch + 1
  if w.epoch > 1 then
    local box = w.box
    for id = 1, w.n do
      w.x[id] = math.min(box[3], math.max(box[1], w.x[id] + (2 * random() - 1) * STEP))
      w.y[id] = math.min(box[4], math.max(box[2], w.y[id] + (2 * random() - 1) * STEP))
      w.outbox:move(id, w.x[id], w.y[id])
    end
    local shards, n = w.outbox:pending()
    for i = 1, n do assert(w.shards[shards[i]]:moves(w.outbox:take(false, shards[i]))) end
  end
  local inbox = {}
  for number in ipairs(w.shards) do inbox[number] = {} end
  collectgarbage()
  for number, shard in ipairs(w.shards) do
    for to, part in pairs(shard:close(w.epoch)) do
      table.insert(inbox[to], part)
      if to ~= number then w.bytes = (w.bytes or 0) + #part end
    end
  end
  for number, shard in ipairs(w.shards) do
    for _, mail in pairs((shard:apply(w.epoch, inbox[number]))) do
      if mail.routes then routes(w, mail.routes) end
    end
  end
end

local NAMES = { "read_seconds", "close_seconds", "apply_seconds", "drain_seconds", "hand_seconds" }

local function times(shard)
  local c = shard.counters
  return { c.read_seconds, c.close_seconds, c.apply_seconds, c.drain_seconds }
end

-- The least time of each part over the epochs, in ms, and their sum, for one shard of each world. The worlds
-- step in turns, so that the data of each have left the caches when it comes to them again: what differs is what a
-- shard does, not how many others the same core has run in between.
local function measure(worlds, numbers)
  local least = {}
  for _ = 1, EPOCHS do
    for i, w in ipairs(worlds) do
      local counters, before = w.shards[numbers[i]].counters, {}
      least[i] = least[i] or {}
      for _, name in ipairs(NAMES) do before[name] = counters[name] end
      step(w)
      for _, name in ipairs(NAMES) do
        local ms = 1000 * (counters[name] - before[name])
        least[i][name] = math.min(least[i][name] or ms, ms)
      end
    end
  end
  for _, l in ipairs(least) do l.sum = l.read_seconds + l.close_seconds + l.apply_seconds + l.drain_seconds end
  return least
end

local function row(name, least)
  print(("%-26s read %5.2f  close %5.2f  apply %5.2f  drain %5.2f  sum %6.2f ms"):format(name, least.read_seconds,
    least.close_seconds, least.apply_seconds, least.drain_seconds, least.sum))
end

local function total(w, name)
  local sum = 0
  for _, shard in ipairs(w.shards) do sum = sum + shard.counters[name] end
  return sum
end

-- Least thread time of an epoch of each shard; hand-overs an epoch of all, and microseconds of each.
local function least_times(w)
  local least = {}
  for _ = 1, 2 do step(w) end
  local handed, seconds = total(w, "handed"), total(w, "hand_seconds")
  for _ = 1, EPOCHS do
    local before = {}
    for i, shard in ipairs(w.shards) do before[i] = times(shard) end
    step(w)
    for i, shard in ipairs(w.shards) do
      local ms = 0
      for k, v in ipairs(times(shard)) do ms = ms + 1000 * (v - before[i][k]) end
      least[i] = math.min(least[i] or ms, ms)
    end
  end
  handed, seconds = total(w, "handed") - handed, total(w, "hand_seconds") - seconds
  return least, handed / EPOCHS, 1e6 * seconds / math.max(1, handed)
end

local function shut(w)
  for _, shard in ipairs(w.shards) do shard:shutdown() end
end

-- The same walkers in one, two and four shards: the thread time of the busier of two cores.
local function scale(walkers)
  local one
  for _, grid in ipairs { { 1, 1 }, { 2, 1 }, { 2, 2 } } do
    local n = grid[1] * grid[2]
    local w, cores = new_world(grid[1], grid[2], walkers // n, 20, 10), { 0, 0 }
    for i, ms in ipairs((least_times(w))) do cores[i % 2 + 1] = cores[i % 2 + 1] + ms end
    local busier = math.max(cores[1], cores[2])
    one = one or busier
    print(("%d walkers in %d shards: %.1f ms an epoch on the busier of two cores, %.2f times as fast as in one")
      :format(walkers, n, busier, one / busier))
    shut(w)
  end
end

-- A crowd where shards meet: what all of them take together, and the busiest one.
local function border(walkers, watched)
  local one
  for _, grid in ipairs { { 1, 1 }, { 2, 1 }, { 2, 2 } } do
    local n = grid[1] * grid[2]
    local w, all, busiest = new_world(grid[1], grid[2], walkers // n, 20, watched, 100), 0, 0
    local least, handed, us = least_times(w)
    for _, ms in ipairs(least) do all, busiest = all + ms, math.max(busiest, ms) end
    one = one or all
    local words = "%d walkers, one in %d watches, in %d shards: %.1f ms an epoch, %.2f of one; the busiest %.1f, %.2f;"
      .. " %.0f handed over, %.1f us each"
    print(words:format(walkers, watched, n, all, all / one, busiest, busiest / one, handed,
      us))
    shut(w)
  end
end

local function time_one(walkers)
  local w, all = new_world(1, 1, walkers, 20, 10), {}
  for _ = 1, 3 do step(w) end
  local ends = os.time() + 6
  repeat
    local before, ms = times(w.shards[1]), 0
    step(w)
    for k, v in ipairs(times(w.shards[1])) do ms = ms + 1000 * (v - before[k]) end
    all[#all + 1] = ms
  until os.time() > ends
  table.sort(all)
  print(("%d walkers alone: %.1f ms an epoch, at least %.1f (%d epochs)"):format(walkers, all[#all // 2 + 1], all[1],
    #all))
end

if arg[1] == "alone" then
  time_one(assert(tonumber(arg[2]), "how many walkers?"))
  os.exit(true)
end

if arg[1] == "border" then
  EPOCHS = 10
  border(5000, 10)
  border(5000, 1)
  os.exit(true)
end

if arg[1] == "scale" then
  scale(125000)
  os.exit(true)
end

for _, case in ipairs { { 20, 1 }, { 20, 10 }, { 100, 1 } } do
  local n, neighbours, watched = tonumber(arg[2]) or 15625, case[1], case[2]
  local alone = new_world(1, 1, n, neighbours, watched)
  local many = new_world(3, 3, n, neighbours, watched)
  for _ = 1, 3 do
    step(alone)
    step(many)
  end
  local middle = many.shards[5]
  local handed, bytes, epochs, rows = middle.counters.handed, middle.counters.bytes, many.epoch, middle:info().rows
  local seconds = middle.counters.hand_seconds
  local events = { alone.shards[1].counters.events, middle.counters.events }
  local one, mid = table.unpack(measure({ alone, many }, { 1, 5 }))
  local info, epochs_run = middle:info(), many.epoch - epochs
  local halo = many.plan.halo * many.plan.tile
  local formula = ((1 + 2 * halo / many.region) ^ 2 - 1) * n
  local told = info.rows - rows
  print(("n = %d, %d in view, one in %d watches; region %d, halo %d"):format(n, neighbours, watched, many.region, halo))
  row("  alone", one)
  row("  one of nine, the middle", mid)
  print(("  for being one of many: %+.1f %%; ghosts %d (formula %.0f, %+.1f %%)"):format(100 * (mid.sum / one.sum - 1),
    info.ghosts, formula, 100 * (info.ghosts / formula - 1)))
  print(("  events an epoch: alone %.0f, with nothing beyond its edges; the middle %.0f"):format(
    (alone.shards[1].counters.events - events[1]) / EPOCHS, (middle.counters.events - events[2]) / EPOCHS))
  local words = "  out %.1f kB an epoch (formula: %.1f kB, %d rows of 20 bytes); %.1f handed over, %.1f us each"
  print(words:format((info.bytes - bytes) / epochs_run / 1000, told / epochs_run * 20 / 1000, told // epochs_run,
    (info.handed - handed) / epochs_run, 1e6 * (info.hand_seconds - seconds) / math.max(1, info.handed - handed)))
  shut(alone)
  shut(many)
end
