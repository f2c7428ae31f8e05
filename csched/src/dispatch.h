/* Sending ready tasks to workers. Called under the scheduler's lock, unless noted. */
#ifndef CSCHED_DISPATCH_H
#define CSCHED_DISPATCH_H

#include "internal.h"

/* For each KiB of an input, from one lane to another: at first a quarter of a gigabyte a second, which is what it takes in
 * memory that is new to a virtual machine. What it has taken says how long it takes, within bounds: an input that another
 * task has brought there takes no time. */
enum { FETCH_NS_LEAST = 1024, FETCH_NS = 4096, FETCH_NS_MOST = 8192 };

void dispatch(csched_t *s); /* sends ready tasks to workers that have room */
void fetch_learn(csched_t *s, uint32_t index, const task_t *task, uint64_t took); /* getting its inputs took so long */

#endif
