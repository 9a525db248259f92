-- client_model.lua: a client that knows only its messages, and what those messages must amount to.
--
--   local c = client.new(dimensions)  c:apply(message)        c.known[id] = { kind, x, y [, z], fields, carrier }
--   local all = client.watch(map [, hear])                    all[id]: the one of that entity's client view, with fd
--   client.rounded(v, quantum)        a coordinate as it is told
local Sync = require "aoi.sync"

local client = {}
local Client = {}
Client.__index = Client

function client.new(dimensions)
  return setmetatable({ dimensions = dimensions, known = {}, touches = {}, into = {} }, Client)
end

-- A 32-bit float without string.pack: 24 bits of mantissa, ties to even.
local function float(v)
  if v == 0 or v ~= v then return v end
  local m, e
  if math.frexp then
    m, e = math.frexp(v)
  else
    e = math.floor(math.log(math.abs(v), 2)) + 1
    m = v / 2.0 ^ e
  end
  if e > 128 then return v end
  local scale = 2.0 ^ (e < -125 and e + 149 or 24)
  local n = m * scale
  local whole = math.floor(n)
  local rest = n - whole
  if rest > 0.5 or (rest == 0.5 and whole % 2 == 1) then whole = whole + 1 end
  return whole / scale * 2.0 ^ e
end

function client.rounded(v, quantum)
  if not quantum then return float(v) end
  return quantum * math.floor(v / quantum + 0.5)
end

-- Anew, gone, then appeared, then moved and touched: each must fit what is known.
function Client:apply(message)
  local news, why = Sync.read(message, self.into)
  assert(news, why)
  if news.anew then self.known = {} end
  local known, last, order = self.known, {}, {}
  for i = 1, news.gone.n do
    local id = news.gone[i]
    last[id] = assert(known[id], "gone, but not known: " .. id)
    known[id] = nil
    assert(news.gone.reasons[i] % 1 == 0)
  end
  local list = news.appeared
  local stride = self.dimensions + 2
  for i = 1, list.n * stride, stride do
    assert(not known[list[i]], "appeared, but known: " .. list[i])
    order[list[i]] = i
    known[list[i]] = { kind = list[i + 1], list[i + 2], list[i + 3], stride == 5 and list[i + 4] or nil, fields = {} }
  end
  list = news.moved
  stride = self.dimensions + 1
  for i = 1, list.n * stride, stride do
    local it = assert(known[list[i]], "moved, but not known")
    it[1], it[2], it[3], it.moved = list[i + 1], list[i + 2], stride == 4 and list[i + 3] or nil, news
  end
  list = news.touched
  for i = 1, 2 * list.n, 2 do
    assert(known[list[i]], "touched, but not known").kind = list[i + 1]
    self.touches[list[i]] = (self.touches[list[i]] or 0) + 1
  end
  list = news.riding
  stride = self.dimensions + 2
  for i = 1, list.n * stride, stride do
    local it, carrier = assert(known[list[i]], "rides, but not known"), list[i + 1]
    assert(carrier ~= 0 or it.moved == news, "lets go, but has no position")
    it.carrier = carrier ~= 0 and carrier or nil
    if carrier ~= 0 then it[1], it[2], it[3] = list[i + 2], list[i + 3], stride == 5 and list[i + 4] or nil end
    if order[list[i]] and carrier ~= self.id then
      assert(known[carrier] and (order[carrier] or 0) < order[list[i]], "appeared before its carrier")
    end
  end
  for id, it in pairs(known) do
    assert(not it.carrier or known[it.carrier] or it.carrier == self.id, "its carrier is gone: " .. id)
    assert(it.moved ~= news or not it.carrier, "moved, but rides")
    it.moved = nil
  end
  list = news.fields
  for i = 1, 2 * list.n, 2 do
    local fields = assert(known[list[i]] or last[list[i]], "state, but not known").fields
    for name, value in pairs(list[i + 1]) do fields[name] = value end
  end
  return news
end

-- Of all client views whose messages the map or the world gets. hear(id, news, fd): after each message.
function client.watch(map, hear)
  local all = {}
  map:on_client(function(id, bytes, fd)
    all[id] = all[id] or client.new(map.dimensions)
    all[id].fd = fd
    local news = all[id]:apply(bytes)
    if hear then hear(id, news, fd) end
  end)
  return all
end

return client
