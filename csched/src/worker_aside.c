/* Starts the threads that run Python code of ours beside a worker's main thread: one that samples its stack while the
 * kernel wants samples, and one that sends outcomes of a chunk's elements while a later one runs for long.  The watch
 * thread looks, because the main thread may be in user code for long; it never waits for the GIL itself. */
#include <pthread.h>

#include "segment.h"
#include "worker.h"

#define LONG_NS UINT64_C(100000000) /* an element that has run so long may run for much longer */
#define LOOK_NS UINT64_C(1000000000)

static void *aside_main(void *argument)
{
    aside_t *aside = argument;
    aside->run(aside->argument);
    u32_store_release(&aside->running, 0); /* partner: aside_start */
    return NULL;
}

static void aside_start(aside_t *aside)
{
    pthread_t thread;
    if (u32_exchange(&aside->running, 1)) /* partner: aside_main */
        return;
    if (pthread_create(&thread, NULL, aside_main, aside) == 0) /* all signals blocked, as in the watch thread */
        pthread_detach(thread);
    else
        u32_store_relaxed(&aside->running, 0); /* tried again at the watch thread's next look */
}

void worker_sample(csched_worker_t *w)
{
    if (!w->sampler.run || !u32_relaxed(&w->segment->profile) || u32_relaxed(&w->sampler.running))
        return;
    w->sampled_at = now_ns(); /* time in which nothing was wanted belongs to no sample */
    aside_start(&w->sampler);
}

uint64_t worker_send(csched_worker_t *w)
{
    uint32_t element = u32_acquire(&w->segment->claim_element); /* partner: csched_worker_element */
    uint64_t since = u64_relaxed(&w->segment->element_since), now = now_ns(); /* of this element, or of a later one */
    if (!w->sender.run || !u64_relaxed(&w->segment->claim_ticket) || element == NO_ELEMENT ||
        element <= u32_relaxed(&w->sent))
        return LOOK_NS;
    if (now >= since + LONG_NS)
        aside_start(&w->sender);
    return LONG_NS;
}

CSCHED_EXPORT uint32_t csched_worker_profile_wanted(csched_worker_t *w)
{
    return u32_relaxed(&w->segment->profile); /* partner: csched_profile */
}

CSCHED_EXPORT int csched_worker_in_user_code(csched_worker_t *w, uint32_t *function)
{
    const task_entry_t *task = w->current;
    if (!task || task->head.kind != ENTRY_TASK || w->published || !w->started || w->finished)
        return 0;
    *function = task->function;
    return 1;
}
