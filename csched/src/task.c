/* State changes of a task: ready, delayed, retried, finished; and their effect on its dependents. */
#include <stdlib.h>

#include "allocations.h"
#include "backlog.h"
#include "blob.h"
#include "function.h"
#include "internal.h"
#include "segment.h"
#include "task.h"

int message_push(csched_t *s, const csched_message_t *message)
{
    messages_t *q = &s->messages;
    if (q->count == q->capacity) {
        uint32_t capacity = q->capacity ? 2 * q->capacity : 64;
        csched_message_t *grown = malloc(capacity * sizeof *grown);
        if (!grown)
            return CSCHED_ENOMEM;
        for (uint32_t i = 0; i < q->count; i++)
            grown[i] = q->of[(q->head + i) % q->capacity];
        free(q->of);
        *q = (messages_t){.of = grown, .head = 0, .count = q->count, .capacity = capacity};
    }
    q->of[(q->head + q->count++) % q->capacity] = *message;
    available_add(s, 1);
    return CSCHED_OK;
}

void task_ready(csched_t *s, uint32_t slot)
{
    task_t *task = task_at(s, slot);
    task->ready = s->now;
    state_map_task(&s->state_map, task, task->demand ? CSCHED_MAP_WAITING : CSCHED_MAP_QUEUED);
    ready_push(&s->graph, slot);
}

int task_delay(csched_t *s, uint32_t slot)
{
    if (s->delayed_count == s->delayed_capacity) {
        uint32_t capacity = s->delayed_capacity ? 2 * s->delayed_capacity : 16;
        uint32_t *grown = realloc(s->delayed, capacity * sizeof *grown);
        if (!grown)
            return CSCHED_ENOMEM;
        s->delayed = grown;
        s->delayed_capacity = capacity;
    }
    s->delayed[s->delayed_count++] = slot;
    task_t *task = task_at(s, slot);
    task->state = TASK_DELAYED;
    state_map_task(&s->state_map, task, CSCHED_MAP_WAITING);
    s->graph.waiting_count++;
    return CSCHED_OK;
}

int task_inputs(task_t *task)
{
    inputs_t *made = calloc(1, sizeof *made + task->input_count * sizeof made->of[0]);
    if (!made)
        return CSCHED_ENOMEM;
    made->count = task->input_count;
    for (uint32_t i = 0; i < task->input_count; i++)
        made->of[i].status = CSCHED_NONE;
    task->inputs = made;
    return CSCHED_OK;
}

/* Stores the result of `from` as an input of a task. None needs no memory. */
int task_input(task_t *task, uint32_t position, const task_t *from)
{
    if (!task->inputs && from->status == CSCHED_NONE)
        return CSCHED_OK;
    int rc = task->inputs ? CSCHED_OK : task_inputs(task);
    if (rc < 0)
        return rc;
    blob_retain(from->result);
    task->inputs->of[position].blob = from->result;
    task->inputs->of[position].status = from->status;
    task->inputs->of[position].worker = from->worker;
    if (from->status == CSCHED_VALUE)
        task->inputs->of[position].stays_kb = (uint32_t)from->stays_kb;
    return CSCHED_OK;
}

void release_inputs(csched_t *s, task_t *task)
{
    inputs_t *inputs = task->inputs;
    if (!inputs)
        return;
    for (uint32_t i = 0; i < inputs->count; i++)
        blob_release(s, inputs->of[i].blob);
    blob_release(s, inputs->bundle);
    if (inputs->needs)
        function_over(s, inputs->needs);
    free(inputs);
    task->inputs = NULL;
}

/* Drops the bundle of inputs: a task for another worker is packed again. */
void drop_bundle(csched_t *s, task_t *task)
{
    if (!task->inputs)
        return;
    blob_release(s, task->inputs->bundle);
    task->inputs->bundle = NULL;
}

static void count(csched_t *s, const task_t *task, uint64_t good, uint64_t failed, uint64_t lost)
{
    s->stats.succeeded += good;
    s->stats.failed += failed;
    s->stats.lost += lost;
    csched_run_t *run = task->run < s->run_count ? &s->runs[task->run] : NULL;
    if (run) {
        run->succeeded += good;
        run->failed += failed;
        run->lost += lost;
    }
}

/* Whether its submitter counts what failed: some of it may run again. */
static bool counts_failures(const task_t *task)
{
    return (task->flags & FLAG_ASK_RETRY) && !task->retries;
}

void count_partial(csched_t *s, const task_t *task, uint32_t end, uint32_t failures)
{
    if (task->count == 1)
        return;
    partial_t *seen = &s->workers[task->worker]->partial;
    if (seen->ticket != task->ticket)
        *seen = (partial_t){.ticket = task->ticket};
    count(s, task, (uint64_t)(end - failures) - (seen->end - seen->failures),
          counts_failures(task) ? 0 : (uint64_t)failures - seen->failures, 0);
    *seen = (partial_t){.ticket = task->ticket, .end = end, .failures = failures};
}

/* The chunk is counted as a whole, or runs again. */
static void uncount_partial(csched_t *s, const task_t *task)
{
    if (task->worker >= s->worker_count || s->workers[task->worker]->partial.ticket != task->ticket)
        return;
    count_partial(s, task, 0, 0);
    s->workers[task->worker]->partial.ticket = 0;
}

static void count_outcome(csched_t *s, const task_t *task)
{
    uncount_partial(s, task);
    uint64_t failed = task->status == CSCHED_VALUE || task->status == CSCHED_NONE ? task->detail : task->count;
    if (failed > task->count)
        failed = task->count;
    uint64_t good = task->count - failed;
    uint64_t lost = task->status == CSCHED_LOST ? task->count : 0;
    if (task->status == CSCHED_CANCELLED) {
        csched_run_t *run = task->run < s->run_count ? &s->runs[task->run] : NULL;
        s->stats.cancelled += task->count;
        if (run)
            run->cancelled += task->count;
        return;
    }
    count(s, task, good, counts_failures(task) ? 0 : failed, counts_failures(task) ? 0 : lost);
}

/* Payloads of calls that failed or did not run are kept until their commit, to show the arguments. */
bool keeps_payload(uint32_t status)
{
    return status == CSCHED_ERROR || status == CSCHED_DEPENDENCY || status == CSCHED_CANCELLED ||
           status == CSCHED_NOROOM;
}

/* Appends a task with its outcome to the list of completions. Takes over the reference to `result`. */
void task_finish(csched_t *s, uint32_t slot, uint32_t status, blob_t *result, uint32_t detail)
{
    task_t *task = task_at(s, slot);
    release_inputs(s, task);
    if (!keeps_payload(status)) {
        blob_release(s, task->payload);
        task->payload = NULL;
    }
    backlog_over(s, task);
    function_over(s, task->function);
    if (task->flags & FLAG_DEMANDS)
        allocation_end(s, task);
    task->state = TASK_DONE;
    task->status = (uint8_t)status;
    task->result = result;
    task->detail = detail;
    if (status == CSCHED_VALUE)
        task->stays_kb = 0;
    task->next = NO_TASK;
    count_outcome(s, task);
    state_map_end(&s->state_map, task);
    if (s->completions.tail != NO_TASK)
        task_at(s, s->completions.tail)->next = slot;
    else
        s->completions.head = slot;
    s->completions.tail = slot;
    s->completion_count++;
    available_add(s, 1);
    u64_store_relaxed(&s->outstanding, u64_relaxed(&s->outstanding) - 1);
}

/* Ends a task without a result of its own: it was lost, stopped, or overran its limit.  Takes over the reference to
 * `result`. */
void task_abort(csched_t *s, uint32_t slot, uint32_t status, blob_t *result, uint32_t detail, const uint64_t ran[4])
{
    task_t *task = task_at(s, slot);
    task->row = journey_record_incomplete(&s->journey, task, task->worker, status, ran);
    task_finish(s, slot, status, result, detail);
}

bool task_retries(const task_t *task)
{
    return !(task->flags & FLAG_STOPPING) && task->attempt < task->retries;
}

/* After a failed attempt.  True: another one follows, or the submitter decides (FLAG_ASK_RETRY).  `result` stays the
 * caller's. */
bool task_retry(csched_t *s, uint32_t slot, uint32_t status, blob_t *result, uint32_t worker, const uint64_t ran[4])
{
    task_t *task = task_at(s, slot);
    if (!task_retries(task))
        return false;
    if (task->flags & FLAG_ASK_RETRY) {
        csched_message_t message = {.kind = CSCHED_ATTEMPT,
                                    .worker = worker,
                                    .slot = slot,
                                    .detail = status,
                                    .run = task->run,
                                    .function = task->function,
                                    .ticket = task->ticket,
                                    .blob = (uint64_t)(uintptr_t)result,
                                    .size = result ? result->size : 0,
                                    .limit_ns = task->timeout_ns};
        uint64_t not_before = task->not_before;
        task->not_before = UINT64_MAX; /* until the answer */
        if (task_delay(s, slot) < 0 || message_push(s, &message) < 0) {
            if (task->state == TASK_DELAYED)
                s->graph.waiting_count--;
            task->state = TASK_SENT;
            task->not_before = not_before;
            return false;
        }
        blob_retain(result); /* a reference for the message */
        task->flags |= FLAG_RETRY_ASKED;
    }
    uncount_partial(s, task);
    uint64_t row = journey_record_incomplete(&s->journey, task, worker, CSCHED_RETRIED, ran);
    if (task->flags & FLAG_RETRY_ASKED)
        task->row = row; /* the answer says what it was */
    else
        journey_resolved(&s->journey, row, 1, s->now);
    drop_bundle(s, task);
    if (task->flags & FLAG_ALLOCATED)
        allocation_return(s, task);
    task->attempt++;
    task->flags &= (uint8_t)~(FLAG_OVERDUE | FLAG_HELD); /* each attempt has the full limit */
    if (!(task->flags & FLAG_ASK_RETRY))
        task_ready(s, slot);
    return true;
}

void task_tried(csched_t *s, task_t *task)
{
    if (!(task->flags & FLAG_RETRY_ASKED))
        return;
    task->flags &= (uint8_t)~FLAG_RETRY_ASKED;
    journey_resolved(&s->journey, task->row, 1, s->now);
    task->row = NO_ROW;
}

void task_given_up(csched_t *s, task_t *task, uint32_t status)
{
    task->flags &= (uint8_t)~FLAG_RETRY_ASKED;
    task->attempt--;
    journey_mark(&s->journey, task->row, task->ticket, status);
}

static bool has_value(uint32_t status)
{
    return status == CSCHED_VALUE || status == CSCHED_NONE;
}

void task_not_run(csched_t *s, uint32_t slot, uint32_t position)
{
    task_t *task = task_at(s, slot);
    task->row = journey_record_incomplete(&s->journey, task, NO_WORKER, CSCHED_DEPENDENCY, NULL);
    task_finish(s, slot, CSCHED_DEPENDENCY, NULL, position);
}

/* Delivers the outcome of one input to a waiting task. */
static void deliver(csched_t *s, const task_t *from, uint64_t ticket, uint32_t position)
{
    task_t *dependent = graph_find(&s->graph, ticket);
    if (!dependent || dependent->state != TASK_WAITING)
        return;
    if (!has_value(from->status) || task_input(dependent, position, from) < 0) {
        s->graph.waiting_count--;
        task_not_run(s, ticket_slot(ticket), position);
        return;
    }
    account_input(&s->accounts, dependent, from->ticket);
    if (--dependent->missing == 0) {
        s->graph.waiting_count--;
        if (dependent->not_before <= s->now || task_delay(s, ticket_slot(ticket)) < 0)
            task_ready(s, ticket_slot(ticket));
    }
}

/* Makes dependents of finished tasks ready, or finishes them if an input failed; without recursion, however long the
 * chain. */
void task_propagate(csched_t *s, uint32_t last)
{
    uint32_t first = last == NO_TASK ? s->completions.head : task_at(s, last)->next;
    for (uint32_t slot = first; slot != NO_TASK; slot = task_at(s, slot)->next) {
        uint32_t edge = graph_take_edges(&s->graph, slot);
        while (edge != NO_EDGE) {
            edge_t found = s->graph.edges[edge];
            edge = graph_free_edge(&s->graph, edge);
            deliver(s, task_at(s, slot), found.ticket, found.position);
        }
    }
}
