/* What is still to be done of each function, and how long its tasks take: for estimates of the time left.  Under the
 * scheduler's lock. */
#ifndef CSCHED_BACKLOG_H
#define CSCHED_BACKLOG_H

#include "csched.h"
#include "graph.h"

typedef struct { /* of one function */
    uint64_t outstanding; /* elements of its tasks that are not over */
    uint64_t ran, spent;  /* elements that ended on workers, and the nanoseconds from their start on: */
    uint64_t loading;     /* nanoseconds before the start of an element, the least: the first ones import modules */
    uint32_t work, run;   /* in this piece of work, and of its tasks in this run, the newest one */
    uint32_t serial;      /* of the newest of these tasks */
} backlog_t;

void backlog_submitted(csched_t *s, const task_t *task);
void backlog_over(csched_t *s, const task_t *task);
void backlog_ran(csched_t *s, const task_t *task, const result_entry_t *entry); /* with a result of its own */

#endif
