#!/bin/sh
# Usage, from the top of the tree: examples/skynet/trouble.sh SKYNET [flood | hang | stall | deaf | proxy ...]
# What one service of a server does wrong, and what the others notice of it; trouble.lua says what each scene shows. Exit
# status 0 if all is as docs/skynet.md promises.
set -e
SKYNET=$(cd "$1" && pwd)
NAME=skynet-$(basename "$SKYNET")
make --no-print-directory -s "build/$NAME/aoi/core.so" LUA="$NAME" LUA_INCDIR="$SKYNET/3rd/lua" >&2
shift
AOI_CORE=build/$NAME SCENES=$*
: "${SCENES:=flood hang stall deaf proxy}"
export SKYNET AOI_CORE SCENES
LOG=$(mktemp)
trap 'rm -f "$LOG"' EXIT
"$SKYNET/skynet" examples/skynet/trouble_config >"$LOG" 2>&1
grep -av 'LAUNCH\|KILL' "$LOG"
! grep -aq 'NOT AS PROMISED\|stack traceback' "$LOG"
