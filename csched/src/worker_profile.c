/* Starts the thread that samples a worker's stack, while the kernel wants samples. The watch thread looks, because the
 * main thread may be in user code for long; it never waits for the GIL itself. */
#include <pthread.h>

#include "segment.h"
#include "worker.h"

static void *sample_main(void *argument)
{
    csched_worker_t *w = argument;
    w->sampled_at = now_ns(); /* time in which nothing was wanted belongs to no sample */
    w->sample(w->sample_argument);
    u32_store_release(&w->sampling, 0); /* partner: worker_profile */
    return NULL;
}

void worker_profile(csched_worker_t *w)
{
    pthread_t thread;
    if (!w->sample || !u32_relaxed(&w->segment->profile) || u32_exchange(&w->sampling, 1)) /* partner: sample_main */
        return;
    if (pthread_create(&thread, NULL, sample_main, w) == 0) /* with all signals blocked, as the watch thread has them */
        pthread_detach(thread);
    else
        u32_store_relaxed(&w->sampling, 0); /* tried again at the watch thread's next look */
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
