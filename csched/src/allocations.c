/* What tasks hold of resources: an allocation lasts from the dispatch of a task until its attempt ends or it is taken
 * back. */
#include "allocations.h"
#include "internal.h"

int allocation_request(csched_t *s, task_t *task, const csched_options_t *options)
{
    if (options->need_count > NEEDS_MOST)
        return CSCHED_EINVAL;
    int rc = demand_take(&s->graph.resources, options->needs, (uint32_t)options->need_count, &task->demand);
    if (rc < 0)
        return rc;
    task->flags |=
        FLAG_DEMANDS | FLAG_ALONE; /* alone in its lane: or it would hold its allocation while others of its pack run */
    state_map_task(&s->state_map, task, CSCHED_MAP_WAITING);
    return CSCHED_OK;
}

void allocation_take(csched_t *s, task_t *task, uint32_t queue)
{
    task->flags |= FLAG_ALLOCATED;
    state_map_task(&s->state_map, task, CSCHED_MAP_QUEUED);
    resources_take(&s->graph, queue, task->demand);
}

void allocation_return(csched_t *s, task_t *task)
{
    task->flags &= (uint8_t)~FLAG_ALLOCATED;
    state_map_task(&s->state_map, task, CSCHED_MAP_WAITING);
    resources_return(&s->graph, task->demand);
}

void allocation_end(csched_t *s, task_t *task)
{
    if (task->flags & FLAG_ALLOCATED)
        resources_return(&s->graph, task->demand);
    demand_drop(&s->graph.resources, task->demand);
    task->flags &= (uint8_t)~(FLAG_DEMANDS | FLAG_ALLOCATED);
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
