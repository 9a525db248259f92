#!/bin/sh
# wine.sh PROGRAM ARGUMENT... - runs a program of Windows in a Windows of its own, without wine's remarks.
# Debian's wrapper asks for the 32 bits that are not needed here.
wine=wine
if [ -x /usr/lib/wine/wine64 ]; then wine=/usr/lib/wine/wine64; fi
mkdir -p build
WINEPREFIX=$(pwd)/build/wine WINEDEBUG=-all DISPLAY='' exec "$wine" "$@"
