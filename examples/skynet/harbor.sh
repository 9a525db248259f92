#!/bin/sh
# Usage, from the top of the tree: examples/skynet/harbor.sh SKYNET
# Two processes in harbor mode, of which the second is killed (kill -9): its entities go without a setting. Exit status 0
# if they are told of, kept while they are quiet, and gone after three heartbeats.
set -e
SKYNET=$(cd "$1" && pwd)
NAME=skynet-$(basename "$SKYNET")
make --no-print-directory -s "build/$NAME/aoi/core.so" LUA="$NAME" LUA_INCDIR="$SKYNET/3rd/lua" >&2
AOI_CORE=build/$NAME MASTER=${PORT:-2540}
export SKYNET AOI_CORE MASTER
LOGS=$(mktemp -d)
trap 'kill -9 $NEAR $FAR 2>/dev/null || true; rm -rf "$LOGS"' EXIT

HARBOR=1 ADDRESS=$((MASTER + 1)) STANDALONE=127.0.0.1:$MASTER "$SKYNET/skynet" examples/skynet/harbor_config >"$LOGS/near" 2>&1 &
NEAR=$!
sleep 1
HARBOR=2 ADDRESS=$((MASTER + 2)) STANDALONE="" "$SKYNET/skynet" examples/skynet/harbor_config >"$LOGS/far" 2>&1 &
FAR=$!

# The first process ends by itself, within two minutes in any case.
while kill -0 $NEAR 2>/dev/null; do
  if [ -n "$FAR" ] && grep -q 'harbor: all are there' "$LOGS/near"; then
    kill -9 $FAR
    FAR=
  fi
  sleep 0.1
done
grep 'harbor: ' "$LOGS/near"
grep -q 'harbor: all have gone' "$LOGS/near"
