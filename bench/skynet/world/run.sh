#!/bin/sh
# run.sh exact|kill|stop PROCESSES: a world of 4 shards under load in one process or two; from the top of the tree, with
# SKYNET set to a built skynet. WALKERS, WATCHERS, EPOCHS make it smaller. Output and journals go to OUT.
#
#   exact   what was accepted, made again in one space, gives the same events
#   kill    the second process is killed; the first hears of it, and begins again with a new one
#   stop    the second process is stopped for three seconds: a pause
set -e
what=$1 processes=$2
: "${SKYNET:?set SKYNET to a built skynet}" "${WALKERS:=20000}" "${WATCHERS:=2000}" "${EPOCHS:=600}" "${SHARDS:=4}"
: "${OUT:=$(mktemp -d)}" "${PORT:=25290}"
MODE=$([ "$what" = exact ] && echo exact || echo again)
NODES=$([ "$processes" = 1 ] && echo one || echo "one two")
export SKYNET WALKERS WATCHERS EPOCHS SHARDS OUT MODE NODES
make --no-print-directory -s build/skynet/aoi/core.so LUA=skynet LUA_INCDIR="$SKYNET/3rd/lua"
printf '__nowaiting = true\none = "127.0.0.1:%d"\ntwo = "127.0.0.1:%d"\n' "$PORT" $((PORT + 1)) >"$OUT/cluster.lua"

launch() { NODE=$1 "$SKYNET/skynet" bench/skynet/world/config >"$OUT/$1.log" 2>&1 & }

launch one
one=$!
if [ "$processes" = 2 ]; then launch two; two=$!; fi

case $what in
exact)
  wait
  # shellcheck disable=SC2086
  lua5.4 bench/skynet/world/compare.lua "$OUT" "$SHARDS" $NODES
  ;;
kill)
  sleep 20
  kill -9 "$two"
  sleep 10
  launch two
  two=$!
  sleep 15
  ;;
stop)
  sleep 20
  kill -STOP "$two"
  sleep 3
  kill -CONT "$two"
  sleep 10
  ;;
esac
[ "$what" = exact ] || { kill -9 "$one" "$two"; grep -h 'one:\|two:' "$OUT/one.log" "$OUT/two.log"; }
echo "output in $OUT"
