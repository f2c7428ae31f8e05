/* The byte ring against a peer that writes anything: positions, lengths, kinds. */
#include "csched.h"
#include "fuzz.h"
#include "ring.h"

enum { CAPACITY = 1024, STEPS = 400 };

static void produce(ring_t *ring, input_t *in)
{
    entry_t *entry;
    uint64_t bytes = number(in);
    if (ring_reserve(ring, bytes, &entry) < 0)
        return;
    HOLDS((uint8_t *)entry >= ring->data && entry->bytes >= bytes);
    HOLDS((uint8_t *)entry + entry->bytes <= ring->data + ring->capacity);
    if (bytes < sizeof *entry)
        return; /* a reservation that is given up */
    memset(entry + 1, 0x5a, entry->bytes - sizeof *entry);
    entry->kind = ENTRY_TASK;
    ring_commit(ring);
}

static void consume(ring_t *ring, input_t *in)
{
    entry_t *entry;
    uint64_t before = ring->position;
    if (ring_peek(ring, &entry) != 1)
        return;
    uint32_t bytes = ring->peeked;
    HOLDS((uint8_t *)entry >= ring->data && (uintptr_t)entry % ENTRY_ALIGN == 0 && bytes >= sizeof *entry);
    HOLDS((uint8_t *)entry + bytes <= ring->data + ring->capacity);
    touch((uint64_t)(uintptr_t)entry, bytes);
    ring_has_more(ring);
    entry->bytes ^= (uint32_t)number(in); /* what was checked is what counts */
    ring_advance(ring);
    HOLDS(ring->position - before >= bytes && ring->position - before <= bytes + ring->capacity);
}

static void disturb(ring_ends_t *ends, uint8_t *data, input_t *in)
{
    static const uint32_t places[] = {0, 16, CAPACITY / 4, CAPACITY / 2, CAPACITY - 16};
    uint64_t value;
    switch (below(in, 5)) {
    case 0:
        u64_store_relaxed(&ends->tail, number(in));
        break;
    case 1:
        u64_store_relaxed(&ends->tail, u64_relaxed(&ends->tail) + number(in));
        break;
    case 2:
        u64_store_relaxed(&ends->head, number(in));
        break;
    case 3:
        u64_store_relaxed(&ends->head, u64_relaxed(&ends->head) + number(in));
        break;
    default:
        value = number(in);
        memcpy(data + places[below(in, 5)] + 4 * below(in, 3), &value, sizeof(uint32_t));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input_t in = {bytes, size};
    ring_ends_t *ends = aligned_alloc(LINE, sizeof *ends);
    uint8_t *data = aligned_alloc(LINE, CAPACITY); /* of exactly this size: the sanitizer guards both ends */
    HOLDS(ends && data);
    memset(ends, 0, sizeof *ends);
    memset(data, 0, CAPACITY);
    ring_t producer, consumer;
    ring_open(&producer, ends, data, CAPACITY);
    ring_open(&consumer, ends, data, CAPACITY);
    for (int step = 0; step < STEPS && in.left; step++) {
        switch (below(&in, 3)) {
        case 0:
            produce(&producer, &in);
            break;
        case 1:
            consume(&consumer, &in);
            break;
        default:
            disturb(ends, data, &in);
        }
    }
    free(data);
    free(ends);
    return 0;
}
