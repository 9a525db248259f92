#!/bin/sh
# run.sh exact|scale|shards|kill|stop|restart|deaths PROCESSES: a world of SHARDS shards, by default 4, under load in one process or two; from
# the top of the tree, with SKYNET set to a built skynet. WALKERS, WATCHERS, EPOCHS make it smaller. Output and journals
# go to OUT.
#
#   exact   what was sent, made again in one space in the epochs in which it was accepted, gives the same events
#   scale   125,000 walkers in one process, each moves once in an epoch: thread time of the shards, length of an epoch
#   shards  each shard of the first process is killed under load: a pause, and all views are right in the end
#   kill    the second process is killed, and started again after ten seconds; the first goes on, and gets it back
#   restart the first process, which leads, is killed and started again at once; the second goes on
#   deaths  a client, a shard and an exchange are killed: each is noticed in time (deaths.lua)
#   stop    as exact, but the second process is stopped for three seconds: a pause, and nothing is lost
set -e
what=$1 processes=$2
if [ "$what" = scale ]; then
  : "${WALKERS:=125000}" "${WATCHERS:=12500}" "${EPOCHS:=60}" "${INTERVAL:=50}" "${THREADS:=2}"
fi
: "${SKYNET:?set SKYNET to a built skynet}" "${WALKERS:=20000}" "${WATCHERS:=2000}" "${EPOCHS:=600}" "${SHARDS:=4}"
: "${INTERVAL:=10}"
: "${THREADS:=4}" # more than cores: a shard need not wait until a service has moved all that it has
: "${OUT:=$(mktemp -d)}" "${PORT:=25290}"
case $what in kill | restart) MODE=again ;; scale | deaths | shards) MODE=$what ;; *) MODE=exact ;; esac
NODES=$([ "$processes" = 1 ] && echo one || echo "one two")
export SKYNET WALKERS WATCHERS EPOCHS SHARDS INTERVAL THREADS OUT MODE NODES
make --no-print-directory -s build/skynet/aoi/core.so LUA=skynet LUA_INCDIR="$SKYNET/3rd/lua"
printf '__nowaiting = true\none = "127.0.0.1:%d"\ntwo = "127.0.0.1:%d"\n' "$PORT" $((PORT + 1)) >"$OUT/cluster.lua"

launch() { NODE=$1 "$SKYNET/skynet" bench/skynet/world/config >"$OUT/$1.log" 2>&1 & }

launch one
one=$!
if [ "$processes" = 2 ]; then launch two; two=$!; fi

case $what in
exact | scale) ;;
shards) wait ;;
deaths)
  wait "$one" || true
  [ "$processes" = 1 ] || kill -9 "$two"
  ;;
restart)
  sleep 12
  kill -9 "$one"
  launch one
  one=$!
  sleep 12
  kill -9 "$one" "$two"
  ;;
kill)
  sleep 20
  kill -9 "$two"
  sleep 10
  launch two
  two=$!
  sleep 15
  kill -9 "$one" "$two"
  ;;
stop)
  sleep 20
  kill -STOP "$two"
  sleep 3
  kill -CONT "$two"
  ;;
*)
  echo "run.sh: exact, scale, shards, kill, stop, restart or deaths" >&2
  exit 1
  ;;
esac
if [ "$what" = shards ]; then
  grep -h 'one:\|two:' "$OUT"/*.log
  ! grep -q 'DIFFERENT' "$OUT"/*.log && grep -q 'all is well' "$OUT/one.log"
elif [ "$MODE" = again ] || [ "$what" = deaths ]; then
  grep -h 'one:\|two:' "$OUT"/*.log
  [ "$what" != deaths ] || grep -q 'all deaths noticed' "$OUT/one.log"
  # The process that lives has opened its world once, and the other one has come back into it.
  [ "$what" != kill ] || { ! grep -q 'open again' "$OUT/one.log" && grep -q 'two: open, epoch [1-9]' "$OUT/two.log"; }
  [ "$what" != restart ] || { ! grep -q 'open again' "$OUT/two.log" && grep -q 'one: open, epoch [1-9]' "$OUT/one.log"; }
elif [ "$what" = scale ]; then
  wait
  cat "$OUT"/*.result
else
  wait
  eval "$(make -s env LUA=lua5.4)"
  # shellcheck disable=SC2086
  lua5.4 bench/skynet/world/compare.lua "$OUT" "$SHARDS" $NODES
fi
echo "output in $OUT"
