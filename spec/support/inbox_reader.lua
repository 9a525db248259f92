-- inbox_reader.lua: what an inbox makes of messages, as a list: { "+", handle, target [, kind, x, y [, z]] } of an
-- enter, { "-", handle, target } of a leave, and { what, a, b, c, d } of an entry that is no event.
--
--   local reader = inbox_reader(1, 2)       an inbox with these handles open, of link 7
--   local list, reason = reader:read(message)
local wire = require "aoi.skynet.wire"

local Reader = {}
Reader.__index = Reader

local function add(self, ...) self.list[#self.list + 1] = { ... } end

local function listen(self, handle)
  self.inbox:handlers(handle, {
    enter = function(_, target, _, ...) add(self, "+", handle, target, ...) end,
    leave = function(_, target) add(self, "-", handle, target) end,
  })
end

function Reader:open(handle, link)
  self.inbox:open(handle, link or 7, 1, 1)
  listen(self, handle)
end

-- The list, without what is to be acknowledged; or nil and a reason, and nothing has changed.
function Reader:read(message)
  self.list = {}
  local ok, reason = self.receive(message)
  if ok then return self.list end
  assert(#self.list == 0 and type(reason) == "string", "nothing is told of a message that is refused")
  return nil, reason
end

return function(...)
  local self = setmetatable({ inbox = wire.inbox(), list = {} }, Reader)
  local function fail(err) error(err, 0) end
  self.receive = self.inbox:receiver(debug.traceback, nil, fail, fail, function(what, a, b, c, d)
    if what == wire.OPENED then listen(self, d) end
    if what ~= wire.MISSED then add(self, what, a, b, c, d) end
  end, fail, fail, function() return true end)
  for _, handle in ipairs { ... } do self:open(handle) end
  return self
end
