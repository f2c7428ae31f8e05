/* Resources that tasks hold while they run.  All functions are called under the scheduler's lock. */
#ifndef CSCHED_ALLOCATIONS_H
#define CSCHED_ALLOCATIONS_H

#include "internal.h"

int allocation_request(csched_t *s, task_t *task, const csched_options_t *options);
void allocation_take(csched_t *s, task_t *task, uint32_t queue); /* it has just been sent; `queue`: its ready queue */
void allocation_return(csched_t *s, task_t *task);               /* it was taken back, or will be retried */
void allocation_end(csched_t *s, task_t *task);                 /* it is over */

#endif
