#!/bin/sh
# hunt.sh RUNS SEED - long random histories with a watchdog: which run hangs or fails, and where it stands then.
#
#   LUA      luajit; its JIT is on, where it has one
#   STEPS    of each history (20000); LIMIT: seconds after which a run counts as hung (300)
#   ENGINE   one engine alone
#
# A run is a process of its own with a seed of its own. One that hangs is looked at by gdb, if there is one: a stack that
# ends in the core, in the collector or in no function at all, which is a trace. Needs the tree built for that Lua.
set -u
cd "$(dirname "$0")/../.."
runs=${1:-10} seed=${2:-1} lua=${LUA:-luajit} limit=${LIMIT:-300}
eval "$(make -s env LUA="$lua")"
LUA_PATH="./?.lua;$LUA_PATH"
log=$(mktemp)
good=0 hung=0 failed=0
trap 'rm -f "$log"' EXIT

while [ $((good + hung + failed)) -lt "$runs" ]; do
  "$lua" spec/soak/histories.lua "$seed" "${STEPS:-20000}" ${ENGINE:-} >"$log" 2>&1 &
  pid=$! waited=0
  while kill -0 $pid 2>/dev/null && [ $waited -lt "$limit" ]; do
    sleep 1
    waited=$((waited + 1))
  done
  if kill -0 $pid 2>/dev/null; then
    hung=$((hung + 1))
    echo "seed $seed hangs after $waited s:"
    if command -v gdb >/dev/null; then
      for _ in 1 2 3; do gdb -p $pid -batch -ex 'bt 12' -ex 'x/6i $pc' 2>/dev/null | grep -E '^(#|=>| )'; done
    fi
    kill -9 $pid
    wait $pid 2>/dev/null
  elif wait $pid; then
    good=$((good + 1))
  else
    failed=$((failed + 1))
    echo "seed $seed fails:"
    tail -n 5 "$log"
  fi
  seed=$((seed + 1))
done
echo "$lua: $runs runs, $good good, $hung hung, $failed failed"
test "$((hung + failed))" = 0
