-- is_dead(address): whether that service of a world takes no messages any more. If so, calls of this service that wait
-- for it fail from then on: skynet ends them where a service exits, but not where it is killed.

local skynet = require "skynet"

return function(address)
  if skynet.send(address, "lua", "alive") ~= nil then return false end
  skynet.redirect(skynet.self(), address, "error", 0, "")
  return true
end
