-- A space in the caller's own service, with the interface of one that lives in the AOI service: what is written against
-- one runs against the other. Nothing is sent, so errors and refused moves are raised at once.

local aoi = require "aoi"
local methods = require "aoi.skynet.methods"
local reserved = require "aoi.reserved"

local Space = {}
Space.__index = Space

-- options: engine, dimensions, cell, and drive = true: `flush` is the tick. log(text) takes errors without a handler.
local function new(options, log)
  local given = { delivery = "deferred" }
  for key, value in pairs(options or {}) do
    if key ~= "drive" then given[key] = value end
  end
  local drives = options and options.drive or false
  local self = setmetatable({ core = aoi.new(given), drives = drives, closed = false }, Space)
  self.core:on_error(function(err, ...)
    local f = self.error_handler
    if f then
      f(err, ...)
    else
      log(tostring(err))
    end
  end)
  return self
end

-- Called as the last thing of a method, so that level 2 is the method's caller.
local function results(ok, ...)
  if ok then return ... end
  error((...), 2)
end

for _, method in ipairs(methods) do
  local name = method.name
  Space[name] = function(self, ...) return results(methods.invoke(self.core, name, ...)) end
end

function Space:move(...) return results(methods.invoke(self.core, "move", ...)) end

function Space:__len() return self.core:count() end

function Space:close()
  self.closed = true
  self.core:close()
end

Space.__close = Space.close

function Space:tick() return results(methods.invoke(self.core, "flush")) end

function Space:flush()
  if self.drives or self.closed then return results(methods.invoke(self.core, "flush")) end
end

function Space:seen(id, node, buf)
  if reserved.has_node(self.core, id, node) then return self:view(id, node, buf) end
  return nil
end

function Space:on_error(f) self.error_handler = f end

-- These events cannot happen here; to set a handler for them is no error.
for _, name in ipairs { "on_refused", "on_resync", "on_close" } do
  Space[name] = function() end
end

return new
