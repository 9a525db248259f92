-- tree.lua: which build is being tested. The Makefile names its folder.
--
--   path      "." or build/NAME, which has aoi/core.so in it
--   usual     the one for the Lua that the Makefile takes by itself. What no other Lua does otherwise is tested with
--             this one alone
--   plain     none for sanitizers or coverage
--   short     random histories are shorter than usual, as in `make test`: what takes long and seldom fails is left out
--   engines   those to go through where random histories do not: all of the usual Lua, with and without sanitizers, two
--             where it is short; one of every other Lua, as they share the core
local aoi = require "aoi"
local random_run = require "spec.support.random_run"

local path = os.getenv("AOI_TREE") or "."
local tree = { path = path, usual = path == ".", plain = path == "." or not path:find("-", 1, true) }

local all = aoi.engines()
tree.short = random_run.steps(100) < 100
tree.engines = not (tree.usual or not tree.plain) and { all[1] } or tree.short and { all[1], all[2] } or all

return tree
