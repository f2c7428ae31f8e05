/* Cancellation and questions about one task. */
#include "cancel.h"
#include "dispatch.h"
#include "doorbell.h"
#include "internal.h"
#include "task.h"
#include "window.h"

bool task_cancel(csched_t *s, task_t *task, uint32_t slot)
{
    if (task->state == TASK_QUEUED)
        ready_remove(&s->graph, slot);
    else if (task->state == TASK_WAITING || task->state == TASK_DELAYED)
        s->graph.waiting_count--; /* its edges and its entry among the delayed are skipped later */
    else if (task->state != TASK_SENT || !window_revoke(s, task, slot))
        return false;
    task_tried(s, task);
    task_finish(s, slot, CSCHED_CANCELLED, NULL, 0);
    return true;
}

void after_cancel(csched_t *s, uint32_t last)
{
    if (s->completions.tail == last)
        return;
    clock_refresh(s);
    task_propagate(s, last);
    dispatch(s);
}

/* Adds a journey row for a task that was cancelled by itself. For whole runs there are none: they would only push
 * others out. */
void cancel_leaves_a_row(csched_t *s, task_t *task)
{
    task->row = journey_record_incomplete(&s->journey, task, NO_WORKER, CSCHED_CANCELLED, NULL);
}

CSCHED_EXPORT int csched_cancel(csched_t *s, uint64_t ticket)
{
    pthread_mutex_lock(&s->lock);
    uint32_t last = s->completions.tail;
    task_t *task = graph_find(&s->graph, ticket);
    int won = task && task_cancel(s, task, ticket_slot(ticket));
    if (won)
        cancel_leaves_a_row(s, task);
    after_cancel(s, last);
    pthread_mutex_unlock(&s->lock);
    if (won)
        doorbell_ring(s);
    return won;
}

static int cancel_where(csched_t *s, uint32_t run, bool every)
{
    pthread_mutex_lock(&s->lock);
    uint32_t last = s->completions.tail;
    int count = 0;
    for (uint32_t slot = 0; slot < s->graph.capacity; slot++) {
        task_t *task = task_at(s, slot);
        if (task->state != TASK_FREE && task->state != TASK_DONE && (every || task->run == run))
            count += task_cancel(s, task, slot);
    }
    after_cancel(s, last);
    pthread_mutex_unlock(&s->lock);
    if (count)
        doorbell_ring(s);
    return count;
}

CSCHED_EXPORT int csched_cancel_run(csched_t *s, uint32_t run)
{
    return cancel_where(s, run, false);
}

CSCHED_EXPORT int csched_cancel_all(csched_t *s)
{
    return cancel_where(s, 0, true);
}

bool task_runs(csched_t *s, const task_t *task)
{
    return task->state == TASK_SENT && u64_relaxed(&s->workers[task->worker]->segment->claim_ticket) == task->ticket;
}

CSCHED_EXPORT int csched_task_state(csched_t *s, uint64_t ticket)
{
    pthread_mutex_lock(&s->lock);
    const task_t *task = graph_find(&s->graph, ticket);
    int state = 0;
    if (task && (task->state == TASK_WAITING || task->state == TASK_DELAYED || graph_parked(&s->graph, task)))
        state = 1;
    else if (task && task->state != TASK_DONE)
        state = !task_runs(s, task) ? 2 : task->flags & FLAG_STOPPING ? 4 : 3;
    pthread_mutex_unlock(&s->lock);
    return state;
}

CSCHED_EXPORT int csched_task_worker(csched_t *s, uint64_t ticket)
{
    pthread_mutex_lock(&s->lock);
    const task_t *task = graph_find(&s->graph, ticket);
    int worker = task && task_runs(s, task) ? task->worker : -1;
    pthread_mutex_unlock(&s->lock);
    return worker;
}

CSCHED_EXPORT uint32_t csched_task_run(csched_t *s, uint64_t ticket)
{
    pthread_mutex_lock(&s->lock);
    const task_t *task = graph_find(&s->graph, ticket);
    uint32_t run = task ? task->run : UINT32_MAX;
    pthread_mutex_unlock(&s->lock);
    return run;
}

CSCHED_EXPORT uint32_t csched_serial(csched_t *s)
{
    pthread_mutex_lock(&s->lock);
    uint32_t serial = s->graph.serial;
    pthread_mutex_unlock(&s->lock);
    return serial;
}
