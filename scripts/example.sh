#!/bin/sh
# example.sh skynet|world - runs an example in the skynet that is built in $SKYNET. skynet brings its own Lua, so the core
# is built once more, against that one's headers.
#
#   skynet   the service and three small services
#   world    two processes on this machine, until the second one goes and the first one goes on without it
set -eu
if [ -z "${SKYNET:-}" ]; then
  echo "set SKYNET to a built skynet: SKYNET=/path/to/skynet make example-$1"
  exit 1
fi
SKYNET=$(cd "$SKYNET" && pwd)
export SKYNET
"${MAKE:-make}" --no-print-directory build/skynet/aoi/core.so LUA=skynet LUA_INCDIR="$SKYNET/3rd/lua"
case $1 in
skynet) exec "$SKYNET/skynet" examples/skynet/config ;;
world)
  NODE=world_b "$SKYNET/skynet" examples/skynet/world/config &
  NODE=world_a "$SKYNET/skynet" examples/skynet/world/config
  wait $!
  ;;
esac
