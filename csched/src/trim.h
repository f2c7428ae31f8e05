/* Giving unused memory back to the system. */
#ifndef CSCHED_TRIM_H
#define CSCHED_TRIM_H

#include "internal.h"

void trim(csched_t *s, uint64_t now); /* takes the lock itself */

#endif
