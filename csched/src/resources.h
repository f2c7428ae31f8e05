/* What tasks ask for beside a worker: memory, and what the executor calls a gpu or a licence.
 *
 * A resource has a total.  A task holds the amounts of its demand from its dispatch until that attempt ends.  All tasks
 * of a ready queue have the same demand.  A ready queue whose first task lacks a resource leaves the heap and enters the
 * wait queue of that resource; ready queues that do not ask for that resource are served meanwhile.
 *
 * A wait queue has the order of the ready queues: higher priority first, then the run that has used less time.  No ready
 * queue takes of a resource before those ahead of it in the wait queue, so that small demands cannot starve a large one.
 * When a ready queue was woken by one resource RESERVE_AFTER times and lacked another each time, all its resources are
 * reserved for it until it gets them; one ready queue at a time may hold such a reservation.
 *
 * Private memory of the kernel, under the scheduler's lock.  Wait queues are linked through the ready queues.  A demand
 * (a set of resources and amounts) is stored once for all unfinished tasks that have it.
 */
#ifndef CSCHED_RESOURCES_H
#define CSCHED_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "csched.h"

enum { RESOURCES_MOST = 64, NEEDS_MOST = 8, RESERVE_AFTER = 4, DEMAND_BUCKETS = 64 };

typedef struct {
    uint64_t total, used;
    uint32_t holders;     /* tasks that hold some */
    uint32_t first, last; /* of its wait queue; NO_QUEUE: empty */
} resource_t;

typedef struct {
    csched_need_t of[NEEDS_MOST];
    uint32_t count;
    uint32_t tasks; /* unfinished tasks that have it */
    uint32_t next;  /* in its bucket, or the next free one */
} demand_t;

typedef struct {
    resource_t of[RESOURCES_MOST];
    demand_t *demands; /* [0] is unused: task_t.demand 0 means none */
    uint32_t demand_count, demand_capacity, demand_free;
    uint32_t buckets[DEMAND_BUCKETS];
    uint32_t reserved_for; /* the ready queue with the reservation; NO_QUEUE: none */
    uint32_t allocations; /* tasks that hold any resource */
} resources_t;

struct graph;

void resources_open(resources_t *resources);
void resources_close(resources_t *resources);

/* one more task */
int demand_take(resources_t *resources, const csched_need_t *needs, uint32_t count, uint32_t *demand);
void demand_drop(resources_t *resources, uint32_t demand);
uint64_t demand_of(const resources_t *resources, uint32_t demand, uint32_t resource); /* 0: it asks for none of it */

/* True if the first ready task may take its demand; if not, its ready queue has entered a wait queue. */
bool resources_admit(struct graph *graph);
void resources_take(struct graph *graph, uint32_t queue, uint32_t demand); /* for a task of that ready queue */
void resources_return(struct graph *graph, uint32_t demand);
void wait_queue_emptied(struct graph *graph, uint32_t queue);               /* that ready queue has no task left */
void wait_queue_wake(struct graph *graph, uint32_t queue);                  /* back to the heap */
void wait_queue_wake_first(struct graph *graph, uint32_t resource);         /* some of the resource may be free */
uint64_t wait_queue_tasks(const struct graph *graph); /* in all wait queues */

#endif
