/* State changes of a task: ready, delayed, retried, finished. Called under the scheduler's lock, unless noted. */
#ifndef CSCHED_TASK_H
#define CSCHED_TASK_H

#include "internal.h"

typedef struct { /* one task as it is submitted */
    uint32_t slot, function, run;
    const void *data;
    uint64_t size, pack_ns;
    const csched_options_t *options; /* NULL: plain */
    const uint64_t *earlier;         /* of a batch: tickets of its tasks before this one, `position` of them */
    uint32_t position;
} call_t;
int64_t task_submit(csched_t *s, const call_t *call);

/* Whether another attempt may follow a failed one. */
bool task_retries(const task_t *task);
/* after a failed attempt; `ran`: the worker's four stamps of it, from received on, 0 where they are not known; false: it
 * was the last one */
bool task_retry(csched_t *s, uint32_t slot, uint32_t status, blob_t *result, uint32_t worker, const uint64_t ran[4]);
/* The attempt that its submitter was asked about, if any, is not its last; the other: it is. */
void task_tried(csched_t *s, task_t *task);
void task_given_up(csched_t *s, task_t *task, uint32_t status);
/* it ends without a result of its own; `ran` as above */
void task_abort(csched_t *s, uint32_t slot, uint32_t status, blob_t *result, uint32_t detail, const uint64_t ran[4]);
void task_not_run(csched_t *s, uint32_t slot, uint32_t position); /* its input at this position failed */
bool keeps_payload(uint32_t status);
/* Counts the first `end` elements of a chunk that runs; `failures` of them have failed. */
void count_partial(csched_t *s, const task_t *task, uint32_t end, uint32_t failures);
void task_finish(csched_t *s, uint32_t slot, uint32_t status, blob_t *result, uint32_t detail);
int task_inputs(task_t *task); /* allocates task->inputs */
int task_input(task_t *task, uint32_t position, const task_t *from); /* stores one input's result */
void release_inputs(csched_t *s, task_t *task);
void drop_bundle(csched_t *s, task_t *task);
void task_propagate(csched_t *s, uint32_t last); /* for the completions after `last`, NO_TASK: all */
void task_ready(csched_t *s, uint32_t slot);
int message_push(csched_t *s, const csched_message_t *message);
int task_delay(csched_t *s, uint32_t slot); /* until not_before */

#endif
