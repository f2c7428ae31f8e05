/* What tasks ask for beside a worker.  Under the scheduler's lock, but where it says otherwise. */
#ifndef CSCHED_SHARES_H
#define CSCHED_SHARES_H

#include "internal.h"

int share_ask(csched_t *s, task_t *task, const csched_options_t *options);
void share_take(csched_t *s, task_t *task, uint32_t queue); /* it has just been sent; `queue`: where it stood */
void share_return(csched_t *s, task_t *task);               /* it came back, or will be tried again */
void share_over(csched_t *s, task_t *task);                 /* it is over */

#endif
