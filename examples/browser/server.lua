-- server.lua [PORT [TICKS]]: a small game server for browsers: a field of walkers with names and health, each client a
-- player who sees what is near. Open the address that it prints; click to walk. It needs LuaSocket, luaossl and
-- dkjson, and runs from the root of the sources: eval "$(make -s env)"; lua5.4 examples/browser/server.lua
--
--   browser --GET /--> client.html, /aoi-sync.js
--           --WebSocket--> binary frames: messages of aoi.sync      text frames: the truth, as JSON, to compare with
--           <-- text frames "x y": where the player wants to go
local aoi = require "aoi"
local digest = require "openssl.digest"
local json = require "dkjson"
local mime = require "mime"
local socket = require "socket"
local sync = require "aoi.sync"

local PORT, TICKS = tonumber(arg[1]) or 8650, tonumber(arg[2]) or math.huge
local SIDE, WALKERS, VIEW, SPEED, TICK = 400, 80, 90, 6, 0.1
local NAMES = { "Ada", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gil", "Hana" }

local space = aoi.new { engine = "grid" }
local clients = sync.new(space, { quantum = 0.01, fields = { { "hp", "u8" }, { "name", "string" } } })
local walkers, players, next_id = {}, {}, 1

-- ---- the game -----------------------------------------------------------------------------------------------------

local function spawn(name)
  local it = { id = next_id, x = math.random() * SIDE, y = math.random() * SIDE, hp = 100, name = name }
  it.to_x, it.to_y = it.x, it.y
  next_id = next_id + 1
  walkers[it.id] = it
  space:enter(it.id, it.x, it.y)
  clients:put(it.id, "hp", it.hp)
  clients:put(it.id, "name", it.name)
  return it
end

local function step(it)
  local dx, dy = it.to_x - it.x, it.to_y - it.y
  local far = math.sqrt(dx * dx + dy * dy)
  if far < SPEED and not it.player then it.to_x, it.to_y = math.random() * SIDE, math.random() * SIDE end
  if far == 0 then return end
  local way = math.min(1, SPEED / far)
  it.x, it.y = it.x + dx * way, it.y + dy * way
  space:move(it.id, it.x, it.y)
end

local function hurt(it)
  it.hp = math.random(4) == 1 and 100 or math.max(0, it.hp - math.random(20))
  clients:put(it.id, "hp", it.hp)
end

-- ---- WebSocket (RFC 6455): whole messages, from a browser of at most 125 bytes, to one of 64 KiB ---------------

local TEXT, BINARY, CLOSE = 129, 130, 136 -- with the bit of the last fragment

-- What the server answers to Sec-WebSocket-Key.
local function accept_key(key)
  return (mime.b64(digest.new("sha1"):final(key .. "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")))
end

local function frame(kind, text)
  local n = #text
  local length = n < 126 and string.char(n) or string.char(126, math.floor(n / 256), n % 256)
  return string.char(kind) .. length .. text
end

local function xor(a, b)
  local sum, bit = 0, 1
  while a + b > 0 do
    if a % 2 ~= b % 2 then sum = sum + bit end
    a, b, bit = math.floor(a / 2), math.floor(b / 2), 2 * bit
  end
  return sum
end

-- Reads the next frame of a player: its kind and text; nothing while it is not complete, false if it is too long.
local function take_frame(player)
  local kind, length = player.input:byte(1, 2)
  local n = (length or 128) - 128 -- it is masked
  if n < 0 or n > 125 then return false end
  if not length or #player.input < 6 + n then return nil end
  local bytes = { player.input:byte(7, 6 + n) }
  for i, byte in ipairs(bytes) do bytes[i] = string.char(xor(byte, player.input:byte(3 + (i - 1) % 4))) end
  player.input = player.input:sub(7 + n)
  return kind, table.concat(bytes)
end

-- ---- browsers -----------------------------------------------------------------------------------------------------

local function read_file(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

local PAGES = {
  ["/"] = { "text/html; charset=utf-8", read_file "examples/browser/client.html" },
  ["/aoi-sync.js"] = { "text/javascript; charset=utf-8", read_file "js/aoi-sync.js" },
}

local function leave(player)
  if player.it then
    walkers[player.it.id] = nil
    space:leave(player.it.id) -- ends the client
  end
  player.socket:close()
  players[player] = nil
end

local function join(player, key)
  player.out = player.out .. "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
    .. "sec-websocket-accept: " .. accept_key(key) .. "\r\n\r\n"
  player.it = spawn "you"
  player.it.player = player
  clients:add(player.it.id, { shape = "circle", radius = VIEW, margin = 5 }, { self = true })
end

local function on_request(player)
  local head, rest = player.input:match "^(.-\r\n)\r\n(.*)$"
  if not head then return end
  player.input = rest
  local path, key = head:match "^GET (%S*)", head:lower():find "upgrade: websocket" and head:match "[Kk]ey: (%S+)"
  local page = PAGES[path] or { "text/plain", "nothing here\n" }
  if key then return join(player, key) end
  player.out = player.out .. ("HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s")
    :format(PAGES[path] and "200 OK" or "404 Not Found", page[1], #page[2], page[2])
  player.ends = true
end

local function on_frames(player)
  local kind, text = take_frame(player)
  while kind do
    local x, y = text:match "^(%S+) (%S+)$"
    x, y = tonumber(x), tonumber(y)
    if x and y and x - x == 0 and y - y == 0 then
      player.it.to_x, player.it.to_y = math.max(0, math.min(SIDE, x)), math.max(0, math.min(SIDE, y))
    end
    if kind == CLOSE then player.ends = true end
    kind, text = take_frame(player)
  end
  if kind == false then player.ends = true end
end

local function poll(player)
  local bytes, why, part = player.socket:receive(8192)
  player.input = player.input .. (bytes or part or "")
  if #player.input > 65536 then why = "closed" end
  if player.it then on_frames(player) else on_request(player) end
  if #player.out > 0 then
    local last, _, sent = player.socket:send(player.out)
    player.out = player.out:sub((last or sent or 0) + 1)
  end
  if why == "closed" or (player.ends and player.out == "") then leave(player) end
end

-- What is so on the server, for the right half of the page: after the tick, so that both halves are of the same one.
local function truth(player)
  local list = {}
  for id, it in pairs(walkers) do
    local sees = id == player.it.id or space:sees(player.it.id, clients:node(player.it.id), id)
    list[#list + 1] = { id, it.x, it.y, it.hp, it.name, sees and 1 or 0 }
  end
  return json.encode { me = player.it.id, side = SIDE, view = VIEW, all = list }
end

local MOST = 2 ^ 20 -- bytes that wait for a slow browser: beyond that it begins anew

local function tell(by_id, id, message)
  local player = by_id[id]
  if #player.out < MOST then player.out = player.out .. frame(BINARY, message) else clients:resend(id) end
end

local function tick()
  local by_id = {}
  for _, it in pairs(walkers) do
    step(it)
    if math.random(20) == 1 then hurt(it) end
    if it.player then by_id[it.id] = it.player end
  end
  clients:tick(function(id, message) tell(by_id, id, message) end)
  for _, player in pairs(by_id) do
    if #player.out < MOST then player.out = player.out .. frame(TEXT, truth(player)) end
  end
end

for i = 1, WALKERS do spawn(NAMES[i % #NAMES + 1] .. " " .. i) end
local listener = assert(socket.bind("127.0.0.1", PORT))
listener:settimeout(0)
print(("http://127.0.0.1:%d/"):format(select(2, listener:getsockname())))
io.stdout:flush()
local due = socket.gettime()
while TICKS > 0 do
  local accepted = listener:accept()
  if accepted then
    accepted:settimeout(0)
    local player = { socket = accepted, input = "", out = "" }
    players[player] = player
  end
  local now = {}
  for player in pairs(players) do now[#now + 1] = player end
  for _, player in ipairs(now) do poll(player) end
  if socket.gettime() >= due then
    tick()
    due, TICKS = due + TICK, TICKS - 1
  end
  socket.sleep(0.004)
end
