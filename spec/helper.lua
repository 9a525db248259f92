-- Runs before the specs: they must test the copy that was just built in this tree for this Lua, and no other.

local tree = os.getenv("AOI_TREE") or "."
local path = (tree == "." and "" or tree .. "/") .. "aoi/core.so"

local file = io.open(path, "rb")
if not file then error(path .. " is not built: run `make`, or `make spec LUA=...` for another Lua", 0) end
file:close()

local ok, why = pcall(require, "aoi.core")
if not ok then error(path .. " does not load: use `make spec LUA=...` to build for this Lua and run it\n" .. why, 0) end

-- What the process has really mapped, not what the search path would find now.
local maps = io.open("/proc/self/maps", "r")
if maps then
  local here = assert(require("lfs").currentdir())
  local loaded
  for line in maps:lines() do
    local name = line:match("(/.*aoi/core%.so)$")
    if name and name ~= loaded then
      if name ~= here .. "/" .. path then error("the core was loaded from " .. name .. ", not from " .. path, 0) end
      loaded = name
    end
  end
  maps:close()
  if not loaded then error("the core is not mapped: was it linked into the interpreter?", 0) end
end

local version = type(jit) == "table" and jit.version or _VERSION
print(("%s with %s%s"):format(version, path, os.getenv("AOI_SEED") and ", AOI_SEED=" .. os.getenv("AOI_SEED") or ""))

-- Busted keeps every test that it ran, and a test keeps its spaces: full collections would take longer and longer.
local busted = require "busted"

local function forget(element, _, status)
  element.run, element.env, element.before_each, element.after_each = nil, nil, nil, nil
  if status == "success" and element.trace then element.trace.traceback = nil end
  return nil, true
end

busted.subscribe({ "test", "end" }, forget)
busted.subscribe({ "describe", "end" }, forget)

if os.getenv("AOI_LINES") then require "spec.support.line_coverage" end

-- An assertion of luassert takes tens of microseconds, and some specs make a million of them: those that hold are told
-- here, and the others go on to luassert, by a tail call, so that it names the line of the spec.
local luassert = require "luassert"

local function quick(name, holds, least)
  luassert[name] = function(...)
    if select("#", ...) >= least and holds(...) then return ... end
    return luassert.state()[name](...)
  end
end

local function is_true(v) return v == true end
local function is_false(v) return v == false end
local function is_nil(v) return v == nil end
local function is_truthy(v) return v end
local function is_equal(a, b, ...) return a == b and select("#", ...) == 0 end
local function is_same(a, b, ...) return type(a) ~= "table" and is_equal(a, b, ...) end

quick("is_true", is_true, 1)
quick("is_false", is_false, 1)
quick("is_nil", is_nil, 1)
quick("is_truthy", is_truthy, 1)
quick("truthy", is_truthy, 1)
quick("equal", is_equal, 2)
quick("same", is_same, 2)
