/* Cancellation. Called under the scheduler's lock, unless noted. */
#ifndef CSCHED_CANCEL_H
#define CSCHED_CANCEL_H

#include "internal.h"

bool task_cancel(csched_t *s, task_t *task, uint32_t slot); /* false: it runs, or is over */
void cancel_leaves_a_row(csched_t *s, task_t *task); /* adds its row to the journey ring; right after `task_cancel` */
void after_cancel(csched_t *s, uint32_t last);
bool task_runs(csched_t *s, const task_t *task); /* in user code now */

#endif
