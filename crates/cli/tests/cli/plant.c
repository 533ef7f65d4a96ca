/* A 1 kHz loop with planted violations. Each line with one has a comment `PLANT name`, by which
 * the test finds it. The first argument is the number of rounds; further ones name the plants
 * (none: a clean loop). With `condition`, the loop waits in a condition variable that nobody
 * signals. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PERIOD 1000000L
#define PAGE 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char **plants;
static int rounds, holds;
static volatile int done;
/* Volatile: the compiler removes an allocation that nobody can see. */
static void *volatile big;
static FILE *out;

static int has(const char *name)
{
	for (const char **plant = plants; *plant; plant++)
		if (!strcmp(*plant, name))
			return 1;
	return 0;
}

static __attribute__((noinline)) void violate(int round, char *fresh)
{
	if (round % 10 == 3 && has("open"))
		close(open("/dev/null", O_RDONLY)); /* PLANT open */
	if (round % 10 == 4 && has("malloc"))
		big = malloc(64 << 20), free(big); /* PLANT malloc */
	if (has("touch"))
		fresh[(size_t)round * PAGE] = 1; /* PLANT touch */
	if (round % 10 == 5 && has("printf"))
		fprintf(out, "round %d\n", round); /* PLANT printf */
	if (has("mutex"))
		pthread_mutex_lock(&lock), pthread_mutex_unlock(&lock); /* PLANT mutex */
}

static void *servo(void *unused)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	pthread_condattr_t monotonic;
	pthread_cond_t never;
	struct timespec due;
	char *fresh = mmap(NULL, (size_t)rounds * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(fresh, (size_t)rounds * PAGE, MADV_NOHUGEPAGE);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&never, &monotonic);
	pthread_mutex_lock(&own);
	pthread_setname_np(pthread_self(), "servo");
	/* Time for the watcher to find the thread. */
	usleep(200000);
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (int round = 0; round < rounds; round++) {
		due.tv_nsec += PERIOD;
		if (due.tv_nsec >= 1000000000L) {
			due.tv_nsec -= 1000000000L;
			due.tv_sec++;
		}
		if (has("condition"))
			pthread_cond_timedwait(&never, &own, &due);
		else
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		violate(round, fresh);
	}
	done = 1;
	return unused;
}

/* Holds the lock about half of the time. */
static void *holder(void *unused)
{
	while (!done) {
		pthread_mutex_lock(&lock);
		usleep(300);
		pthread_mutex_unlock(&lock);
		usleep(300);
		holds++;
	}
	return unused;
}

int main(int count, const char **arguments)
{
	pthread_t threads[2];

	if (count < 2)
		return 2;
	rounds = atoi(arguments[1]);
	plants = arguments + 2;
	out = fopen("/dev/null", "w");
	setvbuf(out, NULL, _IONBF, 0);
	if (has("mutex"))
		pthread_create(&threads[1], NULL, holder, NULL);
	pthread_create(&threads[0], NULL, servo, NULL);
	pthread_join(threads[0], NULL);
	if (has("mutex"))
		pthread_join(threads[1], NULL);
	return 0;
}
