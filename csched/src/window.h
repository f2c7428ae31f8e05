/* A worker's window: the tasks in its ring. Called under the scheduler's lock, unless noted. */
#ifndef CSCHED_WINDOW_H
#define CSCHED_WINDOW_H

#include "internal.h"

int window_push(csched_t *s, uint32_t index, uint32_t slot, uint64_t now);
held_t *held_at(worker_t *worker, uint32_t i); /* its i-th entry, oldest first */
bool window_revoke(csched_t *s, task_t *task, uint32_t slot); /* true: the worker will not run it */
bool held_revoke(worker_t *worker, held_t *held);
void window_pop(worker_t *worker);                /* its oldest entry is over */
int window_push_control(worker_t *worker, uint32_t number, const void *data, uint64_t size);
int window_push_latest(worker_t *worker, uint32_t topic, const void *data, uint64_t size);
void window_drop_controls(worker_t *worker);
void window_learn(csched_t *s, uint32_t index, uint64_t duration_ns);

#endif
