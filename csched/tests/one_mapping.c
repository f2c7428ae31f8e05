/* For the thread sanitizer, which follows addresses: kernel and worker in one process map the same memory twice, and a
 * race between two aliases would not be found. The linker replaces segment.c's functions by these (--wrap), so that all
 * mappings of one file in the process are one, with a count. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csched.h"
#include "segment.h"

int __wrap_memory_map(int fd, uint64_t bytes, int how, void **base);
int __wrap_memory_map_over(void *at, int fd, uint64_t bytes, int how);
void __wrap_memory_unmap(void *base, uint64_t bytes);

enum { MOST = 4096 };

static struct {
    ino_t inode;
    void *base;
    uint64_t bytes;
    unsigned users;
} mapped[MOST];
static struct {
    ino_t inode;
    void *at;
} laid[MOST]; /* over parts of those */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int map_writable(int fd, uint64_t bytes, int how, void **base)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int writable = open(path, O_RDWR | O_CLOEXEC); /* the kernel's descriptor of a worker's arena is read-only */
    if (writable < 0)
        return CSCHED_ESYSTEM;
    *base = mmap(*base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | how, writable, 0);
    close(writable);
    return *base == MAP_FAILED ? CSCHED_ESYSTEM : CSCHED_OK;
}

static int map_anew(int fd, uint64_t bytes, void **base)
{
    *base = NULL;
    return map_writable(fd, bytes, 0, base);
}

/* Two ends put the same file in the same place: the second time nothing changes. */
int __wrap_memory_map_over(void *at, int fd, uint64_t bytes, int how)
{
    (void)how;
    struct stat st;
    int rc = fstat(fd, &st) < 0 ? CSCHED_ESYSTEM : CSCHED_OK, spare = -1;
    bool there = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST; i++) {
        there |= laid[i].at == at && laid[i].inode == st.st_ino;
        if (!laid[i].at)
            spare = i;
    }
    if (!rc && !there) {
        rc = spare < 0 ? CSCHED_ENOMEM : map_writable(fd, bytes, MAP_FIXED, &at);
        laid[spare].at = rc ? NULL : at;
        laid[spare].inode = st.st_ino;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static void forget_laid(const uint8_t *base, uint64_t bytes)
{
    for (int i = 0; i < MOST; i++)
        if ((uint8_t *)laid[i].at >= base && (uint8_t *)laid[i].at < base + bytes)
            laid[i].at = NULL;
}

int __wrap_memory_map(int fd, uint64_t bytes, int how, void **base)
{
    (void)how;
    struct stat st;
    int rc = fstat(fd, &st) < 0 ? CSCHED_ESYSTEM : CSCHED_OK, spare = -1, found = -1;
    pthread_mutex_lock(&lock);
    for (int i = 0; !rc && i < MOST && found < 0; i++) {
        if (mapped[i].users && mapped[i].inode == st.st_ino)
            found = i;
        else if (!mapped[i].users && spare < 0)
            spare = i;
    }
    if (!rc && found < 0) {
        found = spare;
        rc = found < 0 ? CSCHED_ENOMEM : map_anew(fd, bytes, &mapped[found].base);
        mapped[found].inode = st.st_ino;
        mapped[found].bytes = bytes;
    }
    if (!rc) {
        mapped[found].users++;
        *base = mapped[found].base;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

void __wrap_memory_unmap(void *base, uint64_t bytes)
{
    (void)bytes;
    pthread_mutex_lock(&lock);
    for (int i = 0; base && i < MOST; i++)
        if (mapped[i].users && mapped[i].base == base && --mapped[i].users == 0) {
            munmap(base, mapped[i].bytes);
            forget_laid(base, mapped[i].bytes);
        }
    pthread_mutex_unlock(&lock);
}
