/* Why a task waits. */
#include <string.h>

#include "internal.h"
#include "window.h"
#include "segment.h"

enum { SLOTS_AT_A_TIME = 4096, EDGES_LOOKED_AT = 16384 };

static uint64_t claimed(const worker_t *worker)
{
    return worker->segment ? u64_acquire(&worker->segment->claim_ticket) : 0; /* partner: claim in worker.c */
}

static void describe_sent(csched_t *s, const task_t *task, csched_why_t *why)
{
    worker_t *worker = s->workers[task->worker];
    why->worker = task->worker;
    why->ticket = claimed(worker);
    why->since = why->ticket ? u64_relaxed(&worker->segment->claim_since) : task->ready;
    if (why->ticket == task->ticket) {
        why->reason = task->flags & FLAG_STOPPING ? CSCHED_WHY_STOPPING : CSCHED_WHY_RUNNING;
        return;
    }
    why->reason = worker->state == WORKER_READY ? CSCHED_WHY_SENT : CSCHED_WHY_NO_WORKER;
    for (uint32_t i = 0; i < worker->held_count; i++) {
        uint32_t slot = held_at(worker, i)->slot;
        if (slot == NO_TASK)
            continue;
        if (slot == ticket_slot(task->ticket))
            break;
        why->ahead++;
    }
}

static uint64_t first_of(csched_t *s, uint32_t queue)
{
    return task_at(s, s->graph.ready.queues[queue].head)->ticket;
}

/* The resource it lacks, and the task that gets it first: at the head of the wait queue, or with the reservation. */
static void describe_parked(csched_t *s, const task_t *task, csched_why_t *why)
{
    const resources_t *resources = &s->graph.resources;
    uint32_t queue = task->queue, resource = s->graph.ready.queues[queue].waits_for - 1u;
    const resource_t *of = &resources->of[resource];
    uint32_t first = of->first != queue ? of->first : resources->reserved_for;
    why->reason = CSCHED_WHY_RESOURCE;
    why->resource = resource;
    why->wanted = demand_of(resources, task->demand, resource);
    why->used = of->used;
    why->total = of->total;
    if (first != NO_QUEUE && first != queue) {
        why->first = first_of(s, first);
        why->first_wanted = demand_of(resources, task_at(s, s->graph.ready.queues[first].head)->demand, resource);
    }
}

static void describe_workers(const csched_t *s, csched_why_t *why)
{
    for (uint32_t i = 0; i < s->worker_count; i++) {
        uint32_t state = s->workers[i]->state;
        why->workers += state == WORKER_READY || state == WORKER_STARTING;
        why->ready += state == WORKER_READY && !s->workers[i]->retiring;
    }
}

static void describe(csched_t *s, const task_t *task, csched_why_t *why)
{
    *why = (csched_why_t){.run = task->run,
                          .function = task->function,
                          .count = task->count,
                          .priority = (int32_t)task->priority + PRIORITY_MIN,
                          .worker = UINT32_MAX,
                          .inputs = task->state == TASK_DONE ? 0 : task->input_count,
                          .attempt = task->attempt,
                          .retries = task->retries};
    describe_workers(s, why);
    switch (task->state) {
    case TASK_WAITING:
        why->reason = CSCHED_WHY_INPUTS;
        why->missing = task->missing;
        why->since = task->submitted;
        break;
    case TASK_DELAYED:
        why->reason = CSCHED_WHY_DELAYED;
        why->asked = task->flags & FLAG_RETRY_ASKED ? 1 : 0;
        why->until = why->asked ? 0 : task->not_before;
        break;
    case TASK_QUEUED:
        why->reason = s->paused ? CSCHED_WHY_PAUSED : why->ready ? CSCHED_WHY_QUEUED : CSCHED_WHY_NO_WORKER;
        if (!s->paused && graph_parked(&s->graph, task))
            describe_parked(s, task, why);
        why->since = task->ready;
        break;
    case TASK_SENT:
        describe_sent(s, task, why);
        break;
    default:
        why->reason = CSCHED_WHY_OVER;
    }
}

/* Whether the waiting task takes this one's result. */
static bool feeds(const csched_t *s, const task_t *producer, uint64_t ticket)
{
    uint32_t edge = producer->dependents;
    for (uint32_t n = 0; edge != NO_EDGE && n < EDGES_LOOKED_AT; n++, edge = s->graph.edges[edge].next)
        if (s->graph.edges[edge].ticket == ticket)
            return true;
    return false;
}

static void count_before(const task_t *other, uint64_t ticket, csched_why_t *why)
{
    int32_t priority = (int32_t)other->priority + PRIORITY_MIN;
    if (other->ticket == ticket || priority < why->priority)
        return;
    if (priority > why->priority)
        why->higher += other->count;
    else if (other->run != why->run)
        why->others += other->count;
    else if ((int32_t)((uint32_t)(other->ticket >> 32) - (uint32_t)(ticket >> 32)) < 0)
        why->same += other->count;
}

static void name_holder(const csched_t *s, const task_t *other, csched_why_t *why)
{
    const uint32_t room = sizeof why->holders / sizeof *why->holders;
    if (why->reason == CSCHED_WHY_RESOURCE && other->flags & FLAG_ALLOCATED && why->holder_count < room &&
        demand_of(&s->graph.resources, other->demand, why->resource))
        why->holders[why->holder_count++] = other->ticket;
}

/* Counts the tasks before it, or lists its inputs, some thousand records at a time. */
static void look_around(csched_t *s, uint64_t ticket, csched_why_t *why)
{
    const uint32_t room = sizeof why->waits_for / sizeof *why->waits_for;
    bool queued = why->reason != CSCHED_WHY_INPUTS;
    for (uint32_t slot = 0, more = 1; more;) {
        pthread_mutex_lock(&s->lock);
        uint32_t end = slot + SLOTS_AT_A_TIME < s->graph.capacity ? slot + SLOTS_AT_A_TIME : s->graph.capacity;
        for (uint32_t edges = 0; slot < end && edges < 8; slot++) {
            const task_t *other = task_at(s, slot);
            if (queued && other->state == TASK_QUEUED)
                count_before(other, ticket, why);
            if (queued && other->state == TASK_SENT)
                name_holder(s, other, why);
            if (queued || other->state == TASK_FREE || other->dependents == NO_EDGE || why->named >= room)
                continue;
            if (other->state != TASK_DONE && feeds(s, other, ticket))
                why->waits_for[why->named++] = other->ticket;
            edges += s->graph.edges[other->dependents].next != NO_EDGE; /* a long list is many steps */
        }
        more = slot < s->graph.capacity && (queued || (why->named < why->missing && why->named < room));
        pthread_mutex_unlock(&s->lock);
    }
}

CSCHED_EXPORT int csched_why(csched_t *s, uint64_t ticket, csched_why_t *why)
{
    pthread_mutex_lock(&s->lock);
    const task_t *task = graph_find(&s->graph, ticket);
    if (task)
        describe(s, task, why);
    else
        *why = (csched_why_t){.reason = CSCHED_WHY_OVER, .worker = UINT32_MAX};
    pthread_mutex_unlock(&s->lock);
    if (why->reason == CSCHED_WHY_INPUTS || why->reason >= CSCHED_WHY_PAUSED)
        if (why->reason != CSCHED_WHY_SENT)
            look_around(s, ticket, why);
    return CSCHED_OK;
}
