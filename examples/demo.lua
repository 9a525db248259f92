-- Writes the page of `make demo`: a night in a museum, and then a recorded crowd.
--
--   lua5.4 examples/demo.lua CROWD.csv[.gz] PAGE.html
--
-- The night is a program like a game server's: guards with cones of vision that walls cut off, who shout to each other;
-- a thief who is a player, with a client that is sent what the thief sees and no more. Handlers write the captions.

-- The checkout comes last on the path, so that whatever the environment names wins.
local root = arg[0]:match("^(.*)examples[/\\]") or "../"
package.path = package.path .. ";" .. root .. "lua/?.lua;" .. root .. "lua/?/init.lua"
package.cpath = package.cpath .. ";" .. root .. "?.so"

local aoi = require "aoi"

local GUARD, THIEF, CAT, THING = 1, 2, 4, 8 -- kinds: a bit each
local EYES = 1                              -- a node
local NAMES = { [1] = "the thief", [2] = "Anna", [3] = "Bert", [4] = "Carl", [5] = "cat", [6] = "crown" }
local BOB, CROWN, TICK, LAST = 1, 6, 0.1, 25

local WALLS = {
  { 0, 0, 10, 0 }, { 14, 0, 60, 0 }, { 60, 0, 60, 36 }, { 60, 36, 0, 36 }, { 0, 36, 0, 0 }, -- the house, with a gate
  { 24, 0, 24, 12 }, { 24, 17, 24, 36 }, { 42, 10, 42, 36 }, { 42, 20, 48, 20 }, { 52, 20, 60, 20 }, -- rooms
  { 8, 17, 15, 17 }, { 15, 17, 15, 20 }, { 30, 14, 36, 14 }, { 36, 14, 36, 20 }, -- things to hide behind
  { 48, 20, 52, 20 }, -- a door
}

local PATROLS = {
  [2] = { { 4, 8 }, { 4, 31 }, { 19, 31 }, { 19, 24 }, { 4, 24 } },
  [3] = { { 28, 30 }, { 39, 30 }, { 39, 6 }, { 28, 6 } },
  [4] = { { 57, 17 }, { 57, 4 } },
}

local POSTS = { [2] = { 13, 2 }, [3] = { 39, 24 }, [4] = { 44, 6 } } -- where a guard runs who hears another one shout

-- The way of the thief: where to, how fast; a function is called on arrival, a number waits so many seconds.
local function way(night)
  return {
    { 45, 9, 4.4 }, { 50, 18.5, 4.4 }, 0.2, function() night:unlock() end, { 51, 28, 4.4 }, 0.4,
    function() night:take() end, { 50, 17, 4.6 }, { 45, 8, 4.8 }, { 41, 7, 4.8 }, { 27, 13, 4.8 }, { 22, 14.5, 4.8 },
    { 12, 4, 4.8 }, { 12, -7, 4.8 },
  }
end

local Night = {}
Night.__index = Night

function Night:caption(text, watch, target)
  local captions = self.story.captions
  captions[#captions + 1] = { time = self.time, text = text, watch = watch, target = target }
  if self.aloud and not text:find "{" then print(("%5.1f s  %s"):format(self.time, text)) end -- figures: in the page
end

function Night:say(id, text)
  local says = self.story.says
  says[#says + 1] = { time = self.time, id = id, text = text, lasts = 2.2 }
  if self.aloud then print(("%5.1f s  %s: %s"):format(self.time, NAMES[id], text)) end
end

function Night:unlock()
  self.sight:open_wall(self.door)
  self:caption("The door opens: what a wall hides changes at once, for those near it only", BOB)
end

function Night:take()
  self.space:attach(CROWN, BOB, 0.6, 0.6) -- from now on it goes where the thief goes
  self:caption("The crown is attached to the thief: it moves with him, and costs no call", BOB)
end

-- One guard sees the thief and follows the trail: that leads around walls. Whoever is within earshot runs to a post.
function Night:spotted(guard, target)
  if self.over then return end
  self:say(guard, "Halt!")
  self:caption(NAMES[guard] .. " sees the thief: one event, in the tick in which it is true", guard, target)
  local x, y = self.space:position(guard)
  local earshot = { shape = "circle", radius = 60, mask = GUARD }
  for _, other in ipairs((self.space:near(x, y, earshot))) do
    if other ~= guard and not self.hunts[other] then
      if not self.alarmed[other] then self:say(other, "Coming!") end
      self.alarmed[other] = true
    end
  end
  self.hunts[guard] = #self.trail
end

function Night:lost(guard)
  if self.over then return end
  self.hunts[guard], self.alarmed[guard] = nil, true
  self:say(guard, "Where is he?")
  self:caption("A wall between them: half a second later " .. NAMES[guard] .. " loses the thief", guard, BOB)
end

-- Towards a place; the rest of the way where it is less than a tick.
function Night:walk(id, x, y, speed)
  local px, py = self.space:position(id)
  local dx, dy = x - px, y - py
  local far, step = math.sqrt(dx * dx + dy * dy), speed * TICK
  if far <= step then
    self.space:move(id, x, y)
    return true, dx, dy
  end
  self.space:move(id, px + dx / far * step, py + dy / far * step)
  return false, dx, dy
end

local atan = math.atan2 or math.atan -- luacheck: ignore 143

-- Turns by at most 0.3 a tick, the shorter way.
function Night:turn(id, dx, dy)
  if dx == 0 and dy == 0 then return end
  local off = (atan(dy, dx) - self.facing[id] + math.pi) % (2 * math.pi) - math.pi
  self.facing[id] = self.facing[id] + math.max(-0.3, math.min(0.3, off))
  self.space:set_facing(id, EYES, self.facing[id])
end

function Night:guards()
  local tx, ty = self.space:position(BOB)
  self.trail[#self.trail + 1] = { tx, ty }
  for id = 2, 4 do
    if self.over then return end
    local at, to = self.hunts[id], PATROLS[id][self.leg[id]]
    if at then
      if self.sight:sees(id, EYES, BOB) then at = #self.trail end
      to = self.trail[at]
    elseif self.alarmed[id] then
      to = POSTS[id]
    end
    local speed = (at or self.alarmed[id]) and 4.4 or 2
    local there, dx, dy = self:walk(id, to[1], to[2], speed)
    if there and at then self.hunts[id] = math.min(at + 1, #self.trail) end
    if there and not at then
      self.leg[id] = self.leg[id] % #PATROLS[id] + 1
      if self.alarmed[id] then dx, dy = tx - to[1], ty - to[2] end
    end
    self:turn(id, dx, dy)
    local x, y = self.space:position(id)
    if at and (x - tx) ^ 2 + (y - ty) ^ 2 < 1.5 then return self:caught(id) end
  end
end

function Night:caught(guard)
  self.over = true
  self:say(guard, "Got you.")
  self:say(BOB, "...")
  self:caption("Caught. The client of the thief never held a byte about what the thief did not see", BOB)
  self.ends = self.ticks + 30
end

function Night:thief()
  local to = self.way[1]
  if self.over or not to then return end
  local done = true
  if type(to) == "number" then
    self.way[1] = to - TICK
    done = self.way[1] <= 0
  elseif type(to) == "function" then
    to()
  else
    done = self:walk(BOB, to[1], to[2], to[3])
  end
  if done then table.remove(self.way, 1) end
end

function Night:cat()
  local a = self.time * 0.35
  self.space:move(5, 8 + 4 * math.cos(a), 31 + 2 * math.sin(a))
end

local HINTS = {
  [0] = { "A museum at night. Three guards walk their rounds; each carries a cone of vision, cut off by the walls", 2 },
  [1.5] = { "Beside it, what the thief's client is sent: what the thief sees. Guards behind walls are not in it", 1 },
  [10] = { "Who was within earshot runs to a post: one call of space:near", 3 },
}

-- One tick of a game server: moves, then walls and cones, then (in the page) what the client is sent.
function Night:step()
  if self.ticks * TICK >= LAST then return nil end
  self.time = self.ticks * TICK
  self.ticks = self.ticks + 1
  local hint = HINTS[self.time]
  if hint then self:caption((table.unpack or unpack)(hint)) end
  if self.ticks == self.ends then
    self:caption("{events} events for the guards, {bytes} bytes for the thief; all positions would be {raw}", BOB)
  end
  self:cat()
  self:thief()
  self:guards()
  self.sight:tick()
  return self.time
end

function Night:close() self.space:close() end

local function night(engine, aloud)
  local space = aoi.new { engine = engine }
  local sight = require("aoi.sight").new(space)
  local self = setmetatable({
    space = space, sight = sight, aloud = aloud, ticks = 0, time = 0, trail = {}, -- where the thief has been
    facing = { 0, 1.5, 0, 3 }, leg = { 1, 1, 1, 1 }, hunts = {}, alarmed = {}, -- by guard
    story = {
      names = {}, kinds = { "guard", "thief, a player", "cat", "crown" }, areas = true, captions = {}, says = {},
    },
  }, Night)
  for id, name in pairs(NAMES) do self.story.names[("%d"):format(id)] = name end
  for _, w in ipairs(WALLS) do self.door = sight:wall(w[1], w[2], w[3], w[4]) end -- the last one
  self.way = way(self)
  space:enter(BOB, 41.5, 6, THIEF)
  space:enter(5, 12, 31, CAT)
  space:enter(CROWN, 51, 30, THING)
  for id = 2, 4 do
    local at = PATROLS[id][1]
    space:enter(id, at[1], at[2], GUARD)
    sight:add(id, EYES, { shape = "sector", radius = 15, facing = 0, angle = 1.2, mask = THIEF }, {
      enter = function(watcher, target) self:spotted(watcher, target) end,
      leave = function(watcher) self:lost(watcher) end,
    }, { linger = 5 })
  end
  return self
end

local crowd, out = arg[1], arg[2]
if not (crowd and out) then
  io.stderr:write("use: demo.lua CROWD.csv[.gz] PAGE.html\n")
  os.exit(2)
end

local told, why = require("aoi.viewer.page").write({
  {
    title = "A thief", client = { id = BOB, area = { shape = "circle", radius = 22 } }, engines = { "list", "grid" },
    source = { open = function(_, engine) return night(engine, engine == "list") end },
  },
  {
    title = "A crowd", source = crowd, cell = 2, quantum = 0.0001,
    areas = { 1, { shape = "circle", radius = 2, margin = 0.5 } },
    client = { id = 130, area = { shape = "circle", radius = 3, margin = 0.5 } },
    story = {
      kinds = { "pedestrian" },
      captions = {
        { time = 0, text = "348 people, recorded, on their way through a narrow place; each carries two areas" },
        { time = 2, watch = 130, text = "One of them, what its areas see; and what a client with a view of 3 m gets" },
        { time = 10, watch = 130, text = "Click one: what it sees, what sees it. Click a second one: why, or why not" },
        { time = 18, watch = 130, text = "Choose an engine under 'index' to see what it is made of" },
      },
    },
  },
}, out)
if not told then
  io.stderr:write("demo: ", why, "\n")
  os.exit(1)
end
local page = assert(io.open(out, "rb"))
print(("%d ticks, %.1f MB: open %s in a browser"):format(told.ticks, page:seek "end" / 1e6, out))
page:close()
