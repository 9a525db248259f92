-- Build, installation and packaging: every source is listed, and only `aoi` is installed.
local process = require "spec.support.process"
local must, quote, lines = process.must, process.quote, process.lines

local tree = os.getenv("AOI_TREE") or "."
local plain = tree == "." or not tree:find("-", 1, true) -- not a build for sanitizers or coverage
local lua = process.lua()

local function list(command) return lines(must(command)) end

local function rockspec()
  local env = {}
  local chunk
  if setfenv then -- Lua 5.1
    chunk = setfenv(assert(loadfile("aoi-scm-1.rockspec")), env)
  else
    chunk = assert(loadfile("aoi-scm-1.rockspec", "t", env))
  end
  chunk()
  return env
end

-- lua/aoi/x.lua is module aoi.x, lua/aoi/x/init.lua too.
local function module_of(path)
  return (path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."))
end

describe("the rockspec", function()
  local spec = rockspec()

  it("names every C source, and only those", function()
    assert.same(list("find src -name '*.c' | LC_ALL=C sort"), spec.build.modules["aoi.core"].sources)
  end)

  it("names every Lua module, and only those", function()
    local expected, found = {}, {}
    for _, path in ipairs(list("find lua -name '*.lua'")) do expected[module_of(path)] = path end
    for name, path in pairs(spec.build.modules) do
      if name ~= "aoi.core" then found[name] = path end
    end
    assert.same(expected, found)
  end)

  it("has everything below aoi, so that no other global module appears", function()
    for name in pairs(spec.build.modules) do assert.truthy(name == "aoi" or name:find("^aoi%.")) end
    assert.same({ "lua/aoi" }, list("find lua -mindepth 1 -maxdepth 1"))
  end)
end)

describe("the core", function()
  it("knows nothing of Lua: only the binding includes its headers", function()
    for _, path in ipairs(list("find src include -name '*.[ch]'")) do
      local includes = process.read(path):find("#%s*include%s*[<\"]l[ua]+[%w]*%.h")
      assert.truthy(not includes or path:find("^src/lua/"), path .. " includes a header of Lua")
    end
  end)

  it("exports nothing but what require looks for", function()
    if not process.has("nm") then pending("nm is not installed") end
    if not plain then pending("a build with instruments exports theirs") end
    local names = list("nm -D --defined-only " .. quote(tree .. "/aoi/core.so") .. " | awk '{ print $3 }'")
    assert.same({ "luaopen_aoi_core" }, names)
  end)

  it("is not linked with a Lua of its own", function()
    if not process.has("readelf") then pending("readelf is not installed") end
    local needed = must("readelf -d " .. quote(tree .. "/aoi/core.so") .. " | grep NEEDED || true")
    assert.is_nil(needed:find("lua", 1, true))
  end)
end)

describe("make", function()
  -- What the modules are called once installed, from the checkout's own files.
  local expected = { "aoi/core.so" }
  for _, path in ipairs(list("find lua -name '*.lua'")) do expected[#expected + 1] = (path:gsub("^lua/", "")) end
  table.sort(expected)

  -- The README's example in small, run outside the checkout: everything must come from the named folders.
  local script = [[
    local aoi = require "aoi"
    local space = aoi.new()
    space:enter(1, 0, 0)
    space:enter(2, 30, 0)
    space:add_node(1, 1, 10, function(w, t) io.write("enter ", w, " ", t, "\n") end,
      function(w, t) io.write("leave ", w, " ", t, "\n") end)
    space:move(2, 5, 0)
    space:leave(2)
  ]]

  local function runs_from(share, lib)
    local path = share .. "/?.lua;" .. share .. "/?/init.lua"
    local command = "cd / && unset LUA_PATH LUA_CPATH LUA_PATH_5_4 LUA_CPATH_5_4; LUA_PATH=%s LUA_CPATH=%s %s -e %s"
    local output = must(command:format(quote(path), quote(lib .. "/?.so"), quote(lua), quote(script)))
    assert.equal("enter 1 2\nleave 1 2\n", output)
  end

  local function installed(...)
    local found = {}
    for _, folder in ipairs{ ... } do
      for _, path in ipairs(list("cd " .. quote(folder) .. " && find . -type f")) do
        found[#found + 1] = path:sub(3)
      end
    end
    table.sort(found)
    return found
  end

  it("env lets any program require the tree", function()
    if not plain then pending("a build with instruments needs more than paths") end
    local program = 'eval "$(make -s env LUA=%s)" && cd / && %s -e %s'
    local output = must(program:format(quote(lua), quote(lua),
      quote("local s = require 'aoi'.new() s:enter(7, 1, 2) print(s:position(7) == 1, #s:ids())")))
    assert.equal("true\t1\n", output)
  end)

  it("env prints two exports and keeps what was set", function()
    local printed = list("make -s env")
    assert.equal(2, #printed)
    for i, name in ipairs{ "LUA_PATH", "LUA_CPATH" } do
      assert.equal("export " .. name .. "=", printed[i]:match("^[%w ]+_%u+="))
      local value = must("export " .. name .. "='/mine/?'; eval \"$(make -s env)\"; echo \"$" .. name .. '"')
      assert.truthy(value:find(";/mine/?\n", 1, true))
    end
  end)

  it("install puts exactly the core and the Lua modules below PREFIX, and uninstall removes them", function()
    if not plain then pending("nobody installs a build with instruments") end
    local folder, remove = process.folder()
    finally(remove)
    local where = (" LUA=%s DESTDIR=%s PREFIX=/opt/x"):format(quote(lua), quote(folder))
    must("make -s install" .. where)
    local version = _VERSION:match("[%d.]+")
    local share, lib = folder .. "/opt/x/share/lua/" .. version, folder .. "/opt/x/lib/lua/" .. version
    assert.same(expected, installed(share, lib))
    assert.equal(#expected, #list("find " .. quote(folder) .. " -type f"))
    runs_from(share, lib)
    must("make -s uninstall" .. where)
    assert.same({}, list("find " .. quote(folder) .. " -type f"))
  end)

  it("is what luarocks does too", function()
    if tree ~= "." then pending("once is enough") end
    if not process.has("luarocks") then pending("luarocks is not installed") end
    local folder, remove = process.folder()
    finally(remove)
    -- A copy, because luarocks leaves its objects beside the sources.
    must(("mkdir %s/in && cp -r aoi-scm-1.rockspec LICENSE include src lua %s/in"):format(quote(folder), quote(folder)))
    must(("cd %s/in && luarocks --lua-version 5.4 --tree %s/out make"):format(quote(folder), quote(folder)))
    local share, lib = folder .. "/out/share/lua/5.4", folder .. "/out/lib/lua/5.4"
    assert.same(expected, installed(share, lib))
    assert.same({ "aoi" }, list("ls " .. quote(share)))
    assert.same({ "aoi" }, list("ls " .. quote(lib)))
    runs_from(share, lib)
  end)

  it("says in one line what is missing where it may not install", function()
    local folder, remove = process.folder()
    finally(remove)
    -- A machine with the shell's tools and nothing else: no Lua, no busted, no apt-get, no sudo.
    for _, name in ipairs{ "sh", "make", "find", "sort", "id", "tr", "mkdir", "echo", "cmp", "test", "cc", "gcc" } do
      if process.has(name) then must(("ln -s \"$(command -v %s)\" %s/"):format(name, quote(folder))) end
    end
    local output, code = process.run(("PATH=%s make -s tools spec LUA=lua5.4 CC=cc"):format(quote(folder)))
    assert.not_equal(0, code)
    local told = {}
    for _, line in ipairs(lines(output)) do
      if not line:find("^make") then told[#told + 1] = line end
    end
    assert.equal(1, #told)
    assert.equal("missing: lua5.4 gzip lua-busted; install with: "
      .. "sudo apt-get update && sudo apt-get install -y lua5.4 gzip lua-busted", told[1])
  end)
end)
