/* Periodic checks: time limits, and tasks delayed until now. Called under the lock. */
#include <stdlib.h>

#include "blob.h"
#include "function.h"
#include "internal.h"
#include "task.h"
#include "tick.h"
#include "segment.h"

/* Checks the running element of a chunk: the limit is per element. */
static void check_element(csched_t *s, uint32_t index, const task_t *task, uint64_t now)
{
    worker_t *worker = s->workers[index];
    segment_t *segment = worker->segment;
    uint32_t element = u32_acquire(&segment->claim_element); /* partner: csched_worker_element */
    uint64_t since = u64_relaxed(&segment->element_since); /* start of this element, or of a later one */
    if (element == NO_ELEMENT || now < since || now - since < task->timeout_ns ||
        (worker->overdue == task->ticket && worker->overdue_element == element))
        return;
    worker->overdue = task->ticket;
    worker->overdue_element = element;
    csched_message_t message = {.kind = CSCHED_OVERDUE,
                                .worker = index,
                                .slot = ticket_slot(task->ticket),
                                .detail = element,
                                .ticket = task->ticket,
                                .limit_ns = task->timeout_ns};
    message_push(s, &message);
}

static void check_limit(csched_t *s, uint32_t index, uint64_t now)
{
    segment_t *segment = s->workers[index]->segment;
    uint64_t ticket = u64_acquire(&segment->claim_ticket); /* partner: claim in worker.c */
    uint64_t since = u64_relaxed(&segment->claim_since);
    task_t *task = ticket ? graph_find(&s->graph, ticket) : NULL;
    if (!task || task->state != TASK_SENT || !task->timeout_ns || task->flags & FLAG_OVERDUE ||
        u32_relaxed(&segment->claim_attempt) != task->attempt) /* the claim is of an attempt that is over */
        return;
    if (task->count > 1) {
        check_element(s, index, task, now);
        return;
    }
    if (now < since || now - since < task->timeout_ns)
        return;
    task->flags |= FLAG_OVERDUE;
    csched_message_t message = {.kind = CSCHED_OVERDUE,
                                .worker = index,
                                .slot = ticket_slot(ticket),
                                .detail = NO_ELEMENT,
                                .ticket = ticket,
                                .limit_ns = task->timeout_ns};
    message_push(s, &message);
}

/* Every 5 ms; also sends frees and announcements that found no room before. */
bool tick(csched_t *s, uint64_t now)
{
    if (now < s->next_tick)
        return false;
    s->next_tick = now + 5000000;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        if (s->workers[i]->state == WORKER_READY || s->workers[i]->state == WORKER_STARTING)
            regions_announce(s, s->workers[i]);
        if (s->workers[i]->state != WORKER_READY)
            continue;
        check_limit(s, i, now);
        frees_flush(s->workers[i]);
        forgets_flush(s->workers[i]);
    }
    for (uint32_t i = 0; i < s->delayed_count;) {
        task_t *task = graph_task(&s->graph, s->delayed[i]);
        if (task->state == TASK_DELAYED && task->not_before > now) {
            i++;
            continue;
        }
        if (task->state == TASK_DELAYED) {
            s->graph.waiting_count--;
            task_ready(s, s->delayed[i]);
        }
        s->delayed[i] = s->delayed[--s->delayed_count];
    }
    return true;
}
