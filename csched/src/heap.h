/* Payload blocks of one process: an arena in memory and, for what it cannot hold, one in an unnamed file.
 *
 * Both lie in one range of addresses, the file's behind the memory's, so that an offset tells which it is.
 * Who may call at once: as for each arena, one thread.
 * What full means: CSCHED_EFULL or CSCHED_ETOOBIG of heap_alloc: there is heap_spill.  CSCHED_EDISK: no room on disk.
 * What a killed owner leaves behind: as with arenas; the file goes with its last descriptor.
 */
#ifndef CSCHED_HEAP_H
#define CSCHED_HEAP_H

#include "arena.h"

enum { FILL_MIN = 65536 }; /* bytes; copying less is faster than a system call */

typedef struct {
    arena_t memory, file; /* file.fd is -1 until the first spill */
    uint64_t file_bytes;  /* size of its address range */
} heap_t;

int heap_open(heap_t *heap, int fd, uint64_t memory_bytes, uint64_t file_bytes); /* takes the descriptor over */
void heap_close(heap_t *heap);
void heap_leave(heap_t *heap); /* in a forked child: existing blocks stay readable, writes are private */
int heap_alloc(heap_t *heap, uint64_t size, uint64_t *offset); /* in memory */
int heap_spill(heap_t *heap, uint64_t size, uint64_t *offset); /* in the file */
int heap_free(heap_t *heap, uint64_t offset); /* the file's disk space is freed with its last block */

/* Copies into a block, from `fresh` on by pwrite: writing new pages through the mapping faults on each and takes twice
 * the time. */
void heap_fill(const heap_t *heap, uint64_t fresh, uint64_t at, const void *data, uint64_t size);

/* Offset from which on pages are new; all of the file counts as new. */
static inline uint64_t heap_fresh(const heap_t *heap)
{
    return heap->memory.reused;
}

static inline void *heap_at(const heap_t *heap, uint64_t offset)
{
    return heap->memory.base + offset;
}

#endif
