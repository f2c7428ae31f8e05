/* The rings without records, claims and journeys: how fast could messages travel at all?  For benchmarks. */
#include <stddef.h>
#include <string.h>

#include "csched_lab.h"
#include "ring.h"

enum { SPINS = 200 }; /* looks at an empty ring, about a microsecond, before the caller decides what to do */

_Static_assert(sizeof(csched_bare_t) == sizeof(ring_t), "the public struct holds a ring");
_Static_assert(offsetof(csched_bare_t, peeked) == offsetof(ring_t, peeked), "the public struct holds a ring");

static ring_t *ring_of(csched_bare_t *bare)
{
    return (ring_t *)(void *)bare;
}

CSCHED_EXPORT int csched_bare_open(void *memory, uint64_t bytes, csched_bare_t *bare)
{
    if (!memory || (uintptr_t)memory % LINE || bytes < 2 * sizeof(ring_ends_t))
        return CSCHED_EINVAL;
    uint64_t capacity = LINE;
    while (2 * capacity <= bytes - sizeof(ring_ends_t))
        capacity *= 2;
    ring_open(ring_of(bare), memory, (uint8_t *)memory + sizeof(ring_ends_t), capacity);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_bare_put(csched_bare_t *bare, const void *data, uint64_t size)
{
    entry_t *entry;
    int rc = ring_reserve(ring_of(bare), sizeof *entry + size, &entry);
    if (rc < 0)
        return rc;
    entry->kind = ENTRY_MESSAGE;
    memcpy(entry + 1, data, size);
    ring_commit(ring_of(bare));
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_bare_take(csched_bare_t *bare, void *data, uint64_t room)
{
    ring_t *ring = ring_of(bare);
    for (int i = 0; i < SPINS && ring_empty(ring); i++)
        cpu_relax();
    entry_t *entry;
    int rc = ring_peek(ring, &entry);
    if (rc <= 0)
        return rc < 0 ? rc : CSCHED_EAGAIN;
    uint64_t size = ring->peeked - sizeof *entry; /* padding included: a pickle knows where it ends */
    memcpy(data, entry + 1, size < room ? size : room);
    ring_advance(ring);
    return 1;
}
