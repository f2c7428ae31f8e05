#include "resources.h"

#include <stdlib.h>
#include <string.h>

#include "graph.h"

#define NO_DEMAND UINT32_MAX

void resources_open(resources_t *resources)
{
    memset(resources, 0, sizeof *resources);
    memset(resources->buckets, 0xff, sizeof resources->buckets);
    for (uint32_t i = 0; i < RESOURCES_MOST; i++)
        resources->of[i].first = resources->of[i].last = NO_QUEUE;
    resources->demand_count = 1;
    resources->demand_free = NO_DEMAND;
    resources->reserved_for = NO_QUEUE;
}

void resources_close(resources_t *resources)
{
    free(resources->demands);
    resources->demands = NULL;
}

/* -- demands */

static bool makes_sense(const resources_t *resources, const csched_need_t *needs, uint32_t count)
{
    if (!count || count > NEEDS_MOST)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t resource = needs[i].resource;
        if (resource >= RESOURCES_MOST || !needs[i].amount || needs[i].amount > resources->of[resource].total)
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (needs[j].resource == resource)
                return false;
    }
    return true;
}

static uint32_t *bucket_of(resources_t *resources, const csched_need_t *needs, uint32_t count)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ needs[i].resource ^ needs[i].amount) * UINT64_C(0x9e3779b97f4a7c15);
    return &resources->buckets[(hash >> 32) % DEMAND_BUCKETS];
}

static bool is_demand(const demand_t *demand, const csched_need_t *needs, uint32_t count)
{
    bool same = demand->count == count;
    for (uint32_t i = 0; same && i < count; i++)
        same = demand->of[i].resource == needs[i].resource && demand->of[i].amount == needs[i].amount;
    return same;
}

static int demand_make(resources_t *resources, uint32_t *demand)
{
    if (resources->demand_free != NO_DEMAND) {
        *demand = resources->demand_free;
        resources->demand_free = resources->demands[*demand].next;
        return CSCHED_OK;
    }
    if (resources->demand_count >= resources->demand_capacity) {
        uint32_t capacity = resources->demand_capacity ? 2 * resources->demand_capacity : 8;
        demand_t *grown = realloc(resources->demands, capacity * sizeof *grown);
        if (!grown)
            return CSCHED_ENOMEM;
        resources->demands = grown;
        resources->demand_capacity = capacity;
    }
    *demand = resources->demand_count++;
    return CSCHED_OK;
}

int demand_take(resources_t *resources, const csched_need_t *needs, uint32_t count, uint32_t *demand)
{
    if (!makes_sense(resources, needs, count))
        return CSCHED_EINVAL;
    uint32_t *bucket = bucket_of(resources, needs, count);
    uint32_t at = *bucket;
    while (at != NO_DEMAND && !is_demand(&resources->demands[at], needs, count))
        at = resources->demands[at].next;
    if (at == NO_DEMAND) {
        int rc = demand_make(resources, &at);
        if (rc < 0)
            return rc;
        resources->demands[at] = (demand_t){.count = count, .next = *bucket};
        memcpy(resources->demands[at].of, needs, count * sizeof *needs);
        *bucket = at;
    }
    resources->demands[at].tasks++;
    *demand = at;
    return CSCHED_OK;
}

void demand_drop(resources_t *resources, uint32_t demand)
{
    demand_t *gone = &resources->demands[demand];
    if (--gone->tasks)
        return;
    uint32_t *link = bucket_of(resources, gone->of, gone->count);
    while (*link != demand)
        link = &resources->demands[*link].next;
    *link = gone->next;
    gone->next = resources->demand_free;
    resources->demand_free = demand;
}

uint64_t demand_of(const resources_t *resources, uint32_t demand, uint32_t resource)
{
    const demand_t *asked = &resources->demands[demand];
    for (uint32_t i = 0; demand && i < asked->count; i++)
        if (asked->of[i].resource == resource)
            return asked->of[i].amount;
    return 0;
}

/* -- wait queues */

static void unlink_queue(graph_t *graph, uint32_t at)
{
    queue_t *queues = graph->ready.queues, *queue = &queues[at];
    resource_t *resource = &graph->resources.of[queue->waits_for - 1];
    if (queue->before != NO_QUEUE)
        queues[queue->before].after = queue->after;
    else
        resource->first = queue->after;
    if (queue->after != NO_QUEUE)
        queues[queue->after].before = queue->before;
    else
        resource->last = queue->before;
    queue->waits_for = 0;
    queue->place = NO_QUEUE;
    graph->ready.parked--;
}

void wait_queue_wake(graph_t *graph, uint32_t at)
{
    uint8_t resource = graph->ready.queues[at].waits_for;
    unlink_queue(graph, at);
    graph->ready.queues[at].woken_by = resource;
    ready_join(&graph->ready, at);
}

void wait_queue_wake_first(graph_t *graph, uint32_t resource)
{
    if (graph->resources.of[resource].first != NO_QUEUE)
        wait_queue_wake(graph, graph->resources.of[resource].first);
}

/* The order of the ready queues, except that the queue with a reservation precedes others of its priority: they wait
 * for it. */
static bool comes_first(const graph_t *graph, uint32_t a, uint32_t b)
{
    const queue_t *queues = graph->ready.queues;
    uint32_t reserved_for = graph->resources.reserved_for;
    if ((a == reserved_for || b == reserved_for) && queues[a].priority == queues[b].priority)
        return a == reserved_for;
    return ready_before(&graph->ready, a, b);
}

/* Searches for its place from the end: new queues mostly come last. */
static void wait_queue_enter(graph_t *graph, uint32_t at, uint32_t resource)
{
    ready_t *ready = &graph->ready;
    resource_t *of = &graph->resources.of[resource];
    uint32_t before = of->last;
    while (before != NO_QUEUE && comes_first(graph, at, before))
        before = ready->queues[before].before;
    uint32_t after = before == NO_QUEUE ? of->first : ready->queues[before].after;
    queue_t *queue = &ready->queues[at];
    queue->before = before;
    queue->after = after;
    queue->waits_for = (uint8_t)(resource + 1);
    queue->place = PARKED;
    ready->parked++;
    *(before == NO_QUEUE ? &of->first : &ready->queues[before].after) = at;
    *(after == NO_QUEUE ? &of->last : &ready->queues[after].before) = at;
}

/* Moves a queue whose first task lacks this resource from the heap to the wait queue.  If another resource had woken it,
 * the next queue that waits for that one is woken instead. */
static void park(graph_t *graph, uint32_t at, uint32_t resource)
{
    queue_t *queue = &graph->ready.queues[at];
    uint32_t from = queue->woken_by;
    queue->woken_by = 0;
    bool in_vain = from && from != resource + 1;
    if (in_vain && queue->tries < RESERVE_AFTER)
        queue->tries++;
    if (in_vain && queue->tries == RESERVE_AFTER && graph->resources.reserved_for == NO_QUEUE)
        graph->resources.reserved_for = at;
    ready_leave(&graph->ready, at);
    wait_queue_enter(graph, at, resource);
    if (in_vain)
        wait_queue_wake_first(graph, from - 1);
}

static void end_reservation(graph_t *graph)
{
    resources_t *resources = &graph->resources;
    uint32_t demand = graph->ready.queues[resources->reserved_for].demand;
    resources->reserved_for = NO_QUEUE;
    for (uint32_t i = 0; i < resources->demands[demand].count; i++)
        wait_queue_wake_first(graph, resources->demands[demand].of[i].resource);
}

/* Wakes the queue behind it, which may ask for less. */
void wait_queue_emptied(graph_t *graph, uint32_t at)
{
    queue_t *queue = &graph->ready.queues[at];
    uint32_t resource = queue->waits_for ? queue->waits_for : queue->woken_by;
    bool first = !queue->waits_for || queue->before == NO_QUEUE;
    if (queue->waits_for)
        unlink_queue(graph, at);
    queue->woken_by = queue->tries = 0;
    if (resource && first)
        wait_queue_wake_first(graph, resource - 1);
    if (graph->resources.reserved_for == at)
        end_reservation(graph);
}

/* How much of a resource this queue must leave to the queue with the reservation. */
static uint64_t reserved_from(const graph_t *graph, uint32_t at, uint32_t resource)
{
    const resources_t *resources = &graph->resources;
    const queue_t *other = &graph->ready.queues[resources->reserved_for];
    if (resources->reserved_for == at || other->priority < graph->ready.queues[at].priority)
        return 0;
    return demand_of(resources, other->demand, resource);
}

static bool may_have(const graph_t *graph, uint32_t at, const csched_need_t *need)
{
    const resource_t *resource = &graph->resources.of[need->resource];
    uint64_t wanted = need->amount + resource->used;
    if (graph->resources.reserved_for != NO_QUEUE)
        wanted += reserved_from(graph, at, need->resource);
    if (wanted > resource->total)
        return false;
    return resource->first == NO_QUEUE || !comes_first(graph, resource->first, at);
}

bool resources_admit(graph_t *graph)
{
    uint32_t at = graph->ready.heap[0];
    const demand_t *demand = &graph->resources.demands[graph_task(graph, graph->ready.queues[at].head)->demand];
    for (uint32_t i = 0; i < demand->count; i++)
        if (!may_have(graph, at, &demand->of[i])) {
            park(graph, at, demand->of[i].resource);
            return false;
        }
    return true;
}

void resources_take(graph_t *graph, uint32_t at, uint32_t demand)
{
    resources_t *resources = &graph->resources;
    const demand_t *asked = &resources->demands[demand];
    queue_t *queue = &graph->ready.queues[at];
    queue->woken_by = queue->tries = 0;
    if (resources->reserved_for == at)
        resources->reserved_for = NO_QUEUE;
    resources->allocations++;
    for (uint32_t i = 0; i < asked->count; i++) {
        resource_t *resource = &resources->of[asked->of[i].resource];
        resource->used += asked->of[i].amount;
        resource->holders++;
        if (resource->used < resource->total)
            wait_queue_wake_first(graph, asked->of[i].resource);
    }
}

void resources_return(graph_t *graph, uint32_t demand)
{
    resources_t *resources = &graph->resources;
    const demand_t *asked = &resources->demands[demand];
    resources->allocations--;
    for (uint32_t i = 0; i < asked->count; i++) {
        resources->of[asked->of[i].resource].used -= asked->of[i].amount;
        resources->of[asked->of[i].resource].holders--;
        wait_queue_wake_first(graph, asked->of[i].resource);
    }
}

uint64_t wait_queue_tasks(const graph_t *graph)
{
    uint64_t count = 0;
    for (uint32_t i = 0; graph->ready.parked && i < RESOURCES_MOST; i++)
        for (uint32_t at = graph->resources.of[i].first; at != NO_QUEUE; at = graph->ready.queues[at].after)
            count += graph->ready.queues[at].count;
    return count;
}
