#!/bin/sh
# Reserves CPU time for a command, for as long as it runs, with varlinkctl of systemd 255 or newer.
#
# usage: reserve.sh SOCKET COST PERIOD COMMAND [ARGUMENT...]     COST and PERIOD in nanoseconds
set -eu
socket=$1 cost=$2 period=$3
shift 3

"$@" &
command=$!
# The reserve ends with the connection, so varlinkctl stays: with --more it waits for changes.
# It cannot name a thread by a descriptor before systemd 258, so the thread is named by its ID: the
# manager takes it only if it belongs to this user. Other threads of the command have no reserve.
varlinkctl call --more --timeout=infinity "$socket" org.tactus.qos.Reserve \
    "{\"thread\":$command,\"need\":{\"period\":$period,\"cost_min\":$cost}}" &
reserve=$!

wait "$command" && status=0 || status=$?
# The manager has ended the reserve with its thread, and varlinkctl with it.
kill "$reserve" 2>/dev/null || :
exit "$status"
