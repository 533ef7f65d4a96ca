/* A watched thread with planted system calls between two waits, and a handler with one. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tactus_rt.h>

static trt_channel out, in;

static void *loop(void *unused)
{
    uint64_t item = 0;
    trt_make_periodic(0, 1000000);
    for (int i = 0; i < 50 && trt_wait(NULL) == 0; i++) {
        trt_put(out, &item, sizeof item);
        if (i == 20)
            close(open("/dev/null", O_RDONLY)); /* planted */
    }
    return unused;
}

static int handler(trt_channel fifo, void *unused)
{
    uint64_t item;
    (void)unused;
    while (trt_get(fifo, &item, sizeof item, 0) == 1)
        trt_put(out, &item, sizeof item);
    return access("/", F_OK) + 1; /* in the handler */
}

int main(int count, char **arguments)
{
    struct trt_options options = {.size = sizeof options};
    struct trt_thread_options watched = {.size = sizeof watched, .name = "watched", .watch = 1};
    struct trt_thread_options serves = {.size = sizeof serves, .name = "serves", .watch = 1};
    struct trt_violation violation;
    uint64_t item = 0;
    trt_thread thread, server;
    trt_channel writer;

    if (count != 2)
        return 2;
    options.socket = arguments[1];
    if (trt_init(&options) || trt_fifo_create(&out, "out", TRT_WRITE, 8, 64) ||
        trt_fifo_create(&in, "in", TRT_READ, 8, 4) || trt_serve() ||
        trt_thread_create(&thread, &watched, loop, NULL) || trt_thread_join(thread, NULL) ||
        trt_create_handler(&server, &serves, in, handler, NULL) ||
        trt_open(&writer, arguments[1], "in", TRT_FIFO | TRT_WRITE, NULL, 8) ||
        trt_put(writer, &item, sizeof item) || trt_thread_join(server, NULL)) {
        printf("%s\n", trt_error());
        return 1;
    }
    while (trt_violation_next(&violation) == 1)
        printf("%s: %s, %s (%s) %d\n", violation.thread, violation.what, violation.place,
               violation.function, (int)violation.count);
    trt_close(writer);
    trt_close(in);
    trt_close(out);
    return trt_exit();
}
