/* The shares that tasks hold of resources: from the moment a task is sent until it is over, failed, or came back.
 *
 * A task with a share should run soon, since others wait for what it holds.  So it goes to a worker with nothing to do
 * where there is one, whatever the policy says; else behind what a window holds, as any other.  Should a worker have
 * nothing to do before it began, it is taken back for that one: by stealing, and here under policies that never steal. */
#include "internal.h"

#define MOST_UNITS (UINT64_C(1) << 60)

int share_ask(csched_t *s, task_t *task, const csched_options_t *options)
{
    if (options->need_count > NEEDS_MOST)
        return CSCHED_EINVAL;
    int rc = demand_take(&s->graph.resources, options->needs, (uint32_t)options->need_count, &task->demand);
    if (rc < 0)
        return rc;
    task->flags |= FLAG_ASKS | FLAG_ALONE; /* on a lane too its share is held while it runs, and not while others do */
    map_task(&s->map, task, CSCHED_MAP_WAITING);
    return CSCHED_OK;
}

void share_take(csched_t *s, task_t *task, uint32_t queue)
{
    task->flags |= FLAG_HOLDS;
    map_task(&s->map, task, CSCHED_MAP_QUEUED);
    line_take(&s->graph, queue, task->demand);
}

void share_return(csched_t *s, task_t *task)
{
    task->flags &= (uint8_t)~FLAG_HOLDS;
    map_task(&s->map, task, CSCHED_MAP_WAITING);
    line_return(&s->graph, task->demand);
}

void share_over(csched_t *s, task_t *task)
{
    if (task->flags & FLAG_HOLDS)
        line_return(&s->graph, task->demand);
    demand_drop(&s->graph.resources, task->demand);
    task->flags &= (uint8_t)~(FLAG_ASKS | FLAG_HOLDS);
}

static bool is_idle(const load_t *load)
{
    return load->window && !load->held;
}

uint32_t share_worker(const csched_t *s, uint32_t warm)
{
    uint32_t found = NO_CHOICE;
    if (warm < s->worker_count && is_idle(&s->loads[warm]))
        return warm;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        if (!is_idle(&s->loads[i]))
            continue;
        if (s->loads[i].awake)
            return i;
        found = found == NO_CHOICE ? i : found;
    }
    return found;
}

/* The newest one that a worker holds and has not begun. */
static bool recall_one(csched_t *s, worker_t *worker)
{
    for (uint32_t i = worker->held_count; i-- > 0;) {
        uint32_t slot = held_at(worker, i)->slot;
        task_t *task = slot != NO_TASK ? task_at(s, slot) : NULL;
        if (!task || !(task->flags & FLAG_HOLDS) || !window_revoke(s, task, slot))
            continue;
        ready_push_front(&s->graph, slot);
        return true;
    }
    return false;
}

bool share_recall(csched_t *s)
{
    uint32_t idle = 0, recalled = 0;
    for (uint32_t i = 0; i < s->worker_count; i++)
        idle += is_idle(&s->loads[i]);
    for (uint32_t i = 0; i < s->worker_count && recalled < idle; i++)
        recalled += s->loads[i].held >= 2 && recall_one(s, s->workers[i]);
    return recalled > 0;
}

static bool asked_for_more(const resources_t *resources, uint32_t resource, uint64_t total)
{
    for (uint32_t i = 1; i < resources->demand_count; i++)
        if (resources->demands[i].tasks && demand_of(resources, i, resource) > total)
            return true;
    return false;
}

CSCHED_EXPORT int csched_resource_set(csched_t *s, uint32_t resource, uint64_t total)
{
    if (resource >= RESOURCES_MOST || total > MOST_UNITS)
        return CSCHED_EINVAL;
    pthread_mutex_lock(&s->lock);
    int rc = asked_for_more(&s->graph.resources, resource, total) ? CSCHED_EINVAL : CSCHED_OK;
    if (!rc) {
        look_at_clock(s);
        s->graph.resources.of[resource].total = total;
        line_call_first(&s->graph, resource);
        dispatch(s);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int csched_resource_info(csched_t *s, uint32_t resource, csched_resource_t *info)
{
    if (resource >= RESOURCES_MOST)
        return CSCHED_EINVAL;
    pthread_mutex_lock(&s->lock);
    const resource_t *of = &s->graph.resources.of[resource];
    *info = (csched_resource_t){.total = of->total, .used = of->used, .holders = of->holders};
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}
