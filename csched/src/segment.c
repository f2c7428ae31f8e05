#define _GNU_SOURCE
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "csched.h"
#include "machine.h"

int memory_create(const char *label, uint64_t bytes, int *fd)
{
    int made = memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0)
        return CSCHED_ESYSTEM;
    /* Its descriptors are handed over; it is not opened anew for writing, nor changes what is sealed.  No seal against
     * writes: the owner puts what is new by pwrite (heap_fill). */
    if ((bytes && ftruncate(made, (off_t)bytes) < 0) || fchmod(made, S_IRUSR) < 0 ||
        fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) < 0) {
        close(made);
        return CSCHED_ESYSTEM;
    }
    *fd = made;
    return CSCHED_OK;
}

int memory_readonly(int fd, int *readonly)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    *readonly = open(path, O_RDONLY | O_CLOEXEC);
    return *readonly < 0 ? CSCHED_ESYSTEM : CSCHED_OK;
}

static void *map(void *at, int fd, uint64_t from, uint64_t bytes, int how, int flags)
{
    int protection = how == MAP_READS ? PROT_READ : PROT_READ | PROT_WRITE;
    flags |= MAP_NORESERVE | (how == MAP_COPIES ? MAP_PRIVATE : MAP_SHARED);
    return mmap(at, bytes, protection, flags, fd, (off_t)from);
}

int memory_map(int fd, uint64_t bytes, int how, void **base)
{
    void *at = map(NULL, fd, 0, bytes, how, 0);
    if (at == MAP_FAILED)
        return CSCHED_ESYSTEM;
    *base = at;
    return CSCHED_OK;
}

int memory_map_over(void *at, int fd, uint64_t bytes, int how)
{
    return map(at, fd, 0, bytes, how, MAP_FIXED) == MAP_FAILED ? CSCHED_ESYSTEM : CSCHED_OK;
}

int memory_map_part(int fd, uint64_t from, uint64_t bytes, void **base)
{
    void *at = map(NULL, fd, from, bytes, MAP_COPIES, 0);
    if (at == MAP_FAILED)
        return CSCHED_ESYSTEM;
    *base = at;
    return CSCHED_OK;
}

int memory_map_private(void *at, int fd, uint64_t bytes)
{
    void *there = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, fd, 0);
    return there == MAP_FAILED ? CSCHED_ESYSTEM : CSCHED_OK;
}

int memory_copy_private(void *at, uint64_t bytes)
{
    void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return CSCHED_ESYSTEM;
    memcpy(copy, at, bytes);
    if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED)
        return CSCHED_OK;
    munmap(copy, bytes);
    return CSCHED_ESYSTEM;
}

void memory_unmap(void *base, uint64_t bytes)
{
    if (base)
        munmap(base, bytes);
}

int memory_size(int fd, uint64_t *bytes)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return CSCHED_ESYSTEM;
    *bytes = (uint64_t)st.st_size;
    return CSCHED_OK;
}

int memory_grow(int fd, uint64_t from, uint64_t to)
{
    if (machine_left() < to - from)
        return CSCHED_EFULL;
    return ftruncate(fd, (off_t)to) < 0 ? CSCHED_ESYSTEM : CSCHED_OK;
}

static int file_in(const char *directory)
{
    char path[4096];
    int fd = open(directory, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600); /* EXCL: it can never get a name */
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    if (snprintf(path, sizeof path, "%s/cellmill-XXXXXX", directory) >= (int)sizeof path)
        return -1;
    fd = mkostemp(path, O_CLOEXEC); /* a file system without unnamed files */
    if (fd >= 0)
        unlink(path);
    return fd;
}

int file_create(int *fd)
{
    const char *chosen = getenv("TMPDIR");
    const char *directories[] = {chosen && *chosen ? chosen : "/var/tmp", "/var/tmp", "/tmp"};
    for (int i = 0; i < 3; i++)
        if ((*fd = file_in(directories[i])) >= 0)
            return CSCHED_OK;
    return CSCHED_EDISK;
}

int file_grow(int fd, uint64_t from, uint64_t to)
{
    struct statvfs disk;
    if (fstatvfs(fd, &disk) == 0 && to - from > disk.f_bavail * disk.f_frsize)
        return CSCHED_EDISK; /* fails at once, before other processes meet a full disk */
    int error;
    do {
        error = posix_fallocate(fd, (off_t)from, (off_t)(to - from)); /* or writing to it would be a SIGBUS */
    } while (error == EINTR);
    if (error && ftruncate(fd, (off_t)from) < 0)
        return CSCHED_ESYSTEM; /* the space taken before the failure stays taken */
    return error ? CSCHED_EDISK : CSCHED_OK;
}

uint64_t segment_bytes(uint64_t ring_bytes)
{
    return SEGMENT_HEADER_BYTES + 2 * ring_bytes;
}

void segment_format(segment_t *segment, uint32_t index, uint64_t ring_bytes, uint64_t arena_bytes, uint64_t file_bytes)
{
    segment->magic = SEGMENT_MAGIC;
    segment->index = index;
    segment->ring_bytes = ring_bytes;
    segment->arena_bytes = arena_bytes;
    segment->file_bytes = file_bytes;
    u32_store_release(&segment->version, SEGMENT_VERSION); /* partner: segment_check */
}

/* Whole pages, and the sum of two extents does not overflow the address space. */
static bool extent_fits(uint64_t bytes)
{
    return bytes && bytes % 4096 == 0 && bytes <= UINT64_C(1) << 46;
}

int segment_check(const segment_t *segment, uint64_t file_bytes)
{
    if (file_bytes < SEGMENT_HEADER_BYTES || u32_acquire(&segment->version) != SEGMENT_VERSION ||
        segment->magic != SEGMENT_MAGIC)
        return CSCHED_ECORRUPT;
    uint64_t ring = segment->ring_bytes;
    if (ring < 4096 || ring > file_bytes / 2 || (ring & (ring - 1)) || file_bytes < segment_bytes(ring))
        return CSCHED_ECORRUPT;
    if (!extent_fits(segment->arena_bytes) || !extent_fits(segment->file_bytes))
        return CSCHED_ECORRUPT;
    return CSCHED_OK;
}

bool output_turn(segment_t *segment, uint32_t who, bool take)
{
    shared_u32 *turn = &segment->output_turn;
    if (!take) {
        u32_cas(turn, who, TURN_FREE);
        return false;
    }
    return u32_relaxed(turn) == who || u32_cas(turn, TURN_FREE, who);
}

int fd_send(int socket, uint32_t tag, int fd)
{
    struct iovec body = {.iov_base = &tag, .iov_len = sizeof tag};
    char space[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    if (fd >= 0) {
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    } else {
        message.msg_control = NULL;
        message.msg_controllen = 0;
    }
    ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent == (ssize_t)sizeof tag ? CSCHED_OK : CSCHED_ESYSTEM;
}

int fd_receive(int socket, uint32_t *tag, int *fd)
{
    struct iovec body = {.iov_base = tag, .iov_len = sizeof *tag};
    _Alignas(struct cmsghdr) char space[CMSG_LEN(sizeof(int))] = {0}; /* not CMSG_SPACE: two would fit into it */
    struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got == 0)
        return CSCHED_ESTOPPED;
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? CSCHED_EAGAIN : CSCHED_ESYSTEM;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *fd = -1;
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
    if (got == (ssize_t)sizeof *tag && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return CSCHED_OK;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return CSCHED_ECORRUPT;
}

void futex_wait(shared_u32 *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec limit = {.tv_sec = (time_t)(timeout_ns / 1000000000u), .tv_nsec = (long)(timeout_ns % 1000000000u)};
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT, expected, &limit, NULL, 0);
}

void futex_wake(shared_u32 *word)
{
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
