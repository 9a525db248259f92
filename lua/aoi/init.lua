-- aoi: area of interest for game servers. The core is C; the modules on top of it (aoi.*) are required by name.
local ok, core = pcall(require, "aoi.core")
if ok then
  require "aoi.explanation"
  return core
end

-- A core that was built for another Lua is found but does not load: the dynamic linker names a symbol that this Lua
-- does not have, or the check of versions fails.
local text = tostring(core)
for _, sign in ipairs { "undefined symbol", "symbol not found", "version mismatch", "multiple Lua VMs", "procedure" } do
  if text:find(sign, 1, true) then
    local lua = rawget(_G, "jit") and "luajit" or _VERSION:lower():gsub(" ", "")
    local version = _VERSION:match "[%d.]+$"
    error(("%s\n\taoi/core was built for another Lua than this one, %s. Build it for this one: `make LUA=%s` in aoi's "
      .. "sources,\n\tor `luarocks --lua-version %s install aoi`; `make LUA=%s env` prints the paths to load it from.")
      :format(text, rawget(_G, "jit") and "LuaJIT" or _VERSION, lua, version, lua), 0)
  end
end
error(core, 0)
