#include "ring.h"

#include "csched.h"

void ring_open(ring_t *ring, ring_ends_t *ends, void *data, uint64_t capacity)
{
    *ring = (ring_t){.ends = ends, .data = data, .capacity = capacity};
}

/* Free bytes; reads the consumer's head again if fewer than `wanted` seem to be free. */
static int free_bytes(ring_t *ring, uint64_t wanted, uint64_t *available)
{
    uint64_t used = ring->position - ring->other;
    if (used > ring->capacity || ring->capacity - used < wanted) {
        ring->other = u64_acquire(&ring->ends->head); /* partner: ring_advance */
        used = ring->position - ring->other;
        if (used > ring->capacity)
            return CSCHED_ECORRUPT;
    }
    *available = ring->capacity - used;
    return CSCHED_OK;
}

int ring_reserve(ring_t *ring, uint64_t bytes, entry_t **entry)
{
    if (bytes > ring_largest(ring)) /* before it is rounded up, which makes the largest numbers 0 */
        return CSCHED_ETOOBIG;
    bytes = (bytes + ENTRY_ALIGN - 1) & ~(uint64_t)(ENTRY_ALIGN - 1);
    uint64_t at = ring->position & (ring->capacity - 1);
    uint64_t to_end = ring->capacity - at;
    uint64_t padding = to_end < bytes ? to_end : 0;
    uint64_t available;
    int rc = free_bytes(ring, bytes + padding, &available);
    if (rc < 0)
        return rc;
    if (available < bytes + padding)
        return CSCHED_EFULL;
    if (padding) {
        entry_t *pad = (entry_t *)(ring->data + at);
        pad->bytes = (uint32_t)padding;
        pad->kind = ENTRY_PAD;
        at = 0;
    }
    ring->reserved = bytes + padding;
    *entry = (entry_t *)(ring->data + at);
    (*entry)->bytes = (uint32_t)bytes;
    return CSCHED_OK;
}

void ring_commit(ring_t *ring)
{
    ring->position += ring->reserved;
    ring->reserved = 0;
    u64_store_release(&ring->ends->tail, ring->position); /* partner: ring_peek */
}

bool ring_empty(ring_t *ring)
{
    if (ring->other == ring->position)
        ring->other = u64_acquire(&ring->ends->tail); /* partner: ring_commit */
    return ring->other == ring->position;
}

bool ring_has_more(ring_t *ring)
{
    uint64_t next = ring->position + ring->peeked;
    if (ring->other == next)
        ring->other = u64_acquire(&ring->ends->tail); /* partner: ring_commit */
    return ring->other != next;
}

int ring_peek(ring_t *ring, entry_t **entry)
{
    for (;;) {
        if (ring_empty(ring))
            return 0;
        uint64_t filled = ring->other - ring->position;
        uint64_t at = ring->position & (ring->capacity - 1);
        uint64_t limit = ring->capacity - at < filled ? ring->capacity - at : filled;
        entry_t *found = (entry_t *)(ring->data + at);
        if (filled > ring->capacity || limit < sizeof(entry_t))
            return CSCHED_ECORRUPT;
        uint32_t bytes = *(const volatile uint32_t *)&found->bytes; /* read once: checked here, used by advance */
        if (bytes < sizeof(entry_t) || bytes > limit || bytes % ENTRY_ALIGN)
            return CSCHED_ECORRUPT;
        ring->peeked = bytes;
        if (found->kind != ENTRY_PAD) {
            *entry = found;
            return 1;
        }
        if (at + bytes != ring->capacity || bytes >= ring_largest(ring))
            return CSCHED_ECORRUPT; /* padding must end at the ring's start, or this could loop for ever */
        ring_advance(ring);
    }
}

void ring_advance(ring_t *ring)
{
    ring->position += ring->peeked;
    u64_store_release(&ring->ends->head, ring->position); /* partner: free_bytes */
}
