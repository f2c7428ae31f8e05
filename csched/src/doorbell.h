/* Waking the kernel's threads and its workers. */
#ifndef CSCHED_DOORBELL_H
#define CSCHED_DOORBELL_H

#include "internal.h"

void worker_wake(worker_t *worker);
enum { SLICE_MS = 50 }; /* the longest sleep: signals are handled in between */
void doorbell_arm(csched_t *s, uint64_t wanted);
void doorbell_ring(csched_t *s);
/* 1: it consumed the ring, which other sleepers may have missed; -1: a signal */
int doorbell_sleep(csched_t *s, uint32_t timeout_ms);

#endif
