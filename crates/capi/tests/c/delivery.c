/* Items and receipts, and each function called wrongly: nothing crashes, and the text names the fix
 * or the fact. The server has the devices `one` and `two`, which take any bytes. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <tactus.h>

static int failures;

#define RETURNS(call, value)                                                                   \
    do {                                                                                       \
        long long got = (call);                                                                \
        if (got != (value)) {                                                                  \
            printf("%d: %s returned %lld: %s\n", __LINE__, #call, got, tactus_error());        \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

#define REFUSED(call, number, words)                                                           \
    do {                                                                                       \
        long long got = (call);                                                                \
        if (got != -(number) || !strstr(tactus_error(), words)) {                              \
            printf("%d: %s returned %lld: %s\n", __LINE__, #call, got, tactus_error());        \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

#define HOLDS(fact)                                                                            \
    do {                                                                                       \
        if (!(fact)) {                                                                         \
            printf("%d: not %s\n", __LINE__, #fact);                                           \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

#define SECOND 1000000000LL
#define ITEMS 200

static tactus_client client;

/* Reads the receipts of all items, while another thread submits them. */
static void *reads(void *unused)
{
    static char seen[ITEMS];
    struct tactus_receipt receipt;
    (void)unused;
    for (int count = 0; count < ITEMS; count++) {
        RETURNS(tactus_receipt_next(client, &receipt, 20 * SECOND), 1);
        HOLDS(receipt.id < ITEMS && !seen[receipt.id]++);
        HOLDS(receipt.outcome == TACTUS_DELIVERED && receipt.evidence == TACTUS_EVIDENCE_CALL);
        HOLDS(receipt.due_ns <= receipt.began_ns && receipt.began_ns <= receipt.ended_ns);
        HOLDS(receipt.correction_ppb == TACTUS_NO_CORRECTION);
    }
    return NULL;
}

static void exchange(uint32_t stream)
{
    pthread_t reader;
    uint64_t id;
    int64_t start = tactus_now() + SECOND / 20;
    pthread_create(&reader, NULL, reads, NULL);
    for (uint64_t next = 0; next < ITEMS; next++) {
        RETURNS(tactus_at(client, stream, start + (int64_t)next * 100000, "abc", 3, NULL, &id), 0);
        HOLDS(id == next);
    }
    pthread_join(reader, NULL);
}

static void policies(uint32_t stream)
{
    struct tactus_policy drop = {.if_late = TACTUS_DROP, .branch = 7, .tolerance_ns = 1000};
    struct tactus_policy stop = {.if_late = TACTUS_STOP};
    struct tactus_receipt receipt;
    struct pollfd bell = {.fd = tactus_pollfd(client), .events = POLLIN};

    RETURNS(tactus_receipt_next(client, &receipt, 0), 0);
    RETURNS(tactus_at(client, stream, tactus_now() - SECOND, "late", 4, &drop, NULL), 0);
    RETURNS(poll(&bell, 1, 20000), 1);
    RETURNS(tactus_receipt_next(client, &receipt, 20 * SECOND), 1);
    HOLDS(receipt.outcome == TACTUS_LATE && receipt.began_ns == -1 && receipt.ended_ns == -1);

    RETURNS(tactus_at(client, stream, tactus_now() + 2 * SECOND, "cut", 3, &drop, NULL), 0);
    RETURNS(tactus_cut(client, 7, 0), 0);
    RETURNS(tactus_receipt_next(client, &receipt, TACTUS_FOREVER), 1);
    HOLDS(!strcmp(tactus_outcome(receipt.outcome), "cut"));

    RETURNS(tactus_at(client, stream, tactus_now() - SECOND, NULL, 0, &stop, NULL), 0);
    RETURNS(tactus_receipt_next(client, &receipt, 20 * SECOND), 1);
    HOLDS(receipt.outcome == TACTUS_LATE);
    RETURNS(tactus_at(client, stream, tactus_now(), "a", 1, NULL, NULL), 0);
    RETURNS(tactus_receipt_next(client, &receipt, 20 * SECOND), 1);
    HOLDS(receipt.outcome == TACTUS_STOPPED);
    RETURNS(tactus_resume(client, stream), 0);
    RETURNS(tactus_at(client, stream, tactus_now() + 2 * SECOND, "a", 1, NULL, NULL), 0);
    RETURNS(tactus_close(client, stream), 0);
    RETURNS(tactus_receipt_next(client, &receipt, 20 * SECOND), 1);
    HOLDS(receipt.outcome == TACTUS_CLOSED);
}

static void mistakes(const char *socket)
{
    struct tactus_policy wrong = {.if_late = 9}, negative = {.if_late = TACTUS_DROP, .tolerance_ns = -1};
    struct tactus_receipt receipt;
    struct tactus_device device;
    tactus_client other;
    uint32_t stream;

    REFUSED(tactus_connect(NULL, socket, "c", 0, 0), EFAULT, "NULL");
    REFUSED(tactus_connect(&other, "/nonexistent", "c", 0, 0), ENOENT, "tactus streamd");
    HOLDS(other == 0);
    REFUSED(tactus_connect(&other, socket, NULL, 0, 0), EFAULT, "the name is NULL");
    REFUSED(tactus_connect(&other, socket, "two words", 0, 0), EACCES, "name");
    REFUSED(tactus_connect(&other, socket, "c", 1 << 30, 0), EACCES, "items");
    RETURNS(tactus_connect(&other, socket, "c", 2, 4), 0);

    REFUSED(tactus_open(other, "thre", &stream), ENODEV, "no device `thre`");
    REFUSED(tactus_open(other, "onee", &stream), ENODEV, "did you mean `one`");
    REFUSED(tactus_open(other, NULL, &stream), EFAULT, "the device is NULL");
    REFUSED(tactus_open(other, "one", NULL), EFAULT, "NULL");
    RETURNS(tactus_open(other, "one", &stream), 0);
    RETURNS(tactus_device_at(other, 2, &device), 0);
    REFUSED(tactus_device_at(other, 0, NULL), EFAULT, "NULL");

    int64_t soon = tactus_now() + SECOND;
    REFUSED(tactus_at(other, 77, soon, "a", 1, NULL, NULL), ENOENT, "no stream 77");
    REFUSED(tactus_at(other, stream, -1, "a", 1, NULL, NULL), EINVAL, "negative instant");
    REFUSED(tactus_at(other, stream, INT64_MAX, "a", 1, NULL, NULL), ERANGE, "further ahead");
    REFUSED(tactus_at(other, stream, soon, NULL, 1, NULL, NULL), EFAULT, "NULL");
    REFUSED(tactus_at(other, stream, soon, "a", SIZE_MAX, NULL, NULL), EMSGSIZE, "bytes");
    REFUSED(tactus_at(other, stream, soon, "abcde", 5, NULL, NULL), EMSGSIZE, "room for 4");
    REFUSED(tactus_at(other, stream, soon, "a", 1, &wrong, NULL), EINVAL, "if_late");
    REFUSED(tactus_at(other, stream, soon, "a", 1, &negative, NULL), EINVAL, "tolerance_ns");
    RETURNS(tactus_at(other, stream, soon, "a", 1, NULL, NULL), 0);
    RETURNS(tactus_at(other, stream, soon, "a", 1, NULL, NULL), 0);
    REFUSED(tactus_at(other, stream, soon, "a", 1, NULL, NULL), EAGAIN, "no receipt");

    REFUSED(tactus_cut(other, 0, -5), EINVAL, "negative instant");
    REFUSED(tactus_resume(other, 77), EINVAL, "no stream");
    REFUSED(tactus_close(other, 77), EINVAL, "no stream");
    REFUSED(tactus_receipt_next(other, NULL, 0), EFAULT, "NULL");
    RETURNS(tactus_receipt_next(other, &receipt, -7), 0);
    REFUSED(tactus_slack_of(other, NULL), EFAULT, "NULL");
    HOLDS(!strcmp(tactus_outcome(99), "no such outcome"));
    RETURNS(tactus_disconnect(other), 0);
    REFUSED(tactus_disconnect(other), EBADF, "closed");
    REFUSED(tactus_at(other, stream, soon, "a", 1, NULL, NULL), EBADF, "closed");
    REFUSED(tactus_pollfd(0), EBADF, "connection");
}

int main(int count, char **arguments)
{
    struct tactus_device device;
    struct tactus_slack slack;
    uint32_t stream;

    if (count != 2)
        return 2;
    RETURNS(tactus_connect(&client, arguments[1], "delivery.c", 0, 0), 0);
    RETURNS(tactus_device_at(client, 0, &device), 1);
    HOLDS(!strcmp(device.name, "one") && device.format == TACTUS_BYTES && device.size > 0);
    RETURNS(tactus_open(client, "one", &stream), 0);
    RETURNS(tactus_slack_of(client, &slack), 0);
    HOLDS(slack.items == 0);
    exchange(stream);
    RETURNS(tactus_slack_of(client, &slack), 0);
    HOLDS(slack.items == ITEMS && slack.late <= ITEMS && slack.lead_ns > 0);
    policies(stream);
    mistakes(arguments[1]);
    RETURNS(tactus_disconnect(client), 0);
    printf("%d failures\n", failures);
    return failures != 0;
}
