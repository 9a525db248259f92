-- clients.lua [CLIENTS NEIGHBOURS TICKS]: 300 clients who see 60 others each, told by aoi.sync: CPU and bytes. The
-- scene of bench/colyseus.js, which is for another library, with the same random numbers.
local aoi = require "aoi"
local sync = require "aoi.sync"

local P, D, TICKS = tonumber(arg[1]) or 300, tonumber(arg[2]) or 60, tonumber(arg[3]) or 100
local R = 50
local side = 0.84 * math.sqrt(P * (2 * R) ^ 2 / D) -- at the borders less is in view
local seed
local function random()
  seed = seed * 16807 % 2147483647
  return (seed - 1) / 2147483646
end

local function run(title, options)
  local space, x, y = aoi.new { engine = "grid" }, {}, {}
  seed = 3 % 2147483646 + 1
  local s = sync.new(space, options)
  for id = 1, P do
    x[id], y[id] = random() * side, random() * side
    space:enter(id, x[id], y[id])
    s:put(id, "hp", 100)
    s:put(id, "name", "player " .. id)
  end
  for id = 1, P do s:add(id, R) end
  local picture, into, bytes, pairs_seen = {}, {}, 0, 0
  local function take(id, message)
    bytes = bytes + #message
    if id ~= 1 then return end
    local news = assert(sync.read(message, into))
    for i = 1, news.gone.n do picture[news.gone[i]] = nil end
    for i = 1, 4 * news.appeared.n, 4 do picture[news.appeared[i]] = {} end
    for i = 1, 2 * news.fields.n, 2 do
      for name, value in pairs(news.fields[i + 1]) do picture[news.fields[i]][name] = value end
    end
  end
  s:tick(take)
  bytes = 0
  local change, encode, clock = math.huge, math.huge, os.clock
  for _ = 1, TICKS do
    local a = clock()
    for id = 1, P do
      x[id] = math.min(side, math.max(0, x[id] + (random() * 2 - 1) * 2.5))
      y[id] = math.min(side, math.max(0, y[id] + (random() * 2 - 1) * 2.5))
      space:move(id, x[id], y[id])
      if random() < 0.1 then s:put(id, "hp", math.floor(random() * 1000)) end
    end
    local b = clock()
    s:tick(take)
    local c = clock()
    change, encode = math.min(change, b - a), math.min(encode, c - b)
    for id = 1, P do pairs_seen = pairs_seen + select(2, s:known(id)) end
  end
  local wrong, n = 0, 0
  for id, it in pairs(picture) do
    n = n + 1
    if it.hp ~= s:get(id, "hp") or it.name ~= "player " .. id then wrong = wrong + 1 end
  end
  print(("%s: %d clients, %.2f in view; ms a tick: changes, and who is in view %.2f, encoding %.2f; "
    .. "%.2f bytes a client and tick; %d wrong of %d with the first client"):format(title, P, pairs_seen / TICKS / P,
    change * 1e3, encode * 1e3, bytes / TICKS / P, wrong, n))
  s:close()
end

local fields = { { "hp", "u16" }, { "name", "string" } }
run("aoi.sync, floats", { fields = fields })
run("aoi.sync, quantum 0.01", { fields = fields, quantum = 0.01 })
