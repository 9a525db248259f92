-- Identifies a client's process and service. A client sends its origin when it opens a map, so that the AOI service
-- detects a proxy of skynet's cluster between them: that would forward requests, but lose moves and events.

local skynet = require "skynet"
local core = require "skynet.core"

local origin = {}

-- Differs between processes: the start time and the address of a function.
local PROCESS = ("%d %s"):format(skynet.starttime(), tostring(core.now))

--- The origin of this service.
function origin.here() return ("%d %s"):format(skynet.self(), PROCESS) end

--- nil, or the error of a request from the address `source` of a client that has sent the origin `there`.
function origin.fault(source, there)
  local address, process = tostring(there):match "^(%d+) (.*)$"
  local _, far = skynet.harbor(source)
  if there == nil or tonumber(address) == source and (far or process == PROCESS) then return nil end
  return "bad argument #1 to 'open' (a proxy of skynet's cluster brings no moves and no events: open \"node@name\")"
end

return origin
