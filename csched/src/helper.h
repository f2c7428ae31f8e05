/* The thread that drains when no other does.  Called without the scheduler's lock. */
#ifndef CSCHED_HELPER_H
#define CSCHED_HELPER_H

#include "internal.h"

int helper_start(csched_t *s);
void helper_stop(csched_t *s);
void helper_kick(csched_t *s);

#endif
