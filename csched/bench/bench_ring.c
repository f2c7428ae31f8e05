/* What does an entry cost, written and read by one thread, and handed from one thread to another? */
#include <pthread.h>
#include <string.h>

#include "bench.h"
#include "ring.h"

enum { CAPACITY = 262144, BYTES = 96 };

static ring_ends_t ends;
static _Alignas(64) uint8_t data[CAPACITY];
static ring_t producer, consumer;

static void reset(void)
{
    memset(&ends, 0, sizeof ends);
    ring_open(&producer, &ends, data, CAPACITY);
    ring_open(&consumer, &ends, data, CAPACITY);
}

static bool put(uint32_t slot)
{
    entry_t *entry;
    if (ring_reserve(&producer, BYTES, &entry) < 0)
        return false;
    entry->kind = ENTRY_TASK;
    entry->slot = slot;
    ring_commit(&producer);
    return true;
}

static bool take(void)
{
    entry_t *entry;
    if (ring_peek(&consumer, &entry) != 1)
        return false;
    ring_advance(&consumer);
    return true;
}

static uint64_t same_thread(uint64_t operations)
{
    reset();
    uint64_t begin = csched_now();
    for (uint64_t i = 0; i < operations; i++) {
        put((uint32_t)i);
        take();
    }
    return csched_now() - begin;
}

static void *produce(void *argument)
{
    for (uint64_t i = 0, operations = *(const uint64_t *)argument; i < operations; i += put((uint32_t)i))
        cpu_relax();
    return NULL;
}

static uint64_t two_threads(uint64_t operations)
{
    pthread_t thread;
    reset();
    uint64_t begin = csched_now();
    must(-pthread_create(&thread, NULL, produce, &operations));
    for (uint64_t i = 0; i < operations; i += take())
        cpu_relax();
    pthread_join(thread, NULL);
    return csched_now() - begin;
}

int main(void)
{
    bench("ring: write and read, one thread", 5000000, same_thread);
    bench("ring: from one thread to another", 5000000, two_threads);
}
