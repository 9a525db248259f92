-- A fixed rate: f() is called at multiples of the interval. One that takes longer makes the next ones late, or skips
-- them.

local skynet = require "skynet"

--- Calls f() every `interval` hundredths of a second until it returns false. late(skipped), if given, is called for
-- each call that was due while the one before it still ran, with the number of those that were left out altogether.
return function(interval, f, late)
  local due = skynet.now() + interval
  while true do
    local now = skynet.now()
    if now < due then
      skynet.sleep(due - now)
    else
      skynet.yield()
    end
    if f() == false then return end
    due = due + interval
    now = skynet.now()
    if now >= due then
      local skipped = (now - due) // interval
      due = due + skipped * interval
      if late then late(skipped) end
    end
  end
end
