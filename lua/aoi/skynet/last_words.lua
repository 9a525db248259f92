-- A function that is called when the service ends, whatever ends it: skynet closes its Lua state then, also where it is
-- killed, and finalizers run. It may send, to services of the same process; it must not wait.
--
--   local words = last_words(function() core.send(address, ptype, 0, message) end)
--   words.cancel()

local armed = {} -- sentinel -> true: kept until the end

return function(f)
  local sentinel = setmetatable({}, { __gc = function(self)
    if armed[self] then f() end
  end })
  armed[sentinel] = true
  return { cancel = function() armed[sentinel] = nil end }
end
