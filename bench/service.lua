-- What the AOI service sends in a tick, and what it costs, without skynet: all entities walk, some are watched.
--
--   lua bench/service.lua [entities [subscribers [ticks]]]         default: 5000 500 100
--
-- Compared with a message for each move and each event, as services send them that pack calls one by one:
-- ("move", id, x, y) and ("enter", watcher, target, node) in the sizes of skynet.pack.

local aoi = require "aoi"
local Client = require "aoi.skynet.client"
local Server = require "aoi.skynet.server"

local ENTITIES, SUBSCRIBERS, TICKS = tonumber(arg[1]) or 5000, tonumber(arg[2]) or 500, tonumber(arg[3]) or 100
local RADIUS, STEP = 50, 2.5
local WARM_UP = 10

-- The same walk for everybody: Lehmer's generator.
local state = 42
local function random()
  state = state * 16807 % 2147483647
  return state / 2147483647
end

-- skynet.pack: a byte for the type and the small things, then the number or the text.
local function integer_size(v)
  if v == 0 then return 1 end
  if v < 0 then return v >= -0x80000000 and 5 or 9 end
  return v < 0x100 and 2 or v < 0x10000 and 3 or v < 0x80000000 and 5 or 9
end

local function event_size(kind, watcher, target, node)
  return 1 + #kind + integer_size(watcher) + integer_size(target) + integer_size(node)
end

-- A walk with `neighbours` in the square of each node, delivered by this engine.
local function run(neighbours, engine)
  state = 42
  local side = 2 * RADIUS * math.sqrt(ENTITIES / neighbours)
  local x, y = {}, {}
  local mailbox, count = {}, 0
  local server = Server.new {
    send = function(address, message)
      count = count + 1
      mailbox[count] = { address, message }
      return true
    end,
    now = os.clock,
  }
  local receiving, events, single_events = 0, 0, 0
  local clients = {}
  local function client(address)
    clients[address] = Client.new {
      send = function(message) assert(server:receive(address, message)) return true end,
      call = function(...) return server:call(address, ...) end,
      log = error,
    }
    return clients[address]
  end

  local scene = client(1):open("map", { engine = engine })
  for id = 1, ENTITIES do
    x[id], y[id] = random() * side, random() * side
    scene:enter(id, x[id], y[id])
  end
  local on = {
    enter = function(watcher, target, node)
      events = events + 1
      single_events = single_events + event_size("enter", watcher, target, node)
    end,
    leave = function(watcher, target, node)
      events = events + 1
      single_events = single_events + event_size("leave", watcher, target, node)
    end,
  }
  for i = 1, SUBSCRIBERS do client(i + 1):open("map"):add_node(i, 1, RADIUS, on) end

  local moving, ticking, messages, bytes, moved_bytes, single_moves = 0, 0, 0, 0, 0, 0
  local sent_garbage, read_garbage = 0, 0
  local send = clients[1].send
  clients[1].send = function(message)
    moved_bytes = moved_bytes + #message
    return send(message)
  end
  for tick = 1 - WARM_UP, TICKS do
    if tick == 1 then
      moving, ticking, receiving, messages, bytes, moved_bytes, single_moves = 0, 0, 0, 0, 0, 0, 0
      events, single_events, sent_garbage, read_garbage = 0, 0, 0, 0
    end
    for id = 1, ENTITIES do
      x[id] = math.min(side, math.max(0, x[id] + (2 * random() - 1) * STEP))
      y[id] = math.min(side, math.max(0, y[id] + (2 * random() - 1) * STEP))
      scene:move(id, x[id], y[id])
      single_moves = single_moves + 1 + #"move" + integer_size(id) + 9 + 9
    end
    collectgarbage()
    collectgarbage("stop")
    local held = collectgarbage("count")
    local start = os.clock()
    scene:flush()
    local flushed = os.clock()
    server:tick()
    local ticked = os.clock()
    local left = collectgarbage("count")
    for i = 1, count do
      local address, message = mailbox[i][1], mailbox[i][2]
      messages, bytes = messages + 1, bytes + #message
      assert(clients[address]:receive(message))
      mailbox[i] = nil
    end
    count = 0
    moving, ticking = moving + flushed - start, ticking + ticked - flushed
    receiving = receiving + os.clock() - ticked
    sent_garbage, read_garbage = sent_garbage + left - held, read_garbage + collectgarbage("count") - left
    collectgarbage("restart")
  end
  assert(server.post:counters() == 0 and scene:check())

  local function ms(seconds) return 1000 * seconds / TICKS end
  print(("%-8s %4d in view %8.1f events a tick"):format(engine, neighbours, events / TICKS))
  print(("  to subscribers     %8.1f messages %9.0f bytes    one by one %8.1f messages %9.0f bytes")
    :format(messages / TICKS, bytes / TICKS, events / TICKS, single_events / TICKS))
  print(("  from the scene     %8.1f messages %9.0f bytes    one by one %8.1f messages %9.0f bytes")
    :format(1, moved_bytes / TICKS, ENTITIES, single_moves / TICKS))
  print(("  CPU ms a tick      %8.3f packing and moving all %6.3f draining, sorting, packing %6.3f in all subscribers")
    :format(ms(moving), ms(ticking), ms(receiving)))
  print(("  garbage KB a tick  %8.1f in scene and service %8.1f in all subscribers")
    :format(sent_garbage / TICKS, read_garbage / TICKS))
end

print(("%s, %d entities, %d subscribers with a node each, steps of up to %g, %d ticks")
  :format(_VERSION, ENTITIES, SUBSCRIBERS, STEP, TICKS))
local engines = {}
for _, engine in ipairs(aoi.engines()) do engines[engine] = true end
for _, engine in ipairs { "list", "grid" } do
  if engines[engine] then
    run(20, engine)
    run(100, engine)
  end
end
