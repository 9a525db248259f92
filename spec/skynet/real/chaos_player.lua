-- A client under chaos (chaos.lua): it enters and moves entities, watches with nodes and client views, whose events go
-- to itself or to another such service of its process, and keeps what it has asked for and what it has heard. A gate
-- only hears. Ids are used again by the client alone that had them, and only odd ones: what refers to an entity of
-- others, or to a target, names even ones, so that it is known when it ends.
local skynet = require "skynet"
local aoi = require "aoi.skynet"
local Client = require "spec.support.client_model"
local asking = require "asking"
local viewed = require "viewed"

local serial, seed, side, role, source, main = ...
serial, side, main = math.tointeger(tonumber(serial)), tonumber(side), tonumber(main)
math.randomseed(math.tointeger(tonumber(seed)))

local random, NODE, RADIUS, MARGIN, MOST = math.random, skynet.getenv "node", 50, 5, 40
local map, peers, handlers = nil, {}, {}
local own, foreign, heard, pictures, lost -- of one life of the map: by id, by id and node
local last, version, halted, resting, stepping, slow = 100000 * serial, 0, true, true, false, false
local CMD, MADE, DO = {}, {}, {}

local function differs(format, ...)
  skynet.send(main, "lua", "differs", ("service %d: " .. format):format(serial, ...))
end

local function where(address) return ("%s:%08x"):format(NODE, address or skynet.self()) end

--- New code in the table of handlers that is there: the former one is called no more.
function CMD.reload()
  version = version + 1
  local this = version
  for name, is_enter in pairs { enter = true, leave = false } do
    handlers[name] = function(watcher, target, node)
      local key = watcher .. "/" .. node
      local set = heard[key] or {}
      heard[key] = set
      if (set[target] == nil) ~= is_enter then differs("%s of %d by %s twice", name, target, key) end
      if this ~= version then differs("%s of %d by %s is that of former code", name, target, key) end
      set[target] = is_enter or nil
      if slow and random(20) == 1 then skynet.sleep(random(30)) end
    end
  end
end

local function on_client(id, bytes)
  pictures[id] = pictures[id] or Client.new(2)
  local ok, err = pcall(pictures[id].apply, pictures[id], bytes)
  if not ok then differs("picture of %d: %s", id, err) end
end

-- What has ended may be what a request asks for whose answer is still to come.
local function on_view_lost(id, node)
  lost[id .. "/" .. (node or "view")] = true
  if node and own[id] then own[id].nodes[node] = nil end
  if node and foreign[id] then foreign[id][node] = nil end
  if not node and own[id] then own[id].view = nil end
end

local function on_refused(ids, n)
  for i = 1, n do
    if own[ids[i]] then differs("a move of %d is refused, which is there", ids[i]) end
  end
end

local function open()
  if source == "world" then return aoi.world "earth" end
  if role == "gate" then return aoi.gate(source) end
  return aoi.open(source, "earth", { engine = "grid", quantum = viewed.quantum, fields = viewed.fields })
end

-- A new life of the map: nothing of the former one is left.
local function begin()
  local ok, new = pcall(open)
  if not ok then
    skynet.sleep(20)
    return begin()
  end
  own, foreign, heard, pictures, lost = {}, {}, {}, {}, {}
  new:listen(handlers)
  new:on_client(on_client)
  if new.move then
    new:on_view_lost(on_view_lost)
    new:on_taken(function(id) own[id] = nil end)
    new:on_refused(on_refused)
  end
  map = new
end

local EXPECTED = { "no entity", "has no node", "already has", "is no client", "no service", "has not opened" }

-- Whether the request was accepted. What others do meanwhile may forbid it, the end of the map, and nothing else.
local function ask(name, ...)
  local m = map
  local ok, err = pcall(m[name], m, ...)
  if ok then return true end
  for _, words in ipairs(EXPECTED) do
    if tostring(err):find(words, 1, true) then return false end
  end
  if not m.closed then differs("%s: %s", name, err) end
  return false
end

-- Requests of asking.lua, and what they make of what this service has.
function MADE.put(e, name, value) e[name] = value end
function MADE.set_kind(e, kind) e.kind = kind end
function MADE.set_priority(e, p) e.priority = p end
function MADE.set_view(e, i, area) if e.view then e.view.areas[i] = area end end
function MADE.override(e, node, target, how) if e.nodes[node] then e.nodes[node].overrides[target] = how end end
function MADE.set_client(e, options)
  for name, value in pairs(e.view and options or {}) do e.view.options[name] = value or nil end
end

local function ask_and_note(_, name, id, ...)
  local e = own[id]
  if name == "override" and select(2, ...) % 2 == 1 or not e then return end
  if ask(name, id, ...) and MADE[name] then MADE[name](e, ...) end
end

local function pick(list) return list[random(math.max(1, #list))] end

-- An entity of others, whose end is known; or nil.
local function other(id)
  local target = pick((map:ids()))
  return target and target % 2 == 0 and target ~= id and target or nil
end

local function area()
  return { radius = random(20, RADIUS), margin = random(2) == 1 and MARGIN or nil,
           shape = random(2) == 1 and "circle" or nil, mask = random(3) == 1 and random(7) or nil }
end

local function node_of(a, to) return { area = a, to = where(to), overrides = {} } end

-- The area and options of a client view, with the receiver of its messages, and what becomes of it.
local function view()
  local a, options = viewed.area(random, RADIUS, MARGIN), viewed.options(random)
  options.to = random(2) == 1 and pick(peers) or nil
  return a, options, function(e, id)
    local to = where(options.to)
    options.to = nil
    e.view = not lost[id .. "/view"] and { areas = a[1] and a or { a }, options = options, to = to, pins = {} } or nil
  end
end

-- A number that no entity had, or this one.
local function new_entity(id)
  last = last + (id and 0 or 1)
  return id or last, { x = random() * side, y = random() * side, kind = random(7), nodes = {} }
end

function DO.enter(again)
  local id, e = new_entity(again)
  if ask("enter", id, e.x, e.y, e.kind) then own[id] = e end
end

function DO.join()
  local id, e = new_entity()
  local a, views, options, begins = area(), view()
  local nodes = { { 1, a, handlers } }
  if ask("join", { id = id, x = e.x, y = e.y, kind = e.kind, nodes = nodes, view = { views, options } }) then
    e.nodes[1] = node_of(a)
    begins(e, id)
    own[id] = e
  end
end

function DO.leave(id)
  if not ask("leave", id) then return end
  own[id] = nil
  if id % 2 == 1 and random(2) == 1 then DO.enter(id) end
end

-- A node that is there is removed, any other added.
local function toggle(id, node, nodes)
  local a, to, key = area(), random(2) == 1 and pick(peers) or nil, id .. "/" .. node
  if not nodes[node] then
    lost[key] = nil
    if ask("add_node", id, node, a, handlers, { to = to }) and not lost[key] then nodes[node] = node_of(a, to) end
  elseif ask("remove_node", id, node) then
    nodes[node] = nil
  end
end

function DO.node(id, e) toggle(id, random(4), e.nodes) end

function DO.area(id, e)
  local node, its = next(e.nodes)
  local a = area()
  if node and ask("set_area", id, node, a) then its.area = a end
end

function DO.foreign()
  local id = other()
  if not id or own[id] then return end
  foreign[id] = foreign[id] or {}
  toggle(id, 1000 * serial + random(2), foreign[id])
end

function DO.view(id, e)
  local a, options, begins = view()
  if not e.view then
    lost[id .. "/view"] = nil
    if ask("add_client", id, a, options) then begins(e, id) end
  elseif ask("remove_client", id) then
    e.view = nil
  end
end

function DO.to(id, e)
  local to = pick(peers) or skynet.self()
  if e.view and ask("set_client", id, { to = to }) and e.view then e.view.to = where(to) end
end

function DO.pin(id, e)
  local its, target = e.view, other(id)
  if not its or not target then return end
  local is = its.pins[target]
  if ask(is and "unpin" or "pin", id, target) then its.pins[target] = not is or nil end
end

function DO.broadcast(id) ask("broadcast", id, "hello") end

function DO.asking()
  local views, nodes = {}, {}
  for id, e in pairs(own) do
    if e.view and not e.offered then views[#views + 1] = id end
    if next(e.nodes) and not e.offered then nodes[#nodes + 1] = { id, (next(e.nodes)) } end
  end
  asking.random(ask_and_note, map, views, nodes, RADIUS)
end

function DO.reopen()
  if random(20) > 1 then return end
  map:close()
  begin()
end

local NAMES = { "enter", "enter", "join", "leave", "node", "node", "area", "foreign", "view", "to", "pin", "broadcast",
                "asking", "asking", "asking", "asking", "reopen" }

local function walk()
  local ids = {}
  for id, e in pairs(own) do
    if not e.offered then
      ids[#ids + 1] = id
      if random(100) == 1 then e.x, e.y = random() * side, random() * side end
      e.x = math.min(side, math.max(0, e.x + 8 * random() - 4))
      e.y = math.min(side, math.max(0, e.y + 8 * random() - 4))
      map:move(id, e.x, e.y)
    end
  end
  map:flush()
  return ids
end

local function step()
  local ids = walk()
  for _ = 1, random(3) do
    local name, id = pick(NAMES), pick(ids)
    if name == "leave" and #ids < MOST / 2 or not id or not own[id] or own[id].offered then name = "enter" end
    if (name == "enter" or name == "join") and #ids >= MOST then name = "leave" end
    if name == "enter" then DO.enter() else DO[name](id, own[id]) end
  end
end

-- Of an error only one is expected: that the map has ended.
local function live()
  begin()
  while true do
    local m = map
    resting = halted
    if m.closed then
      begin()
    elseif not halted and role ~= "gate" then
      stepping = true
      local ok, err = pcall(step)
      stepping = false
      if not ok and not m.closed then differs("%s", err) end
    end
    skynet.sleep(random(5, 10))
  end
end

function CMD.peers(list, walks) peers, halted = list, halted and not walks end
function CMD.slow(how) slow = how end
function CMD.halt()
  halted, slow = true, false
  while not resting do skynet.sleep(1) end
end
--- Where they stand, once more.
function CMD.again()
  if map.closed or role == "gate" then return end
  for id, e in pairs(own) do map:move(id, e.x, e.y) end
  map:flush()
end
function CMD.flood()
  for _ = 1, 100 do
    if map.closed or not pcall(walk) then return end
  end
end
function CMD.busy()
  local till = skynet.hpc() + 400000000
  while skynet.hpc() < till do end -- luacheck: ignore
end

--- An entity that another service may take over: what it is, or nil. It is left as it is until `withdraw`; no request
-- that concerns it is under way.
function CMD.offer()
  while stepping do skynet.sleep(1) end
  local id, e = next(own)
  if not id or e.offered then return end
  e.offered = true
  if not pcall(map.tick, map) then e.offered = nil end
  return e.offered and own[id] == e and id or nil, e
end
function CMD.take(id, e)
  local mine = own
  local ok, x, y = pcall(map.take_over, map, id)
  if not ok then return false end
  if x ~= e.x or y ~= e.y then differs("%d is taken over at another place", id) end
  mine[id] = { x = e.x, y = e.y, kind = e.kind, hp = e.hp, name = e.name, bag = e.bag, priority = e.priority,
               nodes = {} }
  return true
end
function CMD.withdraw(id, taken)
  local e, till = own[id], skynet.now() + 1000
  while taken and e and own[id] == e and not map.closed do
    if skynet.now() > till then return differs("on_taken of %d does not come", id) end
    skynet.sleep(1)
  end
  if e then e.offered = nil end
end

--- All that this service has, and has heard.
function CMD.report()
  local known = {}
  for id, picture in pairs(pictures) do known[id] = picture.known end
  for id, e in pairs(own) do
    e.got = e.hp and select(2, pcall(map.get, map, id, "hp"))
    for node, its in pairs(e.nodes) do
      its.seen = its.to == where() and select(3, pcall(map.seen, map, id, node)) or nil
    end
  end
  return { where = where(), closed = map.closed, own = own, foreign = foreign, heard = heard, pictures = known,
           count = map.count and select(2, pcall(map.count, map)) }
end
function CMD.quit() skynet.timeout(1, skynet.exit) end

CMD.reload()
skynet.start(function()
  skynet.dispatch("lua", function(session, _, name, ...)
    local result = table.pack(CMD[name](...))
    if session ~= 0 then skynet.retpack(table.unpack(result, 1, result.n)) end
  end)
  skynet.fork(live)
end)
