/* Starting and ending workers. Called under the scheduler's lock, unless noted. */
#ifndef CSCHED_POOL_H
#define CSCHED_POOL_H

#include "internal.h"

int lane_add(csched_t *s, uint32_t *index);

#endif
