-- line_coverage.lua: which lines of lua/ the specs run. `make coverage` has spec/helper.lua load it; it prints a table.
-- Lines that can run are those for which luac emits an instruction; an `end` alone has none.
local busted = require "busted"

local luac = os.getenv("AOI_LINES") -- the compiler that lists instructions
local hits = {}                     -- by source, a set of lines
local seen = setmetatable({}, { __index = function(t, source)
  local path = source:match("^@.*(lua/aoi/.*)$") or source:match("^@(lua/aoi/.*)$")
  if path then hits[path] = hits[path] or {} end
  t[source] = path and hits[path] or false
  return t[source]
end })

local function hook(_, line)
  local lines = seen[debug.getinfo(2, "S").source]
  if lines then lines[line] = true end
end

-- A hook belongs to one coroutine.
for _, name in ipairs { "create", "wrap" } do
  local make = coroutine[name]
  coroutine[name] = function(f) -- luacheck: ignore
    return make(function(...)
      debug.sethook(hook, "l")
      return f(...)
    end)
  end
end
debug.sethook(hook, "l")

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

local function report()
  debug.sethook()
  local all_hit, all = 0, 0
  for _, path in ipairs(lines_of("find lua -name '*.lua' | LC_ALL=C sort")) do
    local text, can, hit, missed = lines_of("cat " .. path), {}, 0, {}
    for _, listed in ipairs(lines_of(luac .. " -l -p " .. path)) do
      local number = tonumber(listed:match("^%s+%d+%s+%[(%d+)%]"))
      local is_code = number and not listed:find("VARARGPREP") and not text[number]:find("^%s*end[%s%p]*$")
      if is_code then can[number] = true end
    end
    local count = 0
    for number = 1, #text do
      if can[number] then
        count = count + 1
        if hits[path] and hits[path][number] then hit = hit + 1 else missed[#missed + 1] = number end
      end
    end
    if not path:find "^lua/aoi/meta/" and count > 0 then -- meta: for editors, never loaded
      all_hit, all = all_hit + hit, all + count
      local some = #missed > 12 and "" or "  " .. table.concat(missed, " ")
      print(("%7.2f%% of %5d  %s%s"):format(100 * hit / count, count, path, some))
    end
  end
  print(("%7.2f%% of %5d  lua"):format(100 * all_hit / all, all))
  return nil, true
end

busted.subscribe({ "suite", "end" }, report)
