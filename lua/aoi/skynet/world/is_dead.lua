-- is_dead(address): whether that service of a world takes no messages any more. Calls of this service that still wait
-- for it fail then, as skynet has it for a service that exits, but not for one that is killed.

local skynet = require "skynet"

return function(address)
  if skynet.send(address, "lua", "alive") ~= nil then return false end
  skynet.redirect(skynet.self(), address, "error", 0, "")
  return true
end
