#!/bin/sh
# windows-module.sh - makes build/lua-windows/aoi/core.dll, the module for Lua 5.4 on Windows, and lua.exe and lua54.dll.
#
# Nobody packages that Lua for Debian, so Debian's own source of it is fetched and compiled, below build/ alone. Without
# apt-get there is no module.
set -eu
cc=x86_64-w64-mingw32-gcc
here=$(pwd)
lua=build/lua-windows

# The source, by lists of packages of our own: the machine's stay as they are.
fetch() {
  mkdir -p $lua/parts $lua/lists/partial
  cd $lua
  for file in /etc/apt/sources.list.d/debian.sources; do
    if [ -e $file ]; then sed 's/^Types:.*/Types: deb-src/' $file >parts/debian.sources; fi
  done
  if [ -e /etc/apt/sources.list ]; then
    sed -n 's/^deb\(-src\)\{0,1\} /deb-src /p' /etc/apt/sources.list >parts/debian.list
  fi
  for step in update "--download-only source lua5.4"; do
    apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$here/$lua/parts" \
      -o Dir::State::Lists="$here/$lua/lists" $step >>apt.log 2>&1
  done
  tar -xzf lua5.4_*.orig.tar.gz
  mv lua-5.4*/src src
  cd "$here"
}

if [ ! -d $lua/src ]; then
  if ! command -v apt-get >/dev/null; then echo "no apt-get, no Lua for Windows, and no module for it"; exit 0; fi
  fetch || { tail -n 5 $lua/apt.log; exit 1; }
fi

sources=$(ls $lua/src/*.c | grep -v '/luac*\.c$')
if [ ! -e $lua/lua.exe ]; then
  $cc -O2 -DLUA_BUILD_AS_DLL -shared -o $lua/lua54.dll $sources
  $cc -O2 -DLUA_BUILD_AS_DLL -o $lua/lua.exe $lua/src/lua.c $lua/lua54.dll
fi
mkdir -p $lua/aoi
$cc -std=c11 -O2 -ffp-contract=off -DLUA_BUILD_AS_DLL -Iinclude -Isrc -isystem $lua/src -shared -o $lua/aoi/core.dll \
  src/lua/core.c $lua/lua54.dll
