/* Draining result rings. Called under the scheduler's lock, unless noted. */
#ifndef CSCHED_DRAIN_H
#define CSCHED_DRAIN_H

#include "internal.h"

uint32_t
drain(csched_t *s); /* takes results off the rings, releases dependents, sends new work; returns the entries taken */
uint32_t drain_worker(csched_t *s, uint32_t index);

#endif
