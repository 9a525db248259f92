#!/bin/sh
# dist.sh FOLDER - what a release consists of.
#
#   aoi-VERSION.tar.gz                        the sources as they were committed
#   aoi.h, aoi.c, aoi_lua.c                   the same as three files: dist.lua
#   aoi-VERSION-SYSTEM-MACHINE-LUA.tar.gz     what `make install` puts below its prefix, for this system and this Lua
#   aoi-VERSION-windows-x86_64-lua5.4.zip     modules and core.dll for lua54.dll, aoi.dll and headers, if mingw is here
#
# The Makefile passes MAKE, LUA, LUA_NAME and VERSION.
set -eu
folder=$1
rm -rf "$folder"
mkdir -p "$folder/stage"
"$LUA" scripts/dist.lua "$folder"
git archive --format=tar.gz --prefix="aoi-$VERSION/" -o "$folder/aoi-$VERSION.tar.gz" HEAD

name=aoi-$VERSION-$(uname -s | tr A-Z a-z)-$(uname -m)-$LUA_NAME
$MAKE --no-print-directory install DESTDIR="$PWD/$folder/stage/" PREFIX="$name" >/dev/null
cp LICENSE README.md CHANGELOG.md "$folder/stage/$name"
pc=$folder/stage/$name/lib/pkgconfig/aoi.pc
sed 's|^prefix=.*|prefix=${pcfiledir}/../..|' build/aoi.pc >"$pc" # wherever it is unpacked
tar -C "$folder/stage" -czf "$folder/$name.tar.gz" "$name"

if command -v x86_64-w64-mingw32-gcc zip >/dev/null; then
  $MAKE --no-print-directory lib VARIANT=windows
  sh scripts/windows-module.sh
  name=aoi-$VERSION-windows-x86_64-lua5.4
  mkdir -p "$folder/stage/$name/aoi/viewer/assets"
  cp -r lua/aoi include LICENSE README.md CHANGELOG.md build/core-windows/aoi.dll "$folder/stage/$name"
  cp js/aoi-sync.js js/viewer/* "$folder/stage/$name/aoi/viewer/assets"
  cp build/lua-windows/aoi/core.dll "$folder/stage/$name/aoi"
  (cd "$folder/stage" && zip -qr "../$name.zip" "$name")
fi
rm -rf "$folder/stage"
ls -l "$folder"
