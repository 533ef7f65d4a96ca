/*
 * The real-time side: a periodic thread that writes a FIFO, and a handler of commands, in the shape
 * of an RTLinux module. docs/c.md has the original's calls beside these.
 *
 *     cc -o wave wave.c $(pkg-config --cflags --libs tactus-rt)
 *     sudo ./wave /run/wave.sock
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tactus_rt.h>

#include "wave.h"

#define PERIOD_NS 1000000
#define PERIODS_MOST 10000 /* The example ends by itself. */

static trt_channel samples, commands;
static trt_mutex lock;
static int32_t step = 1;
static int is_stopped;

/* Moves a position by a step in every period, and writes it to the FIFO. */
static void *periodic(void *unused)
{
    struct sample sample = {0};
    (void)unused;
    trt_make_periodic(0, PERIOD_NS);
    while (sample.number < PERIODS_MOST && trt_wait(&sample.missed) == 0) {
        int stops;
        trt_mutex_lock(lock);
        sample.position += step;
        stops = is_stopped;
        trt_mutex_unlock(lock);
        if (stops)
            break;
        sample.number++;
        trt_put(samples, &sample, sizeof sample); /* Full: counted. */
    }
    return NULL;
}

/* Serves the commands that have arrived. */
static int handler(trt_channel fifo, void *unused)
{
    struct command command;
    (void)unused;
    while (trt_get(fifo, &command, sizeof command, 0) == 1) {
        trt_mutex_lock(lock);
        if (command.what == SET_STEP)
            step = command.step;
        else
            is_stopped = 1;
        trt_mutex_unlock(lock);
    }
    return 0;
}

static int check(int result, const char *what)
{
    if (result < 0)
        fprintf(stderr, "%s: %s\n", what, trt_error());
    return result < 0;
}

int main(int count, char **arguments)
{
    struct trt_options options = {.size = sizeof options, .flags = TRT_LOCK_MEMORY};
    struct trt_thread_options loop = {.size = sizeof loop, .name = "wave", .priority = 80};
    struct trt_thread_options serves = {.size = sizeof serves, .name = "commands", .priority = 70};
    struct trt_stats stats;
    struct trt_counts counts;
    trt_thread thread, server;
    char text[512];

    if (count != 2) {
        fprintf(stderr, "usage: wave SOCKET\n");
        return 2;
    }
    options.socket = arguments[1];
    if (check(trt_init(&options), "trt_init") ||
        check(trt_create(&samples, "samples", TRT_FIFO | TRT_WRITE, SAMPLE_LAYOUT,
                         sizeof(struct sample), 1024), "samples") ||
        check(trt_create(&commands, "commands", TRT_FIFO | TRT_READ, COMMAND_LAYOUT,
                         sizeof(struct command), 16), "commands") ||
        check(trt_mutex_create(&lock), "trt_mutex_create") ||
        check(trt_serve(), "trt_serve") ||
        check(trt_create_handler(&server, &serves, commands, handler, NULL), "handler") ||
        check(trt_thread_create(&thread, &loop, periodic, NULL), "thread"))
        return 1;
    for (uint32_t i = 0; trt_thread_shortfall(thread, i, text, sizeof text) == 1; i++)
        fprintf(stderr, "%s\n", text);
    while (trt_thread_stats(thread, &stats) == 0 && stats.run < PERIODS_MOST) {
        int stops;
        trt_sleep_for(20 * PERIOD_NS);
        trt_mutex_lock(lock);
        stops = is_stopped;
        trt_mutex_unlock(lock);
        if (stops)
            break;
    }
    trt_thread_stats(thread, &stats);
    trt_count(samples, &counts);
    trt_thread_join(thread, NULL);
    trt_thread_stop(server, NULL);
    printf("ran %" PRIu64 ", missed %" PRIu64 ", late p99 %" PRId64 " us\n", stats.run, stats.missed,
           stats.lateness_p99_ns / 1000);
    printf("pushed %" PRIu64 ", refused %" PRIu64 "\n", counts.pushed, counts.refused);
    trt_close(samples);
    trt_close(commands);
    trt_mutex_destroy(lock);
    return check(trt_exit(), "trt_exit");
}
