-- scenes.lua: what happens in a benchmark, described once: for the engines in C, through Lua, and for examples.
--
--   local scenes = require "bench.scenes"
--   local world = scenes.world(scenes.named.crowd, { n = 10000, neighbours = 20 })
--   world.x[i], world.y[i]   where entity i (1 .. world.n) stands
--   world:step()             moves the first world.m entities: a short way or far, as the scene has it
--
-- The numbers come from a generator of our own: every run on every machine and every Lua sees the same movement.
-- A scene says how many neighbours an entity has in its view when all are spread evenly; the side of the map follows
-- from that. The middle of the map is at (0, 0).
--
-- Fields of a scene (a variant may replace any of them):
--   points      the measured points: n entities, this many neighbours
--   place       "even" or "crowd": four of five stand on a hundredth of the map
--   step        "walk": up to STRIDE on each axis; "jump": anywhere
--   movers      the share that moves, 1 if not given
--   nodes       what the entities carry: the area of node 1, 2, ...; with `every` only each so manieth entity has it,
--               with `from` and `to` (shares of the population) only those between
--   kinds       { to = share, kind = bits }, ...: up to which share of the population entities are of which kind
--   verb        what is one operation: move, batch (a row of move_many in a deferred space), tick (a move in a deferred
--               space that is drained once), churn (leave, enter and its nodes again), near, view, viewers (questions);
--               only through Lua: past (near, seven ticks ago), note (a mover that a history notes), sweep (a ball that
--               flies 80 units), box (near, of the box around its way)
--   brute_up_to, textbook_up_to    the largest population on which these two are still bearable
--   byhand_up_to    the same for the grid of Lua tables: one radius for all, no verb but `move`
--   journal     true: every call is recorded; the bytes go nowhere
--   with        what entities carry besides, or what else is there: PREPARE of subjects.lua; only through Lua
--   only        "lua": not played in C
--   variants    what is compared within one run; the first is the measure of the others
local scenes = {}

local RADIUS, STRIDE = 50, 2.5

local M, A = 2147483647, 16807

--- Lehmer's generator: exact in doubles and in integers, so that all Luas agree.
function scenes.generator(seed)
  local state = seed % (M - 1) + 1
  local function random()
    state = state * A % M
    return (state - 1) / (M - 1)
  end
  for _ = 1, 10 do random() end
  return random
end

local function populations(neighbours, ...)
  local points = {}
  for i, n in ipairs { ... } do points[i] = { n = n, neighbours = neighbours } end
  return points
end

local function densities(n, ...)
  local points = {}
  for i, neighbours in ipairs { ... } do points[i] = { n = n, neighbours = neighbours } end
  return points
end

local VIEW = { { radius = RADIUS } }

scenes.list = {
  {
    name = "walk",
    title = "everybody takes a short step",
    points = populations(20, 1000, 3000, 10000, 30000, 100000),
    brute_up_to = 3000,
    textbook_up_to = 10000,
    byhand_up_to = 100000,
  },
  {
    name = "dense",
    title = "the same steps, more and more neighbours",
    points = densities(10000, 1, 5, 20, 50, 100, 200),
    textbook_up_to = 10000,
    byhand_up_to = 10000,
  },
  {
    name = "crowd",
    title = "four of five crowd on a hundredth of the map, and all walk",
    points = populations(20, 1000, 10000),
    place = "crowd",
    textbook_up_to = 10000,
  },
  {
    name = "still",
    title = "the crowd stands still, one in twenty walks",
    points = populations(20, 1000, 10000),
    place = "crowd",
    movers = 0.05,
  },
  {
    name = "town",
    title = "a tenth players, half NPCs that look for players, the rest things; players and NPCs walk",
    points = populations(20, 10000, 100000),
    movers = 0.6,
    kinds = { { to = 0.1, kind = 1 }, { to = 0.6, kind = 2 }, { to = 1, kind = 4 } },
    nodes = {
      { radius = RADIUS, keep = RADIUS * 1.1, shape = "circle", to = 0.1 },
      { radius = RADIUS * 0.4, shape = "circle", mask = 1, from = 0.1, to = 0.6 },
      { radius = RADIUS * 0.1, shape = "circle", mask = 1, from = 0.1, to = 0.6 },
    },
  },
  {
    name = "mixed",
    title = "square views, round views that keep, and small alarms, a third of the population each",
    points = populations(20, 10000, 100000),
    nodes = {
      { radius = RADIUS, to = 1 / 3 },
      { radius = RADIUS, keep = RADIUS * 1.1, shape = "circle", from = 1 / 3, to = 2 / 3 },
      { radius = RADIUS / 5, from = 2 / 3 },
    },
  },
  {
    name = "few",
    title = "only one in twenty watches, all walk",
    points = populations(20, 10000),
    nodes = { { radius = RADIUS, every = 20 } },
  },
  {
    name = "sparse",
    title = "hardly anybody ever meets on a vast map",
    points = populations(0.01, 1000, 10000, 100000),
  },
  {
    name = "teleport",
    title = "one in five moves, anywhere on the map",
    points = populations(20, 1000, 10000, 100000),
    step = "jump",
    movers = 0.2,
    textbook_up_to = 1000,
  },
  {
    name = "churn",
    title = "one in five leaves, enters elsewhere and carries the node again",
    points = populations(20, 1000, 10000, 100000),
    step = "jump",
    movers = 0.2,
    verb = "churn",
    textbook_up_to = 1000,
  },
  {
    name = "radii",
    title = "three nodes: view, a fifth of it, and four times it for one in ten",
    points = populations(20, 1000, 10000, 100000),
    nodes = { { radius = RADIUS }, { radius = RADIUS / 5 }, { radius = RADIUS * 4, every = 10 } },
  },
  {
    name = "huge",
    title = "one in a thousand sees most of the map",
    points = populations(20, 10000),
    variants = {
      { name = "none" },
      { name = "huge", nodes = { { radius = RADIUS }, { radius = RADIUS * 40, every = 1000 } } },
    },
  },
  {
    name = "areas",
    title = "squares, circles, and a keep of six fifths of the radius",
    points = populations(20, 10000),
    variants = {
      { name = "square" },
      { name = "circle", nodes = { { radius = RADIUS, shape = "circle" } } },
      { name = "keep", nodes = { { radius = RADIUS, keep = RADIUS * 1.2 } } },
      { name = "circle+keep", nodes = { { radius = RADIUS, keep = RADIUS * 1.2, shape = "circle" } } },
    },
  },
  {
    name = "batch",
    title = "a whole tick: a call for each move, one for all, or a call for each that is only noted",
    points = populations(20, 10000, 100000),
    variants = { { name = "single" }, { name = "batch", verb = "batch" }, { name = "tick", verb = "tick" } },
  },
  {
    name = "journal",
    title = "everybody takes a short step, unrecorded and recorded (aoi.journal)",
    points = populations(20, 10000),
    variants = { { name = "off" }, { name = "on", journal = true } },
  },
  {
    name = "ask",
    title = "who is near a spot, whom a node sees, who sees an entity",
    points = populations(20, 10000, 100000),
    step = "jump",
    movers = 0.2,
    variants = {
      { name = "near", verb = "near" },
      { name = "view", verb = "view" },
      { name = "viewers", verb = "viewers" },
    },
  },
}

local function both_ways(...)
  local variants = {}
  for i, with in ipairs { ... } do
    variants[2 * i - 1] = { name = with, with = with }
    variants[2 * i] = { name = with .. " ticks", with = with, verb = "batch" }
  end
  return variants
end

table.insert(scenes.list, {
  name = "carry",
  title = "two layers, one in a hundred large, or one in five attached to one of those that walk",
  points = populations(20, 10000),
  only = "lua",
  movers = 0.8,
  variants = both_ways("nothing", "layers", "large", "attached"),
})

table.insert(scenes.list, {
  name = "past",
  title = "a history of twelve ticks: who is near, who was seven ticks ago, and what a tick takes to note",
  points = populations(20, 10000),
  only = "lua",
  with = "history",
  variants = { { name = "near", verb = "near" }, { name = "past", verb = "past" }, { name = "note", verb = "note" } },
})

table.insert(scenes.list, {
  name = "sweep",
  title = "whom a ball meets that flies 80 units, and who is near the box around its way",
  points = populations(20, 10000),
  only = "lua",
  movers = 0.2,
  variants = { { name = "box", verb = "box" }, { name = "sweep", verb = "sweep" } },
})

table.insert(scenes.list, {
  name = "regions",
  title = "walkers without nodes, a tick, among a hundredth as many regions, and among ten times as many",
  points = populations(1, 10000),
  only = "lua",
  nodes = {},
  verb = "flush",
  variants = { { name = "few", with = "few_regions" }, { name = "many", with = "many_regions" } },
})

local PLAYERS = 1 / 21
table.insert(scenes.list, {
  name = "scripting",
  title = "one in 21 walks past NPCs with two areas: bare nodes, triggers that sleep, all events, timers",
  points = populations(26, 10500),
  only = "lua",
  movers = PLAYERS,
  kinds = { { to = PLAYERS, kind = 1 }, { to = 1, kind = 2 } },
  nodes = {},
  variants = {
    { name = "bare", nodes = { { radius = 30, mask = 1, from = PLAYERS }, { radius = 10, mask = 1, from = PLAYERS } } },
    { name = "sleepers", with = "sleepers" },
    { name = "full", with = "full" },
    { name = "guards", with = "guards" },
  },
})

local DEFAULTS = {
  place = "even", step = "walk", movers = 1, nodes = VIEW, verb = "move", brute_up_to = 1000, textbook_up_to = 0,
  byhand_up_to = 0,
}

scenes.named = {}
for _, scene in ipairs(scenes.list) do
  scenes.named[scene.name] = scene
  for field, value in pairs(DEFAULTS) do
    if scene[field] == nil then scene[field] = value end
  end
  scene.variants = scene.variants or { { name = "" } }
  for _, variant in ipairs(scene.variants) do setmetatable(variant, { __index = scene }) end
end

scenes.RADIUS = RADIUS

-- The world of one point --------------------------------------------------------------------------------------------

local world = {}
world.__index = world

-- Back from the border, as a ball.
local function inside(v, half)
  if v > half then return 2 * half - v end
  if v < -half then return -2 * half - v end
  return v
end

function world:walk()
  local random, x, y, half, crowd, crowded = self.random, self.x, self.y, self.half, self.crowd, self.crowded
  for i = 1, self.m do
    local border = crowded[i] and crowd or half
    x[i] = inside(x[i] + (random() * 2 - 1) * STRIDE, border)
    y[i] = inside(y[i] + (random() * 2 - 1) * STRIDE, border)
  end
end

function world:jump()
  local random, x, y, half = self.random, self.x, self.y, self.half
  for i = 1, self.m do
    x[i] = (random() * 2 - 1) * half
    y[i] = (random() * 2 - 1) * half
  end
end

--- A point is { n =, neighbours = }; the same scene, point and seed give the same world.
function scenes.world(scene, point, seed)
  local n = point.n
  local half = math.sqrt(n / point.neighbours) * RADIUS
  local self = setmetatable({
    n = n,
    m = math.max(1, math.floor(n * scene.movers)),
    half = half,
    crowd = half / 10,
    crowded = {},
    random = scenes.generator((seed or 1) * 7919 + n),
    x = {},
    y = {},
  }, world)
  self.step = self[scene.step]
  for i = 1, n do
    self.crowded[i] = scene.place == "crowd" and i % 5 ~= 0
    local border = self.crowded[i] and self.crowd or half
    self.x[i] = (self.random() * 2 - 1) * border
    self.y[i] = (self.random() * 2 - 1) * border
  end
  return self
end

return scenes
