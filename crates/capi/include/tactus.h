/*
 * Timed delivery: items for the delivery server of Tactus, and a receipt for each.
 * Link with -ltactusrt. docs/c.md is the guide.
 *
 * Written from crates/capi by `cargo xtask header`; edits are lost.
 */

#ifndef TACTUS_H
#define TACTUS_H

#include <stddef.h>
#include <stdint.h>

/*
 No limit for a wait.
 */
#define TACTUS_FOREVER INT64_MAX

/*
 A late item is delivered all the same, as soon as possible.
 */
#define TACTUS_DELIVER 0

/*
 An item is dropped if it is later than `tolerance_ns`. A device without a lead takes each item a
 little after it is due, so with 0 it drops every item.
 */
#define TACTUS_DROP 1

/*
 The same, and its stream stops until `tactus_resume`.
 */
#define TACTUS_STOP 2

/*
 The device takes MIDI: one whole message, its status byte first.
 */
#define TACTUS_MIDI 0

/*
 The device takes audio: frames of `channels` samples, each a `float`.
 */
#define TACTUS_AUDIO 1

/*
 The device takes the values of a DMX512 universe, 1 to 512 bytes.
 */
#define TACTUS_DMX 2

/*
 The device takes any bytes.
 */
#define TACTUS_BYTES 3

/*
 The device takes frames of pictures, for which this library has no memory.
 */
#define TACTUS_FRAME 4

/*
 The device took the item.
 */
#define TACTUS_DELIVERED 0

/*
 The device refused the item.
 */
#define TACTUS_FAILED 1

/*
 The item was later than its policy tolerates.
 */
#define TACTUS_LATE 2

/*
 The stream of the item had stopped for a late item.
 */
#define TACTUS_STOPPED 3

/*
 The branch of the item was cut before its time.
 */
#define TACTUS_CUT 4

/*
 The stream of the item was closed.
 */
#define TACTUS_CLOSED 5

/*
 The server ended first.
 */
#define TACTUS_ENDED 6

/*
 The item broke a rule.
 */
#define TACTUS_REFUSED 7

/*
 The delivery began, and its end was not seen: the item may have come out.
 */
#define TACTUS_UNKNOWN 8

/*
 The item was not delivered, so there are no times.
 */
#define TACTUS_EVIDENCE_NONE 0

/*
 The times are those of virtual time.
 */
#define TACTUS_EVIDENCE_VIRTUAL 1

/*
 The times are those of the clock right before and after the call that handed the item over.
 */
#define TACTUS_EVIDENCE_CALL 2

/*
 The times are stamps of the kernel.
 */
#define TACTUS_EVIDENCE_KERNEL 3

/*
 The times are positions of the device's own clock, converted.
 */
#define TACTUS_EVIDENCE_DEVICE_CLOCK 4

/*
 The times of a receipt are not by the device's own clock.
 */
#define TACTUS_NO_CORRECTION INT32_MIN

/*
 The handle of a connection to the server.
 */
typedef uint64_t tactus_client;

/*
 A device of the server.
 */
struct tactus_device {
  /*
   Its name, with a NUL.
   */
  char name[65];
  /*
   What it takes: `TACTUS_MIDI`, `TACTUS_AUDIO`, `TACTUS_DMX`, `TACTUS_BYTES` or `TACTUS_FRAME`.
   */
  uint32_t format;
  /*
   The channels of `TACTUS_AUDIO`, the most bytes of `TACTUS_BYTES`; otherwise 0.
   */
  uint32_t size;
  /*
   How long before its time it must have an item, in nanoseconds.
   */
  int64_t lead_ns;
};

/*
 What belongs to an item; NULL for zeros.
 */
struct tactus_policy {
  /*
   What happens if it is late: `TACTUS_DELIVER`, `TACTUS_DROP` or `TACTUS_STOP`.
   */
  uint32_t if_late;
  /*
   The branch that it belongs to, for `tactus_cut`.
   */
  uint32_t branch;
  /*
   How late it may be, for `TACTUS_DROP` and `TACTUS_STOP`.
   */
  int64_t tolerance_ns;
};

/*
 What became of an item. Times are in nanoseconds of CLOCK_MONOTONIC.
 */
struct tactus_receipt {
  /*
   The number that `tactus_at` gave it.
   */
  uint64_t id;
  /*
   When it was due.
   */
  int64_t due_ns;
  /*
   When its delivery began; -1 if it did not.
   */
  int64_t began_ns;
  /*
   When its delivery had ended; -1 if it did not.
   */
  int64_t ended_ns;
  /*
   The stream.
   */
  uint32_t stream;
  /*
   What became of it: `TACTUS_DELIVERED` and so on.
   */
  uint32_t outcome;
  /*
   How far the times can be trusted: `TACTUS_EVIDENCE_CALL` and so on.
   */
  uint32_t evidence;
  /*
   How much faster than nominal the device's clock ran, in parts per billion;
   `TACTUS_NO_CORRECTION` if the times are not by that clock.
   */
  int32_t correction_ppb;
};

/*
 How early the items of the last minute arrived at the queues of their devices.
 */
struct tactus_slack {
  /*
   The items; 0: the rest is 0 too.
   */
  uint64_t items;
  /*
   Those that arrived too late to be delivered in time.
   */
  uint64_t late;
  /*
   99 % of the items had at least this slack, in nanoseconds.
   */
  int64_t p1_ns;
  /*
   The smallest slack.
   */
  int64_t least_ns;
  /*
   How long before its time an item should be passed to `tactus_at`.
   */
  int64_t lead_ns;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Connects to the delivery server at `socket`; NULL: the usual one. `name` is for people. `items`
 is how many items may be without a receipt that was read (0: 1024), `payload_bytes` the most
 bytes of an item (0: 64). Threads may share the connection.

 # Safety
 `client` may be written; `socket` and `name` are NULL or texts.
 */
int tactus_connect(tactus_client *client,
                   const char *socket,
                   const char *name,
                   uint32_t items,
                   uint32_t payload_bytes);

/*
 Ends a connection. Its items that wait are not delivered.
 */
int tactus_disconnect(tactus_client client);

/*
 Writes the device with this number, from 0 on. Returns 1, or 0 if there is none.

 # Safety
 `device` may be written.
 */
int tactus_device_at(tactus_client client, uint32_t number, struct tactus_device *device);

/*
 Opens a stream to a device.

 # Safety
 `stream` may be written; `device` is NULL or a text.
 */
int tactus_open(tactus_client client, const char *device, uint32_t *stream);

/*
 Closes a stream. Its items that wait are not delivered; each gets its receipt.
 */
int tactus_close(tactus_client client, uint32_t stream);

/*
 Submits an item that is due at `due_ns` of the monotonic clock. Never waits. `id`, which may be
 NULL, gets the number that comes back in its receipt.

 Returns 0, or: `-EAGAIN`, read receipts first; `-ERANGE`, it is due too far ahead, try later. An
 item that is refused gets no receipt.

 # Safety
 `data` may be read for `length` bytes; `policy` is NULL or a policy; `id` is NULL or may be
 written.
 */
int tactus_at(tactus_client client,
              uint32_t stream,
              int64_t due_ns,
              const void *data,
              size_t length,
              const struct tactus_policy *policy,
              uint64_t *id);

/*
 Cuts a branch: of the items that were submitted so far, none that is due at `at_ns` or later is
 delivered, in any stream; each gets its receipt.
 */
int tactus_cut(tactus_client client, uint32_t branch, int64_t at_ns);

/*
 Lets items of a stream be delivered again that a late item with `TACTUS_STOP` had stopped.
 */
int tactus_resume(tactus_client client, uint32_t stream);

/*
 Takes the next receipt; waits for it for `timeout_ns`; 0: not at all; `TACTUS_FOREVER`: without a
 limit. Other threads may use the connection meanwhile.

 Returns 1 with a receipt, 0 without, or `-EPIPE`: the server has ended, and every receipt was
 read.

 # Safety
 `receipt` may be written.
 */
int tactus_receipt_next(tactus_client client, struct tactus_receipt *receipt, int64_t timeout_ns);

/*
 Returns a descriptor for poll(2): after `tactus_receipt_next` has returned 0, it can be read when
 receipts may have come. It belongs to the connection.
 */
int tactus_pollfd(tactus_client client);

/*
 Writes how early the items of the last minute arrived, by the receipts that were read.

 # Safety
 `slack` may be written.
 */
int tactus_slack_of(tactus_client client, struct tactus_slack *slack);

/*
 Returns the monotonic clock, in nanoseconds: the clock of due times.
 */
int64_t tactus_now(void);

/*
 Returns why the last call of this thread that failed did, in a sentence, with the fix. The text
 is valid until the next call of this thread fails.
 */
const char *tactus_error(void);

/*
 Returns the word for an outcome, such as `delivered`.
 */
const char *tactus_outcome(uint32_t outcome);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TACTUS_H */
