/* Sending ready tasks to workers. Called under the scheduler's lock, unless noted. */
#ifndef CSCHED_DISPATCH_H
#define CSCHED_DISPATCH_H

#include "internal.h"

void dispatch(csched_t *s); /* sends ready tasks to workers that have room */

#endif
