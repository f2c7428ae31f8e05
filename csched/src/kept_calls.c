#include "kept_calls.h"

#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "internal.h"

static uint32_t serial_of(uint64_t ticket)
{
    return (uint32_t)(ticket >> 32);
}

void kept_calls_close(kept_calls_t *kept)
{
    free(kept->of);
    *kept = (kept_calls_t){0};
}

/* Chunks have many calls, and large arguments are no short text. A task that is over has a result in its place. */
static void keep(csched_t *s, const task_t *task)
{
    kept_calls_t *kept = &s->kept_calls;
    const blob_t *payload = task->payload;
    if (task->count != 1 || task->state == TASK_DONE || (payload && payload->size > KEPT_BYTES))
        return;
    if (!kept->of && !(kept->of = calloc(KEPT_CALLS, sizeof *kept->of)))
        return; /* without memory nothing is kept */
    kept_call_t *call = &kept->of[serial_of(task->ticket) % KEPT_CALLS];
    if (call->ticket == task->ticket)
        return;
    call->ticket = task->ticket;
    call->size = payload ? (uint32_t)payload->size : 0;
    if (call->size)
        memcpy(call->data, blob_data(s, payload), call->size);
}

void kept_calls_submitted(csched_t *s, const task_t *task)
{
    if (serial_of(task->ticket) - s->accounts.serial < KEPT_CALLS)
        keep(s, task);
}

void kept_calls_linked(csched_t *s, const task_t *task)
{
    kept_calls_t *kept = &s->kept_calls;
    if (kept->work != s->accounts.number) {
        kept->work = s->accounts.number;
        kept->links = 0;
    }
    if (kept->links < KEPT_LINKS) {
        kept->links++;
        keep(s, task);
    }
}

CSCHED_EXPORT int64_t csched_kept_call(csched_t *s, uint64_t ticket, void *data, uint64_t room)
{
    pthread_mutex_lock(&s->lock);
    const kept_calls_t *kept = &s->kept_calls;
    const kept_call_t *call = kept->of ? &kept->of[serial_of(ticket) % KEPT_CALLS] : NULL;
    int64_t size = ticket && call && call->ticket == ticket ? (int64_t)call->size : CSCHED_EINVAL;
    if (size > 0 && (uint64_t)size <= room)
        memcpy(data, call->data, (size_t)size);
    pthread_mutex_unlock(&s->lock);
    return size;
}
