-- A town of 300 players who all walk about: what each client is sent a tick when everything is sent to all,
-- when only what is in view is sent, and with a limit and tiers. Clients keep a picture from their messages alone; in
-- the end those of the second row are compared with the truth.

-- The checkout comes last on the path.
local root = arg[0]:match("^(.*)examples[/\\\\]") or "../"
package.path = package.path .. ";" .. root .. "lua/?.lua;" .. root .. "lua/?/init.lua"
package.cpath = package.cpath .. ";" .. root .. "?.so"

local aoi, Sync = require "aoi", require "aoi.sync"

local PLAYERS, SIDE, SIGHT, TICKS, QUANTUM = 300, 400, 60, 100, 0.01

-- The same walk on every machine: Lehmer's generator.
local state = 7
local function random()
  state = state * 16807 % 2147483647
  return state / 2147483647
end

local space = aoi.new { engine = "grid" }
local function add(name, view, options)
  local sync = Sync.new(space, options)
  for id = 1, PLAYERS do sync:add(id, view) end
  return { name = name, sync = sync, messages = 0, bytes = 0, known = 0 }
end

local x, y = {}, {}
for id = 1, PLAYERS do
  x[id], y[id] = random() * SIDE, random() * SIDE
  space:enter(id, x[id], y[id])
end
local view = { shape = "circle", radius = SIGHT, margin = 5 }
local tiers = { { 20, 1 }, { 40, 3 }, { 65, 6 } }
local rows = {
  add("everybody to everybody", math.huge, { quantum = QUANTUM }),
  add("what is in view", view, { quantum = QUANTUM }),
  add("the nearest 15, tiers", view, { quantum = QUANTUM, limit = 15, tiers = tiers }),
}

-- The other end of the wire.
local pictures, news = {}, {}
for id = 1, PLAYERS do pictures[id] = {} end
local function receive(player, message)
  Sync.read(message, news)
  local picture, gone, appeared, moved = pictures[player], news.gone, news.appeared, news.moved
  for i = 1, gone.n do picture[gone[i]] = nil end
  for i = 1, 4 * appeared.n, 4 do picture[appeared[i]] = { x = appeared[i + 2], y = appeared[i + 3] } end
  for i = 1, 3 * moved.n, 3 do picture[moved[i]].x, picture[moved[i]].y = moved[i + 1], moved[i + 2] end
end

for _ = 0, TICKS do -- the first tick is not counted: it tells all that is there
  for id = 1, PLAYERS do
    x[id] = math.min(SIDE, math.max(0, x[id] + (random() - 0.5) * 3))
    y[id] = math.min(SIDE, math.max(0, y[id] + (random() - 0.5) * 3))
    space:move(id, x[id], y[id])
  end
  for i, row in ipairs(rows) do
    local n, bytes = row.sync:tick(i == 2 and receive or function() end)
    if row.started then row.messages, row.bytes = row.messages + n, row.bytes + bytes end
    row.started = true
  end
end

local wrong, seen = 0, 0
local function told(v) return QUANTUM * math.floor(v / QUANTUM + 0.5) end
for player, picture in pairs(pictures) do
  local list, n = rows[2].sync:known(player)
  for i = 1, n do
    local it = picture[list[i]]
    if not it or it.x ~= told(x[list[i]]) or it.y ~= told(y[list[i]]) then wrong = wrong + 1 end
  end
  seen = seen + n
end
print(("%d players, %d ticks; %.1f others in view"):format(PLAYERS, TICKS, seen / PLAYERS))
for _, row in ipairs(rows) do
  print(("%-24s %7.1f bytes a client and tick"):format(row.name, row.bytes / PLAYERS / TICKS))
end
print(("the clients' pictures: %d differences"):format(wrong))
