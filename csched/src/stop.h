/* Ending running tasks. Called under the scheduler's lock, unless noted. */
#ifndef CSCHED_STOP_H
#define CSCHED_STOP_H

#include "internal.h"

uint32_t stopping_of(const csched_t *s, uint32_t run, bool every);

#endif
