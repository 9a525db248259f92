-- "Tell every player what appeared, moved and disappeared around him, once per tick, and nothing else." Each player's
-- client keeps a picture of his surroundings from those messages alone; in the end it is compared with the truth.

-- The checkout comes last on the path, so that whatever the environment names wins.
local root = arg[0]:match("^(.*)examples[/\\\\]") or "../"
package.path = package.path .. ";" .. root .. "lua/?.lua;" .. root .. "lua/?/init.lua"
package.cpath = package.cpath .. ";" .. root .. "?.so"

local aoi = require "aoi"
local neighbors = require "aoi.neighbors"

local PLAYER, NPC = 1, 2
local PLAYERS, NPCS, SIDE, SIGHT, TICKS = 200, 800, 1000, 50, 100
local BYTES = 4 -- each number as 32 bits

-- The same walk on every machine: Lehmer's generator.
local state = 7
local function random()
  state = state * 16807 % 2147483647
  return state / 2147483647
end

local space = aoi.new { delivery = "deferred" }
local near = neighbors.new(space)
local x, y = {}, {}
for id = 1, PLAYERS + NPCS do
  x[id], y[id] = random() * SIDE, random() * SIDE
  space:enter(id, x[id], y[id], id <= PLAYERS and PLAYER or NPC)
  if id <= PLAYERS then near:add(id, { radius = SIGHT, keep = SIGHT * 1.1 }) end
end

-- The other end of the wire: a picture for each player.
local pictures = {}
local drawing = pictures -- the picture that a message is about
local client = {}
function client.appeared(id, kind, px, py) drawing[id] = { kind = kind, x = px, y = py } end
function client.moved(id, px, py) drawing[id].x, drawing[id].y = px, py end
function client.disappeared(id) drawing[id] = nil end
for id = 1, PLAYERS do pictures[id] = {} end

local messages, sent, everybody = 0, 0, 0
local function send(player, message, n)
  messages, sent = messages + 1, sent + n * BYTES -- here you would pack the array and write it to a socket
  drawing = pictures[player]
  neighbors.read(message, 2, client)
end

for _ = 1, TICKS do
  local moves = 0
  for id = 1, PLAYERS + NPCS do
    if random() < 0.6 then -- the others stand still
      x[id] = math.min(SIDE, math.max(0, x[id] + (random() - 0.5) * 4))
      y[id] = math.min(SIDE, math.max(0, y[id] + (random() - 0.5) * 4))
      near:move(id, x[id], y[id])
      moves = moves + 1
    end
  end
  space:flush() -- the net events of the tick, into the lists
  near:sync(send) -- and out of them, one message a player
  everybody = everybody + PLAYERS * moves * 3 * BYTES -- every move to every player: id, x, y
end

local wrong, seen = 0, 0
for player, picture in pairs(pictures) do
  local list, n = space:view(player, near:node(player))
  for i = 1, n do
    local id, drawn = list[i], picture[list[i]]
    local same = drawn and drawn.x == x[id] and drawn.y == y[id] and drawn.kind == space:kind(id)
    wrong, seen, picture[id] = wrong + (same and 0 or 1), seen + 1, nil
  end
  for _ in pairs(picture) do wrong = wrong + 1 end
end
print(("%d players among %d walkers, %d ticks"):format(PLAYERS, PLAYERS + NPCS, TICKS))
print(("%d messages, %.1f bytes each; a player sees %.1f others"):format(messages, sent / messages, seen / PLAYERS))
print(("%d bytes instead of %d, %.1f%% saved"):format(sent, everybody, 100 - 100 * sent / everybody))
print(("the clients' pictures: %d differences"):format(wrong))
