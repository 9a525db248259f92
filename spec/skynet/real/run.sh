#!/bin/sh
# run.sh SKYNET WHAT [PROCESSES]: a built skynet under trouble, from the top of the tree. Output goes to OUT. The exit
# status is 0 if all was right; of deaths one reads what it prints.
#
#   world   DURATION (150) seconds of kills, ends, floods, loops, hand-overs, other owners, areas and handlers, as SEED
#           says, with the shards and exchanges of a world in one process or two killed, too, and the second process
#           killed or drained; now and then all stand still, and what all clients have heard must be right (chaos.lua)
#   map     the same with an AOI service and its relay
#   deaths  what clients that are killed by the thousand leave behind, and a service that is killed (deaths.lua)
set -e
SKYNET=$(cd "$1" && pwd) KIND=$2
[ "${3:-1}" = 1 ] && NODES="one" || NODES="one two"
: "${SHARDS:=4}" "${THREADS:=4}" # more than cores: a shard need not wait until a service has moved all that it has
: "${OUT:=$(mktemp -d)}" "${PORT:=25290}" "${DURATION:=150}" "${SEED:=$(date +%s)}"
: "${WINDOW:=$((1 << SEED % 3 + SEED % 3 / 2))}" # messages: 1, 2 or 8
START=$([ "$KIND" = deaths ] && echo deaths || echo main)
NAME=skynet-$(basename "$SKYNET") AOI_CORE=build/$NAME
export SKYNET KIND NODES SHARDS THREADS OUT DURATION SEED WINDOW START AOI_CORE
make --no-print-directory -s "$AOI_CORE/aoi/core.so" LUA="$NAME" LUA_INCDIR="$SKYNET/3rd/lua"
mkdir -p "$OUT"
printf '__nowaiting = true\none = "127.0.0.1:%d"\ntwo = "127.0.0.1:%d"\n' "$PORT" $((PORT + 1)) >"$OUT/cluster.lua"
rm -f "$OUT"/*.log

# NODE: a process of it, until it ends.
live() { NODE=$1 exec "$SKYNET/skynet" spec/skynet/real/config >>"$OUT/$1.log" 2>&1; }

# The second one is started again whenever it has been killed.
keep() {
  trap 'kill -9 $pid; exit' TERM
  while true; do
    live two & pid=$!
    wait $pid || true
  done
}

echo "SEED=$SEED"
if [ "$NODES" != one ]; then keep & keeper=$!; fi
(live one) || true
if [ "$NODES" != one ]; then kill "$keeper"; fi
grep -h 'DIFFERENT\|attempt to\|phase [0-9]*:\|of seed\|kills:\|killed:\|opened again' "$OUT"/*.log || true
echo "output in $OUT"
[ "$KIND" != deaths ] || exit 0
grep -q 'chaos of seed.*: 0 differences' "$OUT/one.log"
! grep -q 'attempt to' "$OUT"/*.log # an error of the library, or of this
