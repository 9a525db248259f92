-- history.lua: random histories, played on a space and on the model at once, compared after every step.
--
--   generate -> operation -> model, then space -> handlers: was this event due? -> nothing overdue, queries equal
--
-- An operation says what to do in terms of ids that may exist or not, so one seed is one history for every engine. The
-- handlers compare each event with what the model has pending; unruly ones make calls of their own, raise and yield.
local aoi = require "aoi"
local journal = require "aoi.journal"
local Model = require "spec.support.model"
local bits = require "spec.support.bits"
local random_area = require "spec.support.random_area"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local shapes = require "spec.support.shapes"

local history = {}

local PAST = 3 -- ticks

local huge = math.huge
local unpack = table.unpack or unpack -- luacheck: ignore

-- Scenarios: where entities stand and how far nodes look --------------------------------------------------------------

local tiny, big = 2 ^ -1074, 2 ^ 50 -- the largest coordinate
local extremes = {
  0, -0.0, 1, -1, 1e15, 1e15 + 1 / 8, -1e15, 1 / 16, big, -big, big / 2, tiny, -tiny, 2 * tiny, 1e-160, -1e-170,
  2 ^ -537, 1e9, -1e9,
}

-- ids: how many there are; full: all of them are there from the beginning, else two thirds; every: one in so many has a
-- node then, by default all; slow: times as slow.
history.scenarios = {
  { -- ties wherever one looks
    name = "a small grid of whole numbers", ids = 14,
    coordinate = function(random) return random(9) - 5 end,
    radius = function(random) return random { 0, 1, 1, 2, 2, 3, 4, huge } end,
    shift = function(random) return random(3) - 2 end,
  },
  {
    name = "open ground", ids = 24,
    coordinate = function(random) return random() * 100 - 50 end,
    radius = function(random) return random { 0, 1, 5, 10, 20, 40, 80, huge } * (0.5 + random()) end,
    shift = function(random) return random() * 4 - 2 end,
  },
  { -- sums and differences that round
    name = "tenths", ids = 14,
    coordinate = function(random) return (random(21) - 11) * 0.1 end,
    radius = function(random) return random(9) * 0.1 end,
    shift = function(random) return (random(3) - 2) * 0.1 end,
  },
  {
    name = "the ends of the number line", ids = 12,
    coordinate = function(random) return random(extremes) end,
    radius = function(random) return math.abs(random { random(extremes), 0, 1, 2, huge }) end,
    shift = function() return 0 end,
  },
  {
    name = "clusters a billion apart", ids = 20,
    coordinate = function(random) return (random(5) - 3) * 1e9 + random() * 20 end,
    radius = function(random) return random { 0, 5, 10, 20, 1e9, 1e9 + 10, 3e9, huge } end,
    shift = function(random) return random() * 2 - 1 end,
  },
  {
    name = "hundreds on one spot", ids = 220, full = true, every = 5, slow = 5,
    coordinate = function(random) return random(20) == 1 and random(7) - 4 or 2 end,
    radius = function(random) return random { 0, 0, 1, 2, 4 } end,
    shift = function(random) return random(30) == 1 and random(3) - 2 or 0 end,
  },
  { -- more nodes with crossings than are looked through one by one
    name = "gates", ids = 50, full = true, slow = 3,
    coordinate = function(random) return random(2) == 1 and random(41) - 21 or random() * 40 - 20 end,
    radius = function(random) return random { 0, 1, 2, 3, 5, 5, 8 } end,
    shift = function(random) return random(11) - 6 end,
  },
}

-- Operations ---------------------------------------------------------------------------------------------------------

local function id_of(i) return (i * 37) % 1009 - 400 end

local kinds = { 0, 1, 1, 1, 1, 2, 3, 4, 6 }
local masks = { bits.all, bits.all, 0, 1, 1, 2, 3, 5, 7 }
if bits.integers then
  kinds[#kinds + 1], kinds[#kinds + 2] = math.mininteger, -1
  masks[#masks + 1], masks[#masks + 2] = math.mininteger, math.maxinteger
end

local function position(o, random)
  local p = {}
  for axis = 1, o.dimensions do p[axis] = o.scenario.coordinate(random) end
  return p
end

-- Near where it was, or anywhere.
local function goal(o, random)
  local place, step = position(o, random), {}
  for axis = 1, o.dimensions do step[axis] = o.scenario.shift(random) end
  return { place = place, step = random(2) == 1 and step or nil }
end

local function leave_radius(o, random, radius)
  return random(3) == 1 and random_area.sum(radius, o.scenario.radius(random)) or nil
end

local function area(o, random) return random_area.make(random, o.scenario, o.dimensions, masks) end

local names = {}
for name, weight in pairs { go = 40, jump = 4, reload = 1, leave = 5, node = 14, set_radius = 3, set_mask = 4,
  set_kind = 5, move_many = 7, enter_many = 2, misuse = 2, set_area = 8, set_facing = 5, override = 8, attach = 8,
  set_layers = 4, set_extent = 8 } do
  for _ = 1, weight do names[#names + 1] = name end
end
table.sort(names)      -- pairs() has an order of its own on every run

local function generate(o, random)
  local count = o.scenario.ids
  local op = {
    name = random(names), id = id_of(random(count)), node_id = random { 1, 2, -3 },
    goal = goal(o, random), kind = random(2) == 1 and random(kinds) or nil, mask = random(masks),
    area = random_area.of_node(random, o.scenario, o.dimensions, masks), radius = o.scenario.radius(random),
    hears = random { "both", "cross", "cross", "table", "crossing", "enter", "leave", "none" }, rows = {},
    facing = random_area.facing(random), other = id_of(random(count)), how = random { "hide", "show", "match", false },
    again = random(5) == 1, offset = {},
    layers = random { 1, 1, 1, 2, 3, 0 }, extent = random { 0, 1, -1 },
  }
  op.keep = leave_radius(o, random, op.radius)
  for axis = 1, o.dimensions do op.offset[axis] = o.scenario.shift(random) end
  if random(3) == 1 then op.offset = position(o, random) end
  if op.name == "move_many" or op.name == "enter_many" then
    for i = 1, random(math.min(count, 12)) do op.rows[i] = { id = id_of(random(count)), goal = goal(o, random) } end
  end
  return op
end

-- Playing ------------------------------------------------------------------------------------------------------------

local Play = {}
Play.__index = Play

local function show(p) return "(" .. table.concat(p, ", ") .. ")" end

function Play:say(...)
  self.log[#self.log + 1] = table.concat({ ... }, " ")
  if #self.log > 15 then table.remove(self.log, 1) end
end

-- A difference: remembered, because an error in a handler may be caught on its way.
function Play:differ(what)
  self.failure = self.failure or what
  error(what, 0)
end

function Play:target(id, to)
  local at = self.model:position(id)
  if not (at and to.step) then return to.place end
  local p = {}
  for axis = 1, #at do
    p[axis] = at[axis] + to.step[axis]
    if math.abs(p[axis]) > big then p[axis] = at[axis] end
  end
  return p
end

function Play:flat(rows)
  local t = {}
  for _, row in ipairs(rows) do
    t[#t + 1] = row[1]
    for axis = 1, self.dimensions do t[#t + 1] = row[2][axis] end
  end
  return t
end

local function coordinates(p, kind)
  if #p == 2 then return p[1], p[2], kind end
  return p[1], p[2], p[3], kind
end

local HEARS = {
  both = { enter = true, leave = true }, table = { enter = true, leave = true }, enter = { enter = true },
  leave = { leave = true }, none = {}, crossing = { cross = true },
  cross = { enter = true, leave = true, cross = true },
}

-- What add_node takes, so that this is heard: two functions, or a table.
function Play:handlers(hears, as_table)
  local on_enter, on_leave = hears.enter and self.on_enter or nil, hears.leave and self.on_leave or nil
  if not (hears.cross or as_table) then return on_enter, on_leave end
  return { enter = on_enter, leave = on_leave, cross = hears.cross and self.on_cross or nil }
end

-- Unruly handlers get all or nothing: a node with half of them is deaf to some events, and whether such an event has
-- passed when a nested call makes its opposite cannot be told from outside. In a deferred space neither can it of a
-- node with none: there its events wait, too, and a node with a margin holds on to what has been delivered.
function Play:hears(name)
  local h = HEARS[name]
  local deaf = not (h.enter and h.leave) and (name ~= "none" or self.mode ~= "immediate")
  return self.unruly and deaf and (h.cross and HEARS.cross or HEARS.both) or h
end

local ROUND = { square = true, circle = true } -- what set_radius is for

-- Does it on the model and then on the space, which delivers; what cannot be done must be refused.
function Play:apply(op)
  local model, space, id, node_id = self.model, self.space, op.id, op.node_id
  local name, here, there = op.name, model:has(id), model:has_node(id, node_id)
  if name == "reload" then
    self:reload()
  elseif name == "go" or (name == "jump" and here) then
    local p, verb = self:target(id, op.goal), name == "go" and "move" or "jump"
    if here and not model:may_move(id, p) then
      self:refused(pcall(space[verb], space, id, coordinates(p)))
    elseif here then
      self:say(verb, id, show(p))
      model[verb](model, id, p)
      space[verb](space, id, coordinates(p))
    else
      self:say("enter", id, show(p), "kind", tostring(op.kind))
      model:enter(id, p, op.kind)
      space:enter(id, coordinates(p, op.kind))
    end
  elseif name == "attach" and here and op.again then
    self:say("attach", id, "nil")
    model:attach(id, nil)
    space:attach(id, nil)
  elseif name == "attach" and here and model:has(op.other) then
    local p, at = {}, model:position(op.other)
    for axis = 1, self.dimensions do p[axis] = at[axis] + op.offset[axis] end
    if model:may_attach(id, op.other) and model:may_move(id, p, true) then
      self:say("attach", id, op.other, show(op.offset))
      model:attach(id, op.other, op.offset)
      space:attach(id, op.other, unpack(op.offset))
    else
      self:refused(pcall(space.attach, space, id, op.other, unpack(op.offset)))
    end
  elseif name == "set_layers" and here then
    self:say("set_layers", id, op.layers)
    model:set_layers(id, op.layers)
    space:set_layers(id, op.layers)
  elseif name == "set_extent" and here then
    local extent = op.extent * (op.radius < huge and op.radius or 7)
    self:say("set_extent", id, extent)
    model:set_extent(id, extent)
    space:set_extent(id, extent)
  elseif name == "leave" and here then
    local reason = id % 3 > 0 and id % 256 or nil
    self:say("leave", id, reason)
    model:leave(id, reason)
    space:leave(id, reason)
  elseif name == "node" and there and op.radius < 3 then
    self:say("remove_node", id, node_id)
    model:remove_node(id, node_id)
    space:remove_node(id, node_id)
  elseif name == "node" and here and not there then
    self:say("add_node", id, node_id, shapes.text(op.area), "hears", op.hears)
    local hears = self:hears(op.hears)
    local on_enter, on_leave = self:handlers(hears, op.hears == "table")
    if hears.cross and type(op.area) == "table" and op.area.outside then
      return self:refused(pcall(space.add_node, space, id, node_id, op.area, on_enter))
    end
    model:add_node(id, node_id, op.area, hears)
    space:add_node(id, node_id, op.area, on_enter, on_leave)
  elseif name == "set_radius" and there and ROUND[model:area(id, node_id).shape] then
    self:say("set_radius", id, node_id, op.radius, tostring(op.keep))
    model:set_radius(id, node_id, op.radius, op.keep)
    space:set_radius(id, node_id, op.radius, op.keep)
  elseif name == "set_area" and there then
    local a = op.again and space:area(id, node_id) or op.area
    self:say("set_area", id, node_id, shapes.text(a))
    model:set_area(id, node_id, a)
    space:set_area(id, node_id, a)
  elseif name == "set_facing" and there and model:area(id, node_id).shape == "sector" then
    self:say("set_facing", id, node_id, op.facing)
    model:set_facing(id, node_id, op.facing)
    space:set_facing(id, node_id, op.facing)
  elseif name == "override" and there and model:has(op.other) and op.other ~= id then
    self:say("override", id, node_id, op.other, tostring(op.how))
    model:override(id, node_id, op.other, op.how or nil)
    space:override(id, node_id, op.other, op.how or nil)
  elseif name == "set_mask" and there then
    self:say("set_mask", id, node_id, op.mask)
    model:set_mask(id, node_id, op.mask)
    space:set_mask(id, node_id, op.mask)
  elseif name == "set_kind" and here then
    self:say("set_kind", id, op.kind or 0)
    model:set_kind(id, op.kind or 0)
    space:set_kind(id, op.kind or 0)
  elseif name == "move_many" or name == "enter_many" then
    local rows, text, taken = {}, {}, {}
    for _, row in ipairs(op.rows) do
      if model:has(row.id) == (name == "move_many") and not (name == "enter_many" and taken[row.id]) then
        taken[row.id] = true
        rows[#rows + 1] = { row.id, self:target(row.id, row.goal) }
        text[#text + 1] = row.id .. show(rows[#rows][2])
      end
    end
    self:say(name, table.concat(text, " "))
    local good, left_out = {}, {}
    for i, row in ipairs(name == "move_many" and rows or {}) do
      local may = model:may_move(row[1], row[2])
      good[#good + 1], left_out[#left_out + 1] = may and row or nil, not may and i .. ":" .. row[1] or nil
    end
    if left_out[1] or (name == "move_many" and #rows % 2 == 0) then
      if left_out[1] then self:refused(pcall(space.move_many, space, self:flat(rows))) end
      for id_of_bad, x in pairs { [999999] = 0, [id] = 0 / 0 } do
        table.insert(rows, { id_of_bad, { x, 0, 0 } })
        left_out[#left_out + 1] = #rows .. ":" .. id_of_bad
      end
      model:move_many(good)
      local told = {}
      space:move_many(self:flat(rows), function(i, bad_id, reason)
        assert(type(reason) == "string")
        told[#told + 1] = i .. ":" .. bad_id
      end)
      if table.concat(told, " ") ~= table.concat(left_out, " ") then error("bad rows " .. table.concat(told, " ")) end
    elseif name == "move_many" then
      model:move_many(rows)
      space:move_many(self:flat(rows))
    else
      model:enter_many(rows, op.kind)
      space:enter_many(self:flat(rows), nil, op.kind)
    end
  elseif not here then
    self:refused(pcall(space.move, space, id, 0, 0, 0))
    self:refused(pcall(space.leave, space, id))
    self:refused(pcall(space.set_kind, space, id, 1))
    self:refused(pcall(space.add_node, space, id, node_id, 1))
  else
    self:refused(pcall(space.enter, space, id, 0, 0, 0))
    self:refused(pcall(space.move, space, id, 0 / 0, 0, 0))
    local rows = { { id, model:position(id) }, { 999999, { 0, 0, 0 } } }
    self:refused(pcall(space.move_many, space, self:flat(rows)))
    if there then
      self:refused(pcall(space.add_node, space, id, node_id, 1))
      self:refused(pcall(space.set_radius, space, id, node_id, -1))
      self:refused(pcall(space.set_area, space, id, node_id, { shape = "box", extents = { 1, -1, 1 } }))
      self:refused(pcall(space.set_facing, space, id, node_id, huge))
      self:refused(pcall(space.override, space, id, node_id, id, "hide"))
      self:refused(pcall(space.override, space, id, node_id, 999999, "hide"))
    else
      self:refused(pcall(space.remove_node, space, id, node_id))
      self:refused(pcall(space.set_mask, space, id, node_id, 1))
    end
  end
end

function Play:refused(ok)
  if ok then self:differ "a misuse was not refused" end
end

-- What a handler does with an event: compare, then react. what: the reason of a leave, the place of a crossing.
function Play:heard(kind, watcher, target, node_id, what)
  local reason = kind == "leave" and what or nil
  local text = Model.text { kind = kind, watcher = watcher, target = target, node_id = node_id, reason = reason }
  self:say("  heard", text)
  self.events = self.events + 1
  local model, space = self.model, self.space
  local wrong = model:hear(kind, watcher, target, node_id, self.yields, what)
  if wrong then self:differ(wrong) end
  if space:has(target) ~= model:has(target) then self:differ("has() of the target of " .. text) end
  if model:has_node(watcher, node_id) and model:has(target)
    and space:sees(watcher, node_id, target) ~= model:sees(watcher, node_id, target) then
    self:differ("sees() in the handler of " .. text)
  end
  if self.unruly then self:react(text) end
end

function Play:react(text)
  local random = rng.new(rng.hash(self.seed .. ":" .. self.step .. ":" .. self.events .. text))
  local calls = random { 0, 0, 0, 1, 1, 2, 3 }
  while self.budget > 0 and calls > 0 do
    calls = calls - 1
    self.budget = self.budget - 1
    local op = generate(self, random)
    self:say("  (nested)")
    if op.name ~= "reload" then self:apply(op) end
  end
  if self.yields and random(3) == 1 then coroutine.yield() end
  if self.raises and random(6) == 1 then
    self:say("  (raised)")
    error(self.token, 0)
  end
end

-- Runs f in a coroutine; while one of its handlers is suspended another operation takes place.
function Play:drive(f)
  local co = coroutine.create(f)
  local random = rng.new(rng.hash(self.seed .. "drive" .. self.step))
  while true do
    local ok, err = coroutine.resume(co)
    if not ok then error(err, 0) end
    if coroutine.status(co) == "dead" then return end
    if self.suspended < 2 and random(2) == 1 then
      self.suspended = self.suspended + 1
      self:say("  (meanwhile)")
      local op = generate(self, random)
      if op.name ~= "reload" then self:attempt(function() self:apply(op) end) end
      self.suspended = self.suspended - 1
    end
  end
end

-- One delivering call; true when it came to its end, false when a handler raised.
function Play:attempt(f)
  local ok, err
  if self.yields then ok, err = pcall(self.drive, self, f) else ok, err = pcall(f) end
  if self.failure then error(self.failure, 0) end
  if not ok and not (self.raises and rawequal(err, self.token)) then error(err, 0) end
  return ok
end

function Play:flush()
  self.model:deliver()
  local rounds = 0
  while not self:attempt(function()
    self.model:hold()
    self.space:flush()
  end) do
    rounds = rounds + 1
    if rounds > 1000 then self:differ "flush never comes to an end" end
  end
  self.model:hold()
end

-- The space is saved and goes on as what was saved, if each handler of what waits can be told by its ids.
function Play:reload()
  local wanted = self.model:handlers()
  if not wanted then return end
  self:say "save and load"
  self:replay()
  local bytes = self.space:save()
  self.space:close()
  self.space = aoi.load(bytes, function(id, node_id)
    return self:handlers(wanted[id .. "/" .. node_id] or HEARS.none)
  end)
  self:same("saved again", self.space:save() == bytes, true)
  self:begin()
end

-- A journal begins, and a past.
function Play:begin()
  local bytes = {}
  self.bytes, self.journal = bytes, journal.record(self.space, function(piece) bytes[#bytes + 1] = piece end)
  self.past, self.pictures = aoi.history.new(self.space, PAST), { self.model:picture() }
end

-- What the journal has of the calls makes the same space once more.
function Play:replay()
  self.past:close()
  self.journal:stop()
  local player = journal.open(table.concat(self.bytes))
  repeat until not player:step()
  self:same("played again", player.space:save() == self.space:save(), true)
end

local function sorted_text(list)
  table.sort(list)
  return table.concat(list, " ")
end

-- Returns the events but for the crossings, which come last and on their way.
function Play:drained(buf, n, reasons)
  local got, leaves_over, at = {}, false, nil
  for i = 1, n do
    local kind, watcher, target, node_id = unpack(buf, 4 * i - 3, 4 * i)
    if kind == aoi.CROSS then
      local wrong = self.model:hear("cross", watcher, target, node_id, true, reasons[i])
      if wrong then self:differ(wrong) end
      if reasons[i] < (at or 0) then self:differ "crossings that are not in the order of their way" end
      at = reasons[i]
    else
      if at then self:differ "an event behind a crossing" end
      if kind == aoi.ENTER then leaves_over = true
      elseif leaves_over and self.calls == 1 then self:differ "a leave after an enter of the same call" end
      got[#got + 1] = Model.text { kind = kind == aoi.ENTER and "enter" or kind == aoi.LEAVE and "leave",
        watcher = watcher, target = target, node_id = node_id, reason = reasons[i] }
    end
  end
  return got
end

function Play:drain()
  local buf, n, reasons = aoi.drain_reasons(self.space, self.buffer, self.reasons)
  self.reasons = reasons
  self.model:deliver()
  local got, expected = self:drained(buf, n, reasons), {}
  for _, e in ipairs(self.model:drain()) do
    if e.kind ~= "cross" or e.must then expected[#expected + 1] = Model.text(e) end
  end
  self.events = self.events + n
  self.calls = 0
  got, expected = sorted_text(got), sorted_text(expected)
  if got ~= expected then self:differ("drained " .. got .. "\n  but expected " .. expected) end
end

-- Comparing ----------------------------------------------------------------------------------------------------------

local function pairs_text(list)
  local t = {}
  for i, pair in ipairs(list) do t[i] = bits.id(pair[1]) .. "/" .. bits.id(pair[2]) end
  return sorted_text(t)
end

local function ids_text(list, n)
  local t = {}
  for i = 1, n or #list do t[i] = bits.id(list[i]) end
  return sorted_text(t)
end

local function hows_text(list)
  local t = {}
  for i, pair in ipairs(list) do t[i] = bits.id(pair[1]) .. " " .. pair[2] end
  return sorted_text(t)
end

function Play:same(what, got, expected)
  if got ~= expected then self:differ(("%s: %s, but expected %s"):format(what, tostring(got), tostring(expected))) end
end

function Play:compare_entity(id)
  local model, space = self.model, self.space
  self:same("has " .. id, space:has(id), model:has(id))
  local p, q = model:position(id) or {}, { space:position(id) }
  for axis = 1, self.dimensions do
    self:same("position of " .. id, q[axis], p[axis])
    if p[axis] == 0 then self:same("zero of " .. id, 1 / q[axis], 1 / p[axis]) end
  end
  self:same("kind of " .. id, space:kind(id), model:kind(id))
  self:same("layers of " .. id, space:layers(id), model:layers(id))
  self:same("extent of " .. id, (space:extent(id)), model:extent(id))
  self:same("carrier of " .. id, space:carrier(id), model:carrier(id))
  if not model:has(id) then return end
  local list, n = space:viewers(id)
  local viewers = {}
  for i = 1, n do viewers[i] = { list[2 * i - 1], list[2 * i] } end
  self:same("viewers of " .. id, pairs_text(viewers), pairs_text(model:viewers(id)))
  self:same("passengers of " .. id, ids_text(space:passengers(id)), ids_text(model:passengers(id)))
  self:same("nodes of " .. id, ids_text(space:nodes(id)), ids_text(model:nodes(id)))
  for _, node_id in ipairs(model:nodes(id)) do
    self:same("radius of " .. id, (space:radius(id, node_id)), model:radius(id, node_id))
    self:same("view of " .. id, ids_text(space:view(id, node_id)), ids_text(model:view(id, node_id)))
    self:same("area of " .. id, shapes.text(space:area(id, node_id)), shapes.text(model:area(id, node_id)))
    local exceptions, list_n = space:overrides(id, node_id)
    local got = {}
    for i = 1, list_n do got[i] = { exceptions[2 * i - 1], exceptions[2 * i] } end
    self:same("overrides of " .. id, hows_text(got), hows_text(model:overrides(id, node_id)))
  end
end

function Play:compare_explanation(id, node_id, target)
  local model, e = self.model, self.space:explain(id, node_id, target)
  local sees, why = model:explain(id, node_id, target)
  local text = tostring(e)
  self:same("explain: " .. text, tostring(e.sees) .. " " .. e.why, tostring(sees) .. " " .. why)
  if e.distance and self.space:position(id) then
    local w, t = model:position(id), model:position(target)
    self:same("dx: " .. text, e.dx, t[1] - w[1])
    self:same("dy: " .. text, e.dy, t[2] - w[2])
    self:same("dz: " .. text, e.dz, t[3] and t[3] - w[3])
  end
end

function Play:compare_near(random)
  local p, a, mask = position(self, random), area(self, random), random(4) == 1 and random(masks) or nil
  local arguments = { coordinates(p, a) }
  arguments[#arguments + 1] = mask
  self:same("near " .. show(p) .. " " .. shapes.text(a), ids_text(self.space:near(unpack(arguments))),
    ids_text(self.model:near(p, a, mask)))
  self:compare_many(random, a, mask)
  local n, radius = random(6) - 1, random(2) == 1 and self.scenario.radius(random) or nil
  arguments = { coordinates(p, n) }
  arguments[#p + 2], arguments[#p + 3] = radius or huge, mask
  local least, except = random(3) == 1 and self.scenario.radius(random) or nil, random(3) == 1 and random(6) or nil
  if least or except then arguments[#p + 4] = { least = least, except = except } end
  local list, found = self.space:nearest(unpack(arguments, 1, #p + 4))
  self:same("count of nearest", #list, found)
  self:same(("nearest %s %d %s"):format(show(p), n, tostring(radius)), table.concat(list, " "),
    table.concat(self.model:nearest(p, n, radius, mask, least, except), " "))
  self:compare_sweep(p, position(self, random), radius or 1, mask)
end

-- Places on the scenario's own coordinates, some of them close together, some twice: row by row what the model has.
function Play:compare_many(random, a, mask)
  local rows, places = {}, {}
  for i = 1, random(12) - 1 do
    places[i] = i > 1 and random(3) == 1 and places[i - 1] or position(self, random)
    for axis = 1, self.dimensions do rows[#rows + 1] = places[i][axis] end
  end
  local list, n, ends = self.space:near_many(rows, a, mask)
  self:same("count of near_many", #list, n)
  self:same("rows of near_many", #ends, #places)
  for i, p in ipairs(places) do
    local from, row = ends[i - 1] or 0, {}
    for k = from + 1, ends[i] do row[#row + 1] = list[k] end
    self:same(("near_many, row %d, %s %s"):format(i, show(p), shapes.text(a)), ids_text(row),
      ids_text(self.model:near(p, a, mask)))
  end
end

function Play:compare_sweep(from, to, radius, mask)
  local arguments = {}
  for _, p in ipairs { from, to } do
    for axis = 1, self.dimensions do arguments[#arguments + 1] = p[axis] end
  end
  local n = #arguments
  arguments[n + 1], arguments[n + 2] = radius, mask
  local hits, count = self.space:sweep(unpack(arguments))
  local got = {}
  for i = 1, count do got[i] = ("%s %.17g"):format(bits.id(hits[2 * i - 1]), hits[2 * i]) end
  self:same(("sweep %s %s %.17g"):format(show(from), show(to), radius), table.concat(got, ", "),
    table.concat(self.model:sweep(from, to, radius, mask), ", "))
end

-- The last ticks of aoi.history against a picture of each.
function Play:compare_past(random)
  if random(3) == 1 then
    self.past:tick()
    table.insert(self.pictures, 1, self.model:picture())
    self.pictures[PAST + 2] = nil
  end
  local ago, id = random(PAST + 1) - 1, id_of(random(self.scenario.ids))
  local p, a, mask = position(self, random), area(self, random), random(4) == 1 and random(masks) or nil
  local was, arguments = self.pictures[ago + 1], { coordinates(p, a) }
  arguments[#arguments + 1] = mask
  self:same(("near %s %s, %d ago"):format(show(p), shapes.text(a), ago),
    ids_text(self.past:near(ago, unpack(arguments))), was and ids_text(was:near(p, a, mask)) or "")
  local got, expected = { self.past:position(ago, id) }, was and was:position(id) or {}
  self:same(("position of %d, %d ago"):format(id, ago), show(got), show(expected))
end

function Play:compare(random, whole)
  local model, space = self.model, self.space
  self:same("count", space:count(), model:count())
  local ok, result = pcall(space.check, space)
  if not ok or result ~= true then self:differ("check: " .. tostring(result)) end
  self:compare_near(random)
  self:compare_past(random)
  self:compare_entity(id_of(random(self.scenario.ids)))
  for _ = 1, 3 do
    self:compare_explanation(id_of(random(self.scenario.ids)), random { 1, 2, -3 }, id_of(random(self.scenario.ids)))
  end
  if whole then
    self:same("ids", ids_text(space:ids()), ids_text(model:ids()))
    for i = 1, self.scenario.ids do self:compare_entity(id_of(i)) end
  end
end

-- The game -----------------------------------------------------------------------------------------------------------

-- A populated space to begin with.
local function fill(play, random)
  local rows, count = {}, play.scenario.full and play.scenario.ids or math.floor(play.scenario.ids * 2 / 3)
  for i = 1, count do rows[i] = { id_of(i), position(play, random) } end
  play.model:enter_many(rows)
  play.space:enter_many(play:flat(rows))
  for i = 1, count, play.scenario.every or 1 do
    local a = area(play, random)
    local hears = HEARS[(play.scenario.full or i % 2 == 0) and "cross" or "both"]
    play.model:add_node(id_of(i), 1, a, hears)
    play.space:add_node(id_of(i), 1, a, play:handlers(hears))
    if play.mode == "drain" then play.calls = 0 play:drain() elseif play.mode == "flush" then play:flush() end
  end
end

-- o: engine, dimensions, mode ("immediate", "flush", "drain"), scenario, seed, steps; and for handlers
-- unruly (nested calls), raises, yields. Raises what differs and how to see it again.
function history.run(o)
  local play = setmetatable({
    log = {}, step = 0, events = 0, budget = 0, suspended = 0, calls = 0, token = {}, buffer = {},
  }, Play)
  for key, value in pairs(o) do play[key] = value end
  local delivery = o.mode == "immediate" and "immediate" or "deferred"
  play.model = Model.new { dimensions = o.dimensions, delivery = delivery }
  play.space = aoi.new { engine = o.engine, dimensions = o.dimensions, delivery = delivery }
  play:begin()
  function play.on_enter(...) play:heard("enter", ...) end
  function play.on_leave(...) play:heard("leave", ...) end
  function play.on_cross(...) play:heard("cross", ...) end

  local function game()
    local random = rng.new(rng.hash(o.seed .. o.scenario.name .. o.dimensions))
    local questions = rng.new(rng.hash(o.seed .. "questions"))
    play.unruly = false
    fill(play, random)
    play.unruly = o.unruly
    for step = 1, o.steps do
      play.step, play.budget = step, o.unruly and 8 or 0
      local op = generate(play, random)
      local wait = random(3) == 1                    -- deferred spaces sometimes save up several calls
      play.calls = play.calls + 1
      if o.mode == "immediate" then
        if not play:attempt(function() play:apply(op) end) then play:flush() end
      else
        play:apply(op)
        if not wait and o.mode == "flush" then play:flush() elseif not wait then play:drain() end
      end
      if o.mode == "immediate" or (o.mode == "flush" and not wait) then
        local overdue = play.model:overdue()
        if #overdue > 0 then play:differ("not heard: " .. Model.text(overdue[1])) end
      end
      play:compare(questions, step % 50 == 0 or step == o.steps)
    end
    if o.mode == "drain" then play:drain() else play:flush() end
    if #play.model:overdue() > 0 then play:differ "events are left over at the end" end
    play:replay()
    play.space:close()
  end

  local ok, err = pcall(game)
  if ok then return play.events end
  local report = "%s\n  step %d of %s\n  the last calls:\n    %s\n  again: %s"
  error(report:format(tostring(err), play.step, o.name, table.concat(play.log, "\n    "), random_run.again(o.seed)), 0)
end

return history
