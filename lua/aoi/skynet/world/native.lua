-- The part of a world that is C: src/lua/world.h. It comes with the core and is no module of its own file.
require "aoi.core"
return package.loaded["aoi.core.world"]
