-- Where a service is. A client says it when it opens a map, so that the AOI service finds out when a proxy of skynet's
-- cluster stands between them: requests would be answered, and moves and events be lost.

local skynet = require "skynet"
local core = require "skynet.core"

local origin = {}

-- Not the same for two processes: when it was started, and where a function lies in its memory.
local PROCESS = ("%d %s"):format(skynet.starttime(), tostring(core.now))

--- Of this service.
function origin.here() return ("%d %s"):format(skynet.self(), PROCESS) end

--- nil, or what is wrong with a request that has come from `source`, of a client that says it is `there`.
function origin.fault(source, there)
  local address, process = tostring(there):match "^(%d+) (.*)$"
  local _, far = skynet.harbor(source)
  if there == nil or tonumber(address) == source and (far or process == PROCESS) then return nil end
  return "bad argument #1 to 'open' (a proxy of skynet's cluster brings no moves and no events: open \"node@name\")"
end

return origin
