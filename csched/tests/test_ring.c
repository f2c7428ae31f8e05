#include "ring.h"

#include <pthread.h>

#include "csched.h"
#include "harness.h"

enum { CAPACITY = 4096, MILLIONS = SCALED(2000000) };

typedef struct {
    ring_ends_t ends;
    ring_t producer, consumer;
    uint8_t *data; /* of exactly the ring's size: the address sanitizer guards both ends */
} pipe_t;

static pipe_t *pipe_open(uint64_t capacity)
{
    pipe_t *p = aligned_alloc(64, sizeof *p);
    CHECK(p);
    memset(p, 0, sizeof *p);
    p->data = aligned_alloc(64, capacity);
    memset(p->data, 0, capacity);
    ring_open(&p->producer, &p->ends, p->data, capacity);
    ring_open(&p->consumer, &p->ends, p->data, capacity);
    return p;
}

static void pipe_close(pipe_t *p)
{
    free(p->data);
    free(p);
}

static int put(pipe_t *p, uint64_t bytes, uint32_t number)
{
    entry_t *entry;
    int rc = ring_reserve(&p->producer, bytes, &entry);
    if (rc < 0)
        return rc;
    EQUAL(entry->bytes % ENTRY_ALIGN, 0);
    CHECK(entry->bytes >= bytes);
    entry->kind = ENTRY_TASK;
    entry->slot = number;
    memset(entry + 1, (int)(number & 0xff), entry->bytes - sizeof *entry);
    ring_commit(&p->producer);
    return 0;
}

static void take(pipe_t *p, uint32_t number)
{
    entry_t *entry;
    EQUAL(ring_peek(&p->consumer, &entry), 1);
    EQUAL(entry->slot, number);
    const uint8_t *body = (const uint8_t *)(entry + 1);
    for (uint32_t i = 0; i < entry->bytes - sizeof *entry; i++)
        EQUAL(body[i], number & 0xff);
    ring_advance(&p->consumer);
}

static void first_in_first_out(void)
{
    pipe_t *p = pipe_open(CAPACITY);
    entry_t *entry;
    EQUAL(ring_peek(&p->consumer, &entry), 0);
    for (uint32_t i = 0; i < 3; i++)
        OK(put(p, 100, i));
    for (uint32_t i = 0; i < 3; i++)
        take(p, i);
    CHECK(ring_empty(&p->consumer));
    pipe_close(p);
}

static void full_changes_nothing(void)
{
    pipe_t *p = pipe_open(CAPACITY);
    uint32_t count = 0;
    while (put(p, 256, count) == 0)
        count++;
    EQUAL(count, CAPACITY / 256);
    uint64_t tail = u64_relaxed(&p->ends.tail);
    EQUAL(put(p, 16, 99), CSCHED_EFULL);
    EQUAL(u64_relaxed(&p->ends.tail), tail);
    take(p, 0);
    OK(put(p, 256, count));
    EQUAL(put(p, 16, 99), CSCHED_EFULL);
    for (uint32_t i = 1; i <= count; i++)
        take(p, i);
    pipe_close(p);
}

static void entries_of_every_size_wrap(void)
{
    pipe_t *p = pipe_open(CAPACITY);
    uint64_t seed = 42;
    uint32_t in = 0, out = 0;
    while (out < SCALED(100000)) {
        if (next_random(&seed) % 2)
            in += put(p, 16 + next_random(&seed) % (CAPACITY / 4 - 15), in) == 0;
        else if (out < in)
            take(p, out++);
    }
    pipe_close(p);
}

static void largest_entry(void)
{
    pipe_t *p = pipe_open(CAPACITY);
    EQUAL(ring_largest(&p->producer), CAPACITY / 4);
    for (uint32_t i = 0; i < 9; i++) {
        OK(put(p, CAPACITY / 4, i));
        take(p, i);
        OK(put(p, 48, i)); /* the next one never ends at the ring's end */
        take(p, i);
    }
    EQUAL(put(p, CAPACITY / 4 + 1, 0), CSCHED_ETOOBIG);
    pipe_close(p);
}

static void a_reserved_entry_is_not_seen(void)
{
    pipe_t *p = pipe_open(CAPACITY);
    entry_t *entry;
    OK(ring_reserve(&p->producer, 64, &entry)); /* and the producer is killed */
    EQUAL(ring_peek(&p->consumer, &entry), 0);
    pipe_close(p);
}

/* Data of a corrupted producer: the consumer reports it, and reads nothing outside the ring. */
static void corrupted_tails_and_lengths(void)
{
    static const uint64_t tails[] = {1, 8, 15, CAPACITY + 1, CAPACITY + 16, UINT64_MAX, UINT64_MAX - 15, 1u << 31};
    static const uint32_t lengths[] = {0, 1, 15, 17, 80, CAPACITY, UINT32_MAX, UINT32_MAX - 15, 1u << 31};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        pipe_t *p = pipe_open(CAPACITY);
        entry_t *entry;
        u64_store_release(&p->ends.tail, tails[i]);
        EQUAL(ring_peek(&p->consumer, &entry), CSCHED_ECORRUPT);
        pipe_close(p);
    }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        pipe_t *p = pipe_open(CAPACITY);
        entry_t *entry;
        OK(put(p, 64, 0));
        ((entry_t *)p->data)->bytes = lengths[i];
        EQUAL(ring_peek(&p->consumer, &entry), CSCHED_ECORRUPT);
        pipe_close(p);
    }
}

static void a_length_changed_after_the_look_moves_nothing(void)
{
    pipe_t *p = pipe_open(CAPACITY);
    entry_t *entry;
    OK(put(p, 64, 0));
    OK(put(p, 64, 1));
    EQUAL(ring_peek(&p->consumer, &entry), 1);
    entry->bytes = 0xfffffff0u;
    ring_advance(&p->consumer);
    take(p, 1);
    CHECK(ring_empty(&p->consumer));
    pipe_close(p);
}

/* Padding reaches to the ring's end only; endless padding must not make the consumer loop. */
static void padding_that_leads_nowhere(void)
{
    static const uint64_t places[] = {0, 64, CAPACITY / 2, CAPACITY - 128};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        pipe_t *p = pipe_open(CAPACITY);
        entry_t *entry, *padding = (entry_t *)(p->data + places[i]);
        p->consumer.position = p->consumer.other = places[i];
        *padding = (entry_t){.bytes = places[i] ? 64 : CAPACITY, .kind = ENTRY_PAD};
        u64_store_release(&p->ends.tail, places[i] + padding->bytes);
        EQUAL(ring_peek(&p->consumer, &entry), CSCHED_ECORRUPT);
        pipe_close(p);
    }
}

static void no_length_is_too_large_to_be_refused(void)
{
    pipe_t *p = pipe_open(CAPACITY);
    entry_t *entry;
    for (uint64_t less = 0; less < 40; less++)
        EQUAL(ring_reserve(&p->producer, UINT64_MAX - less, &entry), CSCHED_ETOOBIG);
    pipe_close(p);
}

static void corrupted_heads(void)
{
    static const uint64_t heads[] = {CAPACITY + 1, CAPACITY + 512, UINT64_MAX, 1u << 31};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        pipe_t *p = pipe_open(CAPACITY);
        int rc = 0;
        u64_store_release(&p->ends.head, heads[i]);
        for (uint32_t n = 0; n < 64 && rc == 0; n++)
            rc = put(p, 256, n);
        EQUAL(rc, CSCHED_ECORRUPT);
        pipe_close(p);
    }
}

static void garbage_is_never_followed(void)
{
    uint64_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        pipe_t *p = pipe_open(CAPACITY);
        for (uint64_t i = 0; i < CAPACITY; i += 8) {
            uint64_t word = next_random(&seed);
            if (word % 4 == 0)
                word &= 0xfff0; /* lengths that make sense lead further in */
            memcpy(p->data + i, &word, 8);
        }
        u64_store_release(&p->ends.tail, (next_random(&seed) % (2 * CAPACITY)) & ~15u);
        entry_t *entry;
        for (int n = 0; n < 300 && ring_peek(&p->consumer, &entry) == 1; n++) {
            CHECK((uint8_t *)entry >= p->data && (uint8_t *)entry + p->consumer.peeked <= p->data + CAPACITY);
            ring_advance(&p->consumer);
        }
        pipe_close(p);
    }
}

static void *produce(void *argument)
{
    pipe_t *p = argument;
    uint64_t seed = 3;
    for (uint32_t n = 0; n < MILLIONS; n++) {
        uint64_t bytes = 24 + next_random(&seed) % 40;
        entry_t *entry;
        int rc;
        while ((rc = ring_reserve(&p->producer, bytes, &entry)) == CSCHED_EFULL)
            sched_yield();
        OK(rc);
        entry->kind = ENTRY_TASK;
        entry->slot = n;
        memcpy(entry + 1, &n, sizeof n); /* plain memory: only the tail publishes it */
        ring_commit(&p->producer);
    }
    return NULL;
}

static void a_producer_and_a_consumer(void)
{
    pipe_t *p = pipe_open(CAPACITY);
    pthread_t producer;
    OK(pthread_create(&producer, NULL, produce, p));
    for (uint32_t n = 0; n < MILLIONS; n++) {
        entry_t *entry;
        int rc;
        while ((rc = ring_peek(&p->consumer, &entry)) == 0)
            sched_yield();
        EQUAL(rc, 1);
        uint32_t body;
        memcpy(&body, entry + 1, sizeof body);
        EQUAL(entry->slot, n);
        EQUAL(body, n);
        ring_advance(&p->consumer);
    }
    pthread_join(producer, NULL);
    pipe_close(p);
}

MAIN(TEST(first_in_first_out), TEST(full_changes_nothing), TEST(entries_of_every_size_wrap), TEST(largest_entry),
     TEST(a_reserved_entry_is_not_seen), TEST(corrupted_tails_and_lengths),
     TEST(a_length_changed_after_the_look_moves_nothing), TEST(corrupted_heads), TEST(padding_that_leads_nowhere),
     TEST(no_length_is_too_large_to_be_refused), TEST(garbage_is_never_followed), TEST(a_producer_and_a_consumer))
