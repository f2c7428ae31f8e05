/* From a call to a ready task: record, dependency count, ready queue, and on into a worker's ring. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static void count_submitted(csched_t *s, const task_t *task)
{
    s->stats.submitted += task->count;
    if (task->run < s->run_count)
        s->runs[task->run].submitted += task->count;
}

/* Links the task to its inputs; 1: some are still to come, 0: all are there. */
static int link_inputs(csched_t *s, task_t *task, const csched_options_t *options, uint32_t *failed)
{
    inputs_t *inputs = task->inputs;
    *failed = NO_TASK;
    for (uint32_t i = 0; i < inputs->count; i++) {
        uint32_t from = ticket_slot(options->inputs[i]);
        task_t *producer = task_at(s, from);
        if (producer->state != TASK_DONE) {
            int rc = graph_depend(&s->graph, task->ticket, from, i);
            if (rc < 0)
                return rc;
        } else if (producer->status <= CSCHED_NONE) {
            blob_retain(producer->result);
            inputs->of[i].blob = producer->result;
            inputs->of[i].status = producer->status;
            inputs->filled++;
        } else if (*failed == NO_TASK) {
            *failed = i;
        }
    }
    return inputs->filled < inputs->count;
}

static int prepare(csched_t *s, task_t *task, uint32_t slot, uint32_t function, uint32_t run, const void *data,
                   uint64_t size, uint64_t block)
{
    blob_t *payload = NULL;
    int rc = CSCHED_OK;
    if (block != NO_BLOCK)
        rc = blob_from_block(s, REGION_KERNEL, block, size, &payload);
    else if (size > INLINE_MAX)
        rc = CSCHED_ETOOBIG;
    else if (size)
        rc = blob_from_bytes(data, size, &payload);
    if (rc < 0)
        return rc;
    *task = (task_t){.ticket = graph_ticket(&s->graph, slot),
                     .payload = payload,
                     .function = function,
                     .run = run,
                     .count = 1,
                     .dependents = NO_EDGE,
                     .next = NO_TASK,
                     .previous = NO_TASK,
                     .row = NO_ROW,
                     .worker = NO_WORKER,
                     .priority = -PRIORITY_MIN};
    task->submitted = look_at_clock(s);
    return CSCHED_OK;
}

static int check_options(csched_t *s, const csched_options_t *o)
{
    if (o->priority < PRIORITY_MIN || o->priority > PRIORITY_MAX || o->count == 0 || o->retries > 255)
        return CSCHED_EINVAL;
    for (uint32_t i = 0; i < o->input_count; i++)
        if (!graph_find(&s->graph, o->inputs[i]))
            return CSCHED_ESTALE;
    return CSCHED_OK;
}

static int apply_options(csched_t *s, task_t *task, uint32_t slot, const csched_options_t *o)
{
    uint32_t failed = NO_TASK;
    task->count = o->count;
    task->priority = (uint8_t)(o->priority - PRIORITY_MIN);
    task->retries = (uint8_t)o->retries;
    task->timeout_ns = o->timeout_ns;
    task->moment = o->not_before;
    task->state = TASK_WAITING;
    if (o->input_count) {
        task->inputs = calloc(1, sizeof *task->inputs + o->input_count * sizeof task->inputs->of[0]);
        if (!task->inputs)
            return CSCHED_ENOMEM;
        task->inputs->count = o->input_count;
        int rc = link_inputs(s, task, o, &failed);
        if (rc < 0)
            return rc; /* edges made so far find no such ticket any more: they are skipped */
        if (failed == NO_TASK && rc) {
            s->graph.waiting_count++;
            return CSCHED_OK;
        }
    }
    if (failed != NO_TASK) {
        task_finish(s, slot, CSCHED_DEPENDENCY, NULL, failed);
        return CSCHED_OK;
    }
    if (o->not_before > task->submitted) {
        return task_delay(s, slot);
    }
    task->ready = task->submitted;
    ready_push(&s->graph, slot);
    return CSCHED_OK;
}

static void undo(csched_t *s, task_t *task)
{
    if (task->inputs) {
        for (uint32_t i = 0; i < task->inputs->count; i++)
            blob_release(s, task->inputs->of[i].blob);
        free(task->inputs);
    }
    if (task->payload && task->payload->region == REGION_INLINE)
        blob_release(s, task->payload);
    else if (task->payload) { /* the block stays the caller's */
        s->regions[REGION_KERNEL].live--;
        free(task->payload);
    }
    *task = (task_t){0};
}

static void after_submit(csched_t *s, const task_t *task)
{
    count_submitted(s, task);
    if (task->state == TASK_QUEUED)
        window_dispatch(s);
    if (task->submitted - u64_relaxed(&s->last_poll) > 200000) {
        /* nobody polls while the caller submits: keep the rings moving from here */
        u64_store_relaxed(&s->last_poll, task->submitted);
        drain(s);
    }
}

CSCHED_EXPORT int64_t csched_submit_with(csched_t *s, uint32_t slot, uint32_t function, uint32_t run, const void *data,
                                         uint64_t size, uint64_t pack_ns, const csched_options_t *options)
{
    pthread_mutex_lock(&s->lock);
    int rc = CSCHED_OK;
    int64_t ticket = 0;
    task_t *task = NULL;
    if (u32_relaxed(&s->stopped))
        rc = CSCHED_ESTOPPED;
    else if (slot >= s->graph.capacity || function >= s->function_count)
        rc = CSCHED_EINVAL;
    else if ((task = task_at(s, slot))->state != TASK_FREE)
        rc = CSCHED_EINVAL;
    if (!rc && options)
        rc = check_options(s, options);
    if (!rc)
        rc = prepare(s, task, slot, function, run, data, size, options ? options->block : NO_BLOCK);
    if (!rc) {
        ticket = (int64_t)task->ticket;
        task->pack_ns = pack_ns;
        u64_store_relaxed(&s->outstanding, u64_relaxed(&s->outstanding) + 1);
        if (options) {
            rc = apply_options(s, task, slot, options);
        } else {
            task->ready = task->submitted;
            ready_push(&s->graph, slot);
        }
        if (rc < 0) {
            u64_store_relaxed(&s->outstanding, u64_relaxed(&s->outstanding) - 1);
            undo(s, task);
        } else {
            after_submit(s, task);
        }
    }
    pthread_mutex_unlock(&s->lock);
    if (rc < 0)
        return rc;
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

CSCHED_EXPORT int csched_function_add(csched_t *s, const void *data, uint64_t size, uint64_t block, uint32_t *function)
{
    pthread_mutex_lock(&s->lock);
    blob_t *blob = NULL;
    int rc = block != NO_BLOCK    ? blob_from_block(s, REGION_KERNEL, block, size, &blob)
             : size <= INLINE_MAX ? blob_from_bytes(data, size, &blob)
                                  : CSCHED_ETOOBIG;
    blob_t **grown = rc < 0 ? NULL : realloc(s->functions, (s->function_count + 1) * sizeof *grown);
    if (!rc && !grown) {
        rc = CSCHED_ENOMEM;
        if (block == NO_BLOCK)
            blob_release(s, blob);
    }
    if (!rc) {
        s->functions = grown;
        grown[s->function_count] = blob;
        *function = s->function_count++;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
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
    int rc = arena_alloc(&s->arena, size, offset);
    pthread_mutex_unlock(&s->lock);
    if (!rc)
        *address = (uint64_t)(uintptr_t)arena_at(&s->arena, *offset);
    return rc;
}

CSCHED_EXPORT int csched_block_free(csched_t *s, uint64_t offset)
{
    pthread_mutex_lock(&s->lock);
    int rc = arena_free(&s->arena, offset);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT void csched_copy(uint64_t destination, const void *source, uint64_t size)
{
    memcpy((void *)(uintptr_t)destination, source, size);
}
