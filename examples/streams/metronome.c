/*
 * A metronome: sends clicks ahead of their times, and prints how late each was delivered.
 *
 *     metronome DEVICE [CLICKS [SOCKET]]
 *
 * The device takes MIDI or any bytes; without SOCKET, the server is that of the machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tactus.h>

#define INTERVAL_NS 20000000 /* 20 ms */
#define AHEAD_NS 100000000   /* 100 ms */

static void check(int returned, const char *what)
{
    if (returned >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, tactus_error());
    exit(1);
}

int main(int count, char **arguments)
{
    static const unsigned char click[] = {0x99, 37, 100};
    tactus_client server;
    struct tactus_receipt receipt;
    uint32_t stream;
    long clicks = count > 2 ? atol(arguments[2]) : 50;
    long delivered = 0;

    if (count < 2) {
        fprintf(stderr, "usage: metronome DEVICE [CLICKS [SOCKET]]\n");
        return 2;
    }
    check(tactus_connect(&server, count > 3 ? arguments[3] : NULL, "metronome", 0, 0), "connect");
    check(tactus_open(server, arguments[1], &stream), "open");

    int64_t start = tactus_now() + AHEAD_NS;
    for (long next = 0, answered = 0; answered < clicks;) {
        /* As many as lie within the next 100 ms are at the server. */
        while (next < clicks && start + next * INTERVAL_NS < tactus_now() + AHEAD_NS) {
            int64_t due = start + next * INTERVAL_NS;
            check(tactus_at(server, stream, due, click, sizeof click, NULL, NULL), "at");
            next++;
        }
        int found = tactus_receipt_next(server, &receipt, INTERVAL_NS / 2);
        check(found, "receipt");
        if (found == 0)
            continue;
        answered++;
        delivered += receipt.outcome == TACTUS_DELIVERED;
        printf("%llu %s", (unsigned long long)receipt.id, tactus_outcome(receipt.outcome));
        if (receipt.began_ns >= 0)
            printf(" %lld us late", (long long)(receipt.began_ns - receipt.due_ns) / 1000);
        printf("\n");
    }

    struct tactus_slack slack;
    check(tactus_slack_of(server, &slack), "slack");
    printf("delivered %ld of %ld; send at least %lld us ahead\n", delivered, clicks,
           (long long)slack.lead_ns / 1000);
    check(tactus_disconnect(server), "disconnect");
    return delivered == clicks ? 0 : 1;
}
