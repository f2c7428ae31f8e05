/* Submission: makes the record, counts missing inputs, puts the task into a ready queue, dispatches. */
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "backlog.h"
#include "blob.h"
#include "dispatch.h"
#include "drain.h"
#include "function.h"
#include "helper.h"
#include "internal.h"
#include "task.h"

enum { SUBMIT_POLL_NS = 200000 }; /* no thread polls while the caller submits: it drains the rings itself */

static void count_submitted(csched_t *s, const task_t *task, const csched_options_t *options)
{
    account_submitted(&s->accounts, task);
    backlog_submitted(s, task);
    if (options && options->ask == 2)
        return; /* counted before, so that a scheduler to which it is on its way is not taken for idle */
    s->stats.submitted += task->count;
    if (task->run < s->run_count)
        s->runs[task->run].submitted += task->count;
}

/* The ticket of an input: itself, or the position of an earlier task of the same batch. */
static uint64_t input_ticket(const call_t *call, uint32_t i)
{
    uint64_t given = call->options->inputs[i];
    return call->earlier && given < call->position ? call->earlier[given] : given;
}

/* Links the task to its inputs: `missing` counts those still to come, `failed` is the first one that failed. */
static int link_inputs(csched_t *s, task_t *task, const call_t *call, uint32_t *failed)
{
    task->input_count = call->options->input_count;
    task->missing = 0;
    for (uint32_t i = 0; i < task->input_count; i++) {
        uint32_t from = ticket_slot(input_ticket(call, i));
        task_t *producer = task_at(s, from);
        int rc = CSCHED_OK;
        if (producer->state != TASK_DONE) {
            rc = graph_depend(&s->graph, task->ticket, from, i);
            task->missing++;
        } else if (producer->status <= CSCHED_NONE) {
            rc = task_input(task, i, producer);
            account_input(&s->accounts, task, producer->ticket);
        } else if (*failed == NO_TASK) {
            *failed = i;
        }
        if (rc < 0)
            return rc;
    }
    return CSCHED_OK;
}

/* Logs the edges for views. */
static void log_inputs(csched_t *s, const task_t *task, const call_t *call)
{
    kept_calls_linked(s, task);
    for (uint32_t i = 0; i < call->options->input_count; i++) {
        uint64_t from = input_ticket(call, i);
        kept_calls_linked(s, task_at(s, ticket_slot(from)));
        const lineage_row_t row = {.from = from,
                                   .to = task->ticket,
                                   .from_function = task_at(s, ticket_slot(from))->function,
                                   .to_function = task->function,
                                   .from_run = task_at(s, ticket_slot(from))->run,
                                   .to_run = task->run};
        lineage_append(&s->lineage, &row);
    }
}

static int prepare(csched_t *s, task_t *task, const call_t *call)
{
    uint64_t block = call->options ? call->options->block : NO_BLOCK;
    blob_t *payload = NULL;
    int rc = CSCHED_OK;
    if (block != NO_BLOCK)
        rc = blob_from_block(s, REGION_KERNEL, block, call->size, &payload);
    else if (call->size > INLINE_MAX)
        rc = CSCHED_ETOOBIG;
    else if (call->size)
        rc = blob_from_bytes(call->data, call->size, &payload);
    if (rc < 0)
        return rc;
    uint32_t count = call->options ? call->options->count : 1;
    uint64_t again = call->options ? call->options->position : 0;
    *task = (task_t){.ticket = graph_ticket(&s->graph, call->slot),
                     .submitted = s->now,
                     .ready = s->now,
                     .pack_ns = (float)(int64_t)call->pack_ns,
                     .payload = payload,
                     .function = call->function,
                     .run = call->run,
                     .count = count,
                     .first = again ? (uint32_t)(again - 1)
                                    : state_map_add(&s->state_map, call->run, count, CSCHED_MAP_QUEUED),
                     .dependents = NO_EDGE,
                     .next = NO_TASK,
                     .previous = NO_TASK,
                     .row = NO_ROW,
                     .worker = NO_WORKER,
                     .priority = -PRIORITY_MIN};
    if (again) /* not queued: the chunk in which it failed may not be over, and counts queued positions as its own */
        state_map_task(&s->state_map, task, call->options->attempt ? CSCHED_MAP_WAITING : CSCHED_MAP_QUEUED);
    return CSCHED_OK;
}

static int check_options(csched_t *s, const call_t *call)
{
    const csched_options_t *o = call->options;
    if (o->priority < PRIORITY_MIN || o->priority > PRIORITY_MAX || o->count == 0 || o->retries > 255 ||
        o->attempt > 255 || o->beside >= s->function_count)
        return CSCHED_EINVAL;
    if (s->functions[o->beside].dropped)
        return CSCHED_ESTALE;
    for (uint32_t i = 0; i < o->input_count && !o->failed; i++)
        if (!graph_find(&s->graph, input_ticket(call, i)))
            return call->earlier && o->inputs[i] <= UINT32_MAX ? CSCHED_EINVAL : CSCHED_ESTALE;
    return CSCHED_OK;
}

/* Keeps the function `beside` until the task is over, and where its arguments are. */
static int need(csched_t *s, task_t *task, const csched_options_t *options)
{
    task->input_count = options->input_count;
    int rc = task_inputs(task);
    if (rc < 0)
        return rc;
    task->inputs->warm = options->warm;
    task->inputs->stays_kb = in_kb(options->stays);
    task->inputs->needs = options->beside;
    if (options->beside)
        s->functions[options->beside].tasks++;
    return CSCHED_OK;
}

static int apply_options(csched_t *s, task_t *task, const call_t *call)
{
    const csched_options_t *o = call->options;
    uint32_t failed = NO_TASK;
    task->priority = (uint8_t)(o->priority - PRIORITY_MIN);
    task->retries = (uint8_t)o->retries;
    task->attempt = (uint8_t)o->attempt;
    task->flags = o->ask == 2 || (o->ask && o->retries) ? FLAG_ASK_RETRY : 0;
    task->timeout_ns = o->timeout_ns;
    if (o->need_count) {
        int rc = allocation_request(s, task, o);
        if (rc < 0)
            return rc;
    }
    if (o->timeout_ns)
        task->flags |= FLAG_ALONE; /* else its start would be unknown */
    task->not_before = o->not_before;
    task->state = TASK_WAITING;
    int rc = o->beside || o->warm ? need(s, task, o) : CSCHED_OK;
    if (rc < 0)
        return rc;
    if (o->failed) {
        failed = o->failed - 1;
    } else if (o->input_count) {
        rc = link_inputs(s, task, call, &failed);
        if (rc < 0)
            return rc; /* the edges made so far have a dead ticket and are skipped */
        log_inputs(s, task, call);
        if (failed == NO_TASK && task->missing) {
            s->graph.waiting_count++;
            state_map_task(&s->state_map, task, CSCHED_MAP_WAITING);
            return CSCHED_OK;
        }
    }
    if (failed != NO_TASK) {
        task_not_run(s, call->slot, failed);
        return CSCHED_OK;
    }
    if (o->not_before > task->submitted)
        return task_delay(s, call->slot);
    task->ready = task->submitted;
    ready_push(&s->graph, call->slot);
    return CSCHED_OK;
}

static void undo(csched_t *s, task_t *task, uint64_t position)
{
    release_inputs(s, task);
    if (task->payload && task->payload->region == REGION_INLINE)
        blob_release(s, task->payload);
    else if (task->payload) { /* the block stays the caller's */
        s->regions[REGION_KERNEL].live--;
        free(task->payload);
    }
    if (!position) { /* nothing was submitted since */
        s->state_map.next -= task->count;
        state_map_disown(&s->state_map, task->run, task->count);
    }
    function_over(s, task->function);
    if (task->flags & FLAG_DEMANDS)
        allocation_end(s, task);
    *task = (task_t){0};
}

/* Makes the task without sending it; returns its ticket, or an error. */
int64_t task_submit(csched_t *s, const call_t *call)
{
    if (s->closed)
        return CSCHED_ESTOPPED;
    if (call->slot >= s->graph.capacity || call->function >= s->function_count)
        return CSCHED_EINVAL;
    task_t *task = task_at(s, call->slot);
    if (task->state != TASK_FREE)
        return CSCHED_EINVAL;
    if (s->functions[call->function].dropped)
        return CSCHED_ESTALE;
    int rc = call->options ? check_options(s, call) : CSCHED_OK;
    if (!rc)
        rc = prepare(s, task, call);
    if (rc < 0)
        return rc;
    int64_t ticket = (int64_t)task->ticket;
    s->functions[call->function].tasks++;
    u64_store_relaxed(&s->outstanding, u64_relaxed(&s->outstanding) + 1);
    if (call->options)
        rc = apply_options(s, task, call);
    else
        ready_push(&s->graph, call->slot);
    if (rc < 0) {
        u64_store_relaxed(&s->outstanding, u64_relaxed(&s->outstanding) - 1);
        undo(s, task, call->options->position);
        return rc;
    }
    count_submitted(s, task, call->options);
    kept_calls_submitted(s, task);
    return ticket;
}

CSCHED_EXPORT int64_t csched_submit_with(csched_t *s, uint32_t slot, uint32_t function, uint32_t run, const void *data,
                                         uint64_t size, uint64_t pack_ns, const csched_options_t *options)
{
    const call_t call = {.slot = slot,
                         .function = function,
                         .run = run,
                         .data = data,
                         .size = size,
                         .pack_ns = pack_ns,
                         .options = options};
    pthread_mutex_lock(&s->lock);
    uint64_t now = clock_refresh(s);
    int64_t ticket = task_submit(s, &call);
    if (ticket > 0 && task_at(s, slot)->state == TASK_QUEUED)
        dispatch(s);
    if (ticket > 0 && now - u64_relaxed(&s->last_poll) > SUBMIT_POLL_NS) {
        u64_store_relaxed(&s->last_poll, now);
        drain(s);
    }
    pthread_mutex_unlock(&s->lock);
    if (ticket > 0)
        helper_kick(s);
    return ticket;
}

CSCHED_EXPORT int64_t csched_submit(csched_t *s, uint32_t slot, uint32_t function, uint32_t run, const void *data,
                                    uint64_t size, uint64_t pack_ns)
{
    return csched_submit_with(s, slot, function, run, data, size, pack_ns, NULL);
}

CSCHED_EXPORT int64_t csched_submit_block(csched_t *s, uint32_t slot, uint32_t function, uint32_t run, uint64_t block,
                                          uint64_t size, uint64_t pack_ns)
{
    csched_options_t options = {.count = 1, .block = block};
    return csched_submit_with(s, slot, function, run, NULL, size, pack_ns, &options);
}

CSCHED_EXPORT int csched_reserve(csched_t *s, uint32_t slots)
{
    pthread_mutex_lock(&s->lock);
    int rc = graph_reserve(&s->graph, slots);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int csched_block_alloc(csched_t *s, uint64_t size, uint64_t *offset, uint64_t *address)
{
    pthread_mutex_lock(&s->lock);
    int rc = heap_alloc(&s->heap, size, offset);
    pthread_mutex_unlock(&s->lock);
    if (!rc)
        *address = (uint64_t)(uintptr_t)heap_at(&s->heap, *offset);
    return rc;
}

CSCHED_EXPORT int csched_block_spill(csched_t *s, uint64_t size, uint64_t *offset, uint64_t *address)
{
    pthread_mutex_lock(&s->lock);
    int rc = kernel_spill(s, size, offset);
    pthread_mutex_unlock(&s->lock);
    if (!rc)
        *address = (uint64_t)(uintptr_t)heap_at(&s->heap, *offset);
    return rc;
}

CSCHED_EXPORT int csched_block_free(csched_t *s, uint64_t offset)
{
    pthread_mutex_lock(&s->lock);
    int rc = heap_free(&s->heap, offset);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int csched_block_fill(csched_t *s, uint64_t at, const void *data, uint64_t size)
{
    pthread_mutex_lock(&s->lock);
    uint64_t fresh = heap_fresh(&s->heap);
    pthread_mutex_unlock(&s->lock); /* descriptors and addresses do not change while the caller has the block */
    heap_fill(&s->heap, fresh, at, data, size);
    return CSCHED_OK;
}
