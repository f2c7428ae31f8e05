/* Gives unused memory back to the system, some seconds after a block was freed. Its owner does it: in the kernel the
 * helper thread, in a worker its watch thread. HOT_BYTES are kept for new blocks, half by the kernel, half by all
 * workers. */
#define _GNU_SOURCE
#include "helper.h"
#include "internal.h"
#include "trim.h"
#include "segment.h"
#include "worker.h"

#define HOT_BYTES (UINT64_C(56) << 20)
enum { TRIM_NS = 1000000000, SLICE_BYTES = 8 << 20 }; /* the lock is held for about a millisecond */

static void tell_workers(csched_t *s)
{
    uint32_t there = 0;
    for (uint32_t i = 0; i < s->worker_count; i++)
        there += s->workers[i]->segment != NULL;
    for (uint32_t i = 0; i < s->worker_count; i++)
        if (s->workers[i]->segment)
            u64_store_relaxed(&s->workers[i]->segment->hot, HOT_BYTES / 2 / there);
}

void trim(csched_t *s, uint64_t now)
{
    if (now < s->next_trim)
        return;
    s->next_trim = now + TRIM_NS;
    uint64_t given;
    pthread_mutex_lock(&s->lock);
    tell_workers(s);
    arena_age(&s->heap.memory);
    pthread_mutex_unlock(&s->lock);
    do {
        pthread_mutex_lock(&s->lock);
        given = arena_trim(&s->heap.memory, HOT_BYTES / 2, SLICE_BYTES);
        pthread_mutex_unlock(&s->lock);
    } while (given && !u32_relaxed(&s->helper_stop));
}

void worker_trim(csched_worker_t *w)
{
    uint64_t given;
    take_frees(w);
    pthread_mutex_lock(&w->heap_lock);
    arena_age(&w->heap.memory);
    pthread_mutex_unlock(&w->heap_lock);
    do {
        pthread_mutex_lock(&w->heap_lock);
        given = arena_trim(&w->heap.memory, u64_relaxed(&w->segment->hot), SLICE_BYTES);
        pthread_mutex_unlock(&w->heap_lock);
    } while (given && !u32_acquire(&w->watch_stop)); /* partner: csched_worker_detach */
}
