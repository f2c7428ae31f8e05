/* Periodic checks. Called under the scheduler's lock. */
#ifndef CSCHED_TICK_H
#define CSCHED_TICK_H

#include "internal.h"

bool tick(csched_t *s, uint64_t now); /* true: a tick was due */

#endif
