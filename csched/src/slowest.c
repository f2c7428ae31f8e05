#include "slowest.h"

#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "internal.h"

static void forget(slowest_t *slowest)
{
    for (uint32_t i = 0; i < slowest->count; i++)
        free(slowest->payloads[i]);
    slowest->count = 0;
}

void slowest_close(slowest_t *slowest)
{
    forget(slowest);
}

/* How long a task must run to be among them. */
static uint64_t least(const slowest_t *slowest)
{
    return slowest->count < CSCHED_SLOWEST ? 0 : slowest->of[CSCHED_SLOWEST - 1].ran;
}

static void insert(slowest_t *slowest, const csched_slow_t *slow, const uint8_t *payload)
{
    uint32_t at = slowest->count;
    if (at == CSCHED_SLOWEST)
        free(slowest->payloads[--at]);
    else
        slowest->count++;
    for (; at && slowest->of[at - 1].ran < slow->ran; at--) {
        slowest->of[at] = slowest->of[at - 1];
        slowest->payloads[at] = slowest->payloads[at - 1];
    }
    bool fits = slow->size && slow->size <= SLOWEST_BYTES;
    uint8_t *copy = fits ? malloc(slow->size) : NULL;
    if (copy)
        memcpy(copy, payload, slow->size);
    slowest->of[at] = *slow;
    slowest->of[at].kept = copy || !slow->size;
    slowest->payloads[at] = copy;
}

void slowest_ended(slowest_t *slowest, uint32_t work, const task_t *task, const result_entry_t *entry,
                   const uint64_t *marks, const uint8_t *payload, uint64_t size)
{
    if (slowest->work != work)
        forget(slowest);
    slowest->work = work;
    csched_slow_t slow = {.ticket = task->ticket,
                          .ran = ns_between(entry->started, entry->finished),
                          .size = size,
                          .function = task->function,
                          .element = NO_ELEMENT,
                          .status = entry->status};
    if (slow.ran <= least(slowest)) /* nor is any element */
        return;
    if (task->count == 1 && !entry->stamps) {
        insert(slowest, &slow, payload);
        return;
    }
    for (uint32_t i = 0; i + 1 < entry->stamps && i < task->count; i++) { /* else only the chunk's own time is known */
        slow.element = i;
        slow.ran = ns_between(marks[i], marks[i + 1]);
        if (slow.ran > least(slowest))
            insert(slowest, &slow, payload);
    }
}

void slowest_mark(slowest_t *slowest, uint64_t ticket, uint32_t element, uint32_t status)
{
    for (uint32_t i = 0; i < slowest->count; i++)
        if (slowest->of[i].ticket == ticket && slowest->of[i].element == element)
            slowest->of[i].status = status;
}

CSCHED_EXPORT int csched_slowest(csched_t *s, csched_slow_t *slow)
{
    pthread_mutex_lock(&s->lock);
    const slowest_t *slowest = &s->slowest;
    uint32_t count = slowest->work == s->accounts.number ? slowest->count : 0;
    memcpy(slow, slowest->of, count * sizeof *slow);
    pthread_mutex_unlock(&s->lock);
    return (int)count;
}

CSCHED_EXPORT int64_t csched_slow_payload(csched_t *s, uint64_t ticket, uint32_t element, void *data, uint64_t room)
{
    pthread_mutex_lock(&s->lock);
    const slowest_t *slowest = &s->slowest;
    int64_t size = CSCHED_EINVAL;
    for (uint32_t i = 0; i < slowest->count; i++) {
        const csched_slow_t *slow = &slowest->of[i];
        if (slow->ticket != ticket || slow->element != element || !slow->kept)
            continue;
        size = (int64_t)slow->size;
        if (slowest->payloads[i] && slow->size <= room)
            memcpy(data, slowest->payloads[i], slow->size);
    }
    pthread_mutex_unlock(&s->lock);
    return size;
}
