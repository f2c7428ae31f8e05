/* Blocks within one mapping: two-level segregated fit, with coalescing, over a memfd or file that grows.
 *
 * Who may call at once: one thread (the kernel's arena: under the scheduler's lock).  Only the owner of the arena
 * writes it; readers see blocks through refs that travel on the rings.
 * What full means: CSCHED_EFULL; a block larger than the whole arena is CSCHED_ETOOBIG.
 * What a killed owner leaves behind: blocks that others still read; the kernel keeps the mapping until the last
 * reference goes.  Who repairs it: nobody; the next worker starts with a new arena.
 */
#ifndef CSCHED_ARENA_H
#define CSCHED_ARENA_H

#include "layout.h"

enum { ARENA_FIRST_SHIFT = 7, ARENA_CLASSES = 40, ARENA_SUBCLASSES = 8 };

typedef struct {
    uint8_t *base;
    int fd;
    int (*grow)(int fd, uint64_t from, uint64_t to);
    uint64_t limit; /* reserved address space */
    uint64_t size;  /* of the file */
    uint64_t end;   /* blocks lie below it */
    uint64_t used;  /* bytes in blocks handed out */
    uint64_t last;  /* offset of the last block, or NO_BLOCK */
    uint64_t reused; /* no block beyond it was ever freed: there each is the first at its place */
    uint64_t first_map;
    uint8_t second_map[ARENA_CLASSES];
    uint64_t lists[ARENA_CLASSES][ARENA_SUBCLASSES]; /* heads of the free lists */
} arena_t;

/* At `base`, where `limit` bytes of the file are mapped; `grow` makes the file longer. */
void arena_open(arena_t *arena, void *base, int fd, uint64_t limit, int (*grow)(int fd, uint64_t from, uint64_t to));
int arena_alloc(arena_t *arena, uint64_t size, uint64_t *offset); /* offset of the payload, 64-byte aligned */
int arena_free(arena_t *arena, uint64_t offset);                  /* CSCHED_EINVAL: not a block in use */

static inline void *arena_at(const arena_t *arena, uint64_t offset)
{
    return arena->base + offset;
}

#endif
