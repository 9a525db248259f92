#!/bin/sh
# wine.sh PROGRAM ARGUMENT... - runs a program of Windows in a Windows of its own, without wine's remarks.
# Debian's wrappers ask for 32 bits that are not needed here, and let the server of wine end with its last program: one
# that starts in that moment finds its connection reset. This server waits a minute for the next program; who starts it
# also starts the services, which keep the output of their first program open as long as they run.
wine=wine server=wineserver
if [ -x /usr/lib/wine/wine64 ]; then wine=/usr/lib/wine/wine64; fi
if [ -x /usr/lib/wine/wineserver64 ]; then server=/usr/lib/wine/wineserver64; fi
mkdir -p build/wine
export WINEPREFIX="$PWD/build/wine" WINEDEBUG=-all DISPLAY='' WINESERVER="$server"
if "$server" -p60; then "$wine" cmd /c exit; fi </dev/null >/dev/null 2>&1
exec "$wine" "$@"
