-- Calls f() at multiples of an interval. A call that takes longer than the interval delays the next ones or skips them.

local skynet = require "skynet"

local Period = {}
Period.__index = Period

--- Makes a call now and sets the time of the next. Returns false if it is the last. If this is called from outside, f
-- must not wait.
function Period:step()
  if self.f() == false then return false end
  self.due = self.due + self.interval
  local now = skynet.now()
  if now >= self.due then
    local skipped = (now - self.due) // self.interval
    self.due = self.due + skipped * self.interval
    if self.late then self.late(skipped) end
  end
end

local function run(self)
  repeat
    local now = skynet.now()
    if now < self.due then
      skynet.sleep(self.due - now)
    else
      skynet.yield()
    end
  until skynet.now() >= self.due and self:step() == false
end

--- Calls f() every `interval` hundredths of a second until it returns false. late(skipped), if given, is called when a
-- call has become due during the one before it, with the number of skipped calls. Returns the period: `due` is the time
-- of the next call, `step` makes it now.
local function start(interval, f, late)
  local self = setmetatable({ interval = interval, f = f, late = late, due = skynet.now() + interval }, Period)
  skynet.fork(run, self)
  return self
end

return { start = start }
