-- mortal.lua: mortal(f) is something whose end is noticed by f. In Lua 5.1, LuaJIT without its 5.2 extensions included,
-- tables have no finalizer.
return function(f)
  if _VERSION ~= "Lua 5.1" then return setmetatable({}, { __gc = f }) end
  local proxy = newproxy(true) -- luacheck: ignore
  getmetatable(proxy).__gc = f
  return proxy
end
