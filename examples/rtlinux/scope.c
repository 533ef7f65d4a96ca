/*
 * The ordinary side: reads samples as an ordinary program waits for anything, sends commands, and
 * checks that nothing was lost.
 *
 *     cc -o scope scope.c $(pkg-config --cflags --libs tactus-rt)
 *     ./scope /run/wave.sock
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include <tactus_rt.h>

#include "wave.h"

int main(int count, char **arguments)
{
    const struct command faster = {.what = SET_STEP, .step = 3}, stop = {.what = STOP};
    struct sample sample = {0}, before = {0};
    struct trt_counts counts;
    trt_channel samples, commands;
    uint64_t fast = 0;
    int result = 0;

    if (count != 2) {
        fprintf(stderr, "usage: scope SOCKET\n");
        return 2;
    }
    if (trt_open(&samples, arguments[1], "samples", TRT_FIFO | TRT_READ, SAMPLE_LAYOUT,
                 sizeof sample) < 0 ||
        trt_open(&commands, arguments[1], "commands", TRT_FIFO | TRT_WRITE, COMMAND_LAYOUT,
                 sizeof faster) < 0 ||
        trt_put(commands, &faster, sizeof faster) < 0) {
        fprintf(stderr, "%s\n", trt_error());
        return 1;
    }
    while (fast < 100 && result >= 0) {
        struct pollfd ready = {.fd = trt_pollfd(samples), .events = POLLIN};
        poll(&ready, 1, 1000);
        while ((result = trt_get(samples, &sample, sizeof sample, 0)) == 1) {
            if (before.number > 0 && sample.number != before.number + 1)
                printf("lost %" PRIu64 "\n", sample.number - before.number - 1);
            if (before.number > 0 && sample.position - before.position == 3)
                fast++;
            before = sample;
        }
    }
    if (result < 0)
        fprintf(stderr, "%s\n", trt_error());
    trt_count(samples, &counts);
    printf("read %" PRIu64 ", of them %" PRIu64 " fast, lost %" PRIu64 "\n", counts.popped, fast,
           counts.lost);
    trt_put(commands, &stop, sizeof stop);
    trt_close(samples);
    trt_close(commands);
    return result < 0;
}
