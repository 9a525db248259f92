#!/bin/sh
# install.sh install|uninstall - puts into place what `make` has built, or removes exactly that again.
#
#   CORE_SO                            LIBDIR/aoi/core.so         the Lua module
#   lua/                               LUADIR/                    Lua modules
#   js/                                LUADIR/aoi/viewer/assets/  what pages of the viewer are made of
#   bin/aoi                            PREFIX/bin/aoi             the program
#   include/                           PREFIX/include/
#   LIBRARIES: libaoi.a, libaoi.so.*   PREFIX/lib/                and LINKS, NAME=TARGET, to the shared one
#   made here                          PREFIX/lib/pkgconfig/aoi.pc, PREFIX/lib/cmake/aoi/
#
# The Makefile passes PREFIX, DESTDIR, VERSION, LUA (its name) and the names in capitals. Options of BSD's install alone.
set -eu
verb=$1

pc() {
  printf 'prefix=%s\nlibdir=${prefix}/lib\nincludedir=${prefix}/include\n\n' "$PREFIX"
  printf 'Name: aoi\nDescription: Area of interest for game servers\nVersion: %s\n' "$VERSION"
  printf 'Cflags: -I${includedir}\nLibs: -L${libdir} -laoi\nLibs.private: -lm\n'
}

# What find_package(aoi) reads: the target aoi::aoi, wherever the folder above lib/ is now.
cmake_config() {
  cat <<'END'
get_filename_component(_aoi_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET aoi::aoi)
  add_library(aoi::aoi STATIC IMPORTED)
  set_target_properties(aoi::aoi PROPERTIES
    IMPORTED_LOCATION "${_aoi_prefix}/lib/libaoi.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_aoi_prefix}/include")
  if(UNIX)
    set_target_properties(aoi::aoi PROPERTIES INTERFACE_LINK_LIBRARIES m)
  endif()
endif()
unset(_aoi_prefix)
END
}

# The same major version serves; before 1.0 the same minor version.
cmake_version() {
  cat <<END
set(PACKAGE_VERSION "$VERSION")
string(REGEX MATCH "^(0\\.[0-9]+|[1-9][0-9]*)" _aoi_have "\${PACKAGE_VERSION}")
string(REGEX MATCH "^(0\\.[0-9]+|[1-9][0-9]*)" _aoi_want "\${PACKAGE_FIND_VERSION}")
if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
if(_aoi_have STREQUAL _aoi_want AND NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
END
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
for file in include/*.h; do place 644 "$file" "$PREFIX/$file"; done
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
cmake_config >build/aoi-config.cmake
cmake_version >build/aoi-config-version.cmake
for file in aoi-config aoi-config-version; do place 644 build/$file.cmake "$PREFIX/lib/cmake/aoi/$file.cmake"; done

# Folders of ours alone; one in which somebody has put a file stays.
if [ "$verb" = uninstall ]; then
  for top in "$DESTDIR$LUADIR/aoi" "$DESTDIR$LIBDIR/aoi" "$DESTDIR$PREFIX/lib/cmake"; do
    if [ -d "$top" ]; then find "$top" -depth -type d -exec rmdir {} \; 2>/dev/null || true; fi
  done
fi
if [ "$verb" = install ]; then
  echo "module   $DESTDIR$LUADIR/aoi/, $DESTDIR$LIBDIR/aoi/core.so"
  echo "program  $DESTDIR$PREFIX/bin/aoi"
  echo "library  $DESTDIR$PREFIX/include/aoi*.h, $DESTDIR$PREFIX/lib/libaoi.*, pkgconfig/aoi.pc, cmake/aoi/"
fi
