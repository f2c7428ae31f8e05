/* Waking who sleeps.  Under the scheduler's lock, but where it says otherwise. */
#ifndef CSCHED_DOORBELL_H
#define CSCHED_DOORBELL_H

#include "internal.h"

void worker_wake(worker_t *worker);
enum { SLICE_MS = 50 }; /* no sleep is longer: signals are looked at in between */
void bell_arm(csched_t *s, uint64_t wanted);
void bell_ring(csched_t *s);
int bell_sleep(csched_t *s,
               uint32_t timeout_ms); /* 1: it took the bell's ring, which others may have missed; -1: a signal */

#endif
