-- transport.lua: services that send each other messages, all in one process; random, but the same for the same seed.
--
-- A step delivers the first message of some line (lines.lua). A service may be slow (stall), gone (kill: its senders
-- notice) or lost (its senders notice nothing). `time` moves only when a spec moves it.
--
--   local net = transport.new(seed)
--   local server = net:serve(1, { window = 4 })       the AOI service's logic, at address 1
--   local client = net:client(2, 1)                   the client library's logic, at address 2, for service 1
--   net:run(function() ... client:open "map" ... end) as a coroutine, until nothing is on its way any more
--   net:flush(map, rows), net:raises(pattern, f, ...), net:tick(server)     the same with what is done most

local luassert = require "luassert"
local lines = require "spec.support.lines"
local rng = require "spec.support.rng"

local transport = {}
local Network = {}
Network.__index = Network

local resume = lines.resume
local unpack = table.unpack or unpack -- luacheck: ignore

function transport.new(seed)
  return setmetatable({
    lines = lines.new(rng.new(seed or 1)), services = {}, stalled = {}, lost = {}, waiting = {}, asked = 0, time = 0,
    bytes = 0,
  }, Network)
end

-- What a service has forked runs when the message has been dispatched, as in skynet.
local function run_forks(service)
  while service and service.forks and service.forks[1] do table.remove(service.forks, 1)() end
end

local function spawn(f, ...)
  resume(coroutine.create(f), ...)
end

-- Returns true, or nil if there is no service at that address.
function Network:send(from, to, message)
  if self.lost[to] then return true end
  if not self.services[to] then return nil end
  self.bytes = self.bytes + #message
  self.lines:put(from, to, { message = message })
  return true
end

-- Waits for the answer, in a coroutine; nil and a reason if there is no service.
function Network:call(from, to, ...)
  if not self.services[to] then return nil, "the service is gone" end
  self.asked = self.asked + 1
  local co = assert(coroutine.running())
  self.waiting[self.asked] = { co = co, from = from, to = to }
  self.lines:put(from, to, { request = self.asked, n = select("#", ...), ... })
  return coroutine.yield()
end

local function answer(self, line, item, ...)
  self.lines:put(line.to, line.from, { response = item.request, n = select("#", ...), ... })
end

local function dispatch(self, line, item)
  local service = self.services[line.to]
  if item.response then
    local waiting = self.waiting[item.response]
    self.waiting[item.response] = nil
    if waiting then resume(waiting.co, unpack(item, 1, item.n)) end
  elseif service and item.request then
    answer(self, line, item, service.call(line.from, unpack(item, 1, item.n)))
  elseif service then
    spawn(service.receive, line.from, item.message)
  end
end

local function arrive(self, line, item)
  local service = self.services[line.to]
  dispatch(self, line, item)
  run_forks(service)
end

-- Delivers one message; returns whether there was one.
function Network:step()
  local item, line = self.lines:take(function(to) return self.stalled[to] end)
  if item then arrive(self, line, item) end
  return item ~= nil
end

-- Runs f, if given, and delivers until no message is under way to a service that takes it.
function Network:run(f)
  local result
  if f then spawn(function() result = { f() } end) end
  repeat until not self:step()
  if f then
    assert(result, "it still waits for an answer")
    return unpack(result)
  end
end

function Network:stall(address) self.stalled[address] = true end

function Network:resume(address) self.stalled[address] = nil end

local function forget(self, address)
  self.services[address] = nil
  for _, line in ipairs(self.lines.order) do
    if line.to == address then
      for i = line.first, line.last do line[i] = nil end
      line.first, line.last = 1, 0
    end
  end
  for id, waiting in pairs(self.waiting) do
    if waiting.from == address then self.waiting[id] = nil end
  end
end

-- Dies; calls that wait for its answer fail, and sending to it returns nil.
function Network:kill(address)
  forget(self, address)
  local orphans = {}
  for id, waiting in pairs(self.waiting) do
    if waiting.to == address then orphans[#orphans + 1] = id end
  end
  table.sort(orphans)
  for _, id in ipairs(orphans) do
    local co = self.waiting[id].co
    self.waiting[id] = nil
    resume(co, nil, "the service is gone")
  end
end

-- Dies unnoticed, as on another machine.
function Network:lose(address)
  forget(self, address)
  self.lost[address] = true
end

-- The logic of the AOI service at this address.
function Network:serve(address, options)
  local given = {
    send = function(to, message) return self:send(address, to, message) end,
    now = function() return self.time end,
    clock = function() return 0 end,
  }
  for name, value in pairs(options or {}) do given[name] = value end
  local server = require("aoi.skynet.server").new(given)
  self.services[address] = {
    receive = function(from, message) assert(server:receive(from, message)) end,
    call = function(from, ...) return server:call(from, ...) end,
  }
  return server
end

-- The logic of the client library at this address. What it logs is in client.logged.
--- watched: as in skynet, nothing is forked in advance; what a handler holds up is noticed when it waits.
function Network:client(address, service, watched)
  local logged, forks = {}, {}
  local client = require("aoi.skynet.client").new {
    fork = function(f) forks[#forks + 1] = function() spawn(f) end end,
    send = function(message) return self:send(address, service, message) end,
    call = function(...) return self:call(address, service, ...) end,
    log = function(text) logged[#logged + 1] = text end,
    watched = watched,
  }
  client.logged = logged
  self.lost[address] = nil
  self.services[address] = {
    forks = forks,
    receive = function(_, message)
      local done = false
      if watched then forks[1] = function() return done or spawn(client.continue) end end
      assert(client:receive(message))
      done = true
    end,
    call = function() return false, "this is no server" end,
  }
  return client
end

-- Sends these moves, rows of id, x, y [, z].
function Network:flush(map, rows)
  self:run(function() map:flush(rows) end)
end

-- f(...) raises an error that matches.
function Network:raises(pattern, f, ...)
  local arguments = table.pack(...)
  local ok, err = self:run(function() return pcall(f, table.unpack(arguments, 1, arguments.n)) end)
  luassert.is_false(ok)
  luassert.matches(pattern, err)
end

-- One tick of the server, and everything that it causes.
function Network:tick(server)
  server:tick()
  self:run()
end

return transport
