-- call(address, ...): skynet.call of a service, which raises nothing: true and the answer; false and the reason, where
-- the service is gone or has raised; nil and what is wrong, where skynet cannot pack an argument: that was never sent.

local skynet = require "skynet"

return function(address, ...)
  local answer = table.pack(pcall(skynet.call, address, "lua", ...))
  if answer[1] then return table.unpack(answer, 1, answer.n) end
  local sound, wrong = pcall(skynet.packstring, ...)
  if not sound then return nil, wrong end
  return false, answer[2]
end
