/*
 * Periodic threads with known CPU time a job, by their own clock.
 *
 * periodic SECONDS PINNED THREAD...: each THREAD is NAME:PERIOD:LOW:HIGH:EVERY, with times in
 * microseconds. Every EVERYth job computes for HIGH, the others for LOW; with EVERY = 0, each for
 * a random time between them. A job has computed when the thread's own CPU clock says so. With
 * PINNED = 1, all threads run on the last CPU.
 *
 * At its end, it prints a line for each thread: the name, and what its CPU clock counted from the
 * end of each job to the end of the next, in nanoseconds.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, JOBS = 1 << 16 };

static long seconds, pinned;

struct thread {
    char name[16];
    long period, low, high, every, jobs;
    long *used;
    pthread_t id;
};

static long clock_of(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* Some 10 us: every reading of the CPU clock is an event of the kernel. */
static void compute(void) {
    for (volatile int i = 0; i < 10000; i++) {}
}

static void *work(void *argument) {
    struct thread *thread = argument;
    unsigned long random = 1994 + thread->period;
    long due = clock_of(CLOCK_MONOTONIC), end = due + seconds * 1000000000L;
    long before = clock_of(CLOCK_THREAD_CPUTIME_ID);
    pthread_setname_np(pthread_self(), thread->name);
    if (pinned) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpus);
        sched_setaffinity(0, sizeof cpus, &cpus);
    }
    while ((due += thread->period * 1000) < end && thread->jobs < JOBS) {
        struct timespec t = {due / 1000000000L, due % 1000000000L};
        long cost = thread->low;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        random = random * 6364136223846793005UL + 1442695040888963407UL;
        if (thread->every == 0)
            cost += (random >> 33) % (thread->high - thread->low + 1);
        else if (thread->jobs % thread->every == thread->every - 1)
            cost = thread->high;
        long done = clock_of(CLOCK_THREAD_CPUTIME_ID) + cost * 1000;
        while (clock_of(CLOCK_THREAD_CPUTIME_ID) < done) compute();
        long now = clock_of(CLOCK_THREAD_CPUTIME_ID);
        thread->used[thread->jobs++] = now - before;
        before = now;
    }
    return NULL;
}

int main(int count, char **words) {
    static struct thread threads[THREADS];
    int number = count - 3;
    if (number < 1 || number > THREADS) return 2;
    seconds = atol(words[1]);
    pinned = atol(words[2]);
    for (int i = 0; i < number; i++) {
        struct thread *thread = &threads[i];
        thread->used = malloc(JOBS * sizeof *thread->used);
        if (!thread->used || sscanf(words[i + 3], "%15[^:]:%ld:%ld:%ld:%ld", thread->name,
                &thread->period, &thread->low, &thread->high, &thread->every) != 5)
            return 2;
    }
    for (int i = 0; i < number; i++) pthread_create(&threads[i].id, NULL, work, &threads[i]);
    for (int i = 0; i < number; i++) {
        pthread_join(threads[i].id, NULL);
        printf("%s", threads[i].name);
        for (long job = 0; job < threads[i].jobs; job++) printf(" %ld", threads[i].used[job]);
        printf("\n");
    }
    return 0;
}
