-- Crowds in which all carry one area, or few: where sums round to either side, where coordinates are beyond what a
-- float can tell apart, where few are sought, where one has many nodes, and where two or three carry an area of a size
-- of its own; by single moves, and by ticks in which most move a little. Every call's events must be those of brute
-- force. AOI_SEED replays, AOI_LENGTH makes it longer.
local aoi = require "aoi"
local random_run = require "spec.support.random_run"
local recorder = require "spec.support.recorder"
local rng = require "spec.support.rng"

local unpack = table.unpack or unpack -- luacheck: ignore
local SEED, STEPS = random_run.seed("crowds"), random_run.steps(750)
local PLAYER, NPC, THING = 1, 2, 4

-- How a crowd is; what no option says is left out. masks: masks and kinds at random; keep: in units beyond the radius;
-- other: every third has a larger radius; climb: heights change in ticks; looks: extents and layers; sought, late: see
-- Crowd:change and Crowd:move.
local OF_MOVES = { {}, { masks = true }, { keep = 1 }, { shape = "circle" }, { other = true } }
local OF_TICKS = {
  {}, { looks = true }, { looks = true, masks = true, climb = true }, { masks = true }, { keep = 1e5 },
  { keep = 1e5, climb = true }, { climb = true },
}

-- unit: of coordinates; radii: in units, a node each; spread: of radii; rare: the radius of a few; span, offset: where
-- the map is; far: one move in so many is a jump.
local MAPS = {
  { name = "tenths", unit = 0.1, radii = { 3 }, span = 12, offset = 0, far = 20 },
  { name = "tenths around a border of tiles", unit = 0.1, radii = { 7 }, span = 20, offset = 6.4, far = 20 },
  { name = "thirds, far out", unit = 1 / 3, radii = { 5 }, span = 30, offset = 12345.6, far = 20 },
  { name = "whole numbers", unit = 1, radii = { 2 }, span = 9, offset = -4, far = 10 },
  { name = "radius 0", unit = 1, radii = { 0 }, span = 4, offset = 0, far = 5 },
  { name = "large units", unit = 2 ^ 40, radii = { 3.7 }, span = 12, offset = 2 ^ 42, far = 20 },
  { name = "steps below the last digit", unit = 0.1, radii = { 3 }, span = 12, offset = 2 ^ 49, far = 20 },
  { name = "heights below the last digit of a float", unit = 0.1, radii = { 3 }, span = 12, offset = 2 ^ 23, far = 20 },
  { name = "one cell, half a float's digit", unit = 0.25, radii = { 3 }, span = 12, offset = 2 ^ 23, far = 20,
    cell = math.huge },
  { name = "a cell of many floats", unit = 0.001, radii = { 7 }, span = 40, offset = 99990, far = 20, cell = 1e5 },
  { name = "beyond all cells, one float", unit = 1e-3, radii = { 3 }, span = 12, offset = 1e9, far = 20 },
  { name = "farther beyond", unit = 2, radii = { 3 }, span = 12, offset = 1e15, far = 20 },
  { name = "a town", unit = 0.5, radii = { 40 }, span = 300, offset = -75, far = 100 },
  { name = "players among many", unit = 1, radii = {}, span = 80, offset = 0, far = 20, options = {
    { sought = true, people = 120, steps = 900 },
    { sought = true, people = 120, steps = 900, delivery = "deferred" } } },
  { name = "two or three with an area of its own", unit = 0.5, radii = { 40 }, rare = 180, span = 2000, offset = 0,
    far = 40, options = { { late = true, people = 300, steps = 2 * STEPS } } },
  { name = "one with forty nodes", unit = 1, radii = {}, many = 40, span = 60, offset = 0, far = 10,
    options = { { people = 30, steps = 200 } } },

  { ticks = true, name = "tenths", unit = 0.1, radii = { 7 }, span = 40, offset = 0, far = 2000 },
  { ticks = true, name = "ties, and jumps in every other tick", unit = 1, radii = { 5 }, span = 25, offset = -9,
    far = 160 },
  { ticks = true, name = "fractions of a cell", unit = 0.37, radii = { 20 }, span = 200, offset = -30, far = 2000 },
  { ticks = true, name = "two nodes each", unit = 0.5, radii = { 6, 15 }, span = 60, offset = -75, far = 2000 },
  { ticks = true, name = "a few see farther", unit = 0.5, radii = { 6 }, rare = 50, span = 60, offset = -75,
    far = 2000 },
  { ticks = true, name = "reaches that differ", unit = 0.25, radii = { 9 }, spread = 4, span = 60, offset = 3,
    far = 2000 },
  { ticks = true, name = "radius 0", unit = 1, radii = { 0 }, span = 6, offset = 0, far = 2000 },
  { ticks = true, name = "beyond the outermost cell", unit = 2, radii = { 9 }, span = 60, offset = 2 ^ 37, far = 2000 },
  { ticks = true, name = "around the outermost cell", unit = 1, radii = { 11 }, span = 40, offset = 2 ^ 34 - 20,
    far = 2000 },
  { ticks = true, name = "steps below the last digit", unit = 0.1, radii = { 7 }, span = 40, offset = 2 ^ 49,
    far = 2000 },
}

local Crowd = {}
Crowd.__index = Crowd

function Crowd:place(id, far)
  local random, map, p, x = self.random, self.map, self.at[id] or {}, {}
  for a = 1, self.dimensions do
    if far or not p[a] then
      p[a] = random(map.span)
    elseif a < 3 or self.climb or not map.ticks then
      p[a] = p[a] + random(5) - 3
      if map.ticks then p[a] = math.max(1, math.min(map.span, p[a])) end
    end
    x[a] = map.offset + p[a] * map.unit
  end
  self.at[id] = p
  return unpack(x)
end

function Crowd:kind()
  local random = self.random
  if not self.sought then return self.masks and random(4) - 1 or 1 end
  return random(self.share) == 1 and PLAYER or random { NPC, NPC, THING, PLAYER + NPC, 0 }
end

function Crowd:watch(id, node, radius)
  local unit, random = self.map.unit, self.random
  self.pair.watch(id, node, {
    radius = radius * unit, keep = self.keep and (radius + self.keep) * unit, shape = self.shape,
    mask = self.masks and random(3) or 3,
  })
end

-- Areas of those that look for players.
function Crowd:seek()
  local random = self.random
  return random {
    { radius = random(12), shape = "circle", mask = PLAYER }, { radius = random(12), mask = PLAYER },
    { radius = 8, keep = 10, shape = "circle", mask = PLAYER }, { radius = 10, keep = 12, shape = "circle" },
  }
end

function Crowd:come(id)
  local map, random = self.map, self.random
  self.both("enter", id, self:place(id, true))
  self.both("set_kind", id, self:kind())
  for node, radius in ipairs(map.radii) do
    if self.other and id % 3 == 0 then radius = radius + 1 end
    self:watch(id, node, radius + (map.spread and random(map.spread) or 0))
  end
  if map.rare and not self.late and id % 20 == 0 then self:watch(id, 9, map.rare) end
  if self.sought then self.pair.watch(id, 1, self:seek()) end
  if self.sought and random(2) == 1 then self.pair.watch(id, 2, self:seek()) end
  for node = 1, id == 1 and map.many or 0 do self.pair.watch(1, node, node % 9 == 0 and math.huge or node % 7 * 4) end
  if self.looks and id % 9 == 0 then self.both("set_extent", id, random(2 * map.radii[1] + 9) * map.unit) end
  if self.looks and id % 4 == 0 then self.both("set_layers", id, random(3)) end
end

function Crowd:change(id)
  local random, both, what = self.random, self.both, self.random(20)
  if what == 1 then both("set_kind", id, self:kind())
  elseif what == 2 then both("set_mask", id, 1, random { PLAYER, PLAYER, PLAYER + THING, NPC })
  elseif what == 3 and id > 1 then both("override", id, 1, id - 1, random { "hide", "show", "match", nil })
  elseif what == 4 then both("set_area", id, 1, self:seek()) end
end

-- One after the other; `late`: three get an area of a size of its own, of which one is lost and given again.
function Crowd:move(step)
  local random, map = self.random, self.map
  local id = map.many and random(4) > 1 and 1 or self.late and random(3) == 1 and random(3) or random(self.people)
  if random(self.sought and 20 or 40) == 1 and id > 3 then
    self.both("leave", id)
    self.at[id] = nil
    self:come(id)
  end
  if self.sought then self:change(id) end
  for rare = 1, self.late and step == 20 and 3 or 0 do self:watch(rare, 9, map.rare) end
  if self.late and step % 300 == 150 then self.both("remove_node", 3, 9) end
  if self.late and step % 300 == 0 then self:watch(3, 9, map.rare) end
  self.both("move", id, self:place(id, random(map.far) == 1))
  if self.delivery and random(8) == 1 then self.both("flush") end
  if step % 25 == 0 then self.pair.check() end
  if step % 100 == 0 then self.share = random { 2, 10, 10, 30 } end
end

function Crowd:tick(step)
  local random, map, both, rows = self.random, self.map, self.both, {}
  local stand = random { 0, 0, 0.2, 0.45, 0.8 } -- the share of entities that do not move
  for id = 1, self.people do
    if random() >= stand then
      rows[#rows + 1] = id
      for _, x in ipairs { self:place(id, random(map.far) == 1) } do rows[#rows + 1] = x end
    end
  end
  both("move_many", rows)
  if random(5) == 1 then both("set_radius", random(self.people), 1, random(2 * map.radii[1] + 1) * map.unit) end
  if self.looks and random(3) == 1 then
    both("set_extent", random(self.people), random { 0, 0.5, 3, 30 } * map.unit)
  end
  if step % 10 == 0 then self.pair.check() end
end

local function play(random, engine, dimensions, map, option)
  local pair = recorder.against_brute {
    engine = engine, dimensions = dimensions, cell = map.cell, delivery = option.delivery,
  }
  local self = { random = random, dimensions = dimensions, map = map, pair = pair, both = pair.both, at = {},
                 share = 10, people = 70 }
  for name, value in pairs(option) do self[name] = value end
  setmetatable(self, Crowd)
  for id = 1, self.people do self:come(id) end
  self.both("flush")
  for step = 1, option.steps or STEPS / (map.ticks and 30 or 5) do
    if map.ticks then self:tick(step) else self:move(step) end
  end
  pair.check()
  pair.close()
end

for _, engine in ipairs(aoi.engines()) do
  for dimensions = 2, 3 do
    describe(("crowds on %s %dD:"):format(engine, dimensions), function()
      for i, map in ipairs(engine ~= "brute" and MAPS or {}) do
        it(map.name .. (map.ticks and ", in ticks" or ""), function()
          local random = rng.new(SEED + rng.hash(engine .. dimensions) + i)
          for _, option in ipairs(map.options or map.ticks and OF_TICKS or OF_MOVES) do
            if dimensions == 3 or not option.climb or option.masks then
              play(random, engine, dimensions, map, option)
            end
          end
        end)
      end
    end)
  end
end
