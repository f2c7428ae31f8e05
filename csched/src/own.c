#define _GNU_SOURCE
#include "own.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "csched.h"
#include "segment.h"

enum { ENTRIES = 512, MOST_APART = 16384 }; /* a process may have 65,530 mappings, with those of user code */

/* Entries of /proc/self/pagemap: present, swapped, and of a file (or shared). */
#define THERE (UINT64_C(3) << 62)
#define OF_FILE (UINT64_C(1) << 61)

int own_map(own_t *own, int fd, uint64_t bytes, void **base)
{
    if (memory_map(fd, bytes, MAP_COPIES, base) == CSCHED_OK)
        return CSCHED_OK;
    u32_store_relaxed(&own->reads, 1);
    return memory_map(fd, bytes, MAP_READS, base);
}

int own_map_over(own_t *own, void *at, int fd, uint64_t bytes)
{
    if (memory_map_over(at, fd, bytes, MAP_COPIES) == CSCHED_OK)
        return CSCHED_OK;
    u32_store_relaxed(&own->reads, 1);
    return memory_map_over(at, fd, bytes, MAP_READS);
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* -- what is held in place: linear probing, without a gap between an address and its home */

static uint64_t home_of(const own_t *own, uint64_t address)
{
    return (address / PAGE * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & (own->capacity - 1);
}

static uint64_t find(const own_t *own, uint64_t address)
{
    uint64_t at = home_of(own, address);
    while (own->of[at] && own->of[at] != address)
        at = (at + 1) & (own->capacity - 1);
    return at;
}

static int make_room(own_t *own)
{
    if (2 * (own->count + 1) <= own->capacity)
        return CSCHED_OK;
    own_t grown = *own;
    grown.capacity = own->capacity ? 2 * own->capacity : 64;
    grown.of = calloc(grown.capacity, sizeof *grown.of);
    if (!grown.of)
        return CSCHED_ENOMEM;
    for (uint64_t i = 0; i < own->capacity; i++)
        if (own->of[i])
            grown.of[find(&grown, own->of[i])] = own->of[i];
    free(own->of);
    own->of = grown.of;
    own->capacity = grown.capacity;
    return CSCHED_OK;
}

static void forget(own_t *own, uint64_t address)
{
    uint64_t mask = own->capacity - 1, hole = find(own, address);
    if (!own->of[hole])
        return;
    own->count--;
    for (uint64_t at = (hole + 1) & mask; own->of[at]; at = (at + 1) & mask)
        if (((at - home_of(own, own->of[at])) & mask) >= ((at - hole) & mask)) { /* its home is not behind the hole */
            own->of[hole] = own->of[at];
            hole = at;
        }
    own->of[hole] = 0;
}

/* -- */

int own_take(own_t *own, const place_t *place, uint64_t *mapped)
{
    if (own->left || place->address % PAGE || !place->size)
        return CSCHED_EINVAL;
    if (place->foreign && !u32_relaxed(&own->reads) && make_room(own) == CSCHED_OK) {
        uint64_t at = find(own, place->address);
        if (!own->of[at]) {
            own->of[at] = *mapped = place->address;
            own->count++;
            return CSCHED_OK;
        }
    }
    void *base;
    if (place->fd < 0 || own->apart >= MOST_APART)
        return CSCHED_EFULL;
    int rc = memory_map_part(place->fd, place->offset, round_up(place->size), &base);
    if (rc == CSCHED_OK) {
        own->apart++;
        *mapped = (uint64_t)(uintptr_t)base;
    }
    return rc;
}

static void drop(uint64_t from, uint64_t to)
{
    if (from < to)
        madvise((void *)(uintptr_t)from, to - from, MADV_DONTNEED); /* the file's pages are there again */
}

/* Drops written pages. Reading which ones these are takes a tenth of the time of mapping all of them again. */
static void drop_written(own_t *own, uint64_t at, uint64_t end)
{
    uint64_t entries[ENTRIES];
    if (!own->pagemap)
        own->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    while (at < end) {
        uint64_t pages = (end - at) / PAGE < ENTRIES ? (end - at) / PAGE : ENTRIES;
        size_t wanted = pages * sizeof *entries;
        if (own->pagemap < 0 || pread(own->pagemap, entries, wanted, (off_t)(at / PAGE * 8)) != (ssize_t)wanted) {
            drop(at, end);
            return;
        }
        uint64_t written = at;
        for (uint64_t i = 0; i < pages; i++, at += PAGE)
            if (!(entries[i] & THERE) || entries[i] & OF_FILE) {
                drop(written, at);
                written = at + PAGE;
            }
        drop(written, at);
    }
}

void own_drop(own_t *own, uint64_t address, uint64_t size, uint64_t mapped)
{
    if (own->left)
        return;
    if (mapped == address) {
        drop_written(own, address, address + round_up(size));
        forget(own, address);
    } else {
        memory_unmap((void *)(uintptr_t)mapped, round_up(size));
        own->apart--;
    }
}

void own_leave(own_t *own)
{
    own->left = true;
    if (own->pagemap > 0)
        close(own->pagemap);
    own->pagemap = -1;
}

void own_close(own_t *own)
{
    if (own->pagemap > 0)
        close(own->pagemap);
    free(own->of);
    *own = (own_t){.left = true, .pagemap = -1};
}
