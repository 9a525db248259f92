#!/bin/sh
# Usage, from the top of the tree: bench/skynet/run.sh SKYNET [compare | agents | memory | scale]
# Builds aoi against that skynet's own Lua and measures the AOI service, or with scale a world, in it; settings are in
# bench/skynet/config.
set -e
SKYNET=$(cd "$1" && pwd)
BENCH=${2:-compare}
NAME=skynet-$(basename "$SKYNET")
make --no-print-directory -s "build/$NAME/aoi/core.so" LUA="$NAME" LUA_INCDIR="$SKYNET/3rd/lua" >&2
AOI_CORE=build/$NAME
: "${ROUNDS:=3}" "${TICKS:=50}" "${ONLY:=}" "${KINDS:=aoi literal pair rows thirty single}" "${SHARDS:=4}"
export SKYNET BENCH AOI_CORE ROUNDS TICKS ONLY KINDS SHARDS
exec "$SKYNET/skynet" bench/skynet/config
