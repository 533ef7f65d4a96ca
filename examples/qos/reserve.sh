#!/bin/sh
# Reserves CPU time for a command, for as long as it runs. Needs one of varlinkctl (systemd 255 or
# newer), socat, nc with -U (OpenBSD, Nmap) or perl.
#
# usage: reserve.sh SOCKET COST PERIOD COMMAND [ARGUMENT...]     COST and PERIOD in nanoseconds
set -eu
socket=$1 cost=$2 period=$3
shift 3
client=
for name in varlinkctl socat nc perl; do
    command -v "$name" >/dev/null 2>&1 || continue
    # Not every nc knows Unix sockets.
    if [ "$name" = nc ] && ! nc -h 2>&1 | grep -q -e '-[^ ]*U'; then continue; fi
    client=$name
    break
done
if [ -z "$client" ]; then
    echo "reserve.sh: needs varlinkctl, socat, nc or perl" >&2
    exit 127
fi

# Sends a call and prints the replies until the manager closes the connection. A call and each reply
# are JSON and a NUL; the standard input stays open, since the reserve ends with the connection.
converse() {
    case $client in
    socat) socat - "UNIX-CONNECT:$socket" ;;
    nc) nc -U "$socket" ;;
    perl) perl -MIO::Socket::UNIX -e '
        my $manager = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "$ARGV[0]: $!\n";
        local $/ = "\0";
        print $manager scalar <STDIN>;
        $manager->flush;
        $| = 1;
        print while <$manager>;
    ' "$socket" ;;
    esac | tr '\0' '\n'
}

"$@" &
command=$!
# The manager takes a thread by its ID only if it belongs to this user. Other threads of the command
# have no reserve. With `more`, the connection stays and shows changes.
parameters="{\"thread\":$command,\"need\":{\"period\":$period,\"cost_min\":$cost}}"
method=org.tactus.qos.Reserve
if [ "$client" = varlinkctl ]; then
    varlinkctl call --more --timeout=infinity "$socket" "$method" "$parameters" &
else
    {
        printf '{"method":"%s","parameters":%s,"more":true}\0' "$method" "$parameters"
        # The manager ends the reserve with its thread, and this ends the connection.
        while kill -0 "$command" 2>/dev/null; do sleep 1; done
    } | converse &
fi
reserve=$!

wait "$command" && status=0 || status=$?
kill "$reserve" 2>/dev/null || :
exit "$status"
