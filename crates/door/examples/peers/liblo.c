/* How late liblo dispatches bundles: prints the error of each in nanoseconds. */
#include <lo/lo.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long arrived;
static long wanted;
static double *errors;

static int handler(const char *path, const char *types, lo_arg **values, int count,
                   lo_message message, void *unused)
{
    lo_timetag now, due = lo_message_get_timestamp(message);
    (void)path, (void)types, (void)values, (void)count, (void)unused;
    lo_timetag_now(&now);
    if (arrived < wanted)
        errors[arrived] = lo_timetag_diff(now, due) * 1e9;
    arrived++;
    return 0;
}

int main(int count, char **arguments)
{
    double interval = count > 2 ? atof(arguments[2]) / 1e3 : 0.02;
    wanted = count > 1 ? atol(arguments[1]) : 200;
    errors = calloc(wanted, sizeof *errors);
    lo_server_thread server = lo_server_thread_new(NULL, NULL);
    lo_server_thread_add_method(server, "/tick", "i", handler, NULL);
    lo_server_thread_start(server);
    char port[16];
    snprintf(port, sizeof port, "%d", lo_server_thread_get_port(server));
    lo_address address = lo_address_new("127.0.0.1", port);
    lo_timetag start;
    lo_timetag_now(&start);
    for (long next = 0; next < wanted; next++) {
        double ahead = 0.2 + next * interval;
        uint64_t ticks = ((uint64_t)start.sec << 32 | start.frac) + (uint64_t)(ahead * 4294967296.0);
        lo_timetag due = {ticks >> 32, (uint32_t)ticks};
        lo_bundle bundle = lo_bundle_new(due);
        lo_message message = lo_message_new();
        lo_message_add_int32(message, (int)next);
        lo_bundle_add_message(bundle, "/tick", message);
        lo_send_bundle(address, bundle);
        lo_bundle_free_recursive(bundle);
    }
    for (int waited = 0; arrived < wanted && waited < 600; waited++)
        usleep(100000);
    lo_server_thread_stop(server);
    for (long next = 0; next < wanted && next < arrived; next++)
        printf("%.0f\n", errors[next]);
    return arrived < wanted;
}
