/* Many tasks at once, in and out: the lock is taken and the clock read once for some hundred of them. */
#include "collect.h"
#include "dispatch.h"
#include "drain.h"
#include "helper.h"
#include "internal.h"
#include "task.h"

enum { SLICE = 256 }; /* tasks submitted while the lock is held once */

static uint64_t part_begin(const uint64_t *ends, uint32_t i)
{
    return ends && i ? ends[i - 1] : 0;
}

static int64_t submit_one(csched_t *s, const csched_batch_t *batch, uint32_t i)
{
    uint64_t first_input = part_begin(batch->input_ends, i), first_byte = part_begin(batch->data_ends, i);
    uint64_t inputs = batch->input_ends ? batch->input_ends[i] - first_input : 0;
    const csched_options_t options = {.inputs = inputs ? batch->inputs + first_input : NULL,
                                      .input_count = (uint32_t)inputs,
                                      .count = 1,
                                      .priority = batch->priority,
                                      .block = NO_BLOCK};
    const call_t call = {.slot = batch->slots[i],
                         .function = batch->functions ? batch->functions[i] : 0,
                         .run = batch->run,
                         .data = batch->data_ends ? (const uint8_t *)batch->data + first_byte : NULL,
                         .size = batch->data_ends ? batch->data_ends[i] - first_byte : 0,
                         .options = inputs || batch->priority ? &options : NULL,
                         .earlier = batch->tickets,
                         .position = i};
    if (inputs > UINT32_MAX)
        return CSCHED_EINVAL;
    return task_submit(s, &call);
}

CSCHED_EXPORT int csched_submit_many(csched_t *s, const csched_batch_t *batch)
{
    uint32_t i = 0, undrained = 0;
    int64_t ticket = CSCHED_OK;
    if (batch->count > INT32_MAX)
        return CSCHED_EINVAL;
    while (i < batch->count && ticket >= 0) {
        uint32_t end = batch->count - i > SLICE ? i + SLICE : batch->count;
        pthread_mutex_lock(&s->lock);
        clock_refresh(s);
        while (i < end && (ticket = submit_one(s, batch, i)) > 0)
            batch->tickets[i++] = (uint64_t)ticket;
        undrained += SLICE;
        if (undrained >= s->worker_count) { /* the caller cannot poll meanwhile */
            drain(s);
            undrained = 0;
        } else {
            dispatch(s); /* with many workers, draining all rings is costly */
        }
        u64_store_relaxed(&s->last_poll, s->now);
        pthread_mutex_unlock(&s->lock);
    }
    helper_kick(s);
    return i || !batch->count ? (int)i : (int)ticket;
}

CSCHED_EXPORT int csched_discard(csched_t *s, uint32_t most, uint32_t *slots)
{
    pthread_mutex_lock(&s->lock);
    uint32_t n = s->completion_count < most ? s->completion_count : most;
    for (uint32_t i = 0, slot = s->completions.head; i < n; i++, slot = task_at(s, slot)->next)
        slots[i] = slot;
    commit_first(s, n);
    pthread_mutex_unlock(&s->lock);
    return (int)n;
}
