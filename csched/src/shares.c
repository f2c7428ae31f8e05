/* The shares that tasks hold of resources: from the moment a task is sent until it is over, failed, or came back. */
#include "internal.h"
#include "shares.h"

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
