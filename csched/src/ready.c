#include "ready.h"

#include <stdlib.h>
#include <string.h>

#include "csched.h"
#include "graph.h"

#define LONGEST_NS UINT64_C(3600000000000)
_Static_assert((int)READY_PRIORITIES == (int)PRIORITIES, "a clock for each priority");
enum { UNKNOWN_NS = 1000, REMEMBERED = 256 }; /* number of empty queues kept, since they record used time */
enum { RETURNED_MOST = 64 }; /* at the front of a queue, that are looked at where another one comes back */

static uint32_t bucket_of(uint32_t run, uint32_t priority, uint32_t demand)
{
    return (run * 2654435761u ^ priority * 40503u ^ demand * 7919u) % READY_BUCKETS;
}

int ready_open(ready_t *ready)
{
    memset(ready, 0, sizeof *ready);
    memset(ready->buckets, 0xff, sizeof ready->buckets);
    ready->capacity = 16;
    ready->queues = malloc(ready->capacity * sizeof *ready->queues);
    ready->heap = malloc(ready->capacity * sizeof *ready->heap);
    if (!ready->queues || !ready->heap) {
        ready_close(ready);
        return CSCHED_ENOMEM;
    }
    ready->queues[0] = (queue_t){.head = NO_TASK,
                                 .tail = NO_TASK,
                                 .run = UINT32_MAX,
                                 .place = NO_QUEUE,
                                 .next = NO_QUEUE,
                                 .priority = -PRIORITY_MIN};
    ready->queue_count = 1;
    ready->free = NO_QUEUE;
    return CSCHED_OK;
}

void ready_close(ready_t *ready)
{
    free(ready->queues);
    free(ready->heap);
    memset(ready, 0, sizeof *ready);
}

static void activate(ready_t *ready, uint32_t queue)
{
    queue_t *woken = &ready->queues[queue];
    if (woken->used < ready->clock[woken->priority])
        woken->used = ready->clock[woken->priority];
    ready_join(ready, queue);
}

static void forget(ready_t *ready, uint32_t queue)
{
    const queue_t *gone = &ready->queues[queue];
    uint32_t *link = &ready->buckets[bucket_of(gone->run, gone->priority, gone->demand)];
    while (*link != queue)
        link = &ready->queues[*link].next;
    *link = gone->next;
    ready->queues[queue].next = ready->free;
    ready->queues[queue].run = UINT32_MAX;
    ready->free = queue;
    ready->named--;
    if (ready->last == queue)
        ready->last = 0;
}

/* Takes an empty queue out of the heap or its wait queue. */
static void deactivate(graph_t *graph, uint32_t queue)
{
    ready_t *ready = &graph->ready;
    const queue_t *empty = &ready->queues[queue];
    if (empty->place != PARKED)
        ready_leave(ready, queue);
    if (empty->demand | empty->waits_for | empty->woken_by)
        wait_queue_emptied(graph, queue);
    if (queue && ready->named > ready->active + ready->parked + REMEMBERED)
        forget(ready, queue);
}

/* -- queues by run and priority */

static bool stands_for(const queue_t *queue, uint32_t run, uint32_t priority, uint32_t demand)
{
    return queue->run == run && queue->priority == priority && queue->demand == demand;
}

static uint32_t find(const ready_t *ready, uint32_t run, uint32_t priority, uint32_t demand)
{
    if (ready->last && stands_for(&ready->queues[ready->last], run, priority, demand))
        return ready->last;
    uint32_t queue = ready->buckets[bucket_of(run, priority, demand)];
    while (queue != NO_QUEUE && !stands_for(&ready->queues[queue], run, priority, demand))
        queue = ready->queues[queue].next;
    return queue;
}

static bool grow(ready_t *ready)
{
    uint32_t capacity = 2 * ready->capacity;
    queue_t *queues = realloc(ready->queues, capacity * sizeof *queues);
    if (queues)
        ready->queues = queues;
    uint32_t *heap = queues ? realloc(ready->heap, capacity * sizeof *heap) : NULL;
    if (!heap)
        return false;
    ready->heap = heap;
    ready->capacity = capacity;
    return true;
}

static uint32_t queue_for(ready_t *ready, const task_t *task)
{
    uint32_t run = task->run, priority = task->priority, demand = task->demand;
    uint32_t queue = find(ready, run, priority, demand);
    if (queue != NO_QUEUE)
        return ready->last = queue;
    if (ready->free != NO_QUEUE) {
        queue = ready->free;
        ready->free = ready->queues[queue].next;
    } else if (ready->queue_count < ready->capacity || grow(ready)) {
        queue = ready->queue_count++;
    } else {
        return 0;
    }
    uint32_t *bucket = &ready->buckets[bucket_of(run, priority, demand)];
    ready->queues[queue] = (queue_t){.head = NO_TASK,
                                     .tail = NO_TASK,
                                     .run = run,
                                     .place = NO_QUEUE,
                                     .next = *bucket,
                                     .priority = priority,
                                     .demand = demand};
    *bucket = queue;
    ready->named++;
    ready->mixed |= priority != -PRIORITY_MIN;
    return ready->last = queue;
}

/* -- tasks */

static uint64_t cost_of(const queue_t *queue)
{
    return queue->mean_ns ? queue->mean_ns : UNKNOWN_NS;
}

/* Links a task into a queue before `next`, or at the end of it. */
static void link_task(graph_t *graph, uint32_t slot, uint32_t at, uint32_t next)
{
    task_t *task = graph_task(graph, slot);
    queue_t *queue = &graph->ready.queues[at];
    uint32_t *forward = next == NO_TASK ? &queue->tail : &graph_task(graph, next)->previous;
    uint32_t previous = *forward;
    *forward = slot;
    *(previous == NO_TASK ? &queue->head : &graph_task(graph, previous)->next) = slot;
    task->queue = at;
    task->state = TASK_QUEUED;
    task->next = next;
    task->previous = previous;
    queue->count++;
    graph->ready.count++;
}

static bool is_earlier(const task_t *one, const task_t *other)
{
    return one->ready < other->ready || (one->ready == other->ready && one->ticket < other->ticket);
}

/* The first of a queue that became ready after this task, of those that are looked at. */
static uint32_t first_later(graph_t *graph, const queue_t *queue, const task_t *task)
{
    uint32_t next = queue->head;
    for (uint32_t i = 0; i < RETURNED_MOST && next != NO_TASK && is_earlier(graph_task(graph, next), task); i++)
        next = graph_task(graph, next)->next;
    return next;
}

void ready_push(graph_t *graph, uint32_t slot)
{
    ready_t *ready = &graph->ready;
    const task_t *task = graph_task(graph, slot);
    uint32_t queue = queue_for(ready, task);
    link_task(graph, slot, queue, NO_TASK);
    if (ready->queues[queue].place == NO_QUEUE)
        activate(ready, queue);
}

void ready_return(graph_t *graph, uint32_t slot)
{
    ready_t *ready = &graph->ready;
    const task_t *task = graph_task(graph, slot);
    uint32_t at = queue_for(ready, task);
    queue_t *queue = &ready->queues[at];
    uint64_t cost = cost_of(queue);
    queue->used -= cost < queue->used ? cost : queue->used;
    link_task(graph, slot, at, first_later(graph, queue, task));
    if (queue->place == NO_QUEUE) {
        ready_join(ready, at); /* not by `activate`: its used time stays as it was */
        return;
    }
    if (queue->place == PARKED) /* its order may have changed */
        wait_queue_wake(graph, at);
    ready_sift(ready, queue->place);
}

uint32_t ready_first(const graph_t *graph)
{
    const ready_t *ready = &graph->ready;
    return ready->active ? ready->queues[ready->heap[0]].head : NO_TASK;
}

void ready_remove(graph_t *graph, uint32_t slot)
{
    ready_t *ready = &graph->ready;
    const task_t *task = graph_task(graph, slot);
    queue_t *queue = &ready->queues[task->queue];
    if (task->previous != NO_TASK)
        graph_task(graph, task->previous)->next = task->next;
    else
        queue->head = task->next;
    if (task->next != NO_TASK)
        graph_task(graph, task->next)->previous = task->previous;
    else
        queue->tail = task->previous;
    ready->count--;
    queue->count--;
    if (queue->head == NO_TASK)
        deactivate(graph, task->queue);
}

void ready_take(graph_t *graph, uint32_t slot)
{
    ready_t *ready = &graph->ready;
    uint32_t at = ready->heap[0];
    queue_t *queue = &ready->queues[at];
    ready->clock[queue->priority] = queue->used;
    queue->used += cost_of(queue);
    ready_remove(graph, slot);
    if (ready->active > 1 && queue->place != NO_QUEUE)
        ready_sift(ready, queue->place);
}

uint32_t ready_of_run(const graph_t *graph, uint32_t run, uint32_t priority)
{
    const ready_t *ready = &graph->ready;
    for (uint32_t i = 1; i < ready->queue_count; i++) {
        const queue_t *queue = &ready->queues[i];
        if (queue->head != NO_TASK && queue->run == run && queue->priority != priority)
            return queue->head;
    }
    return NO_TASK;
}

void ready_learn(graph_t *graph, uint32_t run, uint32_t priority, uint32_t demand, uint64_t duration_ns)
{
    ready_t *ready = &graph->ready;
    uint32_t at = find(ready, run, priority, demand);
    if (at == NO_QUEUE)
        return;
    queue_t *queue = &ready->queues[at];
    duration_ns = duration_ns < LONGEST_NS ? duration_ns : LONGEST_NS; /* it comes from shared memory */
    queue->mean_ns = queue->mean_ns ? (7 * queue->mean_ns + duration_ns) / 8 + 1 : duration_ns + 1;
}
