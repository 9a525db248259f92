-- fixture.lua: one small space per engine, dimension and way of delivery, with its events as readable strings.
--
--   for setup in fixture.all() do
--     describe("moves on " .. setup.name, function()
--       local w = setup.new()                   a space; w.space is the space itself
--       w:enter(1, w:at(0))                      positions are arrays: the specs are the same in 2D and 3D
--       w:watch(1, 7, 5)                         a node that records
--       assert.same({ "+1/7>2" }, w:take())      the events since the last take, sorted: + enter, - leave
local aoi = require "aoi"
local Model = require "spec.support.model"
local tree = require "spec.support.tree"

local fixture = {}
local Fixture = {}
Fixture.__index = Fixture

-- immediate: handlers; flush: handlers of a deferred space; drain: no handlers at all.
fixture.modes = { "immediate", "flush", "drain" }

local function new(setup, options)
  local chosen = { engine = setup.engine, dimensions = setup.dimensions, delivery = setup.delivery }
  for name, value in pairs(options or {}) do chosen[name] = value end
  local self = setmetatable({ dimensions = setup.dimensions, mode = setup.mode, heard = {}, buffer = {} }, Fixture)
  self.space = aoi.new(chosen)
  function self.on_enter(watcher, target, node_id) self:record("enter", watcher, target, node_id) end
  function self.on_leave(watcher, target, node_id) self:record("leave", watcher, target, node_id) end
  return self
end

-- An iterator over setups. what: { modes = {...}, dimensions = {...} }, everything without it.
function fixture.all(what)
  what = what or {}
  return coroutine.wrap(function()
    for _, engine in ipairs(tree.engines) do
      for _, dimensions in ipairs(what.dimensions or { 2, 3 }) do
        for _, mode in ipairs(what.modes or fixture.modes) do
          local setup = {
            engine = engine, dimensions = dimensions, mode = mode,
            delivery = mode == "immediate" and "immediate" or "deferred",
            name = ("%s %dD %s"):format(engine, dimensions, mode),
          }
          function setup.new(options) return new(setup, options) end
          coroutine.yield(setup)
        end
      end
    end
  end)
end

-- Setups whose way of delivery is part of the test itself.
function fixture.immediate() return fixture.all { modes = { "immediate" } } end

function fixture.deferred() return fixture.all { modes = { "flush" } } end

function Fixture:record(kind, watcher, target, node_id)
  self.heard[#self.heard + 1] = Model.text { kind = kind, watcher = watcher, target = target, node_id = node_id }
end

-- A position: `value` on `axis` (the first without it), `rest` (0) on the others.
function Fixture:at(value, axis, rest)
  local p = {}
  for i = 1, self.dimensions do p[i] = i == (axis or 1) and value or rest or 0 end
  return p
end

function Fixture:enter(id, p, kind)
  if self.dimensions == 2 then self.space:enter(id, p[1], p[2], kind)
  else self.space:enter(id, p[1], p[2], p[3], kind) end
end

function Fixture:move(id, p)
  if self.dimensions == 2 then self.space:move(id, p[1], p[2])
  else self.space:move(id, p[1], p[2], p[3]) end
end

-- rows: { {id, position}, ... }, as the flat array of move_many and enter_many.
function Fixture:flat(rows)
  local t = {}
  for _, row in ipairs(rows) do
    t[#t + 1] = row[1]
    for axis = 1, self.dimensions do t[#t + 1] = row[2][axis] end
  end
  return t
end

function Fixture:near(p, ...)
  if self.dimensions == 2 then return self.space:near(p[1], p[2], ...) end
  return self.space:near(p[1], p[2], p[3], ...)
end

-- Adds a node that records its events (with data delivery: a node without handlers).
function Fixture:watch(id, node_id, area)
  if self.mode == "drain" then self.space:add_node(id, node_id, area)
  else self.space:add_node(id, node_id, area, self.on_enter, self.on_leave) end
end

local function drain(self)
  local aoi_kinds = { [aoi.ENTER] = "enter", [aoi.LEAVE] = "leave" }
  local buffer, n = self.space:drain(self.buffer)
  for i = 1, 4 * n, 4 do
    self:record(aoi_kinds[buffer[i]], buffer[i + 1], buffer[i + 2], buffer[i + 3])
  end
end

-- Where events wait for a flush: flushes.
function Fixture:deliver()
  if self.mode == "flush" then return self.space:flush() end
end

-- The events since the last take, in the order they came.
function Fixture:ordered()
  if self.mode == "flush" then self.space:flush() elseif self.mode == "drain" then drain(self) end
  local heard = self.heard
  self.heard = {}
  return heard
end

-- The same, sorted; the space must be sound, too.
function Fixture:take()
  local heard = self:ordered()
  table.sort(heard)
  assert(self.space:check() == true)
  return heard
end

return fixture
