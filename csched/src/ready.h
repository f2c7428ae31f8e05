/* Ready tasks.  A larger priority comes first; runs of the same priority share the workers by the time that their
 * tasks take, whichever came first; within a run and priority first come, first served.
 *
 * Private memory of the kernel, under the scheduler's lock.  Never full: without memory for a queue of its own, a run
 * uses the first one's.
 */
#ifndef CSCHED_READY_H
#define CSCHED_READY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct { /* the tasks of one run and priority that ask for the same */
    uint32_t head, tail; /* NO_TASK: empty */
    uint32_t run;
    uint32_t place;      /* in the heap; NO_QUEUE: empty; PARKED: in a wait queue (resources.h) */
    uint32_t next;       /* in its bucket, or the next free queue */
    uint32_t priority;
    uint64_t used;       /* what its tasks have cost, on the clock of the queues */
    uint64_t mean_ns;    /* of its tasks lately; 0: unknown */
    uint32_t demand;     /* resources that each of its tasks asks for (resources.h); 0: none */
    uint32_t count;      /* tasks */
    uint32_t before, after; /* its neighbours in the wait queue, NO_QUEUE: none */
    uint8_t waits_for, woken_by; /* the resource it waits for, or was last woken by, counted from 1; 0: none */
    uint8_t tries;       /* how often it was woken and lacked another resource */
} queue_t;

#define NO_QUEUE UINT32_MAX
#define PARKED (UINT32_MAX - 1)
enum { READY_BUCKETS = 1024, READY_PRIORITIES = 201 };

typedef struct {
    queue_t *queues; /* [0] takes the tasks of runs for which no queue could be made */
    uint32_t queue_count, capacity;
    uint32_t free;   /* first of the unused queues */
    uint32_t *heap;  /* queues that are not empty, the one to be served next first */
    uint32_t active;
    uint32_t parked; /* queues in wait queues */
    uint32_t named;  /* queues that belong to a run */
    uint32_t last;   /* the queue of the last push: most pushes follow one of the same run */
    uint32_t buckets[READY_BUCKETS];
    uint64_t clock[READY_PRIORITIES]; /* `used` of the queue served last: no queue saves up time while it is empty */
    uint64_t count;  /* tasks */
    bool mixed;      /* there has been another priority than the default */
} ready_t;

struct graph;

int ready_open(ready_t *ready);
void ready_close(ready_t *ready);
void ready_push(struct graph *graph, uint32_t slot);
/* A task that was taken comes back: before those that became ready later. */
void ready_return(struct graph *graph, uint32_t slot);
uint32_t ready_first(const struct graph *graph);           /* the one that is to be taken next, or NO_TASK */
void ready_take(struct graph *graph, uint32_t slot); /* the first one, or another one of its queue */
void ready_remove(struct graph *graph, uint32_t slot);     /* from any position of its queue */
/* The first task of the run in a queue of another priority than this, or NO_TASK. */
uint32_t ready_of_run(const struct graph *graph, uint32_t run, uint32_t priority);
void ready_learn(struct graph *graph, uint32_t run, uint32_t priority, uint32_t demand, uint64_t duration_ns);
bool ready_before(const ready_t *ready, uint32_t a, uint32_t b); /* whether queue `a` is served before queue `b` */
void ready_leave(ready_t *ready, uint32_t queue); /* out of the heap, with its tasks */
void ready_join(ready_t *ready, uint32_t queue);  /* and in again */
void ready_sift(ready_t *ready, uint32_t place);  /* the order of the queue at this place of the heap has changed */

#endif
