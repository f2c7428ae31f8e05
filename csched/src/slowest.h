/* The tasks that ran longest in the present piece of work, elements of chunks one by one, with copies of their
 * arguments: kept as tasks end, exact however many there were.  Under the scheduler's lock. */
#ifndef CSCHED_SLOWEST_H
#define CSCHED_SLOWEST_H

#include "csched_views.h"
#include "graph.h"

enum { SLOWEST_BYTES = 65536 }; /* larger payloads are not copied */

typedef struct {
    csched_slow_t of[CSCHED_SLOWEST]; /* the longest first */
    uint8_t *payloads[CSCHED_SLOWEST]; /* NULL: empty, or not kept */
    uint32_t count;
    uint32_t work; /* number of the piece of work */
} slowest_t;

void slowest_close(slowest_t *slowest);
/* `task` has ended on a worker with a result of its own, in the piece of work of this number; `payload`: its bytes.
 * `marks`: when each element began, and the end, if the entry has as many. */
void slowest_ended(slowest_t *slowest, uint32_t work, const task_t *task, const result_entry_t *entry,
                   const uint64_t *marks, const uint8_t *payload, uint64_t size);
void slowest_mark(slowest_t *slowest, uint64_t ticket, uint32_t element, uint32_t status);

#endif
