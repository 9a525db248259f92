#!/bin/sh
# Usage, from the top of the tree: examples/skynet/chaos.sh SKYNET [seconds]     one process
#                                  examples/skynet/chaos.sh SKYNET cluster       two, which are killed in turn
# Exit status 0 if no player was ever told anything wrong.
set -e
SKYNET=$(cd "$1" && pwd)
NAME=skynet-$(basename "$SKYNET")
make --no-print-directory -s "build/$NAME/aoi/core.so" LUA="$NAME" LUA_INCDIR="$SKYNET/3rd/lua" >&2
AOI_CORE=build/$NAME SECONDS=${2:-20} WATCH=0 PORT=${PORT:-2528} SEED=${SEED:-$(date +%s)} ROLE=all
export SKYNET AOI_CORE SECONDS WATCH PORT SEED ROLE
LOGS=$(mktemp -d)
trap 'kill $NEAR $FAR 2>/dev/null || true; rm -rf "$LOGS"' EXIT
echo "SEED=$SEED"

start() { # role, seconds, log
  ROLE=$1 SECONDS=$2 "$SKYNET/skynet" examples/skynet/chaos_config >"$LOGS/$3" 2>&1 &
}

if [ "$SECONDS" != cluster ]; then
  start all "$SECONDS" all
  NEAR=$!
  wait $NEAR || true
  grep -v 'LAUNCH\|KILL' "$LOGS/all"
  grep -q 'chaos: 0 differences' "$LOGS/all"
  exit
fi

besides() { grep 'besides' "$LOGS/near" | tail -1 | sed 's/.*near: \(-*[0-9]*\) .*/\1/'; }

start near 1000 near; NEAR=$!
sleep 2
WATCH=1000 start far 30 far; FAR=$!
sleep 15
kill -9 $FAR
echo "far killed, $(besides) entities besides the NPCs"
sleep 6
echo "6 s later: $(besides)"
test "$(besides)" = 0
WATCH=1000 start far 20 far2; FAR=$!
tries=0
until grep -q 'far: rest' "$LOGS/far2" || [ $tries -ge 120 ]; do sleep 1; tries=$((tries + 1)); done
grep 'rest:' "$LOGS/far2" | sed 's/^/far: /'
kill -9 $NEAR
sleep 8
echo "near killed:"; grep 'far: rest' "$LOGS/far2" | tail -1
grep 'far: rest' "$LOGS/far2" | tail -1 | grep -q '200 closed'
start near 1000 near; NEAR=$!
sleep 20
echo "near is there again, $(besides) entities besides the NPCs:"; grep 'far: rest' "$LOGS/far2" | tail -1
grep 'far: rest' "$LOGS/far2" | tail -1 | grep -q ' 0 differences, 0 closed'
test "$(besides)" = 200
! grep 'rest:' "$LOGS/far2" | grep -v 'far: rest' | grep -v ' 0 differences'
