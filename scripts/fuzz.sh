#!/bin/sh
# fuzz.sh NAME... - runs fuzzers that are built in build/core-fuzz, each for FUZZ_TIME seconds.
#
#   fuzz/corpus/NAME         the inputs it begins with      build/fuzz/NAME           what is new
#   build/fuzz/NAME.log      libFuzzer's words              build/fuzz/NAME-crash-... findings
#
# `build/core-fuzz/NAME FILE` shows a finding again. FUZZ_ARGS are libFuzzer's (-seed=1).
set -eu
for name in "$@"; do
  mkdir -p "build/fuzz/$name"
  log=build/fuzz/$name.log
  if ! "build/core-fuzz/$name" -max_total_time="${FUZZ_TIME:-60}" -timeout=20 -rss_limit_mb=3000 -max_len=1500 \
    ${FUZZ_ARGS:-} -print_final_stats=1 -artifact_prefix="build/fuzz/$name-" "build/fuzz/$name" "fuzz/corpus/$name" \
    >"$log" 2>&1; then
    tail -n 40 "$log"
    exit 1
  fi
  awk -v name="$name" '
    / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
    /number_of_executed_units/ { runs = $2 }
    END { printf "%-10s %9d runs, %d places covered, no finding\n", name, runs, cov }' "$log"
done
