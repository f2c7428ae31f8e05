/* Ending running tasks, and answers to failed attempts.
 *
 * A task that shall end is marked, and its ticket written to its worker's segment.  Then the caller signals the worker,
 * which raises KeyboardInterrupt if that task is in user code (csched_worker_interrupted), and reports that.  A signal
 * that came too early or too late has no effect: the caller repeats it while csched_unheard.  A task that does not end
 * in time is ended with its worker, after csched_worker_condemn has made sure that no other task is hit. */
#include "cancel.h"
#include "dispatch.h"
#include "doorbell.h"
#include "drain.h"
#include "internal.h"
#include "stop.h"
#include "task.h"
#include "window.h"
#include "segment.h"

static task_t *find_asked(csched_t *s, uint64_t ticket)
{
    task_t *task = graph_find(&s->graph, ticket);
    return task && task->state == TASK_DELAYED && task->flags & FLAG_RETRY_ASKED ? task : NULL;
}

CSCHED_EXPORT int csched_retry(csched_t *s, uint64_t ticket, uint64_t delay_ns)
{
    pthread_mutex_lock(&s->lock);
    task_t *task = find_asked(s, ticket);
    if (task) {
        task->not_before = clock_refresh(s) + delay_ns; /* tick sends it */
        task_tried(s, task);
    }
    pthread_mutex_unlock(&s->lock);
    return task ? CSCHED_OK : CSCHED_EINVAL;
}

CSCHED_EXPORT int csched_give_up(csched_t *s, uint64_t ticket, uint32_t status)
{
    pthread_mutex_lock(&s->lock);
    uint32_t last = s->completions.tail;
    task_t *task = find_asked(s, ticket);
    if (task) {
        s->graph.waiting_count--; /* its entry among the delayed is skipped later */
        task_given_up(s, task, status);
        task_finish(s, ticket_slot(ticket), status, NULL, 0);
        after_cancel(s, last);
    }
    pthread_mutex_unlock(&s->lock);
    if (task)
        doorbell_ring(s);
    return task ? CSCHED_OK : CSCHED_EINVAL;
}

static bool is_claimed(const segment_t *segment, uint64_t ticket, uint32_t attempt, uint32_t element)
{
    return u64_acquire(&segment->claim_ticket) == ticket && /* partner: claim */
           u32_relaxed(&segment->claim_attempt) == attempt &&
           (element == NO_ELEMENT || u32_acquire(&segment->claim_element) == element);
}

/* Marks a task that could not be revoked (it runs, or is about to) in its worker's segment. */
static void mark(csched_t *s, const task_t *task, uint32_t element, csched_target_t *target)
{
    segment_t *segment = s->workers[task->worker]->segment;
    u32_store_relaxed(&segment->interrupt_element, element);
    u32_store_relaxed(&segment->interrupt_attempt, task->attempt);
    u64_store_release(&segment->interrupt_ticket, task->ticket); /* partner: csched_worker_interrupted */
    uint64_t since = u64_acquire(&segment->claim_ticket) == task->ticket ? u64_relaxed(&segment->claim_since) : s->now;
    if (element != NO_ELEMENT)
        since = u64_relaxed(&segment->element_since);
    *target = (csched_target_t){
        .ticket = task->ticket, .since = since, .worker = task->worker, .element = element, .attempt = task->attempt};
}

/* Of the tasks that the worker has claimed only the last can run; the others have results in its ring. */
static bool is_last_taken(worker_t *worker, uint32_t slot)
{
    if (worker->lane)
        return true; /* all its results were drained just before */
    for (uint32_t i = worker->held_count; i-- > 0;) {
        const held_t *held = held_at(worker, i);
        bool reused = worker->tasks.position - held->position > worker->tasks.capacity;
        if (held->slot != NO_TASK && (reused || u32_acquire(&held->entry->claim) != CLAIM_QUEUED)) /* partner: claim */
            return held->slot == slot;
    }
    return false;
}

/* Drains lanes before tasks are stopped: published tasks are over. */
static void drain_lanes(csched_t *s)
{
    uint32_t last = s->completions.tail;
    clock_refresh(s);
    for (uint32_t i = 0; i < s->worker_count; i++)
        while (s->workers[i]->lane && s->workers[i]->state == WORKER_READY && drain_worker(s, i))
            continue;
    task_propagate(s, last);
}

/* 1: cancelled; 2: it runs, and will end as cancelled; 0: over. */
static int stop_one(csched_t *s, task_t *task, uint32_t slot, csched_target_t *target)
{
    if (task_cancel(s, task, slot))
        return 1;
    if (task->state != TASK_SENT)
        return 0;
    task->retries = task->attempt; /* no retry, whatever its outcome */
    if (!is_last_taken(s->workers[task->worker], slot))
        return 0;
    task->flags |= FLAG_STOPPING;
    mark(s, task, NO_ELEMENT, target);
    return 2;
}

CSCHED_EXPORT int csched_stop_task(csched_t *s, uint64_t ticket, csched_target_t *target)
{
    pthread_mutex_lock(&s->lock);
    drain_lanes(s);
    uint32_t last = s->completions.tail;
    clock_refresh(s);
    task_t *task = graph_find(&s->graph, ticket);
    int found = task ? stop_one(s, task, ticket_slot(ticket), target) : 0;
    if (found == 1)
        cancel_leaves_a_row(s, task);
    after_cancel(s, last);
    pthread_mutex_unlock(&s->lock);
    if (found == 1)
        doorbell_ring(s);
    return found;
}

CSCHED_EXPORT int csched_stop_run(csched_t *s, uint32_t run, uint32_t after, csched_target_t *targets, uint32_t most,
                                  uint32_t *cancelled)
{
    pthread_mutex_lock(&s->lock);
    drain_lanes(s);
    uint32_t last = s->completions.tail, count = 0;
    *cancelled = 0;
    clock_refresh(s);
    for (uint32_t slot = 0; slot < s->graph.capacity && count < most; slot++) {
        task_t *task = task_at(s, slot);
        uint32_t serial = (uint32_t)(task->ticket >> 32);
        if (task->state == TASK_FREE || task->state == TASK_DONE || task->run != run ||
            (after && (int32_t)(serial - after) <= 0))
            continue;
        int found = stop_one(s, task, slot, &targets[count]);
        *cancelled += found == 1;
        count += found == 2;
    }
    after_cancel(s, last);
    pthread_mutex_unlock(&s->lock);
    if (*cancelled)
        doorbell_ring(s);
    return (int)count;
}

static task_t *find_sent(csched_t *s, uint64_t ticket)
{
    task_t *task = graph_find(&s->graph, ticket);
    return task && task->state == TASK_SENT && s->workers[task->worker]->segment ? task : NULL;
}

CSCHED_EXPORT int csched_interrupt(csched_t *s, uint64_t ticket, uint32_t element, csched_target_t *target)
{
    pthread_mutex_lock(&s->lock);
    clock_refresh(s);
    const task_t *task = find_sent(s, ticket);
    if (task && element == NO_ELEMENT && !(task->flags & FLAG_OVERDUE))
        task = NULL; /* the attempt that was past its limit is over; a chunk has one attempt */
    if (task)
        mark(s, task, task->flags & FLAG_STOPPING ? NO_ELEMENT : element,
             target); /* stopping: it is marked as a whole */
    pthread_mutex_unlock(&s->lock);
    return task != NULL;
}

CSCHED_EXPORT int csched_unheard(csched_t *s, uint64_t ticket, uint32_t attempt, uint32_t element)
{
    pthread_mutex_lock(&s->lock);
    const task_t *task = find_sent(s, ticket);
    int rc = CSCHED_EAGAIN;
    if (task && task->attempt == attempt) {
        const segment_t *segment = s->workers[task->worker]->segment;
        rc = u64_acquire(&segment->heard_ticket) != ticket || /* partner: csched_worker_heard */
             u32_relaxed(&segment->heard_attempt) != attempt ||
             (element != NO_ELEMENT && u32_relaxed(&segment->heard_element) != element);
        if (element != NO_ELEMENT && !is_claimed(segment, ticket, attempt, element))
            rc = CSCHED_EAGAIN;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* Called before a worker is killed for its running task: takes back its other tasks and sends no more, so that the
 * signal cannot hit another task. 1: this attempt still runs there; 0: it does not, and the worker goes on. The signal can
 * hit a later element of the same chunk, which then runs again as the others do. */
CSCHED_EXPORT int csched_worker_condemn(csched_t *s, uint32_t index, uint64_t ticket, uint32_t attempt,
                                        uint32_t element)
{
    pthread_mutex_lock(&s->lock);
    worker_t *worker = index < s->worker_count ? s->workers[index] : NULL;
    bool runs = false;
    if (worker && worker->segment && is_claimed(worker->segment, ticket, attempt, element)) {
        clock_refresh(s);
        for (uint32_t i = worker->held_count; i-- > 0;) {
            uint32_t slot = i < worker->held_count ? held_at(worker, i)->slot : NO_TASK;
            if (slot != NO_TASK && window_revoke(s, task_at(s, slot), slot))
                ready_return(&s->graph, slot);
        }
        fence_seq_cst(); /* nothing is left to claim: the present claim stays until its result is published */
        runs = is_claimed(worker->segment, ticket, attempt, element);
        if (runs) {
            worker->condemned_element = element;
            worker->retiring = true;
            s->loads[index].window = 0;
        }
        dispatch(s);
    }
    pthread_mutex_unlock(&s->lock);
    return runs;
}

uint32_t stopping_of(const csched_t *s, uint32_t run, bool every)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        const segment_t *segment = s->workers[i]->segment;
        uint64_t ticket = segment ? u64_relaxed(&segment->claim_ticket) : 0;
        const task_t *task = ticket ? graph_find(&s->graph, ticket) : NULL;
        if (task && task->state == TASK_SENT && task->flags & FLAG_STOPPING && (every || task->run == run))
            count++; /* as those that run: of a chunk one element does */
    }
    return count;
}
