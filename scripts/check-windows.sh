#!/bin/sh
# check-windows.sh - after the C specs have passed in wine: aoi.dll and the Lua module, in a Lua for Windows.
set -eu
out=build/core-windows
lua=build/lua-windows

exports() { x86_64-w64-mingw32-objdump -p "$1" | sed -n 's/^[ \t]*\[ *[0-9]*\].* \([a-z_]*\)\r*$/\1/p'; }

names=$(exports $out/aoi.dll)
for name in aoi_open aoi_move aoi_next aoi_close; do
  echo "$names" | grep -qx $name || { echo "aoi.dll does not export $name"; exit 1; }
done
echo "aoi.dll exports $(echo "$names" | wc -l) functions"

sh scripts/windows-module.sh
if [ ! -e $lua/aoi/core.dll ]; then exit 0; fi
names=$(exports $lua/aoi/core.dll | sort | tr '\n' ' ')
if [ "$names" != "luaopen_aoi_core luaopen_aoi_core_wire luaopen_aoi_core_world " ]; then
  echo "core.dll exports $names"
  exit 1
fi

# The same walk, and two examples, here and there: the same words.
cat >$lua/walk.lua <<'LUA'
local aoi = require "aoi"
for _, engine in ipairs(aoi.engines()) do
  local space, seed, sum = aoi.new { engine = engine }, 1, 0
  local function random(n) seed = (seed * 1103515245 + 12345) % 2147483648 return seed / 2147483648 * n end
  local function count(watcher, target) sum = (sum * 31 + watcher * 1009 + target) % 1000000007 end
  for id = 1, 100 do
    space:enter(id, random(200), random(200))
    space:add_node(id, 1, id % 7 == 0 and { radius = 20, shape = "circle" } or 5 + id % 3 * 10, count, count)
  end
  for step = 1, 3000 do space:move(step % 100 + 1, random(200), random(200)) end
  assert(space:check())
  print(engine, space:stats().events)
  space:close()
end
LUA
path='lua/?.lua;lua/?/init.lua'
for script in $lua/walk.lua examples/thief.lua examples/guard.lua; do
  LUA_PATH=$path LUA_CPATH=$(echo $lua)/?.dll sh scripts/wine.sh $lua/lua.exe $script | tr -d '\r' >$lua/there.txt
  LUA_PATH=$path LUA_CPATH='./?.so' lua5.4 $script >$lua/here.txt
  cmp $lua/here.txt $lua/there.txt || { echo "$script differs on Windows"; exit 1; }
  echo "$script: the same $(wc -l <$lua/here.txt) lines as here"
done
