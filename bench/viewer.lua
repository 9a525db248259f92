-- What the live viewer costs its host: a deferred space in which all walk, a tick alone and the poll after it, while
-- nobody looks and while a page does. The page is a process of its own that reads all it is sent.
--
--   lua bench/viewer.lua [entities [ticks]]         default: 10000 100; needs LuaSocket

local aoi = require "aoi"
local socket = require "socket"
local viewer = require "aoi.viewer"

local N, TICKS = tonumber(arg[1]) or 10000, tonumber(arg[2]) or 100
local RADIUS, STEP, NEIGHBOURS, IDLE = 50, 2.5, 20, 100000
local SIDE = 2 * RADIUS * math.sqrt(N / NEIGHBOURS)

local READER = [[
local socket = require "socket"
local s = assert(socket.connect("127.0.0.1", %d))
s:send("GET /stream?key=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
while s:receive(65536) do end]]

-- The least and the median.
local function sorted(list)
  table.sort(list)
  return list[1], list[math.ceil(#list / 2)]
end

local function run(engine)
  math.randomseed(42)
  local space = aoi.new { engine = engine, delivery = "deferred" }
  local rows, events = {}, {}
  for id = 1, N do
    local x, y = math.random() * SIDE, math.random() * SIDE
    rows[3 * id - 2], rows[3 * id - 1], rows[3 * id] = id, x, y
    space:enter(id, x, y)
    space:add_node(id, 1, RADIUS)
  end
  local server = assert(viewer.serve(space, { port = 0 }))
  local function tick()
    for at = 1, 3 * N, 3 do
      for axis = 1, 2 do
        rows[at + axis] = math.min(SIDE, math.max(0, rows[at + axis] + (2 * math.random() - 1) * STEP))
      end
    end
    local start = socket.gettime()
    space:move_many(rows)
    local _, n = space:drain(events)
    return socket.gettime() - start, n
  end

  -- A host that loops as fast as it can, with nobody looking; then one of ten ticks a second.
  local start = socket.gettime()
  for _ = 1, IDLE do server:poll() end
  local nobody = (socket.gettime() - start) / IDLE
  local ticks, frames, count, sent = { {}, {} }, {}, 0, 0
  local reader
  for round = 1, 2 do
    if round == 2 then
      local path = os.tmpname()
      local file = assert(io.open(path, "w"))
      file:write(READER:format(server.port))
      file:close()
      reader = io.popen(("%s %s 2>&1; rm %s"):format(arg[-1], path, path), "r")
      while server:poll() == 0 do socket.sleep(0.01) end
    end
    local next_tick = socket.gettime()
    for i = 1, TICKS do
      ticks[round][i], count = tick()
      local due = round == 2 and socket.gettime() >= server.clients[1].due
      start = socket.gettime()
      server:poll()
      local spent = socket.gettime() - start
      while due and server.clients[1].out ~= "" do -- what did not fit into the socket's buffer
        socket.sleep(0.001)
        start = socket.gettime()
        server:poll()
        spent = spent + socket.gettime() - start
      end
      if due then
        sent = sent + 1
        frames[sent] = spent
      end
      next_tick = next_tick + 0.1
      socket.sleep(math.max(0, next_tick - socket.gettime()))
    end
  end
  server:close()
  reader:close()
  local least, middle = sorted(ticks[1])
  local frame, frame_middle = sorted(frames)
  local share = sent / TICKS
  print(("%-9s tick %6.0f us (%6.0f), %5d events; nobody looks: %.1f us a poll; a page: %4.0f us a frame (%5.0f), "
    .. "%.2f frames a tick: %.1f %% of a tick"):format(engine, least * 1e6, middle * 1e6, count, nobody * 1e6,
    frame * 1e6, frame_middle * 1e6, share, 100 * share * frame / least))
  space:close()
end

print(("%s, %d entities, %d ticks, one page; the least, and in brackets the median"):format(_VERSION, N, TICKS))
for _, engine in ipairs { "list", "grid", "tower", "quadtree" } do run(engine) end
