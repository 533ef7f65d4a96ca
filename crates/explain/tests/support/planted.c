/*
 * Programs that lose time for a known reason, with their own clock as the truth.
 *
 * planted KIND [FILE]: the thread `subject` does one thing over and over, and at its end prints
 * how long it lived, how much of that it used a CPU, and how long it did that thing, in
 * nanoseconds. Every thread ends by itself.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static long clock_of(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
static long now(void) { return clock_of(CLOCK_MONOTONIC); }
static void sleep_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}
static void spin_ms(long ms) {
    long end = now() + ms * 1000000L;
    while (now() < end) {}
}

/* Names the calling thread, binds it to the last CPU, and makes it real-time if priority > 0. */
static void be(const char *name, int priority) {
    cpu_set_t cpus;
    struct sched_param param = {.sched_priority = priority};
    pthread_setname_np(pthread_self(), name);
    CPU_ZERO(&cpus);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    if (priority > 0) sched_setscheduler(0, SCHED_FIFO, &param);
}

static long began, used, doing;
static void begin(int priority) {
    used = clock_of(CLOCK_THREAD_CPUTIME_ID);
    began = now();
    be("subject", priority);
}
static void *end(void) {
    long lived = now() - began;
    printf("%ld %ld %ld\n", lived, clock_of(CLOCK_THREAD_CPUTIME_ID) - used, doing);
    return NULL;
}

static pthread_mutex_t lock;
static int ends[2];
static const char *path;

/* A convoy: three others hold the lock in turn, each asleep while it holds it. */
static void *convoy_other(void *name) {
    be(name, 10);
    for (int i = 0; i < 12; i++) {
        pthread_mutex_lock(&lock);
        sleep_ms(8);
        pthread_mutex_unlock(&lock);
        sleep_ms(1);
    }
    return NULL;
}
static void *convoy(void *unused) {
    begin(40);
    for (int i = 0; i < 10; i++) {
        sleep_ms(12);
        long from = now();
        pthread_mutex_lock(&lock);
        doing += now() - from;
        pthread_mutex_unlock(&lock);
    }
    return end();
}

/*
 * Inversion: an ordinary thread holds the lock; once the subject waits for it, a thread of a rank
 * between keeps the holder from running.
 */
static sem_t held;
static const int TURNS = 8;
static void *holder(void *unused) {
    be("holder", 0);
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&lock);
        sem_post(&held);
        spin_ms(15);
        pthread_mutex_unlock(&lock);
        sleep_ms(20);
    }
    return NULL;
}
static void *middle(void *unused) {
    be("middle", 20);
    for (int i = 0; i < TURNS; i++) {
        sem_wait(&held);
        /* The subject tries every 5 ms. */
        sleep_ms(8);
        spin_ms(30);
    }
    return NULL;
}
static void *inversion(void *unused) {
    begin(40);
    while (now() - began < 500000000L) {
        sleep_ms(5);
        long from = now();
        pthread_mutex_lock(&lock);
        long took = now() - from;
        pthread_mutex_unlock(&lock);
        if (took > 1000000) doing += took;
    }
    return end();
}

/* A server that answers slowly over a pipe or a socket. */
static void *server(void *unused) {
    be("server", 10);
    for (int i = 0; i < 20; i++) {
        sleep_ms(15);
        if (write(ends[1], "x", 1) != 1) abort();
    }
    return NULL;
}
static void *client(void *unused) {
    char byte;
    begin(40);
    for (int i = 0; i < 20; i++) {
        long from = now();
        if (read(ends[0], &byte, 1) != 1) abort();
        doing += now() - from;
    }
    return end();
}

/*
 * Reads a file that has left the page cache: large blocks past the cache, or pages far apart
 * through a mapping.
 */
static const long STEP = 1 << 20;
static void *disk(void *mapped) {
    int file = open(path, mapped ? O_RDONLY : O_RDONLY | O_DIRECT);
    long size = lseek(file, 0, SEEK_END);
    void *block = aligned_alloc(4096, STEP);
    volatile char *mapping = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
    if (file < 0 || mapping == MAP_FAILED) abort();
    fsync(file);
    begin(40);
    for (int round = 0; round < 6; round++) {
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        for (long at = 0; at < size; at += STEP) {
            long from = now();
            if (mapped) (void)mapping[at];
            else if (pread(file, block, STEP, at) != STEP) abort();
            doing += now() - from;
        }
        madvise((void *)mapping, size, MADV_DONTNEED);
    }
    return end();
}

/* Writes more through a mapping than the memory of its control group. */
static void *memory(void *unused) {
    int file = open(path, O_RDWR);
    long size = lseek(file, 0, SEEK_END);
    char *mapping = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    begin(0);
    for (long at = 0; at < size && now() - began < 3000000000L; at += 4096) {
        long from = now();
        mapping[at] = 1;
        doing += now() - from;
    }
    return end();
}

/* Nothing is planted: only sleep by choice. */
static void *control(void *unused) {
    begin(40);
    for (int i = 0; i < 100; i++) {
        long from = now();
        sleep_ms(3);
        doing += now() - from;
    }
    return end();
}

int main(int count, char **words) {
    const char *kind = count > 1 ? words[1] : "";
    char go;
    pthread_t threads[4];
    int started = 0;
    pthread_mutexattr_t attributes;
    path = count > 2 ? words[2] : "";
    pthread_mutexattr_init(&attributes);
    if (!strcmp(kind, "inheritance"))
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&lock, &attributes);
    sem_init(&held, 0, 0);
    /* The caller may first move the process into a control group. */
    if (read(0, &go, 1) != 1) return 1;
    if (!strcmp(kind, "convoy")) {
        pthread_create(&threads[started++], NULL, convoy_other, "first");
        pthread_create(&threads[started++], NULL, convoy_other, "second");
        pthread_create(&threads[started++], NULL, convoy_other, "third");
        pthread_create(&threads[started++], NULL, convoy, NULL);
    } else if (!strcmp(kind, "inversion") || !strcmp(kind, "inheritance")) {
        pthread_create(&threads[started++], NULL, holder, NULL);
        pthread_create(&threads[started++], NULL, middle, NULL);
        pthread_create(&threads[started++], NULL, inversion, NULL);
    } else if (!strcmp(kind, "pipe") || !strcmp(kind, "socket")) {
        if (!strcmp(kind, "pipe") ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
        pthread_create(&threads[started++], NULL, client, NULL);
        pthread_create(&threads[started++], NULL, server, NULL);
    } else if (!strcmp(kind, "disk") || !strcmp(kind, "mapping")) {
        pthread_create(&threads[started++], NULL, disk, kind[0] == 'm' ? "mapped" : NULL);
    } else if (!strcmp(kind, "memory")) {
        pthread_create(&threads[started++], NULL, memory, NULL);
    } else if (!strcmp(kind, "control")) {
        pthread_create(&threads[started++], NULL, control, NULL);
    } else {
        return 2;
    }
    while (started > 0) pthread_join(threads[--started], NULL);
    return 0;
}
