/*
 * Real-time threads, FIFOs and shared blocks: the C library of Tactus.
 * Link with -ltactusrt. docs/c.md is the guide.
 *
 * Written from crates/capi by `cargo xtask header`; edits are lost.
 */

#ifndef TACTUS_RT_H
#define TACTUS_RT_H

#include <stddef.h>
#include <stdint.h>

/*
 The caller writes.
 */
#define TRT_WRITE 0

/*
 The caller reads.
 */
#define TRT_READ 1

/*
 A FIFO.
 */
#define TRT_FIFO 0

/*
 A block, which has the latest value.
 */
#define TRT_BLOCK 2

/*
 No limit for a wait.
 */
#define TRT_FOREVER INT64_MAX

/*
 The time since the start of the system, without suspension. Due times use it.
 */
#define TRT_MONOTONIC 0

/*
 The time of day.
 */
#define TRT_REALTIME 1

/*
 International atomic time.
 */
#define TRT_TAI 2

/*
 The time since the start of the system, with suspension.
 */
#define TRT_BOOTTIME 3

/*
 Reading a clock.
 */
#define TRT_SERVICE_READ 0

/*
 `trt_sleep_until`.
 */
#define TRT_SERVICE_SLEEP_UNTIL 1

/*
 `trt_sleep_for`.
 */
#define TRT_SERVICE_SLEEP_FOR 2

/*
 An alarm that the thread that set it awaits.
 */
#define TRT_SERVICE_ALARM 3

/*
 An alarm to another thread.
 */
#define TRT_SERVICE_ALARM_THREAD 4

/*
 The number of services.
 */
#define TRT_SERVICES 5

/*
 What is mapped when a thread is ready stays in memory.
 */
#define TRT_LOCK_MEMORY 1

/*
 Refuses peers of the same user and of root, who could stop the program.
 */
#define TRT_REQUIRE_OTHER_USER 2

/*
 Due times that have passed are skipped, and counted as missed.
 */
#define TRT_SKIP 0

/*
 Jobs for due times that have passed run back to back: for the last `catch_up` at most.
 */
#define TRT_CATCH_UP 1

/*
 The due times move to the end of a job that takes too long.
 */
#define TRT_SHIFT 2

/*
 The thread shall end when a job takes too long.
 */
#define TRT_STOP 3

/*
 A system call.
 */
#define TRT_SYSTEM_CALL 0

/*
 A page fault.
 */
#define TRT_PAGE_FAULT 1

/*
 A call of the memory allocator. The C library does not see those; they show as system calls and
 page faults.
 */
#define TRT_ALLOCATION 2

/*
 A lock that another thread held.
 */
#define TRT_CONTENDED_LOCK 3

/*
 The handle of an alarm port.
 */
typedef uint64_t trt_alarms;

/*
 The handle of one side of a FIFO or a block.
 */
typedef uint64_t trt_channel;

/*
 What became of the items of one side: offered = pushed + refused, and pushed = taken + in
 flight. All are 0 for blocks.
 */
struct trt_counts {
  /*
   Items written by this side.
   */
  uint64_t pushed;
  /*
   Items that found the FIFO full.
   */
  uint64_t refused;
  /*
   Items written that the reader has not taken.
   */
  uint64_t in_flight;
  /*
   Items taken by this side.
   */
  uint64_t popped;
  /*
   Items overwritten because somebody misled the writer.
   */
  uint64_t lost;
  /*
   Items that waited for this side at its last look.
   */
  uint64_t available;
};

/*
 What a service of a clock costs, and how late it is, in nanoseconds.
 */
struct trt_service {
  /*
   `TRT_SERVICE_READ` and others.
   */
  uint32_t service;
  /*
   0.
   */
  uint32_t reserved;
  /*
   The CPU time of the calling thread for each use: the median. For `TRT_SERVICE_ALARM_THREAD`,
   that of setting the alarm.
   */
  int64_t cost_p50_ns;
  /*
   The same: 99 % of the uses cost at most so much.
   */
  int64_t cost_p99_ns;
  /*
   From the due time to the return of the wait: the median; -1 for `TRT_SERVICE_READ`.
   */
  int64_t lateness_p50_ns;
  /*
   The same: 99 % were at most so late.
   */
  int64_t lateness_p99_ns;
  /*
   The worst lateness.
   */
  int64_t lateness_max_ns;
};

/*
 The handle of a lock.
 */
typedef uint64_t trt_mutex;

/*
 The handle of a condition variable.
 */
typedef uint64_t trt_cond;

/*
 Settings of the program.
 */
struct trt_options {
  /*
   `sizeof(struct trt_options)`.
   */
  uint32_t size;
  /*
   `TRT_LOCK_MEMORY`, `TRT_REQUIRE_OTHER_USER`, or both.
   */
  uint32_t flags;
  /*
   The path at which the broker listens, or NULL without channels.
   */
  const char *socket;
  /*
   Users who may open channels, beside the own one; `user_count` of them.
   */
  const uint32_t *users;
  /*
   The number of users, at most 1024.
   */
  uint32_t user_count;
  /*
   The priority of the broker: one below that of the threads, from 1 to 99; 0: an ordinary
   program.
   */
  uint32_t broker_priority;
  /*
   The CPUs of the broker, others than those of the threads, e.g. `0`; NULL: all.
   */
  const char *broker_cpus;
  /*
   The CPUs of the threads, where a relay wakes the broker for them: a put costs a quarter, and
   arrives later. NULL: no relay.
   */
  const char *relay_cpus;
};

/*
 The handle of a thread.
 */
typedef uint64_t trt_thread;

/*
 Settings of a thread. Zeros and NULL are the defaults, except for `size`.
 */
struct trt_thread_options {
  /*
   `sizeof(struct trt_thread_options)`.
   */
  uint32_t size;
  /*
   The priority of SCHED_FIFO, from 1 to 99; 0: an ordinary thread.
   */
  uint32_t priority;
  /*
   Its name, of 1 to 15 bytes; NULL: `trt`.
   */
  const char *name;
  /*
   The CPUs on which it runs, e.g. `1` or `2-3`; NULL: those of the calling thread.
   */
  const char *cpus;
  /*
   CPU time instead of a priority, e.g. `1ms/10ms`; NULL: none.
   */
  const char *reserve;
  /*
   The bytes of stack that cause no page fault; 0: 64 KiB.
   */
  size_t stack;
  /*
   A job that takes longer makes the thread an ordinary one, in nanoseconds; 0: no limit.
   */
  int64_t limit_ns;
  /*
   What happens when a job takes too long: `TRT_SKIP`, `TRT_CATCH_UP`, `TRT_SHIFT`, `TRT_STOP`.
   */
  uint32_t overrun;
  /*
   For `TRT_CATCH_UP`.
   */
  uint32_t catch_up;
  /*
   Not 0: `trt_violation_next` reports system calls and page faults between two waits, or of a
   handler.
   */
  uint32_t watch;
  /*
   How often a handler continues, with its priority, after a call of it exceeded `limit_ns`; 0
   for other threads.
   */
  uint32_t restarts;
};

/*
 What a thread runs. What it returns is for `trt_thread_join`.
 */
typedef void *(*trt_start)(void*);

/*
 Figures of a thread.
 */
struct trt_stats {
  /*
   Jobs that ran.
   */
  uint64_t run;
  /*
   Due times or events without a job.
   */
  uint64_t missed;
  /*
   How often a job exceeded `limit_ns`.
   */
  uint64_t hung;
  /*
   Lateness of the jobs: the median, in nanoseconds.
   */
  int64_t lateness_p50_ns;
  /*
   The same: 99 % of the jobs began at most so late.
   */
  int64_t lateness_p99_ns;
  /*
   The worst lateness.
   */
  int64_t lateness_max_ns;
};

/*
 What a handler does when something arrived in a channel. It ends if it returns anything but 0.
 */
typedef int (*trt_handler)(trt_channel channel, void *argument);

/*
 Violations of one kind at one place.
 */
struct trt_violation {
  /*
   `TRT_SYSTEM_CALL`, `TRT_PAGE_FAULT`, `TRT_ALLOCATION`, `TRT_CONTENDED_LOCK`.
   */
  uint32_t kind;
  /*
   0.
   */
  uint32_t reserved;
  /*
   How often.
   */
  uint64_t count;
  /*
   The longest time it took; -1: unknown.
   */
  int64_t worst_ns;
  /*
   The name of the thread.
   */
  char thread[16];
  /*
   What was done, e.g. `openat`.
   */
  char what[48];
  /*
   The file and line, e.g. `servo.c:42`, or the offset in the program.
   */
  char place[256];
  /*
   The function; empty: unknown.
   */
  char function[128];
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Creates a port for up to `limit` pending alarms, from 1 to 65536.

 # Safety
 `alarms` may be written.
 */
int trt_alarms_create(trt_alarms *alarms, size_t limit);

/*
 Sets an alarm at `due_ns` of the monotonic clock; any thread may. Returns the number of the alarm
 for `trt_alarm_cancel`, 0 or more, or `-EAGAIN` if the limit is reached.
 */
int64_t trt_alarm_set(trt_alarms alarms, int64_t due_ns, uint64_t message);

/*
 Cancels an alarm by its number; any thread may. Returns 1, or 0 if it was taken or cancelled
 before.
 */
int trt_alarm_cancel(trt_alarms alarms, int64_t alarm);

/*
 Takes the earliest alarm that is due. Never waits: poll(2) the descriptor of the port for that.
 Returns 1 with an alarm, or 0 without. `due_ns` may be NULL.

 # Safety
 `due_ns` is NULL or may be written; `message` may be written.
 */
int trt_alarm_take(trt_alarms alarms, int64_t *due_ns, uint64_t *message);

/*
 Returns the descriptor that can be read when an alarm is due. It belongs to the port.
 */
int trt_alarms_pollfd(trt_alarms alarms);

/*
 Closes a port.
 */
int trt_alarms_close(trt_alarms alarms);

/*
 Creates a channel on the real-time side, before `trt_serve`: a FIFO with room for `capacity`
 items of `bytes` bytes each (`TRT_FIFO`), or a block with one (`TRT_BLOCK`), which this side
 writes (`TRT_WRITE`) or reads (`TRT_READ`): `TRT_FIFO | TRT_WRITE`. `layout` is a text that both sides must agree on, e.g.
 `State 1: position f64`; NULL: `bytes`.

 # Safety
 `channel` may be written; `name` and `layout` are NULL or texts.
 */
int trt_create(trt_channel *channel,
               const char *name,
               uint32_t kind,
               const char *layout,
               size_t bytes,
               size_t capacity);

/*
 Creates a FIFO on the real-time side that this side writes (`TRT_WRITE`) or reads (`TRT_READ`):
 `trt_create` without a layout.

 # Safety
 `channel` may be written; `name` is NULL or a text.
 */
int trt_fifo_create(trt_channel *channel,
                    const char *name,
                    uint32_t direction,
                    size_t bytes,
                    size_t capacity);

/*
 Opens a channel of the broker at `socket`, in an ordinary process, which needs no `trt_init`.
 `kind` is what this side does: `TRT_FIFO | TRT_READ` for a FIFO that the real-time side writes.

 # Safety
 `channel` may be written; `socket`, `name` and `layout` are NULL or texts.
 */
int trt_open(trt_channel *channel,
             const char *socket,
             const char *name,
             uint32_t kind,
             const char *layout,
             size_t bytes);

/*
 Writes an item to a FIFO, or the value of a block. Never waits. Returns 0, or: `-EAGAIN`, the
 FIFO is full, and the item is counted as refused; `-EPIPE`, the other side has ended.

 # Safety
 `item` may be read for `bytes` bytes.
 */
int trt_put(trt_channel channel, const void *item, size_t bytes);

/*
 Takes the next item of a FIFO, and waits for it until `until_ns` of the monotonic clock; 0: not
 at all; `TRT_FOREVER`: without a limit. Of a block, it reads the latest value, and never waits.

 Returns 1 with an item, 0 without, or: `-EPIPE`, the other side has ended, and everything was
 read; `-ECANCELED`, the thread was asked to end.

 # Safety
 `item` may be written for `bytes` bytes.
 */
int trt_get(trt_channel channel, void *item, size_t bytes, int64_t until_ns);

/*
 Takes the next item of a FIFO as read(2) does of a non-blocking descriptor: returns its size, 0
 if the other side has ended, or `-EAGAIN` if nothing has arrived.

 # Safety
 `item` may be written for `bytes` bytes.
 */
int64_t trt_read(trt_channel channel, void *item, size_t bytes);

/*
 Returns the descriptor of a FIFO that an ordinary process reads: poll(2) it for POLLIN, then take
 items by `trt_get` until that returns 0. It belongs to the channel.
 */
int trt_pollfd(trt_channel channel);

/*
 Writes what became of the items of this side.

 # Safety
 `counts` may be written.
 */
int trt_count(trt_channel channel, struct trt_counts *counts);

/*
 Closes this side of a channel.
 */
int trt_close(trt_channel channel);

/*
 Reads a clock, in nanoseconds.
 */
int64_t trt_clock_read(uint32_t clock);

/*
 Sleeps until a clock shows `due_ns`.
 */
int trt_sleep_until(uint32_t clock, int64_t due_ns);

/*
 Sleeps for `duration_ns` nanoseconds.
 */
int trt_sleep_for(int64_t duration_ns);

/*
 Rounds a due time up to a multiple of `granularity_ns`. Sleeps and alarms with rounded due times
 that are about the same cause one wakeup of the CPU. A negative due time is 0.
 */
int64_t trt_clock_round(int64_t due_ns, int64_t granularity_ns);

/*
 Measures each service of a clock `rounds` times, from 1 to 100000, in the calling thread with its
 policy: about 4 ms a round. Writes `TRT_SERVICES` rows.

 # Safety
 `services` is an array of `TRT_SERVICES` members that may be written.
 */
int trt_clock_measure(uint32_t clock, uint32_t rounds, struct trt_service *services);

/*
 Returns why the last call of this thread that failed did, in a sentence, with the fix. The text
 is valid until the next call of this thread fails.
 */
const char *trt_error(void);

/*
 Creates a lock with priority inheritance.

 # Safety
 `mutex` may be written.
 */
int trt_mutex_create(trt_mutex *mutex);

/*
 Takes a lock, and waits for it. Without contention it makes no system call. Returns 0, or
 `-EDEADLK` if the calling thread holds it.
 */
int trt_mutex_lock(trt_mutex mutex);

/*
 Takes a lock unless another thread holds it: then it returns `-EBUSY`.
 */
int trt_mutex_trylock(trt_mutex mutex);

/*
 Releases a lock that the calling thread holds.
 */
int trt_mutex_unlock(trt_mutex mutex);

/*
 Destroys a lock that nobody holds, and with which nobody waits for a condition: otherwise it
 returns `-EBUSY`.
 */
int trt_mutex_destroy(trt_mutex mutex);

/*
 Creates a condition variable.

 # Safety
 `cond` may be written.
 */
int trt_cond_create(trt_cond *cond);

/*
 Releases the lock, waits for a notification until `until_ns` of the monotonic clock, and takes
 the lock again; `TRT_FOREVER`: without a limit. A wait may end without a notification: check the
 condition in a loop. Returns 0, or `-ETIMEDOUT`; the lock is held in both cases.
 */
int trt_cond_wait(trt_cond cond, trt_mutex mutex, int64_t until_ns);

/*
 Notifies one waiting thread. The calling thread holds the lock.
 */
int trt_cond_signal(trt_cond cond, trt_mutex mutex);

/*
 Notifies all waiting threads. The calling thread holds the lock.
 */
int trt_cond_broadcast(trt_cond cond, trt_mutex mutex);

/*
 Destroys a condition variable for which nobody waits: otherwise it returns `-EBUSY`.
 */
int trt_cond_destroy(trt_cond cond);

/*
 Initializes the library for the real-time side. NULL: the defaults, without channels.

 # Safety
 `options` is NULL or points to a structure whose pointers are NULL or valid.
 */
int trt_init(const struct trt_options *options);

/*
 Starts the broker: from now on, other processes can open the channels.
 */
int trt_serve(void);

/*
 Ends the broker and forgets the settings. All threads must have been joined or stopped before.
 Channels remain until they are closed.
 */
int trt_exit(void);

/*
 Writes the sentence number `index`, from 0, about what the program or its broker was not
 granted. Returns 1, or 0 if there are no more.

 # Safety
 `text` may be written for `size` bytes.
 */
int trt_shortfall(uint32_t index, char *text, size_t size);

/*
 Starts a thread that runs `start` with `argument`. It returns when the thread is prepared. What
 the kernel does not permit is not an error: see `trt_thread_shortfall`.

 # Safety
 `thread` may be written. `options` is NULL or points to a structure whose pointers are NULL or
 texts. `start` may be called with `argument` in another thread.
 */
int trt_thread_create(trt_thread *thread,
                      const struct trt_thread_options *options,
                      trt_start start,
                      void *argument);

/*
 Begins periods for the calling thread, from 10 us to 24 h. The first due time is `first_ns` of
 the monotonic clock; 0: a period from now.
 */
int trt_make_periodic(int64_t first_ns, int64_t period_ns);

/*
 Ends the present job of the calling thread and waits for its next due time. `missed` gets the
 number of due times that were missed directly before; NULL is possible.

 Returns 0, or: `-ECANCELED`, the thread was asked to end; `-ETIME`, a job took too long and the
 policy is `TRT_STOP`; `-ETIMEDOUT`, a job exceeded `limit_ns` and the thread is an ordinary one
 now.

 # Safety
 `missed` is NULL or may be written.
 */
int trt_wait(uint64_t *missed);

/*
 Waits until a thread ends by itself, and closes its handle then. `result` gets what its function
 returned; NULL is possible. Several threads can wait for one, and others can stop it meanwhile.
 A thread that waits for itself gets `-EDEADLK`.

 # Safety
 `result` is NULL or may be written.
 */
int trt_thread_join(trt_thread thread, void **result);

/*
 Asks a thread to end, waits for that, and closes its handle then. The waits of the library return
 `-ECANCELED` in the thread, at the latest 100 ms later. A thread that stops itself gets `-EDEADLK`.

 # Safety
 `result` is NULL or may be written.
 */
int trt_thread_stop(trt_thread thread, void **result);

/*
 Writes the figures of a thread. That does not delay it.

 # Safety
 `stats` may be written.
 */
int trt_thread_stats(trt_thread thread, struct trt_stats *stats);

/*
 Writes the sentence number `index`, from 0, about what a thread was not granted. Returns 1, or
 0 if there are no more.

 # Safety
 `text` may be written for `size` bytes.
 */
int trt_thread_shortfall(trt_thread thread, uint32_t index, char *text, size_t size);

/*
 Starts a thread that calls `handler` when something may have arrived in a FIFO that this process
 reads. The handler takes it by `trt_get` until that returns 0; no other thread may read the FIFO.

 # Safety
 `thread` may be written. `options` is NULL or points to a structure whose pointers are NULL or
 texts. `handler` may be called with `argument` in another thread.
 */
int trt_create_handler(trt_thread *thread,
                       const struct trt_thread_options *options,
                       trt_channel channel,
                       trt_handler handler,
                       void *argument);

/*
 Writes the next violation of the threads with `watch`, the most frequent first. Returns 1, or 0
 after the last; the call after that begins again, with what was found meanwhile. Not for
 real-time threads.

 # Safety
 `violation` may be written.
 */
int trt_violation_next(struct trt_violation *violation);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TACTUS_RT_H */
