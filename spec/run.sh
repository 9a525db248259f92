#!/bin/bash
# Runs the C specs and the Lua specs, JOBS at a time (default: one per processor).
#
#   spec/run.sh [PROGRAM...] [lua COMMAND...]
#
# PROGRAMs are those of the C specs; RUN is what runs those of another platform. COMMAND is busted with its options:
# each folder of Lua specs is a job, or what the options name: files, folders, a pattern of file names.
#
# The output of a job is printed if it has failed. The last lines are the tests that have failed, each with the command
# that runs it again, and 'N passed, N failed'; the exit code is 0 if none has failed. All have one AOI_SEED.
#
# A folder has a process of its own not only to use all processors: busted retains some KB for each test that it has
# run, and many specs force full collections, which would walk over all of that.
set -u
cd "$(dirname "$0")/.."

programs=()
while [ $# -gt 0 ] && [ "$1" != lua ]; do
  programs+=("$1")
  shift
done
[ $# = 0 ] || shift
named=
for word; do
  case $word in spec/* | -p | --pattern*) named=1 ;; esac
done
export AOI_SEED=${AOI_SEED:-$(($(date +%s) % 1000000))}
if [ "$named" ] && [ ${#programs[@]} = 0 ]; then exec "$@"; fi # as busted prints it

jobs=${JOBS:-$(nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Every log ends in its numbers. A program is one test, and so is what ends without any numbers.
run() {
  local name=$1 log=$logs/${1//\//-}.log status=0
  shift
  "$@" >"$log" 2>&1 || status=$?
  if [ $status = 0 ] && [[ $name != spec/* ]]; then echo "1 passed, 0 failed" >>"$log"; fi
  if [ $status != 0 ] && ! grep -q '^[0-9]* passed, [1-9]' "$log"; then
    echo "FAILED $name: exit code $status" >>"$log"
    [[ $name == spec/* ]] || echo "  again: AOI_SEED=$AOI_SEED ${AOI_LENGTH:+AOI_LENGTH=$AOI_LENGTH }${RUN:+$RUN }$name" >>"$log"
    echo "0 passed, 1 failed" >>"$log"
  fi
  if [ $status = 0 ]; then echo "  $name: $(tail -n 1 "$log")"; else cat "$log"; fi
}

# Starts a job as soon as fewer than $jobs are running. The bash of macOS knows no `wait -n`.
start() {
  while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do wait -n 2>/dev/null || sleep 0.1; done
  run "$@" &
}

for program in ${programs[@]+"${programs[@]}"}; do start "$program" ${RUN:-} "./$program"; done
if [ "$named" ]; then
  start spec/ "$@" -o spec/support/output.lua
elif [ $# -gt 0 ]; then
  # Those that take longest come first, so that no processor is idle while the last of them runs.
  for folder in $(printf '%s\n' spec/{core,tools,lua,viewer,world,robustness} $(dirname spec/*/*_spec.lua) | awk '!seen[$0]++'); do
    start "$folder" "$@" -o spec/support/output.lua "$folder" </dev/null
  done
fi
wait

echo "AOI_SEED=$AOI_SEED"
all=$logs/all
cat "$logs"/*.log >"$all" 2>/dev/null
grep '^left out: ' "$all" | sort | uniq -c | sed 's/^ *\([0-9]*\) left out:/left out: \1/'
grep -E '^(FAILED|  again:) ' "$all"
awk '/^[0-9]+ passed, [0-9]+ failed$/ { ok += $1; bad += $3 }
  END { printf "%d passed, %d failed\n", ok, bad; exit bad > 0 || ok == 0 }' "$all"
