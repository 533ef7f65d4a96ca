/*
 * Reserves CPU time for this thread at the QoS manager, works a while, and prints the reply.
 *
 *     cc -o reserve reserve.c && ./reserve [SOCKET]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Sends a message with its NUL, and a descriptor with its first byte. */
static void send_call(int manager, const char *call, int descriptor)
{
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec bytes = {.iov_base = (void *)call, .iov_len = strlen(call) + 1};
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = control.space,
        .msg_controllen = sizeof control.space,
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    /* A message of this size is sent whole. */
    if (sendmsg(manager, &message, MSG_NOSIGNAL) != (ssize_t)bytes.iov_len)
        fail("sendmsg");
}

/* Receives a reply, up to its NUL. */
static void receive_reply(int manager, char *reply, size_t size)
{
    for (size_t length = 0; length < size; length++) {
        if (read(manager, reply + length, 1) != 1)
            fail("the manager has closed the connection");
        if (reply[length] == 0)
            return;
    }
    fprintf(stderr, "the reply is too long\n");
    exit(1);
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = argc > 1 ? argv[1] : "/run/tactus/qos.sock";
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int manager = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (manager < 0 || connect(manager, (struct sockaddr *)&address, sizeof address) < 0)
        fail(path);

    int thread = syscall(SYS_pidfd_open, gettid(), PIDFD_THREAD);
    if (thread < 0)
        fail("pidfd_open");
    send_call(manager,
              "{\"method\":\"org.tactus.qos.Reserve\",\"parameters\":{\"descriptor\":0,"
              "\"need\":{\"period\":10000000,\"cost_min\":100000,\"cost_max\":200000}}}",
              thread);
    char reply[65536];
    receive_reply(manager, reply, sizeof reply);
    puts(reply);
    if (strstr(reply, "\"error\""))
        return 1;

    for (int period = 0; period < 5; period++) /* The periodic work. */
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    /* The reserve ends with the connection. */
    return 0;
}
