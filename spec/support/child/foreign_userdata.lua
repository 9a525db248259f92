-- foreign_userdata.lua: run by spec/misuse/mistakes_spec.lua in a Lua state of its own (faulty.c). Userdata of another
-- library, of any size, is refused as `self` before anything in it is read.
local aoi = require "aoi"

local foreign_userdata = foreign_userdata -- luacheck: ignore
local space = aoi.new()
space:enter(1, 0, 0)
local function refuses(self)
  for _, name in ipairs { "move", "close", "count" } do
    local ok, why = pcall(space[name], self, 1, 0, 0)
    assert(not ok and tostring(why):find("aoi.space expected, got", 1, true), name .. ": " .. tostring(why))
  end
end

refuses(foreign_userdata())
for size = 0, 512 do refuses(foreign_userdata(size)) end
assert(space:check() and #space == 1)
