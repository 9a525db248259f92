-- Build, installation and packaging: every source is listed, and only `aoi` is installed.
--
-- What is the same for every Lua is tested with the usual one alone.
local process = require "spec.support.process"
local tools = require "spec.support.tools"
local tree = require "spec.support.tree"
local quote, lines = process.quote, process.lines

-- The makes that specs run are on their own, not helpers of the one that runs the specs.
local function must(command) return process.must("unset MAKEFLAGS MFLAGS MAKELEVEL; " .. command) end

local lua = process.lua()

local function list(command) return lines(must(command)) end

-- Where a test builds the whole core by itself, which takes as long as hundreds of others.
local function builds_the_core()
  if not tree.usual then pending("once is enough") end
  if tree.short then pending("it builds the core: left to runs of the usual length") end
  tools.need "cc"
end

-- The version of the header: everything that has one follows it.
local VERSION = process.read("include/aoi.h"):match('#define AOI_VERSION%s+"([%d.]+)"')
local ROCKSPEC = ("aoi-%s-1.rockspec"):format(VERSION)

local function rockspec()
  local env = {}
  local chunk
  if setfenv then -- Lua 5.1
    chunk = setfenv(assert(loadfile(ROCKSPEC)), env)
  else
    chunk = assert(loadfile(ROCKSPEC, "t", env))
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

  it("is the only one, and of the version of aoi.h, as are module, package.json and changelog", function()
    assert.same({ ROCKSPEC }, list("ls *.rockspec"))
    assert.same({ VERSION .. "-1", "v" .. VERSION }, { spec.version, spec.source.tag })
    assert.equal(VERSION, require("aoi").VERSION)
    assert.equal(VERSION, process.read("js/package.json"):match('"version": "([^"]*)"'))
    assert.equal(VERSION, process.read("CHANGELOG.md"):match("\n## ([%d.]+) %- %d%d%d%d%-%d%d%-%d%d\n"))
  end)

  it("names one C file, which includes all others", function()
    assert.same({ "src/lua/core.c" }, spec.build.modules["aoi.core"].sources)
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

describe("docs/house.md", function()
  it("names files that there are, to each question", function()
    local page, all = process.read "docs/house.md", {}
    for _, path in ipairs(list("find src lua js spec scripts include bin docs -type f")) do all[path] = true end
    local function is_there(name)
      for path in pairs(all) do
        if path == name or path:sub(-#name - 1) == "/" .. name then return true end
      end
    end
    local rows, n = page:match "\n## Where to look\n(.-)\n## ", 0
    for name in rows:gmatch "`([%w_/]+%.[%w_.]+)`" do
      n = n + 1
      assert.is_true(is_there(name), name)
    end
    assert.is_true(n > 40)
  end)
end)

it(".ci/run names specs that there are", function()
  local names = process.read(".ci/run"):match "%$%(echo (.-)%)"
  must("bash -c " .. quote("ls -d " .. names:gsub("\\\n", " ")))
end)

it("every page names specs, examples and scripts that there are", function()
  local all, folders = {}, { spec = true, examples = true, scripts = true, fuzz = true }
  for _, path in ipairs(list "find spec examples scripts fuzz") do
    all[path], all[path:gsub("%.%w+$", "")], all[path:gsub("_spec%.lua$", "")] = true, true, true
    all[path:match "([^/]*)_spec%.lua$" or path] = true -- alone, as the page of guarantees has them
  end
  for _, page in ipairs(list "ls *.md docs/*.md spec/README.md examples/README.md") do
    local text = page ~= "CHANGELOG.md" and process.read(page) or ""
    for code in text:gmatch "`([^`\n]+)`" do
      for name in code:gmatch "[%w_./-]+" do
        local is_named = folders[name:match "^(%w+)/" or ""] and not name:find "NAME"
        assert.is_truthy(not is_named or all[name:gsub("[/.]+$", "")], page .. ": " .. name)
      end
    end
  end
  for name in process.read("docs/testing.md"):gmatch "`([%l_]+)`" do
    assert.is_truthy(all[name] or name == "check", "docs/testing.md: " .. name)
  end
end)

describe("a rule of the house", function()
  if not tree.usual then return end
  local folder, remove

  setup(function()
    folder, remove = process.folder()
    must("cp -r include src lua " .. quote(folder))
  end)

  teardown(function() remove() end)

  -- The lines of house.lua about the copy.
  local function complaints()
    return lines((process.run(("%s scripts/house.lua %s"):format(lua, quote(folder)))))
  end

  -- Changes one file of the copy, or makes it, and takes that back: what is wrong then.
  local function complaints_with(path, change)
    local file = io.open(folder .. "/" .. path, "rb")
    local text = file and file:read("*a")
    if file then file:close() end
    process.write(folder .. "/" .. path, change(text or ""))
    local found = complaints()
    if text then process.write(folder .. "/" .. path, text) else os.remove(folder .. "/" .. path) end
    return found
  end

  -- `found` has a line about that file and rule.
  local function names(found, path, rule)
    for _, line in ipairs(found) do
      if line:sub(1, #path + #rule + 4) == path .. ": " .. rule .. ": " then return true end
    end
    return false, table.concat(found, "\n")
  end

  local function including(name) return function(text) return '#include "' .. name .. '"\n' .. text end end

  it("is kept by the tree", function() assert.same({}, complaints()) end)

  for _, case in ipairs {
    { "lua-headers", "src/core/space.c", "lua.h" },
    { "lua-headers", "src/base/memory.h", "lauxlib.h" },
    { "lua-headers", "include/aoi.h", "lualib.h" },
    { "base", "src/base/memory.h", "core/space.h" },
    { "base", "src/base/memory.c", "lua/compat.h" },
    { "core", "src/core/space.c", "engines/list/tiles.h" },
    { "core", "src/core/engine.h", "engines/list/block_list.h" },
    { "core", "src/core/space.c", "snapshot/snapshot.h" },
    { "core", "src/core/space.c", "journal/journal.h" },
    { "core", "src/snapshot/save.c", "sync/sync.h" },
    { "engines", "src/engines/tower.c", "engines/list/tiles.h" },
    { "engines", "src/engines/brute.c", "core/space.h" },
    { "grid", "src/grid/ring_query.h", "engines/list/list.h" },
    { "grid", "src/grid/lookups.c", "core/space.h" },
    { "engines", "src/engines/grid.c", "list/tiles.h" },
    { "engines", "src/engines/list/list.c", "lua/binding.h" },
    { "circle", "include/aoi.h", "lua/binding.h" },
    { "skynet", "src/lua/module.c", "skynet/wire.h" },
    { "unit", "src/core/space.c", "sys/mman.h" },
  } do
    local rule, path, header = case[1], case[2], case[3]
    it(rule .. " is broken by " .. header .. " in " .. path, function()
      assert.truthy(names(complaints_with(path, including(header)), path, rule))
    end)
  end

  it("circle names the whole circle", function()
    local found = complaints_with("src/base/memory.h", including("base/hash_index.h"))
    assert.truthy(table.concat(found, "\n"):find("src/base/hash_index.h: circle: "
      .. "src/base/hash_index.h > src/base/memory.h > src/base/hash_index.h", 1, true))
  end)

  it("unit is broken by a source that is missing, or there twice, or not of the core", function()
    assert.truthy(names(complaints_with("src/engines/hexes.c", function() return "int aoi_hexes;\n" end),
      "src/engines/hexes.c", "unit"))
    assert.truthy(names(complaints_with("src/aoi.c", including("core/space.c")), "src/core/space.c", "unit"))
    assert.truthy(names(complaints_with("src/aoi.c", including("lua/args.c")), "src/lua/args.c", "unit"))
    local function without_core(text) return (text:gsub('#include "aoi.c"', "")) end
    assert.truthy(names(complaints_with("src/lua/core.c", without_core), "src/aoi.c", "unit"))
  end)

  it("length is broken by the 601st line", function()
    local function long(n) return function() return ("\n"):rep(n) end end
    for _, path in ipairs { "src/core/long.h", "include/long.h", "lua/aoi/long.lua" } do
      assert.falsy((names(complaints_with(path, long(600)), path, "length")))
      assert.truthy(names(complaints_with(path, long(601)), path, "length"))
    end
  end)

  it("names is broken by a second file of a name", function()
    local function empty() return "" end
    assert.truthy(names(complaints_with("src/engines/list/space.h", empty), "src/engines/list/space.h", "names"))
    assert.truthy(names(complaints_with("src/lua/tower.c", empty), "src/lua/tower.c", "names"))
    assert.truthy(names(complaints_with("lua/aoi/skynet/trigger.lua", empty), "lua/aoi/trigger.lua", "names")
      or names(complaints_with("lua/aoi/skynet/trigger.lua", empty), "lua/aoi/skynet/trigger.lua", "names"))
  end)
end)

describe("a sixth engine", function()
  if not tree.usual then return end
  -- Brute force under another name stands for an engine of somebody's own.
  it("is one file, its line in the table of engines and its line in the unit", function()
    builds_the_core()
    local folder, remove = process.folder()
    finally(remove)
    must("cp -r include src lua " .. quote(folder))
    local function write(path, text)
      local file = assert(io.open(folder .. "/" .. path, "w"))
      file:write(text)
      file:close()
    end
    local function change(path, pattern, by)
      local text, n = process.read(folder .. "/" .. path):gsub(pattern, by)
      assert.equal(1, n, path)
      write(path, text)
    end
    write("src/engines/toy.c", (process.read("src/engines/brute.c"):gsub("brute", "toy")))
    change("src/core/engines.c", "\n(%s*E%(brute%))", function(line) return " \\\n    E(toy) \\\n" .. line end)
    change("src/core/engines.c", "(E%(quadtree%)%s*\\?) \\?\n", "%1\n")
    change("src/aoi.c", '(#include "engines/brute.c"\n)', '%1#include "engines/toy.c"\n')
    write("toy.c", [[
      #include <stdio.h>
      #include <string.h>
      #include "aoi.h"
      int main(void) {
        aoi_space *s;
        aoi_entity e[50];
        int known = 0;
        for (int i = 0; aoi_engine_name(i); i++) known += strcmp(aoi_engine_name(i), "toy") == 0;
        if (known != 1 || aoi_open(&(aoi_options){.engine = "toy"}, &s) != AOI_OK) return 1;
        for (int i = 0; i < 50; i++) {
          aoi_enter(s, i, (double[2]){i * 3, 0}, 1, e + i);
          aoi_add_node(s, e[i], 1, &(aoi_area){.radius = 10, .mask = AOI_ALL_KINDS}, NULL);
        }
        for (int i = 0; i < 50; i++) aoi_move(s, e[i], (double[2]){i * 2, i % 7});
        printf("%s, %s\n", aoi_check(s) ? aoi_check(s) : "sound", aoi_pending(s) > 100 ? "events" : "no events");
        aoi_close(s);
        return 0;
      }
    ]])
    must("cd " .. quote(folder) .. " && cc -O0 -std=c11 -Iinclude -Isrc -o toy toy.c src/aoi.c -lm")
    assert.equal("sound, events\n", must(quote(folder .. "/toy")))
  end)
end)

describe("the core", function()
  -- A product and a sum in one, on the processors that can.
  local FUSED = [[grep -cE '\<(v?fn?m(add|sub)[0-9]*[sp][sd]|fn?m(add|sub)|fml[as])\>' || true]]

  it("fuses no product with a sum, whatever flags it is built with", function()
    builds_the_core()
    tools.need "objdump"
    if not must("uname -m"):find("x86_64", 1, true) then pending("the flags are those of x86-64") end
    local folder, remove = process.folder()
    finally(remove)
    local cc = os.getenv("CC") or "cc"
    -- Not -O2, which takes twice the time for the same products.
    local function fused(file)
      local command = "%s -O1 -fexpensive-optimizations -fPIC -std=gnu17 -mfma -Iinclude -Isrc -c %s -o %s/x.o"
      must(command:format(cc, quote(file), quote(folder)))
      return tonumber(must(("objdump -d %s/x.o | %s"):format(quote(folder), FUSED)))
    end
    process.write(folder .. "/fuses.c", "double f(double a, double b, double c) { return a * b + c; }")
    assert.equal(1, fused(folder .. "/fuses.c"))
    assert.equal(0, fused("src/aoi.c"))
  end)

  it("refuses to be built without IEEE arithmetic", function()
    if not tree.usual then pending("once is enough") end
    local cc = os.getenv("CC") or "cc"
    local output, code = process.run(cc .. " -ffast-math -Iinclude -Isrc -fsyntax-only src/aoi.c")
    assert.not_equal(0, code)
    assert.truthy(output:find("aoi needs IEEE arithmetic", 1, true))
  end)

  it("exports nothing but what require looks for", function()
    tools.need "nm"
    if not tree.plain then pending("a build with instruments exports theirs") end
    local names = list("nm -D --defined-only " .. quote(tree.path .. "/aoi/core.so") .. " | awk '{ print $3 }'")
    assert.same({ "luaopen_aoi_core", "luaopen_aoi_core_wire", "luaopen_aoi_core_world" }, names)
  end)

  it("opens its parts for skynet where they are asked for, with the core and without", function()
    local code = [[%s local before = package.loaded["aoi.core.wire"] or package.loaded["aoi.core.world"]
      local native = require "aoi.skynet.native"
      local wire, world = native "wire", native "world"
      print(before, type(wire.outbox), type(world.router), native "wire" == wire, not package.loaded["aoi.core"])]]
    local _, command = process.lua()
    for _, first in ipairs { 'require "aoi"', pcall(string.pack, "B", 1) and "" or nil } do
      assert.equal("nil\tfunction\tfunction\ttrue\t" .. tostring(first == "") .. "\n",
        must(command .. " -e " .. quote(code:format(first))))
    end
  end)

  it("is not linked with a Lua of its own", function()
    tools.need "readelf"
    local needed = must("readelf -d " .. quote(tree.path .. "/aoi/core.so") .. " | grep NEEDED || true")
    assert.is_nil(needed:find("lua", 1, true))
  end)
end)

describe("make", function()
  -- What the modules are called once installed, from the checkout's own files.
  local expected = { "aoi/core.so" }
  for _, path in ipairs(list("find lua -name '*.lua'")) do expected[#expected + 1] = (path:gsub("^lua/", "")) end
  for _, path in ipairs(list("ls js/aoi-sync.js js/viewer/*")) do
    expected[#expected + 1] = "aoi/viewer/assets/" .. path:match("[^/]+$")
  end
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
    local page = "local a, b = require 'aoi.viewer.assets'.page() print(#a > 2000 and #b > 50000)"
    assert.equal("true\n", must(command:format(quote(path), quote(lib .. "/?.so"), quote(lua), quote(page))))
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
    if not tree.plain then pending("a build with instruments needs more than paths") end
    local program = 'eval "$(make -s env LUA=%s)" && cd / && %s -e %s'
    local output = must(program:format(quote(lua), quote(lua),
      quote("local s = require 'aoi'.new() s:enter(7, 1, 2) print(s:position(7) == 1, #s:ids())")))
    assert.equal("true\t1\n", output)
  end)

  -- The row of the README. busted runs itself again with the Lua that --lua names, and hands the paths on.
  it("env and --lua let busted run somebody's spec with the tree", function()
    if not tree.plain then pending("a build with instruments needs more than paths") end
    tools.need "busted"
    assert.is_truthy(process.read "README.md":find("`busted --lua=lua5.4 my_spec.lua`", 1, true))
    local folder, remove = process.folder()
    finally(remove)
    process.write(folder .. "/my_spec.lua", ([[
      it("sees", function()
        local space = require("aoi").new()
        space:enter(1, 0, 0)
        space:enter(2, 5, 0)
        space:add_node(1, 1, 10, function() end)
        assert.is_true(space:sees(1, 1, 2))
        assert.equal(%q, _VERSION .. tostring(jit))
      end)
    ]]):format(_VERSION .. tostring(jit)))
    local program = 'eval "$(make -s env LUA=%s)" && cd %s && busted -o TAP --lua=%s my_spec.lua'
    local output = must(program:format(quote(lua), quote(folder), quote(lua)))
    assert.is_truthy(output:find("ok 1 - sees", 1, true), output)
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

  describe("install", function()
    if not tree.plain then return end -- nobody installs a build with instruments
    local MAJOR = VERSION:match("%d+")
    local version = _VERSION:match("[%d.]+")
    local folder, remove, prefix, where

    setup(function()
      folder, remove = process.folder()
      prefix = folder .. "/opt/x"
      where = (" LUA=%s DESTDIR=%s PREFIX=/opt/x"):format(quote(lua), quote(folder))
      must("make -s install" .. where)
    end)

    teardown(function() remove() end)

    it("puts exactly these files below PREFIX, and uninstall removes them", function()
      local all = {}
      for _, name in ipairs(expected) do
        all[#all + 1] = (name:find("%.so$") and "lib/lua/" or "share/lua/") .. version .. "/" .. name
      end
      for _, name in ipairs { "bin/aoi", "lib/libaoi.a", "lib/libaoi.so", "lib/libaoi.so." .. MAJOR,
        "lib/libaoi.so." .. VERSION, "lib/pkgconfig/aoi.pc", "lib/cmake/aoi/aoi-config.cmake",
        "lib/cmake/aoi/aoi-config-version.cmake" } do
        all[#all + 1] = name
      end
      for _, path in ipairs(list "ls include/*.h") do all[#all + 1] = path end
      table.sort(all)
      local found = list(("cd %s && find . ! -type d | sed 's,^./,,' | LC_ALL=C sort"):format(quote(prefix)))
      table.sort(found)
      assert.same(all, found)

      -- Into another folder, where two files of somebody else's lie.
      local other, remove_other = process.folder()
      finally(remove_other)
      local there = (" LUA=%s DESTDIR=%s PREFIX=/opt/x"):format(quote(lua), quote(other))
      local share = other .. "/opt/x/share/lua/" .. version
      must(("mkdir -p %s/aoi %s/opt/x/include"):format(quote(share), quote(other)))
      must(("touch %s/aoi/mine.lua %s/opt/x/include/mine.h"):format(quote(share), quote(other)))
      must("make -s install" .. there .. " && make -s uninstall" .. there)
      assert.same({ "./include/mine.h", "./share/lua/" .. version .. "/aoi/mine.lua" },
        list(("cd %s/opt/x && find . ! -type d | LC_ALL=C sort"):format(quote(other))))
      assert.is_false(process.has(quote(share .. "/aoi/skynet")))
      assert.same({ share .. "/aoi" }, list("find " .. quote(share) .. " -mindepth 1 -type d"))
    end)

    it("gives modules that run from there", function()
      runs_from(prefix .. "/share/lua/" .. version, prefix .. "/lib/lua/" .. version)
    end)

    it("gives a program that finds them, wherever the prefix lies", function()
      local program = ("%s %s/bin/aoi"):format(quote(lua), quote(prefix))
      local out = must(("env -u LUA_PATH -u LUA_CPATH %s --help 2>&1 || true"):format(program))
      assert.is_nil(out:find("module 'aoi", 1, true), out)
    end)

    it("gives a shared library that exports the C API and nothing else", function()
      tools.need("nm", "readelf")
      local exported = list(("nm -D --defined-only %s/lib/libaoi.so | awk '{ print $3 }'"):format(quote(prefix)))
      local header = " " .. must("cat include/*.h"):gsub("/%*.-%*/", "")
      assert.truthy(#exported > 20)
      for _, name in ipairs(exported) do
        assert.truthy(header:find("[^%w_]" .. name .. "%("), name .. " is exported and not in aoi.h")
      end
      assert.truthy(must(("readelf -d %s/lib/libaoi.so"):format(quote(prefix)))
        :find("soname: [libaoi.so." .. MAJOR .. "]", 1, true))
    end)

    -- Compiles a program against what is installed, with the flags of pkg-config, and runs it: its last line.
    local function runs(compiler, source, libraries)
      if not tree.usual or tree.short then pending("once is enough, in runs of the usual length") end
      tools.need(compiler, "pkg-config")
      local command = "cd %s && export PKG_CONFIG_LIBDIR=%s/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=%s && "
        .. "%s -Wall -Wextra -Werror %s -o program $(pkg-config --cflags aoi) " .. libraries .. " && "
        .. "LD_LIBRARY_PATH=%s/lib ./program && rm program"
      local output = lines(must(command:format(quote(folder), quote(prefix), quote(folder), compiler,
        quote(must("pwd"):match("[^\n]+") .. "/" .. source), quote(prefix))))
      return output[#output]
    end

    for _, case in ipairs {
      { "cc", "examples/c/guard.c", "a stale handle: no such entity or node" },
      { "c++", "examples/c/wolf.cpp", "2 went away from 1" },
    } do
      local compiler, source, last = case[1], case[2], case[3]
      it("lets " .. source .. " be linked with the shared library", function()
        assert.equal(last, runs(compiler, source, "$(pkg-config --libs aoi)"))
      end)

      it("lets " .. source .. " be linked with the static library", function()
        assert.equal(last, runs(compiler, source, "$(pkg-config --static --libs aoi | sed 's/-laoi/-l:libaoi.a/')"))
      end)
    end

    it("lets a CMake project find it, the versions that fit alone", function()
      if not tree.usual or tree.short then pending("once is enough, in runs of the usual length") end
      tools.need "cmake"
      local project, remove_project = process.folder()
      finally(remove_project)
      local here = must("pwd"):match("[^\n]+")
      local text = "cmake_minimum_required(VERSION 3.13)\nproject(guard C)\nfind_package(aoi %s REQUIRED)\n"
        .. "add_executable(guard %s/examples/c/guard.c)\ntarget_link_libraries(guard aoi::aoi)\n"
      local command = ("cd %s && rm -rf build && cmake -B build -DCMAKE_PREFIX_PATH=%s")
        :format(quote(project), quote(prefix))
      process.write(project .. "/CMakeLists.txt", text:format(VERSION, here))
      local output = lines(must(command .. " && cmake --build build && ./build/guard"))
      assert.equal("a stale handle: no such entity or node", output[#output])
      process.write(project .. "/CMakeLists.txt", text:format("99.0", here))
      assert.not_equal(0, select(2, process.run(command)))
    end)

    it("tells pkg-config the version of aoi.h", function()
      tools.need "pkg-config"
      assert.equal(VERSION .. "\n",
        must(("PKG_CONFIG_LIBDIR=%s/lib/pkgconfig pkg-config --modversion aoi"):format(quote(prefix))))
    end)
  end)

  it("dist writes three files that compile by themselves", function()
    builds_the_core()
    local folder, remove = process.folder()
    finally(remove)
    must(("%s scripts/dist.lua %s"):format(quote(lua), quote(folder)))
    assert.same({ "aoi.c", "aoi.h", "aoi_lua.c" }, list("ls " .. quote(folder)))
    for _, name in ipairs { "aoi.c", "aoi.h", "aoi_lua.c" } do
      local text = process.read(folder .. "/" .. name)
      assert.truthy(text:find("MIT License", 1, true), name)
      for inner in text:gmatch('#%s*include%s+"([^"]+)"') do
        assert.truthy(inner == "aoi.h" or inner == "aoi.c", inner)
      end
    end
    must(("into=%s && cp -r lua $into/share && mkdir -p $into/share/aoi/viewer/assets $into/aoi && "
      .. "cp js/aoi-sync.js js/viewer/* $into/share/aoi/viewer/assets && cp examples/c/guard.c $into")
      :format(quote(folder)))
    local headers = process.read("build/lua5.4/flags"):match("(%S+)%s*$")
    must(("cd %s && cc -O0 -std=c11 -Wall -Wextra -Werror -o guard -I. guard.c aoi.c -lm && ./guard && "
      .. "cc -O0 -std=c11 -shared -fPIC -isystem %s -o aoi/core.so aoi_lua.c -lm"):format(quote(folder), headers))
    runs_from(folder .. "/share", folder)
  end)

  it("is what luarocks does too", function()
    builds_the_core()
    tools.need "luarocks"
    local folder, remove = process.folder()
    finally(remove)
    -- A copy, because luarocks leaves its objects beside the sources.
    local copy = "mkdir %s/in && cp -r %s LICENSE bin include src lua js %s/in"
    must(copy:format(quote(folder), ROCKSPEC, quote(folder)))
    local command = "cd %s/in && luarocks --lua-version 5.4 --tree %s/out make CFLAGS='-O0 -fPIC'"
    must(command:format(quote(folder), quote(folder)))
    local share, lib = folder .. "/out/share/lua/5.4", folder .. "/out/lib/lua/5.4"
    assert.same(expected, installed(share, lib))
    assert.same({ "aoi" }, list("ls " .. quote(share)))
    assert.same({ "aoi" }, list("ls " .. quote(lib)))
    if tools.has "nm" then
      assert.same({ "luaopen_aoi_core", "luaopen_aoi_core_wire", "luaopen_aoi_core_world" },
        list(("nm -D --defined-only %s/aoi/core.so | awk '{ print $3 }'"):format(quote(lib))))
    end
    runs_from(share, lib)
  end)

  it("says in one line what is missing where it may not install", function()
    local folder, remove = process.folder()
    finally(remove)
    -- A machine with the shell's tools and nothing else: no Lua, no busted, no apt-get, no sudo.
    for _, name in ipairs{ "sh", "make", "find", "sort", "id", "tr", "mkdir", "echo", "cmp", "test", "cc", "gcc" } do
      if tools.has(name) then must(("ln -s \"$(command -v %s)\" %s/"):format(name, quote(folder))) end
    end
    local command = "unset MAKEFLAGS MFLAGS MAKELEVEL; PATH=%s make -s tools spec LUA=lua5.4 CC=cc"
    local output, code = process.run(command:format(quote(folder)))
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

describe("spec/run.sh", function()
  it("ends with what failed, how that is run again, and how many have passed", function()
    local folder = "build/run_spec"
    finally(function() must("rm -rf " .. folder) end)
    must("mkdir -p " .. folder)
    for name, script in pairs {
      good = "echo noise; exit 0", bad = "echo why; exit 3",
      busted = "echo '+++'; echo '4 passed, 0 failed'",
      broken = "echo 'FAILED a test'; echo '7 passed, 2 failed'; exit 1",
      crashed = "echo '+++'; kill -9 $$",
    } do
      process.write(folder .. "/" .. name, "#!/bin/sh\n" .. script .. "\n")
      must("chmod +x " .. folder .. "/" .. name)
    end
    for _, case in ipairs {
      { "@good", 0, "1 passed, 0 failed" },
      { "@good lua @busted spec/x", 0, "5 passed, 0 failed" },
      { "", 1, "0 passed, 0 failed" },
      { "@bad @good lua @busted spec/x", 1, "FAILED @bad: exit code 3\n  again: AOI_SEED=5 AOI_LENGTH=2 @bad\n"
        .. "5 passed, 1 failed" },
      { "@good lua @broken spec/x", 1, "FAILED a test\n8 passed, 2 failed" },
      { "@good lua @crashed spec/x", 1, "FAILED spec/: exit code 137\n1 passed, 1 failed" },
    } do
      local words = case[1]:gsub("@", folder .. "/")
      local output, code = process.run("AOI_SEED=5 AOI_LENGTH=2 spec/run.sh " .. words)
      local last = output:match "\nAOI_SEED=5\n(.*)\n$" or output:match "^AOI_SEED=5\n(.*)\n$"
      assert.equal(case[2], code, output)
      assert.equal((case[3]:gsub("@", folder .. "/")), last)
    end
  end)
end)

describe("a test that lacks a tool", function()
  if not tree.usual then return end -- variants are run by a command of several words

  it("says which, and does not run", function()
    local names = { "node", "chromium", "mono", "cc", "cmark-gfm", "argparse", "LuaSocket", "luaossl", "dkjson" }
    local code = ([[package.loaded.busted = { subscribe = function() end }
      print(require("spec.support.tools").lacks("%s"))]]):format(table.concat(names, '", "'))
    local _, command = process.lua()
    local interpreter = must("command -v " .. command):match "[^\n]+"
    assert.equal("needs " .. table.concat(names, ", ") .. "\n",
      must("LUA_PATH=./?.lua LUA_CPATH= PATH=/nowhere " .. quote(interpreter) .. " -e " .. quote(code)))
    assert.equal("needs no-such-tool, string.nothing", tools.lacks("no-such-tool", "make", "string.nothing"))
    assert.is_nil(tools.lacks("make", "string.rep"))
    local ok, why = pcall(tools.need, "make", "no-such-tool")
    assert.is_false(ok)
    assert.equal("needs no-such-tool", why.message)
  end)
end)
