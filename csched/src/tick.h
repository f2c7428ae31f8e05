/* What time brings.  Under the scheduler's lock, but where it says otherwise. */
#ifndef CSCHED_TICK_H
#define CSCHED_TICK_H

#include "internal.h"

bool tick(csched_t *s, uint64_t now); /* true: some time has passed since the last one */

#endif
