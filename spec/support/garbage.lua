-- garbage.lua: how many KB of garbage f() makes: the least of three runs, so that a table that grows now and then does
-- not count. The collector is stopped meanwhile, and so is LuaJIT's compiler, whose traces would be counted.
local jit = rawget(_G, "jit")

return function(f)
  local least = math.huge
  if jit then jit.off() jit.flush() end
  local ok, err = pcall(function()
    f()
    collectgarbage() collectgarbage()
    collectgarbage("stop")
    f() -- what the collection has shrunk grows again, the stack for one
    for _ = 1, 3 do
      local before = collectgarbage("count")
      f()
      least = math.min(least, collectgarbage("count") - before)
    end
  end)
  collectgarbage("restart")
  if jit then jit.on() end
  if not ok then error(err, 0) end
  return least
end
