/* Copies of the payloads of a few short calls, for views that tell the arguments of tasks that are over: of the first
 * tasks of a piece of work, and of those that its first dependencies link.  Under the scheduler's lock.
 * What full means: a later call takes the place of an earlier one; a reader learns that the earlier one is gone. */
#ifndef CSCHED_KEPT_CALLS_H
#define CSCHED_KEPT_CALLS_H

#include <stdint.h>

#include "csched.h"
#include "graph.h"

enum { KEPT_CALLS = 512, KEPT_BYTES = 496, KEPT_LINKS = 2048 /* ends of dependencies that are looked at */ };

typedef struct {
    uint64_t ticket; /* 0: none */
    uint32_t size;
    uint8_t data[KEPT_BYTES];
} kept_call_t;

typedef struct {
    kept_call_t *of; /* KEPT_CALLS, by serial number; NULL until the first */
    uint32_t work;   /* number of the piece of work in which `links` were counted */
    uint32_t links;
} kept_calls_t;

void kept_calls_close(kept_calls_t *kept);
/* `task` has just been submitted. */
void kept_calls_submitted(csched_t *s, const task_t *task);
/* `task` has an input, or is one. */
void kept_calls_linked(csched_t *s, const task_t *task);

#endif
