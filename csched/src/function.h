/* Functions that tasks call, and which worker has them.  Under the scheduler's lock, but where it says otherwise. */
#ifndef CSCHED_FUNCTION_H
#define CSCHED_FUNCTION_H

#include "internal.h"

void function_over(csched_t *s, uint32_t function); /* a task of it is */
void functions_close(csched_t *s);
void forgets_flush(worker_t *worker);

#endif
