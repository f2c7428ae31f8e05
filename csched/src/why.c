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

/* Whether the worker has begun with it: the claim is in the entry, until that is overwritten. */
static bool taken(const worker_t *worker, const held_t *held)
{
    return worker->tasks.position - held->position > worker->tasks.capacity ||
           u32_acquire(&held->entry->claim) != CLAIM_QUEUED; /* partner: claim in worker.c */
}

static bool has_results(const segment_t *segment)
{
    return u64_acquire(&segment->results.tail) != u64_relaxed(&segment->results.head); /* partner: ring_commit */
}

/* What is in the ring before what runs there is over, and so is what was begun while nothing runs: its result has not
 * been taken from the other ring. */
static bool is_over_there(const csched_t *s, worker_t *worker, const task_t *task, csched_why_t *why)
{
    bool behind = !why->ticket, begun = false;
    for (uint32_t i = 0; i < worker->held_count; i++) {
        held_t *held = held_at(worker, i);
        if (held->slot == NO_TASK)
            continue;
        if (held->slot == ticket_slot(task->ticket)) {
            begun = taken(worker, held);
            break;
        }
        behind |= held->slot == ticket_slot(why->ticket);
        why->ahead += behind && (why->ticket || !taken(worker, held));
    }
    why->moves = !begun && s->policy->steal && why->ready > 1;
    return begun && (!why->ticket || !behind) && has_results(worker->segment);
}

static void describe_sent(csched_t *s, const task_t *task, csched_why_t *why)
{
    worker_t *worker = s->workers[task->worker];
    why->worker = task->worker;
    why->ticket = claimed(worker);
    why->since = why->ticket ? u64_relaxed(&worker->segment->claim_since) : task->ready;
    if (why->ticket == task->ticket)
        why->reason = task->flags & FLAG_STOPPING ? CSCHED_WHY_STOPPING : CSCHED_WHY_RUNNING;
    else if (worker->state != WORKER_READY)
        why->reason = CSCHED_WHY_NO_WORKER;
    else
        why->reason = is_over_there(s, worker, task, why) ? CSCHED_WHY_ENDED : CSCHED_WHY_SENT;
}

static uint64_t first_of(csched_t *s, uint32_t queue)
{
    return task_at(s, s->graph.ready.queues[queue].head)->ticket;
}

/* How much of it is kept for the queue with the reservation, as in resources.c. */
static uint64_t kept_from(const csched_t *s, const task_t *task, uint32_t resource)
{
    const resources_t *resources = &s->graph.resources;
    if (resources->reserved_for == NO_QUEUE || resources->reserved_for == task->queue)
        return 0;
    const queue_t *other = &s->graph.ready.queues[resources->reserved_for];
    return other->priority < task->priority ? 0 : demand_of(resources, other->demand, resource);
}

/* The first resource of which there is less than it asks for; RESOURCES_MOST: none, it waits for its turn. */
static uint32_t lacking(const csched_t *s, const task_t *task)
{
    const resources_t *resources = &s->graph.resources;
    const demand_t *asked = &resources->demands[task->demand];
    for (uint32_t i = 0; i < asked->count; i++) {
        const resource_t *of = &resources->of[asked->of[i].resource];
        if (asked->of[i].amount + of->used + kept_from(s, task, asked->of[i].resource) > of->total)
            return asked->of[i].resource;
    }
    return RESOURCES_MOST;
}

/* The same, or what the first queue lacks that waits before it. */
static uint32_t held_up_by(csched_t *s, const task_t *task)
{
    uint32_t resource = lacking(s, task), waits_for = s->graph.ready.queues[task->queue].waits_for - 1u;
    uint32_t first = s->graph.resources.of[waits_for].first;
    if (resource != RESOURCES_MOST || first == NO_QUEUE || first == task->queue)
        return resource;
    return lacking(s, task_at(s, s->graph.ready.queues[first].head)) == waits_for ? waits_for : RESOURCES_MOST;
}

/* The resource it lacks, and the task that gets it first: at the head of the wait queue, or with the reservation. */
static void describe_parked(csched_t *s, const task_t *task, csched_why_t *why)
{
    const resources_t *resources = &s->graph.resources;
    uint32_t queue = task->queue, resource = held_up_by(s, task);
    if (resource == RESOURCES_MOST)
        return;
    const resource_t *of = &resources->of[resource];
    uint32_t first = of->first != queue && of->first != NO_QUEUE ? of->first : resources->reserved_for;
    why->reason = CSCHED_WHY_RESOURCE;
    why->resource = resource;
    why->wanted = demand_of(resources, task->demand, resource);
    why->used = of->used;
    why->total = of->total;
    why->all_holders = of->holders;
    if (first != NO_QUEUE && first != queue) {
        why->first_wanted = demand_of(resources, task_at(s, s->graph.ready.queues[first].head)->demand, resource);
        why->first = why->first_wanted ? first_of(s, first) : 0;
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

/* One that waits for a resource does not hold up others that do not. */
static bool goes_before(csched_t *s, const task_t *other, const csched_why_t *why)
{
    if (why->reason == CSCHED_WHY_RESOURCE)
        return demand_of(&s->graph.resources, other->demand, why->resource);
    return why->reason == CSCHED_WHY_PAUSED || !graph_parked(&s->graph, other) ||
           held_up_by(s, other) == RESOURCES_MOST;
}

static void count_before(csched_t *s, const task_t *other, uint64_t ticket, csched_why_t *why)
{
    int32_t priority = (int32_t)other->priority + PRIORITY_MIN;
    if (other->ticket == ticket || priority < why->priority || !goes_before(s, other, why))
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
                count_before(s, other, ticket, why);
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
        if (why->reason != CSCHED_WHY_SENT && why->reason != CSCHED_WHY_ENDED)
            look_around(s, ticket, why);
    return CSCHED_OK;
}
