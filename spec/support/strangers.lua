-- strangers.lua: run by spec/20-misuse_spec.lua in a state of its own (faulty.c). Other libraries' userdata, of any
-- size, is no space, and is told so before anything else of it is read.
local aoi = require "aoi"

local stranger = stranger -- luacheck: ignore
local space = aoi.new()
space:enter(1, 0, 0)
local function refuses(self)
  for _, name in ipairs { "move", "close", "count" } do
    local ok, why = pcall(space[name], self, 1, 0, 0)
    assert(not ok and tostring(why):find("aoi.space expected, got", 1, true), name .. ": " .. tostring(why))
  end
end

refuses(stranger())
for size = 0, 512 do refuses(stranger(size)) end
assert(space:check() and #space == 1)
