-- house.lua [FOLDER]: the rules of the house that a compiler does not know. `make lint` runs it.
--
--   rule          what it asks for
--   lua-headers   only src/lua and src/skynet include the headers of Lua
--   skynet        src/skynet, opened where skynet is used, is included by itself and src/lua/core.c alone
--   base          src/base includes nothing of ours but base, and the types of aoi.h
--   core          src/core includes nothing of src/engines, which it knows by core/engine.h, and nothing of
--                 src/sync and src/view, which it knows by core/plugin_hook.h and core/observer_hook.h, nothing of
--                 src/snapshot and src/journal, which stand on it
--   tick          src/tick includes the core and base alone
--   grid          src/grid includes core/space_records.h, core/parts.h, core/rule.h and base alone
--   engines       an engine includes its own folder, the grid, core/engine.h, core/rule.h and base alone
--   circle        includes form no circle
--   unit          src/aoi.c includes every source of the core once, src/lua/core.c those of the binding; and
--                 first the system headers of them all, because what comes after is hidden
--   length        no file of src, include and lua has more than 600 lines
--   names         a file name stands for one thing: no other folder has a file of that name (init.lua apart, and
--                 lua/aoi/meta/TOPIC.lua, which describes aoi.TOPIC for editors)
--
-- Each violation is a line "file: rule: what is wrong"; the exit status is 1 if there are any.
local root = (arg[1] or ".") .. "/"
local MOST_LINES = 600
local LUA_HEADERS = { ["lua.h"] = true, ["lauxlib.h"] = true, ["lualib.h"] = true, ["luaconf.h"] = true }

local violations = {}
local function violation(path, rule, format, ...)
  violations[#violations + 1] = ("%s: %s: %s"):format(path, rule, format:format(...))
end

local function starts(text, prefix) return text:sub(1, #prefix) == prefix end

local function is_binding(path) return starts(path, "src/lua/") or starts(path, "src/skynet/") end

-- Paths below the root, sorted.
local function list(folders, pattern)
  local command = "cd '%s' && find %s -type f -name '%s' | LC_ALL=C sort"
  local pipe = assert(io.popen(command:format(root, folders, pattern)))
  local paths = {}
  for path in pipe:lines() do paths[#paths + 1] = path end
  pipe:close()
  if #paths == 0 then error("no " .. pattern .. " below " .. root .. folders, 0) end
  return paths
end

local function lines_of(path)
  local lines = {}
  for line in io.lines(root .. path) do lines[#lines + 1] = line end
  return lines
end

-- ---- what each file includes ------------------------------------------------------------------------------------

local c_files = list("include src", "*.[ch]")
local is_file = {}
for _, path in ipairs(c_files) do is_file[path] = true end

-- The file that an #include of `path` means, as the compiler looks for it: beside it, then in -Iinclude -Isrc.
local function resolve(path, name)
  local beside = path:match("^(.*/)[^/]*$") .. name
  while beside:find("[^/]+/%.%./") do beside = beside:gsub("[^/]+/%.%./", "", 1) end
  for _, candidate in ipairs { beside, "include/" .. name, "src/" .. name } do
    if is_file[candidate] then return candidate end
  end
end

local includes = {} -- by file, a list of our files
local systems = {}  -- by file, a list of headers of the system
for _, path in ipairs(c_files) do
  includes[path], systems[path] = {}, {}
  for _, line in ipairs(lines_of(path)) do
    local name = line:match('^%s*#%s*include%s*["<]([^">]+)[">]')
    if name then
      local file = resolve(path, name)
      if file then
        table.insert(includes[path], file)
      else
        table.insert(systems[path], name)
      end
      if not file and LUA_HEADERS[name] and not is_binding(path) then
        violation(path, "lua-headers", "includes %s, which is for src/lua and src/skynet alone", name)
      end
    end
  end
end

-- ---- who may include whom ---------------------------------------------------------------------------------------

-- src/engines/list/move.c is of engine list, src/engines/tower.c of engine tower.
local function engine_of(path)
  local name = path:match("^src/engines/([^/]+)")
  return name and name:gsub("%.[ch]$", "")
end

local function engine_may(path, file)
  local other = engine_of(file)
  if other then return other == engine_of(path) end
  return file == "src/core/engine.h" or file == "src/core/rule.h" or starts(file, "src/grid/")
    or starts(file, "src/base/")
end

for _, path in ipairs(c_files) do
  for _, file in ipairs(includes[path]) do
    if starts(path, "src/base/") and not (starts(file, "src/base/") or file == "include/aoi.h") then
      violation(path, "base", "includes %s, which is not of base", file)
    elseif starts(path, "src/core/") and starts(file, "src/engines/") then
      violation(path, "core", "includes %s: the core knows engines by core/engine.h", file)
    elseif starts(path, "src/core/") and starts(file, "src/sync/") then
      violation(path, "core", "includes %s: the core knows synchronisers by core/plugin_hook.h", file)
    elseif starts(path, "src/core/") and starts(file, "src/view/") then
      violation(path, "core", "includes %s: the core knows observers by core/observer_hook.h", file)
    elseif starts(path, "src/core/") and (starts(file, "src/snapshot/") or starts(file, "src/journal/")) then
      violation(path, "core", "includes %s, which stands on it", file)
    elseif starts(path, "src/snapshot/") and not (starts(file, "src/snapshot/") or starts(file, "src/core/")
      or starts(file, "src/base/")) then
      violation(path, "core", "includes %s: a snapshot knows the core alone", file)
    elseif starts(path, "src/tick/") and not (starts(file, "src/tick/") or starts(file, "src/core/")
      or starts(file, "src/base/")) then
      violation(path, "tick", "includes %s: a tick knows the core alone", file)
    elseif starts(path, "src/grid/") and not (starts(file, "src/grid/") or starts(file, "src/base/")
      or file == "src/core/space_records.h" or file == "src/core/parts.h" or file == "src/core/rule.h") then
      violation(path, "grid", "includes %s: the grid knows records and the rule alone", file)
    elseif starts(path, "src/engines/") and not engine_may(path, file) then
      violation(path, "engines", "includes %s, which is not for this engine", file)
    elseif starts(file, "src/skynet/") and not starts(path, "src/skynet/") and path ~= "src/lua/core.c" then
      violation(path, "skynet", "includes %s, which is for skynet alone", file)
    end
  end
end

-- ---- no circles --------------------------------------------------------------------------------------------------

local state, trail = {}, {}
local function visit(path)
  state[path] = "open"
  trail[#trail + 1] = path
  for _, file in ipairs(includes[path]) do
    if state[file] == "open" then
      local first = 1
      while trail[first] ~= file do first = first + 1 end
      violation(file, "circle", "%s > %s", table.concat(trail, " > ", first), file)
    elseif not state[file] then
      visit(file)
    end
  end
  trail[#trail] = nil
  state[path] = "done"
end
for _, path in ipairs(c_files) do
  if not state[path] then visit(path) end
end

-- ---- units -------------------------------------------------------------------------------------------------------

-- The system headers that a file includes, itself or through a header of ours.
local function add_systems(path, set, seen)
  seen[path] = true
  for _, name in ipairs(systems[path]) do set[name] = true end
  for _, file in ipairs(includes[path]) do
    if file:find("%.h$") and not seen[file] then add_systems(file, set, seen) end
  end
  return set
end

-- `unit` includes exactly these, each once.
local function check_unit(unit, expected)
  local count = {}
  for _, file in ipairs(includes[unit] or {}) do
    if file:find("%.c$") then count[file] = (count[file] or 0) + 1 end
  end
  for _, path in ipairs(expected) do
    local times = count[path] or 0
    if times ~= 1 then violation(path, "unit", "%s includes it %d times instead of once", unit, times) end
    count[path] = nil
  end
  for path in pairs(count) do violation(path, "unit", "%s includes it and should not", unit) end
end

local core, binding = {}, { "src/aoi.c" }
for _, path in ipairs(c_files) do
  if path:find("%.c$") and path ~= "src/aoi.c" and path ~= "src/lua/core.c" then
    table.insert(is_binding(path) and binding or core, path)
  end
end
check_unit("src/aoi.c", core)
check_unit("src/lua/core.c", binding)

local first = add_systems("src/lua/core.c", add_systems("src/aoi.c", {}, {}), {})
for _, path in ipairs(c_files) do
  for _, name in ipairs(systems[path]) do
    if not first[name] then violation(path, "unit", "includes <%s>, which src/aoi.c does not include first", name) end
  end
end

-- ---- files by themselves -----------------------------------------------------------------------------------------

local folder_of = { ["aoi"] = false } -- include/aoi.h is the header of src/aoi.c
local function check_name(path, name)
  local folder = path:match("^(.*)/")
  if folder_of[name] == nil then
    folder_of[name] = folder
  elseif folder_of[name] and folder_of[name] ~= folder then
    violation(path, "names", "%s has a file of that name, too", folder_of[name])
  end
end

local function check_length(path)
  local count = #lines_of(path)
  if count > MOST_LINES then violation(path, "length", "%d lines; at most %d", count, MOST_LINES) end
end

for _, path in ipairs(c_files) do
  check_length(path)
  check_name(path, path:match("([^/]+)%.[ch]$")) -- a source and its header share one
end
for _, path in ipairs(list("lua", "*.lua")) do
  check_length(path)
  local name = path:match("[^/]+$")
  if name ~= "init.lua" and not starts(path, "lua/aoi/meta/") then check_name(path, name) end
end

for _, text in ipairs(violations) do print(text) end
os.exit(#violations == 0 and 0 or 1)
