-- Loads the parts of the core for skynet: "wire" (src/skynet/wire.h) and "world" (src/skynet/world.h). The core offers
-- them to `require`, and opens neither itself. Where it is not loaded a part is opened alone, without the methods of
-- spaces and of the layers on them: that saves memory in thousands of agents, which have no spaces.

return function(part)
  local name = "aoi.core." .. part
  if not (package.loaded[name] or package.loaded["aoi.core"] or package.preload["aoi.core"]) then
    local path = package.searchpath("aoi.core", package.cpath)
    package.preload[name] = path and package.loadlib(path, "luaopen_aoi_core_" .. part) or nil
  end
  if not (package.loaded[name] or package.preload[name]) then require "aoi.core" end
  return (require(name))
end
