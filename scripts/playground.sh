#!/bin/sh
# playground.sh FOLDER - FOLDER/aoi.js: Lua and the core in one script for browsers, by emscripten.
#
# Lua's sources are Debian's (apt-get source), or those in LUA_SOURCE. Nothing of them is kept but what is compiled.
set -eu
folder=$1
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The sources of Debian's Lua 5.4, from the same places as its packages.
fetch() {
  mkdir -p "$work/lists/partial"
  for file in /etc/apt/sources.list.d/*.sources; do
    if [ -e "$file" ]; then sed 's/^Types:.*/Types: deb-src/' "$file" >"$work/$(basename "$file")"; fi
  done
  if [ -e /etc/apt/sources.list ]; then sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$work/all.list"; fi
  apt="apt-get -qq -o Dir::Etc::sourcelist=- -o Dir::Etc::sourceparts=$work -o Dir::State::lists=$work/lists -o APT::Sandbox::User=root"
  $apt update
  (cd "$work" && $apt source --download-only lua5.4 && mkdir lua && tar -xf lua5.4_*.orig.tar.gz -C lua --strip-components=1)
  LUA_SOURCE=$work/lua/src
}

if [ -z "${LUA_SOURCE:-}" ]; then fetch; fi
sources=$(ls "$LUA_SOURCE"/*.c | grep -v -e '/lua\.c$' -e '/luac\.c$' -e '/onelua\.c$' -e '/ltests\.c$')
# Where Debian puts what emcc's own scripts require, should node be another than Debian's.
export NODE_PATH="/usr/share/nodejs${NODE_PATH:+:$NODE_PATH}"
# shellcheck disable=SC2086
emcc -O2 -ffp-contract=off -DLUA_USE_POSIX=0 -I"$LUA_SOURCE" -Iinclude -Isrc -w $sources src/lua/core.c js/playground/host.c \
  -o "$folder/aoi.js" --embed-file lua@/lua -s MODULARIZE=1 -s EXPORT_NAME=aoiModule -s SINGLE_FILE=1 -s ALLOW_MEMORY_GROWTH=1 \
  -s ENVIRONMENT=web,node -s EXPORTED_RUNTIME_METHODS=ccall,FS
