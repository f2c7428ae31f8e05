/* Completions, handed over.  Under the scheduler's lock, but where it says otherwise. */
#ifndef CSCHED_COLLECT_H
#define CSCHED_COLLECT_H

#include "internal.h"

void commit_first(csched_t *s, uint32_t count);

#endif
