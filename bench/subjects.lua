-- subjects.lua: who plays a scene: an engine in C or through Lua, both with the same few methods.
--
--   subject:fill()          seconds, events: all enter and get their nodes
--   subject:play(m)         seconds, events: one step, one operation for each of the entities 1 .. m
--   subject:load()          the positions of the world have changed; not measured
--   subject:stats()         memory, candidates, steps of the core so far
--   subject:close()
--
-- "textbook" is the list engine with one tile for the whole world: the orthogonal list as the books have it.
-- "byhand" is no engine but a grid of Lua tables (byhand.lua), as one writes it without a library; only through Lua.
local aoi = require "aoi"
local byhand = require "bench.byhand"
local scenes = require "bench.scenes"
local trigger = require "aoi.trigger"
local RADIUS = scenes.RADIUS
local built, native = pcall(require, "bench.native")

local subjects = { native = built and native or nil }

local clock = built and native.clock or os.clock
subjects.clock = clock

local function engine_of(name)
  if name == "textbook" then return "list", math.huge end
  return name
end

--- The names that can play a point of the scene.
function subjects.names(engines, scene, point, layer)
  local names = {}
  for _, engine in ipairs(engines) do
    if layer == "c" and scene.only == "lua" then break end
    if engine ~= "brute" or point.n <= scene.brute_up_to then names[#names + 1] = engine end
    if engine == "list" and layer == "c" and point.n <= scene.textbook_up_to then names[#names + 1] = "textbook" end
    if engine == "list" and layer == "lua" and point.n <= scene.byhand_up_to then names[#names + 1] = "byhand" end
  end
  return names
end

-- In C --------------------------------------------------------------------------------------------------------------

local in_c = {}
in_c.__index = in_c

function in_c:fill() return self.player:fill() end
function in_c:load() self.player:load(self.world.x, self.world.y, self.world.m) end
function in_c:play(m) return self.player:play(self.verb, m, RADIUS) end
function in_c:stats() return self.player:stats() end
function in_c:close() self.player:close() end

-- Deferred spaces are for verbs that make a tick of all moves.
local TICKS = { batch = true, tick = true, flush = true }
local function is_deferred(variant) return TICKS[variant.verb] or variant.with == "history" end

-- Shares of the population as numbers of entities: of a node the first and the last that carry it, of kinds the last.
local function nodes_of(variant, n)
  local nodes = {}
  for k, node in ipairs(variant.nodes) do
    nodes[k] = {
      radius = node.radius, keep = node.keep, shape = node.shape, mask = node.mask, every = node.every or 1,
      first = math.floor((node.from or 0) * n) + 1, last = math.floor((node.to or 1) * n),
    }
  end
  return nodes
end

local function kinds_of(variant, n)
  local kinds = {}
  for _, kind in ipairs(variant.kinds or {}) do
    kinds[#kinds + 1] = math.floor(kind.to * n)
    kinds[#kinds + 1] = kind.kind
  end
  return kinds
end

function subjects.c(name, variant, world)
  local engine, cell = engine_of(name)
  local self = setmetatable({
    player = native.open(engine, cell or 0, nodes_of(variant, world.n), kinds_of(variant, world.n),
      is_deferred(variant), variant.journal),
    verb = variant.verb,
    world = world,
  }, in_c)
  self.player:load(world.x, world.y, world.n)
  return self
end

-- Through Lua -------------------------------------------------------------------------------------------------------

local in_lua = {}
in_lua.__index = in_lua

local heard_events = 0
local function heard() heard_events = heard_events + 1 end

local function add_nodes(space, nodes, i)
  for k = 1, #nodes do
    local node = nodes[k]
    if i % node.every == 0 and node.first <= i and i <= node.last then space:add_node(i, k, node.area, heard, heard) end
  end
end

-- Each runs in a loop of its own, written as a server would write it.
local verbs = {}

function verbs.move(self, m)
  local space, x, y = self.space, self.world.x, self.world.y
  for i = 1, m do space:move(i, x[i], y[i]) end
end

function verbs.batch(self, m)
  local space, x, y, rows = self.space, self.world.x, self.world.y, self.rows
  local at = 0
  for i = 1, m do
    rows[at + 1], rows[at + 2], rows[at + 3] = i, x[i], y[i]
    at = at + 3
  end
  space:move_many(rows, m)
  local _, n = space:drain(self.buf)
  return n
end

function verbs.tick(self, m)
  local space, x, y = self.space, self.world.x, self.world.y
  for i = 1, m do space:move(i, x[i], y[i]) end
  local _, n = space:drain(self.buf)
  return n
end

function verbs.churn(self, m)
  local space, x, y, nodes = self.space, self.world.x, self.world.y, self.nodes
  for i = 1, m do
    space:leave(i)
    space:enter(i, x[i], y[i])
    add_nodes(space, nodes, i)
  end
end

function verbs.near(self, m)
  local space, x, y, buf = self.space, self.world.x, self.world.y, self.buf
  local found = 0
  for i = 1, m do
    local _, n = space:near(x[i], y[i], RADIUS, buf)
    found = found + n
  end
  return found
end

function verbs.view(self, m)
  local space, buf = self.space, self.buf
  local found = 0
  for i = 1, m do
    local _, n = space:view(i, 1, buf)
    found = found + n
  end
  return found
end

function verbs.viewers(self, m)
  local space, buf = self.space, self.buf
  local found = 0
  for i = 1, m do
    local _, n = space:viewers(i, buf)
    found = found + n
  end
  return found
end

function verbs.past(self, m)
  local past, x, y, buf = self.past, self.world.x, self.world.y, self.buf
  local found = 0
  for i = 1, m do
    local _, n = past:near(7, x[i], y[i], RADIUS, nil, buf)
    found = found + n
  end
  return found
end

function verbs.note(self)
  self.past:tick()
  return 0
end

-- A ball of radius 1, each in a direction of its own.
local function way_of(x, y, i) return x, y, x + 80 * math.cos(i), y + 80 * math.sin(i) end

function verbs.sweep(self, m)
  local space, x, y, buf = self.space, self.world.x, self.world.y, self.buf
  local found = 0
  for i = 1, m do
    local ax, ay, bx, by = way_of(x[i], y[i], i)
    local _, n = space:sweep(ax, ay, bx, by, 1, nil, buf)
    found = found + n
  end
  return found
end

function verbs.box(self, m)
  local space, x, y, buf = self.space, self.world.x, self.world.y, self.buf
  local extents = {}
  local area, found = { shape = "box", extents = extents }, 0
  for i = 1, m do
    local ax, ay, bx, by = way_of(x[i], y[i], i)
    extents[1], extents[2] = math.abs(bx - ax) / 2 + 1, math.abs(by - ay) / 2 + 1
    local _, n = space:near((ax + bx) / 2, (ay + by) / 2, area, nil, buf)
    found = found + n
  end
  return found
end

function verbs.flush(self, m)
  local rows, x, y = self.rows, self.world.x, self.world.y
  for i = 1, m do rows[3 * i - 2], rows[3 * i - 1], rows[3 * i] = i, x[i], y[i] end
  self.space:move_many(rows, m)
  self.space:flush()
end

-- What a scene has besides nodes; all have entered by then.
local PREPARE = {}

function PREPARE.nothing() end

function PREPARE.layers(self)
  for id = 1, self.world.n do self.space:set_layers(id, 2 ^ (id % 2)) end
end

function PREPARE.large(self)
  for id = 1, self.world.n, 100 do self.space:set_extent(id, RADIUS / 5) end
end

-- Those that do not walk, to those that do.
function PREPARE.attached(self)
  for id = self.world.m + 1, self.world.n do self.space:attach(id, id - self.world.m, 1, 0) end
end

function PREPARE.history(self)
  self.past = aoi.history.new(self.space, 12)
  for _ = 1, 8 do self.past:tick() end -- so that each question has a past
end

local function regions(self, count)
  local random, half = scenes.generator(42), self.world.half
  self.triggers = trigger.new(self.space, {
    zone = { shape = "circle", radius = 10, mask = 1, enter = heard, leave = heard },
  })
  local function place() return (2 * random() - 1) * half end
  for _ = 1, count do self.triggers:region("zone", { x = place(), y = place() }) end
end

function PREPARE.few_regions(self) regions(self, self.world.n / 100) end
function PREPARE.many_regions(self) regions(self, 10 * self.world.n) end

local function hearing(words, own)
  for event in words:gmatch "%a+" do own[event] = heard end
  return own
end

-- Two triggers for all that do not walk: one that wakes, one that alerts.
local function npcs(wake, alert)
  return function(self)
    self.triggers = trigger.new(self.space, { wake = wake, alert = alert })
    for id = self.world.m + 1, self.world.n do
      self.triggers:add(id, "wake", { radius = 30, mask = 1 })
      self.triggers:add(id, "alert", { radius = 10, mask = 1 })
    end
  end
end

PREPARE.sleepers = npcs(hearing("first last", {}), hearing("enter leave", {}))
PREPARE.full = npcs(hearing("first enter leave last", {}), hearing("first enter leave last", {}))
PREPARE.guards = npcs(hearing("first last", {}), hearing("enter dwell stay leave", { after = 2, interval = 5 }))

function in_lua:kind_of(i)
  local kinds = self.kinds
  for k = 1, #kinds, 2 do
    if i <= kinds[k] then return kinds[k + 1] end
  end
  return 1
end

function in_lua:fill()
  local space, x, y, nodes = self.space, self.world.x, self.world.y, self.nodes
  heard_events = 0
  local start = clock()
  for i = 1, self.world.n do
    space:enter(i, x[i], y[i], self:kind_of(i))
    add_nodes(space, nodes, i)
  end
  if self.with then PREPARE[self.with](self) end
  local events = self.deferred and space:flush() or heard_events
  return clock() - start, events
end

function in_lua:load()
  if not self.past then return end
  verbs.batch(self, self.world.m)
  if self.verb ~= verbs.note then self.past:tick() end
end

function in_lua:play(m)
  heard_events = 0
  local start = clock()
  if self.triggers then
    self.seconds = self.seconds + 0.1
    self.triggers:update(self.seconds)
  end
  local count = self:verb(m)
  return clock() - start, count or heard_events
end

function in_lua:stats()
  local stats = self.space:stats()
  return stats.memory, stats.candidates, stats.steps
end

function in_lua:close() self.space:close() end

-- By hand -----------------------------------------------------------------------------------------------------------

local by_hand = {}
by_hand.__index = by_hand

function by_hand:fill()
  local cells, x, y = self.cells, self.world.x, self.world.y
  heard_events = 0
  local start = clock()
  for i = 1, self.world.n do cells:enter(i, x[i], y[i]) end
  return clock() - start, heard_events
end

function by_hand.load() end

function by_hand:play(m)
  local cells, x, y = self.cells, self.world.x, self.world.y
  heard_events = 0
  local start = clock()
  for i = 1, m do cells:move(i, x[i], y[i]) end
  return clock() - start, heard_events
end

function by_hand.stats() return 0, 0, 0 end

function by_hand.close() end

function subjects.lua(name, variant, world)
  if name == "byhand" then
    return setmetatable({ cells = byhand.new(RADIUS, heard, heard), world = world }, by_hand)
  end
  local engine, cell = engine_of(name)
  local deferred = is_deferred(variant)
  local nodes = nodes_of(variant, world.n)
  for _, node in ipairs(nodes) do
    node.area = { radius = node.radius, keep = node.keep, shape = node.shape, mask = node.mask }
  end
  local space = aoi.new { engine = engine, cell = cell, delivery = deferred and "deferred" or "immediate" }
  if variant.journal then require("aoi.journal").record(space, function() end) end
  return setmetatable({
    space = space,
    verb = verbs[variant.verb],
    with = variant.with,
    seconds = 0,
    deferred = deferred,
    world = world,
    nodes = nodes,
    kinds = kinds_of(variant, world.n),
    rows = {},
    buf = {},
  }, in_lua)
end

return subjects
