/* Workers that come and go.  Under the scheduler's lock, but where it says otherwise. */
#ifndef CSCHED_POOL_H
#define CSCHED_POOL_H

#include "internal.h"

int lane_add(csched_t *s, uint32_t *index);

#endif
