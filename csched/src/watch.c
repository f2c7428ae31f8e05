/* A worker's watch thread: maps regions as they are announced, and ends the process when the kernel dies. It never
 * takes the GIL, so user code cannot delay either. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "segment.h"
#include "worker.h"

#define FILE_MAPPED UINT64_C(1)
enum { REGION_WAIT_NS = 1000000, REGION_TRIES = 5000, MOST_BELOW = 4096, FOLDERS_OPEN = 16 };
#define TRIM_NS UINT64_C(1000000000)

static shared_u64 *region_page(csched_worker_t *w, uint32_t region)
{
    if (region / REGION_PAGE >= REGION_PAGES)
        return NULL;
    return atomic_load_explicit(&w->regions[region / REGION_PAGE], memory_order_acquire); /* partner: map_region */
}

/* Twice: copy on write, and as it is, for the second holders of a payload (see own.h). */
static void map_region(csched_worker_t *w, uint32_t region, int fd)
{
    void *base, *sent;
    shared_u64 *page = region_page(w, region);
    uint64_t bytes = worker_region_bytes(w);
    FAULT(w, region_heard);
    if (!page && region / REGION_PAGE < REGION_PAGES && (page = calloc(2 * REGION_PAGE, sizeof *page)))
        atomic_store_explicit(&w->regions[region / REGION_PAGE], page, memory_order_release); /* region_page */
    if (page && memory_map(fd, bytes, MAP_READS, &sent) == CSCHED_OK) {
        if (own_map(&w->own, fd, bytes, &base) == CSCHED_OK) {
            u64_store_relaxed(&page[REGION_PAGE + region % REGION_PAGE], (uint64_t)(uintptr_t)sent);
            u64_store_release(&page[region % REGION_PAGE], (uint64_t)(uintptr_t)base); /* partner: worker_region */
        } else
            memory_unmap(sent, bytes);
    }
    FAULT(w, region_mapped);
    close(fd);
}

static void map_file(csched_worker_t *w, uint32_t region, int fd)
{
    shared_u64 *page = region_page(w, region);
    uint64_t base = page ? u64_relaxed(&page[region % REGION_PAGE]) : 0;
    uint64_t sent = page ? u64_relaxed(&page[REGION_PAGE + region % REGION_PAGE]) : 0;
    uint64_t at = w->heap.memory.limit, bytes = w->heap.file_bytes;
    bool there = base & FILE_MAPPED; /* already mapped; its private pages are kept */
    if (base && !there && memory_map_over((uint8_t *)(uintptr_t)sent + at, fd, bytes, MAP_READS) == CSCHED_OK &&
        own_map_over(&w->own, (uint8_t *)(uintptr_t)base + at, fd, bytes) == CSCHED_OK)
        u64_store_release(&page[region % REGION_PAGE], base | FILE_MAPPED); /* partner: worker_region */
    FAULT(w, file_mapped);
    close(fd);
}

static void drop_region(csched_worker_t *w, uint32_t region)
{
    shared_u64 *page = region_page(w, region);
    uint64_t base = page ? u64_relaxed(&page[region % REGION_PAGE]) : 0;
    if (!base)
        return;
    u64_store_relaxed(&page[region % REGION_PAGE], 0); /* numbers are not reused, so it is not asked for again */
    memory_unmap((void *)(uintptr_t)(base & ~FILE_MAPPED), worker_region_bytes(w));
    memory_unmap((void *)(uintptr_t)u64_relaxed(&page[REGION_PAGE + region % REGION_PAGE]), worker_region_bytes(w));
}

/* Where what was sent is seen that is at an address of a region, in whose place its holder may have written. */
static uint64_t as_sent(csched_worker_t *w, uint64_t address)
{
    for (uint32_t i = 0; i < REGION_PAGES; i++) {
        shared_u64 *page = region_page(w, i * REGION_PAGE);
        for (uint32_t j = 0; page && j < REGION_PAGE; j++) {
            uint64_t base = u64_acquire(&page[j]) & ~FILE_MAPPED; /* partner: map_region */
            if (base && address - base < worker_region_bytes(w))
                return u64_relaxed(&page[REGION_PAGE + j]) + (address - base);
        }
    }
    return address;
}

CSCHED_EXPORT int csched_worker_own(csched_worker_t *w, uint64_t address, uint64_t size, uint64_t *mapped)
{
    /* No fd: a worker keeps no descriptor of other processes' memory, which a task could map writable. */
    place_t place = {.address = address, .size = size, .fd = -1, .foreign = true};
    int rc = own_take(&w->own, &place, mapped);
    if (rc < 0)
        *mapped = as_sent(w, address);
    return rc;
}

CSCHED_EXPORT int csched_worker_disown(csched_worker_t *w, uint64_t address, uint64_t size, char *mapped)
{
    own_drop(&w->own, address, size, (uint64_t)(uintptr_t)mapped);
    return CSCHED_OK;
}

static void hear(csched_worker_t *w, uint32_t tag, int fd)
{
    if (tag & TAG_PROFILE)
        return; /* it has woken this thread, which looks at the word itself */
    if (tag & TAG_DROP)
        drop_region(w, tag & ~TAG_DROP);
    else if (tag & TAG_FILE && fd >= 0)
        map_file(w, tag & ~TAG_FILE, fd);
    else if (fd >= 0) /* else this process has too many descriptors: tasks that need the region will fail */
        map_region(w, tag, fd);
}

/* The announcement precedes any ref to the region: it is mapped, or about to be. */
uint8_t *worker_region(csched_worker_t *w, uint32_t region, uint64_t offset)
{
    uint64_t wanted = offset < w->heap.memory.limit ? 0 : FILE_MAPPED;
    for (int tries = 0; tries < REGION_TRIES; tries++) {
        shared_u64 *page = region_page(w, region);
        uint64_t base = page ? u64_acquire(&page[region % REGION_PAGE]) : 0; /* partner: map_region */
        if (base && (base & FILE_MAPPED) >= wanted)
            return (uint8_t *)(uintptr_t)(base & ~FILE_MAPPED);
        struct timespec pause = {.tv_nsec = REGION_WAIT_NS};
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static pid_t parent_of(pid_t pid)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC), parent = 0;
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    const char *name_end = strrchr(text, ')'); /* a program's name may contain parentheses */
    return name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Kills all descendants of this process; returns how many were found. */
static int kill_below(void)
{
    pid_t found[MOST_BELOW], self = getpid();
    int count = 0;
    DIR *all = opendir("/proc");
    for (struct dirent *entry; all && count < MOST_BELOW && (entry = readdir(all));) {
        pid_t pid = atoi(entry->d_name), above = pid > 0 ? parent_of(pid) : 0;
        while (above > 1 && above != self)
            above = parent_of(above);
        if (above == self)
            found[count++] = pid;
    }
    if (all)
        closedir(all);
    for (int i = 0; i < count; i++) /* after all were found: children of a dead process lose their parent */
        kill(found[i], SIGKILL);
    return count;
}

static void kill_all_below(void)
{
    for (int i = 0; i < 3 && kill_below(); i++) /* again: they may have started others meanwhile */
        continue;
}

/* Ends this process and its descendants; the zygote does so too, unless it died before. */
static void die(void)
{
    kill_all_below();
    if (getpgrp() == getpid())
        kill(0, SIGKILL); /* and processes in this group */
    _exit(1);
}

static void *watch_main(void *argument)
{
    csched_worker_t *w = argument;
    struct pollfd watched[] = {{.fd = w->kernel, .events = POLLIN},
                               {.fd = w->control, .events = POLLIN},
                               {.fd = w->watch_pipe[0], .events = POLLIN}};
    uint64_t next_trim = now_ns() + TRIM_NS;
    while (!u32_acquire(&w->watch_stop)) { /* partner: csched_worker_detach */
        worker_sample(w);
        if (poll(watched, 3, (int)(worker_send(w) / 1000000)) < 0)
            continue;
        if (watched[0].revents)
            die();
        uint32_t tag;
        int fd, rc = watched[1].revents ? fd_receive(w->control, &tag, &fd) : CSCHED_EAGAIN;
        if (rc == CSCHED_OK)
            hear(w, tag, fd);
        else if (rc != CSCHED_EAGAIN)
            watched[1].fd = -1; /* the kernel has released this worker, which ends by its ring or a signal */
        if (now_ns() >= next_trim) {
            worker_trim(w);
            next_trim = now_ns() + TRIM_NS;
        }
    }
    return NULL;
}

/* Starts a thread that takes no signals: these belong to Python's main thread. */
static int start_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? CSCHED_ESYSTEM : CSCHED_OK;
}

CSCHED_EXPORT int csched_worker_watch(csched_worker_t *w, int kernel_pidfd)
{
    w->kernel = kernel_pidfd;
    if (pipe2(w->watch_pipe, O_CLOEXEC) < 0)
        return CSCHED_ESYSTEM;
    int rc = start_thread(&w->watch, watch_main, w);
    w->watched = rc == CSCHED_OK;
    return rc;
}

typedef struct {
    int pidfd;
    uint64_t grace_ns;
    char folder[];
} end_t;

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about, (void)kind, (void)place;
    remove(path);
    return 0;
}

static void *end_main(void *argument)
{
    end_t *e = argument;
    struct pollfd watched = {.fd = e->pidfd, .events = POLLIN};
    while (poll(&watched, 1, -1) < 0 && errno == EINTR)
        continue;
    struct timespec grace = {.tv_sec = (time_t)(e->grace_ns / 1000000000), .tv_nsec = (long)(e->grace_ns % 1000000000)};
    nanosleep(&grace, NULL);
    kill_all_below(); /* they may write there */
    if (e->folder[0])
        nftw(e->folder, remove_entry, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS);
    die();
    return NULL;
}

CSCHED_EXPORT int csched_end_with(int pidfd, uint64_t grace_ns, const char *folder)
{
    pthread_t thread;
    end_t *e = malloc(sizeof *e + strlen(folder) + 1);
    if (!e)
        return CSCHED_ENOMEM;
    e->pidfd = pidfd;
    e->grace_ns = grace_ns;
    strcpy(e->folder, folder);
    if (start_thread(&thread, end_main, e) != CSCHED_OK) {
        free(e);
        return CSCHED_ESYSTEM;
    }
    pthread_detach(thread);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_worker_detach(csched_worker_t *w)
{
    FAULT(w, retired);
    u32_store_release(&w->watch_stop, 1); /* partner: watch_main */
    if (w->watched && write(w->watch_pipe[1], "", 1) == 1)
        pthread_join(w->watch, NULL);
    FAULT(w, detached);
    for (uint32_t i = 0; i < REGION_PAGES; i++) {
        shared_u64 *page = w->regions[i];
        for (uint32_t j = 0; page && j < REGION_PAGE; j++)
            drop_region(w, i * REGION_PAGE + j);
        free(page);
    }
    heap_close(&w->heap);
    own_close(&w->own);
    memory_unmap(w->segment, w->segment_bytes);
    for (int i = 0; i < 2; i++)
        if (w->watch_pipe[i] >= 0)
            close(w->watch_pipe[i]);
    close(w->doorbell);
    close(w->control);
    if (w->kernel >= 0)
        close(w->kernel);
    pthread_mutex_destroy(&w->heap_lock);
    free(w);
    return CSCHED_OK;
}
