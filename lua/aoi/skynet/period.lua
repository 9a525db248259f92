-- A fixed rate: f() is called at multiples of the interval. One that takes longer makes the next ones late, or skips
-- them.

local skynet = require "skynet"

local Period = {}
Period.__index = Period

--- One call, and the time of the next. Returns false if it is the last. What is given to `start` must not wait, where
-- another one calls this.
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

--- Calls f() every `interval` hundredths of a second until it returns false. late(skipped), if given, is called for
-- each call that was due while the one before it still ran, with the number of those that were left out altogether.
-- Returns the period: `due` is the time of the next call, `step` makes it now.
local function start(interval, f, late)
  local self = setmetatable({ interval = interval, f = f, late = late, due = skynet.now() + interval }, Period)
  skynet.fork(run, self)
  return self
end

return { start = start }
