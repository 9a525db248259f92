-- A space in the caller's own service, with the interface of one that lives in the AOI service: what is written against
-- one runs against the other. Nothing is sent, so errors and refused moves are raised at once.

local aoi = require "aoi"
local argument = require "aoi.skynet.argument"
local failures = require "aoi.skynet.failures"
local handlers_of = require "aoi.skynet.handlers"
local methods = require "aoi.skynet.methods"
local new_sync = require("aoi.sync").new
local reserved = require "aoi.reserved"
local wire = require "aoi.skynet.wire"

local results = methods.results

local Space = {}
Space.__index = Space

local OWN = { drive = true, quantum = true, address = true }

-- options: engine, dimensions, cell, quantum of client views, and drive = true: `flush` is the tick; address: of the
-- service itself, as others know it. log(text) takes errors without a handler.
local function new(options, log)
  local given = { delivery = "deferred" }
  options = options or {}
  for key, value in pairs(options) do
    if not OWN[key] then given[key] = value end
  end
  local ok, core = wire.call_as(aoi.new, "open", -2, given)
  if not ok then error(core, 0) end
  local self = setmetatable({
    core = core, drives = options.drive or false, closed = false, log = log,
    dimensions = given.dimensions or 2, quantum = options.quantum, address = options.address or 0, views = {},
  }, Space)
  self.core:on_error(function(err, ...)
    local f = self.error_handler
    if f then
      f(err, ...)
    else
      log(failures.text(err))
    end
  end)
  return self
end

methods.each(function(name)
  Space[name] = function(self, ...) return results(methods.invoke(self.core, name, ...)) end
end)

function Space:move(...) return results(methods.invoke(self.core, "move", ...)) end

function Space:__len() return self.core:count() end

function Space:close()
  self.closed = true
  self.core:close()
end

Space.__close = Space.close

-- Nodes -------------------------------------------------------------------------------------------------------------

-- The handlers, called with kind and position of what enters, as of the delivery.
local function with_positions(core, handlers)
  local function enter(watcher, target, node)
    local f = handlers.enter
    if f then return f(watcher, target, node, core:kind(target), core:position(target)) end
  end
  local function leave(...)
    local f = handlers.leave
    if f then return f(...) end
  end
  return { enter = enter, leave = leave }
end

-- The handlers that `listen` was given.
local function foreign(space)
  return setmetatable({}, { __index = function(_, kind) return (space.listener or {})[kind] end })
end

function Space:add_node(id, node, area, ...)
  local handlers, options = handlers_of.arguments(...)
  if options and options.to then
    if options.to ~= self.address then
      argument.fail(5, "add_node", 1, "service :%08x cannot be told of a local space", math.tointeger(options.to) or 0)
    end
    handlers = foreign(self)
  end
  if options and options.positions then handlers = with_positions(self.core, handlers) end
  return results(methods.invoke(self.core, "add_node", id, node, area, handlers))
end

function Space:listen(handlers)
  handlers_of.check_table(handlers, 1, "listen", 2)
  self.listener = handlers
end

function Space:seen(id, node, buf)
  if math.type(id) and not self.core:has(id) then
    argument.fail(2, "seen", 2, "entity %d has no node %d here", id, math.tointeger(node) or 0)
  end
  return results(methods.invoke_as(self.core, "view", "seen", id, node, buf))
end

function Space.handlers_wait(_, how)
  if how ~= "order" and how ~= "free" then argument.fail(1, "handlers_wait", 2, "'order' or 'free' expected") end
end

-- Client views ------------------------------------------------------------------------------------------------------

local function call(space, f, ...)
  local ok, err = xpcall(f, debug.traceback, ...)
  if not ok then space.log(err) end
end

function Space:add_client(id, area, options)
  local given = {}
  for key, value in pairs(options or {}) do
    if key ~= "fd" and key ~= "to" then given[key] = value end
  end
  self.sync = self.sync or new_sync(self.core, { quantum = self.quantum })
  results(methods.invoke_as(self.sync, "add", "add_client", id, area, given))
  self.views[id] = { fd = options and options.fd }
end

function Space:remove_client(id)
  if not self.views[id] then argument.fail(1, "remove_client", 2, "entity %s is no client", tostring(id)) end
  self.views[id] = nil
  self.sync:remove(id)
end

for _, name in ipairs { "resend", "pin", "unpin", "touch", "set_priority", "known" } do
  Space[name] = function(self, ...)
    self.sync = self.sync or new_sync(self.core, { quantum = self.quantum })
    return results(methods.invoke(self.sync, name, ...))
  end
end

local function tell_clients(space)
  if not space.sync or space.closed then return end
  space.sync:tick(function(id, bytes)
    local view, f = space.views[id], space.client_handler
    if view and f then call(space, f, id, bytes, view.fd) end
  end)
end

-- Services that know an entity: this one, or none.
local function reached(space, id)
  local list, n = space.core:viewers(id)
  local ids, count, seen = {}, 0, {}
  local function add(watcher)
    if seen[watcher] then return end
    count = count + 1
    seen[watcher], ids[count] = true, watcher
  end
  for i = 1, 2 * n, 2 do
    if list[i + 1] > reserved.FIRST then add(list[i]) end
  end
  if space.sync then
    list, n = space.sync:knowers(id)
    for i = 1, n do add(list[i]) end
  end
  return ids, count
end

function Space:knowers(id, buf)
  local ok, _, n = pcall(reached, self, id)
  if not ok then argument.fail(1, "knowers", 1, "no entity %s", tostring(id)) end
  buf = buf or {}
  buf[1] = n > 0 and self.address or nil
  buf[2] = nil
  return buf, n > 0 and 1 or 0
end

function Space:broadcast(id, bytes)
  if type(bytes) ~= "string" then argument.fail(2, "broadcast", 2, "string expected, got %s", type(bytes)) end
  local ok, ids, n = pcall(reached, self, id)
  if not ok then argument.fail(1, "broadcast", 1, "no entity %s", tostring(id)) end
  if n > 0 and self.broadcast_handler then call(self, self.broadcast_handler, bytes, id, ids, n) end
  return n > 0 and 1 or 0
end

--- There is nothing to take from another service.
function Space:take_over(id)
  if not self.core:has(id) then argument.fail(1, "take_over", 2, "no entity %s", tostring(id)) end
  return self.core:position(id)
end

-- Ticks -------------------------------------------------------------------------------------------------------------

local function tick(space)
  tell_clients(space)
  return methods.invoke(space.core, "flush")
end

function Space:tick() return results(tick(self)) end

function Space:flush(rows, n)
  if rows ~= nil then
    local ok, err = methods.invoke_as(self.core, "move_many", "flush", rows, n)
    if not ok then error(err, 2) end
  end
  if self.drives or self.closed then return results(tick(self)) end
end

-- Some of these events cannot happen here; to set a handler for them is no error.
handlers_of.setters(Space, function(space, name, f) space[name .. "_handler"] = f end)

return new
