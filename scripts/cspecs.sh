#!/bin/sh
# cspecs.sh PROGRAM... - runs the C specs, all of them even where one fails; RUN is what runs programs of another platform.
set -u
passed=0 failed=0
for program in "$@"; do
  if ${RUN:-} "./$program"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED $program"
  fi
done
echo "C specs: $passed passed, $failed failed"
test "$failed" = 0
