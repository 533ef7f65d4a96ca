/* How late PortTime's callback comes for events on its clock of milliseconds: prints the error of
 * each in nanoseconds, against the earliest tick of the run; then its irregular ticks. */
#include <porttime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long wanted, interval, skipped, doubled;
static volatile long arrived;
static long long *seen, origin = -1;

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void callback(PtTimestamp tick, void *unused)
{
    static PtTimestamp last = -1;
    long long at = now();
    (void)unused;
    skipped += last >= 0 && tick > last + 1;
    doubled += tick == last;
    last = tick;
    if (origin < 0 || at - tick * 1000000LL < origin)
        origin = at - tick * 1000000LL;
    while (arrived < wanted && tick >= 200 + arrived * interval)
        seen[arrived++] = at;
}

int main(int count, char **arguments)
{
    wanted = count > 1 ? atol(arguments[1]) : 200;
    interval = count > 2 ? atol(arguments[2]) : 20;
    seen = calloc(wanted, sizeof *seen);
    if (Pt_Start(1, callback, NULL) != ptNoError)
        return 2;
    while (arrived < wanted)
        usleep(100000);
    Pt_Stop();
    for (long next = 0; next < wanted; next++)
        printf("%lld\n", seen[next] - origin - (200 + next * interval) * 1000000LL);
    fprintf(stderr, "%ld callbacks skipped ticks, %ld had the tick of the one before\n", skipped, doubled);
    return 0;
}
