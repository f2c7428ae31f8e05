/* The thread that drains when no other does.  Under the scheduler's lock, but where it says otherwise. */
#ifndef CSCHED_HELPER_H
#define CSCHED_HELPER_H

#include "internal.h"

int helper_start(csched_t *s);
void helper_stop(csched_t *s);
void helper_kick(csched_t *s);

#endif
