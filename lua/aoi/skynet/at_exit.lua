-- Calls a function when the service ends, even if it is killed: skynet closes its Lua state, which runs finalizers. The
-- function may send to services of the same process; it must not wait.
--
--   local words = at_exit(function() core.send(address, ptype, 0, message) end)
--   words.cancel()

local armed = {} -- sentinel -> true: prevents its collection before the end

return function(f)
  local sentinel = setmetatable({}, { __gc = function(self)
    if armed[self] then f() end
  end })
  armed[sentinel] = true
  return { cancel = function() armed[sentinel] = nil end }
end
