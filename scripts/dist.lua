-- dist.lua FOLDER: the library as three files that any compiler builds without a Makefile.
--
--   aoi.h       the public headers of include/, one after another
--   aoi.c       the C core:         cc -O2 -c aoi.c
--   aoi_lua.c   the Lua module:     cc -O2 -shared -fPIC -I<lua.h's folder> -o aoi/core.so aoi_lua.c -lm
--               it includes aoi.c, which lies beside it
--
-- src/aoi.c and src/lua/core.c already include every source once. Here each `#include "..."` becomes the text of its
-- file at the first time and nothing afterwards, as every header has a guard; each piece names the file it comes from.
-- The sources are not changed otherwise, so a bug report that names a piece and a function is about the same code.
local folder = assert(arg[1], "usage: dist.lua FOLDER")

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "*a"
  file:close()
  return text
end

-- The file that an include means: beside the includer, below src, or public.
local function find(name, includer)
  for _, path in ipairs { includer:match "^(.*/)" .. name, "src/" .. name, "include/" .. name } do
    local text = read(path)
    if text then return path, text end
  end
  error(("%s includes %s, which is not there"):format(includer, name), 0)
end

-- The text of a file with all that it includes, as pieces in `out`. `given` has the paths whose text is out already,
-- `kept` the lines that stand for files that are not inlined: the first include of such a file becomes its line.
local function inline(path, text, given, kept, out)
  given[path] = true
  out[#out + 1] = ("/* ---- %s ---- */\n"):format(path)
  for line in text:gmatch "[^\n]*\n" do
    local name = line:match '^%s*#%s*include%s+"([^"]+)"'
    if not name then
      out[#out + 1] = line
    else
      local inner, inner_text = find(name, path)
      if kept[inner] then
        out[#out + 1] = kept[inner]
        kept[inner] = ""
      elseif not given[inner] then
        inline(inner, inner_text, given, kept, out)
        out[#out + 1] = ("/* ---- %s ---- */\n"):format(path)
      end
    end
  end
  return out
end

local function write(name, pieces)
  local file = assert(io.open(folder .. "/" .. name, "wb"))
  assert(file:write(table.concat(pieces)))
  file:close()
end

local licence = "/* " .. read("LICENSE"):gsub("\n+$", ""):gsub("\n", "\n * "):gsub(" +\n", "\n") .. " */\n"

local pipe = assert(io.popen "LC_ALL=C ls include")
local headers, kept = { licence }, {}
local public = {}
for name in pipe:lines() do
  inline("include/" .. name, assert(read("include/" .. name)), public, {}, headers)
end
pipe:close()
for path in pairs(public) do kept[path] = "" end
kept["include/aoi.h"] = '#include "aoi.h"\n'

local given = {}
write("aoi.h", headers)
write("aoi.c", inline("src/aoi.c", assert(read "src/aoi.c"), given, kept, { licence }))
-- What the core has, the module has through it.
kept["src/aoi.c"] = '#include "aoi.c"\n'
write("aoi_lua.c", inline("src/lua/core.c", assert(read "src/lua/core.c"), given, kept, { licence }))
