/* What tasks ask for beside a worker: memory, and what the executor calls a gpu or a licence.
 *
 * A resource has a total.  A task holds its share of each that it asks for from its dispatch until that attempt ends.
 * All tasks of a ready queue ask for the same.  A queue whose first task lacks something leaves the heap and stands in
 * the line of that resource: a queue that asks for nothing, or for something else, goes past it.
 *
 * Who is served first in a line is who comes first among the ready ones: a higher priority, then the run that has
 * used less time.  No queue takes of a resource past one before it in its line, so that who asks for little cannot
 * keep out who asks for much.  Who asks for several things, and KEEP_AFTER times had its turn for one when another was
 * taken, has all of them kept until it got them; so is one queue at a time.
 *
 * Private memory of the kernel, under the scheduler's lock.  Lines are threaded through the queues; a demand (a set of
 * resources and amounts) is kept once for all tasks that are not over and ask for it.
 */
#ifndef CSCHED_RESOURCES_H
#define CSCHED_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "csched.h"

enum { RESOURCES_MOST = 64, NEEDS_MOST = 8, KEEP_AFTER = 4, DEMAND_BUCKETS = 64 };

typedef struct {
    uint64_t total, used;
    uint32_t holders;     /* tasks that hold some */
    uint32_t first, last; /* of its line; NO_QUEUE: none waits */
} resource_t;

typedef struct {
    csched_need_t of[NEEDS_MOST];
    uint32_t count;
    uint32_t tasks; /* that ask for it and are not over */
    uint32_t next;  /* in its bucket, or the next free one */
} demand_t;

typedef struct {
    resource_t of[RESOURCES_MOST];
    demand_t *demands; /* [0] is unused: it stands for nothing */
    uint32_t demand_count, demand_capacity, demand_free;
    uint32_t buckets[DEMAND_BUCKETS];
    uint32_t keeper; /* the queue for which all is kept that it asks for; NO_QUEUE: none */
    uint32_t allocations; /* tasks that hold any resource */
} resources_t;

struct graph;

void resources_open(resources_t *resources);
void resources_close(resources_t *resources);

int demand_take(resources_t *resources, const csched_need_t *needs, uint32_t count,
                uint32_t *demand); /* one more task */
void demand_drop(resources_t *resources, uint32_t demand);
uint64_t demand_of(const resources_t *resources, uint32_t demand, uint32_t resource); /* 0: it asks for none of it */

/* Whether the first ready task may have what it asks for; if not, its queue stands in a line now. */
bool line_pass(struct graph *graph);
void line_take(struct graph *graph, uint32_t queue, uint32_t demand); /* a task of the queue has its share */
void line_return(struct graph *graph, uint32_t demand);               /* and gives it back */
void line_emptied(struct graph *graph, uint32_t queue);               /* the queue has no task left */
void line_call(struct graph *graph, uint32_t queue);                  /* from its line to the ready ones */
void line_call_first(struct graph *graph, uint32_t resource);         /* there may be some for the first in line */
uint64_t line_tasks(const struct graph *graph); /* that stand in lines */

#endif
