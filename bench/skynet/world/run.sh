#!/bin/sh
# run.sh WHAT PROCESSES: a world of SHARDS shards, by default 4, or 6 in three processes, under load in one process, two
# or three; from the top of the tree, with SKYNET set to a built skynet. WALKERS, WATCHERS, VIEWS, EPOCHS make it
# smaller. With WALLS so many walls hide from all nodes and views, doors that open and shut among them. Output and
# journals go to OUT.
#
#   exact   what was sent, made again in one space in the epochs in which it was accepted, gives the same events; with
#           VIEWS=300, for so many players, with limits, tiers, budgets and state, the same pictures after each message,
#           while options, areas, priorities, fields and overrides change
#   stop    the same, but the second process is stopped for three seconds: a pause, and nothing is lost
#   tiles   the same, but 1,000 tiles go to another shard and back
#   scale   125,000 walkers in one process, each moves once in an epoch: thread time of the shards, length of an epoch
#   chaos   DURATION (150) seconds of kills, ends, floods, loops, hand-overs, other owners, areas and handlers, as SEED
#           says, with shards and exchanges of a world, or with KIND=map an AOI service and its relay, killed, too; now
#           and then all stand still, and what all clients have heard must be right (chaos.lua)
#   deaths  a client, a shard and an exchange are killed: each is noticed in time (deaths.lua)
#
# A world that goes on, with VIEWS players in another process, each with a connection: after each step everything stands
# still, all that handlers have heard and the pictures of all players must be right, and no other connection is lost:
#
#   kill    each process in turn is killed, and started again after ten seconds
#   restart the same, at once
#   rolling each process in turn is drained, and started again
#   shards  the shards of each process are killed, one after the other
#   soak    nothing dies: ROUNDS times SECONDS_EACH seconds, with the memory of each process
set -e
what=$1 processes=$2
if [ "$what" = scale ]; then
  : "${WALKERS:=125000}" "${WATCHERS:=12500}" "${EPOCHS:=60}" "${INTERVAL:=50}" "${THREADS:=2}"
fi
: "${SKYNET:?set SKYNET to a built skynet}" "${WALKERS:=20000}" "${WATCHERS:=2000}" "${EPOCHS:=600}"
: "${INTERVAL:=10}" "${WALLS:=0}" "${SHARDS:=$([ "$processes" = 3 ] && echo 6 || echo 4)}"
: "${THREADS:=4}" # more than cores: a shard need not wait until a service has moved all that it has
: "${OUT:=$(mktemp -d)}" "${PORT:=25290}"
case $what in
kill | restart | shards | rolling | soak) MODE=live EPOCHS=1000000000 ;;
scale | deaths) MODE=$what ;;
chaos) MODE=$what WALKERS=480 ;;
*) MODE=exact ;;
esac
case $processes in 1) NODES="one" ;; 2) NODES="one two" ;; *) NODES="one two three" ;; esac
: "${VIEWS:=$([ "$MODE" = live ] && echo 300 || echo 0)}"
: "${SERVICES:=$([ "$MODE" = live ] && echo $((2 * processes)) || echo 4)}" "${ROUNDS:=10}" "${SECONDS_EACH:=60}"
# A window of 1, 2 or 8 messages.
: "${DURATION:=150}" "${SEED:=$(date +%s)}" "${KIND:=world}" "${WINDOW:=$((1 << SEED % 3 + SEED % 3 / 2))}"
TILES=$([ "$what" = tiles ] && echo 1000 || echo 0)
export SKYNET WALKERS WATCHERS EPOCHS SHARDS INTERVAL THREADS OUT MODE NODES SERVICES VIEWS PORT TILES WALLS
export DURATION SEED KIND WINDOW
NAME=skynet-$(basename "$SKYNET") AOI_CORE=build/$NAME
export AOI_CORE
make --no-print-directory -s "$AOI_CORE/aoi/core.so" LUA="$NAME" LUA_INCDIR="$SKYNET/3rd/lua"
mkdir -p "$OUT"
printf '__nowaiting = true\none = "127.0.0.1:%d"\ntwo = "127.0.0.1:%d"\nthree = "127.0.0.1:%d"\n' \
  "$PORT" $((PORT + 1)) $((PORT + 2)) >"$OUT/cluster.lua"
rm -f "$OUT/over" "$OUT"/*.order "$OUT"/*.log "$OUT"/asked.* "$OUT"/pictures

launch() {
  NODE=$1 "$SKYNET/skynet" bench/skynet/world/config >>"$OUT/$1.log" 2>&1 &
  eval "pid_$1=$!"
}
pid_of() { eval "echo \$pid_$1"; }

# until_true SECONDS COMMAND...
until_true() {
  left=$(($1 * 5)) && shift
  until "$@"; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || { echo "run.sh: not so in time: $*" >&2; end_all; exit 1; }
    sleep 0.2
  done
}
end_all() { for node in $NODES players; do kill -9 "$(pid_of "$node")" 2>/dev/null || true; done; }

# order "WORDS" [NODE]: that process, or each of the world, does what that says; returns when all have.
has_obeyed() { [ ! -e "$OUT/$1.order" ]; }
order() {
  for node in ${2:-$NODES}; do echo "$1" >"$OUT/order" && mv "$OUT/order" "$OUT/$node.order"; done
  for node in ${2:-$NODES}; do until_true 120 has_obeyed "$node"; done
}

# check NODE: everything stands still, and must be right; only connections with that process may have been lost.
check() {
  order halt
  order verify
  order "verify $1" players
  order walk
  for node in $NODES; do
    echo "$node: $(awk '/VmRSS/ { print $2 }' "/proc/$(pid_of "$node")/status") kB"
    grep "$node: " "$OUT/$node.log" | tail -n 2
  done
  grep 'players: ' "$OUT/players.log" | tail -n 1
}

# Whether the process has opened the world so many times, has entered its walkers, and has its shards.
opened() { [ "$(grep -c "$1: open, epoch" "$OUT/$1.log")" -ge "$2" ]; }
back() {
  times=$(grep -c "$1: open, epoch" "$OUT/$1.log" || true)
  launch "$1"
  until_true 60 opened "$1" $((times + 1))
  sleep 8
}

# NODE: starts it, and again where it was killed, until all is over.
keep() {
  while [ ! -e "$OUT/over" ]; do
    launch "$1"
    pid_of "$1" >"$OUT/$1.pid"
    wait "$(pid_of "$1")" || true
  done
}

if [ "$what" = chaos ]; then
  launch one
  [ "$processes" = 1 ] || keep two &
else
  for node in $NODES; do launch "$node"; done
fi
if [ "$MODE" = exact ] && [ "$VIEWS" -gt 0 ]; then launch players; fi
if [ "$MODE" = live ]; then
  launch players
  for node in $NODES; do until_true 60 opened "$node" 1; done
  sleep 8
  check none
fi

case $what in
exact | scale | tiles) ;;
chaos)
  echo "SEED=$SEED"
  wait "$(pid_of one)" || true
  touch "$OUT/over"
  [ "$processes" = 1 ] || kill -9 "$(cat "$OUT/two.pid")" 2>/dev/null || true
  ;;
deaths)
  wait "$(pid_of one)" || true
  [ "$processes" = 1 ] || kill -9 "$(pid_of two)"
  ;;
kill | restart)
  for node in $NODES; do
    echo "kill -9 of $node"
    kill -9 "$(pid_of "$node")"
    [ "$what" = restart ] || sleep 10
    back "$node"
    check "$node"
  done
  ;;
rolling)
  for node in $NODES; do
    echo "$node is drained"
    order drain "$node"
    wait "$(pid_of "$node")" || true
    back "$node"
    check "$node"
  done
  ;;
shards)
  for node in $NODES; do
    echo "all shards of $node are killed"
    order shards "$node"
    check none
  done
  ;;
soak)
  for _ in $(seq "$ROUNDS"); do
    sleep "$SECONDS_EACH"
    check none
  done
  ;;
stop)
  sleep 20
  kill -STOP "$(pid_of two)"
  sleep 3
  kill -CONT "$(pid_of two)"
  ;;
*)
  sed -n '2,/^set -e/s/^#//p' "$0" >&2
  exit 1
  ;;
esac
if [ "$MODE" = live ]; then
  end_all
  grep -h 'ON_CLOSE' "$OUT"/*.log || true
  if grep -h '[1-9][0-9]* of them DIFFERENT\|with [a-z]* DIFFERENT' "$OUT"/*.log; then exit 1; fi
elif [ "$what" = chaos ]; then
  wait
  grep -h 'DIFFERENT\|attempt to\|phase [0-9]*:\|chaos of seed' "$OUT"/*.log || true
  grep -q 'chaos of seed.*: 0 differences' "$OUT/one.log"
  if grep -q 'attempt to' "$OUT"/*.log; then exit 1; fi # an error of the library, or of this
elif [ "$what" = deaths ]; then
  grep -h 'one:\|two:' "$OUT"/*.log
  grep -q 'all deaths noticed' "$OUT/one.log"
elif [ "$what" = scale ]; then
  wait
  cat "$OUT"/*.result
else
  for node in $NODES; do wait "$(pid_of "$node")" || true; done
  sleep 1 # the file of pictures
  if [ "$VIEWS" -gt 0 ]; then kill -9 "$(pid_of players)"; fi
  make --no-print-directory -s aoi/core.so
  eval "$(make -s env LUA=lua5.4)"
  # shellcheck disable=SC2086
  lua5.4 bench/skynet/world/compare.lua "$OUT" "$SHARDS" $NODES
fi
echo "output in $OUT"
