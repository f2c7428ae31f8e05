/* Detects output of native code on a worker's descriptors 1 and 2, before the task's result is published. */
#include <poll.h>
#include <stdio.h>

#include "segment.h"
#include "worker.h"

CSCHED_EXPORT int csched_worker_listen(csched_worker_t *w, const int native[2])
{
    w->native[0] = native[0];
    w->native[1] = native[1];
    return setvbuf(stdout, NULL, _IOLBF, BUFSIZ) ? CSCHED_ESYSTEM : CSCHED_OK;
}

bool output_waits(csched_worker_t *w, uint64_t now)
{
    w->polled = now;
    if (w->output_found || w->native[0] < 0)
        return false;
    fflush(stdout); /* an unfinished line */
    struct pollfd pipes[] = {{.fd = w->native[0], .events = POLLIN}, {.fd = w->native[1], .events = POLLIN}};
    w->output_found = poll(pipes, 2, 0) > 0 || u64_relaxed(&w->segment->output_read) == w->current->ticket;
    return w->output_found;
}

CSCHED_EXPORT int csched_worker_output_turn(csched_worker_t *w, int take)
{
    return output_turn(w->segment, TURN_WORKER, take);
}

CSCHED_EXPORT uint32_t csched_worker_current_element(csched_worker_t *w)
{
    return u32_relaxed(&w->segment->claim_element);
}
