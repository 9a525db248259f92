#!/bin/sh
# coverage.sh - line coverage of src/ by all specs, of lua/ by those that are about it: a hook for each line is slow.
#
# Of src/ it prints the lines that ran, by file, from what programs built with --coverage left. A line counts once,
# whichever unit it was compiled into, and as run if it ran in one of them.
set -eu
run() {
  "${MAKE:-make}" --no-print-directory "$@" VARIANT=coverage LUA="$LUA"
}
find build -name '*.gcda' -exec rm -f {} +
run cspec spec
find build/core-coverage "build/$LUA-coverage" -name '*.gcda' | sort | while read -r data; do
  # To the standard output: lines are "count:number:text", and "#####" is the count of a line that did not run.
  ${GCOV:-gcov} -t "$data" 2>/dev/null
done | awk -F: '
  $3 == "Source" { file = $4; sub(/.*\/src\//, "src/", file); next }
  file !~ /^src\// { next }
  { count = $1; gsub(/[ \t*]/, "", count); line = $2 + 0 }
  count == "-" || line == 0 { next }
  { key = file SUBSEP line; if (!(key in seen)) { seen[key] = 1; all[file]++ } }
  count !~ /^[#=]/ && !(key in ran) { ran[key] = 1; hit[file]++ }
  END {
    for (file in all) {
      printf "%7.2f%% of %5d  %s\n", 100 * hit[file] / all[file], all[file], file | "sort -k4"
      hits += hit[file]; lines += all[file]
    }
    close("sort -k4")
    if (lines) printf "%7.2f%% of %5d  src\n", 100 * hits / lines, lines
  }'
AOI_LINES=luac${LUA#lua} AOI_LENGTH=0.1 run spec ARGS="spec/lua spec/skynet --filter-out=crowd --filter-out=garbage" |
  grep '% of'
