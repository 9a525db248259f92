#!/bin/sh
# check-aarch64.sh - after the C specs have passed in qemu: does LuaRocks' build for ARM round as all others do?
# It gives none of our flags, and both compilers fuse products with sums there unless src/aoi.c keeps them from it.
set -eu
out=build/core-aarch64/fused.o
fused() { aarch64-linux-gnu-objdump -d "$out" | grep -cE '\<(fn?m(add|sub)|fml[as])\>' || true; }

check() {
  "$@" -O2 -fPIC -std=gnu17 -Iinclude -Isrc -c src/aoi.c -o "$out"
  count=$(fused)
  echo "fused operations by $1: $count"
  test "$count" = 0
}

echo 'double f(double a, double b, double c) { return a * b + c; }' |
  aarch64-linux-gnu-gcc -O2 -xc -c - -o "$out"
test "$(fused)" = 1 # else it would not see them

check aarch64-linux-gnu-gcc
if command -v clang >/dev/null; then
  check clang --target=aarch64-linux-gnu -isystem /usr/aarch64-linux-gnu/include
fi
