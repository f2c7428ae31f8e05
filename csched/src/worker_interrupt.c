/* Called by a worker's signal handler; stop.c is the kernel's side. */
#include "segment.h"
#include "worker.h"

CSCHED_EXPORT int csched_worker_interrupted(csched_worker_t *w)
{
    uint64_t ticket = u64_acquire(&w->segment->interrupt_ticket); /* partner: mark in stop.c */
    uint32_t element = u32_relaxed(&w->segment->interrupt_element);
    return ticket && ticket == u64_relaxed(&w->segment->claim_ticket) &&
           u32_relaxed(&w->segment->interrupt_attempt) == u32_relaxed(&w->segment->claim_attempt) &&
           (element == NO_ELEMENT || element == u32_relaxed(&w->segment->claim_element));
}

CSCHED_EXPORT int csched_worker_heard(csched_worker_t *w)
{
    u32_store_relaxed(&w->segment->heard_attempt, u32_relaxed(&w->segment->claim_attempt));
    u32_store_relaxed(&w->segment->heard_element, u32_relaxed(&w->segment->claim_element));
    u64_store_release(&w->segment->heard_ticket, u64_relaxed(&w->segment->claim_ticket)); /* partner: csched_unheard */
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_worker_overdue(csched_worker_t *w)
{
    return csched_worker_interrupted(w) && u32_relaxed(&w->segment->interrupt_element) != NO_ELEMENT;
}

CSCHED_EXPORT uint64_t csched_worker_current(csched_worker_t *w)
{
    return u64_relaxed(&w->segment->claim_ticket);
}
