/* Tasks that come back from the windows of workers that have not begun them. Called under the scheduler's lock. */
#ifndef CSCHED_RECALL_H
#define CSCHED_RECALL_H

#include "internal.h"

/* Time since the worker began its current task: a hint from shared memory, any value is safe. */
uint64_t worker_running_ns(const csched_t *s, uint32_t index);
/* A worker that holds nothing and may be sent tasks, `warm` if it is one; NO_CHOICE: there is none. */
uint32_t idle_worker(const csched_t *s, uint32_t warm);
/* Takes back the newest tasks of a worker that have not begun, at most `most`, of a priority below `below`; returns how
 * many. */
uint32_t recall_newest(csched_t *s, uint32_t index, uint32_t most, uint32_t below);
/* Before ready tasks are sent: an idle worker gets what waits behind long tasks first. */
void recall_from_behind(csched_t *s);
/* Where nothing is ready: takes tasks back for a worker that idles; false: there is none, or nothing for it. */
bool recall_for_idle(csched_t *s);
/* Takes tasks back from stuck and silent workers; dispatch follows. */
void recall_tick(csched_t *s);

#endif
