/* A byte ring of entries, one producer and one consumer, in shared memory.
 *
 * Who may call at once: one producer thread and one consumer thread; each side keeps its own position in private
 * memory, so that a corrupted peer can stop the ring but never make this side read or write outside it.
 * What full means: ring_reserve returns CSCHED_EFULL and nothing has changed.
 * What a killed producer leaves behind: at most a reserved entry beyond the tail, which is not seen.
 * What a killed consumer leaves behind: entries between head and tail; the kernel knows them from its own list.
 * Repair: none; the kernel makes a new segment for the next worker.
 */
#ifndef CSCHED_RING_H
#define CSCHED_RING_H

#include <stddef.h>

#include "layout.h"

typedef struct {
    ring_ends_t *ends;
    uint8_t *data;
    uint64_t capacity; /* a power of two */
    uint64_t position; /* of this side */
    uint64_t other;    /* position of the other side, as last read */
    uint64_t reserved; /* producer: bytes of the open reservation, padding included */
    uint32_t peeked;   /* consumer: checked length of the oldest entry, which the peer could change afterwards */
} ring_t;

void ring_open(ring_t *ring, ring_ends_t *ends, void *data, uint64_t capacity);

/* Producer.  The largest entry is a quarter of the capacity. */
int ring_reserve(ring_t *ring, uint64_t bytes, entry_t **entry);
void ring_commit(ring_t *ring);

/* Consumer.  Peek: 1 and the oldest entry (validated: it is within the ring), 0 when empty, or CSCHED_ECORRUPT. */
int ring_peek(ring_t *ring, entry_t **entry);
void ring_advance(ring_t *ring); /* past the peeked entry */
bool ring_empty(ring_t *ring);
bool ring_has_more(ring_t *ring); /* behind the peeked entry */

static inline uint64_t ring_largest(const ring_t *ring)
{
    return ring->capacity / 4;
}

#endif
