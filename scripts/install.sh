#!/bin/sh
# install.sh install|uninstall - puts into place what `make` has built, or removes exactly that again.
#
#   CORE_SO                            LIBDIR/aoi/core.so         the Lua module
#   lua/                               LUADIR/                    Lua modules
#   js/                                LUADIR/aoi/viewer/assets/  what pages of the viewer are made of
#   bin/aoi                            PREFIX/bin/aoi             the program
#   include/aoi.h                      PREFIX/include/aoi.h
#   LIBRARIES: libaoi.a, libaoi.so.*   PREFIX/lib/                and LINKS, NAME=TARGET, to the shared one
#   made here                          PREFIX/lib/pkgconfig/aoi.pc
#
# The Makefile passes PREFIX, DESTDIR, VERSION, LUA (its name) and the names in capitals. Options of BSD's install alone.
set -eu
verb=$1

pc() {
  printf 'prefix=%s\nlibdir=${prefix}/lib\nincludedir=${prefix}/include\n\n' "$PREFIX"
  printf 'Name: aoi\nDescription: Area of interest for game servers\nVersion: %s\n' "$VERSION"
  printf 'Cflags: -I${includedir}\nLibs: -L${libdir} -laoi\nLibs.private: -lm\n'
}

# place MODE FILE TARGET
place() {
  target=$DESTDIR$3
  if [ "$verb" = uninstall ]; then
    rm -f "$target"
  else
    install -d "${target%/*}"
    install -m "$1" "$2" "$target"
  fi
}

place 755 "$CORE_SO" "$LIBDIR/aoi/core.so"
find lua -name '*.lua' | {
  while read -r file; do place 644 "$file" "$LUADIR/${file#lua/}"; done
}
for file in js/aoi-sync.js js/viewer/*; do place 644 "$file" "$LUADIR/aoi/viewer/assets/${file##*/}"; done
mkdir -p build
sed "1s|lua\$|${LUA:-lua}|" bin/aoi >build/program
place 755 build/program "$PREFIX/bin/aoi"
place 644 include/aoi.h "$PREFIX/include/aoi.h"
for file in $LIBRARIES; do
  case $file in *.a) mode=644 ;; *) mode=755 ;; esac
  place $mode "$file" "$PREFIX/lib/${file##*/}"
done
for link in $LINKS; do
  name=$DESTDIR$PREFIX/lib/${link%%=*}
  if [ "$verb" = uninstall ]; then rm -f "$name"; else ln -sf "${link#*=}" "$name"; fi
done
pc >build/aoi.pc
place 644 build/aoi.pc "$PREFIX/lib/pkgconfig/aoi.pc"

# Folders of ours alone; one in which somebody has put a file stays.
if [ "$verb" = uninstall ]; then
  for top in "$DESTDIR$LUADIR/aoi" "$DESTDIR$LIBDIR/aoi"; do
    if [ -d "$top" ]; then find "$top" -depth -type d -exec rmdir {} \; 2>/dev/null || true; fi
  done
fi
