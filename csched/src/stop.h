/* Ending a task that runs.  Under the scheduler's lock, but where it says otherwise. */
#ifndef CSCHED_STOP_H
#define CSCHED_STOP_H

#include "internal.h"

uint32_t stopping_of(const csched_t *s, uint32_t run, bool every);

#endif
