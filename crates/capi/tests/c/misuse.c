/* Each function is called wrongly; nothing crashes, and the text names the fix or the fact. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tactus_rt.h>

static int failures;

#define REFUSED(call, number, words)                                                           \
    do {                                                                                       \
        long long got = (call);                                                             \
        if (got != -(number) || !strstr(trt_error(), words)) {                              \
            printf("%d: %s returned %lld: %s\n", __LINE__, #call, got, trt_error());        \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

#define RETURNS(call, value)                                                                   \
    do {                                                                                       \
        long long got = (call);                                                             \
        if (got != (value)) {                                                               \
            printf("%d: %s returned %lld: %s\n", __LINE__, #call, got, trt_error());        \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

static trt_mutex mutex;
static trt_cond condition;
static trt_channel inwards;

static void *other_thread(void *unused)
{
    (void)unused;
    REFUSED(trt_mutex_trylock(mutex), EBUSY, "another thread");
    REFUSED(trt_mutex_unlock(mutex), EPERM, "does not hold");
    REFUSED(trt_wait(NULL), EPERM, "trt_thread_create");
    return NULL;
}

static trt_thread self;
static int waits;

/* Waits until its handle is known, and waits for itself. */
static void *waits_for_itself(void *result)
{
    trt_mutex_lock(mutex);
    waits = 1;
    while (!self)
        trt_cond_wait(condition, mutex, TRT_FOREVER);
    trt_mutex_unlock(mutex);
    REFUSED(trt_thread_join(self, NULL), EDEADLK, "own end");
    REFUSED(trt_thread_stop(self, NULL), EDEADLK, "own end");
    return result;
}

static void *joins(void *thread)
{
    void *result = NULL;
    int joined = trt_thread_join(*(trt_thread *)thread, &result);
    /* On a busy machine, it may begin after the end. */
    if (joined == 0 ? result != thread : joined != -EBADF)
        printf("joined: %d\n", joined), failures++;
    return NULL;
}

static void *without_period(void *result)
{
    REFUSED(trt_wait(NULL), EINVAL, "trt_make_periodic");
    REFUSED(trt_make_periodic(0, 1), EINVAL, "the nearest is");
    REFUSED(trt_make_periodic(0, -1), EINVAL, "the nearest is");
    REFUSED(trt_make_periodic(INT64_MAX, 1000000), EINVAL, "the latest is");
    return result;
}

static void *until_stopped(void *unused)
{
    char item[8];
    RETURNS(trt_make_periodic(0, 1000000), 0);
    while (trt_wait(NULL) == 0)
        ;
    REFUSED(trt_wait(NULL), ECANCELED, "asked to end");
    REFUSED(trt_get(inwards, item, sizeof item, TRT_FOREVER), ECANCELED, "asked to end");
    return unused;
}

static void threads(void)
{
    struct trt_thread_options options = {.size = sizeof options};
    struct trt_stats stats;
    trt_thread thread = 1;
    void *result;
    int value;

    REFUSED(trt_thread_create(NULL, NULL, without_period, NULL), EFAULT, "NULL");
    REFUSED(trt_thread_create(&thread, NULL, NULL, NULL), EFAULT, "function is NULL");
    options.size = 4;
    REFUSED(trt_thread_create(&thread, &options, without_period, NULL), EINVAL, "sizeof");
    options.size = sizeof options;
    options.priority = 100;
    REFUSED(trt_thread_create(&thread, &options, without_period, NULL), EINVAL, "nearest is 99");
    options.reserve = "1ms/10ms";
    REFUSED(trt_thread_create(&thread, &options, without_period, NULL), EINVAL, "not both");
    options.priority = 0;
    options.reserve = "much";
    REFUSED(trt_thread_create(&thread, &options, without_period, NULL), EINVAL, "");
    options.reserve = NULL;
    options.cpus = "two";
    REFUSED(trt_thread_create(&thread, &options, without_period, NULL), EINVAL, "two");
    options.cpus = NULL;
    options.name = "a name that is too long";
    REFUSED(trt_thread_create(&thread, &options, without_period, NULL), EINVAL, "1 to 15 bytes");
    options.name = "\033[2J a name that is too long";
    REFUSED(trt_thread_create(&thread, &options, without_period, NULL), EINVAL, "\\u{1b}[2J a name");
    options.name = "\xff";
    REFUSED(trt_thread_create(&thread, &options, without_period, NULL), EINVAL, "UTF-8");
    options.name = NULL;
    options.overrun = 9;
    REFUSED(trt_thread_create(&thread, &options, without_period, NULL), EINVAL, "TRT_SKIP");
    options.overrun = 0;
    options.limit_ns = -1;
    REFUSED(trt_thread_create(&thread, &options, without_period, NULL), EINVAL, "negative");
    options.limit_ns = 0;
    options.restarts = 1;
    REFUSED(trt_thread_create(&thread, &options, without_period, NULL), EINVAL, "handlers");
    REFUSED(trt_thread_join(thread, NULL), EBADF, "handle");

    RETURNS(trt_thread_create(&thread, NULL, without_period, &value), 0);
    REFUSED(trt_thread_stats(thread, NULL), EFAULT, "NULL");
    RETURNS(trt_thread_join(thread, &result), 0);
    if (result != &value)
        printf("another result\n"), failures++;
    REFUSED(trt_thread_join(thread, NULL), EBADF, "closed");
    REFUSED(trt_thread_stats(thread, &stats), EBADF, "closed");

    RETURNS(trt_thread_create(&thread, NULL, until_stopped, NULL), 0);
    REFUSED(trt_exit(), EBUSY, "1 threads are open");
    trt_sleep_for(10000000);
    RETURNS(trt_thread_stop(thread, NULL), 0);
}

static void ends(void)
{
    trt_thread thread, deep;
    struct trt_thread_options options = {.size = sizeof options, .stack = 64 << 20};
    struct trt_stats stats;
    pthread_t other;
    void *result;

    RETURNS(trt_thread_create(&deep, &options, without_period, NULL), 0);
    RETURNS(trt_thread_join(deep, NULL), 0);

    /* While one thread joins it, others see and stop it. */
    RETURNS(trt_thread_create(&thread, NULL, until_stopped, &thread), 0);
    pthread_create(&other, NULL, joins, &thread);
    trt_sleep_for(20000000);
    RETURNS(trt_thread_stats(thread, &stats), 0);
    RETURNS(trt_thread_stop(thread, &result), 0);
    if (result != &thread)
        printf("another result\n"), failures++;
    pthread_join(other, NULL);
    REFUSED(trt_thread_stop(thread, NULL), EBADF, "closed");

    RETURNS(trt_mutex_create(&mutex), 0);
    RETURNS(trt_cond_create(&condition), 0);
    RETURNS(trt_thread_create(&thread, NULL, waits_for_itself, &self), 0);
    RETURNS(trt_mutex_lock(mutex), 0);
    while (!waits) {
        trt_mutex_unlock(mutex);
        trt_sleep_for(1000000);
        trt_mutex_lock(mutex);
    }
    REFUSED(trt_mutex_destroy(mutex), EBUSY, "holds the lock");
    RETURNS(trt_mutex_unlock(mutex), 0);
    REFUSED(trt_cond_destroy(condition), EBUSY, "waits");
    REFUSED(trt_mutex_destroy(mutex), EBUSY, "waits");
    RETURNS(trt_mutex_lock(mutex), 0);
    self = thread;
    RETURNS(trt_cond_broadcast(condition, mutex), 0);
    RETURNS(trt_mutex_unlock(mutex), 0);
    RETURNS(trt_thread_join(thread, &result), 0);
    if (result != &self)
        printf("another result\n"), failures++;
    RETURNS(trt_cond_destroy(condition), 0);
    RETURNS(trt_mutex_destroy(mutex), 0);
}

static void channels(const char *socket)
{
    struct trt_options options = {.size = sizeof options, .socket = socket};
    trt_channel outwards, reader, other;
    struct trt_counts counts;
    char item[8] = {0};
    int filled = 0;

    REFUSED(trt_fifo_create(&outwards, "out", TRT_WRITE, 8, 4), EPERM, "trt_init");
    options.flags = 64;
    REFUSED(trt_init(&options), EINVAL, "flags");
    options.flags = 0;
    options.user_count = 1;
    REFUSED(trt_init(&options), EINVAL, "users");
    options.user_count = 0;
    options.broker_cpus = "two";
    REFUSED(trt_init(&options), EINVAL, "broker's CPUs: `two`");
    options.broker_cpus = "0";
    options.relay_cpus = "\xff";
    REFUSED(trt_init(&options), EINVAL, "UTF-8");
    options.relay_cpus = "0";
    RETURNS(trt_init(&options), 0);
    REFUSED(trt_init(&options), EALREADY, "trt_exit");
    REFUSED(trt_fifo_create(NULL, "out", TRT_WRITE, 8, 4), EFAULT, "NULL");
    REFUSED(trt_fifo_create(&outwards, NULL, TRT_WRITE, 8, 4), EFAULT, "name is NULL");
    REFUSED(trt_create(&outwards, "out", 7, NULL, 8, 4), EINVAL, "TRT_FIFO");
    for (uint32_t direction = 2; direction < 5; direction++)
        REFUSED(trt_fifo_create(&outwards, "out", direction, 8, 4), EINVAL, "TRT_READ");
    REFUSED(trt_fifo_create(&outwards, "out", TRT_WRITE, 0, 4), EINVAL, "0 bytes");
    REFUSED(trt_fifo_create(&outwards, "out", TRT_WRITE, 8, 0), EINVAL, "0 items");
    RETURNS(trt_fifo_create(&outwards, "out", TRT_WRITE, 8, 4), 0);
    REFUSED(trt_fifo_create(&other, "out", TRT_WRITE, 8, 4), EEXIST, "taken");
    RETURNS(trt_fifo_create(&inwards, "in", TRT_READ, 8, 4), 0);
    RETURNS(trt_serve(), 0);
    REFUSED(trt_serve(), EPERM, "before trt_serve");

    REFUSED(trt_put(outwards, NULL, 8), EFAULT, "NULL");
    REFUSED(trt_put(outwards, item, 7), EMSGSIZE, "8 bytes, not 7");
    REFUSED(trt_put(inwards, item, 8), EBADF, "this side reads");
    REFUSED(trt_get(outwards, item, 8, 0), EBADF, "this side writes");
    REFUSED(trt_put(0, item, 8), EBADF, "not that of a channel");
    REFUSED(trt_put(outwards + (1 << 16), item, 8), EBADF, "closed");
    REFUSED(trt_pollfd(outwards), EINVAL, "descriptor");
    RETURNS(trt_get(inwards, item, 8, 0), 0);
    REFUSED(trt_read(inwards, item, 8), EAGAIN, "nothing");
    while (trt_put(outwards, item, 8) == 0)
        filled++;
    REFUSED(trt_put(outwards, item, 8), EAGAIN, "full");
    RETURNS(trt_count(outwards, &counts), 0);
    RETURNS(counts.pushed, filled);
    RETURNS(counts.refused, 2);

    REFUSED(trt_open(&reader, "/nowhere/socket", "out", TRT_READ, NULL, 8), ENOENT, "broker");
    REFUSED(trt_open(&reader, socket, "oat", TRT_READ, NULL, 8), ENOENT, "did you mean");
    REFUSED(trt_open(&reader, socket, "out", TRT_READ, NULL, 9), EMSGSIZE, "8 bytes");
    REFUSED(trt_open(&reader, socket, "out", TRT_READ, "float", 8), EMSGSIZE, "float");
    REFUSED(trt_open(&reader, socket, "out", TRT_WRITE, NULL, 8), EPROTO, "a FIFO to read");
    RETURNS(trt_open(&reader, socket, "out", TRT_READ, NULL, 8), 0);
    REFUSED(trt_open(&other, socket, "out", TRT_READ, NULL, 8), EBUSY, "uses");
    RETURNS(trt_read(reader, item, 8), 8);
    while (trt_get(reader, item, 8, 0) == 1)
        ;
    RETURNS(trt_get(reader, item, 8, trt_clock_read(TRT_MONOTONIC) + 1000000), 0);
    RETURNS(trt_close(outwards), 0);
    REFUSED(trt_close(outwards), EBADF, "closed");
    REFUSED(trt_get(reader, item, 8, TRT_FOREVER), EPIPE, "ended");
    RETURNS(trt_read(reader, item, 8), 0);
    RETURNS(trt_close(reader), 0);
}

static void locks(void)
{
    pthread_t thread;

    REFUSED(trt_mutex_create(NULL), EFAULT, "NULL");
    RETURNS(trt_mutex_create(&mutex), 0);
    RETURNS(trt_cond_create(&condition), 0);
    REFUSED(trt_mutex_lock(condition), EBADF, "not that of a mutex");
    REFUSED(trt_cond_wait(condition, mutex, 0), EPERM, "does not hold");
    REFUSED(trt_cond_signal(condition, mutex), EPERM, "does not hold");
    RETURNS(trt_mutex_lock(mutex), 0);
    REFUSED(trt_mutex_lock(mutex), EDEADLK, "");
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
    REFUSED(trt_cond_wait(condition, mutex, trt_clock_read(TRT_MONOTONIC) + 1000000), ETIMEDOUT, "");
    RETURNS(trt_cond_signal(condition, mutex), 0);
    RETURNS(trt_cond_broadcast(condition, mutex), 0);
    RETURNS(trt_mutex_unlock(mutex), 0);
    REFUSED(trt_mutex_unlock(mutex), EPERM, "does not hold");
    RETURNS(trt_mutex_destroy(mutex), 0);
    REFUSED(trt_mutex_lock(mutex), EBADF, "closed");
    RETURNS(trt_cond_destroy(condition), 0);
}

static void alarms(void)
{
    struct pollfd ready = {.events = POLLIN};
    struct trt_service services[TRT_SERVICES];
    trt_alarms port;
    uint64_t message;
    int64_t due;

    REFUSED(trt_clock_read(9), EINVAL, "TRT_MONOTONIC");
    REFUSED(trt_sleep_until(9, 0), EINVAL, "TRT_MONOTONIC");
    REFUSED(trt_clock_round(5, 0), EINVAL, "not positive");
    RETURNS(trt_clock_round(1000001, 1000000), 2000000);
    RETURNS(trt_clock_round(-7, 5), 0);
    REFUSED(trt_clock_measure(TRT_MONOTONIC, 3, NULL), EINVAL, "NULL");
    REFUSED(trt_clock_measure(TRT_MONOTONIC, 0, services), EINVAL, "1 to 100000");
    REFUSED(trt_clock_measure(9, 1, services), EINVAL, "TRT_MONOTONIC");
    REFUSED(trt_clock_measure(TRT_TAI, 1, services), EINVAL, "timerfd");
    RETURNS(trt_clock_measure(TRT_MONOTONIC, 3, services), 0);
    for (unsigned i = 0; i < TRT_SERVICES; i++)
        if (services[i].service != i || services[i].cost_p50_ns < 0 ||
            (services[i].lateness_max_ns == -1) != (i == TRT_SERVICE_READ))
            printf("service %u has no figures\n", i), failures++;

    REFUSED(trt_alarms_create(&port, 0), EINVAL, "the nearest is 1");
    RETURNS(trt_alarms_create(&port, 1), 0);
    RETURNS(trt_alarm_set(port, trt_clock_read(TRT_MONOTONIC) + 1000000000, 6), 0);
    RETURNS(trt_alarm_cancel(port, -1), 0);
    RETURNS(trt_alarm_cancel(port, 0), 1);
    RETURNS(trt_alarm_cancel(port, 0), 0);
    RETURNS(trt_alarm_take(port, NULL, &message), 0);
    RETURNS(trt_alarm_set(port, trt_clock_read(TRT_MONOTONIC) + 1000000, 7), 1);
    REFUSED(trt_alarm_set(port, 0, 8), EAGAIN, "the limit");
    ready.fd = trt_alarms_pollfd(port);
    RETURNS(poll(&ready, 1, -1), 1);
    RETURNS(trt_alarm_take(port, &due, &message), 1);
    RETURNS(message, 7);
    RETURNS(trt_clock_read(TRT_MONOTONIC) >= due, 1);
    RETURNS(trt_alarms_close(port), 0);
    REFUSED(trt_alarm_cancel(port, 0), EBADF, "closed");
}

int main(int count, char **arguments)
{
    struct trt_violation violation;
    char text[4];

    if (count != 2)
        return 2;
    channels(arguments[1]);
    threads();
    ends();
    locks();
    alarms();
    RETURNS(trt_violation_next(&violation), 0);
    REFUSED(trt_violation_next(NULL), EFAULT, "NULL");
    REFUSED(trt_shortfall(1000, NULL, 0), EFAULT, "no room");
    if (trt_shortfall(0, text, sizeof text) == 1 && strlen(text) > 3)
        printf("a text beyond its room\n"), failures++;
    RETURNS(trt_close(inwards), 0);
    RETURNS(trt_exit(), 0);
    REFUSED(trt_exit(), EPERM, "trt_init");
    printf("%d failures\n", failures);
    return failures > 0;
}
