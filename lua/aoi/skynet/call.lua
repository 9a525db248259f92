-- call(address, ...): skynet.call of a service without errors. Returns true and the answer; false and the reason if the
-- service has ended or has raised; nil and the error if skynet cannot pack an argument: then nothing was sent.

local skynet = require "skynet"

return function(address, ...)
  local answer = table.pack(pcall(skynet.call, address, "lua", ...))
  if answer[1] then return table.unpack(answer, 1, answer.n) end
  local sound, wrong = pcall(skynet.packstring, ...)
  if not sound then return nil, wrong end
  return false, answer[2]
end
