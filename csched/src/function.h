/* Functions that tasks call, and which worker has them.  Called under the scheduler's lock, unless noted. */
#ifndef CSCHED_FUNCTION_H
#define CSCHED_FUNCTION_H

#include "internal.h"

void function_over(csched_t *s, uint32_t function); /* one of its tasks is over */
void functions_close(csched_t *s);
void forgets_flush(worker_t *worker);

#endif
