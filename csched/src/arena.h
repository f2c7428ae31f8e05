/* Blocks within one mapping: two-level segregated fit, with coalescing, over a memfd or file that grows.
 *
 * Who may call at once: one thread (the kernel's arena: under the scheduler's lock).  Only the owner of the arena
 * writes it; readers see blocks through refs that travel on the rings.
 * What full means: CSCHED_EFULL; a block larger than the whole arena is CSCHED_ETOOBIG.
 * Memory without use: pages of blocks that stay free go back to the system (arena_trim); what is written there later finds
 * new ones.
 * What a killed owner leaves behind: blocks that others still read; the kernel keeps the mapping until the last
 * reference goes.  Repair: none; the next worker starts with a new arena.
 */
#ifndef CSCHED_ARENA_H
#define CSCHED_ARENA_H

#include "layout.h"

enum { ARENA_FIRST_SHIFT = 7, ARENA_CLASSES = 40, ARENA_SUBCLASSES = 8 };
enum { TRIM_MIN_SHIFT = 14, TRIM_MIN = 1 << TRIM_MIN_SHIFT, TRIM_AGE = 2 };

typedef struct {
    uint8_t *base;
    int fd;
    int (*grow)(int fd, uint64_t from, uint64_t to);
    uint64_t limit; /* reserved address space */
    uint64_t size;  /* of the file */
    uint64_t end;   /* blocks lie below it */
    uint64_t used;  /* bytes in blocks handed out */
    uint64_t last;  /* offset of the last block, or NO_BLOCK */
    uint64_t reused; /* no block beyond this offset was ever freed: its pages are new */
    uint64_t hot;    /* bytes with pages in free blocks of at least TRIM_MIN */
    uint32_t age;    /* how often arena_age was called */
    uint64_t first_map;
    uint8_t second_map[ARENA_CLASSES];
    uint64_t lists[ARENA_CLASSES][ARENA_SUBCLASSES]; /* heads of the free lists */
} arena_t;

/* `base`: where `limit` bytes of the file are mapped; `grow` extends the file. */
void arena_open(arena_t *arena, void *base, int fd, uint64_t limit, int (*grow)(int fd, uint64_t from, uint64_t to));
int arena_alloc(arena_t *arena, uint64_t size, uint64_t *offset); /* offset of the payload, 64-byte aligned */
int arena_free(arena_t *arena, uint64_t offset);                  /* CSCHED_EINVAL: not a block in use */

/* Gives back pages of blocks that stayed free for TRIM_AGE calls of arena_age, until at most `keep` bytes of free
 * blocks have pages. Returns the bytes given back, at most `most`. */
uint64_t arena_trim(arena_t *arena, uint64_t keep, uint64_t most);

static inline void arena_age(arena_t *arena)
{
    arena->age++;
}

static inline void *arena_at(const arena_t *arena, uint64_t offset)
{
    return arena->base + offset;
}

#endif
