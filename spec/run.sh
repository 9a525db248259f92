#!/bin/bash
# Runs the C specs, or the Lua specs folder by folder, JOBS at a time (default: one per processor). The output of a job
# is printed when the job has ended; the exit code is 0 if all jobs have succeeded.
#
#   spec/run.sh c PROGRAM...       the programs of the C specs; RUN is what runs those of another platform
#   spec/run.sh lua COMMAND...     COMMAND is busted with its options. Where these name files, folders or a pattern of
#                                  file names, that is one job; otherwise each folder of Lua specs is a job.
#
# A folder has a process of its own not only to use all processors: busted retains some KB for each test that it has
# run, and many specs force full collections, which would walk over all of that.
set -u
cd "$(dirname "$0")/.."

kind=$1
shift
jobs=${JOBS:-$(nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Prints what a job has said in one piece, and keeps its name if it has failed.
run() {
  local name=$1 log
  shift
  log=$logs/$(basename "$name").log
  "$@" >"$log" 2>&1 || echo "$name" >"$log.failed"
  # flock keeps the output of two jobs apart; without it they may mix, which harms nothing else.
  if command -v flock >/dev/null; then flock "$logs" cat "$log"; else cat "$log"; fi
}

# Starts a job as soon as fewer than $jobs are running. The bash of macOS knows no `wait -n`.
start() {
  while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do wait -n 2>/dev/null || sleep 0.1; done
  run "$@" &
}

if [ "$kind" = c ]; then
  for program; do start "$program" ${RUN:-} "./$program"; done
else
  for word; do
    case $word in spec/* | -p | --pattern*) exec "$@" ;; esac
  done
  # Those that take longest come first, so that no processor is idle while the last of them runs.
  printf '%s\n' spec/{core,tools,lua,viewer,world,robustness} $(dirname spec/*/*_spec.lua) | awk '!seen[$0]++' >"$logs/folders"
  while read -r folder; do start "$folder" "$@" "$folder" </dev/null; done <"$logs/folders"
fi
wait

failed=$(cat "$logs"/*.failed 2>/dev/null)
for name in $failed; do echo "FAILED $name"; done
if [ "$kind" = c ]; then
  count=$(echo "$failed" | grep -c .)
  echo "C specs: $(($# - count)) passed, $count failed"
fi
test -z "$failed"
