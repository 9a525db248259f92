#!/bin/sh
# lint.sh - every checker over all C and Lua files; all of them, even where the first complains.
# CC_FLAGS are those of the build, LUA is any Lua.
set -u
status=0
lint() { echo "  ${*%% src/*}"; "$@" || status=1; }

set -- $(find include src spec fuzz bench examples -name '*.[ch]' | LC_ALL=C sort)
lua=
for path in lua scripts spec examples bench *.rockspec .busted .luacheckrc; do
  if [ -e "$path" ]; then lua="$lua $path"; fi
done
# Each file by itself: the units would show all of them a second time.
sources= core=
for path in "$@"; do
  case $path in src/aoi.c | src/lua/core.c) ;; src/*.c) core="$core $path" ;; esac
  case $path in *.c) sources="$sources $path" ;; esac
done

lint luacheck -q $lua
lint clang-format --dry-run -Werror "$@"
lint clang $CC_FLAGS -Werror -fsyntax-only $sources
# One configuration, that of this machine: all of those in the Lua headers take ten times as long.
lint cppcheck -q --std=c11 -D__GNUC__=12 -D__ELF__=1 -D__SSE2__=1 -DLUA_VERSION_NUM=504 \
  -D__BYTE_ORDER__=1234 -D__ORDER_LITTLE_ENDIAN__=1234 --inline-suppr \
  --enable=warning,performance,portability --error-exitcode=1 -Iinclude -Isrc --suppress=missingIncludeSystem $core
lint "$LUA" scripts/house.lua
exit $status
