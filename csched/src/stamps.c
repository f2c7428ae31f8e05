/* Time stamps of the current task. Called by the worker's main thread only. */
#include "segment.h"
#include "worker.h"

CSCHED_EXPORT int csched_worker_started(csched_worker_t *w)
{
    w->started = w->flushed = now_ns();
    FAULT(w, started);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_worker_finished(csched_worker_t *w)
{
    w->finished = now_ns();
    FAULT(w, finished);
    return CSCHED_OK;
}

void worker_element(csched_worker_t *w, uint32_t element, uint64_t now)
{
    u64_store_relaxed(&w->segment->element_since, now);
    u32_store_release(&w->segment->claim_element, element); /* partner: check_element */
    if (element < MARKS_MAX) {
        w->marks[element] = now;
        w->mark_count = element + 1;
    }
    FAULT(w, element_begun);
}

CSCHED_EXPORT int csched_worker_element(csched_worker_t *w, uint32_t element)
{
    worker_element(w, element, now_ns());
    return CSCHED_OK;
}

CSCHED_EXPORT uint64_t csched_worker_since_flush(csched_worker_t *w)
{
    return now_ns() - w->flushed;
}
