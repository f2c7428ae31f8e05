/* Ready tasks to workers.  Under the scheduler's lock, but where it says otherwise. */
#ifndef CSCHED_DISPATCH_H
#define CSCHED_DISPATCH_H

#include "internal.h"

void dispatch(csched_t *s);     /* ready tasks to workers that have room */
void dispatch_tick(csched_t *s); /* what waits behind a task that takes far too long comes back; dispatch follows */

#endif
