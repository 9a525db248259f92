#!/bin/bash
# nightly.sh - what takes hours: long random histories of all specs, histories under a watchdog, a million entities, and
# fuzzers, in rounds of another seed each, until NIGHT seconds (28800) have passed. It stops at the first failure.
#
# A round prints its seed, with which AOI_SEED=n make nightly begins, and the changes that the soaks have made by then.
set -eu
seed=${AOI_SEED:-$(date +%s)}
make="${MAKE:-make} --no-print-directory"
logs=build/nightly
mkdir -p "$logs"

# A step's output is kept; the end of it is shown where it fails.
step() {
  local name=$1
  shift
  if ! AOI_SEED=$seed "$@" >"$logs/$name.log" 2>&1; then
    tail -n 60 "$logs/$name.log"
    echo "FAILED $name after $SECONDS s; again: AOI_SEED=$seed $*"
    exit 1
  fi
  echo "  $name: $(tail -n 1 "$logs/$name.log")"
}

changes=0
step luajit $make all LUA=luajit
while [ "$SECONDS" -lt "${NIGHT:-28800}" ]; do
  echo "AOI_SEED=$seed, after $SECONDS s"
  step long $make test AOI_LENGTH="${AOI_LENGTH:-7}"
  step soak $make soak
  changes=$((changes + $(awk '$2 == "changes," { n += $1 } END { printf "%d", n }' "$logs/soak.log")))
  step histories spec/soak/hunt.sh 10 "$seed"
  step fuzz $make fuzz FUZZ_ARGS="-seed=$seed"
  echo "  $changes changes of the soaks so far"
  seed=$((seed + 1))
done
