/* Functions: added once, sent once to each worker that needs them, dropped when nobody will call them again. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

CSCHED_EXPORT int csched_function_add(csched_t *s, const void *data, uint64_t size, uint64_t block, uint32_t *function)
{
    pthread_mutex_lock(&s->lock);
    blob_t *blob = NULL;
    int rc = block != NO_BLOCK    ? blob_from_block(s, REGION_KERNEL, block, size, &blob)
             : size <= INLINE_MAX ? blob_from_bytes(data, size, &blob)
                                  : CSCHED_ETOOBIG;
    function_t *grown = rc < 0 ? NULL : realloc(s->functions, (s->function_count + 1) * sizeof *grown);
    if (!rc && !grown) {
        rc = CSCHED_ENOMEM;
        if (block == NO_BLOCK)
            blob_release(s, blob);
    }
    if (!rc) {
        s->functions = grown;
        grown[s->function_count] = (function_t){.blob = blob};
        *function = s->function_count++;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* Entries that make a worker forget functions; what its ring does not take follows with the next tick. */
void forgets_flush(worker_t *worker)
{
    bool sent = false;
    entry_t *entry;
    while (worker->forget_count && ring_reserve(&worker->tasks, sizeof(task_entry_t), &entry) == CSCHED_OK) {
        task_entry_t *head = (task_entry_t *)entry;
        entry->kind = ENTRY_FUNCTION;
        head->function = worker->forgets[--worker->forget_count];
        head->payload = (ref_t){.region = REGION_NONE};
        ring_commit(&worker->tasks);
        sent = true;
    }
    if (sent)
        worker_wake(worker);
}

static void forget(worker_t *worker, uint32_t function)
{
    if (worker->forget_count == worker->forget_capacity) {
        uint32_t capacity = worker->forget_capacity ? 2 * worker->forget_capacity : 16;
        uint32_t *grown = realloc(worker->forgets, capacity * sizeof *grown);
        if (!grown)
            return; /* it keeps the function, and the kernel the block, until it ends */
        worker->forgets = grown;
        worker->forget_capacity = capacity;
    }
    worker->forgets[worker->forget_count++] = function;
    forgets_flush(worker);
}

/* Its block stays until every worker that read it in place has let go (keep_function). */
static void release(csched_t *s, uint32_t function)
{
    blob_release(s, s->functions[function].blob);
    s->functions[function].blob = NULL;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        worker_t *worker = s->workers[i];
        if (worker->segment && function / 64 < worker->known_words && worker->known[function / 64] >> function % 64 & 1)
            forget(worker, function);
    }
}

void function_over(csched_t *s, uint32_t function)
{
    if (--s->functions[function].tasks == 0 && s->functions[function].dropped)
        release(s, function);
}

CSCHED_EXPORT int csched_function_drop(csched_t *s, uint32_t function)
{
    pthread_mutex_lock(&s->lock);
    bool known = function && function < s->function_count && !s->functions[function].dropped;
    if (known) {
        s->functions[function].dropped = true;
        if (!s->functions[function].tasks)
            release(s, function);
    }
    pthread_mutex_unlock(&s->lock);
    return known ? CSCHED_OK : CSCHED_EINVAL;
}
