#!/bin/sh
# coverage.sh FOLDER... - lines of src/ that ran, by file, from what programs built with --coverage left below the folders.
# A line counts once, whichever unit it was compiled into, and as run if it ran in one of them.
set -eu
find "$@" -name '*.gcda' | sort | while read -r data; do
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
