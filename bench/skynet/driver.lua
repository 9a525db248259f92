-- A scene: walks all its entities once a tick and tells the service of the kind that is measured.
local skynet = require "skynet"

local kind = ...
local aoi = kind ~= "thirty" and kind ~= "single" and require "aoi.skynet"
local CMD = {}
local service, map, x, y, rows, count, side
local STEP = 2.5

local state = 42
local function random()
  state = state * 16807 % 2147483647
  return state / 2147483647
end

local function step(v) return math.min(side, math.max(0, v + (2 * random() - 1) * STEP)) end

-- What a tick of each kind does with positions.
local tells = {}

-- map:move for each entity, flush at the end.
function tells.aoi()
  for id = 1, count do
    x[id], y[id] = step(x[id]), step(y[id])
    map:move(id, x[id], y[id])
  end
  map:flush()
end

-- Rows in one table: `flush` takes them.
local function fill()
  for id = 1, count do
    x[id], y[id] = step(x[id]), step(y[id])
    local at = 3 * id
    rows[at - 2], rows[at - 1], rows[at] = id, x[id], y[id]
  end
end

function tells.rows()
  fill()
  map:flush(rows, count)
end

function tells.thirty()
  fill()
  skynet.send(service, "lua", "moves", rows)
end

tells.literal, tells.pair, tells.single = tells.aoi, tells.aoi, tells.thirty

function CMD.open(address, n, length)
  service, count, side = address, n, length
  x, y, rows, state = {}, {}, {}, 42
  for id = 1, n do x[id], y[id] = random() * side, random() * side end
  for id = 1, n do rows[3 * id - 2], rows[3 * id - 1], rows[3 * id] = id, x[id], y[id] end
  if aoi then
    map = aoi.open(service, "map", { engine = "grid", drive = true })
    map:enter_many(rows)
  else
    skynet.call(service, "lua", "enter_many", rows)
  end
end

-- n ticks; returns seconds by the clock, and how many ticks came late.
function CMD.walk(n, interval)
  local start, due, late = skynet.now(), skynet.now(), 0
  for _ = 1, n do
    tells[kind]()
    due = due + interval
    local left = due - skynet.now()
    if left < 0 then late = late + 1 end
    skynet.sleep(math.max(0, left))
  end
  return (skynet.now() - start) / 100, late
end

skynet.start(function()
  skynet.dispatch("lua", function(_, _, name, ...) skynet.ret(skynet.pack(CMD[name](...))) end)
end)
