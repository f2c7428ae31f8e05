/* Results off the rings.  Under the scheduler's lock, but where it says otherwise. */
#ifndef CSCHED_DRAIN_H
#define CSCHED_DRAIN_H

#include "internal.h"

uint32_t drain(csched_t *s); /* results off the rings, dependents released, new work sent; entries taken */
uint32_t drain_worker(csched_t *s, uint32_t index);

#endif
