#define _GNU_SOURCE
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "csched.h"
#include "harness.h"

enum { RING = 65536 };

static void memory_is_sealed_and_close_on_exec(void)
{
    int fd;
    uint64_t bytes;
    OK(memory_create("test", 8192, &fd));
    OK(memory_size(fd, &bytes));
    EQUAL(bytes, 8192);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CHECK(ftruncate(fd, 4096) < 0 && errno == EPERM);
    CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) < 0 && errno == EPERM); /* nor can its growing be stopped */
    struct stat state;
    OK(fstat(fd, &state));
    EQUAL(state.st_mode & 07777, 0400);
    OK(ftruncate(fd, 16384)); /* growing is what arenas do */
    close(fd);
    CHECK(memory_size(fd, &bytes) == CSCHED_ESYSTEM);
}

static void a_child_dies_by(int signal_number, void (*act)(void *), void *what)
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* the sanitizer's handler would report it instead */
        signal(SIGBUS, SIG_DFL);
        act(what);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    EQUAL(WTERMSIG(status), signal_number);
}

static void write_byte(void *at)
{
    *(volatile char *)at = 1;
}

static void read_byte(void *at)
{
    (void)*(volatile char *)at;
}

static void a_readonly_mapping_cannot_be_written(void)
{
    int fd, readonly;
    void *own, *other;
    OK(memory_create("test", 4096, &fd));
    OK(memory_readonly(fd, &readonly));
    OK(memory_map(fd, 4096, true, &own));
    OK(memory_map(readonly, 4096, false, &other));
    CHECK(fcntl(readonly, F_GETFD) & FD_CLOEXEC);
    memset(own, 5, 4096);
    EQUAL(*(char *)other, 5); /* it is the same memory */
    a_child_dies_by(SIGSEGV, write_byte, other);
    void *none;
    EQUAL(memory_map(readonly, 4096, true, &none), CSCHED_ESYSTEM); /* nor mapped anew for writing */
    CHECK(write(readonly, "x", 1) < 0);
    memory_unmap(own, 4096);
    memory_unmap(other, 4096);
    close(fd);
    close(readonly);
}

static void a_mapping_reaches_beyond_the_file_and_grows_with_it(void)
{
    int fd;
    void *base;
    OK(memory_create("test", 0, &fd));
    OK(memory_map(fd, 1 << 20, true, &base));
    a_child_dies_by(SIGBUS, read_byte, base);
    OK(ftruncate(fd, 4096));
    *(char *)base = 1;
    memory_unmap(base, 1 << 20);
    close(fd);
}

static void the_check_rejects_bad_headers(void)
{
    uint64_t bytes = segment_bytes(RING);
    segment_t *segment = aligned_alloc(64, (sizeof *segment + 63) & ~63u);
    memset(segment, 0, sizeof *segment);
    EQUAL(segment_check(segment, bytes), CSCHED_ECORRUPT); /* not formatted yet */
    segment_format(segment, 3, RING, 1 << 20, 2 << 20);
    OK(segment_check(segment, bytes));
    EQUAL(segment->index, 3);
    EQUAL(segment_check(segment, bytes - 1), CSCHED_ECORRUPT);
    EQUAL(segment_check(segment, 0), CSCHED_ECORRUPT);
    segment->magic++;
    EQUAL(segment_check(segment, bytes), CSCHED_ECORRUPT);
    segment->magic--;
    u32_store_relaxed(&segment->version, SEGMENT_VERSION + 1);
    EQUAL(segment_check(segment, bytes), CSCHED_ECORRUPT);
    u32_store_relaxed(&segment->version, SEGMENT_VERSION);
    static const uint64_t rings[] = {0, 2048, RING + 1, RING * 2, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
        segment->ring_bytes = rings[i];
        EQUAL(segment_check(segment, bytes), CSCHED_ECORRUPT);
    }
    EQUAL(segment_check(segment, UINT64_MAX), CSCHED_ECORRUPT);
    segment->ring_bytes = RING;
    static const uint64_t extents[] = {0, 1, 4095, (1 << 20) + 1, UINT64_C(1) << 47, UINT64_MAX, UINT64_MAX - 4095};
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        segment->arena_bytes = extents[i];
        EQUAL(segment_check(segment, bytes), CSCHED_ECORRUPT);
        segment->arena_bytes = 1 << 20;
        segment->file_bytes = extents[i];
        EQUAL(segment_check(segment, bytes), CSCHED_ECORRUPT);
        segment->file_bytes = 1 << 20;
    }
    OK(segment_check(segment, bytes));
    free(segment);
}

static void descriptors_pass(void)
{
    int pair[2], fd, got;
    uint32_t tag;
    OK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
    EQUAL(fd_receive(pair[1], &tag, &got), CSCHED_EAGAIN);
    OK(memory_create("test", 12345, &fd));
    OK(fd_send(pair[0], 77, fd));
    close(fd);
    OK(fd_receive(pair[1], &tag, &got));
    EQUAL(tag, 77);
    uint64_t bytes;
    OK(memory_size(got, &bytes));
    EQUAL(bytes, 12345);
    CHECK(fcntl(got, F_GETFD) & FD_CLOEXEC);
    close(got);
    OK(fd_send(pair[0], 5 | TAG_DROP, -1)); /* the tag alone */
    OK(fd_receive(pair[1], &tag, &got));
    EQUAL(tag, 5 | TAG_DROP);
    EQUAL(got, -1);
    close(pair[0]);
    EQUAL(fd_receive(pair[1], &tag, &got), CSCHED_ESTOPPED);
    EQUAL(fd_send(pair[1], 1, -1), CSCHED_ESYSTEM);
    close(pair[1]);
}

static void send_raw(int socket, const void *body, size_t bytes, const int *fds, size_t count)
{
    struct iovec vector = {.iov_base = (void *)(uintptr_t)body, .iov_len = bytes};
    _Alignas(struct cmsghdr) char space[CMSG_SPACE(4 * sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = space};
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    EQUAL(sendmsg(socket, &message, MSG_DONTWAIT), bytes);
}

/* Whatever came along is closed again: the next descriptor has the number that it would have had before. */
static void what_is_no_announcement_leaves_no_descriptor(void)
{
    int pair[2], got;
    uint32_t tag, tags[2] = {1, 2};
    OK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
    int fds[] = {pair[0], pair[0], pair[0]}, next = dup(pair[0]);
    close(next);
    static const size_t bytes[] = {2, sizeof tags, sizeof tag, sizeof tag}, counts[] = {1, 1, 2, 3};
    for (int i = 0; i < 4; i++) {
        send_raw(pair[0], tags, bytes[i], fds, counts[i]);
        EQUAL(fd_receive(pair[1], &tag, &got), CSCHED_ECORRUPT);
        EQUAL(got, -1);
        int now = dup(pair[0]);
        EQUAL(now, next);
        close(now);
    }
    close(pair[0]);
    close(pair[1]);
}

static void a_full_socket_is_an_error_not_a_wait(void)
{
    int pair[2], sent = 0, got;
    uint32_t tag;
    OK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
    while (sent < 100000 && fd_send(pair[0], (uint32_t)sent, pair[0]) == CSCHED_OK)
        sent++;
    CHECK(sent > 10 && sent < 100000);
    for (int i = 0; i < sent; i++) {
        OK(fd_receive(pair[1], &tag, &got));
        EQUAL(tag, i);
        close(got);
    }
    close(pair[0]);
    close(pair[1]);
}

static shared_u32 word;

static void *waker(void *argument)
{
    (void)argument;
    u32_exchange(&word, 1);
    futex_wake(&word);
    return NULL;
}

static void a_file_has_no_name_and_is_its_owners_alone(void)
{
    int fd;
    struct stat state;
    OK(file_create(&fd));
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    OK(fstat(fd, &state));
    EQUAL(state.st_mode & 07777, 0600);
    EQUAL(state.st_nlink, 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CHECK(linkat(AT_FDCWD, path, AT_FDCWD, "/var/tmp/cellmill-test", AT_SYMLINK_FOLLOW) < 0); /* nor gets one */
    close(fd);
}

static void futexes_wake_and_time_out(void)
{
    uint64_t begin = now_ns();
    futex_wait(&word, 1, UINT64_C(10000000000)); /* it differs: at once */
    CHECK(now_ns() - begin < UINT64_C(5000000000));
    futex_wait(&word, 0, 1000000);
    CHECK(now_ns() - begin >= 1000000);
    pthread_t thread;
    OK(pthread_create(&thread, NULL, waker, NULL));
    UNTIL((futex_wait(&word, 0, UINT64_C(10000000000)), u32_acquire(&word)));
    pthread_join(thread, NULL);
}

MAIN(TEST(memory_is_sealed_and_close_on_exec), TEST(a_readonly_mapping_cannot_be_written),
     TEST(a_mapping_reaches_beyond_the_file_and_grows_with_it), TEST(the_check_rejects_bad_headers),
     TEST(a_file_has_no_name_and_is_its_owners_alone), TEST(descriptors_pass),
     TEST(what_is_no_announcement_leaves_no_descriptor), TEST(a_full_socket_is_an_error_not_a_wait),
     TEST(futexes_wake_and_time_out))
