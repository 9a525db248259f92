-- measure.lua: lets all subjects of a point play the same steps in turn, and keeps the accounts.
--
--   for each step:  move the world -> subject 1 plays it -> subject 2 plays it -> ... -> next step
--
-- The machine's moods therefore meet everybody alike. A round is as many steps as make a few thousand operations;
-- minimum and median are those of rounds. Making the movement itself is not measured. A subject that has used up its
-- time leaves early, but never before min_rounds. Each round's events must be the same for all: a benchmark of engines
-- that disagree would mean nothing.
local scenes = require "bench.scenes"
local subjects = require "bench.subjects"

local measure = {}

local OPERATIONS_PER_ROUND = 5000
-- Nothing takes no time, though coarse clocks say so; ratios and logarithmic plots need more than 0.
local LEAST_TIME = 1e-12

measure.DEFAULTS = { seconds = 0.3, min_rounds = 5, max_rounds = 40, most = math.huge, seed = 1 }
measure.QUICK = { seconds = 0.02, min_rounds = 3, max_rounds = 10, most = 1000, seed = 1 }

--- The points of a scene with no more than `most` entities: larger ones shrink, and count once.
function measure.points(scene, most)
  local points, seen = {}, {}
  for _, point in ipairs(scene.points) do
    local n = math.min(point.n, most)
    local key = n .. " " .. point.neighbours
    if not seen[key] then points[#points + 1] = { n = n, neighbours = point.neighbours } end
    seen[key] = true
  end
  return points
end

local function lua_memory()
  collectgarbage()
  collectgarbage()
  return collectgarbage("count") * 1024
end

-- A subject that has entered everybody.
local function start(layer, name, variant, world)
  local before = lua_memory()
  local subject = subjects[layer](name, variant, world)
  local fill, entered = subject:fill()
  local _, candidates, steps = subject:stats()
  return {
    subject = subject, layer = layer, engine = name, variant = variant.name, verb = variant.verb,
    fill = fill, entered = entered, candidates = -candidates, steps = -steps,
    lua_memory = layer == "lua" and lua_memory() - before or 0,
    times = {}, events = {}, spent = 0, operations = 0,
  }
end

local function play_round(runs, world, steps, limits)
  local playing = {}
  for _, run in ipairs(runs) do
    if #run.times < limits.min_rounds or run.spent < limits.seconds then
      playing[#playing + 1] = run
      run.round_time, run.round_events = 0, 0
    end
  end
  if #playing == 0 then return false end
  for _ = 1, steps do
    world:step()
    for _, run in ipairs(playing) do
      run.subject:load()
      local time, events = run.subject:play(world.m)
      run.round_time = run.round_time + time
      run.round_events = run.round_events + events
    end
  end
  for _, run in ipairs(playing) do
    run.spent = run.spent + run.round_time
    run.operations = run.operations + steps * world.m
    run.times[#run.times + 1] = math.max(run.round_time / (steps * world.m), LEAST_TIME)
    run.events[#run.events + 1] = run.round_events
  end
  return true
end

-- The first run of each variant is the witness of the others; returns what is wrong.
local function disagreement(runs)
  local witness = {}
  for _, run in ipairs(runs) do
    local first = witness[run.variant]
    if not first then
      witness[run.variant] = run
    else
      local where = run.entered ~= first.entered and "while entering"
      for r = 1, math.min(#run.events, #first.events) do
        where = where or run.events[r] ~= first.events[r] and "in round " .. r
      end
      if where then
        return ("%s %s and %s %s have different events %s"):format(run.engine, run.layer, first.engine, first.layer,
          where)
      end
    end
  end
end

-- A run in figures: seconds become nanoseconds. Events per operation are those of the rounds that everybody played, so
-- that they are equal for all.
local function figures(run, scene, point, n, common)
  local memory, candidates, steps = run.subject:stats()
  local events, common_events = 0, 0
  for r, count in ipairs(run.events) do
    events = events + count
    if r == common then common_events = events end
  end
  table.sort(run.times)
  return {
    scene = scene.name, variant = run.variant, entities = n, neighbours = point.neighbours,
    layer = run.layer, engine = run.engine, verb = run.verb,
    ns_min = run.times[1] * 1e9,
    ns_median = run.times[math.floor(#run.times / 2) + 1] * 1e9,
    rounds = #run.times,
    operations = run.operations,
    events = events,
    events_per_op = common_events / (common * run.operations / #run.events),
    candidates_per_op = (run.candidates + candidates) / run.operations,
    steps_per_op = (run.steps + steps) / run.operations,
    bytes_per_entity = memory / n,
    lua_bytes_per_entity = run.lua_memory / n,
    fill_ns = run.fill / n * 1e9,
    fill_events = run.entered,
  }
end

--- Measures one point; returns a list of figures, one a subject, and what the engines disagree about, if they do.
-- limits: as measure.DEFAULTS; engines and layers: names.
function measure.point(scene, point, engines, layers, limits)
  local world = scenes.world(scene, point, limits.seed)
  local runs = {}
  for _, layer in ipairs(layers) do
    for _, variant in ipairs(scene.variants) do
      for _, name in ipairs(subjects.names(engines, scene, point, layer)) do
        runs[#runs + 1] = start(layer, name, variant, world)
      end
    end
  end
  local steps = math.ceil(math.min(OPERATIONS_PER_ROUND, limits.most) / world.m)
  for _ = 1, limits.max_rounds do
    if not play_round(runs, world, steps, limits) then break end
  end
  local rows, wrong = {}, disagreement(runs)
  local base, common = {}, math.huge
  for _, run in ipairs(runs) do common = math.min(common, #run.events) end
  for i, run in ipairs(runs) do
    rows[i] = figures(run, scene, point, world.n, common)
    base[run.layer] = base[run.layer] or rows[i].ns_min
    rows[i].ratio = rows[i].ns_min / base[run.layer]
    run.subject:close()
  end
  return rows, wrong
end

return measure
