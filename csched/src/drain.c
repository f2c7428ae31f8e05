/* Draining: results off the rings into kernel memory, dependents released, new work sent.  Needs no GIL. */
#include <stdlib.h>
#include <string.h>

#include "backlog.h"
#include "blob.h"
#include "dispatch.h"
#include "drain.h"
#include "internal.h"
#include "recall.h"
#include "task.h"
#include "tick.h"
#include "window.h"
#include "segment.h"

enum { DRAIN_MOST = 512 }; /* entries per worker and call: bounds how long the lock is held */

/* `entry` is the kernel's copy of the head, `base` the entry in the ring. */
static int blob_of_result(csched_t *s, uint32_t index, const result_entry_t *entry, const uint8_t *base, uint64_t at,
                          blob_t **blob)
{
    worker_t *worker = s->workers[index];
    ref_t ref = entry->payload;
    *blob = NULL;
    if (ref.region == REGION_NONE)
        return CSCHED_OK;
    if (ref.region == REGION_INLINE) {
        if (ref.offset < at || ref.offset > entry->head.bytes || ref.size > entry->head.bytes - ref.offset)
            return CSCHED_ECORRUPT;
        return blob_from_bytes(base + ref.offset, ref.size, blob);
    }
    return blob_from_block(s, worker->region, ref.offset, ref.size, blob);
}

/* The status of an interrupted task. Elements of a chunk keep their own outcomes. */
static uint32_t status_of_stopped(const task_t *task, const result_entry_t *entry)
{
    bool failed = entry->status == CSCHED_ERROR || (task->count == 1 && entry->detail);
    if (task->flags & FLAG_STOPPING)
        return failed || task->count == 1 ? CSCHED_CANCELLED : entry->status;
    return failed ? CSCHED_TIMEOUT : entry->status;
}

static int take_result(csched_t *s, uint32_t index, const result_entry_t *entry, const uint8_t *base)
{
    worker_t *worker = s->workers[index];
    while (worker->held_count && worker->held[worker->held_head].slot == NO_TASK)
        window_pop(worker);
    if (!worker->held_count)
        return CSCHED_ECORRUPT;
    uint32_t slot = worker->held[worker->held_head].slot;
    task_t *task = task_at(s, slot);
    uint64_t marks = (uint64_t)entry->stamps * sizeof(uint64_t);
    if (task->ticket != entry->ticket || marks > entry->head.bytes - sizeof *entry || entry->status > CSCHED_ERROR)
        return CSCHED_ECORRUPT;
    blob_t *result;
    int rc = blob_of_result(s, index, entry, base, sizeof *entry + marks, &result);
    if (rc < 0)
        return rc;
    if (entry->returned > s->now)
        clock_refresh(s); /* consequences of this result are stamped later than it */
    if (u32_relaxed(&entry->head.claim) & CSCHED_PINS && (rc = pin_inputs(worker, task)) < 0) {
        blob_release(s, result);
        return rc;
    }
    window_pop(worker);
    s->loads[index].held--;
    worker->finished += task->count;
    worker->last_result = s->now;
    worker->silent = false; /* `window_learn` reopens its window */
    window_learn(s, index, entry->finished - entry->received);
    fetch_learn(s, index, task, ns_between(entry->received, entry->started));
    ready_learn(&s->graph, task->run, task->priority, task->demand, entry->finished - entry->received);
    uint32_t status = task->flags & (FLAG_STOPPING | FLAG_OVERDUE) ? status_of_stopped(task, entry) : entry->status;
    bool over = status == entry->status && !(status == CSCHED_ERROR && task_retries(task));
    if (over) {
        account_ended(&s->accounts, task, entry, &worker->time);
        backlog_ran(s, task, entry);
    } else {
        account_wasted(&s->accounts, task, entry->received, entry->returned, &worker->time);
    }
    const uint64_t ran[4] = {entry->received, entry->started, entry->finished, entry->returned};
    if ((status == CSCHED_ERROR || status == CSCHED_TIMEOUT) && task_retry(s, slot, status, result, index, ran)) {
        blob_release(s, result);
        return CSCHED_OK;
    }
    if (status != entry->status) {
        blob_release(s, result);
        blob_retain(task->payload);
        task_abort(s, slot, status, task->payload, 0, ran);
        return CSCHED_OK;
    }
    const uint64_t *began = (const uint64_t *)(base + sizeof *entry);
    journey_record(&s->journey, task, entry, began, index);
    attempts_ended(&s->attempts, &s->accounts, task, entry, index);
    run_times_ended(&s->run_times, task, entry, began);
    const blob_t *payload = task->payload;
    slowest_ended(&s->slowest, s->accounts.number, task, entry, began, payload ? blob_data(s, payload) : NULL,
                  payload ? payload->size : 0);
    task->ran_ns = entry->finished - entry->started;
    task_finish(s, slot, entry->status, result, entry->detail);
    if (entry->status == CSCHED_VALUE)
        task->stays_kb = entry->payload.stays_kb;
    return CSCHED_OK;
}

/* Output and replies are valid at any time; partial results only from the worker's running task, whose slot they go
 * to. */
static bool makes_sense(csched_t *s, uint32_t index, const result_entry_t *entry)
{
    if (entry->count != CSCHED_PARTIAL)
        return entry->count == CSCHED_OUTPUT || entry->count == CSCHED_REPLY;
    const task_t *task = graph_find(&s->graph, entry->ticket);
    return task && task->state == TASK_SENT && task->worker == index &&
           entry->head.slot == ticket_slot(entry->ticket) && entry->detail <= task->count &&
           entry->status <= entry->detail;
}

static int take_message(csched_t *s, uint32_t index, const result_entry_t *entry, const uint8_t *base)
{
    blob_t *blob;
    if (entry->count == CSCHED_UNPIN) {
        unpin(s, s->workers[index], entry->ticket);
        return CSCHED_OK;
    }
    if (!makes_sense(s, index, entry))
        return CSCHED_ECORRUPT;
    int rc = blob_of_result(s, index, entry, base, sizeof *entry, &blob);
    if (rc < 0)
        return rc;
    csched_message_t message = {.kind = entry->count,
                                .worker = index,
                                .slot = entry->head.slot,
                                .detail = entry->detail,
                                .ticket = entry->ticket,
                                .blob = (uint64_t)(uintptr_t)blob,
                                .size = blob ? blob->size : 0};
    const task_t *task = graph_find(&s->graph, entry->ticket);
    message.run = task ? task->run : UINT32_MAX;
    if ((rc = message_push(s, &message)) < 0)
        blob_release(s, blob); /* the entry is read again later */
    else if (entry->count == CSCHED_PARTIAL)
        count_partial(s, task, entry->detail, entry->status);
    return rc;
}

/* Copies the head before it is checked: the worker can still write to the ring. */
static int take_entry(csched_t *s, uint32_t index, const uint8_t *base, uint32_t bytes)
{
    result_entry_t entry;
    if (bytes < sizeof entry)
        return CSCHED_ECORRUPT;
    memcpy(&entry, base, sizeof entry);
    entry.head.bytes = bytes;
    if (entry.head.kind == ENTRY_RESULT)
        return take_result(s, index, &entry, base);
    return entry.head.kind == ENTRY_MESSAGE ? take_message(s, index, &entry, base) : CSCHED_ECORRUPT;
}

uint32_t drain_worker(csched_t *s, uint32_t index)
{
    worker_t *worker = s->workers[index];
    uint32_t taken = 0;
    entry_t *head;
    int rc = 0;
    while (taken < DRAIN_MOST && (rc = ring_peek(&worker->results, &head)) == 1) {
        rc = take_entry(s, index, (const uint8_t *)head, worker->results.peeked);
        if (rc < 0)
            break;
        ring_advance(&worker->results);
        taken++;
    }
    if (taken)
        fence_seq_cst(); /* head before producer_waits; partner: wait_for_room in worker.c */
    if (taken && u32_relaxed(&worker->results.ends->producer_waits) &&
        u32_exchange(&worker->results.ends->producer_waits, 0))
        futex_wake(&worker->results.ends->producer_waits);
    if (rc < 0 && rc != CSCHED_ENOMEM) { /* its memory is corrupt: the pool's owner ends it */
        if (worker->state == WORKER_READY)
            account_worker(&s->accounts, -1, s->now);
        worker->state = WORKER_LOST;
        s->loads[index].window = 0;
        csched_message_t message = {.kind = CSCHED_OVERDUE, .worker = index, .detail = (uint32_t)-rc};
        message_push(s, &message);
    }
    return taken;
}

uint32_t drain(csched_t *s)
{
    uint32_t taken = 0, last = s->completions.tail;
    bool news = false;
    clock_refresh(s);
    for (uint32_t i = 0; i < s->worker_count; i++) {
        worker_t *worker = s->workers[i];
        if (worker->state == WORKER_STARTING &&
            u32_acquire(&worker->segment->ready)) { /* partner: csched_worker_ready */
            worker->state = WORKER_READY;
            worker->ready_at = s->now;
            account_worker(&s->accounts, 1, s->now);
            s->loads[i].window = worker->retiring ? 0 : 2;
            news = true;
        }
        if (worker->state == WORKER_READY)
            taken += drain_worker(s, i);
    }
    task_propagate(s, last);
    bool ticked = tick(s, taken ? clock_refresh(s) : s->now);
    if (ticked)
        recall_tick(s);
    /* on a tick as well: tasks behind a long one may be worth stealing by now */
    if (taken || news || ticked || s->graph.ready.active)
        dispatch(s);
    return taken;
}
