/* Changes the priority of tasks that have not begun: they move from one ready queue to another. Tasks in a worker's
 * ring are taken back first, so that they are sent in the new order. */
#include "dispatch.h"
#include "internal.h"
#include "window.h"

enum { MOVED_AT_A_TIME = 512, SLOTS_AT_A_TIME = 1024 };

static bool may_change(const task_t *task)
{
    return task->state == TASK_WAITING || task->state == TASK_DELAYED || task->state == TASK_QUEUED;
}

static void change(csched_t *s, task_t *task, uint32_t slot, uint8_t priority)
{
    bool queued = task->state == TASK_QUEUED;
    if (queued)
        ready_remove(&s->graph, slot);
    task->priority = priority;
    if (queued)
        ready_push(&s->graph, slot);
    s->graph.ready.mixed |= priority != -PRIORITY_MIN; /* tasks that wait for inputs are pushed later */
}

CSCHED_EXPORT int csched_set_priority(csched_t *s, uint64_t ticket, int32_t priority)
{
    if (priority < PRIORITY_MIN || priority > PRIORITY_MAX)
        return CSCHED_EINVAL;
    uint8_t wanted = (uint8_t)(priority - PRIORITY_MIN);
    uint32_t slot = ticket_slot(ticket);
    pthread_mutex_lock(&s->lock);
    task_t *task = graph_find(&s->graph, ticket);
    bool there = task && (may_change(task) || task->state == TASK_SENT);
    if (there && task->priority != wanted) {
        if (task->state == TASK_SENT && (there = window_revoke(s, task, slot)))
            ready_return(&s->graph, slot);
        if (there) {
            clock_refresh(s);
            change(s, task, slot, wanted);
            dispatch(s);
        }
    } else if (there && task->state == TASK_SENT) { /* it has that priority already: too late if it runs */
        there = u64_relaxed(&s->workers[task->worker]->segment->claim_ticket) != ticket;
    }
    pthread_mutex_unlock(&s->lock);
    return there;
}

/* Takes back the run's tasks that workers have not begun, in order. */
static void take_back_run(csched_t *s, uint32_t run, uint8_t priority)
{
    for (uint32_t index = 0;; index++) {
        pthread_mutex_lock(&s->lock);
        worker_t *worker = index < s->worker_count ? s->workers[index] : NULL;
        for (uint32_t i = worker ? worker->held_count : 0; i-- > 0;) {
            uint32_t slot = i < worker->held_count ? held_at(worker, i)->slot : NO_TASK;
            task_t *task = slot != NO_TASK ? task_at(s, slot) : NULL;
            if (!task || task->run != run || task->priority == priority)
                continue;
            if (window_revoke(s, task, slot))
                ready_return(&s->graph, slot);
        }
        pthread_mutex_unlock(&s->lock);
        if (!worker)
            return;
    }
}

/* Moves whole queues from their fronts, which keeps their order; returns the number of elements. */
static int64_t move_queues(csched_t *s, uint32_t run, uint8_t priority)
{
    int64_t elements = 0;
    for (uint32_t moved = MOVED_AT_A_TIME; moved == MOVED_AT_A_TIME;) {
        pthread_mutex_lock(&s->lock);
        uint32_t slot;
        for (moved = 0; moved < MOVED_AT_A_TIME; moved++) {
            if ((slot = ready_of_run(&s->graph, run, priority)) == NO_TASK)
                break;
            elements += task_at(s, slot)->count;
            change(s, task_at(s, slot), slot, priority);
        }
        clock_refresh(s);
        dispatch(s);
        pthread_mutex_unlock(&s->lock);
    }
    return elements;
}

/* Changes tasks that wait for inputs or a time, and those in the shared queue [0]. */
static int64_t change_rest(csched_t *s, uint32_t run, uint8_t priority)
{
    int64_t elements = 0;
    for (uint32_t slot = 0, more = 1; more;) {
        pthread_mutex_lock(&s->lock);
        uint32_t end = slot + SLOTS_AT_A_TIME < s->graph.capacity ? slot + SLOTS_AT_A_TIME : s->graph.capacity;
        for (; slot < end; slot++) {
            task_t *task = task_at(s, slot);
            if (task->run != run || task->priority == priority || !may_change(task))
                continue;
            elements += task->count;
            change(s, task, slot, priority);
        }
        more = slot < s->graph.capacity;
        pthread_mutex_unlock(&s->lock);
    }
    return elements;
}

CSCHED_EXPORT int64_t csched_set_run_priority(csched_t *s, uint32_t run, int32_t priority)
{
    if (priority < PRIORITY_MIN || priority > PRIORITY_MAX)
        return CSCHED_EINVAL;
    uint8_t wanted = (uint8_t)(priority - PRIORITY_MIN);
    take_back_run(s, run, wanted);
    int64_t elements = move_queues(s, run, wanted);
    return elements + change_rest(s, run, wanted);
}
