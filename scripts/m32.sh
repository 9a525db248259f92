#!/bin/sh
# m32.sh PROGRAM ARGUMENT... - runs a program of 32 bits; in qemu where the kernel does not take it, which is exit code
# 126.
"$@"
status=$?
[ "$status" = 126 ] || exit "$status"
exec qemu-i386 "$@"
