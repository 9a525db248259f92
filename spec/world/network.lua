-- network.lua: a world of several processes in one: exchanges, shards and clients that send each other messages;
-- random, but the same for the same seed. Messages between two arrive in order, others in any; calls between
-- processes may fail before or after they have been served. Deaths are found as in skynet: nothing says that a service
-- is dead but that a message to it cannot be sent, and that a call to it fails, unless it had begun to serve that.
--
--   local net = network.new { seed = 1, plan = ..., processes = { 2, 2, 0 } }      shards of each process
--   local member = net:member(2)                              a client in process 2
--   net:spawn(function() member:enter(...) end)               in a coroutine
--   net:run(seconds)
local Exchange = require "aoi.skynet.world.exchange"
local changes = require "aoi.skynet.world.changes"
local director = require "aoi.skynet.world.director"
local Line = require "aoi.skynet.world.line"
local Shard = require "aoi.skynet.world.shard"
local lines = require "spec.support.lines"
local rng = require "spec.support.rng"
local tiles = require "aoi.skynet.world.tiles"
local wire = require "aoi.skynet.wire"
local world_client = require "spec.support.world_client"

local resume = lines.resume

local network = {}
local Network = {}
Network.__index = Network

-- f(...) runs when it arrives.
local function post(self, from, to, f, ...)
  local item = { f = f, arguments = table.pack(...) }
  self.lines:put(from, to, item)
  return item
end

function Network:spawn(f, ...)
  self.running = self.running + 1
  resume(coroutine.create(function(...)
    f(...)
    self.running = self.running - 1
  end), ...)
end

local function process_of(place) return tonumber(place:match("^r?%a(%d+)")) end

local function dead(self, place) return self.killed[process_of(place)] or self.killed[place] end

-- options: lose = share of calls that fail.
local function call(self, from, to, batch, done)
  local a, b, random = "x" .. from, "x" .. to, self.random
  local function fail(text) post(self, b, a, done, false, text) end
  local parted = self.parted and self.parted[from] ~= self.parted[to] or self.torn and self.torn[from] and self.torn[to]
  if parted then return fail("no route to host") end
  if dead(self, b) and self.again[self.processes[to].name] then
    return post(self, b, a, done, true, { boot = false, again = true, reason = "another life" })
  end
  if dead(self, b) or not self.exchanges[to] then
    return fail(self.killed[to] and "connection refused" or "call failed")
  end
  local what = random() < self.lose and random(2) or 0
  if what == 1 then return fail("lost before") end
  local served = { fail = fail }
  self.calls[to][served] = true
  post(self, a, b, function()
    local exchange = self.exchanges[to]
    local answer = Line.refusal(batch, self.processes[to].boot)
      or exchange:step(exchange.receive, exchange, from, batch) or exchange:receive(from, batch)
    self.calls[to][served] = nil
    if what == 2 then return fail("lost after") end
    post(self, b, a, done, true, answer)
  end).lost = function()
    self.calls[to][served] = nil
    fail("call failed")
  end
end

-- The service of an instance of a shard.
local function place_of(process, shard, term) return ("s%d_%dt%d"):format(process, shard, term) end

local function send_shard(self, process, shard, verb, ...)
  local x, s, arguments = "x" .. process, self.addresses[process][shard], table.pack(...)
  local asked = self.asked[s] or {}
  self.asked[s] = asked
  if dead(self, s) then
    if verb == "request" then post(self, x, x, arguments[1], nil) end
    return nil
  end
  if self.looping[s] then return true end
  if verb == "admit" then -- in skynet it precedes all that the client sends because of it
    self.logics[s]:admit(...)
    return true
  end
  if verb == "request" then asked[arguments[1]] = true end
  post(self, x, s, function()
    local logic, exchange = self.logics[s], self.exchanges[process]
    local function back(name, ...)
      post(self, s, x, function(...)
        if name == "parts" and exchange.phase == "closing" and exchange.awaited[shard] then self.commit(s) end
        exchange:step(exchange[name], exchange, shard, logic.term, ...)
      end, ...)
    end
    if verb == "close" then
      if logic.term >= self.shards[shard].term then self.shards[shard], self.places[shard] = logic, s end
      back("parts", logic:close(arguments[1]))
    elseif verb == "apply" then
      back("mailed", logic:apply(table.unpack(arguments)))
    elseif verb == "moves" then
      assert(logic:moves(arguments[1]))
    elseif verb == "request" then
      local reply = arguments[1]
      logic:request(arguments[2], arguments[3], function(...)
        asked[reply] = nil
        post(self, s, x, reply, ...)
      end, table.unpack(arguments, 4, arguments.n))
    elseif verb ~= "alive" then -- order, shutdown
      logic[verb](logic, table.unpack(arguments))
    end
  end)
  return true
end

-- Calls that wait for a service that is dead fail.
local function fail_asked(self, process, shard)
  for place, asked in pairs(self.asked) do
    if dead(self, place) and place:find(("^s%d_%dt"):format(process, shard)) then
      for reply in pairs(asked) do post(self, "x" .. process, "x" .. process, reply, nil) end
      self.asked[place] = nil
    end
  end
end

-- Another instance of a shard.
local function replace(self, process, shard, options, done)
  local x = "x" .. process
  fail_asked(self, process, shard)
  post(self, x, "n" .. process, function()
    local place = place_of(process, shard, options.term)
    for name, value in pairs(self.shard_options(shard, place)) do options[name] = options[name] or value end
    self.logics[place], self.addresses[process][shard] = Shard.new(options), place
    self.deaths = self.deaths + (options.lost and 1 or 0)
    self.moved = self.moved + (options.lost and 0 or 1)
    post(self, "n" .. process, x, done, true)
  end)
end

local function new_exchange(self, index, processes, options, state)
  self.calls[index], self.addresses[index] = {}, self.addresses[index] or {}
  return Exchange.new {
    plan = self.plan, processes = processes, here = index, homes = self.homes, state = state, nodes = options.nodes,
    interval = self.interval, window = self.window,
    patience = options.patience or 30,
    silence = 0, most_deaths = math.huge, now = function() return self.time end,
    address_of = function(shard) return self.addresses[index][shard] end,
    send_shard = function(...) return send_shard(self, index, ...) end,
    replace = function(...) return replace(self, index, ...) end,
    call = function(to, batch, done)
      call(self, index, to, batch, function(...) self.exchanges[index]:step(done, ...) end)
    end,
    interrupt = function(shard) self.killed[self.addresses[index][shard]] = true end,
    walls_in = self.options.sight and self.dimensions,
    post = function(address, message)
      local member = self.members[address]
      if not member or self.killed[address] then return nil end
      post(self, "x" .. index, address, self.arrive, self, member, message)
      return true
    end,
    on_end = function(reason) self.ended[index] = reason end,
    on_epoch = function() end,
  }
end

function Network:arrive(member, message)
  local kind = wire.head(message)
  if kind == wire.BYE or kind == wire.RENEWED then
    for go, place in pairs(member.waiting) do -- is_dead.lua
      if dead(self, place) then post(self, member.address, member.address, go, nil) end
    end
  end
  assert(member:receive(message))
end

-- options: seed, plan (of tiles.plan), processes: shards of each, dimensions, engine, interval, window, lose,
-- log(shard, epoch, line).
function network.new(options)
  local plan, random = tiles.plan(options.plan), rng.new(options.seed)
  local self = setmetatable({
    random = random, lines = lines.new(random), plan = plan, options = options,
    dimensions = options.dimensions or 2, interval = options.interval or 0.1, window = options.window or 32,
    lose = options.lose or 0, time = 0, steps = 0, running = 0, sleepers = {},
    shards = {}, homes = {}, places = {}, logics = {}, addresses = {}, exchanges = {}, ended = {}, again = {},
    members = {}, services = {}, member_count = 0, calls = {}, asked = {}, killed = {}, stopped = {}, looping = {},
    deaths = 0, moved = 0,
  }, Network)
  local processes, shard = {}, 0
  -- What a shard writes of an epoch counts once its parts have been taken.
  local written = {}
  function self.commit(place)
    for _, one in ipairs(written[place] or {}) do options.log(table.unpack(one)) end
    written[place] = nil
  end
  function self.shard_options(number, place)
    return {
      number = number, plan = plan, engine = options.engine, dimensions = options.dimensions, grace = options.grace,
      fields = options.fields, sight = options.sight,
      log = options.log and function(...)
        written[place] = written[place] or {}
        table.insert(written[place], { number, ... })
      end,
    }
  end
  for index, count in ipairs(options.processes) do
    self.addresses[index] = {}
    for _ = 1, count do
      shard = shard + 1
      local place = place_of(index, shard, 0)
      self.homes[shard], self.addresses[index][shard], self.places[shard] = index, place, place
      self.shards[shard] = Shard.new(self.shard_options(shard, place))
      self.logics[place] = self.shards[shard]
    end
    processes[index] = { name = "p" .. index, boot = "boot" .. index }
  end
  assert(shard == plan.shards)
  self.processes = processes
  for index in ipairs(processes) do self.exchanges[index] = new_exchange(self, index, processes, options) end
  return self
end

--- As network.new, with these options where no others are given.
function network.with(usual)
  return function(options)
    local given = setmetatable({}, { __index = usual })
    for name, value in pairs(options or {}) do given[name] = value end
    return network.new(given)
  end
end

-- A client in that process.
function Network:member(index)
  self.member_count = self.member_count + 1
  local address = ("c%d_%d"):format(index, self.member_count)
  local exchange, x = self.exchanges[index], "x" .. index
  local addresses = {}
  for shard, host in pairs(exchange.hosts) do
    if host == index then addresses[shard] = self.addresses[index][shard] end
  end
  local number = exchange:join(address)
  local function wait(f)
    local co, running = coroutine.running()
    assert(not running, "only in a coroutine")
    f(function(...) resume(co, ...) end)
    return coroutine.yield()
  end
  -- f(reply) is called in the exchange, whose answer arrives as go(...).
  local function ask_exchange(go, f)
    post(self, address, x, function()
      f(function(...) post(self, x, address, go, ...) end)
    end)
  end
  local member = world_client {
    number = number, shards = self.plan.shards, dimensions = self.dimensions, has_sight = self.options.sight,
    around = function(at_x, at_y, ex, ey)
      return self.exchanges[index].map:around(at_x, at_y, ex + self.plan.extent, ey + self.plan.extent)
    end,
    ask = function(shard, after, ...)
      local arguments = table.pack(...)
      return wait(function(resume_it)
        local place = addresses[shard] or "r" .. address
        local function go(...)
          if not self.members[address].waiting[go] then return end
          self.members[address].waiting[go] = nil
          resume_it(...)
        end
        self.members[address].waiting[go] = place
        local function reply(...) post(self, place, address, go, ...) end
        if addresses[shard] and dead(self, place) then
          post(self, address, address, go, nil)
        elseif addresses[shard] then
          post(self, address, place, function()
            self.logics[place]:request(number, after, reply, table.unpack(arguments, 1, arguments.n))
          end).lost = function() reply(nil) end
        else
          ask_exchange(go, function(answer)
            exchange:relay(answer, shard, number, after, table.unpack(arguments, 1, arguments.n))
          end)
        end
      end)
    end,
    send = function(shard, message)
      local place = addresses[shard]
      if place then
        post(self, address, place, function()
          local taken, reason = self.logics[place]:moves(message, nil, address)
          assert(taken or self.killed[address], reason) -- the end of a client may overtake its last moves
        end)
      else
        post(self, address, x, exchange.relay_moves, exchange, address, shard, message)
      end
      return true
    end,
    on_renewed = function(shard, place) addresses[shard] = place.address end,
    wait = wait,
    fork = function(f) post(self, address, address, resume, coroutine.create(f)) end,
    together = function(calls)
      local left, go = #calls, nil
      for _, f in ipairs(calls) do
        resume(coroutine.create(function()
          f()
          left = left - 1
          if left == 0 and go then go() end
        end))
      end
      if left > 0 then wait(function(f) go = f end) end
    end,
    tick_epoch = function()
      return wait(function(go) ask_exchange(go, function(reply) exchange:tick(reply) end) end)
    end,
    map_info = function() return changes.map(exchange) end,
    move_map = function(name, ...)
      local arguments = table.pack(...)
      return wait(function(go)
        ask_exchange(go, function(reply)
          director.move(exchange, name, reply, table.unpack(arguments, 1, arguments.n))
        end)
      end)
    end,
    quit = function() post(self, address, x, exchange.leave, exchange, address) end,
    ack = function(seq, flags)
      post(self, address, x, function() self.exchanges[index]:ack(address, seq, flags) end)
    end,
    foreign_handle = function(to) return self.exchanges[index]:foreign_handle(self.services[to]) end,
    addresses_of = function(numbers) return self.exchanges[index]:addresses(numbers) end,
  }
  member.service, self.services[self.member_count] = self.member_count, address -- as others name it with `to`
  member.address, member.process, member.waiting = address, index, {}
  self.members[address] = member
  return member
end

-- In a coroutine: lets that much time pass.
function Network:sleep(seconds)
  local co = coroutine.running()
  table.insert(self.sleepers, { at = self.time + seconds, co = co })
  coroutine.yield()
end

-- Delivers one message of a random line; some time passes.
function Network:step()
  local item, line = self.lines:take(function(to) return self.stopped[process_of(to)] end)
  if item and not dead(self, line.to) then
    item.f(table.unpack(item.arguments, 1, item.arguments.n))
  elseif item and item.lost then
    item.lost()
  end
  self.time = self.time + (item and 0.0005 or 0.01)
  for i = #self.sleepers, 1, -1 do
    local sleeper = self.sleepers[i]
    if self.time >= sleeper.at then
      table.remove(self.sleepers, i)
      resume(sleeper.co)
    end
  end
  self.steps = self.steps + 1
  if self.steps % 10 == 0 or not item then
    for index, exchange in pairs(self.exchanges) do
      local runs = exchange and not dead(self, "x" .. index) and not self.stopped[index]
      if runs then exchange:step(exchange.poll, exchange) end
    end
  end
end

function Network:run(seconds)
  local stop = self.time + seconds
  while self.time < stop do self:step() end
end

-- Until that process has begun so many epochs more.
function Network:run_epochs(index, epochs, seconds)
  local last = self.exchanges[index].epoch + epochs
  self:run_until(function() return self.exchanges[index].epoch >= last end, seconds)
end

-- Until f() is true; raises after so many seconds.
function Network:run_until(f, seconds)
  local stop = self.time + (seconds or 60)
  repeat
    self:step()
    if self.time > stop then error("it still waits", 2) end
  until f()
end

-- Runs f in a coroutine until it, and all others, have ended, at most so many seconds; then all mail has arrived.
function Network:finish(f, seconds)
  self:spawn(f)
  self:run_until(function() return self.running == 0 end, seconds)
  self:run(1)
end

-- A client that is gone: nothing reaches it any more.
function Network:kill_client(member) self.killed[member.address] = true end

-- Those in the set and the others do not reach each other.
function Network:part(set) self.parted = set end

-- Those in the set do not reach each other, and everybody else.
function Network:tear(set) self.torn = set end

-- The exchange of a process, which lives on.
function Network:kill_exchange(index) self.killed["x" .. index] = true end

-- kill -9: calls to it and under way fail.
function Network:kill_process(index)
  self.killed[index] = true
  for served in pairs(self.calls[index]) do served.fail("connection closed") end
  self.calls[index] = {}
end

-- A process is there, which asks the leader until it may take part: f(index); or f(nil, why not).
function Network:start_process(name, f)
  self.boots = (self.boots or 0) + 1
  self.again[name] = true
  local boot = ("boot %s again %d"):format(name, self.boots)
  self:spawn(function()
    while true do
      for index, exchange in pairs(self.exchanges) do
        if exchange and not dead(self, "x" .. index) and not self.stopped[index] then
          local at, state, refusal = director.admit(exchange, name, boot)
          if refusal then return f(nil, refusal) end
          if at then
            local processes = {}
            for i, process in pairs(state.processes) do processes[i] = process end
            self.processes[at] = processes[at]
            self.exchanges[at] = new_exchange(self, at, processes, self.options, state)
            return f and f(at)
          end
        end
      end
      self:sleep(0.05)
    end
  end)
end

-- It takes messages, and does nothing.
function Network:loop_shard(shard) self.looping[self.places[shard]] = true end

-- What it has begun to serve is not answered any more.
function Network:kill_shard(shard)
  self.killed[self.places[shard]] = true
end

return network
