// A loop as it is written by hand: absolute due times, FIFO 80, locked memory.
// usage: jitter CPU PERIOD_NS COUNT; prints the lateness of each wakeup in nanoseconds.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static int64_t nanos(struct timespec t) { return t.tv_sec * 1000000000LL + t.tv_nsec; }

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int64_t period = atoll(argv[2]), count = atoll(argv[3]);
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(argv[1]), &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    struct sched_param priority = {.sched_priority = 80};
    if (sched_setscheduler(0, SCHED_FIFO, &priority)) perror("sched_setscheduler");
    int64_t *late = malloc(count * sizeof *late);
    memset(late, 1, count * sizeof *late);
    if (mlockall(MCL_CURRENT)) perror("mlockall");
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t due = nanos(now), kept = 0;
    while (kept < count) {
        due += period;
        struct timespec until = {due / 1000000000, due % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
        clock_gettime(CLOCK_MONOTONIC, &now);
        late[kept++] = nanos(now) - due;
        // Due times that passed are skipped.
        clock_gettime(CLOCK_MONOTONIC, &now);
        while (due + period < nanos(now)) due += period;
    }
    for (int64_t i = 0; i < count; i++) printf("%lld\n", (long long)late[i]);
}
