-- Loads the parts of the core for skynet: "wire" (src/lua/wire.h) and "world" (src/lua/world.h). To save memory in
-- thousands of agents, which have no spaces, a part is opened alone if the core is not loaded, without the methods of
-- spaces and of the layers on them.

return function(part)
  local name = "aoi.core." .. part
  if not (package.loaded[name] or package.loaded["aoi.core"] or package.preload["aoi.core"]) then
    local path = package.searchpath("aoi.core", package.cpath)
    local open = path and package.loadlib(path, "luaopen_aoi_core_" .. part)
    if open then open() end
  end
  if not package.loaded[name] then require "aoi.core" end
  return package.loaded[name]
end
