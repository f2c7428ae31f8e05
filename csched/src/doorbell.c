/* Waking sleepers: the kernel's threads by the doorbell (an eventfd), a worker by the futex of its task ring. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "doorbell.h"
#include "internal.h"
#include "segment.h"

/* Asks every worker to ring the doorbell after its next result that matters.  WANT_ANY: any result; else the result of
 * the task `wanted`, of a task that others depend on, or of the last task in the worker's ring. */
void doorbell_arm(csched_t *s, uint64_t wanted)
{
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < s->worker_count; i++)
        if (s->workers[i]->segment) {
            u64_store_relaxed(&s->workers[i]->segment->wanted, wanted);
            u32_store_relaxed(&s->workers[i]->segment->kernel_sleeping, 1);
        }
    pthread_mutex_unlock(&s->lock);
    fence_seq_cst(); /* flag before the last look at the rings; partner: ring_doorbell in worker.c */
}

void doorbell_ring(csched_t *s)
{
    uint64_t one = 1;
    if (u32_relaxed(&s->sleepers) && write(s->doorbell, &one, sizeof one) < 0 && errno != EAGAIN)
        return; /* a sleeper wakes at the end of its slice anyway */
}

int doorbell_sleep(csched_t *s, uint32_t timeout_ms)
{
    struct pollfd doorbell = {.fd = s->doorbell, .events = POLLIN};
    uint64_t rung;
    int rc = poll(&doorbell, 1, (int)(timeout_ms < SLICE_MS ? timeout_ms : SLICE_MS));
    return rc > 0 && read(s->doorbell, &rung, sizeof rung) > 0 ? 1 : rc < 0 ? -1 : 0;
}

CSCHED_EXPORT int csched_wake(csched_t *s)
{
    uint64_t one = 1;
    u32_exchange(&s->background_word, 1);
    futex_wake(&s->background_word);
    return write(s->doorbell, &one, sizeof one) < 0 && errno != EAGAIN ? CSCHED_ESYSTEM : CSCHED_OK;
}

void worker_wake(worker_t *worker)
{
    fence_seq_cst(); /* tail before sleeping; partner: sleep_on_ring in worker.c, which stores in the other order */
    if (u32_relaxed(&worker->segment->tasks.sleeping) && u32_exchange(&worker->segment->tasks.sleeping, 0))
        futex_wake(&worker->segment->tasks.sleeping);
}
