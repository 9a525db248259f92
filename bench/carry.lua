-- carry.lua [N]: what games carry beside the same world without it: 1 % large things, two layers, one in five attached;
-- then what a past of 12 ticks costs, a mover and a question, and a sweep.
--
--   eval "$(make -s env)"; lua5.4 bench/carry.lua 10000
--
-- N entities walk, each with a view of 50, and sees about 20 others; ns of a move, minima of rounds that take turns.
local aoi = require "aoi"

local N, ROUNDS, VIEW = tonumber(arg and arg[1]) or 10000, 10, 50
local side = 2 * VIEW * math.sqrt(N / 20)

local function noop() end

local PREPARE = {
  { "base", noop },
  { "two layers", function(space) for id = 1, N do space:set_layers(id, 2 ^ (id % 2)) end end },
  { "1 % large", function(space) for id = 1, N, 100 do space:set_extent(id, VIEW / 5) end end },
  { "attached", function(space) for id = 5, N, 5 do space:attach(id, id - 1, 1, 0) end end, attached = true },
  { "without them", noop, attached = true }, -- those who are attached above stand still
}

local function new_world(engine, delivery, prepare, attached)
  math.randomseed(4)
  local w = { space = aoi.new { engine = engine, delivery = delivery }, x = {}, y = {}, best = math.huge, moves = 0 }
  for id = 1, N do
    w.x[id], w.y[id] = math.random() * side, math.random() * side
    w.space:enter(id, w.x[id], w.y[id])
    w.space:add_node(id, 1, VIEW, noop, noop)
  end
  prepare(w.space)
  w.space:flush()
  w.attached = attached
  return w
end

local function round(w, ticks)
  local rows, k = {}, 0
  for id = 1, N do
    if not w.attached or id % 5 ~= 0 then
      w.x[id], w.y[id] = w.x[id] + math.random() * 5 - 2.5, w.y[id] + math.random() * 5 - 2.5
      rows[k + 1], rows[k + 2], rows[k + 3], k = id, w.x[id], w.y[id], k + 3
    end
  end
  local space, start = w.space, os.clock()
  if ticks then
    space:move_many(rows)
    space:flush()
  else
    for i = 1, k, 3 do space:move(rows[i], rows[i + 1], rows[i + 2]) end
  end
  w.moves = k / 3
  w.best = math.min(w.best, (os.clock() - start) * 1e9)
end

for _, engine in ipairs { "list", "grid" } do
  for _, ticks in ipairs { false, true } do
    local worlds = {}
    for i, p in ipairs(PREPARE) do worlds[i] = new_world(engine, ticks and "deferred" or nil, p[2], p.attached) end
    for _ = 1, ROUNDS do
      for _, w in ipairs(worlds) do round(w, ticks) end
    end
    local base = worlds[1].best / worlds[1].moves
    local move, passenger = worlds[5].best / worlds[5].moves, (worlds[4].best - worlds[5].best) / (N / 5)
    print(("%-4s %-5s base %.0f ns a move, layers %.2f, 1 %% large %.2f, a passenger %.0f ns (%.2f of a move)"):format(
      engine, ticks and "ticks" or "moves", base, worlds[2].best / worlds[2].moves / base,
      worlds[3].best / worlds[3].moves / base, passenger, passenger / move))
  end
end

-- The same walkers, all of which move in each tick, and 200 questions of a radius of 20, as of now and of 7 ticks ago.
local QUESTIONS, REACH, AGO = 200, 20, 7

local function timed(best, f)
  local start = os.clock()
  f()
  return math.min(best, (os.clock() - start) * 1e9)
end

-- A ball of radius 1 that flies 80 units in any direction, and the box around its way.
local function sweeps_of(engine)
  local w = new_world(engine, "deferred", noop)
  local space, found, sweep, near = w.space, {}, math.huge, math.huge
  local ways = {}
  for i = 1, QUESTIONS do
    local angle, id = math.random() * 2 * math.pi, i * (N // QUESTIONS)
    local dx, dy = 80 * math.cos(angle), 80 * math.sin(angle)
    ways[i] = { w.x[id], w.y[id], w.x[id] + dx, w.y[id] + dy, w.x[id] + dx / 2, w.y[id] + dy / 2,
      { shape = "box", extents = { math.abs(dx) / 2 + 1, math.abs(dy) / 2 + 1 } } }
  end
  for _ = 1, 4 * ROUNDS do
    near = timed(near, function() for _, way in ipairs(ways) do space:near(way[5], way[6], way[7], nil, found) end end)
    sweep = timed(sweep, function()
      for _, way in ipairs(ways) do space:sweep(way[1], way[2], way[3], way[4], 1, nil, found) end
    end)
  end
  print(("%-4s sweep %.0f ns, %.2f of near of the same box"):format(engine, sweep / QUESTIONS, sweep / near))
end

local function past_of(engine)
  local w = new_world(engine, "deferred", noop)
  local past, found = aoi.history.new(w.space, 12), {}
  local function ask(f)
    for i = 1, QUESTIONS do f(w.x[i * (N // QUESTIONS)], w.y[i * (N // QUESTIONS)]) end
  end
  local note, near, was = math.huge, math.huge, math.huge
  for i = 1, 20 + 4 * ROUNDS do
    round(w, true)
    local noted = timed(math.huge, function() past:tick() end)
    local now = timed(math.huge, function() ask(function(x, y) w.space:near(x, y, REACH, nil, found) end) end)
    local ago = timed(math.huge, function() ask(function(x, y) past:near(AGO, x, y, REACH, nil, found) end) end)
    if i > 20 then note, near, was = math.min(note, noted), math.min(near, now), math.min(was, ago) end
  end
  print(("%-4s past  %.1f ns a mover noted, a question %.0f ns (%.2f of near, %.0f ns)"):format(engine, note / N,
    was / QUESTIONS, was / near, near / QUESTIONS))
end

for _, engine in ipairs { "list", "grid" } do
  past_of(engine)
  sweeps_of(engine)
end
