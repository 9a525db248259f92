-- The parts of the core that are C for skynet: "wire" (src/lua/wire.h) and "world" (src/lua/world.h). An agent, one of
-- thousands, has no spaces: where nothing else has loaded the core, a part is opened by itself, which leaves out the
-- methods of spaces and of all that stands on them.

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
