-- aoi.sync under random histories: clients that know only their messages have the right picture after every tick.
local aoi = require "aoi"
local Sync = require "aoi.sync"
local client = require "spec.support.client_model"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local SEED = random_run.seed("client synchronisation")
local STEPS = random_run.steps(60)
local IDS = 24

local OPTIONS = {
  plain = {},
  quantum = { quantum = 0.01 },
  odd = { quantum = 0.3 },
  limit = { quantum = 0.125, limit = 4 },
  tiers = { tiers = { { 4, 1 }, { 8, 3 }, { 30, 4 } } },
  bytes = { quantum = 0.01, bytes = 90 },
  all = { quantum = 0.01, limit = 6, tiers = { { 5, 1 }, { 20, 4 } }, bytes = 120 },
  kinds = { quantum = 0.01, limit = { [1] = 2, [2] = 3 },
    tiers = { [1] = { { 4, 1 }, { 30, 3 } }, [3] = { { 9, 2 } } } },
  riders = { quantum = 0.01, riders = true },
  riders_limit = { riders = true, limit = 3 },
  riders_tiers = { quantum = 0.01, riders = true, tiers = { { 4, 1 }, { 8, 3 }, { 30, 4 } } },
  riders_bytes = { quantum = 0.01, riders = true, bytes = 90 },
  riders_all = { quantum = 0.01, riders = true, limit = 4, tiers = { { 5, 1 }, { 20, 4 } }, bytes = 120 },
  riders_changing = { quantum = 0.01, riders = true },
  changing = { quantum = 0.01 }, -- options of a client are set while it runs
}
local FIELDS = {
  { "hp", "u16" }, { "dir", "angle8" }, { "name", "string" }, { "bag", "bytes", to = "own" }, { "long", "string" },
  { "plan", "string", to = "team" }, { "mana", "i16", to = "team" },
}
local DEFAULTS = { hp = 0, dir = 0, name = "", bag = "", long = "", plan = "", mana = 0 }
local LIMITS, BUDGETS = { false, 1, 4, 10, { [1] = 2, [2] = false, [-1] = 1 } }, { false, 84, 90, 300 }
local TIERS = { { [2] = false, [3] = { { 5, 1 }, { 20, 4 } } },
  false, { { 4, 1 }, { 8, 3 }, { 30, 4 } }, { { 9, 2 } }, { { 5, 1 }, { 20, 4 } } }

local World = {}
World.__index = World

local function new_world(setup, name, seed)
  local self = setmetatable({
    changing = name:find "changing" ~= nil,
    budgets = name:find "changing" ~= nil or OPTIONS[name].bytes ~= nil,
    random = rng.new(seed), dims = setup.dims, options = OPTIONS[name], clients = {}, pins = {}, priority = {},
    offset = {}, rank = {},
    team = {}, side = {}, stale = {}, begins = {}, players = {}, set = {}, state = {}, views = {},
    tick_number = 0, into = {}, heard = 0,
  }, World)
  local scale = self.changing and 2 ^ 40 or 1 -- long ids: budgets are felt
  function self.id(k) return math.tointeger and math.tointeger(k * scale) or k * scale end
  self.space = aoi.new { engine = setup.engine, dimensions = setup.dims, delivery = setup.delivery }
  local options = { fields = FIELDS }
  for key, value in pairs(OPTIONS[name]) do options[key] = value end
  self.sync = Sync.new(self.space, options)
  return self
end

function World:place()
  local function coordinate()
    local v = self.random() * 30 - 15
    if self.random(3) == 1 then v = math.floor(v) end
    return v
  end
  local z
  if self.dims == 3 then z = coordinate() / 3 end
  return coordinate(), coordinate(), z
end

function World:some() -- an id in the space, or nil
  local ids, n = self.space:ids()
  if n == 0 then return nil end
  table.sort(ids)
  return ids[self.random(n)]
end

function World:some_client()
  local ids = {}
  for id in pairs(self.clients) do ids[#ids + 1] = id end
  table.sort(ids)
  return ids[1] and self.random(ids)
end

function World:forget(id)
  self.clients[id], self.priority[id], self.begins[id], self.state[id], self.team[id] = nil, nil, nil, nil, nil
  self.pins[id], self.rank[id] = nil, nil
  for _, pins in pairs(self.pins) do pins[id] = nil end
  for _, ranks in pairs(self.rank) do ranks[id] = nil end
end

local function area(self)
  local radius = self.random(12)
  local shape = self.random { "square", "circle", "box" }
  if shape == "box" then
    local extents = { radius, self.random(12) }
    if self.dims == 3 then extents[3] = self.random(6) end
    return { shape = "box", extents = extents, margin = self.random(3) - 1 }
  end
  if self.random(8) == 1 then return math.huge end
  local offset
  if self.random(4) == 1 then
    offset = { self.random(21) - 11, self.random(21) - 11, self.dims == 3 and self.random(5) - 3 or nil }
  end
  return {
    shape = shape, radius = radius, margin = self.random(4) - 1, mask = self.random { 1, 3, 7, -1 }, offset = offset,
  }
end

local calls = {}

function calls.enter(self)
  local id = self.id(self.random(IDS))
  if self.space:has(id) then return end
  local x, y, z = self:place()
  if z then self.space:enter(id, x, y, z, self.random(4) - 1) else self.space:enter(id, x, y, self.random(4) - 1) end
end

function calls.leave(self, id)
  self.space:leave(id)
  self:forget(id)
end

-- It leaves and comes again at once: a new entity.
function calls.rebirth(self, id)
  calls.leave(self, id)
  local x, y, z = self:place()
  if z then self.space:enter(id, x, y, z, 1) else self.space:enter(id, x, y, 1) end
end

function calls.step(self, id)
  if self.space:carrier(id) then return end
  local x, y, z = self.space:position(id)
  local function step(v) return v and v + self.random(9) - 5 + (self.random(2) - 1) * self.random() end
  x, y, z = step(x), step(y), step(z)
  if z then self.space:move(id, x, y, z) else self.space:move(id, x, y) end
end

function calls.jump(self, id)
  if self.space:carrier(id) then return end
  local x, y, z = self:place()
  if self.random(12) == 1 then x = x * 1e9 end
  if self.random(12) == 1 then y = y + 1e9 end
  if z then self.space:move(id, x, y, z) else self.space:move(id, x, y) end
end

function calls.crowd(self)
  local rows, seen = {}, {}
  for _ = 1, self.random(20) do
    local id = self:some()
    if id and not seen[id] and not self.space:carrier(id) then
      seen[id] = true
      rows[#rows + 1] = id
      for _, v in ipairs { self:place() } do rows[#rows + 1] = v end
    end
  end
  self.space:move_many(rows)
end

function calls.kind(self, id) self.space:set_kind(id, self.random(4) - 1) end

function calls.touch(self, id) self.sync:touch(id) end

function calls.add(self, id)
  if self.clients[id] then return end
  self.players[id] = self.players[id] or client.new(self.dims) -- who comes again has an older picture
  local own = self.random(2) == 1
  local views = { area(self) }
  for k = 2, self.random { 1, 1, 2, 4 } do views[k] = area(self) end
  self.views[id] = #views
  self.side[id] = self.random { 0, 1, 2 }
  self.sync:add(id, #views == 1 and views[1] or views, { self = own, team = self.side[id] })
  self.clients[id], self.pins[id], self.set[id] = self.players[id], {}, nil
  self.players[id].id = id
  self.begins[id], self.pins[id][id] = true, own or nil -- as if it were pinned
end

function calls.remove(self)
  local id = self:some_client()
  if not id then return end
  self.sync:remove(id)
  self.clients[id], self.pins[id], self.begins[id], self.rank[id] = nil, nil, nil, nil
end

function calls.view(self)
  local id = self:some_client()
  local k = id and self.random(self.views[id])
  if id and self.random(2) == 1 then self.space:set_area(id, self.sync:node(id, k), area(self))
  elseif id then self.sync:set_view(id, k, area(self)) end
end

function calls.override(self, target)
  local id = self:some_client()
  if id and id ~= target then
    self.space:override(id, self.sync:node(id), target, self.random { "hide", "show", "match" })
  end
end

function calls.set(self, id)
  if not self.changing or not self.clients[id] then return end
  local options = { limit = self.random(LIMITS), bytes = self.random(BUDGETS), tiers = self.random(TIERS) }
  for _, name in ipairs { "limit", "bytes", "tiers" } do
    if self.random(3) == 1 then options[name] = self:options_of(id)[name] or false end
  end
  options.self = self.random(2) == 1
  self.sync:set(id, options)
  self.set[id], self.pins[id][id] = options, options.self or nil
end

-- All that a client sees is out of its sight.
local function away(self, id)
  self.space:attach(id, nil)
  if self.dims == 3 then self.space:move(id, 1000, 1000, 0) else self.space:move(id, 1000, 1000) end
end

-- What is told in ticks in which nothing comes or goes; then clients get other options, and much goes at once.
function calls.quiet(self)
  if not self.changing then return end
  self:tick()
  for _ = 1, self.random(2) do
    local one = self.random { calls.touch, calls.kind, calls.step, calls.jump }
    for id = 1, IDS do
      if self.space:has(self.id(id)) and self.random(2) == 1 then one(self, self.id(id)) end
    end
    self:tick()
  end
  for k = 1, IDS do
    if self.random(2) == 1 then calls.set(self, self.id(k)) end
    if self.clients[self.id(k)] and self.random(3) == 1 then away(self, self.id(k)) end
  end
end

function calls.resend(self)
  local id = self:some_client()
  if not id then return end
  self.sync:resend(id)
  self.begins[id] = true
end

function calls.pin(self, target)
  local id = self:some_client()
  if not id or id == target then return end
  self.sync:pin(id, target)
  self.pins[id][target] = true
end

function calls.unpin(self, target)
  local id = self:some_client()
  if not id then return end
  self.sync:unpin(id, target)
  if id ~= target then self.pins[id][target] = nil end
end

function calls.rank(self, id)
  self.priority[id] = self.random { 1, 2, 0.5 }
  self.sync:set_priority(id, self.priority[id])
end

function calls.favour(self, target)
  local id = self:some_client()
  if not id then return end
  self.rank[id] = self.rank[id] or {}
  self.rank[id][target] = self.random { 1, 2, 0.5, false } or nil
  self.sync:set_priority(target, self.rank[id][target], id)
end

-- Of a target for a client, and the limit that it counts for.
function World:priority_for(id, target)
  return self.rank[id] and self.rank[id][target] or self.priority[target] or 1
end

-- Of an option that may be by kind: the first key whose bits the kind meets, and its value; true and all of it else.
local function of_kind(value, kind)
  if type(value) ~= "table" or type(value[1]) == "table" and type(value[1][1]) == "number" then return true, value end
  for _, bits in ipairs { 1, 2, 3, -1 } do -- kinds are up to 3
    local meets = bits % 2 * (kind % 2) + math.floor(bits % 4 / 2) * math.floor(kind / 2) > 0
    if value[bits] ~= nil and meets then return bits, value[bits] end
  end
  return false, false
end

function calls.team(self, id)
  self.team[id] = self.random { 0, 1, 2 }
  self.sync:set_team(id, self.team[id])
end

function calls.side(self)
  local id = self:some_client()
  if not id then return end
  self.side[id] = self.random { 0, 1, 2 }
  self.sync:set(id, { team = self.side[id] ~= 0 and self.side[id] })
end

function calls.put(self, id)
  local state = self.state[id] or {}
  self.state[id] = state
  for _ = 1, self.random(3) do
    local name = self.random(FIELDS)[1]
    local value
    if name == "mana" then value = self.random { 0, -1, 300 }
    elseif name == "hp" then value = self.random { 0, 1, 200, 65535 }
    elseif name == "dir" then value = math.pi / 128 * (self.random(256) - 1)
    elseif name == "long" or name == "plan" then
      value = ("0123456789"):rep(self.random { 0, 1, 9, 60 }) .. self.random(9)
    else value = ("x"):rep(self.random(12) - 1) end
    self.sync:put(id, name, value)
    state[name] = value
    assert.equal(value, self.sync:get(id, name))
  end
end

-- Most rides end soon, and some go on another carrier, or have another seat; chains are refused where they are circles.
function calls.ride(self, id)
  local x, y, z = self.random(7) - 4, self.random(7) - 4, nil
  if self.dims == 3 then z = self.random(3) - 2 end
  local carrier = self:some()
  if pcall(self.space.attach, self.space, id, carrier, x, y, z) then self.offset[id] = { x, y, z } end
end

function calls.alight(self, id) self.space:attach(id, nil) end

-- The one that it rides, with riders.
function World:carrier(id)
  if self.options.riders then return (self.space:carrier(id)) end
end

function calls.flush(self) self.space:flush() end

-- What a client should know, from its node and pins alone.
function World:seen(id)
  local seen = {}
  for k = 1, self.views[id] do
    local list, n = self.space:view(id, self.sync:node(id, k))
    for i = 1, n do seen[list[i]] = true end
  end
  for target in pairs(self.pins[id]) do seen[target] = true end
  local along = {} -- whose carriers are all seen
  for target in pairs(seen) do
    local carrier = self:carrier(target)
    while carrier and carrier ~= id and seen[carrier] do carrier = self:carrier(carrier) end
    if not carrier or carrier == id then along[target] = true end
  end
  return along
end

function World:distance2(a, b)
  local x1, y1, z1 = self.space:position(a)
  local x2, y2, z2 = self.space:position(b)
  return (x2 - x1) ^ 2 + (y2 - y1) ^ 2 + ((z2 or 0) - (z1 or 0)) ^ 2
end

function World:check_limit(id, known, seen, options)
  local counts = {}
  if options.bytes then return end -- what is chosen may still wait for its message
  local function limit_of(target) return of_kind(options.limit, self.space:kind(target)) end
  for target in pairs(known) do
    local which, limit = limit_of(target)
    if not self.pins[id][target] and not self:carrier(target) then counts[which] = (counts[which] or 0) + 1 end
    assert.is_true(not limit or (counts[which] or 0) <= limit)
  end
  for target in pairs(self.pins[id]) do
    assert.is_truthy(known[target] or self:carrier(target))
  end
  for out in pairs(seen) do
    local carrier = self:carrier(out)
    if carrier then assert.equal(carrier == id or known[carrier] ~= nil, known[out] ~= nil)
    elseif not known[out] then
      local which, limit = limit_of(out)
      assert.equal(limit, counts[which] or 0)
      for target in pairs(known) do
        if not self.pins[id][target] and not self:carrier(target) and which == limit_of(target) then
          local p, q = self:priority_for(id, out), self:priority_for(id, target)
          assert.is_true(p <= q, "left out although of higher priority")
          if p == q then
            assert.is_true(self:distance2(id, out) * 100 >= self:distance2(id, target) * 81 * (1 - 1e-9))
          end
        end
      end
    end
  end
end

function World:check_position(target, told, quantum)
  local position = { self.space:position(target) }
  if self:carrier(target) then position = self.offset[target] end
  if told.carrier ~= self:carrier(target) then return false end
  for axis = 1, self.dims do
    local v = position[axis]
    local should = client.rounded(v, quantum)
    if quantum and math.abs(math.floor(v / quantum + 0.5)) > 2 ^ 53 then should = v end
    if told[axis] ~= should then return false end
  end
  return true
end

function World:options_of(id) return self.set[id] or self.options end

-- Whether what a client has been told of an entity's state is all there is.
function World:check_fields(id, target, told)
  local state, team = self.state[target] or {}, self.team[target] or 0
  for _, field in ipairs(FIELDS) do
    local name = field[1]
    local should = state[name]
    local refused = field.to == "own" or (field.to == "team" and (team == 0 or team ~= self.side[id]))
    if should == nil or (refused and target ~= id) then should = DEFAULTS[name] end
    local is = told.fields[name]
    if is == nil then is = DEFAULTS[name] end
    if is ~= should then return false end
  end
  return true
end

function World:check_client(id, c)
  local seen, options = self:seen(id), self:options_of(id)
  local stale = self.stale[c] or {}
  self.stale[c] = stale
  local list, n = self.sync:known(id)
  local count, listed = 0, {}
  for i = 1, n do listed[list[i]] = true end
  for target, told in pairs(c.known) do
    count = count + 1
    assert.is_true(listed[target])
    -- A client that has, or had, a budget may still know a former life of the id.
    if not self.budgets then assert.is_true(self.sync:knows(id, target)) end
    if not options.bytes then
      assert.is_true(seen[target] or false, "knows what it does not see: " .. target)
      assert.equal(self.space:kind(target), told.kind)
    end
    if self.space:has(target) then
      local right = self:check_position(target, told, self.options.quantum) and
        self:check_fields(id, target, told)
      if right then stale[target] = nil
      else stale[target] = (stale[target] or 0) + 1 end
      local _, tiers = of_kind(options.tiers, self.space:kind(target))
      local most = options.bytes and math.huge or tiers and 3 or 0 -- of budgets: sync_budget_spec
      assert.is_true((stale[target] or 0) <= most, "a position is too old")
    end
  end
  for target in pairs(stale) do -- what comes back comes with all there is
    if not c.known[target] then stale[target] = nil end
  end
  assert.equal(count, n)
  for i = 1, n do assert.is_truthy(c.known[list[i]]) end
  if options.limit then self:check_limit(id, c.known, seen, options)
  elseif not options.bytes then
    for target in pairs(seen) do assert.is_truthy(c.known[target], "does not know what it sees") end
  end
end

function World:check_knowers()
  local ids, n = self.space:ids()
  for i = 1, n do
    local knowers, m = self.sync:knowers(ids[i])
    local count = 0
    for k = 1, m do assert.is_truthy(self.clients[knowers[k]].known[ids[i]]) end
    for _, c in pairs(self.clients) do count = count + (c.known[ids[i]] and 1 or 0) end
    if self.budgets then assert.is_true(m <= count) else assert.equal(count, m) end
  end
end

function World:tick()
  self.tick_number = self.tick_number + 1
  local told = {}
  local messages, bytes = self.sync:tick(function(id, message)
    assert.is_nil(told[id])
    told[id] = #message
    local news = self.clients[id]:apply(message)
    local bytes = self:options_of(id).bytes
    if bytes then
      assert.is_true(#message <= bytes)
    end
    assert.equal(self.begins[id], news.anew) -- exactly the first message of a client, and the one after resend
    self.begins[id] = nil
    assert.is_true(news.anew or news.gone.n + news.appeared.n + news.moved.n + news.touched.n +
      news.riding.n + news.fields.n > 0 or next(news.parts or {}) ~= nil)
  end)
  assert.is_nil(next(self.begins))
  local n, total = 0, 0
  for _, size in pairs(told) do n, total = n + 1, total + size end
  assert.equal(n, messages)
  assert.equal(total, bytes)
  self.heard = self.heard + n
  for id, c in pairs(self.clients) do self:check_client(id, c) end
  if not self.options.bytes then self:check_knowers() end
end

local NAMES = {}
for name in pairs(calls) do NAMES[#NAMES + 1] = name end
table.sort(NAMES)

local function play(setup, name)
  local w = new_world(setup, name, SEED + rng.hash(setup.name .. name))
  for _ = 1, 12 do calls.enter(w) end
  for _ = 1, 4 do calls.add(w, w:some()) end
  for step = 1, STEPS do
    for _ = 1, w.random(6) do
      local call, id = w.random { "step", "step", "put", "put", "jump", w.random(NAMES) }, w:some()
      if id or call == "enter" then calls[call](w, id) end
    end
    calls.enter(w)
    if w.random(2) == 1 then calls.add(w, w:some()) end
    w:tick()
    if step % 16 == 0 then w.space:check() end
  end
  -- When all stands still, and every budget has had time, pictures are what is seen.
  for id in pairs(w.clients) do w.sync:set(id, { bytes = false, limit = false, tiers = false }) end
  w.options, w.set = { quantum = w.options.quantum, riders = w.options.riders }, {}
  w.changing, w.budgets = false, false
  for _ = 1, 8 do w.sync:tick(function(id, message) w.clients[id]:apply(message) end) end
  w.stale = {}
  w:tick()
  assert.equal(0, (w.sync:tick(function() end)))
  w.space:check()
  w.space:close()
  return w.heard
end

for _, engine in ipairs(aoi.engines()) do
  for _, dims in ipairs { 2, 3 } do
    for _, delivery in ipairs { "immediate", "deferred" } do
      local setup = { engine = engine, dims = dims, delivery = delivery }
      setup.name = ("%s %dD %s"):format(engine, dims, delivery)
      describe("clients on " .. setup.name, function()
        local heard = 0 -- a short history may have nothing to tell, but not all of them
        for _, name in ipairs {
          "plain", "quantum", "odd", "limit", "tiers", "bytes", "all", "kinds", "changing", "riders", "riders_limit",
          "riders_tiers", "riders_bytes", "riders_all", "riders_changing",
        } do
          it("have the right picture: " .. name, function() heard = heard + play(setup, name) end)
        end
        it("are told something", function() assert.is_true(heard > 0) end)
      end)
    end
  end
end

describe("a budget of bytes", function()
  -- All are seen and move in every tick: how long each waits, and how many records are in every message at least.
  local function longest_waits(random, priority, ticks)
    local space = aoi.new()
    local sync = Sync.new(space, { quantum = 0.01, bytes = 100 })
    local n, told, waits, least = 40, {}, {}, math.huge
    space:enter(0, 0, 0)
    for id = 1, n do space:enter(id, random() * 20, random() * 20) end
    sync:add(0, math.huge, { bytes = false })
    sync:tick(function() end)
    sync:set(0, { bytes = 100 })
    for id, p in pairs(priority) do sync:set_priority(id, p) end
    for id = 1, n do told[id], waits[id] = 0, 0 end
    for now = 1, ticks do
      for id = 1, n do space:move(id, random() * 20, random() * 20) end
      sync:tick(function(_, message)
        assert.is_true(#message <= 100)
        local moved = Sync.read(message).moved
        least = math.min(least, moved.n)
        for i = 1, moved.n * 3, 3 do told[moved[i]] = now end
      end)
      for id = 1, n do waits[id] = math.max(waits[id], now - told[id]) end
    end
    space:close()
    return n, least, waits
  end

  it("lets a change wait no longer than W / k ticks", function()
    local n, least, waits = longest_waits(rng.new(SEED), {}, math.max(20, STEPS))
    assert.is_true(least >= 5 and least < n / 2)
    for id = 1, n do assert.is_true(waits[id] > 0 and waits[id] < math.ceil(n / least)) end
  end)

  it("lets a change of low priority wait no longer than 2 W (1 + P / p) / k ticks", function()
    local priority = { [7] = 0.25 }
    for id = 10, 30 do priority[id] = 4 end
    local n, least, waits = longest_waits(rng.new(SEED), priority, math.max(300, STEPS))
    for id = 1, n do
      assert.is_true(waits[id] < math.ceil(2 * n * (1 + 4 / (priority[id] or 1)) / least), "starved: " .. id)
    end
    assert.is_true(waits[7] > waits[10])
  end)
end)
