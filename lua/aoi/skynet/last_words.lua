-- A function that is called when the service ends, whatever ends it: skynet closes its Lua state then, also where it is
-- killed, and finalizers run. It may send, to services of the same process; it must not wait.
--
--   local words = last_words(function() core.send(address, ptype, 0, message) end)
--   words.cancel()

return function(f)
  local armed = true
  local sentinel = setmetatable({}, { __gc = function()
    if armed then f() end
  end })
  return { sentinel = sentinel, cancel = function() armed = false end }
end
