-- aoi: area of interest for game servers. The core is C; the layers on top of it (aoi.*) are required by name.
return require "aoi.core"
