/* Handing over completions. Called under the scheduler's lock, unless noted. */
#ifndef CSCHED_COLLECT_H
#define CSCHED_COLLECT_H

#include "internal.h"

void commit_first(csched_t *s, uint32_t count);

#endif
